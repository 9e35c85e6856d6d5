package expr

import "github.com/thermocline/thermocline/internal/errs"

// JSON_STORAGE_SIZE tells how many bytes MySQL's binary format takes: a type, then
// for arrays and objects counts and offsets of two bytes, or of four when the
// whole is beyond 64 KiB; small integers and literals lie where offsets would.
// (The layout is described in the MySQL server's source documentation, "JSON
// binary representation".)

func init() {
	jsonFn(jsonFunc{"JSON_STORAGE_SIZE", 1, 1, "JSON_STORAGE_SIZE(doc)", "The number of bytes that the document takes in MySQL's binary format.", retJSONInt, func(r *jsonRow) (any, error) {
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		if r.ev.c.args[0].Type().Class == JSON && d.ambiguous() {
			return nil, errs.Unsupportedf(-1, "JSON_STORAGE_SIZE of a JSON value with fractions or texts that look like dates: JSON text does not tell them apart")
		}
		return 1 + d.storage(), nil
	}})
	jsonFn(jsonFunc{"JSON_STORAGE_FREE", 1, 1, "JSON_STORAGE_FREE(doc)", "0: documents are never changed in place.", retJSONInt, func(r *jsonRow) (any, error) {
		d, err := r.doc(0)
		if err != nil || d == nil {
			return nil, err
		}
		return 0, nil
	}})
}

// ambiguous reports whether a value may have been made of SQL decimals or dates.
func (v *jsonValue) ambiguous() bool {
	switch v.kind {
	case jNumber:
		return v.num.class != Int
	case jString:
		return looksDate([]byte(v.s)) || parseTime([]byte(v.s)).kind == Time
	case jArray:
		for _, x := range v.arr {
			if x.ambiguous() {
				return true
			}
		}
	case jObject:
		for _, m := range v.obj {
			if m.val.ambiguous() {
				return true
			}
		}
	}
	return false
}

// storage is the size of a value without its type.
func (v *jsonValue) storage() int {
	switch v.kind {
	case jNull, jBool:
		return 1
	case jNumber:
		switch {
		case v.num.class != Int || v.num.unsigned && v.num.i < 0:
			return 8
		case v.num.i == int64(int16(v.num.i)):
			return 2
		case v.num.i == int64(int32(v.num.i)):
			return 4
		}
		return 8
	case jString:
		n := 1
		for x := len(v.s); x >= 128; x >>= 7 {
			n++
		}
		return n + len(v.s)
	}
	const limit = 1<<16 - 1
	if n := v.container(2); n <= limit {
		return n
	}
	return v.container(4)
}

// container is the size of an array or object whose offsets have some bytes.
func (v *jsonValue) container(offset int) int {
	n := 2 * offset
	value := func(x *jsonValue) {
		n += 1 + offset
		size := x.storage()
		inline := x.kind == jNull || x.kind == jBool || x.kind == jNumber && x.num.class == Int && size <= offset
		if !inline {
			n += size
		}
	}
	for _, x := range v.arr {
		value(x)
	}
	for _, m := range v.obj {
		n += offset + 2 + len(m.key)
		value(m.val)
	}
	return n
}
