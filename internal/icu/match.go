package icu

import "unicode/utf8"

// Match finds the first match in s, valid UTF-8, at or after the byte offset
// from. last is where the match before ended (\G). It returns the byte offsets of
// the match and of the groups, -1 for a group that took no part; nil when there
// is no match. Errors: ErrTimeout, ErrStack, ErrEnded.
func (re *Regexp) Match(s []byte, from, last int, l Limits) ([]int, error) {
	if l.Steps == 0 {
		l.Steps = 100_000_000
	}
	if l.Stack == 0 {
		l.Stack = 1_000_000
	}
	m := &machine{re: re, s: s, all: s, left: l.Steps, done: l.Done, limit: l.Stack, last: last, slots: make([]int, re.slots)}
	for at := from; at <= len(s); {
		if re.prefix >= 0 {
			for at < len(s) {
				if r, n := decode(s[at:]); r != re.prefix {
					at += n
					continue
				}
				break
			}
			if at == len(s) {
				return nil, nil
			}
		}
		for i := range m.slots {
			m.slots[i] = -1
		}
		m.stack = m.stack[:0]
		if _, ok := m.run(0, at); ok {
			return m.slots[:2*(re.groups+1)], nil
		}
		if m.err != nil {
			return nil, m.err
		}
		if at == len(s) {
			break
		}
		_, n := decode(s[at:])
		at += n
	}
	return nil, nil
}

// machine runs a program. Its stack has what to do when a way fails: places to
// go on at, and slots to set back.
type machine struct {
	re    *Regexp
	s     []byte // what may be matched: in a look-behind up to where it looks from
	all   []byte // what assertions see
	slots []int
	stack []frame
	steps int // before the next look at the limits
	left  int // that are allowed after those
	done  <-chan struct{}
	limit int
	last  int
	err   error
}

// frame is a way not taken (pc >= 0): go on at pc from position at; or the old
// value of a slot (pc < 0). loop: the instruction at pc repeated a character up to
// at and may give back down to least, or when it is lazy take least more.
type frame struct {
	pc, at, least int
	loop          bool
}

func decode(s []byte) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRune(s)
}

func (m *machine) push(f frame) {
	if len(m.stack) >= m.limit {
		m.err = ErrStack
		return
	}
	m.stack = append(m.stack, f)
}

func (m *machine) set(slot, at int) {
	m.push(frame{pc: -1 - slot, at: m.slots[slot]})
	m.slots[slot] = at
}

// back undoes down to a height of the stack and returns the way to try next.
func (m *machine) back(base int) (pc, at int, ok bool) {
	for len(m.stack) > base {
		f := &m.stack[len(m.stack)-1]
		if f.pc < 0 {
			m.slots[-1-f.pc] = f.at
			m.stack = m.stack[:len(m.stack)-1]
			continue
		}
		pc, at = f.pc, f.at
		in := &m.re.prog[pc]
		if !f.loop {
			m.stack = m.stack[:len(m.stack)-1]
			return pc, at, true
		}
		// A loop gives one character back, or takes one more.
		if in.mode == lazy {
			n := m.one(in, at)
			if n == 0 || f.least == 0 {
				m.stack = m.stack[:len(m.stack)-1]
				continue
			}
			f.at += n
			f.least--
			return pc + 1, f.at, true
		}
		if at <= f.least {
			m.stack = m.stack[:len(m.stack)-1]
			continue
		}
		_, n := utf8.DecodeLastRune(m.s[:at])
		if in.kind == opAll && at-2 >= f.least && m.s[at-1] == '\n' && m.s[at-2] == '\r' {
			n = 2
		}
		f.at -= n
		return pc + 1, f.at, true
	}
	return 0, 0, false
}

// one matches one character of a loop and returns its length, 0 for none.
func (m *machine) one(in *inst, at int) int {
	if at >= len(m.s) {
		return 0
	}
	r, n := decode(m.s[at:])
	ok := false
	switch in.kind {
	case opSet:
		ok = in.set.has(r)
	case opChar:
		ok = r == in.r
	case opAny:
		ok = !isLineEnd(r, false)
	case opAnyUnix:
		ok = r != '\n'
	case opAll:
		if ok = true; r == '\r' && at+1 < len(m.s) && m.s[at+1] == '\n' {
			n = 2
		}
	}
	if !ok {
		return 0
	}
	return n
}

// stretch is the number of steps between two looks at the limits.
const stretch = 1 << 16

