package write

import (
	"strconv"

	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// numbers are the sequence numbers of a bucket that writers of this process share
// while any has the bucket open: each takes the next ones, so that two that looked
// at the same snapshot do not give theirs twice. They are forgotten with the last
// writer; whoever comes then sees in the table what was used.
type numbers struct {
	next  int64
	users int
}

func bucketName(p *spec.Paths, k *bucket) string {
	return p.SnapshotDir() + " " + strconv.Itoa(int(k.bucket)) + " " + string(k.partition)
}

// enter makes a writer share the numbers of a bucket. It comes before the writer
// reads what the bucket has.
func (r *Registry) enter(p *spec.Paths, k *bucket) {
	if r == nil || k.counted {
		return
	}
	k.counted = true
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.numbers == nil {
		r.numbers = map[string]*numbers{}
	}
	name := bucketName(p, k)
	n := r.numbers[name]
	if n == nil {
		n = &numbers{}
		r.numbers[name] = n
	}
	n.users++
}

// leave ends what enter began.
func (r *Registry) leave(p *spec.Paths, k *bucket) {
	if r == nil || !k.counted {
		return
	}
	k.counted = false
	r.mu.Lock()
	defer r.mu.Unlock()
	name := bucketName(p, k)
	if n := r.numbers[name]; n != nil {
		if n.users--; n.users == 0 {
			delete(r.numbers, name)
		}
	}
}

// number returns the first sequence number for a bucket's pending rows and
// keeps others from using theirs.
func (r *Registry) number(p *spec.Paths, k *bucket) int64 {
	if r == nil || !k.counted {
		return k.nextSeq
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take(p, k)
}

func (r *Registry) take(p *spec.Paths, k *bucket) int64 {
	n := r.numbers[bucketName(p, k)]
	first := max(k.nextSeq, n.next)
	n.next = first + k.pending()
	return first
}

// queue numbers the buckets' pending rows and returns the place in the queue
// of commits that goes with the numbers.
func (r *Registry) queue(p *spec.Paths, list []*bucket) *commit.Turn {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range list {
		if k.counted && k.pending() > 0 {
			k.nextSeq, k.promised = r.take(p, k), true
		}
	}
	if r.turns == nil {
		r.turns = map[string]*commit.Turn{}
	}
	for name, t := range r.turns {
		if t.Over() {
			delete(r.turns, name)
		}
	}
	t := commit.NewTurn(r.turns[p.SnapshotDir()])
	r.turns[p.SnapshotDir()] = t
	return t
}
