package exec

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
	"github.com/thermocline/thermocline/server/plan"
)

// windowPages is one partition of a window on disk, in pages of some rows. A page has
// the rows' columns, the values of the window's expressions that are no columns, and
// the number of each row's group of peers, from 0. A few pages are in memory.
//
// Positions are those in the partition. Which page has a position, a group of peers or
// the n-th value that is not NULL is known from the index, which is in memory; the rest
// is found in that page.
type windowPages struct {
	w     *windowing
	ctx   context.Context // of the query, for reading pages
	n     int
	index []pageIndex
	out   *spill.Writer
	file  *spill.File
	acct  account

	values  []int         // the column of a page with the values of an expression
	ignores []*windowFunc // functions that leave out NULLs
	most    int64         // bytes of a page
	written int           // rows in pages
	fill    rowStore      // the page that is being filled
	counted []int         // values that are not NULL before it, of each of ignores
	last    []valueAt     // keys of the order of the last row that was added
	group   int64         // and its group of peers

	totals map[*windowFunc]expr.State // aggregates of the whole partition
	grown  map[*windowFunc]*grown     // aggregates that grow from page to page
	sums   map[*windowFunc]*sums      // aggregates that are differences
	ranges map[rangeEnd]*rangeReach

	loaded []*windowPage // the pages in memory
	bytes  int64         // of them
	latest *windowPage
	clock  int64
	given  windowRows // the rows at hand
}

// pageIndex is what is known of a page.
type pageIndex struct {
	first    int   // position of its first row
	from, to int64 // groups of peers of its first and last row
	before   []int // values before it that are not NULL, of each of ignores
}

// pageIndexBytes is what a page's entry takes, and its entry in the file's index.
const pageIndexBytes = 112

// windowPage is a page in memory.
type windowPage struct {
	first  int
	b      *vector.Batch
	chunks [][]*vector.Vec // the values of the window's expressions, as feed wants them
	groups []int64
	bytes  int64
	used   int64 // by the clock
}

// rangeEnd is a side of a function's frames that are counted by value.
type rangeEnd struct {
	f    *windowFunc
	side int
}

// rangeReach is where keys are not NULL, and where the last frame began or ended.
type rangeReach struct{ low, high, hint int }

// pagesKept is the least number of pages in memory: that of the rows at hand, those
// where their frames begin and end, and one that another row is in.
const pagesKept = 4

func newWindowPages(ctx context.Context, w *windowing) (*windowPages, error) {
	out, err := w.op.create(ctx)
	if err != nil {
		return nil, err
	}
	p := &windowPages{w: w, ctx: ctx, out: out, acct: w.op.account(), totals: map[*windowFunc]expr.State{}, grown: map[*windowFunc]*grown{}, sums: map[*windowFunc]*sums{}, ranges: map[rangeEnd]*rangeReach{}}
	p.most = min(max(w.op.target()/32, 4<<10), 1<<20)
	column := w.columns
	for _, e := range w.exprs {
		if c, ok := e.(*expr.ColumnExpr); ok {
			p.values = append(p.values, c.Pos)
			continue
		}
		p.values = append(p.values, column)
		column++
	}
	for _, f := range w.funcs {
		switch {
		case w.total(f):
			p.totals[f] = f.call.Agg.NewState(w.x.env.Expr)
			p.totals[f].Grow(1)
		case f.call.Agg != nil && !f.grows() && w.subtracts(f):
			p.sums[f] = &sums{}
		case f.call.IgnoreNulls:
			p.ignores = append(p.ignores, f)
		}
	}
	p.counted = make([]int, len(p.ignores))
	return p, nil
}

// add adds the first n rows of a batch without a selection.
func (p *windowPages) add(b *vector.Batch, n int) (err error) {
	w := p.w
	vals := make([]*vector.Vec, len(w.exprs))
	cols := slices.Clone(b.Cols)
	for i, e := range w.exprs {
		if vals[i], err = e.Eval(w.x.env.Expr, b); err != nil {
			return err
		}
		if p.values[i] >= w.columns {
			cols = append(cols, vals[i])
		}
	}
	for f, st := range p.totals {
		args := make([]*vector.Vec, len(f.args))
		for i, a := range f.args {
			args[i] = vals[a]
		}
		if err := st.Update(nil, args, nil, n); err != nil {
			return err
		}
	}
	groups := vector.New(vector.I64, n)
	for i := range n {
		if p.n+i > 0 && !p.peers(vals, i) {
			p.group++
		}
		groups.AppendI64(p.group)
	}
	p.last = p.last[:0]
	for _, v := range vals[w.partition:len(w.eq)] {
		p.last = append(p.last, valueAt{v, n - 1})
	}
	cols = append(cols, groups)
	each := batchBytes(&vector.Batch{Len: n, Cols: cols})/int64(n) + 1
	for at := 0; at < n; {
		room := max((p.most-p.fill.bytes())/each, 16)
		if w.op.forced() {
			room = 48 // so that few rows show what many do
		}
		k := int(min(room, int64(n-at), int64(windowChunk-p.fill.n)))
		p.fill.add(cols, span(at, at+k), k)
		at += k
		if p.fill.n == windowChunk || p.fill.bytes() >= p.most || w.op.forced() {
			if err := p.write(); err != nil {
				return err
			}
		}
	}
	p.n += n
	return p.pay()
}

