package syntax

import "strings"

// Piece is one statement's extent in a text.
type Piece struct {
	Start, End int // without the semicolon and blanks around
	// Next is the offset after the semicolon, or the text's length.
	Next int
	// Empty: only blanks and comments.
	Empty bool
}

// Split finds the statements of a text without parsing them. It knows strings,
// quoted names, comments, the bodies of routines and the raw text of EXECUTE
// PIPELINE, and never fails: what an unterminated string or comment starts runs
// to the end of the text.
func Split(text string, o Options) []Piece { return splitFrom(text, 0, o) }

func splitFrom(text string, offset int, o Options) []Piece {
	var list []Piece
	s := splitter{lexer: newLexer(text, o)}
	s.pos = offset
	for s.pos < len(text) {
		list = append(list, s.piece())
	}
	return list
}

// CountPlaceholders returns the number of ? parameters of a text.
func CountPlaceholders(text string, o Options) int {
	s := splitter{lexer: newLexer(text, o)}
	for s.pos < len(text) {
		s.piece()
	}
	return len(s.params)
}

// splitter reads tokens with one token of lookahead in word form only.
type splitter struct {
	lexer
	params []int // offsets of ?
}

func (s *splitter) take() token {
	t := s.next()
	if t.kind == tParam {
		s.params = append(s.params, int(t.pos))
	}
	return t
}

// piece reads one statement.
func (s *splitter) piece() Piece {
	s.atStart = true
	s.hints, s.pending = s.hints[:0], 0
	t := s.take()
	p := Piece{Start: int(t.lead), End: int(t.pos), Next: len(s.text), Empty: true}
	body := bodyTracker{}
	for n := 0; ; n++ {
		if !p.Empty && int(t.closed) > p.End {
			p.End = int(t.closed)
		}
		if t.kind == tEOF {
			return p
		}
		if t.word == ";" && !body.inside() {
			p.Next = int(t.end)
			return p
		}
		p.Empty = false
		p.End = int(t.end)
		if body.word(n, t.word) == rawYAML {
			if start, _, end, ok := pipelineText(s.text, s.pos); !ok {
				s.pos = len(s.text) // never closed: the rest belongs to it
				p.End = s.pos
			} else if start >= 0 {
				s.pos = end
				p.End = end
			}
		}
		t = s.take()
	}
}

// What the words so far lead to.
type bodyState uint8

const (
	plainText bodyState = iota
	rawYAML             // EXECUTE PIPELINE WITHYAML was read
)

// bodyTracker follows the words of a statement to find semicolons that do not
// end it: in the bodies of routines, triggers and events, and in Flink's
// statement sets.
type bodyTracker struct {
	create   bool // CREATE or ALTER, and what is not known yet
	compound bool // a routine, trigger or event
	depth    int
	last     string
	first    string
	second   string
}

func (b *bodyTracker) inside() bool { return b.depth > 0 }

func (b *bodyTracker) word(n int, w string) bodyState {
	switch n {
	case 0:
		b.first = w
		b.create = w == "CREATE" || w == "ALTER"
	case 1:
		b.second = w
	}
	switch {
	case b.first == "EXECUTE" && b.second == "PIPELINE" && n == 2 && w == "WITHYAML":
		return rawYAML
	case b.first == "BEGIN" && b.second == "STATEMENT" && n == 2 && w == "SET":
		b.depth = 1
	case b.first == "EXECUTE" && b.second == "STATEMENT" && n == 3 && w == "BEGIN":
		b.depth = 1
	case b.first == "BEGIN" && n == 1 && w == "NOT": // BEGIN NOT ATOMIC …
		b.create, b.compound, b.depth = true, true, 1
	case b.depth > 0 && !b.compound:
		if w == "END" && b.last == ";" {
			b.depth = 0
		}
	case b.create:
		switch w {
		case "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT":
			// Only before the definition proper: CREATE [OR REPLACE]
			// [DEFINER = a@b] [AGGREGATE] PROCEDURE ….
			if n < 12 {
				b.compound = true
			}
		case "TABLE", "VIEW", "INDEX", "USER", "DATABASE", "SCHEMA", "ROLE":
			if !b.compound {
				b.create = false
			}
		case "BEGIN", "CASE":
			if b.compound && b.last != "END" {
				b.depth++
			}
		case "IF", "LOOP", "WHILE", "REPEAT":
			if b.last == "END" && b.compound {
				b.depth++ // END IF closes nothing that was counted
			}
		case "END":
			if b.depth > 0 {
				b.depth--
			}
		}
	}
	b.last = w
	return plainText
}

// pipelineText finds the YAML of EXECUTE PIPELINE WITHYAML, whose opening
// parenthesis is at or after pos. It returns the text's extent and the offset
// after the closing parenthesis. The text is between $$ and $$, one quoted
// string (start is then -1, and the caller reads the string), or bare. Bare text
// that starts on a new line goes up to a line that is only a closing
// parenthesis; other bare text to the balancing parenthesis, knowing YAML's
// quotes and comments.
func pipelineText(text string, pos int) (start, end, after int, ok bool) {
	i := skipSpace(text, pos)
	if i >= len(text) || text[i] != '(' {
		return 0, 0, 0, false
	}
	first := i + 1
	i = skipSpace(text, first)
	switch {
	case strings.HasPrefix(text[i:], "$$"):
		j := strings.Index(text[i+2:], "$$")
		if j < 0 {
			return 0, 0, 0, false
		}
		k := skipSpace(text, i+2+j+2)
		if k >= len(text) || text[k] != ')' {
			return 0, 0, 0, false
		}
		return i + 2, i + 2 + j, k + 1, true
	case i < len(text) && (text[i] == '\'' || text[i] == '"'):
		return -1, 0, 0, true
	case strings.IndexByte(text[first:i], '\n') >= 0:
		e, a, found := closingLine(text, first)
		return first, e, a, found
	}
	e := closingYAML(text, first)
	return first, e, e + 1, e >= 0
}

func skipSpace(text string, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// closingLine finds a line of only a closing parenthesis, perhaps with a
// semicolon: the end of the raw text and the offset after the parenthesis.
func closingLine(text string, from int) (end, after int, ok bool) {
	for i := from; i < len(text); {
		nl := strings.IndexByte(text[i:], '\n')
		if nl < 0 {
			return 0, 0, false
		}
		i += nl + 1
		j := i
		for j < len(text) && (text[j] == ' ' || text[j] == '\t') {
			j++
		}
		if j >= len(text) || text[j] != ')' {
			continue
		}
		k := j + 1
		for k < len(text) && (text[k] == ' ' || text[k] == '\t' || text[k] == '\r') {
			k++
		}
		if k >= len(text) || text[k] == '\n' || text[k] == ';' {
			return i, j + 1, true
		}
	}
	return 0, 0, false
}

// closingYAML finds the parenthesis that balances the one before from.
func closingYAML(text string, from int) int {
	depth := 1
	for i := from; i < len(text); i++ {
		switch c := text[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		case '#':
			if i == 0 || isSpace(text[i-1]) {
				nl := strings.IndexByte(text[i:], '\n')
				if nl < 0 {
					return -1
				}
				i += nl
			}
		case '\'', '"':
			// A quote opens a scalar only at its start.
			if b := text[i-1]; isSpace(b) || b == '(' || b == '[' || b == '{' || b == ',' {
				j := strings.IndexByte(text[i+1:], c)
				if j < 0 {
					return -1
				}
				i += j + 1
			}
		}
	}
	return -1
}
