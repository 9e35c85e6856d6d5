package mysql

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
	"time"
)

// wireClient sends statements and keeps what the server answers as it came:
// column definitions, cells of the text protocol, errors.
type wireClient struct{ *rawClient }

// wireResult is the answer to one statement. rows is nil after an OK packet.
type wireResult struct {
	cols []recorded
	rows [][]*string
}

// wireError is an error packet.
type wireError struct {
	code  int
	state string
	text  string
}

func (e *wireError) Error() string { return fmt.Sprintf("%d (%s): %s", e.code, e.state, e.text) }

// dialWire connects as root without a password.
func dialWire(t testing.TB, addr, database string) wireClient {
	t.Helper()
	r := &rawClient{t: t, nc: dial(t, addr), caps: rawCaps | capDeprecateEOF}
	if err := r.nc.SetDeadline(time.Time{}); err != nil { // thousands of statements
		t.Fatal(err)
	}
	readGreeting(t, r.read())
	p := put32(nil, r.caps)
	p = put32(p, 1<<24)
	p = append(p, 255)
	p = append(p, make([]byte, 23)...)
	p = append(p, "root\x00\x00"...)
	p = append(append(p, database...), 0)
	p = append(append(p, methodSHA2...), 0)
	r.write(p)
	r.wantOK(r.read())
	return wireClient{r}
}

// query runs a statement. The error is a *wireError.
func (c wireClient) query(sql string) (wireResult, error) {
	p := c.do(comQuery, []byte(sql))
	if err := asError(p); err != nil {
		return wireResult{}, err
	}
	if p[0] == 0 {
		return wireResult{}, nil
	}
	n := (&fields{b: p}).lenenc()
	out := wireResult{rows: [][]*string{}}
	for range n {
		out.cols = append(out.cols, c.column())
	}
	for {
		p := c.read()
		if err := asError(p); err != nil {
			return out, err
		}
		if p[0] == 0xfe && len(p) < maxPayload {
			return out, nil
		}
		f := &fields{b: p}
		row := make([]*string, n)
		for i := range row {
			if f.b[0] == 0xfb {
				f.uint(1)
				continue
			}
			s := string(f.str())
			row[i] = &s
		}
		out.rows = append(out.rows, row)
	}
}

// column reads a column definition.
func (c wireClient) column() recorded {
	f := &fields{b: c.read()}
	for range 4 { // catalog, database, table, table as it was declared
		f.str()
	}
	d := recorded{Name: string(f.str())}
	f.str()
	f.uint(1)
	d.Charset, d.Length, d.Code = uint16(f.uint(2)), uint32(f.uint(4)), byte(f.uint(1))
	flags := uint16(f.uint(2))
	d.Decimals = byte(f.uint(1))
	for _, x := range flagNames {
		if flags&x.bit != 0 {
			d.Flags = append(d.Flags, x.name)
		}
	}
	return d
}

// wirePrepared is the answer to COM_STMT_PREPARE.
type wirePrepared struct {
	id              uint32
	params, columns []recorded
}

// prepare prepares a statement. The error is a *wireError.
func (c wireClient) prepare(sql string) (out wirePrepared, err error) {
	p := c.do(comStmtPrepare, []byte(sql))
	if err := asError(p); err != nil {
		return out, err
	}
	f := &fields{b: p[1:]}
	out.id = uint32(f.uint(4))
	columns, params := f.uint(2), f.uint(2)
	for range params {
		out.params = append(out.params, c.column())
	}
	for range columns {
		out.columns = append(out.columns, c.column())
	}
	return out, nil
}

// execute runs a prepared statement without parameters and returns its columns and
// its rows as they came. The error is a *wireError.
func (c wireClient) execute(id uint32) (cols []recorded, rows []string, err error) {
	p := c.do(comStmtExecute, put32(nil, id), []byte{0, 1, 0, 0, 0})
	if err := asError(p); err != nil {
		return nil, nil, err
	}
	if p[0] == 0 {
		return nil, nil, nil
	}
	for range (&fields{b: p}).lenenc() {
		cols = append(cols, c.column())
	}
	for {
		p := c.read()
		if err := asError(p); err != nil {
			return cols, rows, err
		}
		if p[0] == 0xfe {
			return cols, rows, nil
		}
		rows = append(rows, hex.EncodeToString(p))
	}
}

// must runs statements that may not fail.
func (c wireClient) must(statements ...string) {
	c.t.Helper()
	for _, q := range statements {
		if _, err := c.query(q); err != nil {
			c.t.Fatalf("%s: %v", q, err)
		}
	}
}

func asError(p []byte) error {
	if p[0] != 0xff {
		return nil
	}
	return &wireError{code: int(binary.LittleEndian.Uint16(p[1:])), state: string(p[4:9]), text: string(p[9:])}
}
