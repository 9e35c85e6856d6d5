package metadata

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// Collation describes a collation as SHOW COLLATION does.
type Collation struct {
	Name, Charset string
	ID            uint64
	Default       bool // of its character set
	SortLen       int
	PadSpace      bool
}

// Charset describes a character set.
type Charset struct {
	Name, DefaultCollation string
	MaxLen                 int
	Description            string
}

var (
	//go:embed data/collations.tsv
	collationsTSV string
	//go:embed data/charsets.tsv
	charsetsTSV string
)

func fields(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		out = append(out, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return out
}

var allCollations = sync.OnceValue(func() (out []Collation) {
	for _, f := range fields(collationsTSV) {
		c := Collation{Name: f[0], Charset: f[1], Default: f[3] == "1", PadSpace: f[5] == "1"}
		c.ID, _ = strconv.ParseUint(f[2], 10, 64)
		c.SortLen, _ = strconv.Atoi(f[4])
		out = append(out, c)
	}
	return out
})

var allCharsets = sync.OnceValue(func() (out []Charset) {
	for _, f := range fields(charsetsTSV) {
		c := Charset{Name: f[0], DefaultCollation: f[1], Description: f[3]}
		c.MaxLen, _ = strconv.Atoi(f[2])
		out = append(out, c)
	}
	return out
})

var collationIndex = sync.OnceValue(func() map[string]Collation {
	m := map[string]Collation{}
	for _, c := range allCollations() {
		m[c.Name] = c
	}
	return m
})

var charsetIndex = sync.OnceValue(func() map[string]Charset {
	m := map[string]Charset{}
	for _, c := range allCharsets() {
		m[c.Name] = c
	}
	m["utf8"] = m["utf8mb3"]
	return m
})

// Collations returns the collations that MySQL has, sorted by name. Which of
// them the engine compares by is the engine's to say.
func Collations() []Collation { return allCollations() }

// Charsets returns the character sets, sorted by name.
func Charsets() []Charset { return allCharsets() }

// LookupCollation finds a collation by its name, in any case. The old names of
// the utf8mb3 ones (utf8_general_ci) are understood.
func LookupCollation(name string) (Collation, bool) {
	name = strings.ToLower(name)
	c, ok := collationIndex()[name]
	if !ok && strings.HasPrefix(name, "utf8_") {
		c, ok = collationIndex()["utf8mb3"+name[4:]]
	}
	return c, ok
}

// LookupCharset finds a character set by its name, in any case; utf8 is
// utf8mb3.
func LookupCharset(name string) (Charset, bool) {
	c, ok := charsetIndex()[strings.ToLower(name)]
	return c, ok
}

// DefaultCollationOf returns the default collation of a character set, "" for
// an unknown one.
func DefaultCollationOf(charset string) string {
	c, _ := LookupCharset(charset)
	return c.DefaultCollation
}

// CharsetWidth returns the most bytes of a character, 4 for an unknown set.
func CharsetWidth(charset string) int {
	if c, ok := LookupCharset(charset); ok {
		return c.MaxLen
	}
	return 4
}
