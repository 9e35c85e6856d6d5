package expr

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	aggregates["MIN"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, -1) }
	aggregates["MAX"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, 1) }
	aggregates["ANY_VALUE"] = func(ctx *Context, s AggregateSpec) (Aggregate, error) { return newPick(ctx, s, 0) }
	aggregates["GROUP_CONCAT"] = newGroupConcat
}

// pickState keeps one value a group: the least (want -1), the greatest (1) or
// the first met (0).
type pickState struct {
	typ  Type
	want int
	has  []bool
	ints []int64
	f64  []float64
	wide []vector.Int256
	text [][]byte
	size int64
	// nested values and NULLs of ANY_VALUE are kept in a vector.
	vals *vector.Vec
	at   []int32
	cmp  func(a *vector.Vec, i int, b *vector.Vec, j int) int
}

func newPick(ctx *Context, s AggregateSpec, want int) (Aggregate, error) {
	x, err := plain(s)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	t = t.OfExpression()
	t.Nullable = true
	if want != 0 && t.Class == Nested {
		return nil, errs.Unsupportedf(-1, "%s of nested values", upper(s.Name))
	}
	if want != 0 && t.Class == String && t.Coercibility == 1 {
		return nil, collationMix(lower(s.Name), nil, t, t)
	}
	if want != 0 && (t.Class == Enum || t.Class == Set) {
		// MIN and MAX of ENUM compare labels as text.
		t.Length, t.Told.Form = labelsLength(t), Fixed
		t.Class, t.Labels = String, nil
		x = relabel(x, t)
	}
	return &aggregate{name: upper(s.Name), typ: t, args: []Expr{x}, state: func(*Context) State {
		p := &pickState{typ: t, want: want}
		p.cmp = comparer(t)
		return p
	}}, nil
}

func (s *pickState) general() bool {
	return s.want == 0 || s.typ.Class == JSON
}

func (s *pickState) Grow(n int) {
	s.has = growTo(s.has, n)
	if s.general() {
		s.at = growTo(s.at, n)
		return
	}
	switch s.typ.Physical() {
	case vector.I8, vector.I32, vector.I64:
		s.ints = growTo(s.ints, n)
	case vector.F32, vector.F64:
		s.f64 = growTo(s.f64, n)
	case vector.Str:
		s.text = growTo(s.text, n)
	default:
		s.wide = growTo(s.wide, n)
	}
}

func (s *pickState) Bytes() int64 {
	n := s.size + int64(cap(s.has)+cap(s.ints)*8+cap(s.f64)*8+cap(s.wide)*32+cap(s.text)*24+cap(s.at)*4)
	if s.vals != nil {
		n += s.vals.Bytesize()
	}
	return n
}

// better reports whether a three-way comparison of new against old replaces.
func (s *pickState) better(c int) bool { return sign(c) == s.want }

func (s *pickState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	if s.general() {
		if s.vals == nil {
			s.vals = vector.NewLike(v.Values(), 16)
		}
		for k := range n {
			i, g := rowOf(sel, k), groupOf(groups, k)
			if s.want == 0 {
				if s.has[g] {
					continue
				}
			} else if v.IsNull(i) || s.has[g] && !s.better(s.cmp(v, i, s.vals, int(s.at[g]))) {
				continue
			}
			s.has[g] = true
			s.at[g] = int32(s.vals.Len)
			s.vals.AppendFrom(v, i)
		}
		return nil
	}
	nulls := v.Valid != nil
	switch s.typ.Physical() {
	case vector.I8, vector.I32, vector.I64:
		unsigned := s.typ.Class == Int && s.typ.Unsigned && s.typ.Width == 8 || s.typ.Class == Bit
		flip := int64(0)
		if unsigned {
			flip = -1 << 63
		}
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			x := intAt(v, i)
			if !s.has[g] || s.want < 0 && x^flip < s.ints[g]^flip || s.want > 0 && x^flip > s.ints[g]^flip {
				s.has[g], s.ints[g] = true, x
			}
		}
	case vector.F32, vector.F64:
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			g := groupOf(groups, k)
			x := floatAt(v, i)
			if !s.has[g] || s.better(compareDouble(x, s.f64[g])) {
				s.has[g], s.f64[g] = true, x
			}
		}
	case vector.Str:
		c := collationOf(s.typ).ready()
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			s.putText(c, int(groupOf(groups, k)), v.Bytes(i))
		}
	default:
		for k := range n {
			i := rowOf(sel, k)
			if nulls && v.IsNull(i) {
				continue
			}
			at := v.At(i)
			w := v.Values()
			x := vector.Int256{}
			if w.Kind == vector.I128 {
				x = vector.Int256From(w.I128s[at])
			} else {
				x = w.I256s[at]
			}
			s.putWide(int(groupOf(groups, k)), x)
		}
	}
	return nil
}