// peers reports whether row i of a batch has the order of the row before it.
func (p *windowPages) peers(vals []*vector.Vec, i int) bool {
	for k := p.w.partition; k < len(p.w.eq); k++ {
		last := valueAt{vals[k], i - 1}
		if i == 0 {
			last = p.last[k-p.w.partition]
		}
		if !p.w.eq[k](last.v, last.at, vals[k], i) {
			return false
		}
	}
	return true
}

// write ends the page that is being filled.
func (p *windowPages) write() error {
	n, cols := p.fill.n, p.fill.cols
	if n == 0 {
		return nil
	}
	groups := cols[len(cols)-1].I64s
	p.index = append(p.index, pageIndex{first: p.written, from: groups[0], to: groups[n-1], before: slices.Clone(p.counted)})
	for i, f := range p.ignores {
		v := cols[p.values[f.args[0]]]
		p.counted[i] += n - v.NullCount()
	}
	p.written += n
	err := p.out.Append(p.ctx, spill.Key{}, &vector.Batch{Len: n, Seq: -1, Cols: cols})
	p.fill = rowStore{}
	return err
}

// end is called when all rows have been added.
func (p *windowPages) end() (err error) {
	if err = p.write(); err != nil {
		return err
	}
	p.last = nil
	if p.file, err = p.out.Finish(); err != nil {
		return err
	}
	p.w.op.spilled.Add(p.file.Size())
	return p.pay()
}

// free gives everything back.
func (p *windowPages) free() {
	if p == nil {
		return
	}
	p.loaded, p.latest, p.fill = nil, nil, rowStore{}
	p.acct.free()
	_ = p.file.Close()
}

// pay reserves what is held.
func (p *windowPages) pay() error {
	size := p.fill.bytes() + p.bytes + int64(len(p.index))*(pageIndexBytes+8*int64(len(p.ignores)))
	for _, st := range p.totals {
		size += st.Bytes()
	}
	for _, g := range p.grown {
		size += g.st.Bytes()
	}
	return p.w.op.failed(p.acct.fit(size))
}

// page returns the page with a position. What it cannot read ends the query, as check
// does.
func (p *windowPages) page(at int) *windowPage {
	if l := p.latest; l != nil && at >= l.first && at < l.first+l.b.Len {
		return l
	}
	k := sort.Search(len(p.index), func(k int) bool { return p.index[k].first > at }) - 1
	return p.load(k)
}

// load returns a page by its number.
func (p *windowPages) load(k int) *windowPage {
	p.clock++
	for _, l := range p.loaded {
		if l.first == p.index[k].first {
			l.used, p.latest = p.clock, l
			return l
		}
	}
	p.w.x.check()
	b, err := p.file.At(p.ctx, 0, k)
	if err != nil {
		panic(stopped{err})
	}
	l := &windowPage{first: p.index[k].first, b: b, bytes: b.Bytesize(), used: p.clock, groups: b.Cols[len(b.Cols)-1].I64s}
	for _, c := range p.values {
		l.chunks = append(l.chunks, b.Cols[c:c+1])
	}
	for len(p.loaded) >= pagesKept && p.bytes+l.bytes > 8*p.most {
		old := 0
		for i, o := range p.loaded {
			if o.used < p.loaded[old].used {
				old = i
			}
		}
		p.bytes -= p.loaded[old].bytes
		p.loaded = slices.Delete(p.loaded, old, old+1)
	}
	p.loaded, p.latest = append(p.loaded, l), l
	p.bytes += l.bytes
	if err := p.pay(); err != nil {
		panic(stopped{err})
	}
	return l
}

// rows returns the rows of a page for functions to be computed, valid until the next
// call.
func (p *windowPages) rows(k int) (*windowRows, *windowPage) {
	page := p.load(k)
	n := page.b.Len
	r := &p.given
	r.n, r.base, r.pages, r.vals = n, page.first, p, r.vals[:0]
	for _, c := range page.chunks {
		r.vals = append(r.vals, c[0])
	}
	for _, s := range []*[]int{&r.first, &r.last, &r.peer, &r.peers} {
		*s = slices.Grow((*s)[:0], n)[:n]
	}
	for i := range n {
		r.first[i], r.last[i] = 0, p.n
		switch {
		case i == 0:
			r.peer[i] = p.start(page.groups[i])
		case page.groups[i] == page.groups[i-1]:
			r.peer[i] = r.peer[i-1]
		default:
			r.peer[i] = page.first + i
		}
	}
	for i := n - 1; i >= 0; i-- {
		switch {
		case i == n-1:
			r.peers[i] = p.start(page.groups[i] + 1)
		case page.groups[i] == page.groups[i+1]:
			r.peers[i] = r.peers[i+1]
		default:
			r.peers[i] = page.first + i + 1
		}
	}
	return r, page
}