// more allows the next steps, unless there were too many or they are not wanted any
// more.
func (m *machine) more() bool {
	m.left += m.steps // what was taken beyond the stretch
	select {
	case <-m.done:
		m.err = ErrEnded
		return false
	default:
	}
	if m.left < 0 {
		m.err = ErrTimeout
		return false
	}
	m.steps = min(m.left, stretch)
	m.left -= m.steps
	return true
}

// run executes from pc at a position to opMatch and returns where that is. Ways
// not taken stay on the stack when it succeeds.
func (m *machine) run(pc, at int) (end int, matched bool) {
	base := len(m.stack)
	s := m.s
	for {
		if m.err != nil {
			return 0, false
		}
		if m.steps--; m.steps < 0 && !m.more() {
			return 0, false
		}
		in := &m.re.prog[pc]
		ok := true
		switch in.op {
		case opMatch:
			return at, true
		case opChar:
			if ok = at < len(s); ok {
				r, n := decode(s[at:])
				ok = r == in.r
				at += n
			}
		case opText:
			for _, want := range in.text {
				if at >= len(s) {
					ok = false
					break
				}
				r, n := decode(s[at:])
				if r != want {
					ok = false
					break
				}
				at += n
			}
		case opFoldText:
			at, ok = m.foldText(in.text, at)
		case opSet:
			if ok = at < len(s); ok {
				r, n := decode(s[at:])
				ok = in.set.has(r)
				at += n
			}
		case opAny, opAnyUnix:
			if ok = at < len(s); ok {
				r, n := decode(s[at:])
				ok = !isLineEnd(r, in.op == opAnyUnix)
				at += n
			}
		case opAll:
			if ok = at < len(s); ok {
				_, n := decode(s[at:])
				if s[at] == '\r' && at+1 < len(s) && s[at+1] == '\n' {
					n = 2
				}
				at += n
			}
		case opBreak:
			if ok = at < len(s); ok {
				r, n := decode(s[at:])
				ok = isLineEnd(r, false)
				if r == '\r' && at+1 < len(s) && s[at+1] == '\n' {
					n = 2
				}
				at += n
			}
		case opSplit:
			m.push(frame{pc: in.m, at: at})
			pc = in.n
			continue
		case opJump:
			pc = in.n
			continue
		case opSave, opMark:
			m.set(in.n, at)
		case opSame:
			if m.slots[in.n] == at {
				pc = in.m
				continue
			}
		case opLoop:
			at, ok = m.loop(pc, in, at)
		case opBackRef, opFoldBackRef:
			at, ok = m.backRef(in, at)
		case opAtomic:
			top := len(m.stack)
			var to int
			if to, ok = m.run(pc+1, at); ok {
				m.keepSlots(top)
				at, pc = to, in.next
				continue
			}
		case opLook, opLookNot, opBehind, opBehindNot:
			if ok = m.look(pc, in, at); ok {
				pc = in.next
				continue
			}
		case opFail:
			ok = false
		default:
			ok = m.assert(in.op, at)
		}
		if ok {
			pc++
			continue
		}
		if pc, at, ok = m.back(base); !ok {
			return 0, false
		}
	}
}

// loop repeats one character.
func (m *machine) loop(pc int, in *inst, at int) (int, bool) {
	n := 0
	for ; n < in.n; n++ {
		k := m.one(in, at)
		if k == 0 {
			return at, false
		}
		at += k
	}
	if in.mode == lazy {
		rest := -1
		if in.m >= 0 {
			rest = in.m - n
		}
		if rest != 0 {
			m.push(frame{pc: pc, at: at, least: rest, loop: true})
		}
		return at, true
	}
	least := at
	for ; in.m < 0 || n < in.m; n++ {
		k := m.one(in, at)
		if k == 0 {
			break
		}
		at += k
	}
	m.steps -= (at - least) >> 3
	if at > least && in.mode == greedy {
		m.push(frame{pc: pc, at: at, least: least, loop: true})
	}
	return at, true
}

// keepSlots forgets the ways above a height of the stack, but not how to set
// slots back.
func (m *machine) keepSlots(top int) {
	kept := m.stack[:top]
	for _, f := range m.stack[top:] {
		if f.pc < 0 {
			kept = append(kept, f)
		}
	}
	m.stack = kept
}

