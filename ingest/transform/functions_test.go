package transform

import (
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/scan/expr"
)

// TestFunctions has the functions that pipelines know beside MySQL's, as Flink's
// documentation describes them; the zone is Shanghai's.
func TestFunctions(t *testing.T) {
	def := &source.Table{ID: source.ID{Database: "d", Name: "t"}, PrimaryKey: []string{"id"}, Columns: []source.Column{
		{Name: "id", Type: catalog.TBigInt.Required()}, {Name: "s", Type: catalog.TString}, {Name: "p", Type: catalog.TTimestampLTZ(3)}}}
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ expr, s, want, typ string }{
		{"TO_DATE(s)", "2026-02-24", "2026-02-24", "DATE"},
		{"TO_DATE(s, 'yyyyMMdd')", "20260224", "2026-02-24", "DATE"},
		{"TO_TIMESTAMP(s)", "2026-02-24 12:03:16.5", "2026-02-24 12:03:16.500", "TIMESTAMP(3)"},
		{"TO_TIMESTAMP(s, 'yyyy/MM/dd HH:mm')", "2026/02/24 12:03", "2026-02-24 12:03:00.000", "TIMESTAMP(3)"},
		{"TO_TIMESTAMP(s, 'yyyy-MM-dd''T''HH:mm:ss.SSS')", "2026-02-24T12:03:16.123", "2026-02-24 12:03:16.123", "TIMESTAMP(3)"},
		{"TO_DATE(s, '%d.%m.%Y')", "24.02.2026", "2026-02-24", "DATE"},
		{"TO_TIMESTAMP_LTZ(id)", "", "2023-11-15 06:13:20.123", "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
		{"DATE_FORMAT(p, 'yyyy-MM-dd HH:mm')", "", "2023-11-15 06:13", "STRING"},
		{"DATE_FORMAT(p, 'HH:mm')", "", "06:13", "STRING"},
		{"DATE_FORMAT(p, '%H:%i')", "", "06:13", "STRING"},
		{"FROM_UNIXTIME(1700000000, 'MM/dd')", "", "11/15", "STRING"},
		{"DATE_FORMAT_TZ(p, 'yyyy-MM-dd HH:mm', 'America/New_York')", "", "2023-11-14 17:13", "STRING"},
		{"PARSE_JSON(s)['k']", `{"k": [1, 2]}`, "[1, 2]", "STRING"},
		{"PARSE_JSON(s)['k'][2]", `{"k": [1, 2]}`, "2", "STRING"},
		{"TRY_PARSE_JSON(s)", "{", "NULL", "STRING"},
		{"STARTSWITH(s, 'ab')", "abc", "1", "BOOLEAN"},
		{"ENDSWITH(s, 'ab')", "abc", "0", "BOOLEAN"},
		{"BTRIM(s) || '|'", " a ", "a|", "STRING"},
		{"REGEXP_REPLACE(s, '\\d+', '#')", "a12b", "a#b", "STRING"},
		{"UNIX_TIMESTAMP(NOW())", "", "1700000000", "BIGINT"},
		{"CURRENT_DATE", "", "2023-11-15", "DATE"},
		{"LOCALTIMESTAMP", "", "2023-11-15 06:13:20", "TIMESTAMP(0)"},
		{"__schema_name__ || '.' || __table_name__", "", "d.t", "STRING"},
	} {
		r, err := Parse([]pipeline.Transform{{SourceTable: "d.t", Projection: `id, ` + c.expr + ` AS x`}}, Options{Zone: zone})
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		s, err := r.Bind(def, "")
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		b := s.NewBatch(1)
		b.Cols[0].AppendI64(1_700_000_000_123)
		b.Cols[1].AppendString(c.s)
		b.Cols[2].AppendI64(1_700_000_000_123_000)
		b.Len = 1
		var seq int64
		s.Stamp(b, Origin{Time: time.UnixMilli(1_700_000_000_123), Txn: "x"}, &seq)
		out, err := s.Apply(b)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		col := s.Output.Columns[1]
		got := "NULL"
		if v := out.Cols[1]; !v.IsNull(0) {
			x, err := expr.FromColumn(catalog.Field{Type: col.Type}, col.Declared)
			if err != nil {
				t.Fatal(err)
			}
			got = string(expr.AppendText(nil, x, v, 0, zone))
		}
		if typ := strings.TrimSuffix(col.Type.String(), " NOT NULL"); got != c.want || typ != c.typ {
			t.Errorf("%s: %s %s, want %s %s", c.expr, got, typ, c.want, c.typ)
		}
	}
}
