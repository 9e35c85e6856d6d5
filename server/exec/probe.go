package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// probe takes the left side's rows past the build side. Candidates (pairs of a
// left and a build row whose keys are equal; all pairs without keys) are made
// in blocks, the other conditions are evaluated on a block at once, and what is
// left decides by the kind of the join.
type probe struct {
	j  *joining
	in operator

	b    *vector.Batch
	n    int // rows of b that count
	keys []*vector.Vec
	hash []uint64
	k    int   // row being matched
	at   int32 // next candidate of row k; -1: none left; -2: not started
	hit  bool  // row k had a match in an earlier block
	null bool  // mark: row k had a comparison that gave NULL
	idle int   // rows of the block that had no candidate

	steps uint // candidates passed over

	pairK []uint16 // candidates: row number (not position) on the left
	pairB []int32  // and build row, ascending by pairK
	keep  []uint16
	bufs  [2][]uint16
	outL  []uint16 // pairs to give: positions on the left
	outB  []int32  // build row or -1
	pick  []uint16 // semi, anti: positions that are kept
	state []markState
	out   vector.Batch

	// When the build side goes past in blocks, what is known of the left rows from
	// the blocks before.
	seen  *seenRows
	base  int     // number of b's first row among all left rows
	first []int32 // first candidate of each row of b, -1 when there is none
}

// markState is the truth of a mark.
type markState uint8

const (
	markFalse markState = iota
	markNull
	markTrue
)

func newProbe(j *joining, in operator) *probe {
	return &probe{j: j, in: in, pick: []uint16{}} // a nil selection would be all rows
}

// Close implements operator.
func (p *probe) Close() error { return p.in.Close() }

// byRow reports whether the join gives left rows, each at most once.
func (j *joining) byRow() bool {
	return j.kind == plan.Semi || j.kind == plan.Anti || j.kind == plan.Mark
}

// Next implements operator.
func (p *probe) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.b == nil {
			b, err := p.in.Next(ctx)
			if err != nil || b == nil {
				return nil, err
			}
			if err := p.begin(b); err != nil {
				return nil, err
			}
		}
		if first := p.k; p.seen == nil && p.j.quick() {
			p.match()
		} else {
			p.candidates()
			if err := p.check(first); err != nil {
				return nil, err
			}
		}
		b := p.b
		if p.k == p.n {
			p.b = nil
		}
		if p.j.byRow() {
			if p.b != nil {
				continue
			}
			if p.j.kind == plan.Mark && p.seen != nil && !p.seen.last {
				continue // the last block gives the rows
			}
			if out := p.rows(b); out.Rows() > 0 {
				return out, nil
			}
			continue
		}
		if len(p.outL) > 0 {
			return p.pairs(b), nil
		}
	}
}

// begin starts on a batch of the left side.
func (p *probe) begin(b *vector.Batch) error {
	p.base += p.n
	p.b, p.n, p.k, p.at, p.hit, p.null = b, b.Rows(), 0, -2, false, false
	p.pick, p.state = p.pick[:0], p.state[:0]
	if len(p.j.leftKeys) == 0 {
		return nil
	}
	p.keys = p.keys[:0]
	for _, k := range p.j.leftKeys {
		v, err := k.Eval(p.j.x.env.Expr, b)
		if err != nil {
			return err
		}
		p.keys = append(p.keys, v)
	}
	p.hash = hashRows(p.j.types, p.keys, b.Sel, p.n, p.hash)
	p.starts()
	return nil
}

