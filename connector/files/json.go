package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/catalog"
)

// jsonRows reads objects, one after the other or as the elements of one array.
// Members are columns by their exact names; one that is missing or null is NULL,
// one that is no column is an error.
type jsonRows struct {
	in    *json.Decoder
	lines *lineCounter
	path  string
	at    map[string]int
	vals  []value
	array bool // the file is one array
	loose bool // members that are no columns do not matter
	begun bool
	ended bool
}

// lineCounter counts the lines before an offset of what passes through it.
type lineCounter struct {
	in     io.Reader
	read   int64
	breaks []int64 // offsets of line breaks that have not been passed
	line   int
}

func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for i, at := 0, p[:n]; ; {
		k := bytes.IndexByte(at, '\n')
		if k < 0 {
			break
		}
		i += k + 1
		l.breaks = append(l.breaks, l.read+int64(i))
		at = at[k+1:]
	}
	l.read += int64(n)
	return n, err
}

// at is the line of an offset; offsets ascend.
func (l *lineCounter) at(offset int64) int {
	n := 0
	for n < len(l.breaks) && l.breaks[n] <= offset {
		n++
	}
	l.line += n
	l.breaks = l.breaks[n:]
	return l.line + 1
}

func newJSON(src io.Reader, path string, fields []catalog.Field) *jsonRows {
	r := &jsonRows{path: path, at: make(map[string]int, len(fields)), vals: make([]value, len(fields))}
	for i, f := range fields {
		r.at[f.Name] = i
	}
	r.lines = &lineCounter{in: src}
	r.in = json.NewDecoder(bufio.NewReaderSize(r.lines, bufferBytes/2))
	r.in.UseNumber()
	return r
}

// object moves to the next object: io.EOF at the end.
func (r *jsonRows) object() (line int, err error) {
	if r.ended {
		return 0, io.EOF
	}
	if r.array && !r.in.More() {
		if _, err := r.in.Token(); err != nil {
			return 0, r.failed(err)
		}
		r.ended = true
		if _, err := r.in.Token(); err != io.EOF {
			return 0, fault(r.path, r.line(), "there is something behind the array")
		}
		return 0, io.EOF
	}
	t, err := r.in.Token()
	if err == io.EOF && !r.array {
		return 0, io.EOF
	}
	if err != nil {
		return 0, r.failed(err)
	}
	switch {
	case t == json.Delim('[') && !r.begun:
		r.begun, r.array = true, true
		return r.object()
	case t != json.Delim('{'):
		return 0, fault(r.path, r.line(), "a row is an object, '%v' is none", t)
	}
	r.begun = true
	return r.line(), nil
}

func (r *jsonRows) line() int { return r.lines.at(r.in.InputOffset() - 1) }

func (r *jsonRows) failed(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if _, syntax := err.(*json.SyntaxError); syntax || err == io.ErrUnexpectedEOF {
		return fault(r.path, r.line(), "%v", err)
	}
	return endOf(err, r.path)
}

// member reads the next member of the object; ok is false at its end.
func (r *jsonRows) member() (name string, v value, k kind, ok bool, err error) {
	if !r.in.More() {
		_, err = r.in.Token()
		if err != nil {
			err = r.failed(err)
		}
		return "", v, nothing, false, err
	}
	t, err := r.in.Token()
	if err != nil {
		return "", v, nothing, false, r.failed(err)
	}
	name, _ = t.(string)
	var raw json.RawMessage
	if err := r.in.Decode(&raw); err != nil {
		return "", v, nothing, false, r.failed(err)
	}
	if !utf8.Valid(raw) {
		return "", v, nothing, false, fault(r.path, r.line(), "the value of '%s' is not UTF-8", strings.ToValidUTF8(cut(name), "?"))
	}
	switch raw[0] {
	case 'n':
		return name, v, nothing, true, nil
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", v, nothing, false, r.failed(err)
		}
		v = value{text: s, there: true, quoted: true}
	case '{', '[':
		return name, value{text: string(raw), there: true, quoted: true}, text, true, nil
	default:
		v = value{text: string(raw), there: true}
	}
	return name, v, kindOf(v), true, nil
}

func (r *jsonRows) next() ([]value, int, error) {
	line, err := r.object()
	if err != nil {
		return nil, 0, err
	}
	clear(r.vals)
	for {
		name, v, _, ok, err := r.member()
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			return r.vals, line, nil
		}
		i, known := r.at[name]
		if !known && r.loose {
			continue
		}
		if !known {
			return nil, 0, fault(r.path, line, "'%s' is no column of the table; name it in columns => '…'", cut(name))
		}
		r.vals[i] = v
	}
}

// sampleJSON finds out the columns of a file, in the order in which they appear.
func sampleJSON(src io.Reader, path string) ([]string, []kind, error) {
	r := newJSON(src, path, nil)
	var names []string
	var kinds []kind
	at := map[string]int{}
	for range sampleRows {
		line, err := r.object()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		for {
			name, _, k, ok, err := r.member()
			if err != nil {
				return nil, nil, err
			}
			if !ok {
				break
			}
			i, known := at[name]
			if !known {
				for _, n := range names {
					if strings.EqualFold(n, name) {
						return nil, nil, fault(path, line, "'%s' and '%s' differ in case only; give columns => '…'", cut(n), cut(name))
					}
				}
				i, at[name] = len(names), len(names)
				names, kinds = append(names, name), append(kinds, nothing)
			}
			kinds[i] = both(kinds[i], k)
		}
	}
	return names, kinds, nil
}
