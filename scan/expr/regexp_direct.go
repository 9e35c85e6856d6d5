package expr

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Most patterns in queries are a few literals, classes, groups and loops over
// classes. Go's engine runs them through sets of states; here they are matched
// directly, from left to right, first alternative first, as the pattern reads (the
// matches are the same: Go's engine finds the leftmost match that such a search
// would). A loop over a class goes back only where what follows could begin inside
// of what it took. What would take too many steps is left to Go's engine, whose time
// is linear.

// directOp is an instruction of a direct program.
type directOp struct {
	code directCode
	text []byte   // of opText
	set  *runeSet // of opSet and opLoop
	min  int      // of opLoop: least and most runes (-1: any number)
	max  int      //
	lazy bool     // of opLoop: few are tried first
	firm bool     // of opLoop: it never has to go back
	x, y int      // of opSplit: where to go, and where then; of opJump, x
	slot int      // of opSave
	next *runeSet // of opLoop: what must come after it; nil: anything
}

type directCode uint8

const (
	opText directCode = iota
	opSet
	opLoop
	opSplit
	opJump
	opSave
	opBegin
	opEnd
	opDone
)

// direct is a program.
type direct struct {
	ops   []directOp
	slots int
	begin bool // matches begin at the beginning of the text
	lead  []byte
	first *runeSet // of what a match begins with, without lead; nil: anything
}

// runeSet is a set of runes.
type runeSet struct {
	ascii  [2]uint64
	wide   []rune // ranges of the others, in order, that have none in common
	others bool   // it has all of the others
}

func (s *runeSet) add(lo, hi rune) {
	for r := lo; r <= hi && r < utf8.RuneSelf; r++ {
		s.ascii[r>>6] |= 1 << (r & 63)
	}
	if hi >= utf8.RuneSelf {
		lo = max(lo, utf8.RuneSelf)
		s.addWide(lo, hi)
		s.others = s.others || lo == utf8.RuneSelf && hi == unicode.MaxRune
	}
}

