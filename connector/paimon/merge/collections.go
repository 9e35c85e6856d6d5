package merge

import (
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// elements returns the elements of a value of ARRAY.
func elements(x value) (out []value) {
	if x.null() {
		return nil
	}
	p, at := x.v.Values(), x.v.At(x.i)
	for j := p.Offset[at]; j < p.Offset[at+1]; j++ {
		out = append(out, value{p.Child[0], int(j)})
	}
	return out
}

// array appends a value of ARRAY to what the cell computed.
func (c *cell) array(list []value) value {
	out := c.out()
	for _, x := range list {
		out.Child[0].AppendFrom(x.v, x.i)
	}
	out.CloseList()
	return c.last()
}

func sameValue(a, b value) bool { return vector.Compare(a.v, a.i, b.v, b.i) == 0 }

// hashOrder puts the elements of a set or map into the order in which a Java
// HashSet or HashMap of them iterates: by bucket, and in one bucket as they came
// in. most is the largest size it had.
func hashOrder[T any](list []T, most int, hash func(T) int32) {
	capacity := 16
	for most > capacity/4*3 {
		capacity *= 2
	}
	bucket := func(x T) int {
		h := uint32(hash(x))
		return int((h ^ h>>16) & uint32(capacity-1))
	}
	slices.SortStableFunc(list, func(a, b T) int { return bucket(a) - bucket(b) })
}

// elementHash returns Java's hashCode of values of a type, nil when it is not
// implemented.
func elementHash(t catalog.Type) func(x value) int32 {
	switch {
	case integer(t) && t.Kind != catalog.BigInt, t.Kind == catalog.Date, t.Kind == catalog.Time:
		return func(x value) int32 {
			if x.null() {
				return 0
			}
			return int32(integerOf(x))
		}
	case t.Kind == catalog.BigInt:
		return func(x value) int32 {
			if x.null() {
				return 0
			}
			n := uint64(integerOf(x))
			return int32(n ^ n>>32)
		}
	case t.Kind == catalog.Boolean:
		return func(x value) int32 {
			switch {
			case x.null():
				return 0
			case boolOf(x):
				return 1231
			}
			return 1237
		}
	}
	return nil
}

// collect makes the function that gathers elements.
func collect(a *aggregate, t catalog.Type, distinct bool) (ok bool) {
	if t.Kind != catalog.Array || bytesLike(*t.Elem) {
		return false // Java compares byte arrays by identity
	}
	var hash func(value) int32
	if distinct && t.Elem.IsPrimitive() {
		if hash = elementHash(*t.Elem); hash == nil {
			return false // the order of a Java HashSet
		}
	}
	if nested(*t.Elem) && t.Elem.Kind != catalog.Row {
		return false
	}
	if !distinct && t.Elem.Kind == catalog.Row {
		a.retract = nil // Java compares rows by their representation
	}
	a.agg = func(c *cell, acc, in value) (value, error) {
		switch {
		case acc.null() && in.null():
			return value{}, nil
		case !distinct && acc.null():
			return in, nil
		case !distinct && in.null():
			return acc, nil
		}
		old, list := elements(acc), elements(in)
		if !distinct {
			return c.array(append(old, list...)), nil
		}
		var set []value
		add := func(x value) {
			if !slices.ContainsFunc(set, func(y value) bool { return sameValue(x, y) }) {
				set = append(set, x)
			}
		}
		if hash == nil {
			set = old // as it is
		} else {
			for _, x := range old {
				add(x)
			}
		}
		for _, x := range list {
			add(x)
		}
		if hash != nil {
			hashOrder(set, len(set), hash)
		}
		return c.array(set), nil
	}
	a.reversed = a.agg
	if !distinct && t.Elem.Kind == catalog.Row {
		return true
	}
	a.retract = func(c *cell, acc, in value) (value, error) {
		gone := elements(in)
		if acc.null() || len(gone) == 0 {
			return acc, nil
		}
		var kept []value
		for _, x := range elements(acc) {
			if i := slices.IndexFunc(gone, func(y value) bool { return sameValue(x, y) }); i >= 0 {
				gone = slices.Delete(gone, i, i+1)
				continue
			}
			kept = append(kept, x)
		}
		return c.array(kept), nil
	}
	return true
}

// entry is an entry of a MAP.
type entry struct{ key, value value }

func entries(x value) (out []entry) {
	if x.null() {
		return nil
	}
	p, at := x.v.Values(), x.v.At(x.i)
	for j := int(p.Offset[at]); j < int(p.Offset[at+1]); j++ {
		out = append(out, entry{value{p.Child[0], j}, value{p.Child[1], j}})
	}
	return out
}

// put sets an entry among those of other keys.
func put(list []entry, e entry) []entry {
	if i := find(list, e.key); i >= 0 {
		list[i].value = e.value
		return list
	}
	return append(list, e)
}

func find(list []entry, key value) int {
	return slices.IndexFunc(list, func(x entry) bool { return sameValue(x.key, key) })
}

// mapping appends a value of MAP to what the cell computed.
func (c *cell) mapping(list []entry) value {
	out := c.out()
	for _, e := range list {
		out.Child[0].AppendFrom(e.key.v, e.key.i)
		out.Child[1].AppendFrom(e.value.v, e.value.i)
	}
	out.CloseList()
	return c.last()
}

// mergeMap makes the function by which later entries replace earlier ones.
func mergeMap(a *aggregate, t catalog.Type) (ok bool) {
	if t.Kind != catalog.Map || bytesLike(*t.Key) || nested(*t.Key) {
		return false
	}
	a.agg = both(func(c *cell, acc, in value) (value, error) {
		var list []entry
		for _, e := range append(entries(acc), entries(in)...) {
			list = put(list, e)
		}
		return c.mapping(list), nil
	})
	a.retract = func(c *cell, acc, in value) (value, error) {
		gone := entries(in)
		if acc.null() || len(gone) == 0 {
			return acc, nil
		}
		var kept []entry
		for _, e := range entries(acc) {
			if find(gone, e.key) < 0 {
				kept = put(kept, e)
			}
		}
		return c.mapping(kept), nil
	}
	return true
}

// mergeMapByTime makes the function by which the entry with the largest text in
// a member of its ROW remains, and a NULL removes it.
func mergeMapByTime(a *aggregate, t catalog.Type, field string) (ok bool) {
	if t.Kind != catalog.Map || bytesLike(*t.Key) || nested(*t.Key) || t.Elem.Kind != catalog.Row || len(t.Elem.Fields) < 2 {
		return false
	}
	ts := len(t.Elem.Fields) - 1
	if field != "" {
		ts = slices.IndexFunc(t.Elem.Fields, func(f catalog.Field) bool { return f.Name == field })
	}
	if ts < 0 || t.Elem.Fields[ts].Type.Kind != catalog.Varchar && t.Elem.Fields[ts].Type.Kind != catalog.Char {
		return false
	}
	time := func(x value) value { return member(x, ts) }
	a.agg = both(func(c *cell, acc, in value) (value, error) {
		var list []entry
		for _, e := range entries(acc) {
			list = put(list, e)
		}
		for _, e := range entries(in) {
			i := find(list, e.key)
			switch {
			case e.value.null():
				if i >= 0 {
					list = slices.Delete(list, i, i+1)
				}
			case time(e.value).null():
			case i < 0 || list[i].value.null() || time(list[i].value).null() || compareUTF16(time(e.value), time(list[i].value)) > 0:
				list = put(list, e)
			}
		}
		return c.mapping(list), nil
	})
	return true
}

// member returns a member of a ROW that is not NULL.
func member(x value, f int) value { return value{x.v.Values().Child[f], x.v.At(x.i)} }

// compareUTF16 compares texts as Java's String does.
func compareUTF16(a, b value) int {
	return slices.Compare(utf16.Encode([]rune(a.v.String(a.i))), utf16.Encode([]rune(b.v.String(b.i))))
}

// nestedOptions are the options of nested_update and nested_partial_update.
type nestedOptions struct {
	partial       bool
	key, sequence []string
	nulls         string // what becomes of NULL in keys: merge, ignore, error
	limit         int
}

// table is a nested table: the rows of a value of ARRAY<ROW> by their keys, in
// the order in which the keys came in.
type table struct {
	keys []string
	rows map[string][]value // the members
	most int
}

// nestedTable makes the functions that merge tables nested in a column.
func nestedTable(a *aggregate, t catalog.Type, o nestedOptions) (ok bool, err error) {
	if t.Kind != catalog.Array || t.Elem.Kind != catalog.Row || o.partial && len(o.key) == 0 || len(o.key) == 0 && (o.sequence != nil || o.nulls != "") {
		return false, nil
	}
	fields := t.Elem.Fields
	at := func(list []string) (out []int) {
		for _, n := range list {
			i := slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Name == n })
			out = append(out, i)
		}
		return out
	}
	key, sequence := at(o.key), at(o.sequence)
	var keyTypes []catalog.Type
	for _, k := range append(slices.Clone(key), sequence...) {
		if k < 0 || nested(fields[k].Type) {
			return false, nil
		}
	}
	for _, k := range key {
		keyTypes = append(keyTypes, fields[k].Type)
	}
	switch o.nulls {
	case "", "merge", "ignore", "error":
	default:
		return false, nil
	}
	// rowsOf lists the rows that are not NULL, each by its members.
	rowsOf := func(x value) (out [][]value) {
		for _, e := range elements(x) {
			if e.null() {
				continue
			}
			row := make([]value, len(fields))
			for f := range fields {
				row[f] = member(e, f)
			}
			out = append(out, row)
		}
		return out
	}
	made := func(c *cell, rows [][]value) value {
		out := c.out()
		for _, row := range rows {
			for f, x := range row {
				if x.null() {
					out.Child[0].Child[f].AppendNull()
				} else {
					out.Child[0].Child[f].AppendFrom(x.v, x.i)
				}
			}
			out.Child[0].CloseStruct()
		}
		out.CloseList()
		return c.last()
	}
	if len(key) == 0 {
		a.agg = func(c *cell, acc, in value) (value, error) {
			if in.null() {
				return acc, nil
			}
			rows := rowsOf(acc)
			if !acc.null() && len(elements(acc)) >= o.limit {
				return acc, nil
			}
			add := rowsOf(in)
			return made(c, append(rows, add[:min(len(add), max(0, o.limit-len(elements(acc))))]...)), nil
		}
		a.retract = func(c *cell, acc, in value) (value, error) {
			if acc.null() || in.null() {
				return acc, nil
			}
			gone := rowsOf(in)
			rows := slices.DeleteFunc(rowsOf(acc), func(row []value) bool {
				return slices.ContainsFunc(gone, func(g []value) bool { return slices.EqualFunc(row, g, sameValue) })
			})
			return made(c, rows), nil
		}
		return true, nil
	}
	enc := spec.NewRowEncoder(keyTypes)
	vecs, rows := make([]*vector.Vec, len(key)), make([]int, len(key))
	keyOf := func(row []value) (k string, use bool, err error) {
		null := false
		for i, f := range key {
			vecs[i], rows[i] = row[f].v, row[f].i
			null = null || row[f].null()
		}
		if null && o.nulls == "ignore" {
			return "", false, nil
		}
		if null && o.nulls == "error" {
			return "", false, fmt.Errorf("a nested key is NULL")
		}
		return string(enc.EncodeAt(vecs, rows)), true, nil
	}
	list := func(c *cell, m *table) value {
		hashOrder(m.keys, m.most, func(k string) int32 { return spec.Hash(spec.BinaryRow(k).Row()) })
		var out [][]value
		for _, k := range m.keys {
			out = append(out, m.rows[k])
		}
		return made(c, out)
	}
	set := func(m *table, k string, row []value) {
		if _, is := m.rows[k]; !is {
			m.keys = append(m.keys, k)
			m.most = max(m.most, len(m.keys))
		}
		m.rows[k] = row
	}
	newerOrSame := func(row, old []value) bool {
		for _, f := range sequence {
			if d := compareOrder(row[f], old[f]); d != 0 {
				return d > 0
			}
		}
		return true
	}
	// add puts rows into the table; new keys only up to the limit.
	add := func(m *table, x value, limit int) error {
		for _, row := range rowsOf(x) {
			k, use, err := keyOf(row)
			if err != nil {
				return err
			}
			if !use {
				continue
			}
			old, is := m.rows[k]
			switch {
			case o.partial:
				merged := make([]value, len(row))
				for f := range row {
					if merged[f] = row[f]; row[f].null() && is {
						merged[f] = old[f]
					}
				}
				set(m, k, merged)
			case is && newerOrSame(row, old), !is && len(m.rows) < limit:
				set(m, k, row)
			}
		}
		return nil
	}
	const unlimited = 1 << 31
	a.agg = func(c *cell, acc, in value) (value, error) {
		if in.null() {
			return acc, nil
		}
		m := &table{rows: map[string][]value{}}
		if err := add(m, acc, unlimited); err != nil {
			return value{}, err
		}
		if err := add(m, in, o.limit); err != nil {
			return value{}, err
		}
		return list(c, m), nil
	}
	if o.partial {
		return true, nil
	}
	a.retract = func(c *cell, acc, in value) (value, error) {
		if acc.null() || in.null() {
			return acc, nil
		}
		m := &table{rows: map[string][]value{}}
		for _, row := range rowsOf(acc) {
			k, use, err := keyOf(row)
			if err != nil {
				return value{}, err
			}
			if use {
				set(m, k, row)
			}
		}
		for _, row := range rowsOf(in) {
			k, use, err := keyOf(row)
			if err != nil {
				return value{}, err
			}
			if !use {
				continue
			}
			if _, is := m.rows[k]; is {
				delete(m.rows, k)
				m.keys = slices.DeleteFunc(m.keys, func(x string) bool { return x == k })
			}
		}
		return list(c, m), nil
	}
	return true, nil
}
