package spec

import (
	"encoding/binary"
	"sync"

	"github.com/hamba/avro/v2"

	"github.com/thermocline/thermocline/internal/errs"
)

// dec decodes Avro's binary encoding. After an error all methods return zero
// values.
type dec struct {
	b   []byte
	at  int
	err error
}

func (d *dec) fail(format string, args ...any) {
	if d.err == nil {
		d.err = errs.Corruptf(format, args...)
	}
}

// long reads a zigzag varint.
func (d *dec) long() int64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Varint(d.b[d.at:])
	if n <= 0 {
		d.fail("a number at byte %d does not end", d.at)
		return 0
	}
	d.at += n
	return v
}

// take returns the next n bytes.
func (d *dec) take(n int64) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > int64(len(d.b)-d.at) {
		d.fail("%d bytes at byte %d reach beyond the end", n, d.at)
		return nil
	}
	b := d.b[d.at : d.at+int(n) : d.at+int(n)]
	d.at += int(n)
	return b
}

func (d *dec) bytes() []byte { return d.take(d.long()) }

// blockCount reads the count of an array's or map's next block, 0 at its end. A
// block never has more items than bytes remain.
func (d *dec) blockCount() int64 {
	n := d.long()
	if n < 0 {
		d.long() // the block's bytes
		n = -n
	}
	if n < 0 || n > int64(len(d.b)-d.at) {
		d.fail("a block of %d items at byte %d reaches beyond the end", n, d.at)
		return 0
	}
	return n
}

// nodeKind is the kind of a schema node.
type nodeKind uint8

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeInt // int and long
	nodeFloat
	nodeDouble
	nodeBytes // bytes and string
	nodeFixed
	nodeEnum
	nodeArray
	nodeMap
	nodeUnion
	nodeRecord
)

// node is a compiled writer's schema.
type node struct {
	kind   nodeKind
	size   int64   // fixed
	items  []*node // array, map: one; union: the branches
	fields []nodeField
}

type nodeField struct {
	name  string
	known fieldName // unknown ones are skipped
	node  *node
}

// maxNodes bounds a schema with its named types expanded, so that a hostile one
// cannot make decoding take exponential time.
const maxNodes = 4096

type compiler struct {
	nodes int
	open  map[string]bool
}

func (c *compiler) compile(s avro.Schema) (*node, error) {
	if c.nodes++; c.nodes > maxNodes {
		return nil, errs.Corruptf("the Avro schema has more than %d types", maxNodes)
	}
	switch s := s.(type) {
	case *avro.NullSchema:
		return &node{kind: nodeNull}, nil
	case *avro.PrimitiveSchema:
		kinds := map[avro.Type]nodeKind{avro.Boolean: nodeBool, avro.Int: nodeInt, avro.Long: nodeInt, avro.Float: nodeFloat,
			avro.Double: nodeDouble, avro.Bytes: nodeBytes, avro.String: nodeBytes}
		k, ok := kinds[s.Type()]
		if !ok {
			return nil, errs.Corruptf("the Avro schema has the type %s", s.Type())
		}
		return &node{kind: k}, nil
	case *avro.FixedSchema:
		return &node{kind: nodeFixed, size: int64(s.Size())}, nil
	case *avro.EnumSchema:
		return &node{kind: nodeEnum}, nil
	case *avro.ArraySchema:
		return c.compileItems(nodeArray, s.Items())
	case *avro.MapSchema:
		return c.compileItems(nodeMap, s.Values())
	case *avro.UnionSchema:
		return c.compileItems(nodeUnion, s.Types()...)
	case *avro.RefSchema:
		return c.compile(s.Schema())
	case *avro.RecordSchema:
		if c.open[s.FullName()] {
			return nil, errs.Corruptf("the Avro schema's record %s contains itself", s.FullName())
		}
		c.open[s.FullName()] = true
		defer delete(c.open, s.FullName())
		n := &node{kind: nodeRecord}
		for _, f := range s.Fields() {
			x, err := c.compile(f.Type())
			if err != nil {
				return nil, err
			}
			n.fields = append(n.fields, nodeField{f.Name(), fieldNames[f.Name()], x})
		}
		return n, nil
	}
	return nil, errs.Corruptf("the Avro schema has the type %s", s.Type())
}

