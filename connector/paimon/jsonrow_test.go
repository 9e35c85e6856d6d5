package paimon_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// appendJSON adds a value in the canonical text of rows to a vector of the type.
func appendJSON(v *vector.Vec, raw json.RawMessage, t catalog.Type) error {
	if string(raw) == "null" {
		v.AppendNull()
		return nil
	}
	text := strings.Trim(string(raw), `"`)
	object := func(key string) (json.RawMessage, error) {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		if o[key] == nil {
			return nil, fmt.Errorf("%s has no %q", raw, key)
		}
		return o[key], nil
	}
	switch t.Kind {
	case catalog.Boolean:
		v.AppendBool(text == "true")
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		if t.Kind == catalog.BigInt {
			v.AppendI64(n)
		} else {
			v.AppendI32(int32(n))
		}
	case catalog.Float, catalog.Double:
		x, err := strconv.ParseFloat(strings.Replace(text, "Infinity", "Inf", 1), map[bool]int{true: 32, false: 64}[t.Kind == catalog.Float])
		if err != nil {
			return err
		}
		if text == "-0.0" {
			x = math.Copysign(0, -1)
		}
		if t.Kind == catalog.Float {
			v.AppendF32(float32(x))
		} else {
			v.AppendF64(x)
		}
	case catalog.Decimal:
		digits := strings.Replace(text, ".", "", 1)
		if i := strings.IndexByte(text, '.'); i >= 0 {
			digits += strings.Repeat("0", t.Scale-(len(text)-i-1))
		} else {
			digits += strings.Repeat("0", t.Scale)
		}
		n, ok := new(big.Int).SetString(digits, 10)
		if !ok || !v.AppendDecimal(n) {
			return fmt.Errorf("%s is no %s", raw, t)
		}
	case catalog.Char, catalog.Varchar:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		v.AppendString(s)
	case catalog.Binary, catalog.Varbinary:
		o, err := object("b")
		if err != nil {
			return err
		}
		b, err := hex.DecodeString(strings.Trim(string(o), `"`))
		if err != nil {
			return err
		}
		v.AppendBytes(b)
	case catalog.Date:
		d, err := time.Parse("2006-01-02", text)
		if err != nil {
			return err
		}
		v.AppendI32(int32(math.Floor(float64(d.Unix()) / 86400)))
	case catalog.Time:
		d, err := time.Parse("15:04:05.999999999", text)
		if err != nil {
			return err
		}
		v.AppendI32(int32(((d.Hour()*60+d.Minute())*60+d.Second())*1000 + d.Nanosecond()/1e6))
	case catalog.Timestamp, catalog.TimestampLTZ:
		d, err := time.Parse("2006-01-02 15:04:05.999999999", strings.TrimSuffix(text, "Z"))
		if err != nil {
			return err
		}
		if v.Kind == vector.I128 {
			n := new(big.Int).Mul(big.NewInt(d.Unix()), big.NewInt(1e9))
			x, _ := vector.Int128FromBig(n.Add(n, big.NewInt(int64(d.Nanosecond()))))
			v.AppendI128(x)
		} else {
			v.AppendI64(d.UnixMicro())
		}
	case catalog.Array, catalog.Map, catalog.Row, catalog.Multiset:
		return appendNested(v, raw, t, object)
	default:
		return fmt.Errorf("values of type %s", t)
	}
	return nil
}

func appendNested(v *vector.Vec, raw json.RawMessage, t catalog.Type, object func(string) (json.RawMessage, error)) error {
	switch t.Kind {
	case catalog.Array:
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, x := range list {
			if err := appendJSON(v.Child[0], x, *t.Elem); err != nil {
				return err
			}
		}
		v.CloseList()
	case catalog.Map, catalog.Multiset:
		o, err := object("m")
		if err != nil {
			return err
		}
		var pairs [][2]json.RawMessage
		if err := json.Unmarshal(o, &pairs); err != nil {
			return err
		}
		key, value := t.Key, t.Elem
		if t.Kind == catalog.Multiset {
			count := catalog.TInt
			key, value = t.Elem, &count
		}
		for _, p := range pairs {
			if err := appendJSON(v.Child[0], p[0], *key); err != nil {
				return err
			}
			if err := appendJSON(v.Child[1], p[1], *value); err != nil {
				return err
			}
		}
		v.CloseList()
	case catalog.Row:
		o, err := object("r")
		if err != nil {
			return err
		}
		var list []json.RawMessage
		if err := json.Unmarshal(o, &list); err != nil {
			return err
		}
		for i, f := range t.Fields {
			if err := appendJSON(v.Child[i], list[i], f.Type); err != nil {
				return err
			}
		}
		v.CloseStruct()
	}
	return nil
}
