package expr

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// directAgrees compares a direct match with Go's engine, from every position that a
// search of all matches comes to; it reports whether the pattern is for it.
func directAgrees(t *testing.T, pattern, text string) (matched, taken bool) {
	t.Helper()
	re, err := regexp.Compile(pattern)
	if err != nil || !utf8.ValidString(text) {
		return false, false
	}
	d := newDirect(pattern)
	if d == nil {
		return false, false
	}
	var run directRun
	loc, known := run.find(d, []byte(text), 0)
	if !known {
		return false, true
	}
	if want := re.FindStringSubmatchIndex(text); !slices.Equal(loc, want) {
		t.Fatalf("%q in %q: %v, want %v", pattern, text, loc, want)
	}
	if re.MatchString("") {
		return loc != nil, true
	}
	at := 0
	for _, want := range re.FindAllStringSubmatchIndex(text, -1) {
		loc, known := run.find(d, []byte(text), at)
		if !known {
			return true, true
		}
		if !slices.Equal(loc, want) {
			t.Fatalf("%q in %q from %d: %v, want %v", pattern, text, at, loc, want)
		}
		at = loc[1]
	}
	if loc, known := run.find(d, []byte(text), at); known && loc != nil {
		t.Fatalf("%q in %q from %d: %v, want nothing", pattern, text, at, loc)
	}
	return loc != nil, true
}

// randomPattern is a pattern of literals, classes, groups, alternatives and loops.
func randomPattern(r *rand.Rand, depth int) string {
	switch n := r.IntN(12); {
	case n < 4 || depth == 0:
		return string([]rune("aabbcé/.世")[r.IntN(9)])
	case n < 6:
		return []string{"[ab]", "[^/]", ".", `\d`, "[^a-cé]", `\w`, "[a-y世]", "(?s:.)", "(?i:K)", `\S`}[r.IntN(10)]
	case n < 8:
		return randomPattern(r, depth-1) + randomPattern(r, depth-1)
	case n < 9:
		return []string{"(", "(?:"}[r.IntN(2)] + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
	case n < 10:
		return "(" + randomPattern(r, depth-1) + ")"
	}
	return "(?:" + randomPattern(r, depth-1) + ")" + []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"}[r.IntN(10)]
}

// TestDirectRegexps matches random patterns in random texts as Go's engine does.
func TestDirectRegexps(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 34))
	taken, matched := 0, 0
	const rounds = 20000
	for range rounds {
		p := randomPattern(r, 5)
		if r.IntN(4) == 0 {
			p = "^" + p
		}
		if r.IntN(4) == 0 {
			p += "$"
		}
		if r.IntN(8) == 0 {
			p = "(?i)" + p
		}
		var text strings.Builder
		for range r.IntN(14) {
			text.WriteRune([]rune("aaabbbccé/.世\nkK1")[r.IntN(16)])
		}
		m, ok := directAgrees(t, p, text.String())
		if ok {
			taken++
		}
		if m {
			matched++
		}
	}
	if taken < rounds/2 || matched < rounds/5 {
		t.Errorf("of %d patterns %d are matched directly, %d found something", rounds, taken, matched)
	}
	for _, p := range []string{`^https?://(?:www[.])?([^/]+)/.*$`, `(\w+)@(\w+)\.com`, "google.*", `\d{3}-\d{4}`} {
		if newDirect(p) == nil {
			t.Errorf("%s is not matched directly", p)
		}
		for _, s := range []string{"http://www.example.com/a/b?c", "https://b.ru/", "x http://b.ru/", "", "me@host.com, you@there.com", "a google b\nc", "tel 555-1234 or 555-99999"} {
			directAgrees(t, p, s)
		}
	}
}

// TestDirectGivesUp: patterns that would take exponential or quadratic time are left
// to Go's engine half way, and nothing is missing.
func TestDirectGivesUp(t *testing.T) {
	for _, c := range [][2]string{{"(?:a|aa)+b", strings.Repeat("a", 60)}, {"(a.*)(a.*)(a.*)(a.*)b", strings.Repeat("a", 300)}, {"(?:ab|a)+c", "abc " + strings.Repeat("ab", 9000)}} {
		var run directRun
		text := []byte(c[1])
		known := true
		for at, n := 0, 0; known && n < 3; n++ {
			var loc []int
			if loc, known = run.find(newDirect(c[0]), text, at); loc != nil {
				at = loc[1]
			}
		}
		if known {
			t.Errorf("%s found its way", c[0])
		}
		m, err := compileRegexp(c[0], "", false, "regexp_instr")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := m.find(NewContext(), text, 1, func(loc []int) bool { got = append(got, fmt.Sprint(loc)); return true }); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, loc := range regexp.MustCompile(c[0]).FindAllSubmatchIndex(text, -1) {
			want = append(want, fmt.Sprint(loc))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c[0], got, want)
		}
		if ok, err := m.matches(NewContext(), text); err != nil || ok != (len(want) > 0) {
			t.Errorf("%s: %v %v", c[0], ok, err)
		}
	}
}

// FuzzDirectRegexp compares with Go's engine.
func FuzzDirectRegexp(f *testing.F) {
	f.Add(`^https?://(?:www[.])?([^/]+)/.*$`, "http://www.example.com/a")
	f.Add("(a|b)*?c{2,3}", "abacccc")
	f.Fuzz(func(t *testing.T, p, s string) {
		if len(p) < 60 && len(s) < 200 {
			directAgrees(t, p, s)
		}
	})
}

func BenchmarkRegexpReplace(b *testing.B) {
	m, err := compileRegexp(`^https?://(?:www[.])?([^/]+)/.*$`, "", false, "regexp_replace")
	if err != nil {
		b.Fatal(err)
	}
	s := []byte("http://www.tasalido.com/barita/koshe/memizu?id=3498712&from=kepiwo")
	for b.Loop() {
		if err := m.find(nil, s, 1, func([]int) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