// starts finds the first build row with the hash of each row. It is a loop of its
// own, so that the loads of different rows overlap.
func (p *probe) starts() {
	j := p.j
	if cap(p.first) < p.n {
		p.first = make([]int32, p.n)
	}
	p.first = p.first[:p.n]
	if j.rows.n == 0 || len(j.head) == 0 {
		for k := range p.first {
			p.first[k] = -1
		}
		return
	}
	mask := uint64(len(j.head) - 1)
	for k, h := range p.hash[:p.n] {
		p.first[k] = j.head[h&mask]
	}
	switch {
	case !j.plainKey():
		firstOf(p, j.hashes, func(k int) uint64 { return p.hash[k] })
	case p.keys[0].Kind == vector.I32:
		firstOf(p, j.keys.cols[0].I32s, keyAt(p, p.keys[0].Flatten().I32s))
	default:
		firstOf(p, j.keys.cols[0].I64s, keyAt(p, p.keys[0].Flatten().I64s))
	}
	for i, v := range p.keys {
		if j.nullSafe[i] || v.Valid == nil {
			continue
		}
		for k := range p.first {
			if v.IsNull(p.b.Row(k)) {
				p.first[k] = -1
			}
		}
	}
}

// firstOf moves each row's candidate on to the first whose value in built is the
// row's.
func firstOf[T uint64 | int64 | int32](p *probe, built []T, value func(k int) T) {
	next, steps := p.j.next, 0
	for k, c := range p.first {
		if c < 0 {
			continue
		}
		for x := value(k); c >= 0 && built[c] != x; c = next[c] {
			steps++
		}
		if steps >= checkRows {
			p.j.x.check()
			steps = 0
		}
		p.first[k] = c
	}
}

// keyAt returns the function that gives the key of the row of a number, of payloads
// by position.
func keyAt[T int32 | int64](p *probe, payload []T) func(k int) T {
	sel := p.b.Sel
	if sel == nil {
		return func(k int) T { return payload[k] }
	}
	return func(k int) T { return payload[sel[k]] }
}

// plainKey reports whether the join has one key of whole numbers, compared by
// payload.
func (j *joining) plainKey() bool {
	return len(j.leftKeys) == 1 && !j.nullSafe[0] && filterable(j.types[0])
}

// quick reports whether matches need no look at other conditions.
func (j *joining) quick() bool {
	if len(j.conds) > 0 || len(j.marks) > 0 || !j.plainKey() {
		return false
	}
	switch j.kind {
	case plan.Inner, plan.Left, plan.Right, plan.Full, plan.Semi:
		return true
	}
	return j.kind == plan.Anti && !j.nullAware
}

// match is what candidates and check do together, for quick joins.
func (p *probe) match() {
	p.outL, p.outB = p.outL[:0], p.outB[:0]
	v := p.keys[0].Flatten()
	if v.Kind == vector.I32 {
		matchKeys(p, v.I32s, func(c *vector.Vec) []int32 { return c.I32s })
	} else {
		matchKeys(p, v.I64s, func(c *vector.Vec) []int64 { return c.I64s })
	}
}

func matchKeys[T int32 | int64](p *probe, left []T, payload func(*vector.Vec) []T) {
	j := p.j
	var right []T
	if j.rows.n > 0 {
		right = payload(j.keys.cols[0])
	}
	most := j.x.batchRows()
	sel := p.b.Sel
	marks := j.kind == plan.Right || j.kind == plan.Full
	for ; p.k < p.n; p.k++ {
		row := p.k
		if sel != nil {
			row = int(sel[row])
		}
		if p.at == -2 {
			p.at, p.hit = p.first[p.k], false
		}
		x := left[row]
		c := p.at
		if j.byRow() {
			for c >= 0 && right[c] != x {
				c = j.next[c]
				p.passed()
			}
			if (c >= 0) == (j.kind == plan.Semi) {
				p.pick = append(p.pick, uint16(row))
			}
			p.at = -2
			continue
		}
		for ; c >= 0; c = j.next[c] {
			if right[c] != x {
				p.passed()
				continue
			}
			if len(p.outL) >= most {
				p.at = c
				return
			}
			p.hit = true
			if marks {
				j.mark(c)
			}
			p.outL, p.outB = append(p.outL, uint16(row)), append(p.outB, c)
		}
		if !p.hit && (j.kind == plan.Left || j.kind == plan.Full) {
			if len(p.outL) >= most {
				p.at = -1
				return
			}
			p.outL, p.outB = append(p.outL, uint16(row)), append(p.outB, -1)
		}
		p.at = -2
	}
}

