package write_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/vector"
)

// evolve gives the table another schema.
func (x *table) evolve(change func(*catalog.Schema)) {
	x.t.Helper()
	s := *x.schema
	s.Fields = slices.Clone(s.Fields)
	s.ID++
	change(&s)
	b, err := spec.MarshalSchema(&s)
	if err != nil {
		x.t.Fatal(err)
	}
	x.paths = spec.NewPaths(x.dir, "", &s)
	if err := x.files.CreateExclusive(ctx, x.paths.Schema(s.ID), b); err != nil {
		x.t.Fatal(err)
	}
	x.schema = &s
}

// TestCompactionAfterSchemaChange compacts files of an older schema: columns are
// found by id, whatever their name and place are now.
func TestCompactionAfterSchemaChange(t *testing.T) {
	s := &catalog.Schema{PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1", "thermocline.maintenance": "true", "num-sorted-run.compaction-trigger": "2"},
		Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "gone", Type: catalog.TString}, {Name: "old", Type: catalog.TString}}}
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	w, c := x.writer(func(c *write.Config) { c.NoCompaction = true }), x.committer("me")
	x.do(w, c, 1, row{vals: []string{"1", "a", "b"}}, row{vals: []string{"2", "c", "d"}})
	x.do(w, c, 2, row{vals: []string{"2", "e", "f"}}, row{vals: []string{"3", "g", "h"}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x.evolve(func(s *catalog.Schema) {
		s.HighestFieldID = 3
		s.Fields = []catalog.Field{{ID: 3, Name: "gone", Type: catalog.TBigInt}, {ID: 2, Name: "new", Type: catalog.TString}, s.Fields[0]}
	})
	w, c = x.writer(nil), x.committer("me")
	res := x.do(w, c, 3, row{vals: []string{"7", "i", "4"}}, row{vals: []string{"8", "j", "1"}})
	if res.Snapshot != 4 {
		t.Errorf("snapshot %d: no compaction", res.Snapshot)
	}
	same(t, "rows", x.read(catalog.Ref{}), []string{`[7,"i",4]`, `[8,"j",1]`, `[null,"f",2]`, `[null,"h",3]`})
	same(t, "old rows", x.read(catalog.Ref{Kind: catalog.BySnapshot, ID: 2}), []string{`[1,"a","b"]`, `[2,"e","f"]`, `[3,"g","h"]`})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// A change of type is not rewritten by this version: rows stay right.
	x.evolve(func(s *catalog.Schema) { s.Fields[2].Type = catalog.TBigInt.Required() })
	w, c = x.writer(nil), x.committer("me")
	for id := int64(4); id < 8; id++ {
		x.do(w, c, id, row{vals: []string{"9", "k", "5"}}, row{kind: vector.Delete, vals: []string{"9", "k", "1"}})
	}
	same(t, "rows", x.read(catalog.Ref{}), []string{`[7,"i",4]`, `[9,"k",5]`, `[null,"f",2]`, `[null,"h",3]`})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, x)
}

// TestForms writes batches with constants, dictionaries and selections.
func TestForms(t *testing.T) {
	s := &catalog.Schema{PrimaryKeys: []string{"p", "k"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "2"},
		Fields: []catalog.Field{{Name: "p", Type: catalog.TString.Required()}, {Name: "k", Type: catalog.TInt.Required()}, {Name: "d", Type: catalog.TString}, {Name: "n", Type: catalog.TDouble}}}
	x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
	dict := vector.New(vector.Str, 2)
	dict.AppendString("a long enough dictionary value")
	dict.AppendString("b")
	p := vector.New(vector.Str, 1)
	p.AppendString("a partition")
	k := vector.New(vector.I32, 4)
	for i := range 4 {
		k.AppendI32(int32(i))
	}
	d := &vector.Vec{Kind: vector.Str, Form: vector.Dict, Len: 4, Codes: []uint32{0, 1, 0, 1}, Dict: dict}
	d.SetNull(3)
	b := &vector.Batch{Len: 4, Sel: []uint16{0, 1, 3}, Seq: -1, Cols: []*vector.Vec{p.AsConst(4), k, d, vector.NewNull(vector.F64, 4)}}
	w := x.writer(nil)
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	x.do(w, x.committer("me"), 1)
	same(t, "rows", x.read(catalog.Ref{}), []string{`["a partition",0,"a long enough dictionary value",null]`, `["a partition",1,"b",null]`, `["a partition",3,null,null]`})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range x.files.(*fileio.Memory).Paths() {
		if strings.HasSuffix(p, ".parquet") && !strings.Contains(p, "/p=a partition/bucket-") {
			t.Errorf("file %s", p)
		}
	}
}
