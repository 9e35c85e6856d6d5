package merge

import (
	"math"
	"sort"

	"github.com/thermocline/thermocline/internal/vector"
)

// tree is a tournament of losers over the heads of runs (Knuth, The Art of
// Computer Programming, volume 3, section 5.4.1). Node 0 has the winner, node i
// > 0 the loser of the match played there; run r enters at node (k+r)/2 of k runs.
type tree struct {
	node   []int32
	heads  []uint64 // prefixes of the heads' keys
	over   []bool   // the run has no head: its batch is used up, or it is
	streak int      // how often the winner has won in a row
}

// gallopAfter is after how many wins in a row a stretch is looked for.
const gallopAfter = 3

// build plays all matches.
func (t *tree) build(m *Merger) {
	k := m.runs
	t.node, t.heads, t.over = make([]int32, max(k, 1)), make([]uint64, max(k, 1)), make([]bool, max(k, 1))
	t.over[0] = true
	won := make([]int32, 2*k+1)
	for i := range k {
		won[k+i] = int32(i)
		t.set(m, int32(i))
	}
	for i := k - 1; i > 0; i-- {
		a, b := won[2*i], won[2*i+1]
		if t.less(m, b, a) {
			a, b = b, a
		}
		won[i], t.node[i] = a, b
	}
	if k > 1 {
		t.node[0] = won[1]
	}
}

// first returns the run with the smallest head.
func (t *tree) first() int32 { return t.node[0] }

// set takes over the head of a run.
func (t *tree) set(m *Merger, r int32) {
	c := m.cur[r]
	if t.over[r] = c.pos >= c.n; t.over[r] {
		t.heads[r] = math.MaxUint64
		return
	}
	t.heads[r] = c.norm[c.pos]
}

// replay plays the matches of the winner r again after it was moved on.
func (t *tree) replay(m *Merger, r int32) {
	t.set(m, r)
	t.play(m, r)
}

func (t *tree) play(m *Merger, w int32) {
	head := t.heads[w]
	for i := (len(t.node) + int(w)) / 2; i > 0; i /= 2 {
		o := t.node[i]
		h := t.heads[o]
		if h < head || h == head && t.less(m, o, w) {
			t.node[i], w, head = w, o, h
		}
	}
	t.node[0] = w
}

// update takes over the head of a run that is not the winner; it was over.
func (t *tree) update(m *Merger, r int32) {
	t.set(m, r)
	t.streak = 0
	if t.over[r] {
		return // as it was
	}
	// The run lost every match from some node on down; all are played again.
	k := len(t.node)
	won := make([]int32, 2*k+1)
	for i := range k {
		won[k+i] = int32(i)
	}
	for i := k - 1; i > 0; i-- {
		a, b := won[2*i], won[2*i+1]
		if t.less(m, b, a) {
			a, b = b, a
		}
		won[i], t.node[i] = a, b
	}
	if k > 1 {
		t.node[0] = won[1]
	}
}

// second returns the run whose head comes after that of the winner w, -1 when
// there is none.
func (t *tree) second(m *Merger, w int32) int32 {
	best := int32(-1)
	for i := (len(t.node) + int(w)) / 2; i > 0; i /= 2 {
		if o := t.node[i]; !t.over[o] && (best < 0 || t.less(m, o, best)) {
			best = o
		}
	}
	return best
}

// less orders the heads of two runs by key, then by the runs' order. Runs that
// are over come last.
func (t *tree) less(m *Merger, a, b int32) bool {
	if x, y := t.heads[a], t.heads[b]; x != y {
		return x < y
	}
	if t.over[a] || t.over[b] {
		return !t.over[a]
	}
	if !m.shape.exact {
		if d := compareRows(m.cur[a], m.cur[a].pos, m.cur[b], m.cur[b].pos); d != 0 {
			return d < 0
		}
	}
	return a < b
}

// compareRows compares the keys of two rows.
func compareRows(a *cursor, i int, b *cursor, j int) int {
	if x, y := a.norm[i], b.norm[j]; x != y {
		if x < y {
			return -1
		}
		return 1
	}
	for k := a.skip; k < len(a.keys); k++ {
		if c := vector.Compare(a.keys[k], i, b.keys[k], j); c != 0 {
			return c
		}
	}
	return 0
}

// below returns the end of the rows of c from its position on that lie below the
// head of run o, -1: all of the batch. The row at its position does.
func (m *Merger) below(c *cursor, o int32) int {
	if o < 0 {
		return c.n
	}
	d := m.cur[o]
	head := d.norm[d.pos]
	before := func(i int) bool {
		if x := c.norm[i]; x != head || m.shape.exact {
			return x < head
		}
		return compareRows(c, i, d, d.pos) < 0
	}
	step, lo := 1, c.pos+1
	for lo+step <= c.n && before(lo+step-1) {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, c.n)
	return lo + sort.Search(hi-lo, func(i int) bool { return !before(lo + i) })
}
