package icu

import (
	"unicode"

	"golang.org/x/text/cases"
)

// fullFoldings are the characters that fold to several, as Unicode's
// CaseFolding says; inFoldings are the characters of these.
var fullFoldings, inFoldings = func() (map[rune][]rune, map[rune]bool) {
	full, in := map[rune][]rune{}, map[rune]bool{}
	fold := cases.Fold()
	for _, t := range []*unicode.RangeTable{unicode.Ll, unicode.Lu, unicode.Lt} {
		s := tables(t)
		for i := 0; i < len(s.ranges); i += 2 {
			for r := s.ranges[i]; r <= s.ranges[i+1]; r++ {
				if r < 0x80 {
					continue
				}
				if f := []rune(fold.String(string(r))); len(f) > 1 {
					full[r] = f
					for _, x := range f {
						in[foldRune(x)] = true
					}
				}
			}
		}
	}
	return full, in
}()

// foldRune is the simple folding: one character that stands for all that differ
// from it by case only.
func foldRune(r rune) rune {
	if r < 0x80 {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least < 0x80 { // the Kelvin sign and the long s
		return foldRune(least)
	}
	return least
}

// foldAll is the full folding of a text.
func foldAll(in []rune) []rune {
	out := make([]rune, 0, len(in))
	for _, r := range in {
		if f := fullFoldings[r]; f != nil {
			for _, x := range f {
				out = append(out, foldRune(x))
			}
			continue
		}
		out = append(out, foldRune(r))
	}
	return out
}
