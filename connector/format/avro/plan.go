package avro

import (
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// op says how a value is decoded.
type op uint8

const (
	opSkip op = iota
	opBoolean
	opInt        // int within low and high, to I32
	opLong       // int or long, to I64
	opFloat      //
	opDouble     //
	opBytes      // string and bytes
	opFixed      //
	opDecimal64  // bytes or fixed, big endian, to I64
	opDecimal128 // the same, to I128
	opMicros     // long times factor, to I64
	opNanos      // long times factor, to I128
	opArray      //
	opMap        // keys are strings
	opEntries    // an array of records of key and value
	opRow        //
)

// plan is how the values of a node become rows of a vector.
type plan struct {
	op       op
	node     *node // below a union with null
	branches int64 // 0: no union
	null     int64 // the branch of null, -1 for none
	low      int64
	high     int64
	factor   int64
	fixed    int64   // decimals: bytes, -1 for a length before them
	width    int64   // bytes of a row in memory, without what has a length
	kids     []*plan // opArray, opMap, opEntries: the children; opRow: one a field of the file
	at       []int   // opRow: the child of each field
	absent   []int   // opRow: children that the file lacks
}

// newPlan makes the plan that reads n as type t.
func newPlan(path, name string, n *node, t catalog.Type) (*plan, error) {
	of, null := n.value()
	if of == nil {
		return nil, errs.Unsupportedf(-1, "Avro column %q, a union of several types (%s)", name, path)
	}
	p := &plan{node: of, null: int64(null), width: widths[t.Physical()]}
	if n.kind == kindUnion {
		p.branches = int64(len(n.branches))
	}
	ok, err := p.match(path, name, of, t)
	if err == nil && !ok {
		err = errs.Corruptf("read %s: column %q is %s in the file, not %s", path, name, of, t.Nullable())
	}
	return p, err
}

// widths are the bytes of a value, with its bit of validity rounded up.
var widths = map[vector.Kind]int64{
	vector.I8: 2, vector.I32: 5, vector.I64: 9, vector.I128: 17, vector.F32: 5, vector.F64: 9, vector.Str: 17, vector.List: 5, vector.Map: 5, vector.Struct: 1,
}

// match fills the plan, or reports that n does not hold values of t.
func (p *plan) match(path, name string, n *node, t catalog.Type) (bool, error) {
	set := func(o op, ok bool) (bool, error) {
		p.op = o
		return ok, nil
	}
	if t.Kind == catalog.Vector || t.Kind == catalog.Variant {
		t = t.Layout()
	}
	number := n.logical != "date" && n.logical != "time-millis"
	switch t.Kind {
	case catalog.Boolean:
		return set(opBoolean, n.kind == kindBoolean)
	case catalog.TinyInt:
		p.low, p.high = -1<<7, 1<<7-1
		return set(opInt, n.kind == kindInt && number)
	case catalog.SmallInt:
		p.low, p.high = -1<<15, 1<<15-1
		return set(opInt, n.kind == kindInt && number)
	case catalog.Int, catalog.Date, catalog.Time:
		p.low, p.high = -1<<31, 1<<31-1
		switch t.Kind {
		case catalog.Date:
			number = n.logical == "date"
		case catalog.Time:
			number = n.logical == "time-millis"
		}
		return set(opInt, n.kind == kindInt && number)
	case catalog.BigInt:
		return set(opLong, n.kind == kindLong && n.logical == "")
	case catalog.Float:
		return set(opFloat, n.kind == kindFloat)
	case catalog.Double:
		return set(opDouble, n.kind == kindDouble)
	case catalog.Char, catalog.Varchar:
		return set(opBytes, n.kind == kindString)
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		if n.kind == kindFixed {
			return set(opFixed, n.logical == "")
		}
		return set(opBytes, n.kind == kindBytes && n.logical == "")
	case catalog.Decimal:
		p.fixed = -1
		if n.kind == kindFixed {
			p.fixed = n.size
		}
		o := opDecimal64
		if t.Physical() == vector.I128 {
			o = opDecimal128
		}
		return set(o, (n.kind == kindBytes || n.kind == kindFixed) && n.logical == "decimal" && n.scale == t.Scale && n.precision <= t.Length)
	case catalog.Timestamp, catalog.TimestampLTZ:
		return p.matchTime(n, t)
	case catalog.Array, catalog.Map, catalog.Multiset, catalog.Row:
		return p.matchNested(path, name, n, t)
	}
	return false, errs.Unsupportedf(-1, "reading the type %s from Avro (column %q of %s)", t, name, path)
}

func (p *plan) matchTime(n *node, t catalog.Type) (bool, error) {
	if n.kind != kindLong {
		return false, nil
	}
	perSecond := int64(0)
	switch n.logical {
	case "timestamp-millis", "local-timestamp-millis":
		perSecond = 1e3
	case "timestamp-micros", "local-timestamp-micros":
		perSecond = 1e6
	case "timestamp-nanos", "local-timestamp-nanos":
		perSecond = 1e9
	default:
		return false, nil
	}
	p.op, p.factor = opMicros, 1e6/perSecond
	if t.Physical() == vector.I128 {
		p.op, p.factor = opNanos, 1e9/perSecond
	}
	return p.factor > 0, nil
}

func (p *plan) matchNested(path, name string, n *node, t catalog.Type) (bool, error) {
	add := func(name string, n *node, t catalog.Type) error {
		k, err := newPlan(path, name, n, t)
		p.kids = append(p.kids, k)
		return err
	}
	switch t.Kind {
	case catalog.Array:
		if n.kind != kindArray || n.logical == "map" {
			return false, nil
		}
		p.op = opArray
		return true, add(name, n.items, *t.Elem)
	case catalog.Row:
		if n.kind != kindRecord {
			return false, nil
		}
		return true, p.matchRow(path, name, n, t)
	}
	kt, vt := t.Key, t.Elem
	if t.Kind == catalog.Multiset {
		count := catalog.TInt
		kt, vt = t.Elem, &count
	}
	if n.kind == kindMap {
		p.op = opMap
		if kt.Kind != catalog.Char && kt.Kind != catalog.Varchar {
			return false, nil
		}
		key := &plan{op: opBytes, node: &node{kind: kindString}, null: -1, width: widths[vector.Str]}
		p.kids = append(p.kids, key)
		return true, add(name, n.items, *vt)
	}
	kv := n.keyValue()
	if kv == nil {
		return false, nil
	}
	p.op = opEntries
	if err := add(name, kv.fields[0].node, *kt); err != nil {
		return false, err
	}
	return true, add(name, kv.fields[1].node, *vt)
}

func (p *plan) matchRow(path, name string, n *node, t catalog.Type) error {
	p.op = opRow
	child := make(map[string]int, len(t.Fields))
	for i, f := range t.Fields {
		if _, ok := child[f.Name]; ok {
			return fmt.Errorf("the type of column %q has the field %q twice", name, f.Name)
		}
		child[f.Name] = i
	}
	for _, f := range n.fields {
		i, ok := child[f.name]
		if !ok {
			p.kids, p.at = append(p.kids, &plan{op: opSkip, node: f.node}), append(p.at, -1)
			continue
		}
		delete(child, f.name)
		k, err := newPlan(path, name+"."+f.name, f.node, t.Fields[i].Type)
		if err != nil {
			return err
		}
		p.kids, p.at = append(p.kids, k), append(p.at, i)
		p.width += k.width
	}
	for i, f := range t.Fields {
		if _, ok := child[f.Name]; ok {
			p.absent = append(p.absent, i)
			p.width += widthOf(f.Type)
		}
	}
	return nil
}

// widthOf returns the bytes of a NULL of type t.
func widthOf(t catalog.Type) int64 {
	w := widths[t.Physical()]
	for _, f := range t.Fields {
		w += widthOf(f.Type)
	}
	return w
}