func (s *pickState) putText(c *collation, g int, b []byte) {
	if s.has[g] && !s.better(c.compare(b, s.text[g])) {
		return
	}
	s.has[g] = true
	old := s.text[g]
	s.text[g] = append(old[:0], b...)
	s.size += int64(cap(s.text[g]) - cap(old))
}

func (s *pickState) putWide(g int, x vector.Int256) {
	if !s.has[g] || s.better(x.Cmp(s.wide[g])) {
		s.has[g], s.wide[g] = true, x
	}
}

func (s *pickState) Merge(other State, to []uint32) error {
	o := other.(*pickState)
	c := collationOf(s.typ).ready()
	for g, has := range o.has {
		if !has {
			continue
		}
		h := mapped(to, g)
		switch {
		case s.general():
			if s.vals == nil {
				s.vals = vector.NewLike(o.vals, 16)
			}
			i := int(o.at[g])
			if s.has[h] && (s.want == 0 || !s.better(s.cmp(o.vals, i, s.vals, int(s.at[h])))) {
				continue
			}
			s.has[h], s.at[h] = true, int32(s.vals.Len)
			s.vals.AppendFrom(o.vals, i)
		case s.ints != nil:
			flip := int64(0)
			if s.typ.Class == Int && s.typ.Unsigned && s.typ.Width == 8 || s.typ.Class == Bit {
				flip = -1 << 63
			}
			x := o.ints[g]
			if !s.has[h] || s.want < 0 && x^flip < s.ints[h]^flip || s.want > 0 && x^flip > s.ints[h]^flip {
				s.has[h], s.ints[h] = true, x
			}
		case s.f64 != nil:
			if !s.has[h] || s.better(compareDouble(o.f64[g], s.f64[h])) {
				s.has[h], s.f64[h] = true, o.f64[g]
			}
		case s.text != nil:
			s.putText(c, h, o.text[g])
		default:
			s.putWide(h, o.wide[g])
		}
	}
	return nil
}

func (s *pickState) Result(from, to int) (*vector.Vec, error) {
	k := s.typ.Physical()
	if s.general() {
		var out *vector.Vec
		if s.vals != nil {
			out = vector.NewLike(s.vals, to-from)
		} else {
			if k == vector.Invalid {
				k = vector.Str
			}
			out = vector.New(k, to-from)
		}
		for g := from; g < to; g++ {
			if s.has[g] {
				out.AppendFrom(s.vals, int(s.at[g]))
			} else {
				out.AppendNull()
			}
		}
		return out, nil
	}
	out := vector.NewFlat(k, to-from)
	for g := from; g < to; g++ {
		i := g - from
		if !s.has[g] {
			out.SetNull(i)
			continue
		}
		switch k {
		case vector.I8:
			out.I8s[i] = int8(s.ints[g])
		case vector.I32:
			out.I32s[i] = int32(s.ints[g])
		case vector.I64:
			out.I64s[i] = s.ints[g]
		case vector.F32:
			out.F32s[i] = float32(s.f64[g])
		case vector.F64:
			out.F64s[i] = s.f64[g]
		case vector.Str:
			out.SetBytes(i, s.text[g])
		case vector.I128:
			out.I128s[i] = vector.Int128{Lo: s.wide[g][0], Hi: int64(s.wide[g][1])}
		default:
			out.I256s[i] = s.wide[g]
		}
	}
	return out, nil
}

// distinctState passes each distinct tuple of a group on once. Tuples are kept,
// so that states can be merged; the inner state is fed when results are asked.
type distinctState struct {
	args   []Expr
	inner  State
	seen   tupleSet
	groups []uint32
	vals   []*vector.Vec
	size   int64 // bytes of long strings kept
	n      int
	fed    int
}

func newDistinctState(args []Expr, inner State) *distinctState {
	return &distinctState{args: args, inner: inner}
}

func (s *distinctState) Grow(n int) { s.inner.Grow(n); s.n = max(s.n, n) }

func (s *distinctState) Bytes() int64 {
	n := s.size + s.seen.bytes() + s.inner.Bytes() + int64(cap(s.groups)*4)
	for _, v := range s.vals {
		n += payloadBytes(v)
	}
	return n
}

