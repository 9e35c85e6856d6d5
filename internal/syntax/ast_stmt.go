package syntax

// Insert is INSERT and REPLACE, in all their forms, and INSERT OVERWRITE.
type Insert struct {
	At
	Replace     bool
	Overwrite   bool
	Ignore      bool
	Priority    string // "", LOW_PRIORITY, DELAYED, HIGH_PRIORITY
	Table       *TableName
	Partition   *PartitionSpec // Flink's PARTITION (a = 1); MySQL's PARTITION (p) is Table.Partitions
	Columns     []Ident
	HasColumns  bool // a column list was written, maybe empty
	SetForm     bool // INSERT … SET a = 1; Columns and Rows hold it
	Rows        [][]Expr
	Query       *Query
	RowAlias    Ident   // VALUES … AS new
	ColAliases  []Ident // AS new (a, b)
	OnDuplicate []*Assignment
	Returning   []*SelectItem // MariaDB
	With        *With         // Flink and others: WITH before INSERT
}

// Assignment is column = value.
type Assignment struct {
	At
	Column *ColumnRef
	Value  Expr
}

// Update is UPDATE of one or several tables.
type Update struct {
	At
	With        *With
	LowPriority bool
	Ignore      bool
	Tables      TableExpr
	Set         []*Assignment
	Where       Expr
	OrderBy     []*OrderItem
	Limit       *Limit
}

// Delete is DELETE of one or several tables. The one-table form has the table
// in From and no Targets.
type Delete struct {
	At
	With        *With
	LowPriority bool
	Quick       bool
	Ignore      bool
	Targets     []ObjectName // DELETE a, b FROM …; DELETE FROM a, b USING …
	Using       bool         // the USING spelling
	From        TableExpr
	Where       Expr
	OrderBy     []*OrderItem
	Limit       *Limit
	Returning   []*SelectItem
}

// Merge is MERGE INTO.
type Merge struct {
	At
	With   *With
	Into   *TableName
	Source TableExpr
	On     Expr
	Whens  []*MergeWhen
}

// MergeAction is what a branch of MERGE does.
type MergeAction uint8

// The merge actions.
const (
	MergeUpdate MergeAction = iota
	MergeDelete
	MergeInsert
	MergeDoNothing
)

// MergeWhen is one WHEN [NOT] MATCHED branch.
type MergeWhen struct {
	At
	Matched  bool
	BySource bool // WHEN NOT MATCHED BY SOURCE
	And      Expr
	Action   MergeAction
	All      bool // UPDATE SET *, INSERT *
	Set      []*Assignment
	Columns  []Ident
	Values   []Expr
}

// LoadData is LOAD DATA [LOCAL] INFILE.
type LoadData struct {
	At
	Priority    string
	Local       bool
	File        string
	Duplicates  string // "", REPLACE, IGNORE
	Table       ObjectName
	Partitions  []Ident
	Charset     string
	Format      *FileFormat
	IgnoreLines Expr
	Columns     []Expr // *ColumnRef or *UserVar
	Set         []*Assignment
	XML         bool
}

// SetVars is SET with variable assignments.
type SetVars struct {
	At
	Items []*SetItem
}

// SetItem is one assignment of SET: Var is *UserVar or *SysVar. Value is nil
// for DEFAULT. Bare words (SET x = on, binary) arrive as *StringLit, as MySQL
// treats them; a *ColumnRef never appears at the top of Value.
type SetItem struct {
	At
	Var   Expr
	Value Expr
}

// SetNames is SET NAMES cs [COLLATE c] | DEFAULT.
type SetNames struct {
	At
	Default bool
	Charset string // lower case
	Collate string // lower case, "" when none
}

// SetCharset is SET CHARACTER SET | CHARSET cs | DEFAULT.
type SetCharset struct {
	At
	Default bool
	Charset string
}

// SetTransaction is SET [GLOBAL | SESSION] TRANSACTION ….
type SetTransaction struct {
	At
	Scope     VarScope
	Isolation string // "", "READ-COMMITTED", "REPEATABLE-READ", … as the variable's values
	Access    string // "", "READ ONLY", "READ WRITE"
}

