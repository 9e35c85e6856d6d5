package mysql

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// The kinds name their numbers in comments; the table must agree.
func TestEveryKindHasItsNumber(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(), "internal/errs/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	number := regexp.MustCompile(`^(?:MySQL )?([1-9]\d{3})\b`)
	checked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Comment == nil || len(v.Values) != 1 {
				return true
			}
			m := number.FindStringSubmatch(strings.TrimSpace(v.Comment.Text()))
			lit, isLit := v.Values[0].(*ast.BasicLit)
			if m == nil || !isLit || lit.Kind != token.STRING {
				return true
			}
			kind, _ := strconv.Unquote(lit.Value)
			want, _ := strconv.Atoi(m[1])
			if got := ErrorCode(errs.Kind(kind)); got != want && want != 1041 {
				t.Errorf("%s (%s): number %d, want %d", v.Names[0], filepath.Base(file), got, want)
			}
			checked++
			return true
		})
	}
	if checked < 60 {
		t.Errorf("only %d kinds were found", checked)
	}
}

func TestStatesAsMySQLSendsThem(t *testing.T) {
	var all []struct {
		Error    uint16 `json:"error"`
		SQLState string `json:"sqlstate"`
	}
	loadMetadata(t, "errors.json", &all)
	states := map[uint16]string{}
	for _, x := range all {
		states[x.Error] = x.SQLState
	}
	for k, c := range kinds {
		if want, ok := states[c.number]; ok && want != c.state {
			t.Errorf("%s: state %s, want %s", k, c.state, want)
		}
	}
}

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		err    error
		number uint16
		msg    string
	}{
		{fmt.Errorf("read table: %w", errs.Userf(errs.UnknownTable, "Table 'a.b' doesn't exist")), 1146, "read table: Table 'a.b' doesn't exist"},
		{errs.Unsupportedf(7, "LATERAL"), 1235, "this version does not support LATERAL (at position 8)"},
		{errs.New(errs.Conflict, errs.KindNone, "lost"), 1213, "lost"},
		{errs.Corruptf("file x: bad magic"), 1105, "file x: bad magic"},
		{os.ErrNotExist, 1105, "file does not exist"},
		{context.Canceled, 1317, "Query execution was interrupted"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), 3024, "Query execution was interrupted, maximum statement execution time exceeded"},
		{errs.Userf("a kind of tomorrow", "bad \xff"), 1105, "bad ?"},
	} {
		if e := translate(c.err); e.code != c.number || e.msg != c.msg || len(e.state) != 5 {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
	for k, c := range kinds {
		if len(c.state) != 5 || c.number < 1000 {
			t.Errorf("%s: %+v", k, c)
		}
	}
}
