package merge

import (
	"slices"

	"github.com/thermocline/thermocline/internal/vector"
)

// Changes asks a merger for the changes that it makes to the rows of the table
// (paimon-format: changelog producers), and for the rows that it makes obsolete.
type Changes struct {
	// Lookup says how: true for 'changelog-producer' = 'lookup' and for deletion
	// vectors, false for 'full-compaction'.
	//
	// lookup: of a key with rows on level 0 the row before is that above level 0
	// on the lowest level, among the runs and the looked up ones. full-compaction:
	// it is that on TopLevel.
	Lookup   bool
	TopLevel int32
	// Lookups is how many of the runs, from the last, are not merged themselves:
	// their rows only count where a key has rows on level 0 and none above in the
	// other runs.
	Lookups int
	// NoChangelog leaves out the changes: only Obsolete is called.
	NoChangelog bool
	// Deduplicate leaves out changes that change no column but those in Ignore,
	// which are positions in Config.Columns.
	Deduplicate bool
	Ignore      []int
	// Obsolete is called with the place of each looked up row whose key has a row
	// of the other runs now: the file, and the position in it. nil: it is not.
	Obsolete func(file string, position int64) error
}

// changes finds the changes.
type changes struct {
	Changes
	m    *Merger
	out  output
	kept []ref
}

// Changes returns the changes since the last call of Next that Config.Changes
// asked for, with their row kinds, in the order of their keys; nil when there are
// none. They are valid as long as what that call returned.
func (m *Merger) Changes() *Rows {
	if m.changes == nil || m.changes.out.batch.Len == 0 {
		return nil
	}
	o := &m.changes.out
	return &Rows{Batch: o.result(), Seqs: o.seqs}
}

func (h *changes) add(r ref, kind vector.RowKind) {
	if h.NoChangelog {
		return
	}
	h.out.add(h.m.cur[r.run], int(r.pos), int(r.pos)+1)
	h.out.marks = append(h.out.marks, kind)
}

// lone takes rows whose keys no other run has.
func (h *changes) lone(c *cursor, from, to int) error {
	if c.lookup {
		return nil
	}
	m := h.m
	if combines := m.cfg.Rules.Combines(); h.Lookup && m.group != nil && (combines || c.level == 0 && c.kinds != nil) {
		// Java's lookup merges even one row, of any level; that matters for new
		// deletions, and where a value alone is not what becomes of it: of a sequence
		// group without an ordering value nothing is taken.
		for i := from; i < to; i++ {
			r := ref{uint32(c.id), uint32(i)}
			if !combines && !retracts(c.kinds[i]) {
				m.take(c, i, i+1)
				h.add(r, vector.Insert)
				continue
			}
			m.same = append(m.same[:0], r)
			if err := h.merge(); err != nil {
				return err
			}
		}
		return nil
	}
	m.take(c, from, to)
	if h.Lookup && c.level != 0 || !h.Lookup && c.level == h.TopLevel {
		return nil
	}
	for i := from; i < to; i++ {
		if c.kinds == nil || !retracts(c.kinds[i]) {
			h.add(ref{uint32(c.id), uint32(i)}, vector.Insert)
		}
	}
	return nil
}

// merge makes one row of the rows of the key at hand, of several runs.
func (h *changes) merge() error {
	m := h.m
	before := -1
	zero, all := false, true
	for i, r := range m.same {
		c := m.cur[r.run]
		zero = zero || c.level == 0
		all = all && c.lookup
		switch {
		case h.Lookup && c.level > 0 && (before < 0 || c.level < m.cur[m.same[before].run].level):
			before = i
		case !h.Lookup && c.level == h.TopLevel:
			before = i
		}
	}
	if all {
		return nil // nothing of it is merged
	}
	var old ref
	if before >= 0 {
		old = m.same[before]
	}
	looked := before >= 0 && m.cur[old.run].lookup
	if h.Lookups > 0 { // rows that were looked up in vain
		h.kept = h.kept[:0]
		for i, r := range m.same {
			if i == before || !m.cur[r.run].lookup {
				h.kept = append(h.kept, r)
			}
		}
		m.same = append(m.same[:0], h.kept...)
	}
	if looked && h.Obsolete != nil && m.cfg.Rules.Engine != FirstRow {
		c := m.cur[old.run]
		at := int64(old.pos)
		if c.sel != nil {
			at = int64(c.sel[at])
		}
		if err := h.Obsolete(c.rows.File, c.rows.Batch.Seq+at); err != nil {
			return err
		}
	}
	if looked && m.cfg.Rules.Engine == FirstRow {
		return nil // the key has its row already
	}
	w, ok, err := m.resolve()
	if err != nil {
		return err
	}
	if ok {
		m.take(m.cur[w.run], int(w.pos), int(w.pos)+1)
	}
	if h.Lookup && !zero || m.cfg.Rules.Engine == FirstRow && before >= 0 {
		return nil
	}
	is := ok && !m.cur[w.run].retracts(w.pos)
	was := before >= 0 && !m.cur[old.run].retracts(old.pos)
	switch {
	case !was && is:
		h.add(w, vector.Insert)
	case was && !is:
		h.add(old, vector.Delete)
	case was && is && !(h.Deduplicate && h.equal(old, w)):
		h.add(old, vector.UpdateBefore)
		h.add(w, vector.UpdateAfter)
	}
	return nil
}

// equal reports whether two rows have the same values.
func (h *changes) equal(a, b ref) bool {
	c, d := h.m.cur[a.run], h.m.cur[b.run]
	for i := range h.m.cfg.Out {
		if !slices.Contains(h.Ignore, i) && vector.Compare(c.cols[i], int(a.pos), d.cols[i], int(b.pos)) != 0 {
			return false
		}
	}
	return true
}
