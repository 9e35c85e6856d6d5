package metadata

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

func backquote(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func backquoteAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = backquote(s)
	}
	return strings.Join(out, ",")
}

// quote writes a string literal. MySQL escapes what would not survive.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(s) + "'"
}

// quoteFlink writes a string literal in Flink's spelling. Backslashes are written
// twice, for our parser, which reads the text back; Flink knows no escapes.
func quoteFlink(s string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}

// CreateTable returns the statement that makes the table again: MySQL's shape,
// with partitioning and options in a trailing comment that our parser reads
// back, or Flink's spelling (DESIGN §4).
func CreateTable(t catalog.Table, flink bool) (string, error) {
	if flink {
		return createFlink(t), nil
	}
	s := t.Schema()
	collation := TableCollation(s)
	var lines []string
	for i, c := range ColumnsOf(t) {
		f := s.Fields[i]
		b := "  " + backquote(c.Name) + " " + c.Type.Full
		// As MySQL: both where the collation is not the table's, the collation
		// alone where it is not its character set's default.
		switch text := c.Type.Collation; {
		case text == "":
		case text != collation:
			b += " CHARACTER SET " + c.Type.Charset + " COLLATE " + text
		case text != DefaultCollationOf(c.Type.Charset):
			b += " COLLATE " + text
		}
		blob := strings.HasSuffix(c.Type.Data, "text") || strings.HasSuffix(c.Type.Data, "blob")
		switch {
		case !c.Nullable:
			b += " NOT NULL"
		case c.Type.Data == "timestamp":
			b += " NULL"
		}
		switch {
		case f.Default != nil:
			b += " DEFAULT " + quote(*f.Default)
		case c.Nullable && !blob:
			b += " DEFAULT NULL"
		}
		if c.Comment != "" {
			b += " COMMENT " + quote(c.Comment)
		}
		lines = append(lines, b)
	}
	if len(s.PrimaryKeys) > 0 {
		lines = append(lines, "  PRIMARY KEY ("+backquoteAll(s.PrimaryKeys)+")")
	}
	engine := describe(t).Engine
	if engine == "" {
		engine = "MEMORY"
	}
	out := "CREATE TABLE " + backquote(t.ID().Object()) + " (\n" + strings.Join(lines, ",\n") + "\n) ENGINE=" + engine
	charset, _, _ := strings.Cut(collation, "_")
	out += " DEFAULT CHARSET=" + charset + " COLLATE=" + collation
	if s.Comment != "" {
		out += " COMMENT=" + quote(s.Comment)
	}
	if _, virtual := t.(*Table); virtual {
		return out, nil
	}
	var lake []string
	// Types that MySQL's spelling has no word for are told in Flink's.
	if names := Inexpressible(s); len(names) > 0 {
		var types []string
		for _, n := range names {
			types = append(types, backquote(n)+" "+s.Fields[s.Column(n)].Type.Nullable().String())
		}
		lake = append(lake, "TYPES ("+strings.Join(types, ", ")+")")
	}
	if len(s.PartitionKeys) > 0 {
		lake = append(lake, "PARTITIONED BY ("+strings.ReplaceAll(backquoteAll(s.PartitionKeys), ",", ", ")+")")
	}
	if opts := withOptions(s, ", "); opts != "" {
		lake = append(lake, "WITH ("+opts+")")
	}
	if len(lake) > 0 {
		text := strings.Join(lake, " ")
		if strings.Contains(text, "*/") {
			return "", errs.Unsupportedf(-1, "SHOW CREATE TABLE in MySQL's spelling of a table with */ in a name or option; SET lake_ddl_dialect = 'flink' first")
		}
		// On the options' line, where clients that read the text line by line look
		// for what they know and skip the rest.
		out += " /*T! " + text + " */"
	}
	return out, nil
}

// withOptions lists the table's options as WITH (…) has them, without those that
// follow from the columns' types.
func withOptions(s *catalog.Schema, sep string) string {
	var keys []string
	for k := range s.Options {
		if strings.HasPrefix(k, "mysql.type.") || k == "path" && s.Options["connector"] == "" { // a lake table's path follows from its name
			continue
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = quoteFlink(k) + " = " + quoteFlink(s.Options[k])
	}
	return strings.Join(out, sep)
}

func createFlink(t catalog.Table) string {
	s := t.Schema()
	var lines []string
	for _, f := range s.Fields {
		b := "  " + backquote(f.Name) + " " + f.Type.String()
		if f.Comment != "" {
			b += " COMMENT " + quoteFlink(f.Comment)
		}
		lines = append(lines, b)
	}
	if len(s.PrimaryKeys) > 0 {
		lines = append(lines, "  PRIMARY KEY ("+strings.ReplaceAll(backquoteAll(s.PrimaryKeys), ",", ", ")+") NOT ENFORCED")
	}
	out := "CREATE TABLE " + backquote(t.ID().Object()) + " (\n" + strings.Join(lines, ",\n") + "\n)"
	if s.Comment != "" {
		out += " COMMENT " + quoteFlink(s.Comment)
	}
	if len(s.PartitionKeys) > 0 {
		out += "\nPARTITIONED BY (" + strings.ReplaceAll(backquoteAll(s.PartitionKeys), ",", ", ") + ")"
	}
	opts := map[string]string{}
	for k, v := range s.Options {
		// Defaults have no place in Flink's column list.
		opts[k] = v
	}
	for _, f := range s.Fields {
		if f.Default != nil {
			opts["fields."+f.Name+".default-value"] = *f.Default
		}
	}
	if w := withOptions(&catalog.Schema{Options: opts}, ",\n  "); w != "" {
		out += "\nWITH (\n  " + w + "\n)"
	} else {
		out += "\nWITH ()"
	}
	return out
}

// ShowCreateTable is SHOW CREATE TABLE.
func ShowCreateTable(t catalog.Table, flink bool) (Listing, error) {
	text, err := CreateTable(t, flink)
	if err != nil {
		return Listing{}, err
	}
	l := list("Table|varchar(64)~!; Create Table|varchar("+strconv.Itoa(max(1024, len([]rune(text))))+")~!", Row{t.ID().Object(), text})
	l.LikeColumn = -1
	return l, nil
}

// ShowCreateDatabase is SHOW CREATE DATABASE.
func ShowCreateDatabase(database string, ifNotExists bool) Listing {
	what := ""
	if ifNotExists {
		what = "/*!32312 IF NOT EXISTS*/ "
	}
	c := DatabaseCollation(database)
	cs, _, _ := strings.Cut(c, "_")
	l := list("Database|varchar(64)~!; Create Database|varchar(1024)~!",
		Row{database, fmt.Sprintf("CREATE DATABASE %s%s /*!40100 DEFAULT CHARACTER SET %s COLLATE %s */ /*!80016 DEFAULT ENCRYPTION='N' */", what, backquote(database), cs, c)})
	l.LikeColumn = -1
	return l
}
