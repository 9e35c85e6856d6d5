package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

// lakePort starts the port over a Paimon warehouse in a folder and, as catalog
// mem, tables in memory.
func lakePort(t *testing.T) (addr string) {
	t.Helper()
	files := fileio.NewMux(fileio.Local{})
	c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: t.TempDir(),
		Driver: paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}, avro.Format{})})})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := session.NewServer(session.Config{ErrorCode: ErrorCode, Log: slog.New(slog.DiscardHandler), Catalogs: []session.NamedCatalog{
		{Name: "paimon", Catalog: c}, {Name: "mem", Catalog: memory.NewCatalog(nil, "d")}}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, addr = start(t, func(c *Config) { c.Sessions, c.Accounts = sessions{srv}, metadata.RootOnly{} })
	return addr
}

// peer is one of the servers that run the same script.
type peer struct {
	name   string
	db     *sql.DB
	tables map[string]string // names of the script's tables
}

// outcome is what a statement did: rows affected and warnings, or an error.
type outcome struct {
	affected int64
	code     uint16
	warnings string
	text     string
}

func (p *peer) exec(q string) outcome {
	for k, v := range p.tables {
		q = strings.ReplaceAll(q, "{"+k+"}", v)
	}
	res, err := p.db.Exec(q)
	var me *driver.MySQLError
	if errors.As(err, &me) {
		return outcome{code: me.Number, text: me.Message}
	}
	if err != nil {
		return outcome{code: 1, text: err.Error()}
	}
	n, _ := res.RowsAffected()
	o := outcome{affected: n}
	seen := map[string]bool{"1287": true} // VALUES() is deprecated
	var codes []string
	rows, err := p.db.Query("SHOW WARNINGS")
	if err != nil {
		return outcome{code: 2, text: err.Error()}
	}
	defer rows.Close()
	for rows.Next() {
		var level, code, text string
		if err := rows.Scan(&level, &code, &text); err != nil {
			return outcome{code: 3, text: err.Error()}
		}
		if level != "Note" && !seen[code] {
			seen[code] = true
			codes = append(codes, code)
		}
	}
	o.warnings = strings.Join(sortedStrings(codes), " ")
	return o
}

func (p *peer) rows(t *testing.T, table string) string {
	t.Helper()
	rows, err := p.db.Query("SELECT * FROM " + p.tables[table])
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		cells := make([]sql.NullString, len(cols))
		at := make([]any, len(cols))
		for i := range cells {
			at[i] = &cells[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		var sb strings.Builder
		for _, c := range cells {
			if !c.Valid {
				c.String = "NULL"
			}
			sb.WriteString(c.String + "|")
		}
		lines = append(lines, sb.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return strings.Join(sortedStrings(lines), "\n")
}

func sortedStrings(s []string) []string {
	for i := 1; i < len(s); i++ {
		for k := i; k > 0 && s[k] < s[k-1]; k-- {
			s[k], s[k-1] = s[k-1], s[k]
		}
	}
	return s
}

// oracle is a MySQL where THERMOCLINE_MYSQL_DSN names one, else a MariaDB.
func oracle(t *testing.T, params string) (dsn string, mysql bool) {
	if dsn := os.Getenv("THERMOCLINE_MYSQL_DSN"); dsn != "" {
		head, _, _ := strings.Cut(dsn, "?")
		return head[:strings.LastIndexByte(head, '/')+1] + "?" + params, true
	}
	s := testkit.MariaDB(t)
	return fmt.Sprintf("%s:%s@tcp(%s)/?%s", mariadb.User, mariadb.Password, s.Addr(), params), false
}

// script makes random statements.
type script struct {
	r     *rand.Rand
	mysql bool
	rest  string // of ORDER BY, so that rows without a key have one order, too
	lax   bool   // sql_mode is not strict
	loose bool   // or the statement ignores errors
}

func (s *script) of(list ...string) string { return list[s.r.IntN(len(list))] }

func (s *script) id() string { return strconv.Itoa(s.r.IntN(14)) }

// value is an expression for a column, constant or not.
func (s *script) value(col string, constant bool) string {
	if s.r.IntN(12) == 0 {
		return "DEFAULT"
	}
	if s.r.IntN(15) == 0 {
		return "NULL"
	}
	switch col {
	case "id":
		if constant || s.r.IntN(3) == 0 {
			return s.id()
		}
		return s.of("id + 1", "id - 1", "id + 20", "id * 2", "14 - id", "id", "a")
	case "a":
		if constant {
			return s.of("0", "1", "-7", "2147483647", "2147483648", "'12'", "'x1'", "'3x'", "1.5", "1/0", "7 % 0", "TRUE")
		}
		return s.of("a", "a + 1", "a * 1000", "id", "id * 10 + a", "a / 2", "LENGTH(b)", "NULL", "IF(a > 3, 0, a + 2)", "a * 300000000", "b")
	case "b":
		if constant {
			return s.of("''", "'x'", "'abc'", "'abcdef'", "'abcdefg'", "'abc   '", "12", "1.25", "CONCAT('a', 'b')")
		}
		return s.of("b", "CONCAT(b, 'z')", "a", "LEFT(b, 2)", "UPPER(b)", "REPEAT(b, 2)", "c", "id")
	case "c":
		if constant {
			return s.of("0", "1.005", "-2.345", "9999.99", "9999.995", "'1.239'", "'q'", "1e2")
		}
		return s.of("c", "c + 0.005", "c * 3", "a", "-c", "id / 3", "c * 1000")
	case "d":
		if constant {
			if s.loose {
				return s.of("'2024-02-29 10:00:00'", "20240102") // what is no date becomes 0000-00-00 in MySQL
			}
			return s.of("'2024-02-29 10:00:00'", "'2023-02-29'", "'2024-01-01 00:00:00.6'", "20240102", "'nope'", "TIMESTAMP '2020-01-01 00:00:01'")
		}
		return s.of("d", "d + INTERVAL 1 DAY", "'2024-02-29'", "DATE(d)", "d - INTERVAL 1 MONTH")
	}
	if constant {
		return s.of("0", "5", "18446744073709551615", "-1", "'9'", "1.5")
	}
	return s.of("e", "e + 1", "e - 1", "id", "a", "e * 2")
}

var scriptColumns = []string{"id", "a", "b", "c", "d", "e"}

func (s *script) where() string {
	return s.of("", "", " WHERE id = "+s.id(), " WHERE id > "+s.id(), " WHERE id IN ("+s.id()+", "+s.id()+", "+s.id()+")", " WHERE a IS NULL", " WHERE a > 1",
		" WHERE b = 'x'", " WHERE id % 3 = 1", " WHERE c < 5 OR d IS NOT NULL", " WHERE id IN (SELECT t FROM {u})", " WHERE EXISTS (SELECT 1 FROM {u} WHERE {u}.t = {t}.id AND v > 1)")
}

func (s *script) tail() string {
	if s.r.IntN(4) > 0 {
		return ""
	}
	return s.of(" ORDER BY id"+s.rest+" LIMIT 2", " ORDER BY id DESC"+s.rest+" LIMIT 3", " ORDER BY id DESC", " ORDER BY a, b, id"+s.rest+" LIMIT 1")
}

func (s *script) sets(n int) string {
	var out []string
	for range n {
		c := scriptColumns[s.r.IntN(len(scriptColumns))]
		if c == "id" && s.r.IntN(3) > 0 {
			c = "a"
		}
		out = append(out, c+" = "+s.value(c, s.r.IntN(3) == 0))
	}
	return strings.Join(out, ", ")
}

func (s *script) rows(n int) string {
	cols := scriptColumns
	if s.r.IntN(4) == 0 {
		cols = []string{"id", "b", "a"}
	}
	var rows []string
	for range n {
		var row []string
		for _, c := range cols {
			row = append(row, s.value(c, true))
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	return " INTO {t} (" + strings.Join(cols, ", ") + ") VALUES " + strings.Join(rows, ", ")
}

func (s *script) ignore() string {
	if s.r.IntN(6) == 0 {
		return " IGNORE"
	}
	return ""
}

func (s *script) statement() string {
	s.loose = s.lax
	switch s.r.IntN(20) {
	case 0, 1, 2:
		ignore := s.ignore()
		s.loose = s.lax || ignore != ""
		return "INSERT" + ignore + s.rows(1+s.r.IntN(4))
	case 3:
		return "REPLACE" + s.rows(1+s.r.IntN(4))
	case 4, 5:
		set := s.of("a = VALUES(a)", "a = COALESCE(a, 0) + 1, b = a", "c = c + VALUES(c), e = e + 1", "b = VALUES(b), d = DEFAULT", "a = (SELECT MAX(v) FROM {u})", "a = NULL, e = a", "id = id")
		if s.mysql && s.r.IntN(3) == 0 {
			return "INSERT" + s.rows(1+s.r.IntN(3)) + " AS n ON DUPLICATE KEY UPDATE a = n.a + n.id, b = n.b"
		}
		return "INSERT" + s.rows(1+s.r.IntN(4)) + " ON DUPLICATE KEY UPDATE " + set
	case 6:
		return s.of("INSERT", "INSERT", "INSERT IGNORE", "REPLACE") + " INTO {t} (id, a, b, e) SELECT id + " + s.id() + ", a, b, e FROM {t}" + s.where()
	case 7:
		return "INSERT INTO {t} SET id = " + s.id() + ", b = " + s.value("b", true)
	case 8:
		return "INSERT INTO {t} (id, e) SELECT t, v FROM {u} ON DUPLICATE KEY UPDATE e = e + VALUES(e)"
	case 9, 10, 11, 12, 13:
		ignore := s.ignore()
		s.loose = s.lax || ignore != ""
		where, n := s.where(), 1+s.r.IntN(3)
		if strings.Contains(where, "SELECT") {
			n = 1 // MySQL may make it a join, and then assignments read old values
		}
		return "UPDATE" + ignore + " {t} SET " + s.sets(n) + where + s.tail()
	case 14:
		return s.of("UPDATE {t} JOIN {u} ON {u}.t = {t}.id SET a = 7, e = 3"+s.of("", " WHERE v > 1"), "UPDATE {t}, {u} SET {t}.a = 1, {u}.v = {u}.v + 1 WHERE {u}.t = {t}.id",
			"UPDATE {t} LEFT JOIN {u} ON {u}.t = {t}.id SET b = 'none' WHERE {u}.id IS NULL", "UPDATE {u} SET v = (SELECT COUNT(*) FROM {t} WHERE {t}.id > {u}.t)")
	case 15:
		return s.of("DELETE {t} FROM {t} JOIN {u} ON {u}.t = {t}.id WHERE v = 2", "DELETE FROM {u} WHERE t > "+s.id(), "DELETE {t}, {u} FROM {t} JOIN {u} ON {u}.t = {t}.id WHERE {t}.id = "+s.id(),
			"DELETE FROM {t} USING {t} LEFT JOIN {u} ON {u}.t = {t}.id WHERE {u}.id IS NULL AND {t}.id > 10")
	case 16, 17:
		return "DELETE FROM {t}" + s.of(" WHERE id = "+s.id(), " WHERE id > 1"+s.id(), " WHERE a IS NULL AND id > 5", " WHERE id = "+s.id()+" ORDER BY id"+s.rest+" LIMIT 1", " ORDER BY id"+s.rest+" LIMIT 1")
	case 18:
		return "INSERT INTO {u} VALUES (" + strconv.Itoa(s.r.IntN(1000)+100) + ", " + s.id() + ", " + strconv.Itoa(s.r.IntN(4)) + ")"
	}
	if s.lax = s.r.IntN(4) == 0; s.lax {
		return "SET sql_mode = '{round}'"
	}
	return strictMode
}

const strictMode = "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,{round}'"

// TestChangesLikeMySQL runs random statements that change rows here and in a
// MySQL or MariaDB, and compares rows, rows affected, warnings and errors after
// each. THERMOCLINE_DML_SCRIPTS sets the number of scripts, THERMOCLINE_DML_SEED
// the first one's seed.
func TestChangesLikeMySQL(t *testing.T) {
	scripts, seed := 4, uint64(1)
	if testing.Short() {
		scripts = 1
	}
	if n, err := strconv.Atoi(os.Getenv("THERMOCLINE_DML_SCRIPTS")); err == nil {
		scripts = n
	}
	if n, err := strconv.ParseUint(os.Getenv("THERMOCLINE_DML_SEED"), 10, 64); err == nil {
		seed = n
	}
	addr := lakePort(t)
	for n := range scripts {
		found := n%4 == 3
		params := "clientFoundRows=" + strconv.FormatBool(found)
		dsnOracle, real := oracle(t, params)
		runScript(t, seed+uint64(n), n%3 < 2, real, dsnOracle, strings.Replace(dsn("root", "", addr, params), "/shop?", "/?", 1))
	}
}

// several reports whether a statement failed on both sides with errors that may
// both be right: which of several faults is told depends on the order of rows,
// and here all expressions of a batch are computed before any is stored.
func several(a, b uint16, keyed bool, q string) bool {
	if a == b || a == 0 || b == 0 {
		return false
	}
	return a == 1364 || b == 1364 || a == 1365 || b == 1365 || !keyed && strings.HasPrefix(q, "UPDATE")
}

func runScript(t *testing.T, seed uint64, keyed, real bool, oracleDSN, ownDSN string) {
	t.Helper()
	db := "dml" + strconv.FormatUint(seed, 10)
	key := ""
	if keyed {
		key = ", PRIMARY KEY (id)"
	}
	cols := "(id INT NOT NULL" + key + ", a INT, b VARCHAR(6) COLLATE utf8mb4_bin DEFAULT 'dflt', c DECIMAL(6,2), d DATETIME NULL, e BIGINT UNSIGNED NOT NULL)"
	if !real {
		cols = strings.Replace(cols, "e BIGINT UNSIGNED NOT NULL", "e BIGINT UNSIGNED NOT NULL DEFAULT 0", 1) // when it must be given differs
	}
	ucols := "(id INT NOT NULL PRIMARY KEY, t INT, v INT)"
	var peers []*peer
	add := func(name, dsn string, tables map[string]string, setup ...string) {
		p := &peer{name: name, db: open(t, dsn), tables: tables}
		p.db.SetMaxOpenConns(1)
		for _, q := range setup {
			if _, err := p.db.Exec(q); err != nil {
				t.Fatalf("%s: %s: %v", name, q, err)
			}
		}
		peers = append(peers, p)
	}
	round := ""
	if !real {
		round = "TIME_ROUND_FRACTIONAL" // MySQL rounds, MariaDB cuts unless told
	}
	add("oracle", oracleDSN, map[string]string{"t": db + ".t", "u": db + ".u", "round": round}, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".t "+cols, "CREATE TABLE "+db+".u "+ucols)
	defer func() { _, _ = peers[0].db.Exec("DROP DATABASE " + db) }()
	add("memory", ownDSN, map[string]string{"t": "mem." + db + ".t", "u": "mem." + db + ".u", "round": ""}, "SET lake_insert = 'strict'", "CREATE DATABASE mem."+db, "CREATE TABLE mem."+db+".t "+cols, "CREATE TABLE mem."+db+".u "+ucols)
	bucket := " /*T! WITH ('bucket' = '2') */"
	plain := ""
	if keyed && seed%2 == 1 {
		plain = bucket // else the table's default: buckets by a hash index
	}
	add("paimon", ownDSN, map[string]string{"t": db + ".t", "u": db + ".u", "round": ""}, "SET lake_insert = 'strict'", "CREATE DATABASE "+db, "CREATE TABLE "+db+".t "+cols+plain, "CREATE TABLE "+db+".u "+ucols+bucket)
	s := &script{r: rand.New(rand.NewPCG(seed, 7)), mysql: real}
	if !keyed {
		s.rest = ", a, b, c, d, e"
	}
	for _, p := range peers {
		p.exec(strictMode)
	}
	var log []string
	for range 90 {
		q := s.statement()
		log = append(log, q)
		before := peers[0].rows(t, "t")
		want := peers[0].exec(q)
		for _, p := range peers[1:] {
			got := p.exec(q)
			if !real && strings.HasPrefix(q, "UPDATE IGNORE") {
				got.warnings = want.warnings // MariaDB is silent about keys that it leaves
			}
			if several(got.code, want.code, keyed, q) {
				got.code = want.code
			}
			if got.code != want.code || got.affected != want.affected || got.warnings != want.warnings {
				t.Errorf("seed %d, keyed %v: %s\n%s: %d affected, error %d %s, warnings %s\noracle: %d affected, error %d %s, warnings %s\nbefore\n%s", seed, keyed, q,
					p.name, got.affected, got.code, got.text, got.warnings, want.affected, want.code, want.text, want.warnings, before)
			}
			for _, table := range []string{"t", "u"} {
				g, w := p.rows(t, table), peers[0].rows(t, table)
				if g != w {
					t.Fatalf("seed %d, keyed %v, after\n%s\n%s has\n%s\noracle has\n%s", seed, keyed, strings.Join(log[max(0, len(log)-3):], "\n"), p.name, g, w)
				}
			}
		}
	}
}
