package icu

import "unicode"

type opcode uint8

const (
	opMatch    opcode = iota
	opChar            // r
	opText            // runes, one after the other
	opFoldText        // runes, folded; the subject folds to them
	opSet
	opAny     // but line ends
	opAnyUnix // but \n
	opAll     // \r\n is one
	opBreak   // \R
	opSplit   // go on at n; when that fails, at m
	opJump    // to n
	opSave    // the position in slot n
	opMark    // slot n: where an iteration of a loop began
	opSame    // fails when the position is that of slot n: an empty iteration
	opLoop    // set or any, n to m times, by mode
	opBackRef
	opFoldBackRef
	opAtomic // the program from the next instruction to opMatch, then n
	opLook   // the same, ahead
	opLookNot
	opBehind // the same, from n characters before to m characters before
	opBehindNot
	opBeginText
	opBeginLine
	opBeginUnixLine
	opEndText
	opEndBreak    // the end, or before a line break that ends the text
	opEndUnixText // the same, \n
	opEndLine
	opEndUnixLine
	opBeginMatch
	opWordBoundary
	opNoWordBoundary
	opFail
)

type inst struct {
	op   opcode
	kind opcode // opLoop: what is repeated
	mode repeatMode
	r    rune
	n, m int
	next int // opAtomic and look-around: where it goes on
	set  *runeSet
	text []rune
}

// maxProgram bounds the size of a program: {n,m} is unrolled.
const maxProgram = 1 << 17

type compiler struct {
	prog   []inst
	groups int
	slots  int
}

func (c *compiler) emit(i inst) int {
	c.prog = append(c.prog, i)
	return len(c.prog) - 1
}

func (c *compiler) node(n node) error {
	if len(c.prog) > maxProgram {
		return &SyntaxError{Line: 1, Err: ErrUnsupported, What: "a pattern of this size"}
	}
	switch n := n.(type) {
	case *literal:
		c.literal(n)
	case *set:
		c.emit(inst{op: opSet, set: n.s})
	case *dot:
		c.emit(inst{op: n.op()})
	case *lineBreak:
		c.emit(inst{op: opBreak})
	case *cat:
		for _, x := range n.list {
			if err := c.node(x); err != nil {
				return err
			}
		}
	case *alt:
		var jumps []int
		for i, x := range n.list {
			split := -1
			if i < len(n.list)-1 {
				split = c.emit(inst{op: opSplit})
				c.prog[split].n = len(c.prog)
			}
			if err := c.node(x); err != nil {
				return err
			}
			if split >= 0 {
				jumps = append(jumps, c.emit(inst{op: opJump}))
				c.prog[split].m = len(c.prog)
			}
		}
		for _, j := range jumps {
			c.prog[j].n = len(c.prog)
		}
	case *group:
		c.emit(inst{op: opSave, n: 2 * n.n})
		if err := c.node(n.x); err != nil {
			return err
		}
		c.emit(inst{op: opSave, n: 2*n.n + 1})
	case *atomic:
		return c.nested(inst{op: opAtomic}, n.x)
	case *look:
		op := opLook
		if n.not {
			op = opLookNot
		}
		i := inst{op: op}
		if n.behind {
			lo, hi := lengths(n.x)
			if hi < 0 || hi > 1<<20 {
				return &SyntaxError{Line: 1, Err: ErrLookBehind}
			}
			i.op, i.n, i.m = opBehind, lo, hi
			if n.not {
				i.op = opBehindNot
			}
		}
		return c.nested(i, n.x)
	case *backRef:
		op := opBackRef
		if n.fold {
			op = opFoldBackRef
		}
		c.emit(inst{op: op, n: n.n})
	case *assertion:
		c.emit(inst{op: n.op})
	case *repeat:
		return c.repeat(n)
	}
	return nil
}

// nested compiles a program of its own that the machine runs within i.
func (c *compiler) nested(i inst, x node) error {
	at := c.emit(i)
	if err := c.node(x); err != nil {
		return err
	}
	c.emit(inst{op: opMatch})
	c.prog[at].next = len(c.prog)
	return nil
}

