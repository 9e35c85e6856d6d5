package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/thermocline/thermocline/catalog"
)

// FuzzType reads types as schema files and statements spell them: what is read is
// written so that it reads the same.
func FuzzType(f *testing.F) {
	for _, s := range []string{`"INT NOT NULL"`, `"DECIMAL(38, 10)"`, `"TIMESTAMP(9) WITH LOCAL TIME ZONE"`, `"TIMESTAMP_LTZ(3)"`, `{"type":"ARRAY NOT NULL","element":"STRING"}`,
		`{"type":"MAP","key":"STRING","value":{"type":"ROW","fields":[{"id":1,"name":"a","type":"VARCHAR(5)"}]}}`, `{"type":"VECTOR","element":"FLOAT","length":3}`, `"CHAR(99999999999)"`, `"DECIMAL(0,0)"`, `{"type":"ROW","fields":[{}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = catalog.ParseType(s)
		var typ catalog.Type
		if json.Unmarshal([]byte(s), &typ) != nil {
			return
		}
		out, err := json.Marshal(typ)
		if err != nil {
			t.Fatalf("%s was read as %s, which is not written: %v", s, typ, err)
		}
		var again catalog.Type
		if err := json.Unmarshal(out, &again); err != nil || !again.Equal(typ) {
			t.Errorf("%s was read as %s, written as %s, read as %s: %v", s, typ, out, again, err)
		}
	})
}

// FuzzObject cuts names of tables, branches and system tables: they are put
// together again as they were.
func FuzzObject(f *testing.F) {
	for _, s := range []string{"t", "t$files", "t$branch_b", "t$branch_b$files", "$x", "t$", "t$branch_", "t$branch_$", "a.b$c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var id catalog.Identifier
		id.Table, id.Branch, id.System = catalog.ParseObject(s)
		again := catalog.Identifier{}
		again.Table, again.Branch, again.System = catalog.ParseObject(id.Object())
		if again != id {
			t.Errorf("%q is %+v, which is %q, which is %+v", s, id, id.Object(), again)
		}
	})
}