func (s *runeSet) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r>>6]&(1<<(r&63)) != 0
	}
	if s.others {
		return true
	}
	lo, hi := 0, len(s.wide)/2 // pairs that end before lo are before r
	for lo < hi {
		if mid := (lo + hi) / 2; s.wide[2*mid+1] < r {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return 2*lo < len(s.wide) && s.wide[2*lo] <= r
}

// at returns the bytes of the rune at s[i:] when it is in the set, 0 when not.
func (s *runeSet) at(t []byte, i int) int {
	if i >= len(t) {
		return 0
	}
	if c := t[i]; c < utf8.RuneSelf {
		return int(s.ascii[c>>6] >> (c & 63) & 1)
	}
	r, n := utf8.DecodeRune(t[i:])
	if s.has(r) {
		return n
	}
	return 0
}

// meets reports whether two sets have a rune in common; it errs towards true.
func (s *runeSet) meets(o *runeSet) bool {
	return s.ascii[0]&o.ascii[0] != 0 || s.ascii[1]&o.ascii[1] != 0 || len(s.wide) > 0 && len(o.wide) > 0
}

func (s *runeSet) join(o *runeSet) {
	s.ascii[0] |= o.ascii[0]
	s.ascii[1] |= o.ascii[1]
	for i := 0; i < len(o.wide); i += 2 {
		s.addWide(o.wide[i], o.wide[i+1])
	}
	s.others = s.others || o.others
}

// addWide adds a range that may lie anywhere.
func (s *runeSet) addWide(lo, hi rune) {
	at := 0
	if n := len(s.wide); n > 0 && s.wide[n-1] < lo {
		at = n
	}
	for at < len(s.wide) && s.wide[at+1] < lo {
		at += 2
	}
	end := at
	for end < len(s.wide) && s.wide[end] <= hi {
		lo, hi = min(lo, s.wide[end]), max(hi, s.wide[end+1])
		end += 2
	}
	s.wide = slices.Replace(s.wide, at, end, lo, hi)
}

// mostOps bounds a program.
const mostOps = 500

// newDirect compiles a pattern of Go's syntax; nil: it is not for a direct match.
func newDirect(src string) *direct {
	re, err := syntax.Parse(src, syntax.Perl)
	if err != nil {
		return nil
	}
	d := &direct{slots: 2 * (re.MaxCap() + 1)}
	if !d.emit(re) || len(d.ops) > mostOps {
		return nil
	}
	d.ops = append(d.ops, directOp{code: opDone})
	for i := range d.ops {
		if op := &d.ops[i]; op.code == opLoop {
			var end bool
			next := &runeSet{}
			if d.after(i+1, next, &end, 0) {
				op.next = next
				// What follows cannot begin with what the loop takes, nor can there be
				// nothing: giving back helps nobody.
				op.firm = !op.lazy && !next.meets(op.set)
			}
		}
	}
	first := &runeSet{}
	var end bool
	if d.after(0, first, &end, 0) && !end {
		d.first = first
	}
	for _, op := range d.ops {
		if op.code == opSave {
			continue
		}
		d.begin = op.code == opBegin
		if op.code == opText {
			d.lead = op.text
		}
		break
	}
	return d
}

// after adds to set what can come first from an instruction on; end is set when it
// can be the end of the text. It returns false when it can be anything, or nothing.
func (d *direct) after(pc int, set *runeSet, end *bool, depth int) bool {
	if depth > 20 {
		return false
	}
	for {
		op := &d.ops[pc]
		switch op.code {
		case opText:
			r, _ := utf8.DecodeRune(op.text)
			set.add(r, r)
			return true
		case opSet:
			set.join(op.set)
			return true
		case opLoop:
			set.join(op.set)
			if op.min > 0 {
				return true
			}
			pc++
		case opSplit:
			if !d.after(op.x, set, end, depth+1) {
				return false
			}
			pc = op.y
			depth++
			if depth > 20 {
				return false
			}
		case opJump:
			pc = op.x
			depth++
			if depth > 20 {
				return false
			}
		case opEnd:
			*end = true
			return true
		case opSave, opBegin:
			pc++
		default:
			return false
		}
	}
}

// emit appends the instructions of re.
func (d *direct) emit(re *syntax.Regexp) bool {
	if len(d.ops) > mostOps {
		return false
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			for _, r := range re.Rune {
				d.ops = append(d.ops, directOp{code: opSet, set: foldSet(r)})
			}
			return true
		}
		text := []byte(string(re.Rune))
		if slices.Contains(re.Rune, utf8.RuneError) {
			return false // it also stands for bytes that are no text
		}
		d.ops = append(d.ops, directOp{code: opText, text: text})
		return true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		d.ops = append(d.ops, directOp{code: opSet, set: setOf(re)})
		return true
	case syntax.OpBeginText:
		d.ops = append(d.ops, directOp{code: opBegin})
		return true
	case syntax.OpEndText:
		d.ops = append(d.ops, directOp{code: opEnd})
		return true
	case syntax.OpCapture:
		d.ops = append(d.ops, directOp{code: opSave, slot: 2 * re.Cap})
		if !d.emit(re.Sub[0]) {
			return false
		}
		d.ops = append(d.ops, directOp{code: opSave, slot: 2*re.Cap + 1})
		return true
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !d.emit(s) })
	case syntax.OpAlternate:
		var ends []int
		for i, s := range re.Sub {
			split := len(d.ops)
			last := i == len(re.Sub)-1
			if !last {
				d.ops = append(d.ops, directOp{code: opSplit, x: split + 1})
			}
			if !d.emit(s) {
				return false
			}
			if !last {
				ends = append(ends, len(d.ops))
				d.ops = append(d.ops, directOp{code: opJump})
				d.ops[split].y = len(d.ops)
			}
		}
		for _, e := range ends {
			d.ops[e].x = len(d.ops)
		}
		return true
	case syntax.OpStar:
		return d.loop(re, 0, -1)
	case syntax.OpPlus:
		return d.loop(re, 1, -1)
	case syntax.OpQuest:
		return d.loop(re, 0, 1)
	case syntax.OpRepeat:
		return d.loop(re, re.Min, re.Max)
	}
	return false
}

