package expr

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
)

// JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT check documents by draft 4
// of JSON Schema (json-schema.org), as far as MySQL does: references lead into
// the schema itself only, and keywords of a wrong type do not count.

func init() {
	jsonFn(jsonFunc{"JSON_SCHEMA_VALID", 2, 2, "JSON_SCHEMA_VALID(schema, doc)", "Whether a document is as a JSON Schema (draft 4) demands.", retJSONBool, func(r *jsonRow) (any, error) {
		fault, null, err := r.schema()
		if null || err != nil {
			return nil, err
		}
		return fault == nil, nil
	}})
	jsonFn(jsonFunc{"JSON_SCHEMA_VALIDATION_REPORT", 2, 2, "JSON_SCHEMA_VALIDATION_REPORT(schema, doc)", "What a document fails of a JSON Schema (draft 4), as a JSON object.", retJSONType, func(r *jsonRow) (any, error) {
		fault, null, err := r.schema()
		if null || err != nil {
			return nil, err
		}
		text := func(s string) *jsonValue { return &jsonValue{kind: jString, s: s} }
		o := &jsonValue{kind: jObject, obj: []jsonMember{{"valid", &jsonValue{kind: jBool, b: fault == nil}}}}
		if fault != nil {
			o.obj = append(o.obj,
				jsonMember{"reason", text(fmt.Sprintf("The JSON document location '%s' failed requirement '%s' at JSON Schema location '%s'", fault.doc, fault.keyword, fault.schema))},
				jsonMember{"schema-location", text(fault.schema)}, jsonMember{"document-location", text(fault.doc)}, jsonMember{"schema-failed-keyword", text(fault.keyword)})
		}
		return o, nil
	}})
}

// schema validates a row's document, argument 1, by argument 0.
func (r *jsonRow) schema() (fault *schemaFault, null bool, err error) {
	if r.null(0) || r.null(1) {
		return nil, true, nil
	}
	s, err := r.doc(0)
	if err != nil {
		return nil, false, err
	}
	if s.kind != jObject {
		return nil, false, errs.Userf(errs.JSONNoObject, "Invalid JSON type in argument 1 to function %s; an object is required.", lower(r.ev.c.name))
	}
	d, err := r.doc(1)
	if err != nil {
		return nil, false, err
	}
	v := &schemaValidator{root: s, mode: r}
	fault, err = v.check(s, d, "#", "#", 0)
	return fault, false, err
}

// schemaFault is the requirement that a document fails first, with where: JSON
// pointers as fragments of URIs.
type schemaFault struct{ doc, keyword, schema string }

type schemaValidator struct {
	root *jsonValue
	mode *jsonRow
}

// maxSchemaDepth bounds references that go in circles.
const maxSchemaDepth = 200

