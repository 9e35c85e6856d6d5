package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan"
)

func BenchmarkTPCH(b *testing.B) {
	e := tpch(b)
	dir := testkit.Shared(b, "fixtures/tpch")
	for n := 1; n <= 22; n++ {
		q, err := os.ReadFile(filepath.Join(dir, "queries", fmt.Sprintf("q%02d.sql", n)))
		if err != nil {
			b.Fatal(err)
		}
		text := strings.TrimRight(strings.TrimSpace(string(q)), ";")
		b.Run(fmt.Sprintf("q%02d", n), func(b *testing.B) {
			b.ReportAllocs()
			e.opts = scan.Options{Threads: 1}
			for range b.N {
				if _, err := e.run(text); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}