// undo takes everything above a height of the stack back.
func (m *machine) undo(top int) {
	for len(m.stack) > top {
		if f := m.stack[len(m.stack)-1]; f.pc < 0 {
			m.slots[-1-f.pc] = f.at
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
}

func (m *machine) look(pc int, in *inst, at int) bool {
	top := len(m.stack)
	found := false
	s := m.s
	defer func() { m.s = s }()
	switch in.op {
	case opLook, opLookNot:
		m.s = m.all
		_, found = m.run(pc+1, at)
	default:
		// Back by the least number of characters, then further.
		m.s = m.all[:at]
		from := at
		for n := 0; n <= in.m && !found && m.err == nil; n++ {
			if n >= in.n {
				m.undo(top)
				found = m.runTo(pc+1, from, at)
			}
			if from == 0 {
				break
			}
			_, k := utf8.DecodeLastRune(m.s[:from])
			from -= k
		}
	}
	not := in.op == opLookNot || in.op == opBehindNot
	if !found || not {
		m.undo(top)
	} else {
		m.keepSlots(top)
	}
	return found != not && m.err == nil
}

// runTo runs a program that must end at a position.
func (m *machine) runTo(pc, from, to int) bool {
	base := len(m.stack)
	end, ok := m.run(pc, from)
	for ok && end != to {
		var at int
		if pc, at, ok = m.back(base); ok {
			end, ok = m.resume(pc, at, base)
		}
	}
	return ok
}

// resume goes on with a way that was not taken; the stack below base is another's.
func (m *machine) resume(pc, at, base int) (int, bool) {
	for {
		if end, ok := m.run(pc, at); ok {
			return end, true
		}
		var ok bool
		if pc, at, ok = m.back(base); !ok {
			return 0, false
		}
	}
}

func (m *machine) backRef(in *inst, at int) (int, bool) {
	from, to := m.slots[2*in.n], m.slots[2*in.n+1]
	if from < 0 || to < 0 {
		return at, false
	}
	ref := m.s[from:to]
	if in.op == opFoldBackRef {
		return m.foldText(foldAll([]rune(string(ref))), at)
	}
	if len(m.s)-at < len(ref) || string(m.s[at:at+len(ref)]) != string(ref) {
		return at, false
	}
	return at + len(ref), true
}

// foldText matches a folded text. A character of the subject that folds to
// several must be matched as a whole.
func (m *machine) foldText(text []rune, at int) (int, bool) {
	for k := 0; k < len(text); {
		if at >= len(m.s) {
			return at, false
		}
		r, n := decode(m.s[at:])
		if r >= utf8.RuneSelf {
			if f := fullFoldings[r]; f != nil {
				for _, x := range f {
					if k >= len(text) || foldRune(x) != text[k] {
						return at, false
					}
					k++
				}
				at += n
				continue
			}
		}
		if foldRune(r) != text[k] {
			return at, false
		}
		k++
		at += n
	}
	return at, true
}

func (m *machine) assert(op opcode, at int) bool {
	s := m.all
	before := func() rune {
		r, _ := utf8.DecodeLastRune(s[:at])
		return r
	}
	switch op {
	case opBeginText:
		return at == 0
	case opBeginMatch:
		return at == m.last
	case opEndText:
		return at == len(s)
	case opBeginLine:
		return at == 0 || at < len(s) && isLineEnd(before(), false) && !(before() == '\r' && s[at] == '\n')
	case opBeginUnixLine:
		return at == 0 || at < len(s) && s[at-1] == '\n'
	case opEndLine:
		if at == len(s) {
			return true
		}
		r, _ := decode(s[at:])
		return isLineEnd(r, false) && !(r == '\n' && at > 0 && s[at-1] == '\r')
	case opEndUnixLine:
		return at == len(s) || s[at] == '\n'
	case opEndUnixText:
		return at == len(s) || at == len(s)-1 && s[at] == '\n'
	case opEndBreak:
		if at == len(s) {
			return true
		}
		r, n := decode(s[at:])
		if at+n == len(s) {
			return isLineEnd(r, false) && !(r == '\n' && at > 0 && s[at-1] == '\r')
		}
		return at+2 == len(s) && s[at] == '\r' && s[at+1] == '\n'
	case opWordBoundary:
		return m.wordBoundary(at)
	case opNoWordBoundary:
		return !m.wordBoundary(at)
	}
	return false
}

// wordBoundary compares the character at a position with the one before it;
// combining and formatting characters belong to what is before them.
func (m *machine) wordBoundary(at int) bool {
	word := false
	if at < len(m.all) {
		r, _ := decode(m.all[at:])
		if extending.has(r) || formatting.has(r) {
			return false
		}
		word = wordSet.has(r)
	}
	for at > 0 {
		r, n := utf8.DecodeLastRune(m.all[:at])
		if extending.has(r) || formatting.has(r) {
			at -= n
			continue
		}
		return word != wordSet.has(r)
	}
	return word
}
