package metadata

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// The virtual databases.
const (
	InformationSchema = "information_schema"
	PerformanceSchema = "performance_schema"
	MySQLDatabase     = "mysql"
	SysDatabase       = "sys"
)

// VirtualDatabases are the databases that every catalog has, sorted.
var VirtualDatabases = []string{InformationSchema, MySQLDatabase, PerformanceSchema, SysDatabase}

// VirtualDatabase returns the spelling of a virtual database's name, given in
// any case, and whether it is one.
func VirtualDatabase(name string) (string, bool) {
	for _, v := range VirtualDatabases {
		if strings.EqualFold(v, name) {
			return v, true
		}
	}
	return "", false
}

//go:embed data/tables.txt
var tablesText string

// systemTables has the columns of all virtual tables: database, then name.
var systemTables = sync.OnceValue(func() map[string]map[string][]Field {
	out := map[string]map[string][]Field{SysDatabase: {
		"version": {NewField("sys_version", "varchar(5)", true), NewField("mysql_version", "varchar(64)", true)},
	}}
	for name, t := range lakeTables {
		out[SysDatabase][name] = t.fields
	}
	for name, t := range pipelineTables {
		out[SysDatabase][name] = t.fields
	}
	var db, table string
	for line := range strings.Lines(tablesText) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			f := strings.Split(rest, "\t")
			typ := f[1]
			// Names (…_bin) compare bytes, which lets filters on them be pushed
			// down; what else is text keeps MySQL's collation, since clients write
			// COLLATE utf8mb3_general_ci behind it.
			switch c := f[3]; {
			case c == CreateCollation:
				typ += " collate " + c
			case strings.HasSuffix(c, "_ci"):
				typ += " collate utf8mb3_general_ci"
			}
			x := NewField(f[0], typ, f[2] == "!")
			if len(f) > 4 {
				x.Key = f[4]
			}
			out[db][table] = append(out[db][table], x)
			continue
		}
		db, table, _ = strings.Cut(line, ".")
		if out[db] == nil {
			out[db] = map[string][]Field{}
		}
	}
	return out
})

// systemTableNames returns the names of a virtual database's tables, sorted.
func systemTableNames(db string) []string {
	var out []string
	for n := range systemTables()[db] {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// System is the catalog of the virtual databases as one session sees them.
type System struct{ src Source }

// NewSystem returns the virtual databases over a source.
func NewSystem(src Source) *System { return &System{src: src} }

var _ catalog.Catalog = (*System)(nil)

// Databases implements catalog.Catalog.
func (s *System) Databases(context.Context) ([]string, error) { return VirtualDatabases, nil }

// Tables implements catalog.Catalog.
func (s *System) Tables(_ context.Context, database string) ([]string, error) {
	db, ok := VirtualDatabase(database)
	if !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", database)
	}
	return systemTableNames(db), nil
}

// Table implements catalog.Catalog. Names are found in any case.
func (s *System) Table(_ context.Context, id catalog.Identifier) (catalog.Table, error) {
	db, ok := VirtualDatabase(id.Database)
	if !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", id.Database)
	}
	for name, fields := range systemTables()[db] {
		if !strings.EqualFold(name, id.Object()) {
			continue
		}
		rows := producers[db+"."+name]
		if t, ok := lakeTables[name]; ok && db == SysDatabase {
			rows = t.of(id.Catalog)
		}
		if _, ok := pipelineTables[name]; ok && db == SysDatabase {
			rows = pipelineRows(name)
		}
		if rows == nil {
			rows = noRows
		}
		return NewTable(catalog.Identifier{Catalog: id.Catalog, Database: db, Table: name}, fields, s.src, rows), nil
	}
	if db == InformationSchema {
		return nil, errs.Userf(errs.UnknownTable, "Unknown table '%s' in information_schema", strings.ToUpper(id.Object()))
	}
	return nil, errs.Userf(errs.UnknownTable, "Table '%s.%s' doesn't exist", db, id.Object())
}

// NewTable makes a virtual table of its fields and what makes its rows.
func NewTable(id catalog.Identifier, fields []Field, src Source, rows producer) *Table {
	s := SchemaOf(fields, "")
	for _, f := range fields {
		if f.Key == "PRI" {
			s.PrimaryKeys = append(s.PrimaryKeys, f.Name)
		}
	}
	return &Table{id: id, schema: s, fields: fields, src: src, rows: rows}
}

func noRows(context.Context, Source, wanted, func(Row) error) error { return nil }

// producers make the rows of the virtual tables that have some.
var producers map[string]producer

func init() {
	producers = map[string]producer{
		"information_schema.SCHEMATA":                              schemataRows,
		"information_schema.SCHEMATA_EXTENSIONS":                   schemataExtensionRows,
		"information_schema.TABLES":                                tablesRows,
		"information_schema.COLUMNS":                               columnsRows,
		"information_schema.VIEWS":                                 viewsRows,
		"information_schema.STATISTICS":                            statisticsRows,
		"information_schema.KEY_COLUMN_USAGE":                      keyColumnUsageRows,
		"information_schema.TABLE_CONSTRAINTS":                     tableConstraintsRows,
		"information_schema.PARTITIONS":                            partitionsRows,
		"information_schema.CHARACTER_SETS":                        charsetRows,
		"information_schema.COLLATIONS":                            collationRows,
		"information_schema.COLLATION_CHARACTER_SET_APPLICABILITY": applicabilityRows,
		"information_schema.ENGINES":                               fixed(engines),
		"information_schema.PLUGINS":                               pluginRows,
		"information_schema.KEYWORDS":                              keywordRows,
		"information_schema.PROCESSLIST":                           processlistRows,
		"information_schema.USER_PRIVILEGES":                       userPrivilegeRows,
		"information_schema.SCHEMA_PRIVILEGES":                     schemaPrivilegeRows,
		"information_schema.TABLE_PRIVILEGES":                      tablePrivilegeRows,
		"information_schema.USER_ATTRIBUTES":                       userAttributeRows,
		"performance_schema.session_variables":                     variableRows(SessionScope),
		"performance_schema.global_variables":                      variableRows(GlobalScope),
		"performance_schema.session_status":                        statusRows(SessionScope),
		"performance_schema.global_status":                         statusRows(GlobalScope),
		"performance_schema.processlist":                           psProcesslistRows,
		"performance_schema.session_connect_attrs":                 connectAttributeRows,
		"performance_schema.session_account_connect_attrs":         connectAttributeRows,
		"mysql.user":  mysqlUserRows,
		"sys.version": sysVersionRows,
	}
}
