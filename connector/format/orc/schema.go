package orc

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// kind is a type's kind, as orc_proto.proto numbers them.
type kind uint8

const (
	kindBoolean kind = iota
	kindByte
	kindShort
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindBinary
	kindTimestamp
	kindList
	kindMap
	kindStruct
	kindUnion
	kindDecimal
	kindDate
	kindVarchar
	kindChar
	kindInstant
)

var kindNames = [...]string{"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp", "array", "map", "struct", "uniontype", "decimal", "date", "varchar", "char", "timestamp with local time zone"}

// node is a type of the file with its column number.
type node struct {
	protoType
	column int
	id     int // paimon.id, 0 when there is none
	kids   []*node
}

// maxDepth bounds the nesting of a schema, and so recursion.
const maxDepth = 64

// tree makes the tree from the list of types, which is in pre-order.
func (of *file) tree() (*node, error) {
	next := 0
	var build func(depth int) (*node, error)
	build = func(depth int) (*node, error) {
		if depth > maxDepth {
			return nil, fmt.Errorf("the schema is nested more than %d deep", maxDepth)
		}
		n := &node{protoType: of.types[next], column: next}
		next++
		n.id, _ = strconv.Atoi(n.attributes["paimon.id"])
		for _, k := range n.protoType.kids {
			if k != uint64(next) || next >= len(of.types) {
				return nil, fmt.Errorf("the types are not in pre-order at %d", n.column)
			}
			x, err := build(depth + 1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, x)
		}
		switch {
		case n.kind == kindStruct && len(n.names) != len(n.kids), n.kind == kindList && len(n.kids) != 1, n.kind == kindMap && len(n.kids) != 2,
			len(n.kids) > 0 && (n.kind < kindList || n.kind > kindUnion):
			return nil, fmt.Errorf("the type %s of column %d has %d children", n, n.column, len(n.kids))
		}
		return n, nil
	}
	if len(of.types) == 0 {
		return nil, errors.New("the file has no types")
	}
	root, err := build(0)
	if err != nil {
		return nil, err
	}
	if next != len(of.types) {
		return nil, fmt.Errorf("the schema has %d types too many", len(of.types)-next)
	}
	if root.kind != kindStruct {
		return nil, errs.Unsupportedf(-1, "ORC files of %s instead of a struct (%s)", root, of.path)
	}
	return root, nil
}

// kid returns the member of a struct by name, nil when there is none.
func (n *node) kid(name string) (*node, error) {
	var found *node
	for i, k := range n.names {
		if k == name {
			if found != nil {
				return nil, fmt.Errorf("column %q occurs twice", name)
			}
			found = n.kids[i]
		}
	}
	return found, nil
}

// String describes the type for errors.
func (n *node) String() string {
	s := fmt.Sprintf("type %d", n.kind)
	if int(n.kind) < len(kindNames) {
		s = kindNames[n.kind]
	}
	switch n.kind {
	case kindDecimal:
		s += fmt.Sprintf("(%d, %d)", n.precision, n.scale)
	case kindVarchar, kindChar:
		s += fmt.Sprintf("(%d)", n.length)
	}
	return s
}

// logicalType returns the Paimon type that a column reads as on its own, for
// files without a table. ORC does not say what is NOT NULL.
func (n *node) logicalType() (catalog.Type, error) {
	switch n.kind {
	case kindBoolean:
		return catalog.TBoolean, nil
	case kindByte:
		return catalog.TTinyInt, nil
	case kindShort:
		return catalog.TSmallInt, nil
	case kindInt:
		return catalog.TInt, nil
	case kindLong:
		return catalog.TBigInt, nil
	case kindFloat:
		return catalog.TFloat, nil
	case kindDouble:
		return catalog.TDouble, nil
	case kindString:
		return catalog.TString, nil
	case kindBinary:
		return catalog.TBytes, nil
	case kindTimestamp:
		return catalog.TTimestamp(9), nil
	case kindInstant:
		return catalog.TTimestampLTZ(9), nil
	case kindDate:
		return catalog.TDate, nil
	case kindVarchar:
		return catalog.Type{Kind: catalog.Varchar, Length: int(min(n.length, catalog.MaxLength))}, nil
	case kindChar:
		return catalog.Type{Kind: catalog.Char, Length: int(min(n.length, catalog.MaxLength))}, nil
	case kindDecimal:
		if n.precision >= 1 && n.precision <= 38 && n.scale <= n.precision {
			return catalog.TDecimal(int(n.precision), int(n.scale)), nil
		}
	case kindList:
		e, err := n.kids[0].logicalType()
		return catalog.Type{Kind: catalog.Array, Elem: &e}, err
	case kindMap:
		k, err := n.kids[0].logicalType()
		if err != nil {
			return k, err
		}
		v, err := n.kids[1].logicalType()
		return catalog.Type{Kind: catalog.Map, Key: &k, Elem: &v}, err
	case kindStruct:
		row := catalog.Type{Kind: catalog.Row}
		for i, k := range n.kids {
			t, err := k.logicalType()
			if err != nil {
				return row, err
			}
			row.Fields = append(row.Fields, catalog.Field{ID: k.id, Name: n.names[i], Type: t})
		}
		return row, nil
	}
	return catalog.Type{}, errs.Unsupportedf(-1, "the ORC type %s of column %d", n, n.column)
}

// accepts reports whether values of a primitive type t can be read from n
// without loss.
func (n *node) accepts(t catalog.Type) bool {
	switch t.Kind {
	case catalog.Boolean:
		return n.kind == kindBoolean
	case catalog.TinyInt:
		return n.kind == kindByte
	case catalog.SmallInt:
		return n.kind == kindShort
	case catalog.Int, catalog.Time:
		return n.kind == kindInt
	case catalog.BigInt:
		return n.kind == kindLong
	case catalog.Float:
		return n.kind == kindFloat
	case catalog.Double:
		return n.kind == kindDouble
	case catalog.Char, catalog.Varchar:
		return n.kind == kindString || n.kind == kindVarchar || n.kind == kindChar
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		return n.kind == kindBinary
	case catalog.Date:
		return n.kind == kindDate
	case catalog.Decimal:
		return n.kind == kindDecimal && n.scale == int64(t.Scale) && n.precision <= int64(t.Length)
	case catalog.Timestamp:
		return n.kind == kindTimestamp
	case catalog.TimestampLTZ: // old versions stored its UTC wall clock
		return n.kind == kindInstant || n.kind == kindTimestamp
	}
	return false
}
