package paimon_test

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// corpusTable opens a table of the corpus.
func corpusTable(t *testing.T, name string) connector.Readable {
	t.Helper()
	files, _ := loadCorpus(t)
	tb, err := openExpected(driverOver(files), "/lake", testkit.Expected{Table: name + "/default.db/t"})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// TestAggregateOverflow reads a sum that does not fit its type: an error, as in
// Java, and none when the column is not read.
func TestAggregateOverflow(t *testing.T) {
	tb := corpusTable(t, "aggregation_overflow")
	_, _, err := rows(tb, catalog.Ref{}, scanOptions{})
	if errs.ClassOf(err) != errs.User || !strings.Contains(err.Error(), "100 + 100 is out of the range of TINYINT") {
		t.Errorf("%v", err)
	}
	w := whole(t, tb, catalog.Ref{Kind: catalog.BySnapshot, ID: 1})
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	w.snap = snap
	n := 0
	w.each(t, connector.ScanRequest{Columns: []int{0}}, func(*vector.Batch, int) { n++ })
	if n != 2 {
		t.Errorf("%d rows", n)
	}
}
