package transform

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Shape is how the rows of one source table become rows of one lake table. Fit,
// Keys, Stamp and Apply belong to one goroutine.
type Shape struct {
	// Source is the definition that rows are decoded by. Keys sets its Identity
	// and BeforeImages.
	Source *source.Table
	// Output is the projected definition: columns, key and comment of what comes
	// out. It is Source itself without rules.
	Output *source.Table
	// PartitionKeys and Options are the rule's.
	PartitionKeys []string
	Options       map[string]string
	// Warnings are for the plan.
	Warnings []string

	rules  *Rules
	ctx    *expr.Context
	chain  []*bound
	places [hiddenKinds]int // of hidden columns in batches, -1: not there
	hidden int
	calls  int       // of UUID()
	born   time.Time // the clock of the copy
	random string    // seed of the copy

	keys   []int // positions in Output of the lake's key and partition columns
	before bool  // the lake wants -U rows
	pairs  bool  // updates come as -U and +U, and are decided here
	fit    []fitted
	left   map[string]bool // columns that the lake table does not get
}

// bound is a rule on a table.
type bound struct {
	*rule
	cond expr.Expr // nil: every row
	cols []computed
}

// computed is a column of the output.
type computed struct {
	plain int // position of the source column that passes as it is, or -1
	e     expr.Expr
	store storer
	// kinds: the value depends on the row kind, so that it is computed when that
	// is decided.
	kinds bool
	table bool // the value tells the source table
}

// need returns the position of a hidden column in the batches.
func (s *Shape) need(h hidden) int {
	if s.places[h] < 0 {
		s.places[h] = len(s.Source.Columns) + s.hidden
		s.hidden++
	}
	return s.places[h]
}

func (s *Shape) uuidCalls() int { s.calls++; return s.calls }

func (s *Shape) zoneName() string {
	// An offset would be wrong in summer: the zone's name, as CONVERT_TZ takes it.
	if n := s.ctx.Zone.String(); n != "Local" {
		return n
	}
	return "SYSTEM"
}

// Bind applies the rules to a table. shardKey, unless it is "", is a column that
// is put before the key with the table's name. Errors name the rule that does not
// fit.
func (r *Rules) Bind(t *source.Table, shardKey string) (*Shape, error) {
	s := &Shape{Source: t, Output: t, rules: r, born: time.Now()}
	for i := range s.places {
		s.places[i] = -1
	}
	chain := r.chain(t.ID)
	if len(chain) == 0 {
		if shardKey == "" {
			return s, nil
		}
		chain = []*rule{{items: []*syntax.SelectItem{{Expr: &syntax.Star{}, Text: "*"}}, Transform: pipeline.Transform{SourceTable: t.ID.String()}}}
	}
	s.ctx = expr.NewContext()
	s.ctx.Zone, s.ctx.Now = r.o.Zone, s.born
	s.ctx.Mode |= expr.PipesAsConcat | expr.NoBackslashEscapes
	var seed [8]byte
	rand.Read(seed[:]) // never fails
	s.random = hex.EncodeToString(seed[:])
	for i, x := range chain {
		b, out, err := x.on(s, t, shardKey)
		if err != nil {
			return nil, err
		}
		s.chain = append(s.chain, b)
		if i == 0 {
			s.Output = out
			continue
		}
		if d := differ(s.Output, out); d != "" {
			return nil, x.bad("it gives %s another shape than the one in line %d, which lets its rows pass on (match: first-row): %s", t.ID, chain[0].Line, d)
		}
		if !slices.Equal(x.PartitionKeys, chain[0].PartitionKeys) || x.SoftDelete != chain[0].SoftDelete {
			return nil, x.bad("its partition-keys or converter-after-transform are not those of the rule in line %d, which lets rows pass on to it", chain[0].Line)
		}
	}
	s.PartitionKeys, s.Options = chain[0].PartitionKeys, chain[0].TableOptions
	return s, nil
}

// differ names the first difference of two outputs.
func differ(a, b *source.Table) string {
	if len(a.Columns) != len(b.Columns) {
		return "another number of columns"
	}
	for i, c := range a.Columns {
		d := b.Columns[i]
		if c.Name != d.Name || !c.Type.Equal(d.Type) || c.Declared != d.Declared {
			return "column " + c.Name + " " + c.Type.String() + ", " + d.Name + " " + d.Type.String()
		}
	}
	if !slices.Equal(a.PrimaryKey, b.PrimaryKey) {
		return "another key"
	}
	return ""
}

