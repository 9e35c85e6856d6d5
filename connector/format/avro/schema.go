package avro

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// nodeKind is the kind of a schema node.
type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindRecord
)

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum", "array", "map", "union", "record"}

// node is a type of the writer's schema.
type node struct {
	kind             nodeKind
	logical          string // logicalType, "" for none
	precision, scale int    // decimal
	size             int64  // fixed
	items            *node  // array, map
	branches         []*node
	fields           []field
	min              int64 // least bytes of a value
	total            int   // nodes, with those of named types at each use
}

type field struct {
	name string
	node *node
}

// Bounds of a schema: of nesting, and so of recursion, and of size with named
// types expanded, so that a hostile one cannot take exponential time.
const (
	maxDepth = 64
	maxNodes = 1 << 17
)

// schemaParser resolves names while it reads a schema.
type schemaParser struct {
	named map[string]*node // nil: being defined
}

// parseSchema reads the writer's schema, whose root is a record (or, in files of
// old versions, a union of null and a record).
func parseSchema(text []byte) (*node, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	p := schemaParser{named: map[string]*node{}}
	return p.parse(v, "", 0)
}

func (p *schemaParser) parse(v any, namespace string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is nested more than %d deep", maxDepth)
	}
	n, err := p.parseType(v, namespace, depth)
	if err != nil {
		return nil, err
	}
	if n.total > maxNodes {
		return nil, fmt.Errorf("the schema has more than %d types", maxNodes)
	}
	return n, nil
}

func (p *schemaParser) parseType(v any, namespace string, depth int) (*node, error) {
	switch v := v.(type) {
	case string:
		return p.reference(v, namespace)
	case []any:
		n := &node{kind: kindUnion, min: 1, total: 1}
		for _, b := range v {
			x, err := p.parse(b, namespace, depth+1)
			if err != nil {
				return nil, err
			}
			if x.kind == kindUnion {
				return nil, fmt.Errorf("the schema has a union in a union")
			}
			n.branches = append(n.branches, x)
			n.total = min(n.total+x.total, maxNodes+1)
		}
		if len(n.branches) == 0 {
			return nil, fmt.Errorf("the schema has an empty union")
		}
		return n, nil
	case map[string]any:
		return p.object(v, namespace, depth)
	}
	return nil, fmt.Errorf("the schema has a type that is neither a name, a union nor an object")
}

