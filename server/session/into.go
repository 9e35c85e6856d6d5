package session

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// selectInto runs SELECT … INTO variables, OUTFILE or DUMPFILE: the rows go there
// instead of to the client.
func (s *Session) selectInto(ctx context.Context, into *syntax.Into, run *statement, query func() (*Result, error)) (*Result, error) {
	for _, v := range into.Vars {
		if _, ok := v.(*syntax.UserVar); !ok {
			return nil, errs.UserAt(v.Pos(), errs.Syntax, "Undeclared variable: %s", syntax.String(v))
		}
	}
	var out *outfile
	if name := into.Outfile + into.Dumpfile; name != "" {
		if s.srv.cfg.Files == nil {
			return nil, errs.Unsupportedf(into.Pos(), "files here")
		}
		if err := s.mayUseFile(name); err != nil {
			return nil, err
		}
		var err error
		if out, err = newOutfile(into); err != nil {
			return nil, err
		}
	}
	res, err := query()
	if err != nil {
		return nil, err
	}
	defer res.Close()
	if res.Continuous {
		return nil, errs.Unsupportedf(into.Pos(), "INTO of a continuous read")
	}
	if out == nil {
		return s.intoVariables(ctx, into, res)
	}
	w, err := s.srv.cfg.Files.Create(ctx, into.Outfile+into.Dumpfile)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	n := uint64(0)
	for {
		b, err := res.Rows.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		if n += uint64(b.Rows()); into.Dumpfile != "" && n > 1 {
			return nil, errs.Userf(errs.TooManyRows, "Result consisted of more than one row")
		}
		out.buf = out.buf[:0]
		for k := range b.Rows() {
			out.row(s, res.Columns, b, b.Row(k))
		}
		if _, err := w.Write(out.buf); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &Result{Affected: n}, nil
}

// intoVariables sets user variables to the values of the only row.
func (s *Session) intoVariables(ctx context.Context, into *syntax.Into, res *Result) (*Result, error) {
	if len(into.Vars) != len(res.Columns) {
		return nil, errs.UserAt(into.Pos(), errs.SetOpColumns, "The used SELECT statements have a different number of columns")
	}
	vals, err := onlyRow(ctx, res.Rows, res.Columns)
	if err != nil {
		return nil, err
	}
	if vals == nil {
		s.warn("Warning", errs.Userf(errs.NoData, "No data - zero rows fetched, selected, or processed"))
		return &Result{}, nil
	}
	for i, v := range into.Vars {
		functions{s}.SetUserVariable(v.(*syntax.UserVar).Name, vals[i])
	}
	return &Result{Affected: 1}, nil
}

// onlyRow returns the values of the only row, nil when there is none.
func onlyRow(ctx context.Context, rows connector.BatchReader, cols []Column) (vals []expr.Value, err error) {
	for {
		b, err := rows.Next(ctx)
		if err != nil || b == nil {
			return vals, err
		}
		if b.Rows() == 0 {
			continue
		}
		if b.Rows() > 1 || vals != nil {
			return nil, errs.Userf(errs.TooManyRows, "Result consisted of more than one row")
		}
		for i, c := range cols {
			v := b.Cols[i]
			one := vector.NewLike(v.Values(), 1)
			one.AppendFrom(v, b.Row(0))
			vals = append(vals, expr.Value{Type: c.Type, Vec: one.AsConst(1)})
		}
	}
}

// outfile prints rows as MySQL's SELECT … INTO OUTFILE does (reference manual,
// LOAD DATA, "Field and line handling").
type outfile struct {
	dump                          bool
	terminated, starting, ended   string
	enclosed, escaped             int // a byte, -1 for none
	optionally                    bool
	doubleEnclosed, keepFieldTerm bool // what an escape would turn into something else
	buf, cell                     []byte
}

// escapes are the letters that mean something behind an escape character.
const escapes = "ntrb0ZN"

func newOutfile(into *syntax.Into) (*outfile, error) {
	switch into.Charset {
	case "", "utf8mb4", "utf8", "utf8mb3", "binary":
	default:
		return nil, errs.Unsupportedf(into.Pos(), "INTO OUTFILE in the character set %s", into.Charset)
	}
	o := &outfile{dump: into.Dumpfile != "", terminated: "\t", ended: "\n", enclosed: -1, escaped: '\\'}
	if f := into.Format; f != nil {
		text := func(to *string, from *string) {
			if from != nil {
				*to = *from
			}
		}
		text(&o.terminated, f.Terminated)
		text(&o.starting, f.LinesStarting)
		text(&o.ended, f.LinesTerminated)
		for _, x := range []struct {
			to   *int
			from *string
		}{{&o.enclosed, f.Enclosed}, {&o.escaped, f.Escaped}} {
			switch {
			case x.from == nil:
			case *x.from == "":
				*x.to = -1
			case len(*x.from) > 1:
				return nil, errs.UserAt(f.Pos(), errs.WrongFileFormat, "Field separator argument is not what is expected; check the manual")
			default:
				*x.to = int((*x.from)[0])
			}
		}
		o.optionally = f.OptionallyEnclosed
		if o.terminated == "" && o.enclosed < 0 {
			return nil, errs.Unsupportedf(f.Pos(), "fields of fixed width in INTO OUTFILE")
		}
	}
	o.doubleEnclosed = o.enclosed >= 0 && strings.IndexByte(escapes, byte(o.enclosed)) >= 0
	o.keepFieldTerm = o.terminated != "" && strings.IndexByte(escapes, o.terminated[0]) >= 0
	return o, nil
}

// row appends row i of b.
func (o *outfile) row(s *Session, cols []Column, b *vector.Batch, i int) {
	if o.dump {
		for c, v := range b.Cols {
			if !v.IsNull(i) {
				o.buf = expr.AppendText(o.buf, cols[c].Type, v, i, s.Zone())
			}
		}
		return
	}
	o.buf = append(o.buf, o.starting...)
	for c, v := range b.Cols {
		if c > 0 {
			o.buf = append(o.buf, o.terminated...)
		}
		t := cols[c].Type
		if v.IsNull(i) {
			switch {
			case o.escaped >= 0:
				o.buf = append(o.buf, byte(o.escaped), 'N')
			default:
				o.buf = append(o.buf, "NULL"...)
			}
			continue
		}
		o.cell = expr.AppendText(o.cell[:0], t, v, i, s.Zone())
		enclosed := o.enclosed >= 0 && (!o.optionally || !t.IsNumber())
		if enclosed {
			o.buf = append(o.buf, byte(o.enclosed))
		}
		if t.IsNumber() && !enclosed {
			o.buf = append(o.buf, o.cell...)
		} else {
			o.escape(enclosed)
		}
		if enclosed {
			o.buf = append(o.buf, byte(o.enclosed))
		}
	}
	o.buf = append(o.buf, o.ended...)
}

// escape appends the cell with what would end it, or be read as something else,
// escaped.
func (o *outfile) escape(enclosed bool) {
	if o.escaped < 0 {
		o.buf = append(o.buf, o.cell...)
		return
	}
	field := -1
	if enclosed {
		field = o.enclosed
	} else if o.terminated != "" {
		field = int(o.terminated[0])
	}
	line := -1
	if o.ended != "" {
		line = int(o.ended[0])
	}
	for _, c := range o.cell {
		x := int(c)
		if (x == o.escaped || x == field || x == line || c == 0) && (enclosed || !o.keepFieldTerm || x != int(o.terminated[0])) {
			if enclosed && x == o.enclosed && o.doubleEnclosed {
				o.buf = append(o.buf, c)
			} else {
				o.buf = append(o.buf, byte(o.escaped))
			}
			if c == 0 {
				c = '0'
			}
		}
		o.buf = append(o.buf, c)
	}
}
