// Package syntax turns SQL text into one AST, and the AST back into text.
//
// It holds the only lexer, parser and tree of Thermocline: MySQL's dialect with
// Flink's DDL, and the expressions of pipeline files. The tree can also carry
// Trino's dialect (lambdas, rows, arrays, UNNEST, FETCH FIRST WITH TIES, …).
//
// Invariants: a tree is never changed after Parse returned it (Rewrite copies);
// every node knows the byte offset of its first token in the text that was
// parsed; String of any tree parses back to an equal tree; no input makes the
// parser panic, recurse without bound or take more than about linear time.
//
// What is valid SQL but served by nobody parses into Unsupported, so that the
// user reads the name of the construct and not of a syntax error.
//
// Start reading at Parse, Query, Select and Expr.
package syntax

import "strings"

// Node is any part of a tree.
type Node interface {
	// Pos is the byte offset of the node's first token in the text that was
	// given to the parser.
	Pos() int
}

// At is the position of a node, embedded in all of them.
type At int

// Pos returns the byte offset.
func (a At) Pos() int { return int(a) }

// Statement is one SQL statement: *Query, *Insert, *CreateTable, …
type Statement interface {
	Node
	statement()
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// TableExpr is what stands in FROM: *TableName, *Derived, *Join, *TableFunc,
// *JSONTable, *Unnest.
type TableExpr interface {
	Node
	tableExpr()
}

// QueryBody is a query without ORDER BY, LIMIT and WITH: *Select, *SetOp,
// *Values, *TableQuery; or a *Query, which is a parenthesised operand that has
// such clauses of its own.
type QueryBody interface {
	Node
	queryBody()
}

// Ident is a name as written, without its quotes.
type Ident struct {
	At
	Name   string
	Quoted bool
}

// String returns the bare name.
func (i Ident) String() string { return i.Name }

// EqualFold reports whether the identifier is s, ignoring ASCII case.
func (i Ident) EqualFold(s string) bool { return strings.EqualFold(i.Name, s) }

// ObjectName is a table, function, procedure or other name of up to three
// parts: catalog, database, object. Parts is never empty. The last part keeps
// a system table's or branch's suffix: "orders$snapshots".
type ObjectName struct {
	At
	Parts []Ident
}

// Object returns the last part.
func (n ObjectName) Object() string {
	if len(n.Parts) == 0 {
		return ""
	}
	return n.Parts[len(n.Parts)-1].Name
}

// Database returns the part before the last, or "".
func (n ObjectName) Database() string {
	if len(n.Parts) < 2 {
		return ""
	}
	return n.Parts[len(n.Parts)-2].Name
}

// Catalog returns the first of three parts, or "".
func (n ObjectName) Catalog() string {
	if len(n.Parts) < 3 {
		return ""
	}
	return n.Parts[len(n.Parts)-3].Name
}

// IsZero reports whether there is no name.
func (n ObjectName) IsZero() bool { return len(n.Parts) == 0 }

// Query is a complete query expression. It is a Statement, and appears in
// expressions inside Subquery, In, Exists and Quantified, and in FROM inside
// Derived.
type Query struct {
	At
	With    *With
	Body    QueryBody
	OrderBy []*OrderItem
	Limit   *Limit
	Locks   []*Lock
	Into    *Into
}

// With is a WITH clause.
type With struct {
	At
	Recursive bool
	CTEs      []*CTE
}

// CTE is one common table expression.
type CTE struct {
	At
	Name    Ident
	Columns []Ident
	Query   *Query
}

// Select is one SELECT.
type Select struct {
	At
	// Options.
	Distinct         bool
	All              bool // ALL written out
	StraightJoin     bool
	HighPriority     bool
	SQLSmallResult   bool
	SQLBigResult     bool
	SQLBufferResult  bool
	SQLNoCache       bool
	SQLCalcFoundRows bool
	Hints            []*Hint // optimizer hints /*+ … */

	Items   []*SelectItem
	From    TableExpr // nil without FROM; FROM DUAL is nil with Dual set
	Dual    bool
	Where   Expr
	GroupBy *GroupBy
	Having  Expr
	Windows []*NamedWindow
	Qualify Expr
}

// SelectItem is one item of a select list. Expr is a *Star for * and t.*.
type SelectItem struct {
	At
	Expr  Expr
	Alias Ident // Name "" when there is none; see HasAlias
	// HasAlias tells an empty alias (AS ”) from none.
	HasAlias bool
	// Text is the expression's source text, from which MySQL names the column.
	Text string
}

// Name is the result column's name in MySQL's manner: the alias, the column's
// name, a string's value, else the source text. It is "" for a *Star.
func (s *SelectItem) Name() string {
	if s.HasAlias {
		return s.Alias.Name
	}
	switch e := s.Expr.(type) {
	case *Star:
		return ""
	case *ColumnRef:
		return e.Column()
	case *StringLit:
		return e.name()
	}
	if s.Text == "" {
		return String(s.Expr)
	}
	return s.Text
}

// GroupBy is a GROUP BY clause. GROUP BY a, b WITH ROLLUP has WithRollup;
// ROLLUP(…), CUBE(…) and GROUPING SETS (…) are elements.
type GroupBy struct {
	At
	Items      []*GroupItem
	WithRollup bool
	Distinct   bool // GROUP BY DISTINCT, of grouping sets
	All        bool // GROUP BY ALL (a quantifier before items)
	Auto       bool // GROUP BY AUTO
}

// GroupKind says what a GroupItem is.
type GroupKind uint8

// The kinds of grouping elements.
const (
	GroupExpr   GroupKind = iota // one expression: Sets is [[e]]
	GroupRollup                  // ROLLUP(a, (b, c)): one set for each argument
	GroupCube                    // CUBE(a, b)
	GroupSets                    // GROUPING SETS ((a, b), a, ())
)

// GroupItem is one grouping element.
type GroupItem struct {
	At
	Kind  GroupKind
	Sets  [][]Expr
	Items []*GroupItem // nested elements of GROUPING SETS (ROLLUP inside), in order after Sets
}

// SetOpKind is UNION, INTERSECT or EXCEPT.
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// SetOp combines two queries. INTERSECT binds tighter than the others.
type SetOp struct {
	At
	Kind SetOpKind
	All  bool
	// Distinct: DISTINCT written out.
	Distinct    bool
	Left, Right QueryBody
}

// Values is VALUES ROW(…), … (MySQL) or VALUES (…), … (Trino, Flink).
type Values struct {
	At
	Rows [][]Expr
}

// TableQuery is TABLE t.
type TableQuery struct {
	At
	Name ObjectName
}

// NullsOrder says where NULLs sort.
type NullsOrder uint8

// Where NULLs sort; the default is MySQL's: lowest.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// OrderItem is one key of ORDER BY.
type OrderItem struct {
	At
	Expr  Expr
	Desc  bool
	Nulls NullsOrder
}

// Limit is LIMIT/OFFSET or FETCH FIRST. Nil parts are absent.
type Limit struct {
	At
	Count    Expr // nil: no limit (LIMIT ALL, or OFFSET alone)
	Offset   Expr
	WithTies bool
}

// LockStrength is FOR UPDATE or FOR SHARE.
type LockStrength uint8

// The lock strengths.
const (
	LockUpdate LockStrength = iota
	LockShare
)

// LockWait is what to do about locked rows.
type LockWait uint8

// The lock waits.
const (
	LockWaits LockWait = iota
	LockNoWait
	LockSkipLocked
)

// Lock is FOR UPDATE | FOR SHARE [OF t, …] [NOWAIT | SKIP LOCKED], or LOCK IN
// SHARE MODE.
type Lock struct {
	At
	Strength LockStrength
	Of       []ObjectName
	Wait     LockWait
}

// Into is SELECT … INTO @a, b | OUTFILE 'f' … | DUMPFILE 'f'.
type Into struct {
	At
	Vars     []Expr // *UserVar or *ColumnRef (a local variable)
	Outfile  string
	Dumpfile string
	Charset  string
	Format   *FileFormat
}

// FileFormat is the FIELDS/LINES part of LOAD DATA and INTO OUTFILE. Nil
// strings are not given.
type FileFormat struct {
	At
	Terminated, Enclosed, Escaped *string
	OptionallyEnclosed            bool
	LinesStarting                 *string
	LinesTerminated               *string
}

// Hint is one optimizer hint of a /*+ … */ comment, such as
// MAX_EXECUTION_TIME(1000) or SET_VAR(sort_buffer_size = 16M). Args is the raw
// text between the parentheses. Unknown hints are kept, not refused.
type Hint struct {
	At
	Name string // upper case
	Args string
}

// Option is one 'key' = 'value' of WITH (…), OPTIONS (…) and SET (…).
type Option struct {
	At
	Key   string
	Value string
}

// TableName is a table in FROM, with everything that may follow its name.
type TableName struct {
	At
	Name       ObjectName
	Partitions []Ident
	AsOf       *AsOf
	Options    []*Option // Flink's table hint /*+ OPTIONS('k'='v') */
	HintPos    At        // where Options were written
	IndexHints []*IndexHint
	Sample     *Sample
	Alias      Ident
	Columns    []Ident // t AS x (a, b), not MySQL
}

// AsOfKind says what a time-travel clause names.
type AsOfKind uint8

// The kinds of time travel.
const (
	AsOfAny       AsOfKind = iota // t AS OF x: a snapshot, tag or time, by x's type and form
	AsOfVersion                   // FOR VERSION AS OF x: snapshot id or tag
	AsOfTimestamp                 // FOR TIMESTAMP AS OF x
	AsOfSystem                    // FOR SYSTEM_TIME AS OF x
)

// AsOf is a time-travel clause.
type AsOf struct {
	At
	Kind AsOfKind
	Expr Expr
}

// IndexHint is USE/FORCE/IGNORE INDEX. It never changes an answer.
type IndexHint struct {
	At
	Action string // USE, FORCE or IGNORE
	For    string // "", "JOIN", "ORDER BY", "GROUP BY"
	Names  []Ident
}

// Sample is TABLESAMPLE BERNOULLI|SYSTEM (percent).
type Sample struct {
	At
	Method  string
	Percent Expr
}

// Derived is a subquery in FROM.
type Derived struct {
	At
	Lateral bool
	Query   *Query
	Alias   Ident
	Columns []Ident
}

// TableFunc is a table function in FROM: read_parquet('x'), TABLE(f(…)).
type TableFunc struct {
	At
	Lateral bool
	Name    ObjectName
	Args    []*Arg
	Alias   Ident
	Columns []Ident
	// Ordinality is WITH ORDINALITY.
	Ordinality bool
}

// Unnest is UNNEST(a, b) [WITH ORDINALITY].
type Unnest struct {
	At
	Args       []Expr
	Ordinality bool
	Alias      Ident
	Columns    []Ident
}

// JSONTable is JSON_TABLE(doc, path COLUMNS (…)).
type JSONTable struct {
	At
	Doc     Expr
	Path    Expr
	Columns []*JSONColumn
	Alias   Ident
}

// JSONColumnKind says what a JSONColumn is.
type JSONColumnKind uint8

// The kinds of JSON_TABLE columns.
const (
	JSONOrdinality JSONColumnKind = iota // name FOR ORDINALITY
	JSONPath                             // name type PATH '…'
	JSONExists                           // name type EXISTS PATH '…'
	JSONNested                           // NESTED PATH '…' COLUMNS (…)
)

// JSONColumn is one column of JSON_TABLE.
type JSONColumn struct {
	At
	Kind    JSONColumnKind
	Name    Ident
	Type    *DataType
	Path    Expr
	OnEmpty *JSONOn
	OnError *JSONOn
	Columns []*JSONColumn
}

// JSONOnKind is the action of ON EMPTY or ON ERROR.
type JSONOnKind uint8

// The actions.
const (
	JSONOnNull JSONOnKind = iota
	JSONOnError
	JSONOnDefault
)

// JSONOn is NULL | ERROR | DEFAULT x, ON EMPTY or ON ERROR.
type JSONOn struct {
	At
	Kind    JSONOnKind
	Default Expr
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds. MySQL's JOIN, INNER JOIN and CROSS JOIN are one: with a
// condition it is an inner join, without one the product.
const (
	JoinInner    JoinKind = iota
	JoinCross             // CROSS JOIN written out
	JoinComma             // a, b
	JoinStraight          // STRAIGHT_JOIN
	JoinLeft
	JoinRight
	JoinFull
	JoinLeftSemi
	JoinLeftAnti
)

// Join joins two table expressions. At most one of Natural, On, Using is set.
type Join struct {
	At
	Kind        JoinKind
	Natural     bool
	Left, Right TableExpr
	On          Expr
	Using       []Ident

	paren bool // written in parentheses; matters to associativity only
}

// NamedWindow is one window of a WINDOW clause.
type NamedWindow struct {
	At
	Name Ident
	Spec *WindowSpec
}

// WindowSpec is what follows OVER. OVER w has only Ref and no Parens.
type WindowSpec struct {
	At
	Ref         Ident // the window it refers to or extends; Name "" when none
	Parens      bool  // OVER (…)
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The frame bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding                    // Expr PRECEDING
	CurrentRow
	Following // Expr FOLLOWING
	UnboundedFollowing
)

// Frame is a window frame. End is CURRENT ROW when only a start was written;
// Between tells.
type Frame struct {
	At
	Unit    FrameUnit
	Between bool
	Start   FrameBound
	End     FrameBound
	Exclude string // "", "CURRENT ROW", "GROUP", "TIES", "NO OTHERS"
}

// FrameBound is one end of a frame. Expr may be an *Interval.
type FrameBound struct {
	Kind BoundKind
	Expr Expr
}

func (*Query) statement() {}

func (*Select) queryBody()     {}
func (*SetOp) queryBody()      {}
func (*Values) queryBody()     {}
func (*TableQuery) queryBody() {}
func (*Query) queryBody()      {}

func (*TableName) tableExpr() {}
func (*Derived) tableExpr()   {}
func (*TableFunc) tableExpr() {}
func (*Unnest) tableExpr()    {}
func (*JSONTable) tableExpr() {}
func (*Join) tableExpr()      {}