// SetOption is Flink's SET 'key' = 'value', also with a bare key:
// SET execution.runtime-mode = batch.
type SetOption struct {
	At
	Key   string
	Value string
}

// ShowSettings is Flink's SET without anything.
type ShowSettings struct{ At }

// ResetOption is Flink's RESET ['key'].
type ResetOption struct {
	At
	Key string // "" resets all
}

// SetList is a SET statement that mixes kinds: SET NAMES x, autocommit = 1.
type SetList struct {
	At
	Items []Statement // *SetVars with one item each, *SetNames, *SetCharset
}

// ShowKind names a SHOW statement.
type ShowKind string

// The SHOW statements.
const (
	ShowDatabases       ShowKind = "DATABASES"
	ShowTables          ShowKind = "TABLES"
	ShowViews           ShowKind = "VIEWS"
	ShowMaterialized    ShowKind = "MATERIALIZED TABLES"
	ShowColumns         ShowKind = "COLUMNS"
	ShowIndex           ShowKind = "INDEX"
	ShowTableStatus     ShowKind = "TABLE STATUS"
	ShowOpenTables      ShowKind = "OPEN TABLES"
	ShowCreateTable     ShowKind = "CREATE TABLE"
	ShowCreateView      ShowKind = "CREATE VIEW"
	ShowCreateDatabase  ShowKind = "CREATE DATABASE"
	ShowCreateCatalog   ShowKind = "CREATE CATALOG"
	ShowCreateUser      ShowKind = "CREATE USER"
	ShowCreateOther     ShowKind = "CREATE" // Type says PROCEDURE, FUNCTION, TRIGGER, EVENT
	ShowVariables       ShowKind = "VARIABLES"
	ShowStatus          ShowKind = "STATUS"
	ShowWarnings        ShowKind = "WARNINGS"
	ShowErrors          ShowKind = "ERRORS"
	ShowProcesslist     ShowKind = "PROCESSLIST"
	ShowGrants          ShowKind = "GRANTS"
	ShowPrivileges      ShowKind = "PRIVILEGES"
	ShowEngines         ShowKind = "ENGINES"
	ShowEngine          ShowKind = "ENGINE"
	ShowCharset         ShowKind = "CHARACTER SET"
	ShowCollation       ShowKind = "COLLATION"
	ShowPlugins         ShowKind = "PLUGINS"
	ShowTriggers        ShowKind = "TRIGGERS"
	ShowEvents          ShowKind = "EVENTS"
	ShowProcedureStatus ShowKind = "PROCEDURE STATUS"
	ShowFunctionStatus  ShowKind = "FUNCTION STATUS"
	ShowProcedureCode   ShowKind = "PROCEDURE CODE"
	ShowFunctionCode    ShowKind = "FUNCTION CODE"
	ShowProcedures      ShowKind = "PROCEDURES"
	ShowFunctions       ShowKind = "FUNCTIONS"
	ShowProfile         ShowKind = "PROFILE"
	ShowProfiles        ShowKind = "PROFILES"
	ShowBinaryLogs      ShowKind = "BINARY LOGS"
	ShowBinaryLogStatus ShowKind = "BINARY LOG STATUS" // also MASTER STATUS
	ShowBinlogEvents    ShowKind = "BINLOG EVENTS"
	ShowRelaylogEvents  ShowKind = "RELAYLOG EVENTS"
	ShowReplicas        ShowKind = "REPLICAS"
	ShowReplicaStatus   ShowKind = "REPLICA STATUS"
	ShowCatalogs        ShowKind = "CATALOGS"
	ShowCurrentCatalog  ShowKind = "CURRENT CATALOG"
	ShowCurrentDatabase ShowKind = "CURRENT DATABASE"
	ShowPartitions      ShowKind = "PARTITIONS"
	ShowPipelines       ShowKind = "PIPELINES"
	ShowJobs            ShowKind = "JOBS"
	ShowModules         ShowKind = "MODULES"
	ShowJars            ShowKind = "JARS"
	ShowContributors    ShowKind = "CONTRIBUTORS"
	ShowAuthors         ShowKind = "AUTHORS"
	ShowParseTree       ShowKind = "PARSE_TREE"
)

