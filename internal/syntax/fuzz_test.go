package syntax

import (
	"errors"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// optionsOf turns bits into parser options.
func optionsOf(bits byte) Options {
	o := Options{AnsiQuotes: bits&1 != 0, PipesAsConcat: bits&2 != 0, NoBackslashEscapes: bits&4 != 0, HighNotPrecedence: bits&8 != 0}
	if bits&16 != 0 {
		o.Dialect = Trino
	}
	return o
}

// FuzzParse wants of any text: no panic, errors with a position inside, Split
// and CountPlaceholders in agreement with Parse, and a print that reads back.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"mysql.sql", "lake.sql"} {
		for _, s := range fileStatements(f, name) {
			f.Add(s, byte(0))
		}
	}
	for _, s := range refusedTexts(f) {
		f.Add(s, byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, bits byte) {
		o := optionsOf(bits)
		list, err := Parse(text, o)
		if err != nil {
			var e *errs.Error
			if !errors.As(err, &e) || e.Class != errs.User && e.Class != errs.Unsupported || e.Pos < 0 || e.Pos > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			Split(text, o)
			CountPlaceholders(text, o)
			return
		}
		n, i := 0, 0
		pieces := Split(text, o)
		for _, s := range list {
			n += len(s.Placeholders)
			if err := checkPositions(s); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for i < len(pieces) && pieces[i].Empty {
				i++
			}
			if i == len(pieces) || pieces[i].Start != s.Start || pieces[i].End != s.End {
				t.Fatalf("%q: parsed %d–%d, split into %+v", text, s.Start, s.End, pieces)
			}
			i++
			if o.Dialect == MySQL && !strings.Contains(text, "\x00") {
				if err := roundTrip(s.Statement); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
			}
		}
		if c := CountPlaceholders(text, o); c != n {
			t.Fatalf("%q: counted %d placeholders, parsed %d", text, c, n)
		}
	})
}
