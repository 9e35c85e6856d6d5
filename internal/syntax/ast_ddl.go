package syntax

// DataType is a type as written. Name is upper case and one of the dialect's
// spellings, words joined by one blank: "INT", "DOUBLE PRECISION",
// "CHARACTER VARYING", "TIMESTAMP". What a name means depends on the statement
// (MySQL's TIMESTAMP is not Flink's), so binding is the caller's.
type DataType struct {
	At
	Name      string
	HasLength bool // (n) or (p, s) was written
	Length    int  // length, precision, or fractional seconds
	HasScale  bool
	Scale     int

	Unsigned bool
	Signed   bool // SIGNED written out
	Zerofill bool
	Charset  string // lower case
	Collate  string // lower case
	Binary   bool   // CHAR … BINARY
	National bool
	Values   []string // ENUM, SET

	// Zone is set for TIMESTAMP/TIME WITH [LOCAL] TIME ZONE and the written out
	// WITHOUT TIME ZONE.
	Zone TimeZoneSpec

	Elem   *DataType   // ARRAY<t>, MULTISET<t>, value of MAP<k, v>
	Key    *DataType   // key of MAP
	Fields []*RowField // ROW<a INT, …>

	NotNull bool // NOT NULL inside a nested type, or after a Flink column's type
}

// TimeZoneSpec is the zone clause of a type.
type TimeZoneSpec uint8

// The zone clauses.
const (
	ZoneUnspecified TimeZoneSpec = iota
	WithoutTimeZone
	WithTimeZone
	WithLocalTimeZone
)

// RowField is a member of a ROW type.
type RowField struct {
	At
	Name    Ident
	Type    *DataType
	Comment string
}

// CreateDatabase is CREATE DATABASE | SCHEMA.
type CreateDatabase struct {
	At
	IfNotExists bool
	Name        ObjectName // database, or catalog.database
	Charset     string
	Collate     string
	Comment     string
	HasComment  bool
	Options     []*Option // Flink: WITH (…)
}

// AlterDatabase is ALTER DATABASE … CHARACTER SET | SET (…).
type AlterDatabase struct {
	At
	Name    ObjectName // may be empty: the current database
	Charset string
	Collate string
	Options []*Option
}

// DropDatabase is DROP DATABASE | SCHEMA.
type DropDatabase struct {
	At
	IfExists bool
	Name     ObjectName
	Cascade  bool
	Restrict bool
}

// CreateTable is CREATE TABLE in MySQL's and Flink's spelling, with LIKE and AS
// SELECT; also CREATE MATERIALIZED TABLE.
type CreateTable struct {
	At
	OrReplace    bool
	Temporary    bool
	External     bool
	Materialized bool
	IfNotExists  bool
	Name         ObjectName
	Columns      []*ColumnDef
	Constraints  []*TableConstraint // keys, indexes, checks, foreign keys
	Watermarks   []*Watermark
	Options      []*TableOption // MySQL: ENGINE=…, COMMENT=…
	Comment      string
	HasComment   bool // COMMENT of either spelling
	PartitionBy  *PartitionBy
	// Flink's clauses.
	Partitioned   bool    // PARTITIONED BY was written
	PartitionedBy []Ident // PARTITIONED BY (a, b)
	Distribution  *Distribution
	HasWith       bool // WITH (…) was written
	With          []*Option
	Freshness     *Interval // CREATE MATERIALIZED TABLE … FRESHNESS = INTERVAL …
	RefreshMode   string    // REFRESH_MODE = CONTINUOUS | FULL
	Like          ObjectName
	LikeOptions   []string // Flink: "INCLUDING ALL", "EXCLUDING OPTIONS", …
	Query         *Query   // AS SELECT
	OnDuplicate   string   // "", "IGNORE", "REPLACE"
	LakeInComment bool     // the Flink clauses stood in a /*T! … */ comment
	QueryText     string   // source text of Query
}

// Flink reports whether the statement uses Flink's types (DESIGN §4): it has
// NOT ENFORCED, PARTITIONED BY or WITH (…) outside a /*T! … */ comment.
func (c *CreateTable) Flink() bool {
	if c.LakeInComment {
		return false
	}
	if c.Partitioned || c.HasWith || c.Distribution != nil || len(c.Watermarks) > 0 || c.Materialized {
		return true
	}
	for _, k := range c.Constraints {
		if k.NotEnforced {
			return true
		}
	}
	for _, col := range c.Columns {
		if col.NotEnforced {
			return true
		}
	}
	return false
}

