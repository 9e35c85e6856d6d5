package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// jsonFunc is a function over JSON documents, a row at a time.
type jsonFunc struct {
	name       string
	min, max   int
	usage, doc string
	ret        func(ctx *Context) Type
	// nullAny: NULL where an argument is; else row sees NULLs.
	row func(r *jsonRow) (any, error)
}

// jsonRow gives a function its arguments: documents, values, paths and texts of
// row i. A nil document or a false ok is NULL.
type jsonRow struct {
	ev    *evaluation
	i     int
	paths map[string]jsonPath
}

func (r *jsonRow) null(k int) bool { return r.ev.args[k].IsNull(r.i) }

func (r *jsonRow) doc(k int) (*jsonValue, error) {
	return jsonDoc(r.ev.ctx, r.ev.c.name, k+1, r.ev.c.args[k].Type(), r.ev.args[k], r.i)
}

func (r *jsonRow) val(k int) (*jsonValue, error) {
	return jsonScalar(r.ev.ctx, r.ev.c.args[k].Type(), r.ev.args[k], r.i)
}

func (r *jsonRow) text(k int) string {
	return string(texts(r.ev.ctx, r.ev.c.args[k].Type(), r.ev.args[k])(r.i))
}

// path parses argument k; plain refuses wildcards.
func (r *jsonRow) path(k int, plain bool) (jsonPath, error) {
	s := r.text(k)
	p, ok := r.paths[s]
	if !ok {
		var err error
		if p, err = parsePath(s); err != nil {
			return nil, err
		}
		r.paths[s] = p
	}
	if plain && p.wild() {
		return nil, errs.Userf(errs.JSONPathWildcard, "In this situation, path expressions may not contain the * and ** tokens or an array range.")
	}
	return p, nil
}

func (r *jsonRow) anyNull(from int) bool {
	for k := from; k < len(r.ev.args); k++ {
		if r.null(k) {
			return true
		}
	}
	return false
}

// jsonValues takes the casts off the values of functions that make JSON of SQL
// values: CAST(x AS JSON) of a date or decimal is the JSON value that they make of
// x, and its text would not tell its type or digits.
func jsonValues(ctx *Context, name string, args []Expr) []Expr {
	from, step := -1, 2
	switch name {
	case "JSON_ARRAY":
		from, step = 0, 1
	case "JSON_OBJECT":
		from = 1
	case "MEMBER OF":
		from = 0
	case "JSON_SET", "JSON_INSERT", "JSON_REPLACE", "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT":
		from = 2
	}
	if from < 0 {
		return args
	}
	out := append([]Expr(nil), args...)
	for i := from; i < len(out); i += step {
		if calledName(out[i]) == "STRCMP" {
			out[i] = relabel(out[i], TBool) // a truth value to JSON, though it may be -1
			continue
		}
		if x := ownDigits(ctx, out[i], TJSON); x != nil {
			out[i] = x
			continue
		}
		switch jsonOrigin(out[i]) {
		case jDate, jTime, jDateTime, jNumber:
			e := out[i]
			if l, ok := e.(*LiteralExpr); ok {
				e = l.folded
			}
			out[i] = e.Children()[0]
		}
	}
	return out
}

func jsonFn(f jsonFunc) {
	register(&function{name: f.name, min: f.min, max: f.max, class: "json", usage: f.usage, doc: f.doc,
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			args = jsonValues(ctx, f.name, args)
			for _, a := range args {
				if k := jsonOrigin(a); k != jNull && f.name != "JSON_TYPE" && f.name != "JSON_ARRAY" && f.name != "JSON_OBJECT" {
					return nil, errs.Unsupportedf(-1, "%s of JSON made from dates, times, decimals and binary strings", f.name)
				}
			}
			switch f.name {
			case "JSON_SEARCH", "JSON_CONTAINS", "JSON_OVERLAPS", "MEMBER OF":
				// These look at all scalars, also at those inside.
				for _, a := range args {
					if madeOfTimes(a) {
						return nil, errs.Unsupportedf(-1, "%s of JSON made from dates, times, decimals and binary strings", f.name)
					}
				}
			}
			if f.name == "JSON_SCHEMA_VALID" && args[0].Type().Class == Null && IsConst(args[0]) {
				return Literal(NullValue()), nil // MySQL decides it before the statement runs
			}
			t := f.ret(ctx)
			c := newCall(f.name, t, nil, args...)
			c.nulls, c.typ.Nullable = true, true
			k := t.Physical()
			c.kern = func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(k)
				r := &jsonRow{ev: ev, paths: map[string]jsonPath{}}
				var buf []byte
				return out, ev.each(func(i int) error {
					r.i = i
					x, err := f.row(r)
					if err != nil {
						return err
					}
					switch x := x.(type) {
					case nil:
						out.SetNull(i)
					case *jsonValue:
						if x == nil {
							out.SetNull(i)
							return nil
						}
						buf = x.appendText(buf[:0])
						out.SetBytes(i, buf)
					case bool:
						if x {
							out.I8s[i] = 1
						}
					case int:
						out.I64s[i] = int64(x)
					case string:
						out.SetBytes(i, []byte(x))
					}
					return nil
				})
			}
			return c, nil
		}})
}

