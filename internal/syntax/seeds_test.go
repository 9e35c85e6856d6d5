package syntax

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

var statementLine = regexp.MustCompile(`(?i)^\s*(业务侧: )?(SELECT .* FROM|SELECT$|CREATE (TABLE|CATALOG|DATABASE|MATERIALIZED|TEMPORARY|USER)|INSERT (INTO|OVERWRITE)|SET |USE |CALL |DROP (TABLE|DATABASE|CATALOG|MATERIALIZED) |EXECUTE PIPELINE|ALTER TABLE|UPDATE |DELETE |GRANT |FLUSH )`)

// seedStatements finds the SQL statements in running text: from a line that
// starts like one to its semicolon.
func seedStatements(text string) []string {
	var list []string
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !statementLine.MatchString(lines[i]) {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimLeft(strings.Join(lines[i:min(i+60, len(lines))], ""), " \t"), "业务侧: ")
		rest, _, _ = strings.Cut(rest, "\n...")
		pieces := Split(rest, Options{})
		if len(pieces) == 0 {
			continue
		}
		sql := rest[pieces[0].Start:pieces[0].End]
		n := strings.Count(rest[:pieces[0].End], "\n")
		if n > 50 {
			continue // running text that only looks like a statement
		}
		list = append(list, sql)
		i += n
	}
	return list
}

// TestSeeds parses the statements of the documents that users start from.
func TestSeeds(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "seeds"), "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	refused := map[string]string{
		"SELECT * FROM table": "table is a reserved word: write `table` to use it as a name",
	}
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range seedStatements(string(b)) {
			list, err := Parse(sql, Options{})
			if err != nil {
				known := false
				for start, why := range refused {
					known = known || strings.HasPrefix(sql, start) && strings.Contains(err.Error(), why)
				}
				if !known {
					t.Errorf("%s: %s\n%v", filepath.Base(f), sql, err)
				}
				continue
			}
			n++
			for _, s := range list {
				if err := roundTrip(s.Statement); err != nil {
					t.Errorf("%s: %s\n%v", filepath.Base(f), sql, err)
				}
				if err := checkPositions(s); err != nil {
					t.Errorf("%s: %s\n%v", filepath.Base(f), sql, err)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("found only %d statements", n)
	}
	t.Logf("%d statements", n)
}
