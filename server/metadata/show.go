package metadata

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// Listing is what a SHOW statement gives, before LIKE and WHERE.
type Listing struct {
	Fields []Field
	Rows   []Row
	// LikeColumn is the column that LIKE is about, -1 for none; LikeExact tells
	// that it minds case.
	LikeColumn int
	LikeExact  bool
	// Table is the system table that the columns are shown of, "" for none.
	Table string
}

// Like keeps the rows whose LikeColumn matches a LIKE pattern, or does not with
// not.
func (l *Listing) Like(pattern string, not bool) {
	if l.LikeColumn < 0 {
		return
	}
	l.Rows = slices.DeleteFunc(l.Rows, func(r Row) bool {
		s, _ := r[l.LikeColumn].(string)
		return Like(s, pattern, l.LikeExact) == not
	})
}

// Like reports whether s matches a LIKE pattern with the escape character \.
// Without exact, case does not matter.
func Like(s, pattern string, exact bool) bool {
	if !exact {
		s, pattern = strings.ToLower(s), strings.ToLower(pattern)
	}
	text, pat := []rune(s), []rune(pattern)
	// The usual two-pointer match: on a mismatch go back to the last % and let
	// it take one character more.
	i, j, star, mark := 0, 0, -1, 0
	for i < len(text) {
		switch {
		case j < len(pat) && pat[j] == '%':
			star, mark = j, i
			j++
			continue
		case j < len(pat) && pat[j] == '\\' && j+1 < len(pat):
			if pat[j+1] == text[i] {
				i, j = i+1, j+2
				continue
			}
		case j < len(pat) && (pat[j] == '_' || pat[j] == text[i]):
			i, j = i+1, j+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = mark, star+1
	}
	for j < len(pat) && pat[j] == '%' {
		j++
	}
	return j == len(pat)
}

// list makes a listing from a spec of ParseFields.
func list(spec string, rows ...Row) Listing {
	return Listing{Fields: ParseFields(spec), Rows: rows}
}

// ShowDatabases lists the visible databases. like is the pattern for the
// column's name, "" for none.
func ShowDatabases(ctx context.Context, src Source, like string) (Listing, error) {
	dbs, err := src.Databases(ctx)
	if err != nil {
		return Listing{}, err
	}
	l := list("Database|varchar(64)!")
	l.LikeExact = true
	if like != "" {
		l.Fields[0].Name += " (" + like + ")"
	}
	for _, d := range dbs {
		l.Rows = append(l.Rows, Row{d})
	}
	return l, nil
}

// ShowTables lists a database's tables.
func ShowTables(ctx context.Context, src Source, database string, full bool, like string) (Listing, error) {
	names, err := src.Tables(ctx, database)
	if err != nil {
		return Listing{}, err
	}
	spec := "x|varchar(64)!"
	if full {
		spec += "; Table_type|enum('BASE TABLE','VIEW','SYSTEM VIEW')!"
	}
	l := list(spec)
	l.LikeExact = true
	l.Fields[0].Name = "Tables_in_" + database
	if like != "" {
		l.Fields[0].Name += " (" + like + ")"
	}
	kind := "BASE TABLE"
	if db, ok := VirtualDatabase(database); ok && db == InformationSchema {
		kind = "SYSTEM VIEW"
	}
	var views []string
	if full {
		if views, err = src.Views(ctx, database); err != nil {
			return Listing{}, err
		}
	}
	for _, n := range names {
		if full && slices.Contains(views, n) {
			l.Rows = append(l.Rows, Row{n, "VIEW"})
		} else if full {
			l.Rows = append(l.Rows, Row{n, kind})
		} else {
			l.Rows = append(l.Rows, Row{n})
		}
	}
	return l, nil
}

// ShowViews lists a database's views, as Flink's SHOW VIEWS does.
func ShowViews(ctx context.Context, src Source, database string) (Listing, error) {
	l := list("view name|varchar(64)!")
	names, err := src.Views(ctx, database)
	for _, n := range names {
		l.Rows = append(l.Rows, Row{n})
	}
	return l, err
}

// ShowColumns describes a table's columns.
func ShowColumns(src Source, database string, t catalog.Table, full bool) Listing {
	spec := "Field|varchar(64)~; Type|mediumtext!; Null|varchar(3)!; Key|enum('','PRI','UNI','MUL')!; Default|text; Extra|varchar(256)~"
	if full {
		spec = "Field|varchar(64)~; Type|mediumtext!; Collation|varchar(64)~; Null|varchar(3)~!; Key|enum('','PRI','UNI','MUL')!; Default|text; " +
			"Extra|varchar(256)~; Privileges|varchar(154)~; Comment|text!"
	}
	l := list(spec)
	rights := ""
	if full {
		rights = columnPrivileges(src, database, t.ID().Object())
	}
	for _, c := range ColumnsOf(t) {
		if full {
			l.Rows = append(l.Rows, Row{c.Name, c.Type.Full, orNil(c.Type.Collation), yesNo(c.Nullable), c.Key, c.Default, c.Extra, rights, c.Comment})
		} else {
			l.Rows = append(l.Rows, Row{c.Name, c.Type.Full, yesNo(c.Nullable), c.Key, c.Default, c.Extra})
		}
	}
	return l
}

// ShowIndex describes a table's keys: the primary one.
func ShowIndex(t catalog.Table) Listing {
	l := list("Table|varchar(64)!; Non_unique|int!; Key_name|varchar(64)~; Seq_in_index|int unsigned!; Column_name|varchar(64)~; Collation|varchar(1); " +
		"Cardinality|bigint; Sub_part|bigint; Packed|varbinary(1); Null|varchar(3)~!; Index_type|varchar(11)!; Comment|varchar(8)~!; " +
		"Index_comment|varchar(2048)!; Visible|varchar(3)~!; Expression|longtext")
	l.LikeColumn = -1
	if _, virtual := t.(*Table); virtual {
		return l
	}
	for i, k := range t.Schema().PrimaryKeys {
		l.Rows = append(l.Rows, Row{t.ID().Object(), int64(0), "PRIMARY", int64(i + 1), k, "A", nil, nil, nil, "", "BTREE", "", "", "YES", nil})
	}
	return l
}

// ShowTableStatus describes the tables of a database. Rows are counted, which
// may need I/O, unless keep leaves the table out.
func ShowTableStatus(ctx context.Context, src Source, database string, keep func(table string) bool) (Listing, error) {
	l := list("Name|varchar(64)!; Engine|varchar(64)~; Version|int; Row_format|enum('Fixed','Dynamic','Compressed','Redundant','Compact','Paged'); " +
		"Rows|bigint unsigned; Avg_row_length|bigint unsigned; Data_length|bigint unsigned; Max_data_length|bigint unsigned; " +
		"Index_length|bigint unsigned; Data_free|bigint unsigned; Auto_increment|bigint unsigned; Create_time|timestamp!; Update_time|datetime; " +
		"Check_time|datetime; Collation|varchar(64)~; Checksum|bigint; Create_options|varchar(256)~; Comment|text~")
	l.LikeExact = true
	names, err := src.Tables(ctx, database)
	if err != nil {
		return l, err
	}
	for _, n := range names {
		if !keep(n) {
			continue
		}
		t, err := src.Table(ctx, database, n)
		var st TableStatus
		if err == nil {
			st, err = StatusOf(ctx, t, true)
		}
		if err != nil {
			if errs.Is(err, errs.UnknownTable) {
				continue
			}
			if ctx.Err() != nil {
				return l, err
			}
			src.Warn(err)
			st.Comment = err.Error()
		}
		created := st.Created
		if created == nil {
			created = time.Unix(0, 0)
		}
		if st.View {
			l.Rows = append(l.Rows, Row{n, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, created, nil, nil, nil, nil, nil, st.Comment})
			continue
		}
		l.Rows = append(l.Rows, Row{n, orNil(st.Engine), int64(10), orNil(st.RowFormat), st.Rows, nil, nil, nil, nil, nil, nil, created, nil, nil,
			st.Collation, nil, st.Options, st.Comment})
	}
	return l, nil
}

const nameValue = "Variable_name|varchar(64)~!; Value|varchar(1024)~"

// ShowVariables lists system variables.
func ShowVariables(src Source, scope VariableScope) Listing {
	l := list(nameValue)
	for _, v := range src.Variables(scope) {
		l.Rows = append(l.Rows, Row{v.Name, v.Value})
	}
	return l
}

// ShowStatus lists status counters.
func ShowStatus(src Source, scope VariableScope) Listing {
	l := list(nameValue)
	for _, v := range src.Status(scope) {
		l.Rows = append(l.Rows, Row{v.Name, v.Value})
	}
	return l
}

// ShowCollation lists collations.
func ShowCollation() Listing {
	l := list("Collation|varchar(64)~!; Charset|varchar(64)~!; Id|bigint unsigned!; Default|varchar(3)~!; Compiled|varchar(3)~!; Sortlen|int unsigned!; " +
		"Pad_attribute|enum('PAD SPACE','NO PAD')!")
	l.Rows = collations()
	return l
}

// ShowCharset lists character sets.
func ShowCharset() Listing {
	l := list("Charset|varchar(64)~!; Description|varchar(2048)~!; Default collation|varchar(64)~!; Maxlen|int unsigned!")
	for _, c := range Charsets() {
		l.Rows = append(l.Rows, Row{c.Name, c.Description, c.DefaultCollation, int64(c.MaxLen)})
	}
	return l
}

// ShowEngines lists storage engines.
func ShowEngines() Listing {
	l := list("Engine|varchar(64)~!; Support|varchar(8)~!; Comment|varchar(80)~!; Transactions|varchar(3)~; XA|varchar(3)~; Savepoints|varchar(3)~")
	l.Rows = slices.Clone(engines)
	return l
}

// ShowPlugins lists plugins.
func ShowPlugins() Listing {
	return list("Name|varchar(64)~!; Status|varchar(10)~!; Type|varchar(80)~!; Library|varchar(64)~; License|varchar(80)~",
		Row{"mysql_native_password", "ACTIVE", "AUTHENTICATION", nil, "Apache-2.0"},
		Row{"caching_sha2_password", "ACTIVE", "AUTHENTICATION", nil, "Apache-2.0"})
}

// ShowPrivileges lists the privileges that exist.
func ShowPrivileges() Listing {
	l := list("Privilege|varchar(10)~!; Context|varchar(15)~!; Comment|varchar(64)~!")
	l.Rows = []Row{
		{"Alter", "Tables", "Change the definition of tables"},
		{"Create", "Databases,Tables,Indexes", "Make databases and tables"},
		{"Create role", "Server Admin", "Make roles"},
		{"Create temporary tables", "Databases", "Use CREATE TEMPORARY TABLE"},
		{"Create view", "Tables", "Make views"},
		{"Create user", "Server Admin", "Make accounts"},
		{"Delete", "Tables", "Delete rows"},
		{"Drop", "Databases,Tables", "Drop databases, tables and views"},
		{"Drop role", "Server Admin", "Drop roles"},
		{"Execute", "Functions,Procedures", "Run procedures"},
		{"File", "File access on server", "Read files as tables"},
		{"Grant option", "Databases,Tables,Functions,Procedures", "Give own rights to others"},
		{"Index", "Tables", "Make or drop indexes"},
		{"Insert", "Tables", "Insert rows"},
		{"Lock tables", "Databases", "Use LOCK TABLES"},
		{"Process", "Server Admin", "See the statements of others"},
		{"References", "Databases,Tables", "Refer to tables"},
		{"Reload", "Server Admin", "Use FLUSH"},
		{"Select", "Tables", "Read rows"},
		{"Show databases", "Server Admin", "See all databases"},
		{"Show view", "Tables", "See the definition of views"},
		{"Super", "Server Admin", "Set global variables, kill others' statements"},
		{"Update", "Tables", "Change rows"},
		{"Usage", "Server Admin", "No rights: only log in"},
	}
	l.LikeColumn = -1
	return l
}

// ShowProcesslist lists sessions; full shows whole statements.
func ShowProcesslist(src Source, full bool) Listing {
	l := list("Id|bigint!; User|varchar(32)~!; Host|varchar(255)~!; db|varchar(64)~; Command|varchar(16)~!; Time|int!; State|varchar(30)~; Info|varchar(100)~")
	if full {
		l.Fields[7] = NewField("Info", "longtext collate "+CreateCollation, false)
	}
	for _, p := range src.Processes() {
		info := p.Info
		if r := []rune(info); !full && len(r) > 100 {
			info = string(r[:100])
		}
		l.Rows = append(l.Rows, Row{int64(p.ID), p.User, p.Host, orNil(p.Database), p.Command, p.Seconds, p.State, orNil(info)})
	}
	l.LikeColumn = -1
	return l
}

// ShowGrants lists an account's GRANT statements.
func ShowGrants(a Accounts, who Identity) (Listing, error) {
	grants, err := a.Grants(who)
	if err != nil {
		return Listing{}, err
	}
	l := list("x|varchar(1024)~!")
	l.Fields[0].Name = "Grants for " + who.String()
	for _, g := range grants {
		l.Rows = append(l.Rows, Row{g})
	}
	l.LikeColumn = -1
	return l, nil
}

// ShowOpenTables lists tables in use; there is no table cache to speak of.
func ShowOpenTables() Listing {
	return list("Database|varchar(64)~!; Table|varchar(64)~!; In_use|bigint!; Name_locked|bigint!")
}

// empty listings: objects that a lake has not.
var emptyListings = map[string]string{
	"TRIGGERS": "Trigger|varchar(64)!; Event|enum('INSERT','UPDATE','DELETE')!; Table|varchar(64)!; Statement|longtext!; Timing|enum('BEFORE','AFTER')!; " +
		"Created|timestamp(2); sql_mode|varchar(546)!; Definer|varchar(288)!; character_set_client|varchar(64)~!; collation_connection|varchar(64)~!; Database Collation|varchar(64)~!",
	"EVENTS": "Db|varchar(64)!; Name|varchar(64)~!; Definer|varchar(288)!; Time zone|varchar(64)!; Type|varchar(9)!; Execute at|datetime; Interval value|varchar(256); " +
		"Interval field|varchar(18); Starts|datetime; Ends|datetime; Status|varchar(21)!; Originator|int unsigned!; character_set_client|varchar(64)~!; " +
		"collation_connection|varchar(64)~!; Database Collation|varchar(64)~!",
	"ROUTINE STATUS": "Db|varchar(64)!; Name|varchar(64)~!; Type|enum('FUNCTION','PROCEDURE')!; Language|varchar(64)~!; Definer|varchar(288)!; Modified|timestamp!; " +
		"Created|timestamp!; Security_type|enum('DEFAULT','INVOKER','DEFINER')!; Comment|text!; character_set_client|varchar(64)~!; collation_connection|varchar(64)~!; Database Collation|varchar(64)~!",
	"PROFILES":          "Query_ID|int unsigned!; Duration|double!; Query|varchar(40)~!",
	"PROFILE":           "Status|varchar(30)~!; Duration|decimal(9,6)!",
	"BINARY LOG STATUS": "File|varchar(512)~!; Position|bigint unsigned!; Binlog_Do_DB|varchar(255)~!; Binlog_Ignore_DB|varchar(255)~!; Executed_Gtid_Set|varchar(41)~!",
	"REPLICAS":          "Server_Id|int unsigned!; Host|varchar(255)~!; Port|int unsigned!; Source_Id|int unsigned!; Replica_UUID|varchar(36)~!",
	"REPLICA STATUS": "Replica_IO_State|varchar(14)~!; Source_Host|varchar(256)~!; Source_User|varchar(97)~!; Source_Port|int unsigned!; Replica_IO_Running|varchar(3)~!; " +
		"Replica_SQL_Running|varchar(3)~!; Last_Errno|int!; Last_Error|varchar(20)~!; Seconds_Behind_Source|bigint!; Channel_Name|varchar(192)~!",
	"MATERIALIZED TABLES": "materialized table name|varchar(64)!",
}

// ShowNone is the listing of a kind of object of which there is none; false
// when the kind is not known.
func ShowNone(kind string) (Listing, bool) {
	spec, ok := emptyListings[kind]
	if !ok {
		return Listing{}, false
	}
	l := list(spec)
	// The long lists of labels are those of the information_schema.
	as := func(i int, table, column string) {
		for _, f := range systemTables()[InformationSchema][table] {
			if f.Name == column {
				l.Fields[i] = NewField(l.Fields[i].Name, f.MySQL, l.Fields[i].NotNull)
			}
		}
	}
	switch kind {
	case "ROUTINE STATUS":
		l.LikeColumn = 1
	case "EVENTS":
		l.LikeColumn = 1
		as(7, "EVENTS", "INTERVAL_FIELD")
	case "TRIGGERS":
		l.LikeColumn = 2 // of the table
		as(6, "TRIGGERS", "SQL_MODE")
	}
	return l, true
}