// payloadBytes is the memory of a Flat vector without the bytes of long strings.
func payloadBytes(v *vector.Vec) int64 {
	if v.Kind == vector.Str {
		return int64(cap(v.Views)*16 + cap(v.Valid)*8)
	}
	return v.Bytesize()
}

func (s *distinctState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	if s.vals == nil {
		for _, v := range args {
			s.vals = append(s.vals, vector.NewLike(v.Values(), 16))
		}
	}
	if err := s.seen.room(len(s.groups), n); err != nil {
		return err
	}
	if len(args) == 1 && s.seen.whole(s.args[0].Type(), args[0]) {
		s.updateWhole(groups, args[0], sel, n)
		return nil
	}
	if len(args) == 1 && groups == nil && args[0].Form == vector.Dict && args[0].Dict.Lasting {
		sel = s.seen.newCodes(args[0], sel, n)
		n = len(sel)
	}
	s.updateTuples(groups, args, sel, n)
	return nil
}

// updateWhole is Update for one argument whose values are whole numbers.
func (s *distinctState) updateWhole(groups []uint32, v *vector.Vec, sel []uint16, n int) {
	w, t := v.Values(), &s.seen
	kept := s.vals[0]
	for k := range n {
		i := rowOf(sel, k)
		if v.Valid != nil && v.IsNull(i) {
			continue
		}
		g, i := groupOf(groups, k), v.At(i)
		x := int64(0)
		if w.Kind == vector.I64 {
			x = w.I64s[i]
		} else {
			x = int64(w.I32s[i])
		}
		if !t.addWhole(g, x) {
			continue
		}
		s.groups = append(s.groups, g)
		if w.Kind == vector.I64 {
			kept.AppendI64(x)
		} else {
			kept.AppendI32(int32(x))
		}
	}
}

// updateTuples is Update for arguments of any types.
func (s *distinctState) updateTuples(groups []uint32, args []*vector.Vec, sel []uint16, n int) {
	t := &s.seen
	t.start(s.args, groups, args, sel, n)
rows:
	for k := range n {
		i, g := rowOf(sel, k), groupOf(groups, k)
		for _, v := range args {
			if v.Valid != nil && v.IsNull(i) {
				continue rows
			}
		}
		added := t.add(t.hash[k], len(s.groups), func(at int) bool {
			if s.groups[at] != g {
				return false
			}
			for a, v := range args {
				if t.cmp[a](s.vals[a], at, v, i) != 0 {
					return false
				}
			}
			return true
		})
		if !added {
			continue
		}
		s.groups = append(s.groups, g)
		for a, v := range args {
			c := s.vals[a]
			c.AppendFrom(v, i)
			if c.Kind == vector.Str {
				if l := c.Views[c.Len-1].Len(); l > 12 {
					s.size += int64(l)
				}
			}
		}
	}
}

func (s *distinctState) Merge(other State, to []uint32) error {
	o := other.(*distinctState)
	if len(o.groups) == 0 {
		return nil
	}
	groups := o.groups
	if to != nil {
		groups = make([]uint32, len(o.groups))
		for i, g := range o.groups {
			groups[i] = to[g]
		}
	}
	return s.Update(groups, o.vals, nil, len(groups))
}

func (s *distinctState) Result(from, to int) (*vector.Vec, error) {
	if err := s.feed(); err != nil {
		return nil, err
	}
	return s.inner.Result(from, to)
}

// feed gives the inner state the tuples.
func (s *distinctState) feed() error {
	if s.fed == len(s.groups) {
		return nil
	}
	if s.fed > 0 {
		return errs.Internalf("add rows to a DISTINCT aggregate: results were already taken")
	}
	s.fed = len(s.groups)
	return s.inner.Update(s.groups, s.vals, nil, len(s.groups))
}

// groupConcat is GROUP_CONCAT: its arguments are the texts, then the keys.
type groupConcat struct {
	aggregate
	texts int
	order []OrderItem
	sep   string
	// ordered says that items which are the same for DISTINCT have the same place in
	// the order.
	ordered bool
}

