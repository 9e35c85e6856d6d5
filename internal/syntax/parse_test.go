package syntax

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// fileStatements cuts a file of testdata into statements.
func fileStatements(t testing.TB, name string) []string {
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range Split(string(b), Options{}) {
		if !p.Empty {
			list = append(list, string(b[p.Start:p.End]))
		}
	}
	return list
}

// refusedTexts are the lines of testdata/refused.txt.
func refusedTexts(t testing.TB) []string {
	b, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// TestRefused wants a syntax error, with a position, for each line of
// refused.txt.
func TestRefused(t *testing.T) {
	for _, s := range refusedTexts(t) {
		_, err := ParseOne(s, Options{})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != errs.Syntax || e.Class != errs.User || e.Pos < 0 || e.Pos > len(s) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// TestAccepted parses the statements of testdata, prints and reparses them, and
// checks that Split, Parse and CountPlaceholders agree on each.
func TestAccepted(t *testing.T) {
	for _, name := range []string{"mysql.sql", "lake.sql"} {
		for _, sql := range fileStatements(t, name) {
			list, err := Parse(sql, Options{})
			if err != nil {
				t.Errorf("%s\n%v", sql, err)
				continue
			}
			if len(list) != 1 {
				t.Errorf("%s\n%d statements", sql, len(list))
				continue
			}
			s := list[0]
			if err := roundTrip(s.Statement); err != nil {
				t.Errorf("%s\n%v", sql, err)
			}
			if err := checkPositions(s); err != nil {
				t.Errorf("%s\n%v", sql, err)
			}
			if n := CountPlaceholders(sql, Options{}); n != len(s.Placeholders) {
				t.Errorf("%s\ncounted %d placeholders, parsed %d", sql, n, len(s.Placeholders))
			}
			for _, pos := range s.Placeholders {
				if sql[pos] != '?' {
					t.Errorf("%s\nno placeholder at %d", sql, pos)
				}
			}
		}
	}
}
