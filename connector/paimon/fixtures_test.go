package paimon_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/blob"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

func newDriver() *paimon.Driver {
	return paimon.NewDriver(paimon.Config{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{}, orc.Format{}, avro.Format{}, blob.Format{})})
}

// scanOptions vary how a table is read, without changing its rows.
type scanOptions struct {
	batch     int
	noPruning bool
}

// rows reads a version of a table as canonical text, sorted.
func rows(tb connector.Readable, ref catalog.Ref, o scanOptions) (out []string, schema *catalog.Schema, err error) {
	snap, err := tb.Snapshot(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	schema = snap.Schema()
	req := connector.ScanRequest{BatchRows: o.batch, NoPruning: o.noPruning, Budget: memory.New("test", 256<<20)}
	var types []catalog.Type
	for i, f := range schema.Fields {
		req.Columns = append(req.Columns, i)
		types = append(types, f.Type)
	}
	plan, err := snap.Plan(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				r.Close()
				return nil, nil, err
			}
			if b == nil {
				break
			}
			if o.batch > 0 && b.Rows() > o.batch {
				return nil, nil, fmt.Errorf("a batch of %d rows", b.Rows())
			}
			for i := range b.Rows() {
				out = append(out, string(jsonl.AppendRow(nil, b, b.Row(i), types)))
			}
		}
		if err := r.Close(); err != nil {
			return nil, nil, err
		}
	}
	if n := req.Budget.Used(); n != 0 {
		return nil, nil, fmt.Errorf("%d bytes stay reserved", n)
	}
	slices.Sort(out)
	return out, schema, nil
}

// openExpected opens what a file of rows describes.
func openExpected(d *paimon.Driver, root string, e testkit.Expected) (connector.Readable, error) {
	id := catalog.Identifier{Database: "default", Table: filepath.Base(e.Table), Branch: e.Branch, System: e.System}
	return d.Open(ctx, filepath.Join(root, e.Table), id)
}

// outcome reads what a file of rows describes: "equal", or "refused: …" by an
// error of class Unsupported. Anything else is an error.
func outcome(d *paimon.Driver, root string, e testkit.Expected, want testkit.Rows, o scanOptions) (string, error) {
	tb, err := openExpected(d, root, e)
	var got testkit.Rows
	var schema *catalog.Schema
	if err == nil {
		got.Lines, schema, err = rows(tb, e.Ref, o)
	}
	if what, ok := testkit.Refusal(err); ok {
		return "refused: " + what, nil
	}
	if err != nil {
		return "", err
	}
	for _, f := range schema.Fields {
		got.Columns = append(got.Columns, jsonl.Column{Name: f.Name, Type: f.Type.String()})
	}
	if diff := e.Diff(got, want, filepath.Join(root, e.Table)); diff != "" {
		return "", fmt.Errorf("%s", diff)
	}
	return "equal", nil
}

// TestFixtures reads every table, snapshot, tag, branch and system table that
// Java wrote and read, and compares. What is not implemented must be refused by
// name; testdata/fixtures.golden says which reads are equal, so that one that
// stops being equal fails. THERMOCLINE_UPDATE=1 writes it anew.
func TestFixtures(t *testing.T) {
	var lines []string
	for _, set := range []string{"paimon-latest", "paimon-java"} {
		root, expectedRoot := testkit.Shared(t, "fixtures/"+set), testkit.Shared(t, "fixtures/expected/"+set)
		d := newDriver()
		list, skipped := testkit.ExpectedReads(t, expectedRoot)
		equal, refused := 0, 0
		for _, e := range list {
			got, err := outcome(d, root, e, testkit.LoadRows(t, filepath.Join(expectedRoot, e.Path+".jsonl")), scanOptions{})
			if err != nil {
				t.Errorf("%s/%s: %v", set, e.Path, err)
				got = "wrong"
			}
			if got == "equal" {
				equal++
			} else {
				refused++
			}
			lines = append(lines, set+"/"+e.Path+": "+got)
		}
		t.Logf("%s: %d reads are equal, %d refused, %d of change logs left out", set, equal, refused, skipped)
	}
	testkit.Golden(t, "testdata/fixtures.golden", lines)
}
