package syntax

import "strconv"

// NullLit is NULL.
type NullLit struct{ At }

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	At
	Value bool
}

// NumberKind is the kind of a numeric literal, which decides its type: 1 is an
// integer, 1.0 a DECIMAL, 1e0 a DOUBLE.
type NumberKind uint8

// The kinds of numeric literals.
const (
	Integer NumberKind = iota
	DecimalNumber
	FloatNumber
)

// NumberLit is a numeric literal, never signed. Text is what was written.
type NumberLit struct {
	At
	Kind NumberKind
	Text string
}

// Uint64 returns the value of an integer literal that fits.
func (n *NumberLit) Uint64() (uint64, bool) {
	if n.Kind != Integer {
		return 0, false
	}
	v, err := strconv.ParseUint(n.Text, 10, 64)
	return v, err == nil
}

// StringLit is a character string. Value has its escapes resolved; adjacent
// literals are one. A collation is a Collate around it.
type StringLit struct {
	At
	Value string
	// Charset is the introducer's, lower case: _utf8mb4'x' has utf8mb4,
	// _binary'x' binary, N'x' utf8mb3; "" without one.
	Charset  string
	National bool // N'x'
	// First is the length in Value of the first of adjacent literals, 0 when
	// there was only one: MySQL names the column after it.
	First int
}

func (s *StringLit) name() string {
	if s.First > 0 {
		return s.Value[:s.First]
	}
	return s.Value
}

// BytesLit is x'4D', 0x4D or b'1', 0b1: a binary string that acts as a number
// in numeric context.
type BytesLit struct {
	At
	Value   string // the bytes
	Bits    bool   // written as bits
	Charset string // introducer
}

// TemporalKind is DATE, TIME or TIMESTAMP.
type TemporalKind uint8

// The temporal literals. TIMESTAMP '…' is a DATETIME in MySQL.
const (
	DateLiteral TemporalKind = iota
	TimeLiteral
	TimestampLiteral
)

// TemporalLit is DATE '…', TIME '…', TIMESTAMP '…', also in ODBC braces
// ({d '…'}). The text is not validated here.
type TemporalLit struct {
	At
	Kind TemporalKind
	Text string
}

// Interval is INTERVAL x unit. It stands in date arithmetic, as an argument of
// DATE_ADD and its kind, and in window frames. In Trino's dialect it is a value
// of its own; To is then the end field of INTERVAL '1-2' YEAR TO MONTH.
type Interval struct {
	At
	Value Expr
	Unit  string // upper case: DAY, MINUTE_SECOND, …; SQL_TSI_ removed
	To    string
}

// Unit is a unit or format keyword that stands as an argument:
// TIMESTAMPDIFF(MONTH, …), GET_FORMAT(DATE, …). Name is upper case.
type Unit struct {
	At
	Name string
}

// Placeholder is ?, counted from 0 in the order of the text of the statement.
type Placeholder struct {
	At
	Index int
}

// ColumnRef is a column name with up to three qualifiers, outermost first
// (catalog, database, table, column). In Trino's dialect parts may also be row
// fields, which the binder tells apart.
type ColumnRef struct {
	At
	Parts []Ident
}

// Column returns the last part.
func (c *ColumnRef) Column() string {
	if len(c.Parts) == 0 {
		return ""
	}
	return c.Parts[len(c.Parts)-1].Name
}

// Qualifier returns the parts before the last.
func (c *ColumnRef) Qualifier() []Ident {
	if len(c.Parts) == 0 {
		return nil
	}
	return c.Parts[:len(c.Parts)-1]
}

// Star is *, t.*, db.t.* of a select list. Aliases is Trino's row.* AS (a, b).
type Star struct {
	At
	Qualifier []Ident
	Aliases   []Ident
}

// UserVar is @name.
type UserVar struct {
	At
	Name string
}

// VarScope is the scope of a system variable as written.
type VarScope uint8

// The scopes.
const (
	ScopeNone        VarScope = iota // @@x, SET x = …
	ScopeSession                     // @@session.x, @@local.x, SET SESSION | LOCAL
	ScopeGlobal                      // @@global.x, SET GLOBAL
	ScopePersist                     // SET PERSIST
	ScopePersistOnly                 // SET PERSIST_ONLY
)

// SysVar is @@name, @@session.name, @@global.name. Name is lower case and may
// have a component: "hotcache.key_buffer_size".
type SysVar struct {
	At
	Scope VarScope
	Name  string
}

// AssignExpr is @a := x inside an expression.
type AssignExpr struct {
	At
	Var   *UserVar
	Value Expr
}