// Show is a SHOW statement.
type Show struct {
	At
	Kind        ShowKind
	Full        bool
	Extended    bool
	Scope       VarScope   // VARIABLES, STATUS
	Count       bool       // SHOW COUNT(*) WARNINGS | ERRORS
	Type        string     // ENGINE's name; what SHOW CREATE shows otherwise
	What        string     // ENGINE … STATUS | LOGS | MUTEX; PROFILE's types
	Table       ObjectName // COLUMNS, INDEX, CREATE …, PARTITIONS
	Database    ObjectName // FROM db: one part, or catalog.database
	Not         bool       // NOT LIKE, Flink
	Like        *StringLit
	Where       Expr
	Limit       *Limit
	User        *Account   // GRANTS FOR, CREATE USER
	Roles       []*Account // GRANTS … USING
	IfNotExists bool       // SHOW CREATE DATABASE IF NOT EXISTS
	Spec        *PartitionSpec
}

// Describe is DESCRIBE t [column | 'pattern'], and EXPLAIN t.
type Describe struct {
	At
	Extended   bool
	Kind       string // "" for a table; CATALOG, DATABASE in Flink
	Name       ObjectName
	Column     string
	Pattern    string
	HasPattern bool
}

// Explain is EXPLAIN of a statement.
type Explain struct {
	At
	Analyze    bool
	Extended   bool
	Partitions bool
	Format     string   // upper case: "", TRADITIONAL, JSON, TREE, …
	Details    []string // Flink: ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE
	Schema     ObjectName
	Into       *UserVar
	Statement  Statement // nil for a connection
	Connection Expr      // EXPLAIN FOR CONNECTION n
}

// Use is USE db, USE catalog.db, or USE CATALOG c.
type Use struct {
	At
	Catalog bool
	Name    ObjectName
}

// Begin is BEGIN [WORK] or START TRANSACTION.
type Begin struct {
	At
	ConsistentSnapshot bool
	Access             string // "", "READ ONLY", "READ WRITE"
}

// Commit is COMMIT [WORK] [AND [NO] CHAIN] [[NO] RELEASE].
type Commit struct {
	At
	Chain, NoChain, Release, NoRelease bool
}

// Rollback is ROLLBACK [TO SAVEPOINT s].
type Rollback struct {
	At
	Chain, NoChain, Release, NoRelease bool
	To                                 Ident
}

// Savepoint is SAVEPOINT s.
type Savepoint struct {
	At
	Name Ident
}

// ReleaseSavepoint is RELEASE SAVEPOINT s.
type ReleaseSavepoint struct {
	At
	Name Ident
}

// Kill is KILL [CONNECTION | QUERY] n.
type Kill struct {
	At
	Query bool
	ID    Expr
}

// Prepare is PREPARE s FROM 'text' | @v | a statement (Trino).
type Prepare struct {
	At
	Name      Ident
	Text      *StringLit
	Var       *UserVar
	Statement Statement
}

// Execute is EXECUTE s [USING @a, …].
type Execute struct {
	At
	Name  Ident
	Using []Expr
}

// ExecuteImmediate is EXECUTE IMMEDIATE x [USING …].
type ExecuteImmediate struct {
	At
	Text  Expr
	Using []Expr
}

// Deallocate is DEALLOCATE | DROP PREPARE s.
type Deallocate struct {
	At
	Name Ident
}

// Call is CALL p(…). A call without parentheses has no Args.
type Call struct {
	At
	Name ObjectName
	Args []*Arg
}

// ExecutePipeline is EXECUTE PIPELINE WITHYAML (…). YAML is the pipeline's
// text, taken raw between the parentheses, between $$ and $$, or from a string.
type ExecutePipeline struct {
	At
	YAML    string
	YAMLPos At // where the text starts
}