// loop appends a repetition: of one rune as one instruction, of others as copies.
func (d *direct) loop(re *syntax.Regexp, least, most int) bool {
	sub, lazy := re.Sub[0], re.Flags&syntax.NonGreedy != 0
	if set := setOf(sub); set != nil {
		d.ops = append(d.ops, directOp{code: opLoop, set: set, min: least, max: most, lazy: lazy})
		return true
	}
	if most < 0 && mayBeEmpty(sub) {
		return false
	}
	for range least {
		if !d.emit(sub) || len(d.ops) > mostOps {
			return false
		}
	}
	split := func() int {
		d.ops = append(d.ops, directOp{code: opSplit})
		return len(d.ops) - 1
	}
	target := func(at, body, out int) {
		if d.ops[at].x, d.ops[at].y = body, out; lazy {
			d.ops[at].x, d.ops[at].y = out, body
		}
	}
	if most < 0 {
		at := split()
		if !d.emit(sub) {
			return false
		}
		d.ops = append(d.ops, directOp{code: opJump, x: at})
		target(at, at+1, len(d.ops))
		return true
	}
	var splits []int
	for range most - least {
		splits = append(splits, split())
		if !d.emit(sub) || len(d.ops) > mostOps {
			return false
		}
	}
	for _, at := range splits {
		target(at, at+1, len(d.ops))
	}
	return true
}

// mayBeEmpty reports whether re may match the empty text; it errs towards true.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !mayBeEmpty(s) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	}
	return true
}

// setOf returns the set of a pattern of one rune, nil for others.
func setOf(re *syntax.Regexp) *runeSet {
	s := &runeSet{}
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) != 1 || re.Rune[0] == utf8.RuneError {
			return nil
		}
		if re.Flags&syntax.FoldCase != 0 {
			return foldSet(re.Rune[0])
		}
		s.add(re.Rune[0], re.Rune[0])
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			s.add(re.Rune[i], re.Rune[i+1])
		}
	case syntax.OpAnyChar:
		s.add(0, unicode.MaxRune)
	case syntax.OpAnyCharNotNL:
		s.add(0, '\n'-1)
		s.add('\n'+1, unicode.MaxRune)
	default:
		return nil
	}
	return s
}

// foldSet is a rune in all its cases.
func foldSet(r rune) *runeSet {
	list := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		list = append(list, f)
	}
	slices.Sort(list)
	s := &runeSet{}
	for _, f := range list {
		s.add(f, f)
	}
	return s
}

// directRun is a search. It belongs to one goroutine and can be used again.
type directRun struct {
	d     *direct
	s     []byte
	loc   []int
	steps int
	depth int
}

// mostDepth bounds the depth of decisions that are open at a time.
const mostDepth = 4000

// find returns the first match from a position on of a text that is valid UTF-8, as
// the positions of regexp's FindSubmatchIndex in all of it; they are valid until the
// next call. known is false when it would take too long to tell.
func (r *directRun) find(d *direct, s []byte, at int) (loc []int, known bool) {
	r.d, r.s, r.depth, r.steps = d, s, 0, 1000+20*len(s)
	if cap(r.loc) < d.slots {
		r.loc = make([]int, d.slots)
	}
	r.loc = r.loc[:d.slots]
	for ; at <= len(s); at++ {
		switch {
		case d.begin:
			if at > 0 {
				return nil, true
			}
		case d.lead != nil:
			k := bytes.Index(s[at:], d.lead)
			if k < 0 {
				return nil, true
			}
			at += k
		case d.first != nil:
			for at < len(s) && d.first.at(s, at) == 0 {
				at++
			}
			if at == len(s) {
				return nil, true
			}
		}
		if at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
			continue
		}
		for i := range r.loc {
			r.loc[i] = -1
		}
		ok := r.run(0, at)
		if r.steps < 0 {
			return nil, false
		}
		if ok {
			r.loc[0] = at
			return r.loc, true
		}
	}
	return nil, true
}

