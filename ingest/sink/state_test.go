package sink

import (
	"context"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// lossy loses the reply of every creation.
type lossy struct{ fileio.FileIO }

func (l lossy) CreateExclusive(ctx context.Context, p string, b []byte) error {
	if err := l.FileIO.CreateExclusive(ctx, p, b); err != nil {
		return err
	}
	return errs.New(errs.UnknownOutcome, errs.KindNone, "the reply is lost")
}

func TestState(t *testing.T) {
	ctx := context.Background()
	files := fileio.Local{NoSync: true}
	dir := StateDir(t.TempDir(), "a/b c")
	if s, err := ReadState(ctx, files, dir); s != nil || err != nil {
		t.Fatal(s, err)
	}
	s := &State{Pipeline: "a/b c", Source: "x", Tables: map[string]*TableState{"d.t": {UUID: "u", Copied: true}}, n: -1}
	for i := range 12 {
		s.Seq = int64(i)
		if err := s.write(ctx, files, dir); err != nil {
			t.Fatal(err)
		}
	}
	list, err := files.List(ctx, dir)
	if err != nil || len(list) != statesKept {
		t.Errorf("%v %v", list, err)
	}
	got, err := ReadState(ctx, files, dir)
	if err != nil || got.Seq != 11 || got.n != 11 || got.Tables["d.t"].UUID != "u" {
		t.Fatalf("%+v %v", got, err)
	}
	// Two processes: the second to write the same number is fenced.
	other := *got
	other.Seq = 99
	if err := other.write(ctx, files, dir); err != nil {
		t.Fatal(err)
	}
	if err := s.write(ctx, files, dir); errs.KindOf(err) != errs.Fenced {
		t.Errorf("%v", err)
	}
	// What an ended process sent comes late: it is read again.
	young := *got
	young.Epoch = got.Epoch + 1
	if err := young.write(ctx, files, dir); errs.ClassOf(err) != errs.Conflict || errs.KindOf(err) != errs.KindNone {
		t.Errorf("%v", err)
	}
	// A lost reply is told from a lost race by the content.
	if err := other.write(ctx, lossy{files}, dir); err != nil {
		t.Errorf("%v", err)
	}
	// Damage and unknown versions are said, never skipped.
	for n, text := range map[int64]string{20: `{"version":1,`, 21: `{"version":2}`} {
		if err := files.WriteFile(ctx, statePath(dir, n), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadState(ctx, files, dir); err == nil {
			t.Errorf("state %d was read", n)
		}
	}
}