// PipelineControl is PAUSE | RESUME | STOP | DROP PIPELINE p.
type PipelineControl struct {
	At
	Action   string // PAUSE, RESUME, STOP, DROP
	IfExists bool
	Name     Ident
}

// StatementSet is Flink's EXECUTE STATEMENT SET BEGIN … END, and BEGIN
// STATEMENT SET.
type StatementSet struct {
	At
	Inserts []*Insert
}

// Account is 'user'@'host'. Host is "%" when not written; HasHost tells.
// CURRENT_USER has Current.
type Account struct {
	At
	User    string
	Host    string
	HasHost bool
	Current bool
}

// Auth is the IDENTIFIED part of an account.
type Auth struct {
	At
	Plugin      string // WITH plugin
	Password    string // BY 'password'
	HasPassword bool
	Hash        string // AS 'hash'
	HasHash     bool
	Random      bool   // BY RANDOM PASSWORD
	Replace     string // REPLACE 'current'
	HasReplace  bool
	Retain      bool // RETAIN CURRENT PASSWORD
}

// UserSpec is an account with its authentication.
type UserSpec struct {
	At
	Account    *Account
	Auth       *Auth
	DiscardOld bool // DISCARD OLD PASSWORD
}

// UserOption is REQUIRE SSL, MAX_QUERIES_PER_HOUR 1, PASSWORD EXPIRE NEVER,
// ACCOUNT LOCK, COMMENT '…', ATTRIBUTE '…'. Name and Value are as written, the
// name upper case.
type UserOption struct {
	At
	Name  string
	Value string
	Text  bool // Value was a string
}

// CreateUser is CREATE USER.
type CreateUser struct {
	At
	OrReplace    bool
	IfNotExists  bool
	Users        []*UserSpec
	DefaultRoles []*Account
	Options      []*UserOption
}

// AlterUser is ALTER USER.
type AlterUser struct {
	At
	IfExists bool
	Users    []*UserSpec
	Options  []*UserOption
	// DEFAULT ROLE of one user: NONE, ALL or a list.
	DefaultRole  string // "", NONE, ALL, LIST
	DefaultRoles []*Account
}

// DropUser is DROP USER.
type DropUser struct {
	At
	IfExists bool
	Users    []*Account
}

// RenameUser is RENAME USER a TO b, ….
type RenameUser struct {
	At
	From, To []*Account
}

// CreateRole is CREATE ROLE.
type CreateRole struct {
	At
	IfNotExists bool
	Roles       []*Account
}

// DropRole is DROP ROLE.
type DropRole struct {
	At
	IfExists bool
	Roles    []*Account
}

// Privilege is one privilege of GRANT or REVOKE, upper case, with columns.
type Privilege struct {
	At
	Name    string // "SELECT", "ALL", "CREATE TEMPORARY TABLES", …
	Columns []Ident
}

// GrantTarget is what a privilege is on. Empty parts of Name mean *: ON *.*
// has none, ON db.* only Database.
type GrantTarget struct {
	At
	Type     string // "", TABLE, FUNCTION, PROCEDURE
	Catalog  Ident
	Database Ident
	Object   Ident // Name "" means *
	// Current: ON * without database, the current database's objects.
	Current bool
}

// Grant is GRANT of privileges or of roles.
type Grant struct {
	At
	Privileges  []*Privilege
	Roles       []*Account // GRANT role TO user: set instead of Privileges
	On          *GrantTarget
	To          []*UserSpec
	GrantOption bool
	AdminOption bool
	Options     []*UserOption
	AsUser      *Account
	Proxy       *Account // GRANT PROXY ON u TO v
}

// Revoke is REVOKE.
type Revoke struct {
	At
	IfExists   bool
	Privileges []*Privilege
	Roles      []*Account
	On         *GrantTarget
	From       []*Account
	// AllAndGrantOption is REVOKE ALL PRIVILEGES, GRANT OPTION FROM u.
	AllAndGrantOption bool
	IgnoreUnknown     bool
	Proxy             *Account
}

// SetPassword is SET PASSWORD [FOR u] = 'x' | TO RANDOM.
type SetPassword struct {
	At
	User       *Account
	Password   string
	Random     bool
	Replace    string
	HasReplace bool
	Retain     bool
}