// passed counts candidates that are none, of which a key with very many rows may
// put any number into the way of other keys.
func (p *probe) passed() {
	if p.steps++; p.steps%checkRows == 0 {
		p.j.x.check()
	}
}

// candidates fills a block: p.k becomes the first row that is not complete.
func (p *probe) candidates() {
	j := p.j
	p.pairK, p.pairB, p.idle = p.pairK[:0], p.pairB[:0], 0
	most := j.x.batchRows()
	if j.byRow() {
		most = vector.BatchRows
	}
	simple := len(j.conds) == 0 && len(j.marks) == 0
	hit := p.hit // of the row that goes on from the block before, of no other
	for p.k < p.n {
		if p.at == -2 {
			p.at = p.start()
		}
		if hit && j.byRow() {
			p.at = -1 // nothing more can change
		}
		any := hit
		for p.at >= 0 {
			if len(p.pairK)+p.idle >= most {
				return
			}
			c := p.at
			p.advance()
			if len(j.leftKeys) > 0 && !p.equal(c) {
				p.passed()
				continue
			}
			p.pairK, p.pairB = append(p.pairK, uint16(p.k)), append(p.pairB, c)
			any = true
			if simple && j.byRow() {
				p.at = -1 // one match is enough
			}
		}
		if !any {
			if len(p.pairK)+p.idle >= most {
				return // its row of NULLs does not fit the block
			}
			p.idle++
		}
		p.k++
		p.at, hit = -2, false
	}
}

// start returns the first candidate of row k.
func (p *probe) start() int32 {
	j := p.j
	if j.rows.n == 0 {
		return -1
	}
	if len(j.leftKeys) == 0 {
		return 0
	}
	return p.first[p.k]
}

// advance moves to the next candidate.
func (p *probe) advance() {
	j := p.j
	if len(j.leftKeys) > 0 {
		p.at = j.next[p.at]
		return
	}
	if p.at++; int(p.at) >= j.rows.n {
		p.at = -1
	}
}

// equal reports whether the keys of row k and build row c are equal.
func (p *probe) equal(c int32) bool {
	j := p.j
	if p.hash[p.k] != j.hashes[c] {
		return false
	}
	row := p.b.Row(p.k)
	for i, v := range p.keys {
		if !j.eq[i](v, row, j.keys.cols[i], int(c)) {
			return false
		}
	}
	return true
}

// check evaluates the conditions on the block and settles the rows that are
// complete: those from first to before p.k.
func (p *probe) check(first int) error {
	j := p.j
	keep, marks, err := p.evaluate()
	if err != nil {
		return err
	}
	p.outL, p.outB = p.outL[:0], p.outB[:0]
	at := 0
	for k := first; k < p.n && (k < p.k || p.at != -2); k++ {
		for ; at < len(keep) && int(p.pairK[keep[at]]) == k; at++ {
			c := keep[at]
			switch {
			case j.kind == plan.Mark && marks != nil:
				if marks.IsNull(int(c)) {
					p.null = true
				} else if marks.I8s[marks.At(int(c))] != 0 {
					p.hit = true
				}
				continue
			case j.kind == plan.Single && (p.hit || p.seen != nil && p.seen.hit.has(p.base+k)):
				return errs.Userf(errs.SubqueryRows, "Subquery returns more than 1 row")
			case j.kind == plan.Right || j.kind == plan.Full:
				j.mark(p.pairB[c])
			}
			p.hit = true
			if !j.byRow() {
				p.outL = append(p.outL, uint16(p.b.Row(k)))
				p.outB = append(p.outB, p.pairB[c])
			}
		}
		if k == p.k {
			return nil // row k goes on in the next block
		}
		p.settle(k)
		p.hit, p.null = false, false
	}
	return nil
}

