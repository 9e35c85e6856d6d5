// Package errs gives every error of Thermocline a class, which says what the
// caller may do about it, and a kind, which says what went wrong in terms that
// a protocol package can translate into its own code.
//
// Invariants: only protocol packages (server/mysql, server/trino) know error
// numbers; everything else speaks in kinds. An error without a class is an
// internal one. Messages read "verb object: cause".
//
// Start reading at Error.
package errs

import (
	"errors"
	"fmt"
)

// Class says what may be done about an error.
type Class uint8

const (
	// Internal is a fault of ours: a broken invariant. It is the class of
	// every error that has none.
	Internal Class = iota
	// User is a mistake in what was asked: syntax, names, types, values.
	User
	// Unsupported is a request that is valid but not implemented. It is always
	// named, never approximated.
	Unsupported
	// Conflict is a lost race: the state moved on; redoing the work may succeed.
	Conflict
	// UnknownOutcome is an operation that may or may not have happened. The
	// caller must find out by reading back before it repeats or cleans up.
	UnknownOutcome
	// Resource is a limit reached: memory, disk, time, connections.
	Resource
	// Corruption is data that contradicts its format.
	Corruption
	// Unavailable is a dependency that cannot be reached now: a source
	// database, an object store, a file system.
	Unavailable
)

var classNames = [...]string{"internal", "user", "unsupported", "conflict", "unknown outcome", "resource", "corruption", "unavailable"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "internal"
}

// Kind names what went wrong, finer than a class. Protocol packages map kinds
// to their codes; a kind they do not know falls back to the class.
type Kind string

// The kinds. Add one when a protocol has a code of its own for it.
const (
	KindNone Kind = ""

	// Statements and names.
	Syntax            Kind = "syntax"               // MySQL 1064
	NotSupported      Kind = "not supported"        // 1235
	NoDatabase        Kind = "no database selected" // 1046
	UnknownDatabase   Kind = "unknown database"     // 1049
	DatabaseExists    Kind = "database exists"      // 1007
	DatabaseNotEmpty  Kind = "database not empty"
	UnknownTable      Kind = "unknown table"          // 1146
	TableExists       Kind = "table exists"           // 1050
	UnknownColumn     Kind = "unknown column"         // 1054
	AmbiguousColumn   Kind = "ambiguous column"       // 1052
	DuplicateColumn   Kind = "duplicate column"       // 1060
	DuplicateAlias    Kind = "duplicate alias"        // 1066 not unique table/alias
	UnknownFunction   Kind = "unknown function"       // 1305
	WrongArgCount     Kind = "wrong argument count"   // 1582
	WrongArguments    Kind = "wrong arguments"        // 1210
	InvalidGroupBy    Kind = "invalid group function" // 1111
	NotInGroupBy      Kind = "not in group by"        // 1055
	MixOfGroup        Kind = "mix of group columns"   // 1140
	WrongGroupField   Kind = "wrong group field"      // 1056
	OrderNotSelected  Kind = "order by not selected"  // 3065
	OperandColumns    Kind = "operand columns"        // 1241
	SubqueryRows      Kind = "subquery rows"          // 1242
	DerivedAlias      Kind = "derived table alias"    // 1248
	ColumnCount       Kind = "column count"           // 1136 insert value count
	SetOpColumns      Kind = "set operation columns"  // 1222
	UnknownSnapshot   Kind = "unknown snapshot"       // 1105 with a message that names the range
	UnknownCatalog    Kind = "unknown catalog"
	UnknownPipeline   Kind = "unknown pipeline"
	UnknownProcedure  Kind = "unknown procedure"      // 1305
	UnknownCollation  Kind = "unknown collation"      // 1273
	UnknownCharset    Kind = "unknown charset"        // 1115
	CollationMix      Kind = "collation mix"          // 1267
	CollationMix3     Kind = "collation mix of three" // 1270
	CollationMixAll   Kind = "collation mix of many"  // 1271
	UnknownVariable   Kind = "unknown variable"       // 1193
	ReadOnlyVariable  Kind = "read only variable"
	WrongValueForVar  Kind = "wrong value for variable" // 1231
	WrongTypeForVar   Kind = "wrong type for variable"  // 1232
	UnknownTimeZone   Kind = "unknown time zone"        // 1298
	EmptyQuery        Kind = "empty query"              // 1065
	UnknownStatement  Kind = "unknown prepared statement"
	MultiStatementOff Kind = "several statements in one"

	// Values.
	OutOfRange       Kind = "out of range"                     // 1690
	DivisionByZero   Kind = "division by zero"                 // 1365
	TruncatedValue   Kind = "truncated value"                  // 1292
	WrongValue       Kind = "wrong value"                      // 1525 incorrect DATE value
	ValueOutOfRange  Kind = "value out of range"               // 1264
	DataTooLong      Kind = "data too long"                    // 1406
	NotNull          Kind = "column not null"                  // 1048
	NoDefault        Kind = "no default"                       // 1364
	DuplicateKey     Kind = "duplicate key"                    // 1062
	InvalidJSON      Kind = "invalid json"                     // 3140
	IncorrectDecimal Kind = "incorrect decimal"                // 1366
	BitLength        Kind = "bit operands of unequal length"   // 3513
	LongBitOperand   Kind = "bit aggregate of long strings"    // 3514
	InvalidRegexp    Kind = "invalid regexp"                   // 3685
	PacketTooLarge   Kind = "packet too large"                 // 1153
	WrongFieldSpec   Kind = "wrong column type"                // 1063
	TooBigPrecision  Kind = "too big precision"                // 1426
	TooBigScale      Kind = "too big scale"                    // 1425
	ScaleOverDigits  Kind = "more fraction digits than digits" // 1427
	TooBigWidth      Kind = "too big display width"            // 1439
	InvalidDefault   Kind = "invalid default"                  // 1067
	KeyColumnMissing Kind = "key column missing"               // 1072
	WrongPrimaryKey  Kind = "wrong primary key"                //

	// Access and life of a statement.
	AccessDenied    Kind = "access denied"            // 1045
	DatabaseDenied  Kind = "access denied: database"  // 1044
	TableDenied     Kind = "access denied: table"     // 1142
	PrivilegeNeeded Kind = "access denied: privilege" // 1227
	Killed          Kind = "query killed"             // 1317
	Timeout         Kind = "query timeout"            // 3024
	TooManyClients  Kind = "too many connections"     // 1040
	MemoryLimit     Kind = "memory limit"             // 1041-like resource error
	QueueTimeout    Kind = "queue timeout"            // a query waited too long for its turn
	DiskLimit       Kind = "disk limit"               // of temporary files
	ShuttingDown    Kind = "shutting down"            // 1053
	NoSuchThread    Kind = "unknown thread"           // 1094

	// Storage and ingest.
	FileNotFound    Kind = "file not found"
	FileExists      Kind = "file exists"
	OptionMisplaced Kind = "option misplaced"           // 1234
	TooManyRows     Kind = "more than one row"          // 1172
	NoData          Kind = "no data"                    // 1329
	WrongFileFormat Kind = "file format"                // 1083
	FilesOutside    Kind = "files outside of the roots" // 1290
	Fenced          Kind = "fenced"
	CommittedLate   Kind = "committed late" // by oneself or one's predecessor, unknown until now
	FilesVanished   Kind = "files vanished" // removed by someone else under a reader
	InvalidConfig   Kind = "invalid configuration"
	SourceNotReady  Kind = "source not ready" // binlog off, not ROW, missing grants
	SourceGone      Kind = "source position gone"
	TableStopped    Kind = "table stopped"
	PortInUse       Kind = "port in use"
	LeaseHeld       Kind = "lease held"
	InvalidTable    Kind = "invalid table definition"
	ReadOnlyObject  Kind = "read only object"
)

