package s3

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

func paimonTable(t *testing.T, fs fileio.FileIO, create bool) catalog.Table {
	t.Helper()
	ctx := context.Background()
	driver := paimon.NewDriver(paimon.Config{Files: fs, Formats: format.NewRegistry(parquet.Format{})})
	c, err := filesystem.Open(filesystem.Config{Files: fs, Warehouse: "s3://lake/wh", Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	id := catalog.Identifier{Database: "db", Table: "t"}
	if create {
		if err := c.CreateDatabase(ctx, "db", false); err != nil {
			t.Fatal(err)
		}
		schema := &catalog.Schema{Fields: []catalog.Field{{Name: "n", Type: catalog.TInt}, {Name: "who", Type: catalog.TString}},
			Options: map[string]string{"commit.max-retries": "1000", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms"}}
		if _, err := c.CreateTable(ctx, id, schema, false); err != nil {
			t.Fatal(err)
		}
	}
	table, err := c.Table(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func paimonRows(t *testing.T, fs fileio.FileIO) (out []string, version int64) {
	t.Helper()
	ctx := context.Background()
	snap, err := paimonTable(t, fs, false).(connector.Readable).Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				row := b.Row(i)
				out = append(out, fmt.Sprintf("%d %s", b.Cols[0].I32s[b.Cols[0].At(row)], b.Cols[1].Bytes(row)))
			}
		}
		r.Close()
	}
	slices.Sort(out)
	return out, snap.Version()
}

// TestPaimonCommitters: committers of one table at once, over a network that
// loses replies and answers of a store that it did the work for. No row is lost
// and none comes twice.
func TestPaimonCommitters(t *testing.T) {
	const committers, commits = 2, 8
	ctx := context.Background()
	o := testkit.S3(t)
	p := newProxy(t, o)
	table := paimonTable(t, open(t, o, p.URL), true)
	n := 0
	p.set(func(r *http.Request) fault { // every third commit and every ninth other request
		if n++; conditional(r) && strings.Contains(r.URL.Path, "/snapshot/") {
			return []fault{none, lose, none, code500, code409, code412, none, code409b}[n%8]
		}
		if n%9 == 0 {
			return lose
		}
		return none
	})
	var wg sync.WaitGroup
	failures := make(chan error, committers)
	for who := range committers {
		wg.Go(func() {
			failures <- func() error {
				user := fmt.Sprint("user", who)
				w, err := table.(connector.Writable).NewWrite(ctx, connector.WriteOptions{CommitUser: user})
				if err != nil {
					return err
				}
				defer w.Close()
				c, err := table.(connector.Writable).NewCommit(ctx, user)
				if err != nil {
					return err
				}
				for i := range commits {
					b := &vector.Batch{Seq: -1, Len: 1, Cols: []*vector.Vec{catalog.TInt.NewVec(1), catalog.TString.NewVec(1)}}
					b.Cols[0].AppendI32(int32(i))
					b.Cols[1].AppendString(user)
					if err := w.Write(ctx, b); err != nil {
						return fmt.Errorf("write: %w", err)
					}
					ms, err := w.PrepareCommit(ctx)
					if err != nil {
						return fmt.Errorf("prepare: %w", err)
					}
					this := &connector.Committable{Identifier: int64(i + 1), Messages: ms}
					for {
						_, err = c.Commit(ctx, this)
						if errs.ClassOf(err) != errs.UnknownOutcome || err == nil {
							break
						}
					}
					if err != nil {
						return fmt.Errorf("commit: %w", err)
					}
				}
				return nil
			}()
		})
	}
	wg.Wait()
	for range committers {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	p.set(nil)
	var want []string
	for who := range committers {
		for i := range commits {
			want = append(want, fmt.Sprintf("%d user%d", i, who))
		}
	}
	slices.Sort(want)
	got, version := paimonRows(t, open(t, o, ""))
	if !slices.Equal(got, want) {
		t.Errorf("rows %v\nwant %v", got, want)
	}
	if version != committers*commits {
		t.Errorf("%d snapshots", version)
	}
}
