package write

import (
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// readDefaults returns the values that columns get in place of NULL, nil for
// those without: the schema's, or else the option 'fields.<column>.default-value'.
func readDefaults(s *catalog.Schema) ([]*vector.Vec, error) {
	out := make([]*vector.Vec, len(s.Fields))
	for i, f := range s.Fields {
		text := f.Default
		if v, ok := s.Options["fields."+f.Name+".default-value"]; ok && text == nil {
			text = &v
		}
		if text == nil {
			continue
		}
		v, err := read.CastText(*text, f.Type)
		if err != nil {
			return nil, fmt.Errorf("read the default value of column %s: %w", f.Name, err)
		}
		if !v.IsNull(0) {
			out[i] = v
		}
	}
	return out, nil
}

// complete returns the batch with default values in place of NULLs, and with the
// row kinds that the column 'rowkind.field' says. The batch stays as it is.
func (w *Writer) complete(b *vector.Batch) (*vector.Batch, error) {
	out := b
	own := func() {
		if out == b {
			c := *b
			c.Cols = append([]*vector.Vec(nil), b.Cols...)
			out = &c
		}
	}
	for i, def := range w.defaults {
		if def == nil || b.Cols[i].NullCount() == 0 {
			continue
		}
		v := w.types[i].NewVec(b.Len)
		for r := range b.Len {
			if b.Cols[i].IsNull(r) {
				v.AppendFrom(def, 0)
			} else {
				v.AppendFrom(b.Cols[i], r)
			}
		}
		own()
		out.Cols[i] = v
	}
	if w.opts.kindField < 0 {
		return out, nil
	}
	own()
	v := out.Cols[w.opts.kindField]
	out.Kinds = make([]vector.RowKind, b.Len)
	vals := v.Values()
	for i := range b.Rows() {
		row := b.Row(i)
		text := ""
		if !v.IsNull(row) {
			text = vals.String(v.At(row))
		}
		k, ok := kindNames[text]
		if !ok {
			return nil, errs.Userf(errs.WrongValue, "write to %s: %q in the column of 'rowkind.field' is not +I, -U, +U or -D", w.cfg.Paths.Root(), text)
		}
		out.Kinds[row] = k
	}
	return out, nil
}

var kindNames = map[string]vector.RowKind{"+I": vector.Insert, "-U": vector.UpdateBefore, "+U": vector.UpdateAfter, "-D": vector.Delete}
