// The dependency rules: which package may import which, and the one door of
// each heavy dependency (docs/ARCHITECTURE.md). Start reading at rules and doors.

package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

const module = "github.com/thermocline/thermocline/"

// rule forbids packages below from to import packages below to, unless the
// importer is below one of except. "connector/paimon/..." means the package and
// everything below it; "connector" the package alone.
type rule struct {
	from, to string
	except   []string
	why      string
}

var rules = []rule{
	{"ingest/...", "server/...", nil, "ingest and server meet in tables only"},
	{"server/...", "ingest/...", nil, "ingest and server meet in tables only"},
	{"scan/...", "server/...", nil, "scan and below know nothing of statements, sessions or protocols"},
	{"connector/...", "server/...", nil, "scan and below know nothing of statements, sessions or protocols"},
	{"connector/...", "scan/...", nil, "connectors know nothing of expressions"},
	{"connector/...", "internal/syntax", nil, "connectors know nothing of statements"},
	{"connector/...", "ingest/...", nil, "ingest uses connectors, not the reverse"},
	{"catalog/...", "server/...", nil, "catalogs know nothing of statements, sessions or protocols"},
	{"catalog/...", "scan/...", nil, "catalogs know nothing of expressions"},
	{"catalog", "catalog/jdbc/...", nil, "an interface package imports none of its implementations"},
	{"catalog/jdbc", "catalog/jdbc/mysql", nil, "an interface package imports none of its implementations"},
	{"catalog/jdbc", "catalog/jdbc/postgres", nil, "an interface package imports none of its implementations"},
	{"catalog/jdbc", "catalog/jdbc/sqlite", nil, "an interface package imports none of its implementations"},
	{"...", "catalog/jdbc/...", []string{"catalog/jdbc"}, "only cmd imports implementations"},
	{"catalog", "catalog/filesystem", nil, "an interface package imports none of its implementations"},
	{"catalog", "connector/...", nil, "catalog names things; what can be done with them is connector's"},
	{"connector", "connector/paimon/...", nil, "an interface package imports none of its implementations"},
	{"connector", "connector/memory", nil, "an interface package imports none of its implementations"},
	{"connector/format", "connector/format/parquet", nil, "an interface package imports none of its implementations"},
	{"connector/format", "connector/format/orc", nil, "an interface package imports none of its implementations"},
	{"connector/format", "connector/format/avro", nil, "an interface package imports none of its implementations"},
	{"...", "connector/format/parquet", []string{"connector/format/parquet"}, "only cmd imports implementations"},
	{"...", "connector/format/orc", []string{"connector/format/orc"}, "only cmd imports implementations"},
	{"...", "connector/format/avro", []string{"connector/format/avro"}, "only cmd imports implementations"},
	{"...", "catalog/filesystem", []string{"catalog/filesystem"}, "only cmd imports implementations"},
	{"...", "connector/files", []string{"connector/files"}, "only cmd imports implementations"},
	{"connector", "connector/files", nil, "an interface package imports none of its implementations"},
	{"...", "connector/memory", []string{"connector/memory"}, "only cmd imports implementations"},
	{"...", "connector/paimon", []string{"connector/paimon", "catalog/filesystem", "catalog/jdbc"}, "only cmd imports implementations"},
	{"...", "server/mysql", []string{"server/mysql"}, "only cmd imports implementations"},
	{"...", "ingest/source/mysql", []string{"ingest/source/mysql"}, "only cmd imports implementations"},
	{"internal/errs", "...", []string{"-"}, "a leaf"},
	{"internal/vector", "...", []string{"-"}, "a leaf"},
	{"internal/syntax", "...", []string{"internal/syntax"}, "a leaf"},
}

// leaves are what leaf packages may import all the same.
var leaves = map[string]bool{"internal/errs": true}

// doors names the packages that may import a heavy dependency.
var doors = []struct {
	dependency string // import path prefix
	doors      []string
}{
	{"github.com/dolthub/", []string{"server/metadata"}},
	{"github.com/go-mysql-org/", []string{"ingest/source/mysql"}},
	{"github.com/pingcap/", []string{"ingest/source/mysql"}},
	{"github.com/parquet-go/", []string{"connector/format/parquet"}},
	{"github.com/apache/arrow-go/", []string{"connector/format/parquet"}},
	{"github.com/apache/iceberg-go", []string{"connector/iceberg", "catalog/rest"}},
	{"github.com/trinodb/trino-go-client", []string{"connector/trino"}},
	{"github.com/aws/", []string{"connector/fileio/s3"}},
	{"github.com/go-sql-driver/", []string{"catalog/jdbc/mysql", "ingest/source/mysql"}},
	{"github.com/jackc/", []string{"catalog/jdbc/postgres"}},
	{"modernc.org/", []string{"catalog/jdbc/sqlite"}},
	{"github.com/hamba/avro", []string{"connector/paimon/spec", "connector/format/avro"}},
}

