package plan

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Nested columns: SQL sees a ROW, MAP or ARRAY as JSON. What reaches into it,
// r.f, m['k'], a[1] and UNNEST, reads the column as it is stored: every scan of
// such a column has both, and the one that is not needed is pruned. Derived tables
// pass both on where they show the column unchanged.

// keepRaw notes that raw shows what id shows, as it is stored.
func (b *binder) keepRaw(id, raw ColID) {
	if b.raws == nil {
		b.raws, b.shown = map[ColID]ColID{}, map[ColID]ColID{}
	}
	b.raws[id], b.shown[raw] = raw, id
}

// rawColumns adds the nested columns of a scan as they are stored.
func (b *binder) rawColumns(s *Scan) {
	schema := s.Use.Snapshot.Schema()
	for _, c := range s.Cols[:len(s.Cols):len(s.Cols)] {
		f := schema.Fields[c.Pos]
		if k := f.Type.Physical(); k != vector.List && k != vector.Map && k != vector.Struct {
			continue
		}
		e, _, ok := expr.Raw(c.Pos, f, schema.MySQLType(f), f.Name)
		if !ok || e == nil || c.Load.Key() == e.Key() {
			continue
		}
		raw := b.copyCol(c.ID)
		b.cols[raw].Type = e.Type()
		s.Cols = append(s.Cols, ScanCol{ID: raw, Pos: c.Pos, Load: e})
		b.keepRaw(c.ID, raw)
	}
}

// shownAs is the column that stands for a column as it is stored; other columns
// are themselves.
func (b *binder) shownAs(id ColID) ColID {
	if s, ok := b.shown[id]; ok {
		return s
	}
	return id
}

// access binds an expression that reaches into a nested column: the value as it
// is stored, nil when e is none.
func (s *scope) access(e syntax.Expr) (expr.Expr, error) {
	b := s.bl.b
	switch e := e.(type) {
	case *syntax.ColumnRef:
		if x, err := s.whole(e); x != nil || err != nil {
			return x, err
		}
		return s.memberOf(e)
	case *syntax.Field:
		x, err := s.access(e.X)
		if x == nil || err != nil {
			return nil, err
		}
		x, err = expr.Member(x, e.Name.Name)
		return x, positioned(err, e.Pos())
	case *syntax.Subscript:
		x, err := s.access(e.X)
		if x == nil || err != nil {
			return nil, err
		}
		i, err := s.bl.bind(e.Index, s)
		if err != nil {
			return nil, err
		}
		x, err = expr.Element(b.env.Expr, x, i)
		return x, positioned(err, e.Pos())
	}
	return nil, nil
}

// whole resolves a name to a nested column as it is stored, nil when it names
// something else.
func (s *scope) whole(c *syntax.ColumnRef) (expr.Expr, error) {
	b := s.bl.b
	found := s.rel.find(c)
	for out := s.bl.outer; len(found) == 0 && out != nil; out = out.bl.outer {
		found = out.rel.find(c)
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		if raw, ok := b.raws[found[0].id]; ok {
			return b.col(raw), nil
		}
		return nil, nil
	}
	return nil, ambiguous(c, s.clause)
}

// memberOf resolves a.b.c as fields of a column that a or a.b names.
func (s *scope) memberOf(c *syntax.ColumnRef) (expr.Expr, error) {
	for n := len(c.Parts) - 1; n > 0; n-- {
		x, err := s.whole(&syntax.ColumnRef{At: c.At, Parts: c.Parts[:n]})
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		for _, p := range c.Parts[n:] {
			if x, err = expr.Member(x, p.Name); err != nil {
				return nil, positioned(err, c.Pos())
			}
		}
		return x, nil
	}
	return nil, nil
}

// reached binds an expression that reaches into a nested column, in SQL's form;
// nil when e is none.
func (s *scope) reached(e syntax.Expr) (expr.Expr, error) {
	x, err := s.access(e)
	if x == nil || err != nil {
		return nil, err
	}
	x, err = expr.Loaded(x)
	return x, positioned(err, e.Pos())
}

// unnest binds UNNEST and returns how its columns are shown.
func (bl *block) unnest(t *syntax.Unnest, s *scope) (expr.TableFunction, []string, error) {
	var args []expr.Expr
	for _, a := range t.Args {
		x, err := s.access(a)
		if err != nil {
			return nil, nil, err
		}
		if x == nil {
			if x, err = bl.bind(a, s); err != nil {
				return nil, nil, err
			}
		}
		args = append(args, x)
	}
	f, names, err := expr.NewUnnest(args, t.Ordinality)
	if err != nil || len(t.Columns) == 0 {
		return f, names, err
	}
	if len(t.Columns) != len(names) {
		return nil, nil, errs.UserAt(t.Pos(), errs.ColumnCount, "UNNEST gives %d columns here, %d names are given", len(names), len(t.Columns))
	}
	names = nil
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return f, names, nil
}

// load puts the columns of a table function that are as they are stored into
// SQL's form, beside themselves. It returns nil when there are none.
func (b *binder) load(g *Generate) (map[ColID]expr.Expr, []Item, error) {
	by := map[ColID]expr.Expr{}
	var items []Item
	for i, id := range g.Cols {
		if g.Func.Types()[i].Stored == nil {
			continue
		}
		x, err := expr.Loaded(b.col(id))
		if err != nil {
			return nil, nil, err
		}
		shown := b.shown[id]
		by[shown] = x
		items = append(items, Item{shown, x})
	}
	return by, items, nil
}
