package merge

import "math"

// races reports whether race can do the work of step.
func (m *Merger) races() bool {
	return m.cfg.Unordered && m.group == nil && m.shape.exact && !m.cfg.Repeats && m.runs > 1
}

// race is step for the common case, until a run needs its next batch: the newest
// row of a key wins, keys are their prefixes, and rows need no order, so that all
// there is to do is to note the rows that lose.
func (m *Merger) race() {
	t := &m.tree
	node, heads := t.node, t.heads
	k := len(node)
	best, key, any := ref{}, uint64(0), false // the winner among the rows of the key at hand
	streak := 0
	for {
		w := node[0]
		if t.over[w] {
			return
		}
		c := m.cur[w]
		head := heads[w]
		at := ref{uint32(w), uint32(c.pos)}
		if any && head == key {
			lost := at
			if !m.cfg.Ranked && m.newer(at, best) {
				lost, best = best, at
			}
			o := m.cur[lost.run]
			o.hidden = append(o.hidden, uint16(lost.pos))
		} else {
			if len(m.drained) > 0 {
				return // the key before is done
			}
			best, key, any = at, head, true
		}
		c.pos++
		if streak >= gallopAfter && c.pos < c.n {
			// The rows up to the second's head are nobody's but c's.
			if end := m.below(c, t.second(m, w)); end-1 > c.pos {
				c.pos = end - 1
			}
			streak = 0
		}
		next := uint64(math.MaxUint64)
		if c.pos < c.n {
			next = c.norm[c.pos]
		} else {
			t.over[w] = true
			m.drained = append(m.drained, c)
		}
		heads[w] = next
		v := w
		for i := (k + int(w)) / 2; i > 0; i /= 2 {
			o := node[i]
			if h := heads[o]; h < next || h == next && t.less(m, o, v) {
				node[i], v, next = v, o, h
			}
		}
		node[0] = v
		if v == w {
			streak++
		} else {
			streak = 0
		}
	}
}
