package syntax

import (
	"github.com/thermocline/thermocline/internal/errs"
)

// Dialect is the language of the text.
type Dialect uint8

// The dialects.
const (
	MySQL Dialect = iota // with Flink's DDL
	Trino
)

// Options are the settings that change how text is read: the dialect and the
// parts of sql_mode that the lexer and parser must know.
type Options struct {
	Dialect            Dialect
	AnsiQuotes         bool // "x" is an identifier
	PipesAsConcat      bool // || concatenates
	NoBackslashEscapes bool // \ is an ordinary character in strings
	HighNotPrecedence  bool // NOT binds like !
	// IgnoreSpace is accepted and changes nothing: blanks may always stand
	// between a function's name and its parenthesis.
	IgnoreSpace bool
	// Version is what /*!NNNNN … */ comments compare with; 0 is 80044.
	Version int
}

// Parsed is one statement of a text.
type Parsed struct {
	Statement Statement
	// Start and End delimit the statement in the whole text, without the
	// semicolon and without blanks around it. Positions in the tree count from
	// the start of the whole text.
	Start, End int
	// Placeholders are the byte offsets of the ? of the statement.
	Placeholders []int
}

// Text returns the statement's source.
func (p Parsed) Text(text string) string { return text[p.Start:p.End] }

// ParseNext parses the first statement at or after offset, skipping empty ones,
// and returns the offset after its semicolon. At the end of the text the
// Statement is nil. It is for front ends that run the statements of a text one
// after another, since each may change the Options of the next, and an error in
// the second must not keep the first from running.
func ParseNext(text string, offset int, o Options) (s Parsed, next int, err error) {
	p := newParser(text, offset, o)
	defer func() {
		if r := recover(); r != nil {
			s, next, err = Parsed{}, len(text), bailed(r)
		}
	}()
	return p.nextStatement()
}

// bailed turns what the parser panicked with into an error. Anything that is
// not its own is a fault of the parser, which must not end the process.
func bailed(r any) error {
	if b, ok := r.(bailout); ok {
		return b.err
	}
	return errs.Internalf("parse statement: %v", r)
}

func (p *parser) nextStatement() (Parsed, int, error) {
	p.start()
	for p.is(";") {
		p.pos = int(p.tok.end)
		p.start()
	}
	if p.tok.kind == tEOF {
		return Parsed{}, len(p.text), nil
	}
	s := Parsed{Start: int(p.tok.lead)}
	s.Statement = p.statement()
	if !p.isEnd() {
		p.bad()
	}
	s.End = max(int(p.prev.end), int(p.tok.closed))
	s.Placeholders = p.placeholders
	next := len(p.text)
	if p.is(";") {
		next = int(p.tok.end)
	}
	if p.tokens > maxHeight/2 && height(s.Statement) > maxHeight {
		return Parsed{}, next, errs.UserAt(s.Start, errs.Syntax, "parse statement: expression with more than %d levels", maxHeight)
	}
	return s, next, nil
}

// Parse parses a text of any number of statements separated by semicolons.
// Empty statements are left out, so the result may be empty. Errors are of kind
// errs.Syntax with the position, in MySQL's words.
func Parse(text string, o Options) ([]Parsed, error) {
	var list []Parsed
	for offset := 0; ; {
		s, next, err := ParseNext(text, offset, o)
		if err != nil {
			return nil, err
		}
		if s.Statement == nil {
			return list, nil
		}
		list = append(list, s)
		offset = next
	}
}

// ParseOne parses exactly one statement, perhaps followed by a semicolon. A
// text without one gives errs.EmptyQuery, one with more errs.Syntax at the second.
func ParseOne(text string, o Options) (Parsed, error) {
	s, next, err := ParseNext(text, 0, o)
	if err != nil {
		return Parsed{}, err
	}
	if s.Statement == nil {
		return Parsed{}, errs.Userf(errs.EmptyQuery, "Query was empty")
	}
	for _, piece := range splitFrom(text, next, o) {
		if !piece.Empty {
			return Parsed{}, syntaxError(text, piece.Start, "")
		}
	}
	return s, nil
}

// ParseExpr parses one expression and nothing else.
func ParseExpr(text string, o Options) (e Expr, err error) {
	p := newParser(text, 0, o)
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, bailed(r)
		}
	}()
	p.startPart()
	e = p.expr()
	if p.tok.kind != tEOF {
		p.bad()
	}
	if p.tokens > maxHeight/2 && height(e) > maxHeight {
		return nil, errs.UserAt(0, errs.Syntax, "parse expression: more than %d levels", maxHeight)
	}
	return e, nil
}

// ParseSelectItems parses a select list: "a, b + 1 AS c, *". It is for the
// projections of pipeline files.
func ParseSelectItems(text string, o Options) (items []*SelectItem, err error) {
	p := newParser(text, 0, o)
	defer func() {
		if r := recover(); r != nil {
			items, err = nil, bailed(r)
		}
	}()
	p.startPart()
	items = p.selectItems()
	if p.tok.kind != tEOF {
		p.bad()
	}
	return items, nil
}

// ParseDataType parses one type: "DECIMAL(10, 2)", "ARRAY<INT>".
func ParseDataType(text string, o Options) (t *DataType, err error) {
	p := newParser(text, 0, o)
	defer func() {
		if r := recover(); r != nil {
			t, err = nil, bailed(r)
		}
	}()
	p.startPart()
	t = p.memberType()
	if p.tok.kind != tEOF {
		p.bad()
	}
	return t, nil
}
