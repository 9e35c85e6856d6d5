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

func init() { aggregates["GROUP_CONCAT"] = newGroupConcat }

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