// Default is DEFAULT, or DEFAULT(column).
type Default struct {
	At
	Column *ColumnRef
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

// The prefix operators.
const (
	OpNot    UnaryOp = iota // NOT x
	OpBang                  // !x
	OpNeg                   // -x
	OpPlus                  // +x
	OpBitNot                // ~x
	OpBinary                // BINARY x
)

// Unary is a prefix operation. ! and NOT mean the same and differ in precedence.
type Unary struct {
	At
	Op UnaryOp
	X  Expr
}

// BinaryOp is an infix operator.
type BinaryOp uint8

// The infix operators.
const (
	OpOr BinaryOp = iota
	OpXor
	OpAnd

	OpEq
	OpNullSafeEq // <=>
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpIsDistinct    // IS DISTINCT FROM
	OpIsNotDistinct // IS NOT DISTINCT FROM
	OpSoundsLike

	OpBitOr
	OpBitAnd
	OpShiftLeft
	OpShiftRight
	OpAdd // also date + INTERVAL
	OpSub
	OpMul
	OpDiv    // /
	OpIntDiv // DIV
	OpMod    // % and MOD
	OpBitXor
	OpConcat // ||, with PIPES_AS_CONCAT or in Trino's dialect

	OpJSONExtract // column -> path
	OpJSONUnquote // column ->> path
)

// IsComparison reports whether the operator compares and yields a truth value.
func (o BinaryOp) IsComparison() bool { return o >= OpEq && o <= OpSoundsLike }

// IsLogic reports whether the operator is AND, OR or XOR.
func (o BinaryOp) IsLogic() bool { return o <= OpAnd }

// Binary is an infix operation.
type Binary struct {
	At
	Op   BinaryOp
	L, R Expr
	// Symbol is set for || as OR and && as AND, which MySQL deprecates.
	Symbol bool
}

// IsKind is the right side of IS.
type IsKind uint8

// The right sides of IS.
const (
	IsNull IsKind = iota
	IsTrue
	IsFalse
	IsUnknown
	IsJSON // x IS JSON, Trino
)

// Is is x IS [NOT] NULL | TRUE | FALSE | UNKNOWN.
type Is struct {
	At
	X    Expr
	Not  bool
	Kind IsKind
}

// In is x [NOT] IN (list) or x [NOT] IN (query). One of List and Query is set.
type In struct {
	At
	X     Expr
	Not   bool
	List  []Expr
	Query *Query
}

// Between is x [NOT] BETWEEN low AND high.
type Between struct {
	At
	X         Expr
	Not       bool
	Low, High Expr
}

// Like is x [NOT] LIKE pattern [ESCAPE c].
type Like struct {
	At
	X       Expr
	Not     bool
	Pattern Expr
	Escape  Expr
}

// Regexp is x [NOT] REGEXP pattern (also RLIKE).
type Regexp struct {
	At
	X       Expr
	Not     bool
	Pattern Expr
}

// MemberOf is x MEMBER OF (array).
type MemberOf struct {
	At
	X     Expr
	Array Expr
}

// Quantifier is ANY (also SOME) or ALL.
type Quantifier uint8

// The quantifiers.
const (
	Any Quantifier = iota
	All
)

// Quantified is x op ANY|ALL (query).
type Quantified struct {
	At
	Op    BinaryOp
	X     Expr
	Quant Quantifier
	Query *Query
}

// Exists is EXISTS (query). NOT EXISTS is Unary around it.
type Exists struct {
	At
	Query *Query
}

// Subquery is a scalar or row subquery.
type Subquery struct {
	At
	Query *Query
}

// Row is (a, b) or ROW(a, b), always of at least two members unless Explicit.
type Row struct {
	At
	Items    []Expr
	Explicit bool // written with ROW
}

// Case is CASE [x] WHEN … THEN … [ELSE …] END.
type Case struct {
	At
	Operand Expr
	Whens   []*When
	Else    Expr
}

// When is one branch of Case.
type When struct {
	At
	Cond, Result Expr
}

// Cast is CAST(x AS type), CONVERT(x, type), TRY_CAST.
type Cast struct {
	At
	X    Expr
	Type *DataType
	// Array is CAST(x AS type ARRAY), of multi-valued indexes.
	Array bool
	Try   bool
	// AtTimeZone is MySQL's CAST(x AT TIME ZONE '+00:00' AS DATETIME).
	AtTimeZone Expr
}

// ConvertUsing is CONVERT(x USING charset).
type ConvertUsing struct {
	At
	X       Expr
	Charset string // lower case
}

// Collate is x COLLATE name.
type Collate struct {
	At
	X         Expr
	Collation string // lower case
}

// Arg is one argument, perhaps named: name => value.
type Arg struct {
	At
	Name  Ident // Name "" when positional
	Value Expr
}

// NullTreatment is RESPECT or IGNORE NULLS of a window function.
type NullTreatment uint8

// The null treatments.
const (
	NullsUnspecified NullTreatment = iota
	RespectNulls
	IgnoreNulls
)

// FuncCall is a call of a scalar, aggregate or window function. Names are as
// written; compare without case. Forms with keywords for commas are
// normalised: SUBSTRING(x FROM a FOR b) has three arguments, POSITION(a IN b)
// two, TIMESTAMPDIFF's unit is a *Unit as first argument.
type FuncCall struct {
	At
	Name     ObjectName
	Args     []Expr
	NoParens bool // CURRENT_TIMESTAMP
	Star     bool // COUNT(*)
	Distinct bool

	OrderBy     []*OrderItem // GROUP_CONCAT(… ORDER BY), array_agg(x ORDER BY y)
	Separator   *string      // GROUP_CONCAT(… SEPARATOR ',')
	Limit       *Limit       // GROUP_CONCAT(… LIMIT n), MariaDB
	WithinGroup []*OrderItem // WITHIN GROUP (ORDER BY …)
	Filter      Expr         // FILTER (WHERE …)
	Nulls       NullTreatment
	FromLast    bool        // NTH_VALUE(…) FROM LAST
	Over        *WindowSpec // window function when set

	Using string    // CHAR(… USING charset)
	As    *DataType // WEIGHT_STRING(x AS CHAR(n))
}

// Is reports whether the function's unqualified name is s, ignoring case.
func (f *FuncCall) Is(s string) bool {
	return len(f.Name.Parts) == 1 && f.Name.Parts[0].EqualFold(s)
}

// TrimSide says from which side TRIM removes.
type TrimSide uint8

// The sides.
const (
	TrimBoth TrimSide = iota
	TrimLeading
	TrimTrailing
)

// Trim is TRIM([side] [chars FROM] x).
type Trim struct {
	At
	Side  TrimSide
	Chars Expr // nil: blanks
	X     Expr
	// Explicit: the side was written.
	Explicit bool
}

// Extract is EXTRACT(unit FROM x).
type Extract struct {
	At
	Unit string // upper case
	X    Expr
}

// MatchAgainst is MATCH (a, b) AGAINST (x mode).
type MatchAgainst struct {
	At
	Columns []Expr
	Query   Expr
	Mode    string // "", "IN BOOLEAN MODE", "IN NATURAL LANGUAGE MODE", …
}

// JSONValue is JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR]).
type JSONValue struct {
	At
	Doc       Expr
	Path      Expr
	Returning *DataType
	OnEmpty   *JSONOn
	OnError   *JSONOn
}

// Lambda is x -> body, (x, y) -> body.
type Lambda struct {
	At
	Params []Ident
	Body   Expr
}

// Array is ARRAY[a, b].
type Array struct {
	At
	Items []Expr
}

// Subscript is x[index].
type Subscript struct {
	At
	X     Expr
	Index Expr
}

// Field is x.name where x is not a plain name: f(y).name, (r).name.
type Field struct {
	At
	X    Expr
	Name Ident
}

// AtTimeZone is x AT TIME ZONE zone.
type AtTimeZone struct {
	At
	X    Expr
	Zone Expr
}

func (*NullLit) expr()      {}
func (*BoolLit) expr()      {}
func (*NumberLit) expr()    {}
func (*StringLit) expr()    {}
func (*BytesLit) expr()     {}
func (*TemporalLit) expr()  {}
func (*Interval) expr()     {}
func (*Unit) expr()         {}
func (*Placeholder) expr()  {}
func (*ColumnRef) expr()    {}
func (*Star) expr()         {}
func (*UserVar) expr()      {}
func (*SysVar) expr()       {}
func (*AssignExpr) expr()   {}
func (*Default) expr()      {}
func (*Unary) expr()        {}
func (*Binary) expr()       {}
func (*Is) expr()           {}
func (*In) expr()           {}
func (*Between) expr()      {}
func (*Like) expr()         {}
func (*Regexp) expr()       {}
func (*MemberOf) expr()     {}
func (*Quantified) expr()   {}
func (*Exists) expr()       {}
func (*Subquery) expr()     {}
func (*Row) expr()          {}
func (*Case) expr()         {}
func (*Cast) expr()         {}
func (*ConvertUsing) expr() {}
func (*Collate) expr()      {}
func (*FuncCall) expr()     {}
func (*Trim) expr()         {}
func (*Extract) expr()      {}
func (*MatchAgainst) expr() {}
func (*JSONValue) expr()    {}
func (*Lambda) expr()       {}
func (*Array) expr()        {}
func (*Subscript) expr()    {}
func (*Field) expr()        {}
func (*AtTimeZone) expr()   {}
