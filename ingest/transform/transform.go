// Package transform turns the rows of source tables into those of lake tables:
// projection, filter, metadata columns, soft delete, and the fitting of one
// table's columns to a lake table that several tables feed.
//
// Rules are a pipeline's transform block. Bind applies them to the definition of
// one source table, as it is at one position of the source's log, and gives a
// Shape: what comes out (its columns, key, partition columns, options) and the
// vectorized step from decoded batches to lake batches. When the definition
// changes, Bind again: the projected definition follows, or the rule that no
// longer fits is named.
//
// Invariants. Expressions are MySQL's (scan/expr): NULL in gives NULL, integers
// and decimals are exact. The same row at the same position gives the same
// values however often it is read: the clock is the source's commit time, UUID()
// comes of the transaction. A filter sees the row before and after an update:
//
//	before   after    comes out
//	passes   passes   update (delete and insert where the lake's key changes)
//	passes   fails    delete
//	fails    passes   insert
//	fails    fails    nothing
//
// Start reading at Parse, then Rules.Bind and Shape.Apply.
package transform

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/route"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Options are what rules mean beside their text.
type Options struct {
	// Zone is the pipeline's local-time-zone; nil is the machine's.
	Zone *time.Location
	// Metadata are the columns that metadata.list enables.
	Metadata []string
}

// Rules are the transform rules of a pipeline. They are immutable.
type Rules struct {
	list []*rule
	o    Options
}

// rule is one parsed rule.
type rule struct {
	pipeline.Transform
	tables route.Selectors
	items  []*syntax.SelectItem
	filter syntax.Expr // nil: every row
}

// dialect is how expressions are read: as Flink CDC's, a backslash in a string is
// a backslash and || concatenates.
var dialect = syntax.Options{PipesAsConcat: true, NoBackslashEscapes: true}

// Parse reads the rules of a pipeline.
func Parse(list []pipeline.Transform, o Options) (*Rules, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	r := &Rules{o: o}
	for _, t := range list {
		x := &rule{Transform: t}
		var err error
		if x.tables, err = route.ParseSelectors(fmt.Sprintf("source-table of the transform in line %d", t.Line), t.SourceTable); err != nil {
			return nil, err
		}
		text := plainStar(t.Projection)
		if text == "" {
			text = "*"
		}
		if x.items, err = syntax.ParseSelectItems(text, dialect); err != nil {
			return nil, x.fault("projection", t.Projection, err)
		}
		if t.Filter != "" {
			if x.filter, err = syntax.ParseExpr(t.Filter, dialect); err != nil {
				return nil, x.fault("filter", t.Filter, err)
			}
		}
		r.list = append(r.list, x)
	}
	return r, nil
}

// fault names the rule and the part of it that err is about.
func (x *rule) fault(part, text string, err error) error {
	class, kind := errs.ClassOf(err), errs.KindOf(err)
	if class != errs.Unsupported {
		class, kind = errs.User, errs.InvalidConfig
	}
	return errs.New(class, kind, "line %d: transform %s: %s %q: %s", x.Line, x.SourceTable, part, oneLine(text), err)
}

func (x *rule) bad(format string, args ...any) error {
	return errs.Userf(errs.InvalidConfig, "line %d: transform %s: "+format, append([]any{x.Line, x.SourceTable}, args...)...)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// plainStar turns `\*`, which some files write, into `*`, outside of quotes.
func plainStar(s string) string {
	var sb strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '\\' && i+1 < len(s) && s[i+1] == '*':
			continue
		}
		sb.WriteByte(c)
	}
	return strings.TrimSpace(sb.String())
}

// chain returns the rules that apply to a table: the first that matches, and
// while a rule has match: first-row the next ones.
func (r *Rules) chain(id source.ID) []*rule {
	var out []*rule
	for _, x := range r.list {
		if !x.tables.Match(id) {
			continue
		}
		out = append(out, x)
		if !x.FirstRow {
			break
		}
	}
	return out
}

// Check verifies that every rule has an effect on the captured tables: a mask
// that matches nothing is an error.
func (r *Rules) Check(captured []source.ID) error {
	used := make([]bool, len(r.list))
	for _, id := range captured {
		chain := r.chain(id)
		for i, x := range r.list {
			switch {
			case !x.tables.Match(id):
			case slices.Contains(chain, x):
				used[i] = true
			case x.filter != nil && chain[len(chain)-1].filter != nil:
				return x.bad("it and the one in line %d both filter %s, and only the first one counts: its filter drops the other's rows; write match: first-row in line %d to let the next rule try them, or make one rule of the two",
					chain[len(chain)-1].Line, id, chain[len(chain)-1].Line)
			}
		}
	}
	for i, x := range r.list {
		for _, s := range x.tables {
			if !x.AllowEmpty && !slices.ContainsFunc(captured, s.Match) {
				return x.bad("the pattern %s matches no captured table, so that its projection and filter would not be applied; correct it, or write allow-empty: true%s", s.Text, near(s.Text, captured))
			}
		}
		if !used[i] && slices.ContainsFunc(captured, x.tables.Match) {
			return x.bad("an earlier rule takes all its tables; put the narrower rule first")
		}
	}
	return nil
}

func near(text string, captured []source.ID) string {
	if len(captured) == 0 || strings.ContainsAny(text, "*+?[(|") {
		return ""
	}
	names := make([]string, len(captured))
	for i, id := range captured {
		names[i] = id.String()
	}
	return "; " + strings.Replace(source.Nearest(text, names), "the nearest known key is", "the nearest is", 1)
}

// Describe shows the rules that apply to a table, one a line, for people.
func (r *Rules) Describe(id source.ID) []string {
	var out []string
	for _, x := range r.chain(id) {
		s := fmt.Sprintf("line %d: %s", x.Line, x.SourceTable)
		if x.Projection != "" {
			s += "; projection " + oneLine(x.Projection)
		}
		if x.Filter != "" {
			s += "; filter " + oneLine(x.Filter)
		}
		if x.SoftDelete {
			s += "; soft delete"
		}
		out = append(out, s)
	}
	return out
}

// Text identifies the rules that apply to a table, for the question whether rows
// that were copied before were made by the same ones. It is "" without rules.
func (r *Rules) Text(id source.ID) string {
	var sb strings.Builder
	for _, x := range r.chain(id) {
		fmt.Fprintf(&sb, "%q %q %v %v;", oneLine(x.Projection), oneLine(x.Filter), x.SoftDelete, x.FirstRow)
	}
	return sb.String()
}
