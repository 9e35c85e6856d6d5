package expr

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// The oracle is a real MySQL: testdata/semantics.jsonl.gz has single statements, of
// which server/mysql compares the answers, for laws and fuzzing. A small executor of SELECT over one table, with
// WHERE, GROUP BY and ORDER BY, evaluates those that need nothing more.

type semCase struct {
	ID       string   `json:"id"`
	SQL      string   `json:"sql"`
	Ordered  bool     `json:"ordered"`
	Columns  [][]any  `json:"columns"`
	Rows     [][]any  `json:"rows"`
	Error    int      `json:"error"`
	Message  string   `json:"message"`
	Warnings [][]any  `json:"warnings"`
	Mode     *string  `json:"sql_mode"`
	Set      []string `json:"set"`
}

type semTable struct {
	names []string
	types []Type
	batch *vector.Batch
}

// errNotCovered marks statements beyond the executor of this test.
var errNotCovered = errors.New("not covered")

func notCovered(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotCovered, fmt.Sprintf(format, args...))
}

// loadTables reads tables.json.
func loadTables(t testing.TB) map[string]*semTable {
	raw := unzipped(t, "tables.json.gz")
	var in map[string]struct {
		Columns []any
		Rows    [][]any
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		t.Fatal(err)
	}
	out := map[string]*semTable{}
	ctx := NewContext()
	for name, tab := range in {
		st := &semTable{batch: &vector.Batch{Len: len(tab.Rows), Seq: -1}}
		for c, column := range tab.Columns {
			// [name, type], or a name of the columns of which all are texts.
			var col [2]string
			switch x := column.(type) {
			case []any:
				col[0], col[1] = fmt.Sprint(x[0]), fmt.Sprint(x[1])
			default:
				col = [2]string{fmt.Sprint(x), otherTypes[name+"."+fmt.Sprint(x)]}
			}
			ty := semType(col[1])
			st.names, st.types = append(st.names, col[0]), append(st.types, ty)
			// The texts of a column, converted as an INSERT would.
			v := vector.New(vector.Str, len(tab.Rows))
			for _, row := range tab.Rows {
				if row[c] == nil {
					v.AppendNull()
				} else {
					v.AppendString(fmt.Sprint(row[c]))
				}
			}
			src := Column(0, TString(1000, "utf8mb4_0900_bin"), col[0])
			b := &vector.Batch{Len: v.Len, Cols: []*vector.Vec{v}, Seq: -1}
			r, err := convert(ctx, src, ty).Eval(ctx, b)
			if err != nil {
				t.Fatal(err)
			}
			st.batch.Cols = append(st.batch.Cols, r)
		}
		out[name] = st
	}
	return out
}

// otherTypes are the types of columns that tables.json gives by name only.
var otherTypes = map[string]string{
	"emp.id": "INT NOT NULL", "emp.dept": "VARCHAR(10) COLLATE utf8mb4_general_ci", "emp.name": "VARCHAR(20) COLLATE utf8mb4_general_ci",
	"emp.salary": "DECIMAL(10,2)", "emp.bonus": "DECIMAL(8,2)", "emp.hired": "DATE", "emp.boss": "INT",
	"dept.code": "VARCHAR(10) COLLATE utf8mb4_general_ci", "dept.title": "VARCHAR(30)", "dept.budget": "DECIMAL(12,2)",
	"pair.a": "INT", "pair.b": "INT", "pair.c": "VARCHAR(5) COLLATE utf8mb4_general_ci",
}

