// Package icu matches regular expressions as ICU, the library of MySQL's
// REGEXP functions, reads and matches them: with look-around, back-references,
// atomic groups, possessive quantifiers, set operations and full case folding,
// which Go's package regexp has not.
//
// A pattern is parsed into a tree (parse.go, set.go) and compiled to a program
// (compile.go) that a backtracking machine runs (match.go). Backtracking may
// take exponential time: Match gives up after a number of steps, and when its
// stack grows beyond a limit, with errors that callers tell apart. Prefer Go's
// engine for patterns that both read alike; it is linear.
//
// What of ICU is missing is refused when the pattern is compiled: \X, \N{name},
// \b under the flag w, and properties that Go's package unicode has no table for.
//
// The syntax and the meaning of each construct are those of the ICU User Guide,
// chapter "Regular Expressions".
package icu

import (
	"errors"
	"fmt"
)

// Flags change the meaning of a whole pattern.
type Flags uint8

// The flags.
const (
	FoldCase     Flags = 1 << iota // case does not matter; letters fold to several
	MultiLine                      // ^ and $ match at line breaks, too
	DotAll                         // . matches line breaks
	UnixLines                      // only \n ends a line
	FreeSpaced                     // white space and comments in the pattern are left out
	unicodeWords                   // \b by Unicode's rules of word boundaries
)

// Errors of patterns and matches. A *SyntaxError tells where.
var (
	ErrParen       = errors.New("mismatched parenthesis")
	ErrBracket     = errors.New("unclosed bracket expression")
	ErrRange       = errors.New("range out of order")
	ErrEscape      = errors.New("unrecognized escape sequence")
	ErrProperty    = errors.New("no property")
	ErrInterval    = errors.New("error in {min,max} interval")
	ErrMaxMin      = errors.New("maximum less than minimum in {min,max}")
	ErrNumber      = errors.New("number too big")
	ErrBackRef     = errors.New("back-reference to a group that is not there")
	ErrLookBehind  = errors.New("look-behind without a bounded length")
	ErrGroupName   = errors.New("wrong name of a capture group")
	ErrUnsupported = errors.New("unsupported")
	ErrTimeout     = errors.New("too many steps")
	ErrEnded       = errors.New("the match is not wanted any more")
	ErrStack       = errors.New("stack overflow")
)

// SyntaxError is an error in a pattern.
type SyntaxError struct {
	// Line counts from 1; Char is the number of characters of the line up to
	// the one at which the pattern ceased to make sense.
	Line, Char int
	// What is the construct of an unsupported pattern, else "".
	What string
	Err  error
}

func (e *SyntaxError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("syntax error on line %d, character %d", e.Line, e.Char)
	}
	if e.What != "" {
		return e.Err.Error() + ": " + e.What
	}
	return e.Err.Error()
}

// Unwrap returns the kind of error, nil for a plain syntax error.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Limits bound a match.
type Limits struct {
	Steps int // of the machine; 0: 100 million
	Stack int // entries; 0: a million
	// Done, when closed, ends the match. nil never does.
	Done <-chan struct{}
}

// Regexp is a compiled pattern. It is safe for concurrent use.
type Regexp struct {
	prog   []inst
	flags  Flags
	groups int // capture groups, without the whole match
	names  map[string]int
	slots  int // positions that a match keeps: captures, then those of loops
	prefix rune
}

// Groups returns the number of capture groups.
func (re *Regexp) Groups() int { return re.groups }

// Group returns the number of a named group, 0 when there is none.
func (re *Regexp) Group(name string) int { return re.names[name] }

// Compile reads a pattern. Errors are *SyntaxError.
func Compile(pattern string, flags Flags) (*Regexp, error) {
	p := &parser{text: []rune(pattern), flags: flags, names: map[string]int{}}
	n, err := p.parse()
	if err != nil {
		return nil, err
	}
	c := &compiler{groups: p.groups}
	c.slots = 2 * (p.groups + 1)
	c.emit(inst{op: opSave, n: 0})
	if err := c.node(n); err != nil {
		return nil, err
	}
	c.emit(inst{op: opSave, n: 1})
	c.emit(inst{op: opMatch})
	re := &Regexp{prog: c.prog, flags: flags, groups: p.groups, names: p.names, slots: c.slots, prefix: -1}
	if c.prog[1].op == opChar {
		re.prefix = c.prog[1].r
	}
	return re, nil
}
