package syntax

import "github.com/thermocline/thermocline/internal/errs"

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
	IgnoreSpace        bool // blanks may stand between a built-in function's name and (
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

// Parse parses a text of any number of statements separated by semicolons.
// Empty statements are left out, so the result may be empty. Errors are
// errs.Syntax with the position, in MySQL's words.
func Parse(text string, o Options) ([]Parsed, error) {
	return nil, errs.Unsupportedf(0, "parsing")
}

// ParseOne parses exactly one statement, perhaps followed by a semicolon. A
// text without one gives errs.EmptyQuery, one with more errs.Syntax at the second.
func ParseOne(text string, o Options) (Parsed, error) {
	return Parsed{}, errs.Unsupportedf(0, "parsing")
}

// ParseExpr parses one expression and nothing else.
func ParseExpr(text string, o Options) (Expr, error) {
	return nil, errs.Unsupportedf(0, "parsing")
}

// Piece is one statement's extent in a text.
type Piece struct {
	Start, End int // without the semicolon and blanks around
	// Next is the offset after the semicolon, or the text's length.
	Next int
	// Empty: only blanks and comments.
	Empty bool
}

// Split finds the statements of a text without parsing them. It knows strings,
// quoted names, comments and the raw text of EXECUTE PIPELINE, and never fails:
// an unterminated string runs to the end.
func Split(text string, o Options) []Piece { return nil }

// CountPlaceholders returns the number of ? parameters of a text.
func CountPlaceholders(text string, o Options) int { return 0 }
