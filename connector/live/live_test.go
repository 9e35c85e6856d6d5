package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector"
)

// rows counts its holders.
type rows struct {
	n    int64
	refs atomic.Int64
	t    *testing.T
}

func (r *rows) Rows() int64  { return r.n }
func (r *rows) Bytes() int64 { return r.n }
func (r *rows) Retain()      { r.refs.Add(1) }
func (r *rows) Release() {
	if r.refs.Add(-1) < 0 {
		r.t.Error("released more often than retained")
	}
}

func view(t *testing.T, n int64, made *[]*rows) *View {
	tables := map[string]Table{}
	for _, name := range []string{"d.a", "d.b"} {
		r := &rows{n: n, t: t}
		r.refs.Store(1)
		*made = append(*made, r)
		tables[name] = Table{UUID: name, LiveRows: connector.LiveRows{Base: n, Rows: r}}
	}
	return NewView(fmt.Sprint(n), true, tables)
}

// TestFeed: readers see whole views that never go back, and what a view holds is
// released exactly once, after the last reader.
func TestFeed(t *testing.T) {
	var reg Registry
	f := reg.Open("/w", "p", []string{"d.a", "d.b"})
	if reg.Find("/w", "d.a") != f || reg.Find("/w", "d.c") != nil || reg.Find("/v", "d.a") != nil {
		t.Fatal("the feed is found by root and table")
	}
	var made []*rows
	f.Publish(view(t, 1, &made))
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		wg.Go(func() {
			last := int64(0)
			for !done.Load() {
				v, err := f.Ask(context.Background())
				if err != nil || v == nil {
					t.Error(v, err)
					return
				}
				a, b := v.Tables["d.a"], v.Tables["d.b"]
				if a.Base != b.Base || a.Base < last || a.Rows.(*rows).refs.Load() < 1 || b.Rows.(*rows).refs.Load() < 1 {
					t.Errorf("bases %d and %d after %d", a.Base, b.Base, last)
				}
				last = a.Base
				v.Release()
			}
		})
	}
	for n := range int64(2000) {
		f.Publish(view(t, n+2, &made))
	}
	done.Store(true)
	wg.Wait()
	if got := reg.Snapshots("d.a"); len(got) != 1 || got[0] != 2001 {
		t.Errorf("snapshots %v", got)
	}
	if !f.Wanted() {
		t.Error("nobody asked")
	}
	f.Close("was paused")
	if e := f.End(); e == nil || e.Whole || e.Reason != "was paused" {
		t.Errorf("ended %+v with rows that are not committed", e)
	}
	for i, r := range made {
		if n := r.refs.Load(); n != 0 {
			t.Fatalf("view %d has %d holders", i/2, n)
		}
	}
	if v, err := f.Ask(context.Background()); v != nil || err != nil {
		t.Errorf("a closed feed gave %v, %v", v, err)
	}
	g := reg.Open("/w", "q", []string{"d.a"})
	if reg.Find("/w", "d.a") != g {
		t.Error("the open feed counts")
	}
}

// TestAskWaits: the first query wakes the pipeline and waits until rows are held.
func TestAskWaits(t *testing.T) {
	var reg Registry
	f := reg.Open("/w", "p", []string{"d.a"})
	f.Publish(NewView("1", false, nil))
	woken := make(chan struct{})
	f.OnAsk(func() { close(woken) })
	go func() {
		<-woken
		f.Publish(NewView("2", false, nil))
		f.Publish(NewView("3", true, nil))
	}()
	v, err := f.Ask(context.Background())
	if err != nil || v == nil || v.Position != "3" {
		t.Fatalf("%+v, %v", v, err)
	}
	v.Release()
	f.OnAsk(func() {})
	f.Publish(NewView("4", false, nil))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := f.Ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
