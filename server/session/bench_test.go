package session

import (
	"fmt"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/memory"
)

// What tools ask all the time, in a lake of 200 tables of 40 columns.
func BenchmarkStatements(b *testing.B) {
	c := memory.NewCatalog(nil, "shop")
	for i := range 200 {
		s := &catalog.Schema{Options: map[string]string{}, PrimaryKeys: []string{"c0"}}
		for j := range 40 {
			s.Fields = append(s.Fields, catalog.Field{ID: j, Name: fmt.Sprintf("c%d", j), Type: catalog.TInt.Required()})
			s.HighestFieldID = j
		}
		if _, err := c.CreateTable(b.Context(), catalog.Identifier{Database: "shop", Table: fmt.Sprintf("t%d", i)}, s, false); err != nil {
			b.Fatal(err)
		}
	}
	srv := server(b, func(cfg *Config) { cfg.Catalogs = []NamedCatalog{{Name: "lake", Catalog: c}} })
	s := session(b, srv, OpenOptions{Database: "shop"})
	for _, text := range []string{"SELECT 1", "SELECT @@session.autocommit, @@sql_mode", "SET wait_timeout = 100", "SHOW VARIABLES LIKE 'sql_mode'",
		"SHOW FULL COLUMNS FROM t7", "SHOW CREATE TABLE t7", "SHOW TABLES", "SHOW FULL TABLES",
		"SELECT * FROM information_schema.columns WHERE table_schema = 'shop' AND table_name = 't7'",
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'",
		"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'shop'", "SELECT c1 FROM t7"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rows(b.Context(), s, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