// start returns where a group of peers begins, the end of the partition when there are
// fewer.
func (p *windowPages) start(group int64) int {
	k := sort.Search(len(p.index), func(k int) bool { return p.index[k].to >= group })
	switch {
	case k == len(p.index):
		return p.n
	case p.index[k].from == group:
		return p.index[k].first
	}
	page := p.load(k)
	at, _ := slices.BinarySearch(page.groups, group)
	return page.first + at
}

// groupsBefore returns how many groups of peers begin before the rows r.
func (p *windowPages) groupsBefore(r *windowRows) int64 {
	if n := p.page(r.base).groups[0]; r.peer[0] < r.base {
		return n + 1
	} else {
		return n
	}
}

// groupAt is windowRows.groupAt.
func (p *windowPages) groupAt(row int, b plan.Bound) (start, end int) {
	page := p.page(row)
	n := min(b.N, int64(p.n))
	if b.Kind == plan.Preceding {
		n = -n
	}
	switch g := page.groups[row-page.first] + n; {
	case g < 0:
		return 0, 0
	case g > p.index[len(p.index)-1].to:
		return p.n, p.n
	default:
		return p.start(g), p.start(g + 1)
	}
}

// keyed is windowing.keyed for a row whose key is not NULL; i is its row in limit. Where
// the frame of the row before began or ended, this one's is near.
func (p *windowPages) keyed(f *windowFunc, limit *vector.Vec, i, side int) int {
	key := f.key[side]
	null := func(at int) bool {
		page := p.page(at)
		return page.chunks[key][0].IsNull(at - page.first)
	}
	r := p.ranges[rangeEnd{f, side}]
	if r == nil {
		// NULLs are the first group of peers, or the last one.
		r = &rangeReach{high: p.n}
		if null(0) {
			r.low = p.start(1)
		}
		if null(p.n - 1) {
			r.high = p.start(p.index[len(p.index)-1].to)
		}
		r.hint = r.low
		p.ranges[rangeEnd{f, side}] = r
	}
	there := func(at int) bool {
		page := p.page(at)
		return f.reached(side, page.chunks[key][0], at-page.first, limit, i)
	}
	// The result is between low and high, which is there or the end: steps that double
	// lead to them.
	low, high, step := r.low, r.high, 1
	if at := r.hint; at > low && there(at-1) {
		for high = at - 1; low < high; step *= 2 {
			if at = max(low, high-step); !there(at) {
				low = at + 1
				break
			}
			high = at
		}
	} else {
		for low = at; low < high; step *= 2 {
			if at = min(low+step, high) - 1; there(at) {
				high = at
				break
			}
			low = at + 1
		}
	}
	r.hint = low + sort.Search(high-low, func(k int) bool { return there(low + k) })
	return r.hint
}

// value appends the value of an expression at a position, NULL for -1.
func (p *windowPages) value(out *vector.Vec, e, at int) {
	if at < 0 {
		out.AppendNull()
		return
	}
	page := p.page(at)
	out.AppendFrom(page.chunks[e][0], at-page.first)
}

// candidates returns how many values before a position are not NULL.
func (p *windowPages) candidates(f *windowFunc, at int) int {
	i := slices.Index(p.ignores, f)
	if at >= p.n {
		return p.counted[i]
	}
	k := sort.Search(len(p.index), func(k int) bool { return p.index[k].first > at }) - 1
	x := &p.index[k]
	if at == x.first {
		return x.before[i]
	}
	v := p.page(at).chunks[f.args[0]][0]
	if v.Valid == nil {
		return x.before[i] + at - x.first
	}
	return x.before[i] + vector.CountBits(v.Valid, at-x.first)
}

// candidate returns where the n-th value is that is not NULL, from 0.
func (p *windowPages) candidate(f *windowFunc, n int) int {
	i := slices.Index(p.ignores, f)
	k := sort.Search(len(p.index), func(k int) bool { return p.index[k].before[i] > n }) - 1
	page := p.load(k)
	n -= p.index[k].before[i]
	v := page.chunks[f.args[0]][0]
	if v.Valid == nil {
		return page.first + n
	}
	for w, word := range v.Valid {
		if c := bits.OnesCount64(word); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return page.first + w*64 + bits.TrailingZeros64(word)
	}
	return -1
}