// banned dependencies are imported nowhere.
var banned = []string{
	"github.com/dolthub/go-mysql-server/server", "github.com/dolthub/vitess/go/mysql", "github.com/go-mysql-org/go-mysql/server",
}

// below reports whether pkg matches pattern.
func below(pkg, pattern string) bool {
	if pattern == "..." {
		return true
	}
	if p, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == p || strings.HasPrefix(pkg, p+"/")
	}
	return pkg == pattern
}

func underAny(pkg string, list []string) bool {
	for _, p := range list {
		if below(pkg, p+"/...") {
			return true
		}
	}
	return false
}

// violation returns why package from (relative to the module) must not import
// path, or "".
func violation(from, path string) string {
	if strings.HasPrefix(from, "cmd/") {
		return bannedImport(path)
	}
	to, ours := strings.CutPrefix(path, module)
	if !ours {
		for _, d := range doors {
			if strings.HasPrefix(path, d.dependency) && !underAny(from, d.doors) {
				return path + " is imported only in " + strings.Join(d.doors, ", ")
			}
		}
		return bannedImport(path)
	}
	for _, r := range rules {
		if !below(from, r.from) || !below(to, r.to) || underAny(from, r.except) && r.except[0] != "-" {
			continue
		}
		if r.to == "..." && (leaves[to] || below(to, from+"/...")) {
			continue
		}
		return to + ": " + r.why
	}
	return ""
}

func bannedImport(path string) string {
	for _, b := range banned {
		if path == b || strings.HasPrefix(path, b+"/") {
			return b + " is imported nowhere"
		}
	}
	return ""
}

func TestImports(t *testing.T) {
	root := testkit.Root()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != root && (strings.HasPrefix(n, ".") || n == "testdata" || n == "lake") {
				return filepath.SkipDir
			}
			return nil
		}
		// Tests and the test kit may import anything.
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, _ := filepath.Rel(root, filepath.Dir(path))
		pkg := filepath.ToSlash(rel)
		if below(pkg, "internal/testkit/...") || below(pkg, "benchmarks/...") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, im := range f.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			if why := violation(pkg, p); why != "" {
				t.Errorf("%s imports %s", filepath.ToSlash(filepath.Join(rel, d.Name())), why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Fatalf("only %d files looked at", files)
	}
}

// TestRulesBite keeps the rules from going blind.
func TestRulesBite(t *testing.T) {
	for _, c := range []struct {
		from, path string
		bad        bool
	}{
		{"ingest/sink", module + "server/session", true},
		{"server/session", module + "ingest", true},
		{"cmd/thermocline", module + "ingest", false},
		{"scan", module + "server/plan", true},
		{"server/mysql", "github.com/dolthub/go-mysql-server/sql", true},
		{"server/metadata", "github.com/dolthub/go-mysql-server/sql", false},
		{"server/metadata", "github.com/dolthub/go-mysql-server/server", true},
		{"server/metadata", "github.com/dolthub/vitess/go/mysql", true},
		{"connector/paimon/read", "github.com/apache/arrow-go/v18/parquet", true},
		{"connector/format/parquet", "github.com/apache/arrow-go/v18/parquet", false},
		{"server/exec", module + "connector/memory", true},
		{"server/exec", module + "connector", false},
		{"internal/vector", module + "catalog", true},
		{"internal/vector", module + "internal/errs", false},
		{"internal/syntax", module + "internal/errs", false},
		{"catalog/jdbc", module + "catalog/jdbc/sqlite", true},
		{"catalog/jdbc/sqlite", module + "catalog/jdbc", false},
		{"catalog/jdbc", "modernc.org/sqlite", true},
		{"catalog/jdbc/sqlite", "modernc.org/sqlite/lib", false},
		{"server/session", module + "catalog/jdbc", true},
		{"catalog/filesystem", module + "connector/paimon", false},
		{"catalog/filesystem", module + "connector/paimon/spec", false},
		{"connector/paimon/write", module + "connector/format/parquet", true},
		{"connector/paimon/read", module + "connector/format/orc", true},
		{"connector/format", module + "connector/format/avro", true},
	} {
		if got := violation(c.from, c.path) != ""; got != c.bad {
			t.Errorf("%s -> %s: violation %v", c.from, c.path, got)
		}
	}
}
