package expr

import (
	"strconv"

	"github.com/thermocline/thermocline/internal/errs"
)

// contains is JSON_CONTAINS.
func contains(d, c *jsonValue) bool {
	switch d.kind {
	case jArray:
		if c.kind == jArray {
			for _, x := range c.arr {
				if !contains(d, x) {
					return false
				}
			}
			return true
		}
		for _, x := range d.arr {
			if x.kind == jArray && contains(x, c) || x.kind != jArray && contains(x, c) {
				return true
			}
		}
		return false
	case jObject:
		if c.kind != jObject {
			return false
		}
		for _, m := range c.obj {
			x := d.get(m.key)
			if x == nil || !contains(x, m.val) {
				return false
			}
		}
		return true
	}
	return compareValues(d, c) == 0
}

// overlaps is JSON_OVERLAPS.
func overlaps(a, b *jsonValue) bool {
	if a.kind != jArray && b.kind == jArray {
		a, b = b, a
	}
	switch {
	case a.kind == jArray:
		other := []*jsonValue{b}
		if b.kind == jArray {
			other = b.arr
		}
		for _, x := range a.arr {
			for _, y := range other {
				if compareValues(x, y) == 0 {
					return true
				}
			}
		}
		return false
	case a.kind == jObject && b.kind == jObject:
		for _, m := range a.obj {
			if x := b.get(m.key); x != nil && compareValues(x, m.val) == 0 {
				return true
			}
		}
		return false
	}
	return compareValues(a, b) == 0
}

// edit returns d with x at a path; d is not changed. insert allows a new place,
// replace an existing one.
func edit(d *jsonValue, p jsonPath, x *jsonValue, insert, replace bool) *jsonValue {
	if len(p) == 0 {
		if replace {
			return x
		}
		return d
	}
	l := p[0]
	switch l.kind {
	case legMember:
		if d.kind != jObject {
			return d
		}
		old := d.get(l.key)
		if old == nil && (!insert || len(p) > 1) {
			return d
		}
		e := &jsonValue{kind: jObject, obj: append([]jsonMember(nil), d.obj...)}
		if old == nil {
			e.set(l.key, x)
		} else {
			e.set(l.key, edit(old, p[1:], x, insert, replace))
		}
		return e
	case legCell:
		if d.kind != jArray {
			if i, ok := l.cell(1); ok && i == 0 {
				return edit(d, p[1:], x, insert, replace)
			}
			if !insert || len(p) > 1 {
				return d
			}
			if l.fromLast {
				return &jsonValue{kind: jArray, arr: []*jsonValue{x, d}}
			}
			return &jsonValue{kind: jArray, arr: []*jsonValue{d, x}}
		}
		i, ok := l.cell(len(d.arr))
		if !ok {
			if !insert || len(p) > 1 {
				return d
			}
			if l.fromLast {
				return &jsonValue{kind: jArray, arr: append([]*jsonValue{x}, d.arr...)}
			}
			return &jsonValue{kind: jArray, arr: append(append([]*jsonValue(nil), d.arr...), x)}
		}
		e := &jsonValue{kind: jArray, arr: append([]*jsonValue(nil), d.arr...)}
		e.arr[i] = edit(d.arr[i], p[1:], x, insert, replace)
		return e
	}
	return d
}

// remove returns d without what a path names.
func remove(d *jsonValue, p jsonPath) *jsonValue {
	l := p[0]
	switch {
	case l.kind == legMember && d.kind == jObject:
		e := &jsonValue{kind: jObject}
		for _, m := range d.obj {
			if m.key != l.key {
				e.obj = append(e.obj, m)
			} else if len(p) > 1 {
				e.obj = append(e.obj, jsonMember{m.key, remove(m.val, p[1:])})
			}
		}
		return e
	case l.kind == legCell && d.kind == jArray:
		i, ok := l.cell(len(d.arr))
		if !ok {
			return d
		}
		e := &jsonValue{kind: jArray}
		for k, x := range d.arr {
			if k != i {
				e.arr = append(e.arr, x)
			} else if len(p) > 1 {
				e.arr = append(e.arr, remove(x, p[1:]))
			}
		}
		return e
	case l.kind == legCell && len(p) > 1:
		if i, ok := l.cell(1); ok && i == 0 {
			return remove(d, p[1:])
		}
	}
	return d
}