func newGroupConcat(ctx *Context, s AggregateSpec) (Aggregate, error) {
	if len(s.Args) == 0 {
		return nil, errs.Userf(errs.Syntax, "GROUP_CONCAT needs an argument")
	}
	a := &groupConcat{texts: len(s.Args), sep: ","}
	if s.Separator != nil {
		a.sep = *s.Separator
	}
	var ts []Type
	for _, x := range s.Args {
		if isNested(x) != nil {
			return nil, isNested(x)
		}
		if x.Type().Class == Decimal { // with the digits of its column
			x = convert(ctx, x, textType(ctx, x.Type()))
		}
		x = asText(ctx, x)
		ts = append(ts, x.Type())
		a.args = append(a.args, x)
	}
	t, err := resultCollation("group_concat", ts...)
	if err != nil {
		return nil, err
	}
	a.typ = TString(ctx.GroupConcatMaxLen, t.Collation)
	if t.Collation == "" {
		a.typ.Collation = ctx.collation()
	}
	if t.Collation == "binary" {
		a.typ.Class = Bytes
	}
	a.typ.Coercibility = t.Coercibility
	if n := ctx.GroupConcatMaxLen; n > 512 {
		a.typ.Told = Told{Length: n * maxBytes(a.typ), Form: Long}
	}
	for _, o := range s.Order {
		x := o.Expr
		if l, ok := x.(*LiteralExpr); ok && l.Val.Type.Class == Int && !l.Val.IsNull() {
			k := intAt(l.Val.Vec, 0)
			if k < 1 || k > int64(len(s.Args)) {
				return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%d' in 'order clause'", k)
			}
			x = s.Args[k-1]
		}
		a.order = append(a.order, OrderItem{Expr: x, Desc: o.Desc})
		a.args = append(a.args, x)
		a.text += map[bool]string{true: " desc", false: " asc"}[o.Desc]
	}
	a.name, a.distinct, a.ordered = "GROUP_CONCAT", s.Distinct, true
	for _, o := range a.order {
		among := func(x Expr) bool { return x.Key() == o.Expr.Key() }
		a.ordered = a.ordered && (!s.Distinct || slices.ContainsFunc(s.Args, among) || slices.ContainsFunc(a.args[:a.texts], among))
	}
	a.text += " separator " + a.sep
	a.state = func(ctx *Context) State { return &concatState{a: a, ctx: ctx} }
	return a, nil
}

func (a *groupConcat) NewState(ctx *Context) State { return a.state(ctx) }

// concatState keeps the texts of every group until the result is asked, since
// they may have to be sorted. It keeps no more of a group than its first
// group_concat_max_len bytes need, as far as it knows which those are: the key of an
// item that is repeated for DISTINCT is that of the first one, and where keys differ
// between them, all identities must be known until Settle.
type concatState struct {
	a         *groupConcat
	ctx       *Context
	groups    []concatGroup
	seen      map[string]struct{} // group and identity of DISTINCT items
	seenBytes int64
	size      int64 // of the items
	added     int64 // items that were ever added
	settled   bool  // items may come that are before others
}

type concatGroup struct {
	items []concatItem
	bytes int64 // of the texts, with a separator each
	// full says that the items make the whole result: others come after them, with
	// ORDER BY those that are not before last.
	full bool
	last concatItem
}

type concatItem struct {
	key  string
	at   int64  // items of equal keys are in this order
	id   string // identity among DISTINCT ones
	text string
}

// Bytes of an item, and of its entry among those seen, beside its strings.
const (
	concatItemBytes = 56
	concatSeenBytes = 48
)

func (it *concatItem) bytes() int64 {
	return int64(len(it.key)+len(it.text)+len(it.id)) + concatItemBytes
}

func (it *concatItem) compare(o *concatItem) int {
	if c := strings.Compare(it.key, o.key); c != 0 {
		return c
	}
	return cmp.Compare(it.at, o.at)
}

// Grow implements State.
func (s *concatState) Grow(n int) { s.groups = growTo(s.groups, n) }

// Bytes implements State.
func (s *concatState) Bytes() int64 { return s.size + s.seenBytes + int64(cap(s.groups))*104 }

func (s *concatState) next() int64 {
	s.added++
	return s.added
}

// most is how many bytes of a group the result can need.
func (s *concatState) most() int64 { return int64(s.ctx.GroupConcatMaxLen) + int64(len(s.a.sep)) }