// Error is an error with a class and a kind. Pos is the byte offset in the
// statement text where it applies, or -1.
type Error struct {
	Class Class
	Kind  Kind
	Msg   string
	Pos   int
	Cause error
	whole bool // Msg already contains the cause's text
}

// Error returns the message, then the cause unless the message contains it.
func (e *Error) Error() string {
	switch {
	case e.Cause == nil || e.whole:
		return e.Msg
	case e.Msg == "":
		return e.Cause.Error()
	}
	return e.Msg + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error of a class and kind. A %w in format sets the cause, as
// fmt.Errorf does.
func New(class Class, kind Kind, format string, args ...any) error {
	f := fmt.Errorf(format, args...)
	return &Error{Class: class, Kind: kind, Msg: f.Error(), Pos: -1, Cause: errors.Unwrap(f), whole: true}
}

// Userf makes an error of class User.
func Userf(kind Kind, format string, args ...any) error { return New(User, kind, format, args...) }

// UserAt makes an error of class User at a byte offset of the statement.
func UserAt(pos int, kind Kind, format string, args ...any) error {
	return &Error{Class: User, Kind: kind, Msg: fmt.Sprintf(format, args...), Pos: pos}
}

// NotInMySQL is Unsupportedf for a construct that MySQL reads and refuses, too: in
// its words.
func NotInMySQL(construct string) error {
	return &Error{Class: Unsupported, Kind: NotSupported, Msg: "This version of MySQL doesn't yet support '" + construct + "'", Pos: -1}
}

// Unsupportedf names a construct that is valid but not implemented. pos is the
// byte offset in the statement, or -1. The construct is a noun phrase:
// "window functions", "LATERAL".
func Unsupportedf(pos int, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	msg := "this version does not support " + what
	if pos >= 0 {
		msg = fmt.Sprintf("%s (at position %d)", msg, pos+1)
	}
	return &Error{Class: Unsupported, Kind: NotSupported, Msg: msg, Pos: pos}
}

// Corruptf makes an error of class Corruption. Name the file and the offset.
func Corruptf(format string, args ...any) error { return New(Corruption, KindNone, format, args...) }

// Internalf makes an error of class Internal.
func Internalf(format string, args ...any) error { return New(Internal, KindNone, format, args...) }

// ClassOf returns the class of the outermost Error in err's chain.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Internal
}

// KindOf returns the kind of the outermost Error in err's chain that has one.
func KindOf(err error) Kind {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return KindNone
		}
		if e.Kind != KindNone {
			return e.Kind
		}
		err = e.Cause
	}
	return KindNone
}

// Is reports whether err is of kind k.
func Is(err error, k Kind) bool { return KindOf(err) == k }
