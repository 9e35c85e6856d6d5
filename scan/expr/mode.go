package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// SQLMode is a set of sql_mode flags.
type SQLMode uint32

// The flags.
const (
	RealAsFloat SQLMode = 1 << iota
	PipesAsConcat
	ANSIQuotes
	IgnoreSpace
	OnlyFullGroupBy
	NoUnsignedSubtraction
	NoDirInCreate
	NoAutoValueOnZero
	NoBackslashEscapes
	StrictTransTables
	StrictAllTables
	NoZeroInDate
	NoZeroDate
	AllowInvalidDates
	ErrorForDivisionByZero
	HighNotPrecedence
	NoEngineSubstitution
	PadCharToFullLength
	TimeTruncateFractional
	ansiMode
	traditionalMode
)

// DefaultSQLMode is MySQL 8's default.
const DefaultSQLMode = OnlyFullGroupBy | StrictTransTables | NoZeroInDate | NoZeroDate | ErrorForDivisionByZero | NoEngineSubstitution

var modeNames = []struct {
	name string
	set  SQLMode
}{
	{"REAL_AS_FLOAT", RealAsFloat},
	{"PIPES_AS_CONCAT", PipesAsConcat},
	{"ANSI_QUOTES", ANSIQuotes},
	{"IGNORE_SPACE", IgnoreSpace},
	{"ONLY_FULL_GROUP_BY", OnlyFullGroupBy},
	{"NO_UNSIGNED_SUBTRACTION", NoUnsignedSubtraction},
	{"NO_DIR_IN_CREATE", NoDirInCreate},
	{"ANSI", ansiMode | RealAsFloat | PipesAsConcat | ANSIQuotes | IgnoreSpace | OnlyFullGroupBy},
	{"NO_AUTO_VALUE_ON_ZERO", NoAutoValueOnZero},
	{"NO_BACKSLASH_ESCAPES", NoBackslashEscapes},
	{"STRICT_TRANS_TABLES", StrictTransTables},
	{"STRICT_ALL_TABLES", StrictAllTables},
	{"NO_ZERO_IN_DATE", NoZeroInDate},
	{"NO_ZERO_DATE", NoZeroDate},
	{"ALLOW_INVALID_DATES", AllowInvalidDates},
	{"ERROR_FOR_DIVISION_BY_ZERO", ErrorForDivisionByZero},
	{"TRADITIONAL", traditionalMode | StrictTransTables | StrictAllTables | NoZeroInDate | NoZeroDate | ErrorForDivisionByZero | NoEngineSubstitution},
	{"HIGH_NOT_PRECEDENCE", HighNotPrecedence},
	{"NO_ENGINE_SUBSTITUTION", NoEngineSubstitution},
	{"PAD_CHAR_TO_FULL_LENGTH", PadCharToFullLength},
	{"TIME_TRUNCATE_FRACTIONAL", TimeTruncateFractional},
}

// ParseSQLMode reads a value of sql_mode. Errors: errs.WrongValueForVar.
func ParseSQLMode(s string) (SQLMode, error) {
	var m SQLMode
next:
	for _, part := range strings.Split(s, ",") {
		part = strings.ToUpper(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		for _, n := range modeNames {
			if n.name == part {
				m |= n.set
				continue next
			}
		}
		return 0, errs.Userf(errs.WrongValueForVar, "Variable 'sql_mode' can't be set to the value of '%s'", part)
	}
	return m, nil
}

// String returns the value as @@sql_mode shows it.
func (m SQLMode) String() string {
	var out []string
	for _, n := range modeNames {
		if m&n.set == n.set {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ",")
}

// Has reports whether all flags of f are set.
func (m SQLMode) Has(f SQLMode) bool { return m&f == f }
