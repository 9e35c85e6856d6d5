package transform

import (
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
)

// TestCommon has Flink CDC's table of common types, with this system's changes:
// what would lose digits silently is refused or said.
func TestCommon(t *testing.T) {
	col := func(x catalog.Type, declared string) source.Column {
		return source.Column{Name: "c", Type: x, Declared: declared}
	}
	varchar := func(n int, collation string) source.Column {
		c := col(catalog.Type{Kind: catalog.Varchar, Length: n}, "")
		if collation != "" {
			c.Declared = "varchar(" + itoa(n) + ") collate " + collation
		}
		return c
	}
	dec := func(p, s int) source.Column { return col(catalog.TDecimal(p, s), "") }
	for _, c := range []struct {
		a, b source.Column
		want string // "" is refused
		loss bool
	}{
		{col(catalog.TTinyInt, ""), col(catalog.TBigInt, ""), "BIGINT", false},
		{col(catalog.TTinyInt, "tinyint(1)"), col(catalog.TTinyInt, ""), "TINYINT", false},
		{col(catalog.TBigInt, "int unsigned"), col(catalog.TInt, ""), "BIGINT", false},
		{col(catalog.TInt, ""), col(catalog.TInt.Required(), ""), "INT", false},
		{col(catalog.TInt, ""), dec(10, 2), "DECIMAL(12, 2)", false},
		{col(catalog.TBigInt, ""), dec(38, 30), "STRING", false},
		{dec(10, 2), dec(8, 4), "DECIMAL(12, 4)", false},
		{dec(38, 0), dec(38, 30), "", false},
		{dec(10, 2), col(catalog.TDouble, ""), "STRING", false},
		{col(catalog.TSmallInt, ""), col(catalog.TFloat, ""), "FLOAT", false},
		{col(catalog.TInt, ""), col(catalog.TFloat, ""), "DOUBLE", false},
		{col(catalog.TBigInt, ""), col(catalog.TDouble, ""), "DOUBLE", true},
		{col(catalog.TFloat, ""), col(catalog.TDouble, ""), "DOUBLE", false},
		{varchar(10, "utf8mb4_bin"), varchar(20, "utf8mb4_bin"), "VARCHAR(20) varchar(20) collate utf8mb4_bin", false},
		{varchar(10, "utf8mb4_bin"), varchar(20, "utf8mb4_general_ci"), "VARCHAR(20)", true},
		{varchar(10, "utf8mb4_bin"), col(catalog.TInt, ""), "STRING", false},
		{col(catalog.TDate, ""), col(catalog.TTimestamp(3), ""), "TIMESTAMP(3)", false},
		{col(catalog.TTimestamp(0), ""), col(catalog.TTimestamp(6), ""), "TIMESTAMP(6)", false},
		{col(catalog.TTimestamp(0), ""), col(catalog.TTimestampLTZ(0), ""), "", false},
		{col(catalog.TBigInt, "time"), col(catalog.TBigInt, "time(3)"), "BIGINT time(3)", false},
		{col(catalog.TBigInt, "time"), col(catalog.TBigInt, ""), "STRING", false},
		{col(catalog.TBoolean, ""), col(catalog.TInt, ""), "STRING", false},
		{col(catalog.TBytes, "blob"), col(catalog.TInt, ""), "", false},
	} {
		for _, p := range [][2]source.Column{{c.a, c.b}, {c.b, c.a}} {
			got, loss, err := Common(p[0], p[1])
			text := ""
			if err == nil {
				if text = got.Type.String(); got.Declared != "" {
					text += " " + got.Declared
				}
			}
			if text != c.want || (loss != "") != c.loss {
				t.Errorf("%s %s, %s %s: %q %q %v, want %q", p[0].Type, p[0].Declared, p[1].Type, p[1].Declared, text, loss, err, c.want)
			}
			if err != nil {
				continue
			}
			for _, x := range p { // what is common holds both
				if _, ok := converter(x, got.Type, got.Declared); !ok {
					t.Errorf("%s does not become %s", x.Type, got.Type)
				}
			}
		}
	}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }
