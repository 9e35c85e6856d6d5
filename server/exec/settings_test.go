package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
)

// The laws of this file: the rows of a query do not depend on the size of batches,
// the threads, spilling, pruning or the sharing of equal parts. server/session has them over Paimon tables,
// before and after compaction.

// changing are functions whose answer is another each time.
var changing = regexp.MustCompile(`(?i)\b(rand|uuid|uuid_short|sleep|benchmark|connection_id|sysdate)\b|@`)

// limited are statements that may give other rows when they come in another order.
var limited = regexp.MustCompile(`(?i)\blimit\b`)

func options(s testkit.Setting) scan.Options {
	return scan.Options{BatchRows: s.BatchRows, Threads: s.Threads, ForceSpill: s.ForceSpill, NoPruning: s.NoPruning}
}

// law runs a statement both ways; "" is equal.
func (e *engine) law(sql string, s testkit.Setting) string {
	e.opts, e.separate = scan.Options{Threads: 1}, false
	want, werr := e.run(sql)
	e.opts, e.separate = options(s), s.NoSharing
	got, gerr := e.run(sql)
	e.separate = false
	switch {
	case (werr == nil) != (gerr == nil), werr != nil && errs.KindOf(werr) != errs.KindOf(gerr):
		return fmt.Sprintf("error %v, want %v", gerr, werr)
	case werr != nil:
		return ""
	case len(got.rows) == len(want.rows) && limited.MatchString(sql):
		return ""
	case s.ForceSpill && sortedText(got.rows) == sortedText(want.rows), text(got.rows) == text(want.rows):
		return ""
	}
	return firstDifference(sortedText(got.rows), sortedText(want.rows))
}

// TestSettings runs statements of the semantics corpus under settings that must not
// change their rows: a sample of 500, each under one setting; with THERMOCLINE_LAWS
// set to all, all of them under all.
func TestSettings(t *testing.T) {
	e := semanticsEngine(t)
	e.spilling(t)
	settings := testkit.Settings()
	all := os.Getenv("THERMOCLINE_LAWS") == "all"
	var cases []semanticCase
	for _, g := range semanticGroups {
		for _, c := range semanticCases(t, g) {
			if len(c.Set) == 0 && !changing.MatchString(c.SQL) {
				cases = append(cases, c)
			}
		}
	}
	step := max(len(cases)/500, 1)
	ran := 0
	for i, c := range cases {
		if !all && i%step != 0 {
			continue
		}
		e.mode = expr.DefaultSQLMode
		if c.Mode != nil {
			m, err := expr.ParseSQLMode(*c.Mode)
			if err != nil {
				t.Fatal(err)
			}
			e.mode = m
		}
		for k, s := range settings {
			if !all && k != i/step%len(settings) {
				continue
			}
			ran++
			if why := e.law(c.SQL, s); why != "" {
				t.Errorf("%s under %+v: %s\n %s", c.ID, s, c.SQL, why)
			}
		}
	}
	e.clean(t, "all")
	t.Logf("%d statements, %d settings, %d comparisons", len(cases), len(settings), ran)
}

// TestSettingsTPCH runs the queries of TPC-H under all settings, three of them
// when THERMOCLINE_LAWS is not all.
func TestSettingsTPCH(t *testing.T) {
	e := tpch(t)
	e.spilling(t)
	settings := testkit.Settings()
	if os.Getenv("THERMOCLINE_LAWS") != "all" {
		settings = slices.DeleteFunc(settings, func(s testkit.Setting) bool { return s.BatchRows < 1024 })
	}
	for n := 1; n <= 22; n++ {
		q, err := os.ReadFile(filepath.Join(testkit.Testdata("tpch"), "queries", fmt.Sprintf("q%02d.sql", n)))
		if err != nil {
			t.Fatal(err)
		}
		sql := strings.TrimRight(strings.TrimSpace(string(q)), ";")
		e.opts = scan.Options{Threads: 1}
		want, err := e.run(sql)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range settings {
			if os.Getenv("THERMOCLINE_LAWS") != "all" && i != n%len(settings) {
				continue
			}
			e.opts, e.separate = options(s), s.NoSharing
			got, err := e.run(sql)
			e.separate = false
			if err != nil {
				t.Errorf("q%02d under %+v: %v", n, s, err)
			} else if text(got.rows) != text(want.rows) {
				if sortedText(got.rows) != sortedText(want.rows) {
					t.Errorf("q%02d under %+v: %s", n, s, firstDifference(sortedText(got.rows), sortedText(want.rows)))
				}
			}
			e.clean(t, sql)
		}
	}
}
