package mysql

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// difference is why answers are other than MySQL's on purpose, and where it is written
// that they may be.
type difference struct {
	reason string
	source source
}

func (d difference) String() string { return d.reason + "; " + d.source.String() }

// source is what a deliberate difference rests on.
type source interface {
	fmt.Stringer
	// fault is what is wrong with the source, "" for nothing.
	fault() string
}

// manual is a section of MySQL's reference manual, of 8.4 and 9.x, which says
// otherwise than its server does.
type manual struct{ section, title string }

func (m manual) String() string { return "MySQL manual, " + m.section + " " + m.title }

var sectionNumber = regexp.MustCompile(`^[1-9]\d?(\.[1-9]\d?){1,3}$`)

func (m manual) fault() string {
	if !sectionNumber.MatchString(m.section) || m.title == "" {
		return "no section of the manual: " + m.String()
	}
	return ""
}

// standard is a clause of the SQL standard, ISO/IEC 9075.
type standard struct{ part, clause string }

func (s standard) String() string { return "ISO/IEC 9075-" + s.part + ", " + s.clause }

var clauseNumber = regexp.MustCompile(`^\d+\.\d+ <`)

func (s standard) fault() string {
	if s.part == "" || !clauseNumber.MatchString(s.clause) {
		return "no clause of the standard: " + s.String()
	}
	return ""
}

// document is a paragraph of this project's documentation, named by the words in
// bold that it begins with, or by its heading.
type document struct{ file, paragraph string }

func (d document) String() string { return "docs/" + d.file + ", " + d.paragraph }

func (d document) fault() string {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", d.file))
	if err != nil {
		return err.Error()
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if strings.HasPrefix(line, "- **"+d.paragraph+".**") || strings.HasPrefix(line, "#") && strings.TrimLeft(line, "# ") == d.paragraph {
			return ""
		}
	}
	return "docs/" + d.file + " has no paragraph " + d.paragraph
}

// differences maps the ids of cases to why they differ.
type differences map[string]difference

// because lists cases: ids are separated by blanks. It panics for an id that is
// listed already.
func (list differences) because(reason string, from source, ids string) {
	for _, id := range strings.Fields(ids) {
		if _, double := list[id]; double {
			panic(id + " is listed twice")
		}
		list[id] = difference{reason, from}
	}
}

// Every deliberate difference says why, and where that is written.
func TestDifferencesNameTheirSources(t *testing.T) {
	seen := map[string]bool{}
	for _, list := range []differences{semanticDifferences, metadataDifferences} {
		for id, d := range list {
			switch {
			case d.reason == "":
				t.Errorf("%s: no reason", id)
			case d.source == nil:
				t.Errorf("%s: no source", id)
			case !seen[d.String()] && d.source.fault() != "":
				t.Errorf("%s (%s): %s", id, d.reason, d.source.fault())
			}
			if d.source != nil {
				seen[d.String()] = true
			}
		}
	}
}
