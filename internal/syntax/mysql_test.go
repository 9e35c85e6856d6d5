package syntax

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// refusedBy asks a real MySQL whether it reads a statement, by PREPARE, which
// runs nothing. It returns the syntax error's message, or "".
func refusedBy(t *testing.T, db *sql.DB, stmt string) string {
	t.Helper()
	_, err := db.Exec("PREPARE s FROM " + QuoteString(stmt))
	var e *mysql.MySQLError
	if errors.As(err, &e) && (e.Number == 1064 || e.Number == 1149) {
		return e.Message
	}
	if err != nil && e == nil {
		t.Fatal(err)
	}
	return ""
}

// realMySQL connects to the server that THERMOCLINE_MYSQL_DSN names.
func realMySQL(t *testing.T) *sql.DB {
	dsn := os.Getenv("THERMOCLINE_MYSQL_DSN")
	if dsn == "" {
		t.Skip("needs a MySQL 8.4 or newer: set THERMOCLINE_MYSQL_DSN, such as t:t@tcp(127.0.0.1:13307)/mysql")
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestAcceptedByMySQL checks the lists of testdata against a real server: what
// mysql.sql holds it reads, what refused.sql holds it refuses with the message
// that we give.
func TestAcceptedByMySQL(t *testing.T) {
	db := realMySQL(t)
	for _, s := range fileStatements(t, "mysql.sql") {
		if msg := refusedBy(t, db, s); msg != "" {
			t.Errorf("MySQL refuses %s\n%s", s, msg)
		}
		p, err := ParseOne(s, Options{})
		if err != nil {
			continue
		}
		if _, ok := p.Statement.(*Unsupported); ok {
			continue
		}
		if msg := refusedBy(t, db, String(p.Statement)); msg != "" && refusedBy(t, db, s) == "" {
			t.Errorf("MySQL refuses what is printed of %s\n%s\n%s", s, String(p.Statement), msg)
		}
	}
}

// TestRefusedByMySQL checks that a real server refuses what refused.txt holds,
// with our message; MySQL's may stand before a hint of ours.
func TestRefusedByMySQL(t *testing.T) {
	db := realMySQL(t)
	for _, s := range refusedTexts(t) {
		want := refusedBy(t, db, s)
		_, err := ParseOne(s, Options{})
		switch {
		case want == "":
			t.Errorf("MySQL reads %s", s)
		case err == nil:
			t.Errorf("read %s", s)
		case !strings.HasPrefix(err.Error(), want):
			t.Errorf("%s\n got %v\nwant %s", s, err, want)
		}
	}
}

// parens writes an expression with every operation in parentheses.
func parens(e Expr) string {
	switch e := e.(type) {
	case *Binary:
		return "(" + parens(e.L) + " " + e.Op.String() + " " + parens(e.R) + ")"
	case *Unary:
		op := map[UnaryOp]string{OpNot: "NOT ", OpBang: "! ", OpNeg: "- ", OpPlus: "+ ", OpBitNot: "~ ", OpBinary: "BINARY "}[e.Op]
		return "(" + op + parens(e.X) + ")"
	case *Is:
		return "(" + parens(e.X) + " IS " + not(e.Not) + []string{"NULL", "TRUE", "FALSE", "UNKNOWN"}[e.Kind] + ")"
	case *In:
		s := "(" + parens(e.X) + " " + not(e.Not) + "IN ("
		for i, x := range e.List {
			if i > 0 {
				s += ", "
			}
			s += parens(x)
		}
		return s + "))"
	case *Between:
		return "(" + parens(e.X) + " " + not(e.Not) + "BETWEEN " + parens(e.Low) + " AND " + parens(e.High) + ")"
	case *Like:
		return "(" + parens(e.X) + " " + not(e.Not) + "LIKE " + parens(e.Pattern) + ")"
	case *FuncCall:
		if e.Is("concat") {
			return "concat(" + parens(e.Args[0]) + ", " + parens(e.Args[1]) + ")"
		}
	}
	return String(e)
}

// randomExpr writes operands and operators without parentheses.
func randomExpr(r *rand.Rand) string {
	operand := func() string {
		s := ""
		for r.Intn(4) == 0 {
			s += []string{"-", "! ", "~", "+", "BINARY ", "- "}[r.Intn(6)]
		}
		return s + []string{"0", "1", "2", "3", "5", "NULL", "'1'", "'0'", "TRUE"}[r.Intn(9)]
	}
	ops := []string{"OR", "||", "XOR", "AND", "&&", "=", "<=>", "<>", "<", "<=", ">", ">=", "|", "&", "<<", ">>", "+", "-", "*", "/", "DIV", "%", "MOD", "^",
		"LIKE", "NOT LIKE"}
	s := ""
	for n := 2 + r.Intn(5); n > 0; n-- {
		if r.Intn(8) == 0 {
			s += "NOT "
		}
		s += operand()
		switch r.Intn(12) {
		case 0:
			s += []string{" IS NULL", " IS NOT NULL", " IS TRUE", " IS NOT FALSE", " IS UNKNOWN"}[r.Intn(5)]
		case 1:
			s += []string{" IN (1, 2)", " NOT IN (3, NULL)"}[r.Intn(2)]
		case 2:
			s += []string{" BETWEEN ", " NOT BETWEEN "}[r.Intn(2)] + operand() + " AND " + operand()
		case 3:
			s += " COLLATE utf8mb4_bin"
		}
		if n > 1 {
			s += " " + ops[r.Intn(len(ops))] + " "
		}
	}
	return s
}

// TestPrecedenceOfMySQL evaluates random expressions on a real server twice: as
// written, and with the parentheses that our tree says.
func TestPrecedenceOfMySQL(t *testing.T) {
	db := realMySQL(t)
	eval := func(mode, e string) string {
		if _, err := db.Exec("SET sql_mode = " + QuoteString(mode)); err != nil {
			t.Fatal(err)
		}
		var v sql.NullString
		if err := db.QueryRow("SELECT " + e).Scan(&v); err != nil {
			var m *mysql.MySQLError
			if !errors.As(err, &m) {
				t.Fatal(err)
			}
			return fmt.Sprint("error ", m.Number)
		}
		return fmt.Sprint(v)
	}
	r := rand.New(rand.NewSource(1))
	refused, lenient := 0, 0
	const rounds = 20000
	for i := 0; i < rounds; i++ {
		mode := []string{"", "PIPES_AS_CONCAT", "HIGH_NOT_PRECEDENCE"}[i%3]
		text := randomExpr(r)
		want := eval(mode, text)
		tree, err := ParseExpr(text, modeOptions(mode))
		switch {
		case err != nil && want != "error 1064":
			t.Errorf("%s: %s\nrefused: %v; MySQL: %s", mode, text, err, want)
		case err != nil:
			refused++
		case want == "error 1064":
			lenient++
		default:
			if got := eval(mode, parens(tree)); got != want {
				t.Errorf("%s: %s\nread as %s\n%s; MySQL: %s", mode, text, parens(tree), got, want)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d expressions, %d refused by both, %d only by MySQL", rounds, refused, lenient)
}
