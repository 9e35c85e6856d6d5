package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

func mustAdmit(t *testing.T, q *Queue, c Class, account string) *Ticket {
	t.Helper()
	k, err := q.Admit(context.Background(), c, account)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Heavy queries wait for each other, light ones do not wait for them.
func TestClasses(t *testing.T) {
	q := New(Config{Memory: memory.New("query", 400<<20), Cores: 2})
	a, b := mustAdmit(t, q, Heavy, "u"), mustAdmit(t, q, Heavy, "u")
	if q.Try(Heavy, "u") != nil {
		t.Error("a third heavy query runs on two slots")
	}
	l := mustAdmit(t, q, Light, "u")
	if s := q.Stats(Heavy); s.Running != 2 || s.Slots != 2 {
		t.Errorf("stats %+v", s)
	}
	_, sure := a.Budget()
	if want := int64(400<<20) / 100 * 75 / 2; sure != want {
		t.Errorf("%d bytes are sure, want %d", sure, want)
	}
	a.Release()
	a.Release()
	if c := q.Try(Heavy, "u"); c == nil {
		t.Error("no slot after a release")
	} else {
		c.Release()
	}
	b.Release()
	l.Release()
	if n := q.cfg.Memory.Used(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// Little memory means fewer slots, but one in any case; borrowed memory makes
// others wait, not fail.
func TestMemory(t *testing.T) {
	if n, _ := New(Config{Memory: memory.New("query", 100<<20), Cores: 16}).slots(Heavy); n != 4 {
		t.Errorf("%d slots within 100 MiB, want 4", n)
	}
	if n, sure := New(Config{Memory: memory.New("query", 1<<20), Cores: 16}).slots(Heavy); n != 1 || sure != 1<<20/100*75 {
		t.Errorf("%d slots of %d bytes within 1 MiB", n, sure)
	}
	root := memory.New("query", 100<<20)
	q := New(Config{Memory: root, Cores: 2})
	a := mustAdmit(t, q, Heavy, "u")
	own, sure := a.Budget()
	if err := own.Reserve(80 << 20); err != nil { // 37 of them are its own
		t.Fatal(err)
	}
	if q.Try(Heavy, "u") != nil {
		t.Error("memory that another query has borrowed was given away")
	}
	done := make(chan *Ticket)
	go func() { done <- mustAdmit(t, q, Heavy, "v") }()
	for q.Stats(Heavy).Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	own.Release(80<<20 - sure)
	(<-done).Release() // it looks now and then
	a.Release()
	if root.Used() != 0 {
		t.Errorf("%d bytes are left", root.Used())
	}
}

// The next query is of the account with the fewest running, then the oldest.
func TestFair(t *testing.T) {
	q := New(Config{Cores: 2})
	a, b := mustAdmit(t, q, Heavy, "many"), mustAdmit(t, q, Heavy, "many")
	var (
		mu    sync.Mutex
		order []string
		wg    sync.WaitGroup
	)
	for i, who := range []string{"many", "many", "one", "two"} {
		wg.Go(func() {
			k := mustAdmit(t, q, Heavy, who)
			mu.Lock()
			order = append(order, who)
			mu.Unlock()
			k.Release()
		})
		for q.Stats(Heavy).Waiting != i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	a.Release() // one runs of "many": "one" and "two" go first
	wg.Wait()
	b.Release()
	if len(order) != 4 || order[0] != "one" || order[1] != "two" {
		t.Errorf("order %v", order)
	}
}

// Waiting ends with the context and with the longest wait, and leaves nothing.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Cores: 1, Slots: func() int { return 1 }, Wait: func() time.Duration { return time.Minute }})
		a := mustAdmit(t, q, Heavy, "u")
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("killed")
		time.AfterFunc(10*time.Second, func() { cancel(why) })
		if _, err := q.Admit(ctx, Heavy, "u"); !errors.Is(err, why) {
			t.Errorf("cancelled: %v", err)
		}
		at := time.Now()
		_, err := q.Admit(t.Context(), Heavy, "u")
		if !errs.Is(err, errs.QueueTimeout) || errs.ClassOf(err) != errs.Resource {
			t.Errorf("after the longest wait: %v", err)
		}
		if d := time.Since(at); d < time.Minute || d > time.Minute+time.Second {
			t.Errorf("it waited %s", d)
		}
		if s := q.Stats(Heavy); s.Waiting != 0 || s.Waits != 2 || s.Timeouts != 1 || s.Waited < 70*time.Second {
			t.Errorf("stats %+v", s)
		}
		a.Release()
	})
}

// A query that waits for its client lends its slot.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Cores: 1, Slots: func() int { return 1 }})
		a := mustAdmit(t, q, Heavy, "u")
		a.Rest()
		if q.Try(Heavy, "u") != nil {
			t.Error("a slot was lent at once")
		}
		at := time.Now()
		b := mustAdmit(t, q, Heavy, "u")
		if d := time.Since(at); d < restful || d > restful+2*tick {
			t.Errorf("it was lent after %s", d)
		}
		a.Resume()
		b.Release()
		if q.Try(Heavy, "u") != nil {
			t.Error("the slot is taken again")
		}
		a.Release()
	})
}

// Any number of clients that come, wait, give up and leave: never more than the
// slots run, and all is given back.
func TestConcurrent(t *testing.T) {
	root := memory.New("query", 64<<20)
	q := New(Config{Memory: root, Cores: 3})
	slots, _ := q.slots(Heavy)
	var (
		wg      sync.WaitGroup
		running atomic.Int64
	)
	for i := range 50 {
		wg.Go(func() {
			for n := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+n)%5 == 0 {
					time.AfterFunc(time.Duration(n)*50*time.Microsecond, cancel)
				}
				k, err := q.Admit(ctx, Class(n%2), string(rune('a'+i%4)))
				if err == nil {
					if k.Class() == Heavy {
						if r := running.Add(1); r > int64(slots) {
							t.Errorf("%d heavy queries run on %d slots", r, slots)
						}
					}
					own, sure := k.Budget()
					if err := own.Reserve(sure); err != nil {
						t.Errorf("what is sure: %v", err)
					}
					own.Release(sure)
					if k.Class() == Heavy {
						running.Add(-1)
					}
					k.Release()
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if root.Used() != 0 {
		t.Errorf("%d bytes are left", root.Used())
	}
	for c := range classes {
		if s := q.Stats(c); s.Running+s.Waiting != 0 {
			t.Errorf("left behind: %+v", s)
		}
	}
}

// Slots that no heavy query wants serve light ones that wait.
func TestIdleHeavySlots(t *testing.T) {
	q := New(Config{Memory: memory.New("query", 4<<20), Cores: 1})
	h, l := mustAdmit(t, q, Heavy, "u"), mustAdmit(t, q, Light, "u")
	done := make(chan *Ticket)
	go func() { done <- mustAdmit(t, q, Light, "u") }()
	for q.Stats(Light).Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	h.Release()
	k := <-done
	if k.Class() != Heavy {
		t.Error("the slot is of the light class")
	}
	k.Release()
	l.Release()
}
