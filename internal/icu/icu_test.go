package icu

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Patterns whose answers follow from the ICU User Guide. Thousands of answers of
// a MySQL are in scan/expr/testdata/regexp.jsonl.gz.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		flags   Flags
		text    string
		want    string // the match, "-" for none
	}{
		{"(?<=a)b", 0, "bab", "b"},
		{"(?<!a)b", 0, "abcb", "b"},
		{`(a+)\1`, 0, "aaaaa", "aaaa"},
		{"(?>a+)ab", 0, "aaab", "-"},
		{"a++b", 0, "aaab", "aaab"},
		{"a{2,3}?", 0, "aaaa", "aa"},
		{"(a|ab)(c|bcd)$", 0, "abcd", "abcd"},
		{"(a*)*b", 0, "aaab", "aaab"},
		{"straße", FoldCase, "STRASSE", "STRASSE"},
		{"ss", FoldCase, "ß", "ß"},
		{"s", FoldCase, "ß", "-"},
		{"[ß]", FoldCase, "ẞ", "ẞ"},
		{"a.c", DotAll, "a\nc", "a\nc"},
		{"^b$", MultiLine, "a\nb\nc", "b"},
		{"a b # comment", FreeSpaced, "ab", "ab"},
		{`\Qa.b\E`, 0, "axb a.b", "a.b"},
		{"[a-z&&[^b]]+", 0, "bac", "ac"},
		{`(?<x>a)\k<x>`, 0, "aa", "aa"},
		{`\bfoo\b`, 0, "a foo b", "foo"},
		{"(?=(a+))a*b", 0, "baaabac", "aaab"},
	} {
		re, err := Compile(c.pattern, c.flags)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		loc, err := re.Match([]byte(c.text), 0, 0, Limits{})
		got := "-"
		if loc != nil {
			got = c.text[loc[0]:loc[1]]
		}
		if err != nil || got != c.want {
			t.Errorf("%s in %q: %q (%v), want %q", c.pattern, c.text, got, err, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	re, err := Compile("(a+)+b", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Match([]byte(strings.Repeat("a", 60)), 0, 0, Limits{Steps: 100_000}); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	if re, err = Compile("(?:ab|c)*", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := re.Match([]byte(strings.Repeat("c", 10_000)), 0, 0, Limits{Stack: 1000}); !errors.Is(err, ErrStack) {
		t.Errorf("got %v, want a stack overflow", err)
	}
	if _, err := Compile("(?:(?:ab|c){1000}){1000}", 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want a refusal", err)
	}
	if _, err := Compile(strings.Repeat(`[\p{L}--[a]]`, 3000), FoldCase); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want a refusal", err)
	}
	if _, err := Compile(strings.Repeat("[a-z]", 3000), FoldCase); err != nil {
		t.Error(err)
	}
	if _, err := Compile(strings.Repeat("(", 10_000), 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add(`(?<=a)(b|[^c-d&&\w]++)*?\1$`, "abcabc", byte(0))
	f.Add(`(?i)ß{1,2}\R\b`, "SS\r\n", byte(3))
	f.Fuzz(func(t *testing.T, pattern, text string, flags byte) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			t.Skip("patterns and texts are valid UTF-8")
		}
		re, err := Compile(pattern, Flags(flags)&(FoldCase|MultiLine|DotAll|UnixLines|FreeSpaced))
		if err != nil {
			return
		}
		loc, err := re.Match([]byte(text), 0, 0, Limits{Steps: 100_000, Stack: 10_000})
		if err != nil || loc == nil {
			return
		}
		if len(loc) != 2*(re.Groups()+1) || loc[0] > loc[1] || loc[1] > len(text) {
			t.Fatalf("%q in %q: %v", pattern, text, loc)
		}
		for i := 0; i < len(loc); i += 2 {
			if loc[i] >= 0 && loc[i+1] >= 0 && (loc[i] > loc[i+1] || !utf8.ValidString(text[loc[i]:loc[i+1]])) {
				t.Fatalf("%q in %q: group %d is %v", pattern, text, i/2, loc[i:i+2])
			}
		}
	})
}
