package metadata

import (
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/scan/expr"
)

// FuzzColumnType reads types of columns in MySQL's spelling, as the option
// mysql.type.<id> of any table may have them.
func FuzzColumnType(f *testing.F) {
	for _, s := range []string{"bigint unsigned", "varchar(10) character set utf8mb4 collate utf8mb4_bin", "enum('a','b''c')", "set('x')", "decimal(65,30)", "time(6)", "bit(64)", "enum('", "varchar()", "int(99999999999999999999)",
		"decimal(-1,99)", "tinyint(1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ParseColumnType(s, StoredCollation)
		for _, stored := range []catalog.Type{catalog.TString, catalog.TBigInt, catalog.TDecimal(20, 0), catalog.TTimestamp(3), catalog.TBytes} {
			_, _ = expr.FromColumn(catalog.Field{Name: "c", Type: stored}, s)
			TypeOf(catalog.Field{Name: "c", Type: stored}, s)
		}
	})
}