func (c *compiler) compileItems(kind nodeKind, items ...avro.Schema) (*node, error) {
	n := &node{kind: kind}
	for _, it := range items {
		x, err := c.compile(it)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, x)
	}
	return n, nil
}

// plans caches compiled schemas by their text: a table's manifests share a few.
var plans struct {
	sync.Mutex
	m map[string]*node
}

const (
	maxPlans  = 64
	maxSchema = 64 << 10
)

// compileSchema compiles a writer's schema.
func compileSchema(text []byte) (*node, error) {
	if len(text) > maxSchema {
		return nil, errs.Corruptf("the Avro schema has %d bytes", len(text))
	}
	plans.Lock()
	n := plans.m[string(text)]
	plans.Unlock()
	if n != nil {
		return n, nil
	}
	s, err := avro.ParseBytesWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, errs.Corruptf("read the Avro schema: %w", err)
	}
	c := &compiler{open: map[string]bool{}}
	if n, err = c.compile(s); err != nil {
		return nil, err
	}
	plans.Lock()
	defer plans.Unlock()
	if plans.m == nil || len(plans.m) >= maxPlans {
		plans.m = map[string]*node{}
	}
	plans.m[string(text)] = n
	return n, nil
}

// resolve reads the branch of a union and returns it, n itself if it is none,
// nil for null.
func (d *dec) resolve(n *node) *node {
	for depth := 0; n.kind == nodeUnion; depth++ {
		i := d.long()
		if i < 0 || i >= int64(len(n.items)) {
			d.fail("branch %d of a union of %d at byte %d", i, len(n.items), d.at)
			return nil
		}
		n = n.items[i]
	}
	if n.kind == nodeNull {
		return nil
	}
	return n
}

// skip reads a value of any kind.
func (d *dec) skip(n *node) {
	if n = d.resolve(n); n == nil || d.err != nil {
		return
	}
	switch n.kind {
	case nodeBool:
		d.take(1)
	case nodeInt, nodeEnum:
		d.long()
	case nodeFloat:
		d.take(4)
	case nodeDouble:
		d.take(8)
	case nodeBytes:
		d.bytes()
	case nodeFixed:
		d.take(n.size)
	case nodeArray, nodeMap:
		for c := d.blockCount(); c > 0; c = d.blockCount() {
			for ; c > 0 && d.err == nil; c-- {
				if n.kind == nodeMap {
					d.bytes()
				}
				d.skip(n.items[0])
			}
		}
	case nodeRecord:
		for i := range n.fields {
			d.skip(n.fields[i].node)
		}
	}
}

func (d *dec) mismatch(f *nodeField) {
	d.fail("the field %s has an unexpected type", f.name)
}

// optLong reads an int or long field that may be null.
func (d *dec) optLong(f *nodeField) Opt[int64] {
	n := d.resolve(f.node)
	if n == nil {
		return Opt[int64]{}
	}
	if n.kind != nodeInt {
		d.mismatch(f)
		return Opt[int64]{}
	}
	return Some(d.long())
}

func (d *dec) optInt(f *nodeField) Opt[int32] {
	v := d.optLong(f)
	return Opt[int32]{d.toInt(f, v.V), v.OK}
}

func (d *dec) toInt(f *nodeField, v int64) int32 {
	if int64(int32(v)) != v {
		d.fail("the field %s has the value %d", f.name, v)
	}
	return int32(v)
}

// num reads an int or long field that must not be null; int likewise.
func (d *dec) num(f *nodeField) int64 {
	v := d.optLong(f)
	if !v.OK {
		d.fail("the field %s is null", f.name)
	}
	return v.V
}

func (d *dec) int(f *nodeField) int32 { return d.toInt(f, d.num(f)) }

// optBytes reads a bytes or string field; nil is null.
func (d *dec) optBytes(f *nodeField) []byte {
	n := d.resolve(f.node)
	if n == nil {
		return nil
	}
	if n.kind != nodeBytes {
		d.mismatch(f)
		return nil
	}
	return d.bytes()
}

func (d *dec) must(f *nodeField) []byte {
	b := d.optBytes(f)
	if b == nil {
		d.fail("the field %s is null", f.name)
	}
	return b
}

func (d *dec) optString(f *nodeField) Opt[string] {
	b := d.optBytes(f)
	return Opt[string]{string(b), b != nil}
}

// fileName reads a string that must be a plain file name.
func (d *dec) fileName(f *nodeField) string {
	s := string(d.must(f))
	if d.err == nil && !ValidFileName(s) {
		d.fail("the field %s: %q is not a file name", f.name, s)
	}
	return s
}

// array reads an array field and calls item for each element with a field that
// has the element's node. It reports false for null.
func (d *dec) array(f *nodeField, item func(el *nodeField)) bool {
	n := d.resolve(f.node)
	if n == nil {
		return false
	}
	if n.kind != nodeArray {
		d.mismatch(f)
		return false
	}
	el := nodeField{name: f.name, node: n.items[0]}
	for c := d.blockCount(); c > 0; c = d.blockCount() {
		for ; c > 0 && d.err == nil; c-- {
			item(&el)
		}
	}
	return true
}

func (d *dec) strings(f *nodeField) Opt[[]string] {
	out := []string{}
	ok := d.array(f, func(el *nodeField) { out = append(out, string(d.must(el))) })
	if !ok {
		return Opt[[]string]{}
	}
	return Some(out)
}

// record reads a record field and calls each for every field of it, which must
// read the field's value. It reports false for null.
func (d *dec) record(f *nodeField, each func(f *nodeField)) bool {
	n := d.resolve(f.node)
	if n == nil {
		return false
	}
	if n.kind != nodeRecord {
		d.mismatch(f)
		return false
	}
	for i := range n.fields {
		if d.err != nil {
			return false
		}
		each(&n.fields[i])
	}
	return true
}

// requireFields reports the first of names that a record lacks. Records in
// unions with null are looked through.
func requireFields(n *node, names ...string) error {
	rec := unwrapRecord(n)
	if rec == nil {
		return errs.Corruptf("the Avro schema is not a record")
	}
next:
	for _, name := range names {
		for i := range rec.fields {
			if rec.fields[i].name == name {
				continue next
			}
		}
		return errs.Corruptf("the Avro schema lacks the field %s", name)
	}
	return nil
}

func unwrapRecord(n *node) *node {
	switch n.kind {
	case nodeRecord:
		return n
	case nodeUnion:
		for _, it := range n.items {
			if r := unwrapRecord(it); r != nil {
				return r
			}
		}
	}
	return nil
}

func fieldNode(n *node, name string) *node {
	if rec := unwrapRecord(n); rec != nil {
		for i := range rec.fields {
			if rec.fields[i].name == name {
				return rec.fields[i].node
			}
		}
	}
	return &node{kind: nodeNull}
}

// readContainer calls record with each record of a file, as a field that has
// the root's node. check looks at the writer's schema first.
func readContainer(b []byte, check func(root *node) error, record func(d *dec, f *nodeField) error) error {
	c, err := openContainer(b)
	if err != nil {
		return err
	}
	root, err := compileSchema(c.schema)
	if err != nil {
		return err
	}
	if err := check(root); err != nil {
		return err
	}
	f := &nodeField{name: "record", node: root}
	for {
		n, data, err := c.next()
		if err != nil || n == 0 {
			return err
		}
		d := &dec{b: data}
		for ; n > 0; n-- {
			if err := record(d, f); err != nil {
				return err
			}
			if d.err != nil {
				return d.err
			}
		}
		if d.at != len(d.b) {
			return errs.Corruptf("a block has %d bytes after its last record", len(d.b)-d.at)
		}
	}
}