// pointer appends a step to a JSON pointer.
func pointer(at, step string) string {
	var b strings.Builder
	b.WriteString(at + "/")
	for i := range len(step) {
		switch c := step[i]; {
		case c == '~':
			b.WriteString("~0")
		case c == '/':
			b.WriteString("~1")
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// resolve follows $ref.
func (v *schemaValidator) resolve(s *jsonValue, at string) (*jsonValue, string, error) {
	for range maxSchemaDepth {
		ref := s.get("$ref")
		if ref == nil || ref.kind != jString {
			return s, at, nil
		}
		if !strings.HasPrefix(ref.s, "#") {
			return nil, "", errs.NotInMySQL("references in JSON Schema")
		}
		at, s = "#", v.root
		for _, step := range strings.Split(ref.s[1:], "/")[1:] {
			step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
			next := (*jsonValue)(nil)
			switch s.kind {
			case jObject:
				next = s.get(step)
			case jArray:
				var i int
				if _, err := fmt.Sscanf(step, "%d", &i); err == nil && i >= 0 && i < len(s.arr) {
					next = s.arr[i]
				}
			}
			if next == nil {
				return &jsonValue{kind: jObject}, at, nil
			}
			s, at = next, pointer(at, step)
		}
		if s.kind != jObject {
			return &jsonValue{kind: jObject}, at, nil
		}
	}
	return nil, "", errs.Userf(errs.JSONDepth, "The JSON document exceeds the maximum depth.")
}

// check validates d, which is at a place, by the schema s.
func (v *schemaValidator) check(s, d *jsonValue, at, place string, depth int) (*schemaFault, error) {
	if depth > maxSchemaDepth {
		return nil, errs.Userf(errs.JSONDepth, "The JSON document exceeds the maximum depth.")
	}
	s, at, err := v.resolve(s, at)
	if err != nil {
		return nil, err
	}
	fail := func(keyword string) (*schemaFault, error) { return &schemaFault{place, keyword, at}, nil }
	if t := s.get("type"); t != nil && !schemaType(t, d) {
		return fail("type")
	}
	var fault *schemaFault
	switch d.kind {
	case jNumber:
		if k := schemaNumber(s, d); k != "" {
			return fail(k)
		}
	case jString:
		k, err := v.text(s, d)
		if err != nil {
			return nil, err
		}
		if k != "" {
			return fail(k)
		}
	case jArray:
		fault, err = v.array(s, d, at, place, depth)
	case jObject:
		fault, err = v.object(s, d, at, place, depth)
	}
	if fault != nil || err != nil {
		return fault, err
	}
	if e := s.get("enum"); e != nil && e.kind == jArray && len(e.arr) > 0 {
		found := false
		for _, x := range e.arr {
			found = found || equalJSON(x, d)
		}
		if !found {
			return fail("enum")
		}
	}
	return v.combined(s, d, at, place, depth)
}

// combined checks allOf, anyOf, oneOf and not.
func (v *schemaValidator) combined(s, d *jsonValue, at, place string, depth int) (*schemaFault, error) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list := s.get(keyword)
		if list == nil || list.kind != jArray || len(list.arr) == 0 {
			continue
		}
		valid := 0
		for i, x := range list.arr {
			fault, err := v.check(x, d, pointer(pointer(at, keyword), itoa(i)), place, depth+1)
			if err != nil {
				return nil, err
			}
			if fault == nil {
				valid++
			}
		}
		if keyword == "allOf" && valid < len(list.arr) || keyword == "anyOf" && valid == 0 || keyword == "oneOf" && valid != 1 {
			return &schemaFault{place, keyword, at}, nil
		}
	}
	if not := s.get("not"); not != nil && not.kind == jObject {
		fault, err := v.check(not, d, pointer(at, "not"), place, depth+1)
		if err != nil {
			return nil, err
		}
		if fault == nil {
			return &schemaFault{place, "not", at}, nil
		}
	}
	return nil, nil
}

func equalJSON(a, b *jsonValue) bool {
	return compareValues(a, b) == 0
}

func schemaType(t, d *jsonValue) bool {
	if t.kind == jArray {
		for _, x := range t.arr {
			if x.kind == jString && schemaType(x, d) {
				return true
			}
		}
		return false
	}
	if t.kind != jString {
		return true
	}
	switch t.s {
	case "null":
		return d.kind == jNull
	case "boolean":
		return d.kind == jBool
	case "object":
		return d.kind == jObject
	case "array":
		return d.kind == jArray
	case "string":
		return d.kind == jString
	case "number":
		return d.kind == jNumber
	case "integer":
		return d.kind == jNumber && d.num.class == Int
	}
	return false
}

// natural reads a keyword that is a number of things.
func natural(s *jsonValue, keyword string) (int, bool) {
	x := s.get(keyword)
	if x == nil || x.kind != jNumber || x.num.class != Int || x.num.i < 0 {
		return 0, false
	}
	return int(min(x.num.i, math.MaxInt32)), true
}

func schemaNumber(s, d *jsonValue) string {
	number := func(keyword string) *jsonValue {
		if x := s.get(keyword); x != nil && x.kind == jNumber {
			return x
		}
		return nil
	}
	truth := func(keyword string) bool {
		x := s.get(keyword)
		return x != nil && x.kind == jBool && x.b
	}
	if x := number("minimum"); x != nil {
		if c := compareValues(d, x); c < 0 || c == 0 && truth("exclusiveMinimum") {
			return "minimum"
		}
	}
	if x := number("maximum"); x != nil {
		if c := compareValues(d, x); c > 0 || c == 0 && truth("exclusiveMaximum") {
			return "maximum"
		}
	}
	if x := number("multipleOf"); x != nil && x.num.float() > 0 {
		if x.num.class == Int && d.num.class == Int {
			rest := new(big.Int).Rem(d.num.dec().rescale(0), x.num.dec().rescale(0))
			if rest.Sign() != 0 {
				return "multipleOf"
			}
		} else if r := math.Mod(math.Abs(d.num.float()), x.num.float()); r > 0 {
			return "multipleOf"
		}
	}
	return ""
}

func (v *schemaValidator) text(s, d *jsonValue) (string, error) {
	n := utf8.RuneCountInString(d.s)
	if least, ok := natural(s, "minLength"); ok && n < least {
		return "minLength", nil
	}
	if most, ok := natural(s, "maxLength"); ok && n > most {
		return "maxLength", nil
	}
	if p := s.get("pattern"); p != nil && p.kind == jString {
		ok, err := v.pattern(p.s, d.s)
		if err != nil {
			return "", err
		}
		if !ok {
			return "pattern", nil
		}
	}
	return "", nil
}

// pattern searches a text for a pattern; one that is wrong does not count.
func (v *schemaValidator) pattern(p, s string) (bool, error) {
	m, err := compileRegexp(p, "c", false, v.mode.ev.c.name)
	switch {
	case errs.ClassOf(err) == errs.Unsupported:
		return false, err
	case err != nil:
		return true, nil
	}
	return m.matches(v.mode.ev.ctx, []byte(s))
}

func (v *schemaValidator) array(s, d *jsonValue, at, place string, depth int) (*schemaFault, error) {
	items, more := s.get("items"), s.get("additionalItems")
	unique := s.get("uniqueItems")
	for i, x := range d.arr {
		here := pointer(place, itoa(i))
		var by *jsonValue
		where := ""
		switch {
		case items != nil && items.kind == jObject:
			by, where = items, pointer(at, "items")
		case items != nil && items.kind == jArray && i < len(items.arr):
			by, where = items.arr[i], pointer(pointer(at, "items"), itoa(i))
		case items != nil && items.kind == jArray && more != nil && more.kind == jBool && !more.b:
			return &schemaFault{here, "additionalItems", at}, nil
		case items != nil && items.kind == jArray && more != nil && more.kind == jObject:
			by, where = more, pointer(at, "additionalItems")
		}
		if by != nil {
			if fault, err := v.check(by, x, where, here, depth+1); fault != nil || err != nil {
				return fault, err
			}
		}
		if unique != nil && unique.kind == jBool && unique.b {
			for _, y := range d.arr[:i] {
				if equalJSON(x, y) {
					return &schemaFault{here, "uniqueItems", at}, nil
				}
			}
		}
	}
	if n, ok := natural(s, "minItems"); ok && len(d.arr) < n {
		return &schemaFault{place, "minItems", at}, nil
	}
	if n, ok := natural(s, "maxItems"); ok && len(d.arr) > n {
		return &schemaFault{place, "maxItems", at}, nil
	}
	return nil, nil
}

func (v *schemaValidator) object(s, d *jsonValue, at, place string, depth int) (*schemaFault, error) {
	object := func(keyword string) []jsonMember {
		if x := s.get(keyword); x != nil && x.kind == jObject {
			return x.obj
		}
		return nil
	}
	properties, more := s.get("properties"), s.get("additionalProperties")
	for _, m := range d.obj {
		here := pointer(place, m.key)
		known := false
		if properties != nil && properties.kind == jObject {
			if p := properties.get(m.key); p != nil {
				known = true
				if fault, err := v.check(p, m.val, pointer(pointer(at, "properties"), m.key), here, depth+1); fault != nil || err != nil {
					return fault, err
				}
			}
		}
		for _, p := range object("patternProperties") {
			ok, err := v.pattern(p.key, m.key)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			known = true
			fault, err := v.check(p.val, m.val, pointer(pointer(at, "patternProperties"), p.key), here, depth+1)
			if err != nil {
				return nil, err
			}
			if fault != nil {
				return &schemaFault{here, "patternProperties", at}, nil
			}
		}
		if known || more == nil {
			continue
		}
		if more.kind == jBool && !more.b {
			return &schemaFault{here, "additionalProperties", at}, nil
		}
		if more.kind == jObject {
			if fault, err := v.check(more, m.val, pointer(at, "additionalProperties"), here, depth+1); fault != nil || err != nil {
				return fault, err
			}
		}
	}
	if req := s.get("required"); req != nil && req.kind == jArray {
		for _, k := range req.arr {
			if k.kind == jString && d.get(k.s) == nil {
				return &schemaFault{place, "required", at}, nil
			}
		}
	}
	if n, ok := natural(s, "minProperties"); ok && len(d.obj) < n {
		return &schemaFault{place, "minProperties", at}, nil
	}
	if n, ok := natural(s, "maxProperties"); ok && len(d.obj) > n {
		return &schemaFault{place, "maxProperties", at}, nil
	}
	for _, dep := range object("dependencies") {
		if d.get(dep.key) == nil {
			continue
		}
		if dep.val.kind == jArray {
			for _, k := range dep.val.arr {
				if k.kind == jString && d.get(k.s) == nil {
					return &schemaFault{place, "dependencies", at}, nil
				}
			}
			continue
		}
		fault, err := v.check(dep.val, d, pointer(pointer(at, "dependencies"), dep.key), place, depth+1)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			return &schemaFault{place, "dependencies", at}, nil
		}
	}
	return nil, nil
}