// on binds the rule to a table.
func (x *rule) on(s *Shape, t *source.Table, shardKey string) (*bound, *source.Table, error) {
	c := &scope{s: s, table: t, aliases: map[string]expr.Expr{}}
	b := &bound{rule: x}
	out := &source.Table{ID: t.ID, Comment: t.Comment, Rows: t.Rows, Bytes: t.Bytes, Unsupported: t.Unsupported, Warnings: t.Warnings}
	put := func(col source.Column, v computed) {
		for i := range out.Columns {
			if strings.EqualFold(out.Columns[i].Name, col.Name) {
				out.Columns[i], b.cols[i] = col, v
				return
			}
		}
		out.Columns, b.cols = append(out.Columns, col), append(b.cols, v)
	}
	for _, it := range x.items {
		text := it.Text
		switch e := it.Expr.(type) {
		case *syntax.Star:
			for _, q := range e.Qualifier {
				if !q.EqualFold(t.ID.Name) && !q.EqualFold(t.ID.Database) {
					return nil, nil, x.bad("projection %q: a rule sees the columns of its own table only", text)
				}
			}
			for i, col := range t.Columns {
				put(col, computed{plain: i})
			}
			continue
		case *syntax.ColumnRef:
			if i, err := c.column(e.Column()); err == nil && (len(e.Parts) == 1 || e.Parts[len(e.Parts)-2].EqualFold(t.ID.Name)) {
				col := t.Columns[i]
				if it.HasAlias {
					col.Name = it.Alias.Name
				}
				if slices.Contains(reserved, strings.ToLower(col.Name)) {
					return nil, nil, x.bad("projection: the name %s is reserved", col.Name)
				}
				put(col, computed{plain: i})
				continue
			}
		}
		name := it.Alias.Name
		if !it.HasAlias {
			ref, ok := it.Expr.(*syntax.ColumnRef)
			if !ok {
				return nil, nil, x.bad("projection: %s needs a name: write %s AS name", oneLine(text), oneLine(text))
			}
			name = strings.ToLower(ref.Column())
		} else if slices.Contains(reserved, strings.ToLower(name)) || name == "" {
			return nil, nil, x.bad("projection: the name %q is reserved", name)
		}
		v, err := x.bind(c, "projection", text, it.Expr)
		if err != nil {
			return nil, nil, err
		}
		col, store, err := columnOf(name, v)
		if err != nil {
			return nil, nil, x.fault("projection", text, err)
		}
		put(col, computed{plain: -1, e: v, store: store, kinds: readsKind(v), table: tellsTable(it.Expr)})
		c.aliases[strings.ToLower(name)] = v
	}
	if shardKey != "" {
		if i := out.Column(shardKey); i >= 0 || slices.Contains(reserved, strings.ToLower(shardKey)) {
			return nil, nil, errs.Userf(errs.InvalidConfig, "route %s: the name %s of shard-key is taken; write shard-key: another_name", t.ID, shardKey)
		}
		name := expr.StringValue(t.ID.String(), "utf8mb4_0900_bin")
		name.Type.Nullable = false
		v := expr.Literal(name)
		col, store, err := columnOf(shardKey, v)
		if err != nil {
			return nil, nil, err
		}
		put(col, computed{plain: -1, e: v, store: store, table: true})
	}
	if x.filter != nil {
		c.filter = true
		v, err := x.bind(c, "filter", x.Filter, x.filter)
		if err == nil {
			v, err = expr.Condition(s.ctx, v)
		}
		if err != nil {
			return nil, nil, err
		}
		b.cond = v
	}
	if err := x.key(t, out, b); err != nil {
		return nil, nil, err
	}
	if shardKey != "" && len(out.PrimaryKey) > 0 {
		out.PrimaryKey = append([]string{shardKey}, out.PrimaryKey...)
	}
	return b, out, nil
}