func (s *concatState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	var key []byte
rows:
	for k := range n {
		i, g := rowOf(sel, k), int(groupOf(groups, k))
		if gr := &s.groups[g]; gr.full && len(s.a.order) == 0 {
			continue
		}
		var text strings.Builder
		for _, v := range args[:s.a.texts] {
			if v.IsNull(i) {
				continue rows
			}
			text.Write(v.Bytes(i))
		}
		it := concatItem{text: text.String(), at: s.next()}
		if s.a.distinct {
			key = key[:0]
			for a, v := range args[:s.a.texts] {
				key = AppendSortKey(key, s.a.args[a].Type(), v, i)
			}
			it.id = string(key)
		}
		key = key[:0]
		for o, v := range args[s.a.texts:] {
			at := len(key)
			key = AppendSortKey(key, s.a.order[o].Expr.Type(), v, i)
			if s.a.order[o].Desc {
				for j := at; j < len(key); j++ {
					key[j] = ^key[j]
				}
			}
		}
		it.key = string(key)
		s.add(g, it)
	}
	return s.ctx.Ended()
}

func (s *concatState) add(g int, it concatItem) {
	gr := &s.groups[g]
	behind := gr.full && it.compare(&gr.last) >= 0
	if behind && s.a.ordered {
		return
	}
	if s.a.distinct {
		if s.seen == nil {
			s.seen = map[string]struct{}{}
		}
		k := seenKey(g, it.id)
		if _, ok := s.seen[k]; ok {
			return
		}
		s.seen[k] = struct{}{}
		s.seenBytes += int64(len(k)) + concatSeenBytes
	}
	if behind {
		return
	}
	gr.items = append(gr.items, it)
	gr.bytes += int64(len(it.text) + len(s.a.sep))
	s.size += it.bytes()
	switch limit := s.most(); {
	case gr.bytes <= limit:
	case len(s.a.order) == 0 && !gr.full && !s.settled:
		gr.full, gr.last = true, it // the others came before it
	case (s.a.ordered || gr.full) && gr.bytes > 2*limit+1024 && len(gr.items) > 64:
		s.shorten(g)
	}
}

func seenKey(g int, id string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(g))) + id
}

// shorten drops the items of a group that its result does not reach.
func (s *concatState) shorten(g int) {
	gr, limit := &s.groups[g], s.most()
	slices.SortFunc(gr.items, func(a, b concatItem) int { return a.compare(&b) })
	keep, bytes := 0, int64(0)
	for bytes <= limit {
		bytes += int64(len(gr.items[keep].text) + len(s.a.sep))
		keep++
	}
	for _, it := range gr.items[keep:] {
		s.size -= it.bytes()
		if s.a.distinct && s.a.ordered {
			k := seenKey(g, it.id)
			delete(s.seen, k)
			s.seenBytes -= int64(len(k)) + concatSeenBytes
		}
	}
	clear(gr.items[keep:])
	gr.items, gr.bytes = gr.items[:keep], bytes
	gr.full, gr.last = true, gr.items[keep-1]
}

// Merge implements State.
func (s *concatState) Merge(other State, to []uint32) error {
	for g := range other.(*concatState).groups {
		h := mapped(to, g)
		for _, it := range other.(*concatState).groups[g].items {
			it.at = s.next()
			s.add(h, it)
		}
	}
	return nil
}

// Result implements State.
func (s *concatState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.Str, to-from)
	limit := s.ctx.GroupConcatMaxLen
	for g := from; g < to; g++ {
		items := s.groups[g].items
		if len(items) == 0 {
			out.SetNull(g - from)
			continue
		}
		steps, ended := 0, false
		slices.SortFunc(items, func(a, b concatItem) int {
			if steps++; steps%4096 == 0 {
				ended = s.ctx.Ended() != nil
			}
			if ended {
				return 0
			}
			return a.compare(&b)
		})
		if err := s.ctx.Ended(); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		cut := false
		for i, it := range items {
			if i > 0 {
				b.WriteString(s.a.sep)
			}
			b.WriteString(it.text)
			if b.Len() > limit {
				s.ctx.warn("Warning", errs.GroupConcatCut, "Row %d was cut by GROUP_CONCAT()", i+1)
				cut = true
				break
			}
		}
		r := b.Bytes()
		if cut {
			r = r[:limit]
			if s.a.typ.Class != Bytes {
				r = wholeCharacters(r)
			}
		}
		out.SetBytes(g-from, r)
	}
	return out, nil
}

// wholeCharacters drops a character at the end of s that was cut.
func wholeCharacters(s []byte) []byte {
	for i := 1; i <= 4 && i <= len(s); i++ {
		c := s[len(s)-i]
		if c&0xC0 == 0x80 {
			continue
		}
		n := 1
		switch {
		case c >= 0xF0:
			n = 4
		case c >= 0xE0:
			n = 3
		case c >= 0xC0:
			n = 2
		}
		if n > i {
			return s[:len(s)-i]
		}
		break
	}
	return s
}
