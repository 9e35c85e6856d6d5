package parquet

import (
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// node is a field of the file's schema with its levels: a value is NULL when
// its definition level is below def, and starts a new element of the innermost
// repeated field above it when its repetition level is rep or less.
type node struct {
	element
	kids []*node
	def  int // definition level at which the field is not NULL
	rep  int // repetition level of the innermost repeated field down to here
	leaf int // index among the leaves, -1 for groups
}

// maxDepth bounds the nesting of a schema, and so recursion.
const maxDepth = 64

// buildSchema makes the tree from the flat list of elements.
func (pf *file) buildSchema() error {
	es := pf.meta.elements
	pos := 0
	var build func(def, rep, depth int) (*node, error)
	build = func(def, rep, depth int) (*node, error) {
		if pos >= len(es) {
			return nil, fmt.Errorf("the schema ends early")
		}
		if depth > maxDepth {
			return nil, fmt.Errorf("the schema is nested too deeply")
		}
		n := &node{element: es[pos], leaf: -1}
		pos++
		if depth > 0 && n.repetition != required {
			def++
		}
		if depth > 0 && n.repetition == repeated {
			rep++
		}
		n.def, n.rep = def, rep
		if n.phys >= 0 {
			if n.children > 0 {
				return nil, fmt.Errorf("column %q has both a type and children", n.name)
			}
			n.leaf = pf.leaves
			pf.leaves++
			return n, nil
		}
		for range n.children {
			k, err := build(def, rep, depth+1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, k)
		}
		return n, nil
	}
	root, err := build(0, 0, 0)
	if err != nil {
		return err
	}
	if pos != len(es) {
		return fmt.Errorf("the schema has %d elements too many", len(es)-pos)
	}
	pf.fields = root.kids
	return nil
}

// field returns the top-level field of a name, nil when there is none.
func (pf *file) field(name string) (*node, error) {
	var found *node
	for _, n := range pf.fields {
		if n.name == name {
			if found != nil {
				return nil, fmt.Errorf("column %q occurs twice", name)
			}
			found = n
		}
	}
	return found, nil
}

// kid returns the member of a group by name.
func (n *node) kid(name string) *node {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// elem returns the element of a LIST group by the format's rules for current
// and older layouts (LogicalTypes.md, "Lists"), and the node that repeats.
func (n *node) elem() (repeat, elem *node, err error) {
	if len(n.kids) != 1 || n.kids[0].repetition != repeated {
		return nil, nil, fmt.Errorf("column %q is no valid LIST", n.name)
	}
	r := n.kids[0]
	if r.phys >= 0 || len(r.kids) != 1 || r.name == "array" || r.name == n.name+"_tuple" {
		return r, r, nil // two levels: the repeated field is the element
	}
	return r, r.kids[0], nil
}

// entries returns the parts of a MAP group.
func (n *node) entries() (repeat, key, value *node, err error) {
	if len(n.kids) != 1 || n.kids[0].repetition != repeated || len(n.kids[0].kids) != 2 {
		return nil, nil, nil, fmt.Errorf("column %q is no valid MAP", n.name)
	}
	r := n.kids[0]
	return r, r.kids[0], r.kids[1], nil
}

// String describes the field's type for errors.
func (n *node) String() string {
	if n.phys < 0 {
		switch n.logical {
		case logList:
			return "LIST"
		case logMap:
			return "MAP"
		}
		return "a group"
	}
	s := physNames[n.phys]
	switch n.logical {
	case logString:
		s += " (STRING)"
	case logDecimal:
		s += fmt.Sprintf(" (DECIMAL(%d, %d))", n.precision, n.scale)
	case logDate:
		s += " (DATE)"
	case logTime:
		s += " (TIME)"
	case logTimestamp:
		s += fmt.Sprintf(" (TIMESTAMP, unit %s, UTC %t)", [...]string{"?", "ms", "us", "ns"}[n.unit&3], n.utc)
	case logInteger:
		s += fmt.Sprintf(" (INT(%d, signed %t))", n.width, n.signed)
	}
	return s
}

// logicalType returns the Paimon type that a field reads as on its own, for
// files without a table.
func (n *node) logicalType() (catalog.Type, error) {
	t, err := n.logicalAny()
	t.NotNull = n.repetition == required
	return t, err
}

func (n *node) logicalAny() (catalog.Type, error) {
	unsupported := func() (catalog.Type, error) {
		return catalog.Type{}, errs.Unsupportedf(-1, "Parquet column %q of type %s", n.name, n)
	}
	if n.repetition == repeated {
		return unsupported()
	}
	if n.phys < 0 {
		return n.logicalGroup()
	}
	switch n.logical {
	case logDecimal:
		p, s := int(n.precision), int(n.scale)
		if p < 1 || p > 38 || s < 0 || s > p {
			return unsupported()
		}
		return catalog.TDecimal(p, s), nil
	case logDate:
		return catalog.TDate, nil
	case logTime:
		switch {
		case n.unit == unitMillis && n.phys == physInt32:
			return catalog.TTime(3), nil
		}
		return unsupported()
	case logTimestamp:
		p := map[int16]int{unitMillis: 3, unitMicros: 6, unitNanos: 9}[n.unit]
		if p == 0 || n.phys != physInt64 {
			return unsupported()
		}
		if n.utc {
			return catalog.TTimestampLTZ(p), nil
		}
		return catalog.TTimestamp(p), nil
	case logInteger:
		switch {
		case n.signed && n.width == 8:
			return catalog.TTinyInt, nil
		case n.signed && n.width == 16, !n.signed && n.width == 8:
			return catalog.TSmallInt, nil
		case !n.signed && n.width == 32:
			return catalog.TBigInt, nil
		case !n.signed && n.width == 64:
			return catalog.TDecimal(20, 0), nil
		case n.width == 64:
			return catalog.TBigInt, nil
		}
		return catalog.TInt, nil
	case logString, logEnum, logJSON:
		if n.phys == physBytes {
			return catalog.TString, nil
		}
	case logFloat16:
		return unsupported()
	}
	switch n.phys {
	case physBoolean:
		return catalog.TBoolean, nil
	case physInt32:
		return catalog.TInt, nil
	case physInt64:
		return catalog.TBigInt, nil
	case physInt96:
		return catalog.TTimestamp(9), nil
	case physFloat:
		return catalog.TFloat, nil
	case physDouble:
		return catalog.TDouble, nil
	case physFixed:
		return catalog.Type{Kind: catalog.Binary, Length: int(n.length)}, nil
	}
	return catalog.TBytes, nil
}

func (n *node) logicalGroup() (catalog.Type, error) {
	switch n.logical {
	case logList:
		_, e, err := n.elem()
		if err != nil {
			return catalog.Type{}, err
		}
		var t catalog.Type
		if e.repetition == repeated { // two levels: elements are never NULL
			c := *e
			c.repetition = required
			e = &c
		}
		t, err = e.logicalType()
		return catalog.Type{Kind: catalog.Array, Elem: &t}, err
	case logMap:
		_, k, v, err := n.entries()
		if err != nil {
			return catalog.Type{}, err
		}
		kt, err := k.logicalType()
		if err != nil {
			return catalog.Type{}, err
		}
		vt, err := v.logicalType()
		return catalog.Type{Kind: catalog.Map, Key: &kt, Elem: &vt}, err
	case logVariant:
		return catalog.Type{Kind: catalog.Variant}, nil
	}
	row := catalog.Type{Kind: catalog.Row}
	for _, k := range n.kids {
		t, err := k.logicalType()
		if err != nil {
			return row, err
		}
		row.Fields = append(row.Fields, catalog.Field{ID: max(k.id, 0), Name: k.name, Type: t})
	}
	return row, nil
}

// accepts reports whether a leaf can be read as t without loss.
func (n *node) accepts(t catalog.Type) bool {
	if n.phys < 0 || n.logical == logFloat16 {
		return false
	}
	p, l := n.phys, n.logical
	signed := l == 0 || l == logInteger && n.signed
	switch t.Kind {
	case catalog.Boolean:
		return p == physBoolean
	case catalog.TinyInt:
		return p == physInt32 && l == logInteger && n.signed && n.width == 8
	case catalog.SmallInt:
		return p == physInt32 && l == logInteger && (n.signed && n.width <= 16 || n.width == 8)
	case catalog.Int:
		return p == physInt32 && (signed || l == logInteger && n.width <= 16)
	case catalog.BigInt:
		return p == physInt64 && signed || p == physInt32 && l == logInteger && !n.signed
	case catalog.Float:
		return p == physFloat
	case catalog.Double:
		return p == physDouble
	case catalog.Decimal:
		if l == logInteger && !n.signed && p == physInt64 {
			return t.Length == 20 && t.Scale == 0
		}
		return l == logDecimal && int(n.scale) == t.Scale && int(n.precision) <= t.Length &&
			(p == physInt32 || p == physInt64 || p == physBytes || p == physFixed && n.length > 0 && n.length <= 4096)
	case catalog.Char, catalog.Varchar:
		return p == physBytes && (l == logString || l == logEnum || l == logJSON || l == 0)
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		return p == physBytes || p == physFixed && n.length > 0
	case catalog.Date:
		return p == physInt32 && l == logDate
	case catalog.Time:
		return p == physInt32 && (l == logTime && n.unit == unitMillis || l == 0)
	case catalog.Timestamp, catalog.TimestampLTZ:
		if p == physInt96 {
			return t.Physical() == vector.I128
		}
		if p != physInt64 || l != logTimestamp || n.utc != (t.Kind == catalog.TimestampLTZ) {
			return false
		}
		switch n.unit {
		case unitMillis, unitMicros:
			return true
		case unitNanos:
			return t.Physical() == vector.I128
		}
	}
	return false
}