// PrimaryKey returns the columns of the primary key, written as a constraint
// or at columns.
func (c *CreateTable) PrimaryKey() []string {
	for _, k := range c.Constraints {
		if k.Kind == PrimaryKeyConstraint {
			out := make([]string, 0, len(k.Columns))
			for _, p := range k.Columns {
				out = append(out, p.Name.Name)
			}
			return out
		}
	}
	var out []string
	for _, col := range c.Columns {
		if col.PrimaryKey {
			out = append(out, col.Name.Name)
		}
	}
	return out
}

// ColumnDef is a column of CREATE or ALTER TABLE.
type ColumnDef struct {
	At
	In            []Ident // ALTER: the columns and members around it, outermost first
	Name          Ident
	Type          *DataType // nil for Flink's computed columns
	LakeType      *DataType // in Flink's spelling, of TYPES (…) in a /*T! … */ comment: what Type cannot say
	Null          bool      // NULL written out
	NotNull       bool
	Default       Expr // literal, function call or parenthesised expression
	OnUpdate      Expr // ON UPDATE CURRENT_TIMESTAMP
	AutoIncrement bool
	PrimaryKey    bool
	NotEnforced   bool // PRIMARY KEY NOT ENFORCED at the column
	Unique        bool
	Key           bool // KEY alone
	Comment       string
	HasComment    bool
	Collate       string
	Generated     Expr // GENERATED ALWAYS AS (x); Flink: name AS x
	Stored        bool // generated: STORED
	Virtual       bool // generated: VIRTUAL written out
	Metadata      bool // Flink: METADATA
	MetadataFrom  string
	MetaVirtual   bool
	Checks        []*TableConstraint
	References    *References
	Invisible     bool
	Visible       bool
	ColumnFormat  string
	Storage       string
	EngineAttr    string
	SecondaryAttr string
	SRID          string
}

// ConstraintKind says what a TableConstraint is.
type ConstraintKind uint8

// The constraints and indexes.
const (
	PrimaryKeyConstraint ConstraintKind = iota
	UniqueConstraint
	IndexConstraint
	FulltextConstraint
	SpatialConstraint
	ForeignKeyConstraint
	CheckConstraint
)

// TableConstraint is a key, index, foreign key or check of a table.
type TableConstraint struct {
	At
	Kind        ConstraintKind
	Symbol      Ident // CONSTRAINT name
	Name        Ident // index name
	IfNotExists bool
	Columns     []*KeyPart
	Using       string // BTREE, HASH
	Options     []*TableOption
	NotEnforced bool
	Enforced    bool
	References  *References
	Check       Expr
}

// KeyPart is one column or expression of a key.
type KeyPart struct {
	At
	Name   Ident
	Expr   Expr // functional key part
	Length int  // prefix length, 0 when none
	Asc    bool
	Desc   bool
}

// References is REFERENCES t (…) of a foreign key.
type References struct {
	At
	Table    ObjectName
	Columns  []*KeyPart
	Match    string
	OnDelete string
	OnUpdate string
}

// TableOption is one of MySQL's table or index options. Name is upper case
// ("ENGINE", "CHARSET", "COLLATE", "AUTO_INCREMENT", …). Value is the text of
// the value; Text tells a quoted string.
type TableOption struct {
	At
	Name  string
	Value string
	Text  bool
	Names []ObjectName // UNION = (t, u)
}

// Distribution is Flink's DISTRIBUTED [BY [HASH|RANGE] (…)] [INTO n BUCKETS].
type Distribution struct {
	At
	Kind    string // "", HASH, RANGE
	Columns []Ident
	Buckets int
}

// Watermark is Flink's WATERMARK FOR c AS x.
type Watermark struct {
	At
	Column ObjectName
	Expr   Expr
}

// PartitionBy is MySQL's PARTITION BY.
type PartitionBy struct {
	At
	Linear     bool
	Kind       string // HASH, KEY, RANGE, LIST, RANGE COLUMNS, LIST COLUMNS
	Expr       Expr
	Columns    []Ident
	Algorithm  int
	Count      int
	Sub        *PartitionBy
	Partitions []*PartitionDef
}

