package expr

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// FuzzEval binds and evaluates any expression over the test's table: nothing
// may panic, and results must have the shape that their type says.
func FuzzEval(f *testing.F) {
	for i, c := range loadCases(f) {
		if i%5 != 0 {
			continue
		}
		p, err := syntax.ParseOne(c.SQL, syntax.Options{})
		if err != nil {
			continue
		}
		if q, ok := p.Statement.(*syntax.Query); ok {
			if sel, ok := q.Body.(*syntax.Select); ok {
				for _, it := range sel.Items {
					f.Add(it.Text)
				}
			}
		}
	}
	tables := loadTables(f)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := syntax.ParseExpr(text, syntax.Options{})
		if err != nil {
			return
		}
		slow := false
		syntax.Walk(e, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.FuncCall); ok && (c.Is("SLEEP") || c.Is("REPEAT") || c.Is("LPAD") || c.Is("RPAD") || c.Is("SPACE") || c.Is("UUID")) {
				slow = true
			}
			return true
		})
		if slow {
			return
		}
		ctx := NewContext()
		ctx.MaxAllowedPacket = 1 << 16
		scope := &semScope{ctx: ctx, table: tables["v"], name: "v"}
		x, err := Bind(ctx, e, scope)
		if err != nil {
			if errs.ClassOf(err) == errs.Internal {
				if _, ok := err.(interface{ Unwrap() error }); !ok {
					t.Errorf("%s: internal error %v", text, err)
				}
			}
			return
		}
		_, _, _ = x.Key(), x.String(), x.Traits()
		b := *tables["v"].batch
		for range 2 {
			v, err := x.Eval(ctx, &b)
			if err == nil {
				if err := checkVec(x.Type(), v, b.Len); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				for k := range b.Rows() {
					i := b.Row(k)
					if !v.IsNull(i) {
						_ = AppendText(nil, x.Type(), v, i, nil)
					}
					_ = AppendSortKey(nil, x.Type(), v, i)
				}
			}
			b.Sel = []uint16{2, 5, 9}
		}
		ToPredicate(ctx, x, func(int) (PushColumn, bool) { return PushColumn{}, false })
	})
}

// FuzzJSON: what parses prints as text that parses to the same text.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": [1, 2.5, "x\u00e9", null, true], "bb": {}}`)
	f.Add(`[1e300, -0.0, 18446744073709551615]`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseJSON([]byte(s))
		if err != nil {
			return
		}
		text := v.appendText(nil)
		w, err := parseJSON(text)
		if err != nil {
			t.Fatalf("%q prints as %q, which does not parse: %s", s, text, err.msg)
		}
		if again := w.appendText(nil); string(again) != string(text) {
			t.Fatalf("%q prints as %q, then as %q", s, text, again)
		}
		if compareValues(v, w) != 0 {
			t.Fatalf("%q differs from itself printed", s)
		}
		if a, b := v.appendKey(nil), w.appendKey(nil); string(a) != string(b) {
			t.Fatalf("%q has two keys", s)
		}
	})
}

// FuzzTemporal: no text or number makes the readers of dates panic, and what
// they accept prints as a text that they accept.
func FuzzTemporal(f *testing.F) {
	f.Add("2024-01-31 10:20:30.5", "%Y-%m-%d", int64(20240131))
	f.Add("-838:59:59.999999", "%X%V %W", int64(-1))
	f.Fuzz(func(t *testing.T, s, format string, n int64) {
		for _, p := range []parsed{parseDateTime([]byte(s), false), parseDateTime([]byte(s), true), parseTime([]byte(s)), numberToDateTime(n), numberToTime(n)} {
			switch p.kind {
			case Date, DateTime:
				if p.offset {
					continue
				}
				text := appendDateTime(nil, p.us, 6)
				if q := parseDateTime(text, false); q.us != p.us || q.kind != DateTime {
					t.Errorf("%q and %d: %q reads back as %v", s, n, text, q)
				}
			case Time:
				text := appendTime(nil, p.us, 6)
				if q := parseTime(text); q.us != p.us || q.kind != Time {
					t.Errorf("%q and %d: %q reads back as %v", s, n, text, q)
				}
			}
		}
		var x dateFields
		if _, ok := x.read([]byte(s), []byte(format)); ok {
			x.finish()
		}
		_, _ = appendFormat(nil, []byte(format), 19000, 5*usPerHour, false)
		_, _ = parsePath(format)
		_, _, _ = intervalFields([]byte(s), 4, true)
		if m, err := compileRegexp(format, "", true, "x"); err == nil {
			_, _ = m.matches(NewContext(), []byte(s))
		}
		_ = compileLike([]byte(format), '\\', collations["utf8mb4_general_ci"].ready()).match([]byte(s))
		_ = vector.BatchRows
	})
}