// run matches from an instruction and a position on; the end is in loc[1].
func (r *directRun) run(pc, at int) bool {
	if r.depth++; r.depth > mostDepth {
		r.steps = -1
	}
	defer func() { r.depth-- }()
	s := r.s
	for {
		if r.steps--; r.steps < 0 {
			return false
		}
		op := &r.d.ops[pc]
		pc++
		switch op.code {
		case opText:
			if len(s)-at < len(op.text) || !bytes.Equal(s[at:at+len(op.text)], op.text) {
				return false
			}
			at += len(op.text)
		case opSet:
			n := op.set.at(s, at)
			if n == 0 {
				return false
			}
			at += n
		case opLoop:
			if !op.firm {
				return r.loop(op, pc, at)
			}
			end, n := op.take(s, at, op.max)
			if n < op.min {
				return false
			}
			r.steps -= (end - at) / 8
			at = end
		case opSplit:
			if r.run(op.x, at) {
				return true
			}
			if r.steps < 0 {
				return false
			}
			pc = op.y
		case opJump:
			pc = op.x
		case opSave:
			old := r.loc[op.slot]
			r.loc[op.slot] = at
			if r.run(pc, at) {
				return true
			}
			r.loc[op.slot] = old
			return false
		case opBegin:
			if at != 0 {
				return false
			}
		case opEnd:
			if at != len(s) {
				return false
			}
		case opDone:
			r.loc[1] = at
			return true
		}
	}
}

// take passes runes of the loop's set, most of them at most (-1: any number), and
// returns where it ends and how many they were (with most -1 and a set of all that
// is not ASCII: at least one, if there were any).
func (op *directOp) take(s []byte, at, most int) (end, n int) {
	set := op.set
	if most < 0 && set.others && op.min <= 1 {
		from := at
		lo, hi := set.ascii[0], set.ascii[1]
		for at < len(s) {
			if c := s[at]; c < 64 {
				if lo>>c&1 == 0 {
					break
				}
			} else if c < utf8.RuneSelf && hi>>(c&63)&1 == 0 {
				break
			}
			at++
		}
		return at, min(at-from, 1)
	}
	for most < 0 || n < most {
		k := set.at(s, at)
		if k == 0 {
			break
		}
		at += k
		n++
	}
	return at, n
}

// loop runs a loop that may have to go back, and what follows it.
func (r *directRun) loop(op *directOp, pc, at int) bool {
	s := r.s
	follows := func(at int) bool { return op.next == nil || at == len(s) || op.next.at(s, at) > 0 }
	if op.lazy {
		for n := 0; ; n++ {
			if r.steps--; r.steps < 0 {
				return false
			}
			if n >= op.min && follows(at) && r.run(pc, at) {
				return true
			}
			if op.max >= 0 && n >= op.max {
				return false
			}
			k := op.set.at(s, at)
			if k == 0 {
				return false
			}
			at += k
		}
	}
	from := at
	for n := 0; n < op.min; n++ {
		k := op.set.at(s, from)
		if k == 0 {
			return false
		}
		from += k
	}
	most := op.max
	if most > 0 {
		most -= op.min
	}
	end := from
	for n := 0; most < 0 || n < most; n++ {
		k := op.set.at(s, end)
		if k == 0 {
			break
		}
		end += k
	}
	r.steps -= (end - at) / 8
	for at = end; ; {
		if r.steps--; r.steps < 0 {
			return false
		}
		if follows(at) && r.run(pc, at) {
			return true
		}
		if at == from {
			return false
		}
		for at--; at > from && !utf8.RuneStart(s[at]); at-- {
		}
	}
}

// isASCII reports whether a text has ASCII characters only.
func isASCII(s []byte) bool {
	for len(s) >= 8 {
		if binary.LittleEndian.Uint64(s)&0x8080808080808080 != 0 {
			return false
		}
		s = s[8:]
	}
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