func retJSONType(*Context) Type { return TJSON }

func retJSONInt(*Context) Type { return TBigInt }

func retJSONBool(*Context) Type { return TBool }

func retJSONText(*Context) Type {
	t := TString(1<<30, "utf8mb4_bin")
	t.Coercibility = 4
	return t
}

func init() {
	extract := func(r *jsonRow) (any, error) {
		if r.anyNull(0) {
			return nil, nil
		}
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		var all []*jsonValue
		several := len(r.ev.args) > 2
		for k := 1; k < len(r.ev.args); k++ {
			p, err := r.path(k, false)
			if err != nil {
				return nil, err
			}
			several = several || p.wild()
			all = append(all, p.all(d)...)
		}
		switch {
		case len(all) == 0:
			return nil, nil
		case several:
			return &jsonValue{kind: jArray, arr: all}, nil
		}
		return all[0], nil
	}
	jsonFn(jsonFunc{"JSON_EXTRACT", 2, -1, "JSON_EXTRACT(doc, path, …)", "What the paths name, in an array when that may be several values; also column -> path.", retJSONType, extract})
	alias("->", "JSON_EXTRACT")
	register(&function{name: "->>", min: 2, max: 2, class: "json", usage: "column ->> path", doc: "JSON_UNQUOTE(JSON_EXTRACT(column, path)).",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			x, err := Call(ctx, "JSON_EXTRACT", args...)
			if err != nil {
				return nil, err
			}
			return Call(ctx, "JSON_UNQUOTE", x)
		}})
	jsonFn(jsonFunc{"JSON_UNQUOTE", 1, 1, "JSON_UNQUOTE(x)", "A JSON string without its quotes; anything else as it is.", retJSONText, func(r *jsonRow) (any, error) {
		if r.null(0) {
			return nil, nil
		}
		t := r.ev.c.args[0].Type()
		s := r.text(0)
		if t.Class == JSON {
			v, err := r.doc(0)
			if err != nil {
				return nil, err
			}
			if v.kind == jString {
				return v.s, nil
			}
			return s, nil
		}
		if !isString(t) {
			return nil, jsonArgType(r, 1)
		}
		if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
			return s, nil
		}
		v, err := parseJSON([]byte(s))
		if err != nil {
			return nil, invalidJSON("json_unquote", 1, err)
		}
		return v.s, nil
	}})
	jsonFn(jsonFunc{"JSON_VALUE", 2, 2, "JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])", "The value that a path names, as VARCHAR(512) or another type; NULL, an error or DEFAULT x where there is none or it does not fit.", retJSONText, func(r *jsonRow) (any, error) {
		x, err := extract(r)
		v, ok := x.(*jsonValue)
		if err != nil || !ok || v.kind == jNull {
			return nil, err
		}
		if v.kind == jString {
			return v.s, nil
		}
		return string(v.appendText(nil)), nil
	}})
	jsonFn(jsonFunc{"JSON_TYPE", 1, 1, "JSON_TYPE(doc)", "OBJECT, ARRAY, STRING, INTEGER, DOUBLE and so on.", func(ctx *Context) Type { return TString(51, "utf8mb4_0900_bin") }, func(r *jsonRow) (any, error) {
		if r.null(0) {
			return nil, nil
		}
		if k := jsonOrigin(r.ev.c.args[0]); k != jNull {
			return (&jsonValue{kind: k, num: number{class: Decimal}}).typeName(), nil
		}
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		if name := d.typeName(); name != "INTEGER" || !unsignedOrigin(r.ev.c.args[0]) {
			return name, nil
		}
		return "UNSIGNED INTEGER", nil
	}})
	jsonFn(jsonFunc{"JSON_VALID", 1, 1, "JSON_VALID(x)", "Whether x is JSON.", retJSONBool, func(r *jsonRow) (any, error) {
		if r.null(0) {
			return nil, nil
		}
		switch t := r.ev.c.args[0].Type(); {
		case t.Class == JSON:
			return true, nil
		case t.Class == String:
			_, err := parseJSON(r.ev.args[0].Bytes(r.i))
			return err == nil, nil
		}
		return false, nil
	}})
	// withPath looks at the document, or at what an optional path names in it.
	withPath := func(f func(v *jsonValue) any) func(r *jsonRow) (any, error) {
		return func(r *jsonRow) (any, error) {
			if r.null(0) {
				return nil, nil
			}
			fn := r.ev.c.name
			if fn == "JSON_LENGTH" && len(r.ev.args) > 1 {
				fn = "JSON_EXTRACT" // what MySQL makes of it, and names in errors
			}
			d, err := jsonDoc(r.ev.ctx, fn, 1, r.ev.c.args[0].Type(), r.ev.args[0], r.i)
			if err != nil || d == nil {
				return nil, err
			}
			if len(r.ev.args) > 1 {
				if r.null(1) {
					return nil, nil
				}
				p, err := r.path(1, r.ev.c.name != "JSON_LENGTH")
				if err != nil {
					return nil, err
				}
				all := p.all(d)
				if len(all) == 0 {
					return nil, nil
				}
				if d = all[0]; p.wild() {
					d = &jsonValue{kind: jArray, arr: all}
				}
			}
			return f(d), nil
		}
	}
	jsonFn(jsonFunc{"JSON_LENGTH", 1, 2, "JSON_LENGTH(doc[, path])", "The number of elements or members, 1 for a scalar.", retJSONInt, withPath(func(v *jsonValue) any { return v.length() })})
	jsonFn(jsonFunc{"JSON_DEPTH", 1, 1, "JSON_DEPTH(doc)", "The greatest depth of nesting.", retJSONInt, withPath(func(v *jsonValue) any { return v.depth() })})
	jsonFn(jsonFunc{"JSON_KEYS", 1, 2, "JSON_KEYS(doc[, path])", "The names of an object's members.", retJSONType, withPath(func(v *jsonValue) any {
		if v.kind != jObject {
			return nil
		}
		k := &jsonValue{kind: jArray}
		for _, m := range v.obj {
			k.arr = append(k.arr, &jsonValue{kind: jString, s: m.key})
		}
		return k
	})})
	jsonFn(jsonFunc{"JSON_PRETTY", 1, 1, "JSON_PRETTY(doc)", "The document in lines with indentation.", retJSONText, withPath(func(v *jsonValue) any { return string(v.appendPretty(nil, 0)) })})
	jsonFn(jsonFunc{"JSON_QUOTE", 1, 1, "JSON_QUOTE(s)", "A text as a JSON string.", retJSONText, func(r *jsonRow) (any, error) {
		if r.null(0) {
			return nil, nil
		}
		if !isString(r.ev.c.args[0].Type()) {
			return nil, jsonArgType(r, 1)
		}
		return string(appendJSONString(nil, r.ev.args[0].Bytes(r.i))), nil
	}})
	jsonFn(jsonFunc{"JSON_CONTAINS", 2, 3, "JSON_CONTAINS(doc, candidate[, path])", "Whether the document, or what a path names in it, contains another.", retJSONBool, func(r *jsonRow) (any, error) {
		if r.anyNull(0) {
			return nil, nil
		}
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		c, err := r.doc(1)
		if err != nil || c == nil {
			return nil, err
		}
		if len(r.ev.args) > 2 {
			p, err := r.path(2, true)
			if err != nil {
				return nil, err
			}
			all := p.all(d)
			if len(all) == 0 {
				return nil, nil
			}
			d = all[0]
		}
		return contains(d, c), nil
	}})
	jsonFn(jsonFunc{"JSON_CONTAINS_PATH", 3, -1, "JSON_CONTAINS_PATH(doc, 'one' | 'all', path, …)", "Whether one or all of the paths name something.", retJSONBool, func(r *jsonRow) (any, error) {
		if r.null(0) || r.null(1) {
			return nil, nil
		}
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		one, err := oneOrAll(r.text(1), "json_contains_path")
		if err != nil {
			return nil, err
		}
		for k := 2; k < len(r.ev.args); k++ {
			if r.null(k) {
				return nil, nil
			}
			p, err := r.path(k, false)
			if err != nil {
				return nil, err
			}
			if some := len(p.all(d)) > 0; some == one {
				return one, nil
			}
		}
		return !one, nil
	}})
	jsonFn(jsonFunc{"JSON_OVERLAPS", 2, 2, "JSON_OVERLAPS(a, b)", "Whether two documents have an element or member in common.", retJSONBool, func(r *jsonRow) (any, error) {
		a, err := r.doc(0)
		if err != nil || a == nil {
			return nil, err
		}
		b, err := r.doc(1)
		if err != nil || b == nil {
			return nil, err
		}
		return overlaps(a, b), nil
	}})
	jsonFn(jsonFunc{"MEMBER OF", 2, 2, "x MEMBER OF (array)", "Whether x is an element of a JSON array.", retJSONBool, func(r *jsonRow) (any, error) {
		if r.null(0) || r.null(1) {
			return nil, nil
		}
		x, err := r.val(0)
		if err != nil {
			return nil, err
		}
		d, err := jsonDoc(r.ev.ctx, "member of", 2, r.ev.c.args[1].Type(), r.ev.args[1], r.i)
		if err != nil || d == nil {
			return nil, err
		}
		if d.kind != jArray {
			return compareValues(x, d) == 0, nil
		}
		for _, y := range d.arr {
			if compareValues(x, y) == 0 {
				return true, nil
			}
		}
		return false, nil
	}})
	jsonFn(jsonFunc{"JSON_ARRAY", 0, -1, "JSON_ARRAY(x, …)", "An array of values.", retJSONType, func(r *jsonRow) (any, error) {
		a := &jsonValue{kind: jArray}
		for k := range r.ev.args {
			x, err := r.val(k)
			if err != nil {
				return nil, err
			}
			a.arr = append(a.arr, x)
		}
		return a, nil
	}})
	jsonFn(jsonFunc{"JSON_OBJECT", 0, -1, "JSON_OBJECT(key, x, …)", "An object of keys and values.", retJSONType, func(r *jsonRow) (any, error) {
		if len(r.ev.args)%2 != 0 {
			return nil, wrongCount("JSON_OBJECT")
		}
		o := &jsonValue{kind: jObject}
		for k := 0; k < len(r.ev.args); k += 2 {
			if r.null(k) {
				return nil, errs.Userf(errs.JSONKeyNull, "JSON documents may not contain NULL member names.")
			}
			x, err := r.val(k + 1)
			if err != nil {
				return nil, err
			}
			o.obj = append(o.obj, jsonMember{r.text(k), x})
		}
		o.order()
		return o, nil
	}})
	change := func(name, doc string, f func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue) {
		jsonFn(jsonFunc{name, 3, -1, name + "(doc, path, x, …)", doc, retJSONType, func(r *jsonRow) (any, error) {
			if len(r.ev.args)%2 == 0 {
				return nil, wrongCount(lower(name))
			}
			if r.null(0) {
				return nil, nil
			}
			d, err := r.doc(0)
			if err != nil || d == nil {
				return nil, err
			}
			for k := 1; k < len(r.ev.args); k += 2 {
				if r.null(k) {
					return nil, nil
				}
				p, err := r.path(k, true)
				if err != nil {
					return nil, err
				}
				x, err := r.val(k + 1)
				if err != nil {
					return nil, err
				}
				if name == "JSON_ARRAY_INSERT" && (len(p) == 0 || p[len(p)-1].kind != legCell) {
					return nil, errs.Userf(errs.JSONNotCell, "A path expression is not a path to a cell in an array.")
				}
				d = f(d, p, x)
			}
			return d, nil
		}})
	}
	change("JSON_SET", "The document with values set: replaced where there is one, else added.", func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue { return edit(d, p, x, true, true) })
	change("JSON_INSERT", "The document with values added where there is none.", func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue { return edit(d, p, x, true, false) })
	change("JSON_REPLACE", "The document with values replaced where there is one.", func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue { return edit(d, p, x, false, true) })
	change("JSON_ARRAY_APPEND", "The document with values appended to arrays; what is none becomes one.", func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue {
		all := p.all(d)
		if len(all) == 0 {
			return d
		}
		y := all[0]
		if y.kind == jArray {
			return edit(d, p, &jsonValue{kind: jArray, arr: append(append([]*jsonValue(nil), y.arr...), x)}, false, true)
		}
		return edit(d, p, &jsonValue{kind: jArray, arr: []*jsonValue{y, x}}, false, true)
	})
	change("JSON_ARRAY_INSERT", "The document with values put into arrays before an element.", func(d *jsonValue, p jsonPath, x *jsonValue) *jsonValue {
		all := p[:len(p)-1].all(d)
		if len(all) == 0 || all[0].kind != jArray {
			return d
		}
		arr := all[0].arr
		l := p[len(p)-1]
		i := l.from
		if l.fromLast {
			i = max(len(arr)-1-l.from, 0)
		}
		i = min(i, len(arr))
		grown := append(append(append([]*jsonValue(nil), arr[:i]...), x), arr[i:]...)
		return edit(d, p[:len(p)-1], &jsonValue{kind: jArray, arr: grown}, false, true)
	})
	jsonFn(jsonFunc{"JSON_REMOVE", 2, -1, "JSON_REMOVE(doc, path, …)", "The document without what the paths name.", retJSONType, func(r *jsonRow) (any, error) {
		if r.anyNull(0) {
			return nil, nil
		}
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		for k := 1; k < len(r.ev.args); k++ {
			p, err := r.path(k, true)
			if err != nil {
				return nil, err
			}
			if len(p) == 0 {
				return nil, errs.Userf(errs.JSONVacuousPath, "The path expression '$' is not allowed in this context.")
			}
			d = remove(d, p)
		}
		return d, nil
	}})
	merge := func(name, doc string, f func(a, b *jsonValue) *jsonValue) {
		jsonFn(jsonFunc{name, 2, -1, name + "(a, b, …)", doc, retJSONType, func(r *jsonRow) (any, error) {
			var d *jsonValue
			null := false
			for k := range r.ev.args {
				x, err := r.doc(k)
				if err != nil {
					return nil, err
				}
				switch {
				case x == nil:
					null = true
					d = nil
				case k == 0:
					d = x
				case name == "JSON_MERGE_PATCH":
					if x.kind != jObject {
						d, null = x, false
					} else if !null {
						d = f(d, x)
					}
				case !null:
					d = f(d, x)
				}
			}
			if null {
				return nil, nil
			}
			return d, nil
		}})
	}
	merge("JSON_MERGE_PRESERVE", "Documents merged: arrays and scalars one after another, members of one name merged.", mergePreserve)
	merge("JSON_MERGE_PATCH", "Documents merged by RFC 7396: later members replace, null removes.", mergePatch)
	jsonFn(jsonFunc{"JSON_SEARCH", 3, -1, "JSON_SEARCH(doc, 'one' | 'all', pattern[, escape[, path, …]])", "The paths of strings that are LIKE a pattern.", retJSONType, jsonSearch})
	alias("JSON_MERGE", "JSON_MERGE_PRESERVE")
	aggregates["JSON_ARRAYAGG"] = newJSONAggregate
	aggregates["JSON_OBJECTAGG"] = newJSONAggregate
}

func jsonArgType(r *jsonRow, k int) error {
	return errs.Userf(errs.JSONArgType, "Incorrect type for argument %d in function %s.", k, lower(r.ev.c.name))
}

func oneOrAll(s, fn string) (bool, error) {
	switch lower(s) {
	case "one":
		return true, nil
	case "all":
		return false, nil
	}
	return false, errs.Userf(errs.JSONOneOrAll, "The oneOrAll argument to %s may take these values: 'one' or 'all'.", fn)
}
