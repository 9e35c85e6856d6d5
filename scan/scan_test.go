package scan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a table whose splits tell who they are.
type fake struct {
	splits         []connector.Split
	opened, closed atomic.Int64
	failOpen       int // split whose Open fails, -1 for none
}

type fakeSplit struct {
	f     *fake
	i     int
	bytes int64
}

func (s fakeSplit) Rows() int64  { return 2 }
func (s fakeSplit) Bytes() int64 { return s.bytes }
func (s fakeSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	if s.i == s.f.failOpen {
		return nil, errors.New("cannot open")
	}
	s.f.opened.Add(1)
	return &fakeReader{s: s, ctx: ctx}, nil
}

type fakeReader struct {
	s      fakeSplit
	ctx    context.Context
	given  bool
	closed bool
}

func (r *fakeReader) Next(context.Context) (*vector.Batch, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, fmt.Errorf("the context of Open ended while reading: %w", err)
	}
	if r.given {
		return nil, nil
	}
	r.given = true
	b := vector.NewBatch([]vector.Kind{vector.I64}, 2)
	b.Cols[0].AppendI64(int64(r.s.i))
	b.Cols[0].AppendI64(int64(r.s.i))
	b.Len = 2
	return b, nil
}

func (r *fakeReader) Close() error {
	if !r.closed {
		r.closed = true
		r.s.f.closed.Add(1)
	}
	return nil
}

func (f *fake) Version() int64                                { return 1 }
func (f *fake) Schema() *catalog.Schema                       { return &catalog.Schema{} }
func (f *fake) RowCount(context.Context) (int64, bool, error) { return -1, false, nil }
func (f *fake) Plan(context.Context, connector.ScanRequest) (*connector.Plan, error) {
	return &connector.Plan{Splits: f.splits}, nil
}

func newFake(n int, bytes func(int) int64) *fake {
	f := &fake{failOpen: -1}
	for i := range n {
		f.splits = append(f.splits, fakeSplit{f, i, bytes(i)})
	}
	return f
}

// The ranges give every split once, in order.
func TestRanges(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{0, 1, 5, 64, 65, 200, 1000} {
		for name, bytes := range map[string]func(int) int64{
			"equal": func(int) int64 { return 10 }, "empty": func(int) int64 { return 0 }, "first": func(i int) int64 { return 1 + int64(1-min(i, 1))*1e6 },
			"last": func(i int) int64 { return 1 + int64(i/max(n-1, 1))*1e6 },
		} {
			f := newFake(n, bytes)
			src, err := Open(ctx, f, Request{})
			if err != nil {
				t.Fatal(err)
			}
			if src.Ranges() > maxRanges || n > 0 && src.Ranges() == 0 || n <= maxRanges && src.Ranges() != n {
				t.Errorf("%d splits (%s) make %d ranges", n, name, src.Ranges())
			}
			want := int64(0)
			for i := range src.Ranges() {
				r := src.Reader(i)
				for {
					b, err := r.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if b == nil {
						break
					}
					if b.Cols[0].I64s[0] != want {
						t.Fatalf("%d splits (%s): split %d came, want %d", n, name, b.Cols[0].I64s[0], want)
					}
					want++
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if want != int64(n) || f.opened.Load() != f.closed.Load() {
				t.Errorf("%d splits (%s): read %d, opened %d, closed %d", n, name, want, f.opened.Load(), f.closed.Load())
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	ctx := context.Background()
	f := newFake(200, func(int) int64 { return 1 })
	f.failOpen = 2
	src, err := Open(ctx, f, Request{})
	if err != nil {
		t.Fatal(err)
	}
	r := src.Reader(0)
	for err == nil {
		var b *vector.Batch
		if b, err = r.Next(ctx); b == nil && err == nil {
			t.Fatal("the split that cannot be opened was passed over")
		}
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Closing in the middle, with a split opened ahead.
	r = src.Reader(1)
	if _, err := r.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	r = src.Reader(2)
	if _, err := r.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if f.opened.Load() != f.closed.Load() {
		t.Errorf("opened %d, closed %d", f.opened.Load(), f.closed.Load())
	}
}

func TestOptions(t *testing.T) {
	if (Options{}).Workers() < 1 || (Options{Threads: 3}).Workers() != 3 || (Options{}).Rows() != vector.BatchRows || (Options{BatchRows: 1 << 20}).Rows() != vector.MaxBatchRows {
		t.Error("defaults and bounds")
	}
}