// tellsTable reports whether an expression reads the source table's name.
func tellsTable(e syntax.Expr) (found bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.ColumnRef); ok && (strings.EqualFold(r.Column(), tableName) || strings.EqualFold(r.Column(), schemaName)) {
			found = true
		}
		return !found
	})
	return found
}

// TellsTable reports whether one of the columns tells the source table, so that
// rows of several tables differ in it.
func (s *Shape) TellsTable(columns []string) bool {
	return len(s.chain) > 0 && slices.ContainsFunc(columns, func(name string) bool {
		i := s.Output.Column(name)
		return i >= 0 && s.chain[0].cols[i].table
	})
}

func readsKind(e expr.Expr) (found bool) {
	expr.Walk(e, func(n expr.Expr) bool {
		_, ok := n.(kindExpr)
		found = found || ok
		return !found
	})
	return found
}

// key gives the output its primary key and checks the rule's names.
func (x *rule) key(t *source.Table, out *source.Table, b *bound) error {
	find := func(what, name string) (int, error) {
		i := out.Column(name)
		if i < 0 {
			i = slices.IndexFunc(out.Columns, func(c source.Column) bool { return strings.EqualFold(c.Name, name) })
		}
		if i < 0 {
			return -1, x.bad("%s: the projection gives no column %s", what, name)
		}
		if b.cols[i].kinds {
			return -1, x.bad("%s: %s depends on the kind of change, so that no change would find its row again", what, name)
		}
		return i, nil
	}
	var names []string
	if x.PrimaryKeys != nil {
		for _, k := range x.PrimaryKeys {
			i, err := find("primary-keys", k)
			if err != nil {
				return err
			}
			names = append(names, out.Columns[i].Name)
		}
		if len(t.PrimaryKey) > 0 {
			for _, k := range t.PrimaryKey {
				i := slices.IndexFunc(b.cols, func(c computed) bool { return c.plain >= 0 && t.Columns[c.plain].Name == k })
				if i < 0 || !slices.Contains(names, out.Columns[i].Name) {
					out.Warnings = append(slices.Clone(out.Warnings), "primary-keys leaves out "+k+" of the source's key: rows with the same "+strings.Join(names, ", ")+" overwrite each other")
					break
				}
			}
		}
	} else {
		for _, k := range t.PrimaryKey {
			i := slices.IndexFunc(out.Columns, func(c source.Column) bool { return c.Name == k })
			if i < 0 {
				i = slices.IndexFunc(b.cols, func(c computed) bool { return c.plain >= 0 && t.Columns[c.plain].Name == k })
			}
			if i < 0 {
				return x.bad("projection: it leaves out the key column %s of %s; add it, or write primary-keys", k, t.ID)
			}
			if b.cols[i].kinds {
				return x.bad("projection: the key column %s depends on the kind of change, so that no change would find its row again", k)
			}
			if b.cols[i].plain < 0 {
				out.Warnings = append(slices.Clone(out.Warnings), "the key column "+k+" is computed: rows with the same value overwrite each other")
			}
			names = append(names, out.Columns[i].Name)
		}
	}
	out.PrimaryKey = names
	for _, k := range names {
		i := out.Column(k)
		out.Columns[i].Type = out.Columns[i].Type.Required()
	}
	for _, k := range x.PartitionKeys {
		if _, err := find("partition-keys", k); err != nil {
			return err
		}
	}
	return nil
}

// KeepsKey reports whether the columns of the source's key pass as they are into
// the named columns of the lake's key: then no two source rows are one lake row.
func (s *Shape) KeepsKey(lake []string) bool {
	for _, k := range s.Source.PrimaryKey {
		kept := slices.ContainsFunc(lake, func(name string) bool {
			i := s.Output.Column(name)
			if i < 0 {
				return false
			}
			for _, b := range s.chain {
				if p := b.cols[i].plain; p < 0 || s.Source.Columns[p].Name != k {
					return false
				}
			}
			return len(s.chain) > 0 || name == k
		})
		if !kept {
			return false
		}
	}
	return true
}

// Computed reports whether a column of the output is no plain column of the
// source.
func (s *Shape) Computed(i int) bool { return len(s.chain) > 0 && s.chain[0].cols[i].plain < 0 }