// settle decides about row k, whose candidates have all been seen.
func (p *probe) settle(k int) {
	j := p.j
	row := p.b.Row(k)
	if p.seen != nil && !p.earlier(k) {
		return
	}
	switch j.kind {
	case plan.Left, plan.Full, plan.Single:
		if !p.hit {
			p.outL, p.outB = append(p.outL, uint16(row)), append(p.outB, -1)
		}
	case plan.Semi:
		if p.hit {
			p.pick = append(p.pick, uint16(row))
		}
	case plan.Anti:
		if !p.hit && !(j.nullAware && p.unknown(row)) {
			p.pick = append(p.pick, uint16(row))
		}
	case plan.Mark:
		s := markFalse
		switch {
		case p.hit:
			s = markTrue
		case p.null, j.nullAware && p.unknown(row):
			s = markNull
		}
		p.state = append(p.state, s)
	}
}

// unknown reports whether x IN (build side) is NULL for a row without a match.
func (p *probe) unknown(row int) bool {
	j := p.j
	return j.some && (j.hasNull || p.keys[0].IsNull(row))
}

// evaluate returns the candidates that satisfy the conditions, and the truth of
// the mark's comparisons for them.
func (p *probe) evaluate() ([]uint16, *vector.Vec, error) {
	j := p.j
	n := len(p.pairK)
	p.keep = p.keep[:0]
	if len(j.conds) == 0 && len(j.marks) == 0 || n == 0 {
		for i := range n {
			p.keep = append(p.keep, uint16(i))
		}
		return p.keep, nil, nil
	}
	// The columns that conditions read, gathered for the block's pairs.
	both := vector.Batch{Len: n, Seq: -1, Cols: make([]*vector.Vec, j.leftCols+j.rightCols)}
	left := make([]uint16, n)
	for i, k := range p.pairK {
		left[i] = uint16(p.b.Row(int(k)))
	}
	for _, c := range j.condCols {
		if c < j.leftCols {
			both.Cols[c] = p.b.Cols[c].Gather(left)
		} else {
			both.Cols[c] = take(j.rows.cols[c-j.leftCols], p.pairB)
		}
	}
	if err := narrow(j.x, &both, j.conds, &p.bufs); err != nil {
		return nil, nil, err
	}
	for i := range both.Rows() {
		p.keep = append(p.keep, uint16(both.Row(i)))
	}
	if len(j.marks) == 0 || len(p.keep) == 0 {
		return p.keep, nil, nil
	}
	truth := j.marks[0]
	if len(j.marks) > 1 {
		var err error
		if truth, err = expr.Call(j.x.env.Expr, "AND", j.marks...); err != nil {
			return nil, nil, err
		}
	}
	v, err := truth.Eval(j.x.env.Expr, &both)
	return p.keep, v, err
}

// pairs returns the block's rows.
func (p *probe) pairs(b *vector.Batch) *vector.Batch {
	j := p.j
	p.out = vector.Batch{Len: len(p.outL), Seq: -1, Cols: p.out.Cols[:0]}
	for _, c := range b.Cols {
		p.out.Cols = append(p.out.Cols, c.Gather(p.outL))
	}
	for i := range j.rightCols {
		if j.rows.cols == nil {
			p.out.Cols = append(p.out.Cols, vector.NewNull(j.rightTypes[i].Physical(), len(p.outL)))
			continue
		}
		p.out.Cols = append(p.out.Cols, take(j.rows.cols[i], p.outB))
	}
	return &p.out
}

// rows returns the batch's rows that are kept, or all with their mark.
func (p *probe) rows(b *vector.Batch) *vector.Batch {
	p.out = *b
	if p.j.kind != plan.Mark {
		p.out.Sel = p.pick
		return &p.out
	}
	m := vector.New(vector.I8, b.Len)
	m.I8s = m.I8s[:b.Len]
	m.Len = b.Len
	for k, s := range p.state {
		row := b.Row(k)
		switch s {
		case markTrue:
			m.I8s[row] = 1
		case markNull:
			m.SetNull(row)
		}
	}
	p.out.Cols = append(append(make([]*vector.Vec, 0, len(b.Cols)+1), b.Cols...), m)
	return &p.out
}
