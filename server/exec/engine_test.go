package exec_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine runs statements over tables in memory.
type engine struct {
	cat      *tables.Catalog
	database string
	opts     scan.Options
	budget   *memory.Budget
	mode     expr.SQLMode
	coll     string
	strict   bool // lake_insert
	separate bool // lake_sharing = OFF
	eager    bool // groups below joins wherever that is allowed
	scratch  *fileio.Scratch
}

func newEngine(databases ...string) *engine {
	if len(databases) == 0 {
		databases = []string{"db"}
	}
	return &engine{cat: tables.NewCatalog(nil, databases...), database: databases[0], budget: memory.New("test", 0),
		mode: expr.DefaultSQLMode, coll: expr.DefaultCollation}
}

// Current implements plan.Catalogs.
func (e *engine) Current() (string, string) { return "lake", e.database }

// Catalog implements plan.Catalogs.
func (e *engine) Catalog(name string) (catalog.Catalog, bool) { return e.cat, name == "lake" }

// Virtual implements plan.Catalogs.
func (e *engine) Virtual(string) (catalog.Catalog, bool) { return nil, false }

// Temporary implements plan.Catalogs.
func (e *engine) Temporary(string, string) (catalog.Table, bool) { return nil, false }

func (e *engine) context() *expr.Context {
	c := expr.NewContext()
	c.Mode, c.Collation = e.mode, e.coll
	c.Now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return c
}

// answer is what a statement gave. A nil cell is NULL.
type answer struct {
	cols []plan.Column
	rows [][]*string
	n    uint64
	out  exec.Outcome
	ctx  *expr.Context
}

func (e *engine) run(text string, params ...expr.Value) (answer, error) {
	mode := syntax.Options{}
	p, err := syntax.ParseOne(text, mode)
	if err != nil {
		return answer{}, err
	}
	return e.statement(p.Statement, params)
}

func (e *engine) statement(stmt syntax.Statement, params []expr.Value) (answer, error) {
	ctx := context.Background()
	ec := e.context()
	env := &plan.Env{Catalogs: e, Expr: ec, Params: params, StrictInsert: e.strict, NoSharing: e.separate, EagerAlways: e.eager}
	env.Change = func(ctx context.Context, t connector.RowChanger, base connector.Snapshot) (connector.RowChange, error) {
		return t.NewRowChange(ctx, base, connector.WriteOptions{CommitUser: exec.InsertUser, Budget: e.budget})
	}
	run := exec.Env{Expr: ec, Options: e.opts, Budget: e.budget, Spill: e.scratch}
	switch s := stmt.(type) {
	case *syntax.Query:
		q, err := plan.Bind(ctx, s, env)
		if err != nil {
			return answer{}, err
		}
		rows, err := e.rows(ctx, q, run)
		return answer{cols: q.Columns, rows: rows, ctx: ec}, err
	case *syntax.Insert:
		ins, err := plan.BindInsert(ctx, s, env)
		if err != nil {
			return answer{}, err
		}
		o, err := exec.Insert(ctx, ins, run)
		return answer{n: o.Affected, ctx: ec, out: o}, err
	case *syntax.Update:
		u, err := plan.BindUpdate(ctx, s, env)
		if err != nil {
			return answer{}, err
		}
		defer u.Close()
		o, err := exec.Update(ctx, u, run)
		return answer{n: o.Affected, ctx: ec, out: o}, err
	case *syntax.Delete:
		d, err := plan.BindDelete(ctx, s, env)
		if err != nil {
			return answer{}, err
		}
		defer d.Close()
		o, err := exec.Delete(ctx, d, run)
		return answer{n: o.Affected, ctx: ec, out: o}, err
	case *syntax.Merge:
		m, err := plan.BindMerge(ctx, s, env)
		if err != nil {
			return answer{}, err
		}
		defer m.Close()
		o, err := exec.Merge(ctx, m, run)
		return answer{n: o.Affected, ctx: ec, out: o}, err
	}
	n, handled, err := plan.Define(ctx, stmt, env)
	if !handled && err == nil {
		err = errs.Unsupportedf(stmt.Pos(), "this statement")
	}
	return answer{n: n}, err
}

func (e *engine) rows(ctx context.Context, q *plan.Query, env exec.Env) (out [][]*string, err error) {
	r, err := exec.Run(ctx, q, env)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return out, err
		}
		for k := range b.Rows() {
			row := make([]*string, len(b.Cols))
			for i, c := range b.Cols {
				if at := b.Row(k); !c.IsNull(at) {
					s := string(expr.AppendText(nil, q.Columns[i].Type, c, at, nil))
					row[i] = &s
				}
			}
			out = append(out, row)
		}
	}
}

// must runs statements separated by semicolons at line ends.
func (e *engine) must(t testing.TB, script string) {
	t.Helper()
	for _, s := range strings.Split(script, ";\n") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if _, err := e.run(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// explain returns the plan of a query.
func (e *engine) explain(t testing.TB, text string) string {
	t.Helper()
	p, err := syntax.ParseOne(text, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(context.Background(), p.Statement.(*syntax.Query), &plan.Env{Catalogs: e, Expr: e.context(), EagerAlways: e.eager})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(plan.Explain(q), "\n")
}

// text prints rows, a line each.
func text(rows [][]*string) string {
	var sb strings.Builder
	for _, r := range rows {
		for i, c := range r {
			if i > 0 {
				sb.WriteByte('|')
			}
			if c == nil {
				sb.WriteString("NULL")
			} else {
				sb.WriteString(*c)
			}
		}
		sb.WriteByte('\n')
	}
	return sb.String()
}
