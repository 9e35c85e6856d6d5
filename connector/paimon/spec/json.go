package spec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// marshal is json.Marshal without the escaping meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// jsonNames returns the JSON names of a struct's fields.
func jsonNames(v any) map[string]bool {
	out := map[string]bool{}
	t := reflect.TypeOf(v)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = true
		}
	}
	return out
}

// prettyJSON lays out compact JSON as Jackson's default pretty printer does,
// which Java Paimon uses: objects over several lines, arrays on one.
func prettyJSON(src []byte) []byte {
	dst := make([]byte, 0, len(src)*3/2)
	depth := 0
	newline := func() {
		dst = append(dst, '\n')
		for range depth {
			dst = append(dst, ' ', ' ')
		}
	}
	var stack []byte // '{' or '['
	var compact bytes.Buffer
	if err := json.Compact(&compact, src); err != nil {
		return src
	}
	in := compact.Bytes()
	for i := 0; i < len(in); i++ {
		c := in[i]
		switch c {
		case '"':
			j := i + 1
			for in[j] != '"' {
				if in[j] == '\\' {
					j++
				}
				j++
			}
			dst = append(dst, in[i:j+1]...)
			i = j
		case '{':
			dst = append(dst, c)
			stack = append(stack, c)
			if in[i+1] == '}' {
				dst = append(dst, ' ', '}')
				stack = stack[:len(stack)-1]
				i++
				break
			}
			depth++
			newline()
		case '}':
			depth--
			newline()
			dst = append(dst, c)
			stack = stack[:len(stack)-1]
		case '[':
			dst = append(dst, c, ' ')
			stack = append(stack, c)
			if in[i+1] == ']' {
				dst = append(dst, ']')
				stack = stack[:len(stack)-1]
				i++
			}
		case ']':
			dst = append(dst, ' ', c)
			stack = stack[:len(stack)-1]
		case ',':
			dst = append(dst, c)
			if len(stack) > 0 && stack[len(stack)-1] == '{' {
				newline()
			} else {
				dst = append(dst, ' ')
			}
		case ':':
			dst = append(dst, ' ', c, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