// SetRole is SET ROLE r, … | ALL | NONE | DEFAULT.
type SetRole struct {
	At
	Mode  string // "", ALL, ALL EXCEPT, NONE, DEFAULT
	Roles []*Account
}

// SetDefaultRole is SET DEFAULT ROLE … TO u, ….
type SetDefaultRole struct {
	At
	Mode  string // "", ALL, NONE
	Roles []*Account
	Users []*Account
}

// LockTables is LOCK TABLES.
type LockTables struct {
	At
	Items    []*LockTable
	Instance bool // LOCK INSTANCE FOR BACKUP
}

// LockTable is one table of LOCK TABLES.
type LockTable struct {
	At
	Name  ObjectName
	Alias Ident
	Mode  string // READ, READ LOCAL, WRITE, LOW_PRIORITY WRITE
}

// UnlockTables is UNLOCK TABLES.
type UnlockTables struct {
	At
	Instance bool
}

// TableMaintenance is ANALYZE, CHECK, CHECKSUM, OPTIMIZE or REPAIR TABLE.
type TableMaintenance struct {
	At
	Action  string // ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR
	Local   bool   // LOCAL, NO_WRITE_TO_BINLOG
	Names   []ObjectName
	Options []string // FOR UPGRADE, QUICK, EXTENDED, … ; COMPUTE STATISTICS
	// ANALYZE's histogram and statistics clauses.
	Histogram string // "", UPDATE, DROP
	Columns   []Ident
	Spec      *PartitionSpec
}

// Flush is FLUSH ….
type Flush struct {
	At
	Local        bool
	What         []string // upper case: PRIVILEGES, TABLES, STATUS, LOGS, "BINARY LOGS", …
	Tables       []ObjectName
	WithReadLock bool
	ForExport    bool
}

// Do is DO expr, ….
type Do struct {
	At
	Exprs []Expr
}

// Handler, XA, HELP, CREATE PROCEDURE, … : Unsupported is a statement that is
// valid in the dialect and served by nobody. What names the construct:
// "CREATE TRIGGER".
type Unsupported struct {
	At
	What string
	Text string // source text of the statement
}

func (*Insert) statement()           {}
func (*Update) statement()           {}
func (*Delete) statement()           {}
func (*Merge) statement()            {}
func (*LoadData) statement()         {}
func (*SetVars) statement()          {}
func (*SetNames) statement()         {}
func (*SetCharset) statement()       {}
func (*SetTransaction) statement()   {}
func (*SetOption) statement()        {}
func (*ShowSettings) statement()     {}
func (*ResetOption) statement()      {}
func (*SetList) statement()          {}
func (*Show) statement()             {}
func (*Describe) statement()         {}
func (*Explain) statement()          {}
func (*Use) statement()              {}
func (*Begin) statement()            {}
func (*Commit) statement()           {}
func (*Rollback) statement()         {}
func (*Savepoint) statement()        {}
func (*ReleaseSavepoint) statement() {}
func (*Kill) statement()             {}
func (*Prepare) statement()          {}
func (*Execute) statement()          {}
func (*ExecuteImmediate) statement() {}
func (*Deallocate) statement()       {}
func (*Call) statement()             {}
func (*ExecutePipeline) statement()  {}
func (*PipelineControl) statement()  {}
func (*StatementSet) statement()     {}
func (*CreateUser) statement()       {}
func (*AlterUser) statement()        {}
func (*DropUser) statement()         {}
func (*RenameUser) statement()       {}
func (*CreateRole) statement()       {}
func (*DropRole) statement()         {}
func (*Grant) statement()            {}
func (*Revoke) statement()           {}
func (*SetPassword) statement()      {}
func (*SetRole) statement()          {}
func (*SetDefaultRole) statement()   {}
func (*LockTables) statement()       {}
func (*UnlockTables) statement()     {}
func (*TableMaintenance) statement() {}
func (*Flush) statement()            {}
func (*Do) statement()               {}
func (*Unsupported) statement()      {}
