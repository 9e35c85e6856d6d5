package spill

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func ints(xs ...int64) *vector.Batch {
	b := vector.NewBatch([]vector.Kind{vector.I64}, len(xs))
	for _, x := range xs {
		b.Cols[0].AppendI64(x)
	}
	b.Len = len(xs)
	return b
}

// A damaged file is an error, whichever bit it is.
func TestDamage(t *testing.T) {
	b := ints(1, 2, 3, 1<<40)
	b.Sel = []uint16{1, 3}
	data, _ := appendBlock(nil, nil, b)
	got, err := decodeBlock(data)
	if err != nil || got.Len != 2 || got.Cols[0].I64s[0] != 2 || got.Cols[0].I64s[1] != 1<<40 {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		if _, err := decodeBlock(data); errs.ClassOf(err) != errs.Corruption {
			t.Errorf("bit %d flipped: %v", i, err)
		}
		data[i/8] ^= 1 << (i % 8)
	}
	for n := range len(data) {
		if _, err := decodeBlock(data[:n]); errs.ClassOf(err) != errs.Corruption {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// The order of a partition is the one that was asked for, whoever wrote first;
// closing leaves nothing.
func TestOrder(t *testing.T) {
	ctx := context.Background()
	files := fileio.NewScratch(t.TempDir(), 0)
	s := NewScope(files)
	w, err := s.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 20 {
				if err := w.Append(ctx, Key{Part: i % 3, Order: uint64(worker), Tag: worker}, ints(int64(worker*100+i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for part := range 3 {
		last, n := int64(-1), 0
		for r := f.Reader(part); ; n++ {
			b, k, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			x := b.Cols[0].I64s[0]
			if x <= last || int(x)%100%3 != part || k.Tag != int(x)/100 {
				t.Errorf("partition %d: %d after %d, tag %d", part, x, last, k.Tag)
			}
			last = x
		}
		if want := []int{28, 28, 24}[part]; n != want {
			t.Errorf("partition %d has %d batches, want %d", part, n, want)
		}
		if got, want := f.Rows(part, 1), []int64{7, 7, 6}[part]; got != want {
			t.Errorf("partition %d has %d rows of a tag, want %d", part, got, want)
		}
	}
	if bytes, open := files.Used(); bytes != f.Size() || open != 1 || s.Written() != bytes {
		t.Errorf("%d bytes in %d files, the file has %d", bytes, open, f.Size())
	}
	if err := w.Append(ctx, Key{}, ints(1)); err == nil {
		t.Error("a finished file took rows")
	}
	if _, err := s.Create(ctx); err != nil { // left open
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(s.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, open := files.Used(); bytes != 0 || open != 0 {
		t.Errorf("after Close: %d bytes in %d files", bytes, open)
	}
	if _, err := s.Create(ctx); err == nil {
		t.Error("a closed scope made a file")
	}
}

// The limit has an error of its own; a store that fails at any operation leaves
// nothing.
func TestFailures(t *testing.T) {
	ctx, broken := context.Background(), errors.New("broken")
	run := func(s *Scope) error {
		w, err := s.Create(ctx)
		if err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(3, 4))
		for range 20 {
			if err := w.Append(ctx, Key{}, ints(int64(r.Uint64()), int64(r.Uint64()))); err != nil {
				return err
			}
		}
		f, err := w.Finish()
		if err != nil {
			return err
		}
		for r := f.Reader(0); ; {
			if b, _, err := r.Next(ctx); b == nil || err != nil {
				return err
			}
		}
	}
	for at := range 45 {
		files := fileio.NewScratch(t.TempDir(), 0)
		if at == 0 {
			files = fileio.NewScratch(t.TempDir(), 500)
		}
		n := 0
		files.SetFault(func(string) error {
			if n++; n == at {
				return broken
			}
			return nil
		})
		s := NewScope(files)
		err := run(s)
		switch {
		case at == 0 && !errs.Is(err, errs.DiskLimit), at > 0 && at <= 41 && !errors.Is(err, broken), at > 41 && err != nil:
			t.Errorf("operation %d: %v", at, err)
		}
		_ = s.Close()
		if bytes, open := files.Used(); bytes != 0 || open != 0 {
			t.Errorf("operation %d: %d bytes in %d files are left", at, bytes, open)
		}
	}
	stopped, cancel := context.WithCancelCause(ctx)
	cancel(broken)
	s := NewScope(fileio.NewScratch(t.TempDir(), 0))
	defer s.Close()
	w, err := s.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(stopped, Key{}, ints(1)); !errors.Is(err, broken) {
		t.Errorf("a cancelled write: %v", err)
	}
}
