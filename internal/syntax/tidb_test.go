package syntax

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tidb "github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/format"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
)

// shape lists the operators, queries and joins of a tree with their depth:
// what grouping decides, without names and literals.
func shape(n Node) string {
	var b strings.Builder
	var visit func(Node, int)
	visit = func(n Node, depth int) {
		name := ""
		switch n := n.(type) {
		case *Binary:
			name = n.Op.String()
		case *Unary:
			name = fmt.Sprint("unary", n.Op)
			if n.Op == OpBang {
				name = fmt.Sprint("unary", OpNot)
			}
		case *Is:
			kind := n.Kind
			if kind == IsUnknown {
				kind = IsNull
			}
			name = fmt.Sprint("is", kind, n.Not)
		case *In:
			name = fmt.Sprint("in", len(n.List), n.Not)
		case *Between, *Like, *Regexp, *Case, *Exists, *Subquery, *Quantified, *Collate, *Row, *Derived, *Select, *CTE:
			name = fmt.Sprintf("%T", n)
		case *Cast:
			name = "cast"
		case *SetOp:
			name = fmt.Sprint("setop", n.Kind, n.All)
		case *Join:
			kind := n.Kind
			if kind == JoinCross || kind == JoinComma {
				kind = JoinInner
			}
			name = fmt.Sprint("join", kind, n.Natural, len(n.Using))
		}
		if name != "" {
			fmt.Fprintf(&b, "%d %s\n", depth, name)
			depth++
		}
		children(n, func(c Node) { visit(c, depth) })
	}
	visit(n, 0)
	return b.String()
}

// rewritten are the constructs that TiDB prints in another form: x + INTERVAL as
// DATE_ADD, MOD(a, b) as a % b, and so on.
var rewritten = regexp.MustCompile(`(?i)INTERVAL|\bMOD\s*\(|MEMBER OF|SHOW |SET |GRANT|REVOKE|BINARY|CONVERT|USER|1e1x|LOAD DATA|->`)

// TestAgainstTiDB compares with TiDB's parser, on the statements of the corpora
// and of testdata: what it reads we read; and its print of its own tree, with
// parentheses around every operation, has the shape of our tree.
func TestAgainstTiDB(t *testing.T) {
	explained := map[string]string{
		"SELECT boss, COUNT(*) AS n FROM emp GROUP BY boss DESC":  "of 5.7; MySQL 8 refuses it",
		"SELECT id, NTILE(NULL) OVER (ORDER BY id) AS x FROM emp": "MySQL refuses it",
	}
	p := tidb.New()
	flags := format.RestoreKeyWordUppercase | format.RestoreNameBackQuotes | format.RestoreStringSingleQuotes | format.RestoreStringWithoutCharset |
		format.RestoreStringEscapeBackslash | format.RestoreBracketAroundBinaryOperation | format.RestoreSpacesAroundBinaryOperation
	cases := readCorpus(t)
	for _, s := range fileStatements(t, "mysql.sql") {
		cases = append(cases, corpusCase{where: "mysql.sql", sql: s})
	}
	seen := map[string]bool{}
	counts := map[string]int{}
	for _, c := range cases {
		if seen[c.sql] || c.options != (Options{}) {
			continue
		}
		seen[c.sql] = true
		if strings.Contains(c.where, "logictest") && len(seen)%20 != 0 {
			continue
		}
		ours, err := ParseOne(c.sql, Options{})
		theirs, terr := p.ParseOneStmt(c.sql, "", "")
		switch {
		case err != nil && terr != nil:
			counts["refused by both"]++
			continue
		case err != nil:
			if explained[c.sql] == "" {
				t.Errorf("%s: read by TiDB, refused here: %s\n%v", c.where, c.sql, err)
			}
			continue
		case terr != nil:
			counts["read here only"]++
			continue
		case rewritten.MatchString(c.sql):
			counts["not compared"]++
			continue
		}
		var b strings.Builder
		if err := theirs.Restore(format.NewRestoreCtx(flags, &b)); err != nil {
			counts["not printed by TiDB"]++
			continue
		}
		back, err := ParseOne(b.String(), Options{})
		if err != nil {
			t.Errorf("%s: %s\nTiDB prints %s\n%v", c.where, c.sql, b.String(), err)
			continue
		}
		if x, y := shape(ours.Statement), shape(back.Statement); x != y {
			t.Errorf("%s: %s\nTiDB prints %s\nour shape\n%stheirs\n%s", c.where, c.sql, b.String(), x, y)
			continue
		}
		counts["of one shape"]++
	}
	t.Log(counts)
}