func (n *dot) op() opcode {
	switch {
	case n.all:
		return opAll
	case n.unix:
		return opAnyUnix
	}
	return opAny
}

func (c *compiler) literal(l *literal) {
	if l.fold {
		folded := foldAll(l.runes)
		cased := false
		for _, r := range folded {
			// Without a case, and in no folding of another character.
			cased = cased || unicode.SimpleFold(r) != r || inFoldings[r]
		}
		if cased {
			c.emit(inst{op: opFoldText, text: folded})
			return
		}
	}
	if len(l.runes) == 1 {
		c.emit(inst{op: opChar, r: l.runes[0]})
		return
	}
	c.emit(inst{op: opText, text: l.runes})
}

// single returns the instruction of a node that always matches one character.
func (c *compiler) single(n node) (inst, bool) {
	switch n := n.(type) {
	case *set:
		return inst{kind: opSet, set: n.s}, true
	case *dot:
		return inst{kind: n.op()}, true
	case *literal:
		if len(n.runes) == 1 && (!n.fold || unicode.SimpleFold(n.runes[0]) == n.runes[0] && !inFoldings[n.runes[0]]) {
			return inst{kind: opChar, r: n.runes[0]}, true
		}
	case *cat:
		if len(n.list) == 1 {
			return c.single(n.list[0])
		}
	}
	return inst{}, false
}

func (c *compiler) repeat(n *repeat) error {
	if i, ok := c.single(n.x); ok {
		i.op, i.mode, i.n, i.m = opLoop, n.mode, n.min, n.max
		c.emit(i)
		return nil
	}
	if n.mode == possessive {
		return c.nested(inst{op: opAtomic}, &repeat{n.x, n.min, n.max, greedy})
	}
	for range n.min {
		before := len(c.prog)
		if err := c.node(n.x); err != nil {
			return err
		}
		if len(c.prog) == before {
			break // nothing, however often
		}
	}
	choose := func() int { return c.emit(inst{op: opSplit}) }
	set := func(at, in, out int) {
		if n.mode == lazy {
			in, out = out, in
		}
		c.prog[at].n, c.prog[at].m = in, out
	}
	if n.max >= 0 {
		var splits []int
		for range n.max - n.min {
			splits = append(splits, choose())
			if err := c.node(n.x); err != nil {
				return err
			}
		}
		for _, at := range splits {
			set(at, at+1, len(c.prog))
		}
		return nil
	}
	// Without an end: an iteration that matches the empty text ends the loop.
	at := choose()
	slot := c.slots
	c.slots++
	c.emit(inst{op: opMark, n: slot})
	if err := c.node(n.x); err != nil {
		return err
	}
	same := c.emit(inst{op: opSame, n: slot})
	c.emit(inst{op: opJump, n: at})
	c.prog[same].m = len(c.prog)
	set(at, at+1, len(c.prog))
	return nil
}

// lengths returns how many characters a node matches at the least and at the
// most; -1: any number.
func lengths(n node) (lo, hi int) {
	switch n := n.(type) {
	case *literal:
		if n.fold {
			// A character folds to three at most, and three may be one.
			return (len(n.runes) + 2) / 3, 3 * len(n.runes)
		}
		return len(n.runes), len(n.runes)
	case *set:
		return 1, 1
	case *dot, *lineBreak:
		return 1, 2
	case *cat:
		for _, x := range n.list {
			a, b := lengths(x)
			if lo += a; b < 0 || hi < 0 {
				hi = -1
			} else {
				hi += b
			}
		}
		return lo, hi
	case *alt:
		for i, x := range n.list {
			a, b := lengths(x)
			if i == 0 {
				lo, hi = a, b
				continue
			}
			if lo = min(lo, a); b < 0 || hi < 0 {
				hi = -1
			} else {
				hi = max(hi, b)
			}
		}
		return lo, hi
	case *group:
		return lengths(n.x)
	case *atomic:
		return lengths(n.x)
	case *backRef:
		return 0, -1
	case *repeat:
		a, b := lengths(n.x)
		if n.max < 0 || b < 0 {
			return a * n.min, -1
		}
		return a * n.min, b * n.max
	}
	return 0, 0
}