// PartitionDef is one PARTITION p VALUES ….
type PartitionDef struct {
	At
	Name     Ident
	LessThan []Expr // VALUES LESS THAN; a nil element is MAXVALUE
	MaxValue bool   // VALUES LESS THAN MAXVALUE
	In       []Expr
	Options  []*TableOption
	Subs     []*PartitionDef
}

// DropTable is DROP [TEMPORARY] TABLE, also DROP MATERIALIZED TABLE.
type DropTable struct {
	At
	Temporary    bool
	Materialized bool
	IfExists     bool
	Names        []ObjectName
	Cascade      bool
	Restrict     bool
}

// TruncateTable is TRUNCATE [TABLE] t.
type TruncateTable struct {
	At
	Name ObjectName
}

// RenameTable is RENAME TABLE a TO b, ….
type RenameTable struct {
	At
	Pairs []*RenamePair
}

// RenamePair is one a TO b.
type RenamePair struct {
	At
	From, To ObjectName
}

// AlterTable is ALTER TABLE with its actions, in both spellings. ALTER
// MATERIALIZED TABLE has Materialized.
type AlterTable struct {
	At
	Materialized bool
	IfExists     bool
	Name         ObjectName
	Actions      []AlterAction
}

// AlterAction is one action of ALTER TABLE.
type AlterAction interface {
	Node
	alterAction()
}

// ColumnPlace is FIRST or AFTER c. The zero value is no clause.
type ColumnPlace struct {
	First bool
	After Ident
}

// AddColumns is ADD [COLUMN] c … or ADD (c …, d …).
type AddColumns struct {
	At
	IfNotExists bool
	Parens      bool
	Columns     []*ColumnDef
	Places      []ColumnPlace // one a column
	Constraints []*TableConstraint
	Watermarks  []*Watermark
}

// DropColumns is DROP [COLUMN] c, or Flink's DROP (a, b).
type DropColumns struct {
	At
	IfExists bool
	Names    []Ident
	In       [][]Ident // of each name, the columns and members around it
}

// ModifyColumns is MODIFY [COLUMN] c …, or Flink's MODIFY (c …, d …).
type ModifyColumns struct {
	At
	IfExists    bool
	Parens      bool
	Columns     []*ColumnDef
	Places      []ColumnPlace
	Constraints []*TableConstraint
	Watermarks  []*Watermark
}

// ChangeColumn is CHANGE [COLUMN] old new …. It renames and modifies.
type ChangeColumn struct {
	At
	IfExists bool
	In       []Ident // the columns and members around Old
	Old      Ident
	Column   *ColumnDef
	Place    ColumnPlace
}

// RenameColumn is RENAME COLUMN a TO b, and Flink's RENAME a TO b.
type RenameColumn struct {
	At
	In       []Ident // the columns and members around Old
	Old, New Ident
}

// AlterColumnDefault is ALTER COLUMN c SET DEFAULT x | DROP DEFAULT |
// SET VISIBLE | SET INVISIBLE.
type AlterColumnDefault struct {
	At
	In          []Ident // the columns and members around it
	Name        Ident
	Default     Expr
	DropDefault bool
	Visibility  string // "", VISIBLE, INVISIBLE
}

// RenameTo is RENAME [TO | AS] t.
type RenameTo struct {
	At
	Name ObjectName
}

// AddConstraint is ADD PRIMARY KEY, INDEX, CONSTRAINT, ….
type AddConstraint struct {
	At
	Constraint *TableConstraint
}

// DropConstraint is DROP PRIMARY KEY | INDEX n | FOREIGN KEY n | CHECK n |
// CONSTRAINT n.
type DropConstraint struct {
	At
	Kind     string // "PRIMARY KEY", "INDEX", "FOREIGN KEY", "CHECK", "CONSTRAINT", "WATERMARK"
	Name     Ident
	IfExists bool
}

// SetTableOptions is MySQL's ENGINE = …, COMMENT = …, ….
type SetTableOptions struct {
	At
	Options []*TableOption
}

// SetOptions is Flink's SET ('k' = 'v', …).
type SetOptions struct {
	At
	Options []*Option
}

// ResetOptions is Flink's RESET ('k', …).
type ResetOptions struct {
	At
	Keys []string
}

// PartitionSpec is PARTITION (a = 1, b = 'x'); a value may be absent.
type PartitionSpec struct {
	At
	Items []*PartitionItem
}

