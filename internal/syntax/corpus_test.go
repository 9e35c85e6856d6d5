package syntax

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// corpusCase is a statement that somebody else's program sent or answered.
type corpusCase struct {
	where   string
	sql     string
	options Options
	// refused is the server's 1064 message, or "1064" where only the code is
	// known; "" when the server read the statement.
	refused string
}

// readCorpus collects every statement of the shared test data.
func readCorpus(t testing.TB) []corpusCase {
	var list []corpusCase
	root := testkit.Shared(t, "fixtures")
	glob := func(pattern string) []string {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		return files
	}
	for _, f := range glob("mysql-semantics/*.jsonl") {
		eachLine(t, f, func(line []byte) {
			var c struct {
				ID         string
				SQL        string
				Error      int
				Message    string
				SQLMode    *string `json:"sql_mode"`
				Set, Reset []string
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			cc := corpusCase{where: c.ID, sql: c.SQL}
			if c.SQLMode != nil {
				cc.options = modeOptions(*c.SQLMode)
			}
			if c.Error == 1064 {
				cc.refused = c.Message
			}
			list = append(list, cc)
			for _, s := range append(c.Set, c.Reset...) {
				list = append(list, corpusCase{where: c.ID, sql: s})
			}
		})
	}
	for _, pattern := range []string{"client-traffic/*.jsonl", "client-traffic/as-mysql8/*.jsonl", "client-traffic/mysql97/*.jsonl"} {
		for _, f := range glob(pattern) {
			ansi := false
			eachLine(t, f, func(line []byte) {
				var c struct {
					Command string
					SQL     string
					Reply   struct {
						Error   int
						Message string
					}
				}
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatal(err)
				}
				if c.Command != "QUERY" && c.Command != "STMT_PREPARE" || c.SQL == "" {
					return
				}
				if strings.Contains(c.SQL, "sql_mode") && strings.Contains(c.SQL, "SET") {
					ansi = strings.Contains(c.SQL, "ANSI")
				}
				cc := corpusCase{where: f, sql: c.SQL, options: Options{AnsiQuotes: ansi}}
				if c.Reply.Error == 1064 {
					cc.refused = "1064"
				}
				list = append(list, cc)
			})
		}
	}
	for _, pattern := range []string{"tpch/queries/*.sql", "tpch/mariadb/*.sql", "tpcds/queries/*.sql", "tpcds/mariadb/*.sql", "mysql-semantics/setup.sql"} {
		for _, f := range glob(pattern) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range Split(string(b), Options{}) {
				if !p.Empty {
					list = append(list, corpusCase{where: f, sql: string(b)[p.Start:p.End]})
				}
			}
		}
	}
	for _, f := range glob("logictest/*.test") {
		list = append(list, readLogictest(t, f)...)
	}
	return list
}

func modeOptions(mode string) Options {
	m := strings.ToUpper(mode)
	ansi := false
	for _, w := range strings.Split(m, ",") {
		if w == "ANSI" {
			ansi = true
		}
	}
	return Options{
		AnsiQuotes:         ansi || strings.Contains(m, "ANSI_QUOTES"),
		PipesAsConcat:      ansi || strings.Contains(m, "PIPES_AS_CONCAT"),
		NoBackslashEscapes: strings.Contains(m, "NO_BACKSLASH_ESCAPES"),
		HighNotPrecedence:  strings.Contains(m, "HIGH_NOT_PRECEDENCE"),
		IgnoreSpace:        ansi || strings.Contains(m, "IGNORE_SPACE"),
	}
}

func eachLine(t testing.TB, file string, f func([]byte)) {
	t.Helper()
	r, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		if len(s.Bytes()) > 0 {
			f(s.Bytes())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// readLogictest reads the statements of a logic test file: the lines after
// "statement …" and "query …" up to a blank line or "----".
func readLogictest(t testing.TB, file string) []corpusCase {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []corpusCase
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		h := lines[i]
		if !strings.HasPrefix(h, "statement") && !strings.HasPrefix(h, "query") {
			continue
		}
		var sql []string
		for i++; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			sql = append(sql, lines[i])
		}
		c := corpusCase{where: file, sql: strings.Join(sql, "\n")}
		if strings.HasPrefix(h, "statement error") {
			c.refused = "maybe"
		}
		list = append(list, c)
	}
	return list
}

// TestCorpus parses every statement that MySQL, MariaDB and their clients'
// recordings hold, and refuses what MySQL refuses, with its message.
func TestCorpus(t *testing.T) {
	accepted := map[string]string{
		"SELECT * FROM emp FULL OUTER JOIN dept ON 1 = 1": "full joins are an extension",
	}
	n := 0
	for _, c := range readCorpus(t) {
		_, err := Parse(c.sql, c.options)
		switch {
		case err == nil && (c.refused == "" || c.refused == "maybe"):
			n++
		case err != nil && c.refused != "":
			n++
			if c.refused != "1064" && c.refused != "maybe" && err.Error() != c.refused {
				t.Errorf("%s: %s\n got %v\nwant %s", c.where, c.sql, err, c.refused)
			}
		case err == nil && accepted[c.sql] != "":
		case err == nil:
			if c.refused != "1064" {
				t.Errorf("%s: read what MySQL refuses: %s\nwant %s", c.where, c.sql, c.refused)
			} else {
				t.Logf("%s: the recorded server refused %s", filepath.Base(c.where), c.sql)
			}
		default:
			var e *errs.Error
			errors.As(err, &e)
			t.Errorf("%s: %s\n%v", c.where, c.sql, err)
		}
	}
	t.Logf("%d statements", n)
}
