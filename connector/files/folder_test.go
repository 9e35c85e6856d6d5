package files

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// overwrite replaces the rows of a folder by as many as there are partitions, the way
// statements do: an unknown outcome is tried again.
func overwrite(t *testing.T, f *Folder, value string, parts int) error {
	t.Helper()
	b := &vector.Batch{Len: parts, Seq: -1, Cols: []*vector.Vec{vector.New(vector.Str, 0), vector.New(vector.I32, 0)}}
	for p := range parts {
		b.Cols[0].AppendString(value)
		b.Cols[1].AppendI32(int32(p))
	}
	budget := memory.New("test", 0)
	w, err := f.NewWrite(t.Context(), connector.WriteOptions{Budget: budget, Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.NewCommit(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), b)
	var messages []connector.CommitMessage
	if err == nil {
		messages, err = w.PrepareCommit(t.Context())
	}
	if err == nil {
		k := &connector.Committable{Messages: messages, Overwrite: true}
		for range 2 {
			if _, err = c.Commit(t.Context(), k); err == nil || errs.ClassOf(err) != errs.UnknownOutcome {
				break
			}
		}
		if err != nil && errs.ClassOf(err) != errs.UnknownOutcome {
			_ = c.Abort(t.Context(), messages)
		}
	}
	if e := w.Close(); err == nil && e != nil {
		t.Error(e)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
	return err
}

// TestFolderFaults: whatever operation of the store fails, an OVERWRITE has replaced
// all rows or none, and says which; when it cannot know, both may be there, but no
// row is missing.
func TestFolderFaults(t *testing.T) {
	for i, name := range []string{"csv", "csv", "parquet", "parquet"} {
		for at := 1; ; at++ {
			mem := fileio.NewMemory()
			s := &Store{Files: mem, Formats: format.NewRegistry(parquet.Format{})}
			f, err := s.Folder(catalog.Identifier{Database: "d", Table: "t"}, &catalog.Schema{
				Fields:        []catalog.Field{{Name: "v", Type: catalog.TString}, {ID: 1, Name: "p", Type: catalog.TInt}},
				PartitionKeys: []string{"p"}, Options: map[string]string{"path": "/t", "format": name},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := overwrite(t, f, "old", 3); err != nil {
				t.Fatal(err)
			}
			n, hit := 0, false
			mem.SetFault(func(fileio.Op) fileio.Outcome {
				if n++; n == at {
					hit = true
					return []fileio.Outcome{fileio.FailBefore, fileio.FailAfter}[i%2]
				}
				return 0
			})
			failed := overwrite(t, f, "new", 2)
			mem.SetFault(nil)
			_, rows, err := read(t.Context(), f, 0)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(rows)
			got := strings.Join(rows, "; ")
			const before, after = "old|0; old|1; old|2", "new|0; new|1"
			switch {
			case failed == nil && got == after, failed != nil && got == before:
			case errs.ClassOf(failed) == errs.UnknownOutcome && strings.Contains(got, after):
			default:
				t.Errorf("%s, operation %d (%v): %s", name, at, failed, got)
			}
			if !hit {
				if failed != nil {
					t.Error(errors.Unwrap(failed), failed)
				}
				break
			}
		}
	}
}
