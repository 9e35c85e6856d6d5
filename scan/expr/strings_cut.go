package expr

import (
	"bytes"
	"math"

	"github.com/thermocline/thermocline/internal/vector"
)

func concat(ev *evaluation) func(i int, out *vector.Vec) error {
	var buf []byte
	return func(i int, out *vector.Vec) error {
		buf = buf[:0]
		for _, a := range ev.args {
			buf = append(buf, a.Bytes(i)...)
		}
		if ev.tooLong(int64(len(buf))) {
			out.SetNull(i)
			return nil
		}
		out.SetBytes(i, buf)
		return nil
	}
}

func substring(ev *evaluation) func(i int, out *vector.Vec) error {
	bin := ev.isBinary(0)
	return func(i int, out *vector.Vec) error {
		s, pos, n := ev.args[0].Bytes(i), intAt(ev.args[1], i), int64(math.MaxInt32)
		if len(ev.args) > 2 {
			n = intAt(ev.args[2], i)
		}
		if n <= 0 || pos == 0 {
			return nil
		}
		if pos < 0 {
			count := int64(charCount(s, bin))
			if pos = count + pos + 1; pos < 1 {
				return nil
			}
		}
		a := offsetOf(s, clampInt(pos-1), bin)
		s = s[a:]
		out.SetBytes(i, s[:offsetOf(s, clampInt(n), bin)])
		return nil
	}
}

func substringIndex(ev *evaluation) func(i int, out *vector.Vec) error {
	return func(i int, out *vector.Vec) error {
		s, d, n := ev.args[0].Bytes(i), ev.args[1].Bytes(i), intAt(ev.args[2], i)
		if len(d) == 0 || n == 0 {
			return nil
		}
		if n > 0 {
			at := 0
			for ; n > 0; n-- {
				k := bytes.Index(s[at:], d)
				if k < 0 {
					out.SetBytes(i, s)
					return nil
				}
				at += k + len(d)
			}
			out.SetBytes(i, s[:at-len(d)])
			return nil
		}
		end := len(s)
		for ; n < 0; n++ {
			k := bytes.LastIndex(s[:end], d)
			if k < 0 {
				out.SetBytes(i, s)
				return nil
			}
			end = k
		}
		out.SetBytes(i, s[end+len(d):])
		return nil
	}
}
