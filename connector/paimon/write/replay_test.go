package write_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestWritersSideBySide lets two processes write the same keys. Each commit
// counts as of when it was committed, whatever was numbered first.
func TestWritersSideBySide(t *testing.T) {
	for _, e := range []engineTable{
		{name: "fixed", options: map[string]string{"bucket": "2"}, deletes: true},
		{name: "dynamic", options: map[string]string{"dynamic-bucket.target-row-num": "5"}, deletes: true},
		{name: "vectors", options: map[string]string{"bucket": "1", "deletion-vectors.enabled": "true"}, deletes: true},
		{name: "input", options: map[string]string{"bucket": "1", "changelog-producer": "input"}, deletes: true},
		{name: "parts", options: map[string]string{"dynamic-bucket.target-row-num": "5", "thermocline.maintenance": "true", "num-sorted-run.compaction-trigger": "3"}, deletes: true, parts: true},
	} {
		t.Run(e.name, func(t *testing.T) {
			s := e.schema()
			s.Options["commit.min-retry-wait"] = "1 ms"
			x := newTable(t, fileio.NewMemory(), "/db.db/t", s)
			m := &model{x: x, rows: map[string]string{}}
			r := rand.New(rand.NewPCG(3, 3))
			type process struct {
				w    connector.TableWrite
				c    connector.TableCommit
				rows []row
			}
			budget := memory.New("test", 0)
			start := func(user string) *process {
				tb := x.open().(connector.Writable) // a driver of its own
				w, err := tb.NewWrite(ctx, connector.WriteOptions{CommitUser: user, Budget: budget})
				if err != nil {
					t.Fatal(err)
				}
				c, err := tb.NewCommit(ctx, user)
				if err != nil {
					t.Fatal(err)
				}
				return &process{w: w, c: c}
			}
			ps := []*process{start("a"), start("b")}
			var open [2][]connector.CommitMessage
			for id := int64(1); id <= 30; id++ {
				n := r.IntN(2)
				p := ps[n]
				if open[n] == nil {
					p.rows = e.rows(r, 25)
					if err := p.w.Write(ctx, x.batch(p.rows...)); err != nil {
						t.Fatal(err)
					}
					ms, err := p.w.PrepareCommit(ctx)
					if err != nil {
						t.Fatal(err)
					}
					open[n] = ms
					continue
				}
				if _, err := p.c.Commit(ctx, &connector.Committable{Identifier: id, Messages: open[n]}); err != nil {
					t.Fatal(err)
				}
				open[n] = nil
				m.apply(p.rows)
				same(t, fmt.Sprintf("after %d", id), x.read(catalog.Ref{}), m.sorted())
			}
			for n, p := range ps {
				if err := p.c.Abort(ctx, open[n]); err != nil {
					t.Fatal(err)
				}
				if err := p.w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if budget.Used() != 0 {
				t.Errorf("%d bytes are still reserved", budget.Used())
			}
			x.sound("in the end")
		})
	}
}

// TestStaleReadIsConflict checks that what was read from the table is not written
// again on another state.
func TestStaleReadIsConflict(t *testing.T) {
	e := engineTable{options: map[string]string{"bucket": "1"}}
	x := newTable(t, fileio.NewMemory(), "/db.db/t", e.schema())
	tb := x.open().(connector.Writable)
	c, err := tb.NewCommit(ctx, "me")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	put := func(version int64) error {
		w, err := tb.NewWrite(ctx, connector.WriteOptions{CommitUser: "me"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Write(ctx, x.batch(e.rows(r, 5)...)); err != nil {
			t.Fatal(err)
		}
		ms, err := w.PrepareCommit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Commit(ctx, &connector.Committable{Identifier: 1, Messages: ms, ReadVersion: version})
		return err
	}
	for range 2 {
		if err := put(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(1); errs.ClassOf(err) != errs.Conflict {
		t.Errorf("a stale read: %v", err)
	}
}

// TestRegistry checks that one commit of a process waits for another.
func TestRegistry(t *testing.T) {
	x := newTable(t, fileio.NewMemory(), "/db.db/t", appendSchema())
	var r write.Registry
	release, err := r.Commit(ctx, x.paths)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan struct{})
	go func() {
		defer close(got)
		done, err := r.Commit(ctx, x.paths)
		if err != nil {
			t.Error(err)
			return
		}
		done()
	}()
	select {
	case <-got:
		t.Fatal("two commits went ahead at once")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	release() // twice is once
	<-got
	var none *write.Registry
	if _, err := none.Commit(ctx, x.paths); err != nil {
		t.Fatal(err)
	}
}