// Plain reports whether rows pass as they are decoded.
func (s *Shape) Plain() bool { return s == nil || len(s.chain) == 0 && s.fit == nil }

// Keys tells the lake table's key, partition columns included, and whether it
// wants the row before an update. It sets what the source must deliver.
func (s *Shape) Keys(names []string, before bool) error {
	s.keys, s.before, s.pairs = nil, before, false
	s.Source.Identity = s.Source.Identity[:0:0]
	for _, b := range s.chain {
		s.pairs = s.pairs || b.cond != nil
	}
	for _, k := range names {
		i := s.Output.Column(k)
		if i < 0 {
			return errs.Userf(errs.UnknownColumn, "the key column %s of the lake does not come from %s", k, s.Source.ID)
		}
		s.keys = append(s.keys, i)
		at := i
		for n, b := range s.chain {
			at = b.cols[i].plain
			if at < 0 || n > 0 && at != s.chain[0].cols[i].plain {
				at = -1
				break
			}
		}
		if at < 0 {
			s.pairs = true
		} else if !slices.Contains(s.Source.Identity, at) {
			s.Source.Identity = append(s.Source.Identity, at)
		}
	}
	slices.Sort(s.Source.Identity)
	s.Source.BeforeImages = before || s.pairs
	return nil
}

// NewBatch makes an empty batch for decoded rows, with the hidden columns.
func (s *Shape) NewBatch(n int) *vector.Batch {
	b := s.Source.NewBatch(n)
	for range s.hidden {
		b.Cols = append(b.Cols, nil)
	}
	for h, at := range s.places {
		switch {
		case at < 0:
		case hidden(h) == hiddenSeed:
			b.Cols[at] = vector.New(vector.Str, n)
		default:
			b.Cols[at] = vector.New(vector.I64, n)
		}
	}
	return b
}

// Origin is where rows come from: a transaction, or with a zero Time the copy.
type Origin struct {
	Time time.Time
	Txn  string
}

// Wants reports whether rows must be stamped.
func (s *Shape) Wants() bool { return s.hidden > 0 }

// Stamp fills the hidden columns of the rows that were just decoded. seq counts
// the rows of the transaction.
func (s *Shape) Stamp(b *vector.Batch, o Origin, seq *int64) {
	millis, now := int64(0), s.born.UnixMicro()
	if !o.Time.IsZero() {
		millis, now = o.Time.UnixMilli(), o.Time.UnixMicro()
	}
	for h, at := range s.places {
		if at < 0 {
			continue
		}
		for v := b.Cols[at]; v.Len < b.Len; {
			switch hidden(h) {
			case hiddenTime:
				v.AppendI64(millis)
			case hiddenNow:
				v.AppendI64(now)
			case hiddenSeed:
				id := s.random
				if o.Txn != "" {
					id = o.Txn
				}
				*seq++
				v.AppendString(id + " " + s.Source.ID.String() + " " + strconv.FormatInt(*seq, 10))
			}
		}
	}
}

// columnOf is the column that holds an expression's values, and how they are
// stored.
func columnOf(name string, e expr.Expr) (source.Column, storer, error) {
	t := e.Type()
	c := source.Column{Name: name}
	switch t.Class {
	case expr.Null:
		return c, nil, errs.Userf(errs.InvalidConfig, "%s is always NULL and has no type; write CAST(NULL AS type)", name)
	case expr.Bool:
		c.Type = catalog.TBoolean
	case expr.String:
		// The length of a computed text means little; STRING holds all.
		c.Type = catalog.TString
		if t.Collation != "utf8mb4_0900_bin" && t.Collation != "binary" {
			c.Declared = "longtext collate " + t.Collation
		}
	default:
		var err error
		if c.Type, c.Declared, err = expr.StoredType(t); err != nil {
			return c, nil, err
		}
	}
	if _, literal := e.(*expr.LiteralExpr); (literal || isMetadata(e)) && !t.Nullable {
		c.Type, c.Required = c.Type.Required(), true
	}
	return c, storerOf(t, c.Type), nil
}

func isMetadata(e expr.Expr) bool {
	switch x := e.(type) {
	case kindExpr, uuidExpr:
		return true
	case *expr.ColumnExpr:
		return x.Name == opTS
	}
	return false
}