func mergePreserve(a, b *jsonValue) *jsonValue {
	if a.kind == jObject && b.kind == jObject {
		e := &jsonValue{kind: jObject, obj: append([]jsonMember(nil), a.obj...)}
		for _, m := range b.obj {
			if x := e.get(m.key); x != nil {
				e.set(m.key, mergePreserve(x, m.val))
			} else {
				e.set(m.key, m.val)
			}
		}
		return e
	}
	list := func(v *jsonValue) []*jsonValue {
		if v.kind == jArray {
			return v.arr
		}
		return []*jsonValue{v}
	}
	return &jsonValue{kind: jArray, arr: append(append([]*jsonValue(nil), list(a)...), list(b)...)}
}

func mergePatch(a, b *jsonValue) *jsonValue {
	if b.kind != jObject {
		return b
	}
	e := &jsonValue{kind: jObject}
	if a != nil && a.kind == jObject {
		e.obj = append(e.obj, a.obj...)
	}
	for _, m := range b.obj {
		if m.val.kind == jNull {
			for i := range e.obj {
				if e.obj[i].key == m.key {
					e.obj = append(e.obj[:i:i], e.obj[i+1:]...)
					break
				}
			}
			continue
		}
		e.set(m.key, mergePatch(e.get(m.key), m.val))
	}
	return e
}

func jsonSearch(r *jsonRow) (any, error) {
	if r.null(0) || r.null(1) || r.null(2) {
		return nil, nil
	}
	d, err := r.doc(0)
	if err != nil || d == nil {
		return nil, err
	}
	one, err := oneOrAll(r.text(1), "json_search")
	if err != nil {
		return nil, err
	}
	escape := '\\'
	if len(r.ev.args) > 3 && !r.null(3) {
		e := []rune(r.text(3))
		switch {
		case len(e) > 1:
			return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to ESCAPE")
		case len(e) == 1:
			escape = e[0]
		}
	}
	m := compileLike([]byte(r.text(2)), escape, collations["utf8mb4_bin"])
	var hits []*jsonValue
	seen := map[string]bool{}
	var walk func(v *jsonValue, path string) bool
	walk = func(v *jsonValue, path string) bool {
		if v.kind == jString && m.match([]byte(v.s)) && !seen[path] {
			seen[path] = true
			hits = append(hits, &jsonValue{kind: jString, s: path})
			if one {
				return false
			}
		}
		for i, x := range v.arr {
			if !walk(x, path+"["+itoa(i)+"]") {
				return false
			}
		}
		for _, x := range v.obj {
			if !walk(x.val, path+memberLeg(x.key)) {
				return false
			}
		}
		return true
	}
	if len(r.ev.args) <= 4 {
		walk(d, "$")
	}
	for k := 4; k < len(r.ev.args); k++ {
		if r.null(k) {
			return nil, nil
		}
		p, err := r.path(k, false)
		if err != nil {
			return nil, err
		}
		last := !p.wild() && p.last()
		if !p.walk(d, "$", false, func(x found) bool {
			if last { // a path of one value is shown as it was written
				x.path = p.text()
			}
			return walk(x.val, x.path)
		}) {
			break
		}
	}
	switch len(hits) {
	case 0:
		return nil, nil
	case 1:
		return hits[0], nil
	}
	return &jsonValue{kind: jArray, arr: hits}, nil
}

// appendPretty prints with two blanks a level.
func (v *jsonValue) appendPretty(dst []byte, level int) []byte {
	line := func(l int) {
		dst = append(dst, '\n')
		for range l {
			dst = append(dst, ' ', ' ')
		}
	}
	switch {
	case v.kind == jArray && len(v.arr) > 0:
		dst = append(dst, '[')
		for i, x := range v.arr {
			if i > 0 {
				dst = append(dst, ',')
			}
			line(level + 1)
			dst = x.appendPretty(dst, level+1)
		}
		line(level)
		return append(dst, ']')
	case v.kind == jObject && len(v.obj) > 0:
		dst = append(dst, '{')
		for i, m := range v.obj {
			if i > 0 {
				dst = append(dst, ',')
			}
			line(level + 1)
			dst = appendJSONString(dst, []byte(m.key))
			dst = append(dst, ": "...)
			dst = m.val.appendPretty(dst, level+1)
		}
		line(level)
		return append(dst, '}')
	}
	return v.appendText(dst)
}

func itoa(i int) string { return strconv.Itoa(i) }