// reference returns a primitive type or one defined before.
func (p *schemaParser) reference(name, namespace string) (*node, error) {
	if k := slices.Index(kindNames[:kindString+1], name); k >= 0 {
		n := &node{kind: nodeKind(k), total: 1, min: 1}
		switch n.kind {
		case kindNull:
			n.min = 0
		case kindFloat:
			n.min = 4
		case kindDouble:
			n.min = 8
		}
		return n, nil
	}
	n, ok := p.named[fullName(name, namespace)]
	if !ok {
		return nil, fmt.Errorf("the schema names the unknown type %q", name)
	}
	if n == nil {
		return nil, errs.Unsupportedf(-1, "the recursive Avro type %q", name)
	}
	return n, nil
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// object reads a type in its long form.
func (p *schemaParser) object(o map[string]any, namespace string, depth int) (*node, error) {
	typ, ok := o["type"].(string)
	if !ok { // {"type": {…}}
		if o["type"] == nil {
			return nil, fmt.Errorf("the schema has an object without a type")
		}
		return p.parse(o["type"], namespace, depth+1)
	}
	n := &node{total: 1}
	switch typ {
	case "array", "map":
		n.kind, n.min = kindArray, 1
		of := o["items"]
		if typ == "map" {
			n.kind, of = kindMap, o["values"]
		}
		x, err := p.parse(of, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		if n.kind == kindArray && x.min == 0 {
			return nil, errs.Unsupportedf(-1, "Avro arrays of elements without bytes")
		}
		n.items, n.total = x, 1+x.total
	case "record", "error", "fixed", "enum":
		if err := p.define(n, o, typ, namespace, depth); err != nil {
			return nil, err
		}
	default:
		x, err := p.reference(typ, namespace)
		if err != nil {
			return nil, err
		}
		c := *x
		n = &c
	}
	if s, ok := o["logicalType"].(string); ok {
		n.logical = s
	}
	if n.logical == "decimal" {
		pr, ok1 := integer(o["precision"], 1, 1000)
		sc, ok2 := integer(o["scale"], 0, 1000)
		if !ok1 || !ok2 && o["scale"] != nil {
			return nil, fmt.Errorf("the schema has a decimal of precision %v and scale %v", o["precision"], o["scale"])
		}
		n.precision, n.scale = int(pr), int(sc)
	}
	return n, nil
}

// define reads a named type.
func (p *schemaParser) define(n *node, o map[string]any, typ, namespace string, depth int) error {
	name, _ := o["name"].(string)
	if name == "" {
		return fmt.Errorf("the schema has a %s without a name", typ)
	}
	if ns, ok := o["namespace"].(string); ok && !strings.Contains(name, ".") {
		namespace = ns
	}
	name = fullName(name, namespace)
	if _, ok := p.named[name]; ok {
		return fmt.Errorf("the schema defines %q twice", name)
	}
	p.named[name] = nil
	defer func() { p.named[name] = n }()
	switch typ {
	case "fixed":
		size, ok := integer(o["size"], 0, 1<<31-1)
		if !ok {
			return fmt.Errorf("the schema has the fixed type %q of size %v", name, o["size"])
		}
		n.kind, n.size, n.min = kindFixed, size, size
		return nil
	case "enum":
		n.kind, n.min = kindEnum, 1
		return nil
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	}
	n.kind = kindRecord
	fields, ok := o["fields"].([]any)
	if !ok {
		return fmt.Errorf("the schema's record %q has no fields", name)
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		fo, _ := f.(map[string]any)
		fname, ok := fo["name"].(string)
		if !ok || seen[fname] {
			return fmt.Errorf("the schema's record %q has a field without a name of its own", name)
		}
		seen[fname] = true
		x, err := p.parse(fo["type"], namespace, depth+1)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{fname, x})
		n.total = min(n.total+x.total, maxNodes+1)
		n.min = min(n.min+x.min, 1<<31)
	}
	return nil
}

// integer returns a JSON number that is a whole one within bounds.
func integer(v any, low, high float64) (int64, bool) {
	f, ok := v.(float64)
	if !ok || f < low || f > high || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// value looks through a union with null. null is the branch of null, -1 if there
// is none; of is nil for unions of several types.
func (n *node) value() (of *node, null int) {
	if n.kind != kindUnion {
		return n, -1
	}
	null = -1
	for i, b := range n.branches {
		switch {
		case b.kind == kindNull && null < 0:
			null = i
		case of == nil && b.kind != kindNull:
			of = b
		default:
			return nil, -1
		}
	}
	return of, null
}

// keyValue returns the record of a map stored as an array of entries.
func (n *node) keyValue() *node {
	if n.kind != kindArray {
		return nil
	}
	r := n.items
	if r.kind == kindRecord && len(r.fields) == 2 && r.fields[0].name == "key" && r.fields[1].name == "value" {
		return r
	}
	return nil
}

// String describes the type for errors.
func (n *node) String() string {
	if n.kind == kindUnion {
		if of, _ := n.value(); of != nil {
			return of.String()
		}
	}
	s := kindNames[n.kind]
	switch {
	case n.logical == "decimal":
		s += fmt.Sprintf(" (decimal(%d, %d))", n.precision, n.scale)
	case n.logical != "":
		s += " (" + n.logical + ")"
	}
	return s
}

// logicalType returns the Paimon type that a field reads as on its own, for
// files without a table.
func (n *node) logicalType(name string) (catalog.Type, error) {
	of, null := n.value()
	if of == nil {
		return catalog.Type{}, errs.Unsupportedf(-1, "Avro column %q, a union of several types", name)
	}
	t, err := of.logicalAny(name)
	t.NotNull = null < 0
	return t, err
}

func (n *node) logicalAny(name string) (catalog.Type, error) {
	switch n.kind {
	case kindBoolean:
		return catalog.TBoolean, nil
	case kindInt:
		switch n.logical {
		case "date":
			return catalog.TDate, nil
		case "time-millis":
			return catalog.TTime(3), nil
		}
		return catalog.TInt, nil
	case kindLong:
		switch n.logical {
		case "timestamp-millis":
			return catalog.TTimestamp(3), nil
		case "timestamp-micros":
			return catalog.TTimestamp(6), nil
		case "timestamp-nanos":
			return catalog.TTimestamp(9), nil
		case "local-timestamp-millis":
			return catalog.TTimestampLTZ(3), nil
		case "local-timestamp-micros":
			return catalog.TTimestampLTZ(6), nil
		case "local-timestamp-nanos":
			return catalog.TTimestampLTZ(9), nil
		}
		return catalog.TBigInt, nil
	case kindFloat:
		return catalog.TFloat, nil
	case kindDouble:
		return catalog.TDouble, nil
	case kindString:
		return catalog.TString, nil
	case kindBytes, kindFixed:
		if n.logical == "decimal" && n.precision <= 38 && n.scale <= n.precision {
			return catalog.TDecimal(n.precision, n.scale), nil
		}
		if n.kind == kindFixed {
			return catalog.Type{Kind: catalog.Binary, Length: int(n.size)}, nil
		}
		return catalog.TBytes, nil
	case kindArray:
		if kv := n.keyValue(); kv != nil && n.logical == "map" {
			k, err := kv.fields[0].node.logicalType(name)
			if err != nil {
				return k, err
			}
			v, err := kv.fields[1].node.logicalType(name)
			return catalog.Type{Kind: catalog.Map, Key: &k, Elem: &v}, err
		}
		e, err := n.items.logicalType(name)
		return catalog.Type{Kind: catalog.Array, Elem: &e}, err
	case kindMap:
		k := catalog.TString.Required()
		v, err := n.items.logicalType(name)
		return catalog.Type{Kind: catalog.Map, Key: &k, Elem: &v}, err
	case kindRecord:
		row := catalog.Type{Kind: catalog.Row}
		for _, f := range n.fields {
			t, err := f.node.logicalType(name + "." + f.name)
			if err != nil {
				return row, err
			}
			row.Fields = append(row.Fields, catalog.Field{ID: len(row.Fields), Name: f.name, Type: t})
		}
		return row, nil
	}
	return catalog.Type{}, errs.Unsupportedf(-1, "Avro column %q of type %s", name, n)
}
