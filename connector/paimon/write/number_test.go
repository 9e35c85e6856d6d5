package write

import (
	"context"
	"testing"

	"github.com/thermocline/thermocline/connector/paimon/spec"

	"github.com/thermocline/thermocline/catalog"
)

// TestNumbers says that writers which have a bucket open at the same time never
// get the same sequence numbers, and that the last one leaves nothing behind.
func TestNumbers(t *testing.T) {
	var r Registry
	p := spec.NewPaths("/t", "", &catalog.Schema{})
	open := func(next int64, rows int) *bucket {
		k := &bucket{partition: spec.EmptyRow, nextSeq: next}
		k.buf.rows = rows
		r.enter(p, k)
		return k
	}
	a, b := open(100, 10), open(100, 5)
	if n := r.number(p, a); n != 100 {
		t.Errorf("the first writer's numbers begin at %d, not 100", n)
	}
	if n := r.number(p, b); n != 110 {
		t.Errorf("the second writer's numbers begin at %d, not 110", n)
	}
	c := open(400, 1) // has seen more of the table
	if n := r.number(p, c); n != 400 {
		t.Errorf("the numbers of a writer that saw more begin at %d, not 400", n)
	}
	if n := r.number(p, a); n != 401 {
		t.Errorf("the first writer's next numbers begin at %d, not 401", n)
	}
	other := &bucket{partition: spec.EmptyRow, bucket: 1, nextSeq: 7}
	r.enter(p, other)
	if n := r.number(p, other); n != 7 {
		t.Errorf("another bucket's numbers begin at %d, not 7", n)
	}
	for _, k := range []*bucket{a, b, c, other} {
		r.leave(p, k)
		r.leave(p, k) // once is enough
	}
	if len(r.numbers) != 0 {
		t.Errorf("%d buckets are remembered without a writer", len(r.numbers))
	}
	if n := r.number(p, open(3, 1)); n != 3 {
		t.Errorf("numbers begin at %d after all had left, not 3", n)
	}
}

// TestQueue says that commits come in the order of their numbers, and that one who
// gives up lets the next go on.
func TestQueue(t *testing.T) {
	ctx := context.Background()
	var r Registry
	p := spec.NewPaths("/t", "", &catalog.Schema{})
	var order []int64
	first := &bucket{partition: spec.EmptyRow}
	second := &bucket{partition: spec.EmptyRow}
	third := &bucket{partition: spec.EmptyRow}
	for _, k := range []*bucket{first, second, third} {
		k.buf.rows = 10
		r.enter(p, k)
	}
	one, two, three := r.queue(p, []*bucket{first}), r.queue(p, []*bucket{second}), r.queue(p, []*bucket{third})
	done := make(chan struct{})
	go func() {
		defer close(done)
		three.Wait(ctx)
		order = append(order, third.nextSeq)
		three.Done()
	}()
	one.Wait(ctx)
	order = append(order, first.nextSeq)
	one.Done()
	two.Wait(ctx)
	two.Done() // without a commit
	<-done
	if len(order) != 2 || order[0] != 0 || order[1] != 20 {
		t.Errorf("commits had the numbers %v, not [0 20]", order)
	}
	ended, cancel := context.WithCancel(ctx)
	blocked := r.queue(p, nil)
	late := r.queue(p, nil)
	cancel()
	late.Wait(ended) // returns
	blocked.Done()
	late.Done()
	if r.queue(p, nil).Over() {
		t.Error("a new place is given up")
	}
	if len(r.turns) != 1 {
		t.Errorf("%d queues are remembered of one table", len(r.turns))
	}
}