// PartitionItem is one a = value of a PartitionSpec. Value is nil for a dynamic
// partition.
type PartitionItem struct {
	At
	Name  Ident
	Value Expr
}

// AlterPartitions is Flink's ADD | DROP [IF [NOT] EXISTS] PARTITION (…), ….
type AlterPartitions struct {
	At
	Drop     bool
	IfExists bool // or IF NOT EXISTS
	Specs    []*PartitionSpec
}

// AlterMaterialized is SUSPEND, RESUME or REFRESH of a materialized table.
type AlterMaterialized struct {
	At
	What  string // SUSPEND, RESUME, REFRESH, AS
	Spec  *PartitionSpec
	With  []*Option
	Query *Query // AS query
}

// AlterOther is an action that is valid MySQL but does nothing here or is
// refused by name: ALGORITHM = …, LOCK = …, ORDER BY …, CONVERT TO …,
// ENABLE KEYS, partition maintenance. Name is upper case.
type AlterOther struct {
	At
	Name string // "ALGORITHM", "LOCK", "FORCE", "ORDER BY", "ENABLE KEYS", "CONVERT TO CHARACTER SET", …
	Text string // source text of the action
}

// CreateView is CREATE [OR REPLACE] VIEW, or ALTER VIEW with Alter.
type CreateView struct {
	At
	OrReplace    bool
	Alter        bool
	Temporary    bool
	Materialized bool
	IfNotExists  bool
	Algorithm    string
	Definer      *Account
	Security     string // DEFINER, INVOKER
	Name         ObjectName
	Columns      []Ident
	Comment      string
	HasComment   bool
	Query        *Query
	QueryText    string // source text of Query
	Check        string // "", "CASCADED", "LOCAL"
}

// DropView is DROP VIEW.
type DropView struct {
	At
	Temporary    bool
	Materialized bool
	IfExists     bool
	Names        []ObjectName
	Cascade      bool
	Restrict     bool
}

// CreateIndex is CREATE [UNIQUE|FULLTEXT|SPATIAL] INDEX.
type CreateIndex struct {
	At
	Index     *TableConstraint
	Table     ObjectName
	Algorithm string
	Lock      string
}

// DropIndex is DROP INDEX i ON t.
type DropIndex struct {
	At
	IfExists  bool
	Name      Ident
	Table     ObjectName
	Algorithm string
	Lock      string
}

// CreateCatalog is CREATE CATALOG c WITH (…).
type CreateCatalog struct {
	At
	IfNotExists bool
	Name        Ident
	Comment     string
	HasComment  bool
	Options     []*Option
}

// AlterCatalog is ALTER CATALOG c SET (…) | RESET (…) | COMMENT '…'.
type AlterCatalog struct {
	At
	Name       Ident
	Set        []*Option
	Reset      []string
	Comment    string
	HasComment bool
}

// DropCatalog is DROP CATALOG.
type DropCatalog struct {
	At
	IfExists bool
	Name     Ident
}

func (*CreateDatabase) statement() {}
func (*AlterDatabase) statement()  {}
func (*DropDatabase) statement()   {}
func (*CreateTable) statement()    {}
func (*DropTable) statement()      {}
func (*TruncateTable) statement()  {}
func (*RenameTable) statement()    {}
func (*AlterTable) statement()     {}
func (*CreateView) statement()     {}
func (*DropView) statement()       {}
func (*CreateIndex) statement()    {}
func (*DropIndex) statement()      {}
func (*CreateCatalog) statement()  {}
func (*AlterCatalog) statement()   {}
func (*DropCatalog) statement()    {}

func (*AddColumns) alterAction()         {}
func (*DropColumns) alterAction()        {}
func (*ModifyColumns) alterAction()      {}
func (*ChangeColumn) alterAction()       {}
func (*RenameColumn) alterAction()       {}
func (*AlterColumnDefault) alterAction() {}
func (*RenameTo) alterAction()           {}
func (*AddConstraint) alterAction()      {}
func (*DropConstraint) alterAction()     {}
func (*SetTableOptions) alterAction()    {}
func (*SetOptions) alterAction()         {}
func (*ResetOptions) alterAction()       {}
func (*AlterPartitions) alterAction()    {}
func (*AlterMaterialized) alterAction()  {}
func (*AlterOther) alterAction()         {}