// unzipped reads a file of testdata.
func unzipped(t testing.TB, name string) []byte {
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loadCases reads the cases; group is what stands before the number of an id.
func loadCases(t testing.TB) []*semCase { return casesOf(t, "semantics.jsonl.gz") }

func casesOf(t testing.TB, file string) []*semCase {
	var out []*semCase
	s := bufio.NewScanner(bytes.NewReader(unzipped(t, file)))
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		c := &semCase{}
		if err := json.Unmarshal(s.Bytes(), c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func semType(s string) Type {
	coll := "utf8mb4_bin"
	if i := strings.Index(s, " COLLATE "); i >= 0 {
		coll = strings.Fields(s[i+9:])[0]
		s = s[:i]
	}
	name, rest, _ := strings.Cut(strings.Fields(s)[0], "(")
	n, m := 0, 0
	_, _ = fmt.Sscanf(rest, "%d,%d", &n, &m)
	ty := Type{Nullable: !strings.Contains(s, "NOT NULL"), Coercibility: 2}
	switch name {
	case "INT":
		ty.Class, ty.Width = Int, 4
	case "TINYINT":
		ty.Class, ty.Width = Int, 1
	case "SMALLINT":
		ty.Class, ty.Width = Int, 2
	case "BIGINT":
		ty.Class, ty.Width = Int, 8
	case "BOOLEAN":
		ty.Class, ty.Width = Bool, 1
	case "DECIMAL":
		ty.Class, ty.Precision, ty.Scale = Decimal, n, m
	case "FLOAT":
		ty.Class, ty.Scale = Float, NotFixed
	case "DOUBLE":
		ty.Class, ty.Scale = Double, NotFixed
	case "VARCHAR":
		ty.Class, ty.Length, ty.Collation = String, n, coll
	case "DATE":
		ty.Class = Date
	case "DATETIME":
		ty.Class, ty.Scale = DateTime, n
	case "TIME":
		ty.Class, ty.Scale = Time, n
	default:
		panic("type " + s)
	}
	return ty
}

// semScope resolves columns of one table, aggregates and select aliases.
type semScope struct {
	ctx    *Context
	table  *semTable
	name   string
	groups map[string]Expr // by Key: GROUP BY keys
	aggs   *[]Aggregate
	aggCol int // position of the first aggregate's result
	inAgg  bool
	alias  map[string]Expr
}

func (s *semScope) Resolve(e syntax.Expr) (Expr, error) {
	if s.groups != nil && !s.inAgg {
		// A whole expression that GROUP BY computes. Bind it over the table.
		raw := *s
		raw.inAgg = true
		if x, err := Bind(s.ctx.quiet(), e, &raw); err == nil {
			if g, ok := s.groups[x.Key()]; ok {
				return g, nil
			}
		}
	}
	switch e := e.(type) {
	case *syntax.ColumnRef:
		if s.alias != nil && len(e.Parts) == 1 {
			if x, ok := s.alias[strings.ToLower(e.Column())]; ok {
				return x, nil
			}
		}
		if s.table != nil {
			for i, n := range s.table.names {
				if strings.EqualFold(n, e.Column()) {
					if s.groups != nil && !s.inAgg {
						return nil, notCovered("column outside GROUP BY")
					}
					return Column(i, s.table.types[i], "`mysql_semantics`.`"+s.name+"`.`"+n+"`"), nil
				}
			}
		}
		return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%s' in 'field list'", e.Column())
	case *syntax.FuncCall:
		if e.Over != nil || e.Is("GROUPING") {
			return nil, notCovered("window functions")
		}
		if !IsAggregate(e.Name.Object()) || s.aggs == nil || s.inAgg {
			return nil, nil
		}
		s.inAgg = true
		defer func() { s.inAgg = false }()
		spec := AggregateSpec{Name: e.Name.Object(), Distinct: e.Distinct, Separator: e.Separator}
		for _, a := range e.Args {
			x, err := Bind(s.ctx, a, s)
			if err != nil {
				return nil, err
			}
			spec.Args = append(spec.Args, x)
		}
		for _, o := range e.OrderBy {
			x, err := Bind(s.ctx, o.Expr, s)
			if err != nil {
				return nil, err
			}
			spec.Order = append(spec.Order, OrderItem{Expr: x, Desc: o.Desc})
		}
		a, err := NewAggregate(s.ctx, spec)
		if err != nil {
			return nil, err
		}
		*s.aggs = append(*s.aggs, a)
		return Column(s.aggCol+len(*s.aggs)-1, a.Type(), a.String()), nil
	case *syntax.Subquery, *syntax.Exists, *syntax.Quantified:
		return nil, notCovered("subqueries")
	case *syntax.SysVar:
		return nil, notCovered("system variables")
	case *syntax.In:
		if e.Query != nil {
			return nil, notCovered("subqueries")
		}
	}
	return nil, nil
}

type semResult struct {
	types []Type
	rows  [][]any // string, nil, or map with hex
}

// runCase executes one statement.
func runCase(ctx *Context, tables map[string]*semTable, sql string) (*semResult, error) {
	o := syntax.Options{AnsiQuotes: ctx.Mode.Has(ANSIQuotes), PipesAsConcat: ctx.Mode.Has(PipesAsConcat),
		NoBackslashEscapes: ctx.Mode.Has(NoBackslashEscapes), HighNotPrecedence: ctx.Mode.Has(HighNotPrecedence)}
	p, err := syntax.ParseOne(sql, o)
	if err != nil {
		return nil, notCovered("parser: %v", err)
	}
	q, ok := p.Statement.(*syntax.Query)
	if !ok || q.With != nil || q.Limit != nil {
		return nil, notCovered("statement")
	}
	sel, ok := q.Body.(*syntax.Select)
	if !ok || sel.Distinct || sel.Having != nil || sel.Windows != nil {
		return nil, notCovered("query")
	}
	scope := &semScope{ctx: ctx}
	b := oneRow()
	if sel.From != nil {
		tn, ok := sel.From.(*syntax.TableName)
		if !ok || tables[tn.Name.Object()] == nil {
			return nil, notCovered("FROM")
		}
		scope.table, scope.name = tables[tn.Name.Object()], tn.Name.Object()
		c := *scope.table.batch
		b = &c
	}
	if sel.Where != nil {
		w, err := Bind(ctx, sel.Where, scope)
		if err != nil {
			return nil, err
		}
		if w, err = Condition(ctx, w); err != nil {
			return nil, err
		}
		if b.Sel, err = Filter(ctx, w, b, nil); err != nil {
			return nil, err
		}
		if b.Sel == nil {
			b.Sel = []uint16{}
		}
	}
	aggregate := sel.GroupBy != nil
	for _, it := range sel.Items {
		syntax.Walk(it.Expr, func(n syntax.Node) bool {
			if f, ok := n.(*syntax.FuncCall); ok && f.Over == nil && IsAggregate(f.Name.Object()) {
				aggregate = true
			}
			return true
		})
	}
	var keys []Expr
	var aggs []Aggregate
	if aggregate {
		if sel.GroupBy != nil {
			if sel.GroupBy.WithRollup {
				return nil, notCovered("ROLLUP")
			}
			for _, g := range sel.GroupBy.Items {
				if g.Kind != syntax.GroupExpr {
					return nil, notCovered("grouping sets")
				}
				e := g.Sets[0][0]
				if n, ok := e.(*syntax.NumberLit); ok {
					k, _ := n.Uint64()
					if k < 1 || int(k) > len(sel.Items) {
						return nil, notCovered("GROUP BY position")
					}
					e = sel.Items[k-1].Expr
				}
				if c, ok := e.(*syntax.ColumnRef); ok {
					for _, it := range sel.Items {
						if scope.table != nil && slices.ContainsFunc(scope.table.names, func(n string) bool { return strings.EqualFold(n, c.Column()) }) {
							break // a column of the table wins over an alias
						}
						if it.HasAlias && strings.EqualFold(it.Alias.Name, c.Column()) {
							e = it.Expr
						}
					}
				}
				if f, ok := e.(*syntax.FuncCall); ok && IsAggregate(f.Name.Object()) {
					return nil, notCovered("GROUP BY an aggregate")
				}
				x, err := Bind(ctx, e, scope)
				if err != nil {
					return nil, err
				}
				keys = append(keys, x)
			}
		}
		scope.groups = map[string]Expr{}
		for i, k := range keys {
			raw := k.Key()
			if !isColumn(k) {
				k = Materialized(ctx, k)
				keys[i] = k
			}
			scope.groups[raw] = Column(i, k.Type(), k.String())
		}
		scope.aggs, scope.aggCol = &aggs, len(keys)
	}
	var items []Expr
	alias := map[string]Expr{}
	for _, it := range sel.Items {
		if _, ok := it.Expr.(*syntax.Star); ok {
			if scope.table == nil || aggregate {
				return nil, notCovered("*")
			}
			for i, n := range scope.table.names {
				items = append(items, Column(i, scope.table.types[i], n))
			}
			continue
		}
		x, err := Bind(ctx, it.Expr, scope)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		alias[strings.ToLower(it.Name())] = x
	}
	var orders []Expr
	var desc []bool
	scope.alias = alias
	for _, ob := range q.OrderBy {
		var x Expr
		if n, ok := ob.Expr.(*syntax.NumberLit); ok && n.Kind == syntax.Integer {
			k, _ := n.Uint64()
			if k < 1 || int(k) > len(items) {
				return nil, notCovered("ORDER BY position")
			}
			x = items[k-1]
		} else if x, err = Bind(ctx, ob.Expr, scope); err != nil {
			return nil, err
		}
		orders, desc = append(orders, x), append(desc, ob.Desc)
	}
	if aggregate {
		if b, err = groupBy(ctx, b, keys, aggs); err != nil {
			return nil, err
		}
	}
	r := &semResult{}
	n := b.Rows()
	cols := make([]*vector.Vec, len(items))
	for i, x := range items {
		if cols[i], err = x.Eval(ctx, b); err != nil {
			return nil, err
		}
		r.types = append(r.types, x.Type())
	}
	sortKeys := make([]string, n)
	for i, x := range orders {
		v, err := x.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		for k := range n {
			key := AppendSortKey(nil, x.Type(), v, b.Row(k))
			if desc[i] {
				for j := range key {
					key[j] = ^key[j]
				}
			}
			sortKeys[k] += string(key)
		}
	}
	pos := make([]int, n)
	for i := range pos {
		pos[i] = i
	}
	sort.SliceStable(pos, func(i, j int) bool { return sortKeys[pos[i]] < sortKeys[pos[j]] })
	for _, k := range pos {
		row := make([]any, len(items))
		for c, v := range cols {
			if err := checkVec(items[c].Type(), v, b.Len); err != nil {
				return nil, fmt.Errorf("%s: %w", items[c], err)
			}
			if !v.IsNull(b.Row(k)) {
				s := AppendText(nil, items[c].Type(), v, b.Row(k), ctx.Zone)
				row[c] = string(s)
				if cl := items[c].Type().Class; cl == Bytes || cl == Bit {
					if !utf8.Valid(s) || !isPrintable(string(s)) {
						row[c] = map[string]any{"hex": hex.EncodeToString(s)}
					}
				}
			}
		}
		r.rows = append(r.rows, row)
	}
	return r, nil
}

func isPrintable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// checkVec checks the contract of results.
func checkVec(t Type, v *vector.Vec, n int) error {
	if v.Len != n {
		return fmt.Errorf("%d rows in the result, want %d", v.Len, n)
	}
	if k := t.Physical(); v.Kind != k {
		return fmt.Errorf("kind %s, want %s of %s", v.Kind, k, t.sqlName())
	}
	return nil
}

func groupBy(ctx *Context, b *vector.Batch, keys []Expr, aggs []Aggregate) (*vector.Batch, error) {
	n := b.Rows()
	ids := make([]uint32, n)
	groups := 1
	var first []int
	vecs := make([]*vector.Vec, len(keys))
	if len(keys) > 0 {
		index := map[string]uint32{}
		text := make([]string, n)
		for i, k := range keys {
			v, err := k.Eval(ctx, b)
			if err != nil {
				return nil, err
			}
			vecs[i] = v
			for r := range n {
				text[r] += string(AppendSortKey(nil, k.Type(), v, b.Row(r)))
			}
		}
		for r := range n {
			id, ok := index[text[r]]
			if !ok {
				id = uint32(len(index))
				index[text[r]] = id
				first = append(first, b.Row(r))
			}
			ids[r] = id
		}
		groups = len(index)
	}
	out := &vector.Batch{Len: groups, Seq: -1}
	for i, k := range keys {
		v := vector.New(k.Type().Physical(), groups)
		for _, r := range first {
			v.AppendFrom(vecs[i], r)
		}
		out.Cols = append(out.Cols, v)
	}
	for _, a := range aggs {
		s := a.NewState(ctx)
		s.Grow(groups)
		args := make([]*vector.Vec, len(a.Args()))
		for i, x := range a.Args() {
			v, err := x.Eval(ctx, b)
			if err != nil {
				return nil, err
			}
			args[i] = v
		}
		if err := s.Update(ids, args, b.Sel, n); err != nil {
			return nil, err
		}
		v, err := s.Result(0, groups)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	return out, nil
}

// resultClass is the class of a column as the cases name it.
func resultClass(t Type) []any {
	switch t.Class {
	case Bool:
		return []any{"int"}
	case Int:
		if t.Unsigned {
			return []any{"uint"}
		}
		return []any{"int"}
	case Decimal:
		return []any{"decimal", float64(t.Scale)}
	case Float:
		return []any{"float"}
	case Double:
		return []any{"double"}
	case Date:
		return []any{"date"}
	case DateTime, Timestamp:
		return []any{"datetime", float64(t.Scale)}
	case Time:
		return []any{"time", float64(t.Scale)}
	case Year:
		return []any{"year"}
	case JSON, Nested:
		return []any{"json"}
	case Null:
		return []any{"null"}
	case Bit:
		return []any{"bit"}
	case Bytes:
		return []any{"binary"}
	}
	return []any{"string"}
}

// codes are MySQL's numbers of kinds.
var codes = map[errs.Kind]int{errs.NotSupported: 1235, errs.UnknownColumn: 1054, errs.UnknownFunction: 1305, errs.WrongArgCount: 1582, errs.WrongArguments: 1210,
	errs.OutOfRange: 1690, errs.DivisionByZero: 1365, errs.TruncatedValue: 1292, errs.WrongValue: 1525, errs.ValueOutOfRange: 1264, errs.InvalidJSON: 3140,
	errs.IncorrectDecimal: 1366, errs.OperandColumns: 1241, errs.CollationMix: 1267, errs.CollationMix3: 1270, errs.CollationMixAll: 1271, errs.UnknownCollation: 1273, errs.UnknownCharset: 1115, errs.CharsetForCollation: 1253,
	errs.TooBigPrecision: 1426, errs.TooBigScale: 1425, errs.WrongFieldSpec: 1427, errs.InvalidGroupBy: 1111, errs.Syntax: 1064, errs.UnknownTimeZone: 1298,
	errs.Deprecated: 1287, errs.WrongValueForFunc: 1411, errs.DatetimeOverflow: 1441, errs.DateOutOfRange: 6527, errs.GroupConcatCut: 1260, errs.InvalidCharacter: 1300, errs.ResultTooLong: 1301,
	errs.InvalidLogarithm: 3020, errs.IllegalValue: 1367, errs.InvalidJSONArg: 3141, errs.JSONDepth: 3157, errs.JSONArgType: 3064, errs.JSONBoolean: 3986, errs.JSONNotCell: 3165, errs.JSONVacuousPath: 3153, errs.RegexpSyntax: 3688, errs.RegexpEscape: 3689, errs.RegexpParen: 3691, errs.RegexpInterval: 3692, errs.RegexpMaxMin: 3693, errs.RegexpBracket: 3696, errs.RegexpRange: 3697, errs.RegexpCharset: 3995, errs.DeprecatedDelimiter: 4095, errs.SuperfluousDelimiter: 4096, errs.DeprecatedCharset: 3719, errs.DeprecatedNational: 3720, errs.InvalidJSONCast: 3156,
	errs.UnsignedComplement: 1105, errs.InvalidJSONPath: 3143, errs.InvalidJSONCharset: 3144, errs.InvalidJSONType: 3146, errs.JSONKeyNull: 3158,
	errs.JSONPathWildcard: 3149, errs.JSONOneOrAll: 3154, errs.JSONMissing: 3966, errs.InvalidRegexp: 3685, errs.RegexpIndex: 3686}

func same(want, got any, class string) bool {
	if fmt.Sprint(want) == fmt.Sprint(got) && (want == nil) == (got == nil) {
		return true
	}
	w, ok1 := want.(string)
	g, ok2 := got.(string)
	if !ok1 || !ok2 {
		return false
	}
	if class == "double" || class == "float" {
		a, e1 := strconv.ParseFloat(w, 64)
		b, e2 := strconv.ParseFloat(g, 64)
		return e1 == nil && e2 == nil && (a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)))
	}
	return false
}

// sameNumber: only trailing zeros differ.
func sameNumber(want, got any) bool {
	w, ok1 := want.(string)
	g, ok2 := got.(string)
	if !ok1 || !ok2 {
		return fmt.Sprint(want) == fmt.Sprint(got)
	}
	a, c1 := parseDec([]byte(w))
	b, c2 := parseDec([]byte(g))
	s := max(a.scale, b.scale)
	return c1 && c2 && a.rescale(s).Cmp(b.rescale(s)) == 0
}

// verdict of a case.
const (
	pass      = "pass"
	wrong     = "wrong"
	refused   = "refused"
	skipped   = "not covered"
	scaleOnly = "scale"
	badType   = "type"
	badWarn   = "warnings"
	different = "deliberate"
)

func judge(c *semCase, tables map[string]*semTable) (verdict, detail string) {
	ctx, ok := contextOf(c)
	if !ok {
		return skipped, "session settings"
	}
	r, err := runCase(ctx, tables, c.SQL)
	if err != nil {
		if errors.Is(err, errNotCovered) {
			return skipped, err.Error()
		}
		if errs.ClassOf(err) == errs.Internal {
			return wrong, "internal: " + err.Error()
		}
		if errs.ClassOf(err) == errs.Unsupported {
			return refused, err.Error()
		}
		if c.Error != 0 {
			if code := codes[errs.KindOf(err)]; code != c.Error {
				return wrong, fmt.Sprintf("error %d %s, want %d %s", code, err, c.Error, c.Message)
			}
			return pass, ""
		}
		return wrong, fmt.Sprintf("error %v, want %v", err, c.Rows)
	}
	if c.Error != 0 {
		return wrong, fmt.Sprintf("%v, want error %d %s", r.rows, c.Error, c.Message)
	}
	want, got := c.Rows, r.rows
	if !c.Ordered {
		want, got = sorted(want), sorted(got)
	}
	if len(want) != len(got) {
		return wrong, fmt.Sprintf("%d rows %v, want %d %v", len(got), got, len(want), want)
	}
	scale := false
	for i := range want {
		for k := range want[i] {
			if !same(want[i][k], got[i][k], fmt.Sprint(c.Columns[k][1])) {
				if c.Columns[k][1] == "decimal" && sameNumber(want[i][k], got[i][k]) {
					scale = true
					continue
				}
				return wrong, fmt.Sprintf("%v, want %v", got[i], want[i])
			}
		}
	}
	for i, w := range c.Columns {
		g := resultClass(r.types[i])
		if len(g) > 1 && g[0] == "datetime" && g[1].(float64) > 6 {
			g[1] = 6.0
		}
		if w[1] == nil || fmt.Sprint(w[1:]) == fmt.Sprint(g) || (w[1] == "int" || w[1] == "year") && (g[0] == "int" || g[0] == "year") {
			continue
		}
		return badType, fmt.Sprintf("column %d: %v, want %v; %v", i, g, w[1:], got)
	}
	if scale {
		return scaleOnly, fmt.Sprintf("%v, want %v", got, want)
	}
	wa, wb := map[string]bool{}, map[string]bool{}
	for _, w := range c.Warnings {
		wa[fmt.Sprint(w[0], " ", w[1])] = true
	}
	for _, w := range ctx.Warnings.List() {
		wb[fmt.Sprint(w.Level, " ", codes[w.Kind])] = true
	}
	if fmt.Sprint(wa) != fmt.Sprint(wb) {
		return badWarn, fmt.Sprintf("%v, want %v", wb, c.Warnings)
	}
	return pass, ""
}

func sorted(rows [][]any) [][]any {
	out := append([][]any(nil), rows...)
	sort.Slice(out, func(i, j int) bool { return fmt.Sprint(out[i]) < fmt.Sprint(out[j]) })
	return out
}

// contextOf is the session that a case assumes; ok is false for settings that
// this test does not know.
func contextOf(c *semCase) (ctx *Context, ok bool) {
	ctx = NewContext()
	ctx.Collation = "utf8mb4_general_ci"
	ctx.Now = time.Date(2024, 6, 1, 10, 20, 30, 0, time.UTC)
	if c.Mode != nil {
		m, err := ParseSQLMode(*c.Mode)
		if err != nil {
			return nil, false
		}
		ctx.Mode = m
	}
	for _, s := range c.Set {
		_, val, _ := strings.Cut(s, "=")
		val = strings.Trim(strings.TrimSpace(val), "'")
		switch {
		case s == "SET NAMES utf8mb4":
			ctx.Collation = DefaultCollation
		case strings.HasPrefix(s, "SET timestamp"):
			n, _ := strconv.ParseFloat(val, 64)
			ctx.Now = time.UnixMicro(int64(n * 1e6)).UTC()
		case strings.HasPrefix(s, "SET time_zone"):
			z, err := ParseTimeZone(val)
			if err != nil {
				return nil, false
			}
			ctx.Zone = z
		default:
			return nil, false
		}
	}
	return ctx, true
}

var update = flag.Bool("update", false, "write the golden files anew")
