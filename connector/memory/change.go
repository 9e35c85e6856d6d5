package memory

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var _ connector.RowChanger = (*Table)(nil)

// NewRowChange implements connector.RowChanger. An address is the number of the
// chunk in the upper bits and the position in it in the lower 16: chunks keep
// their places until the table is overwritten.
func (t *Table) NewRowChange(ctx context.Context, base connector.Snapshot, opts connector.WriteOptions) (connector.RowChange, error) {
	v, ok := base.(*version)
	if !ok || v.table != t {
		return nil, errs.Internalf("change rows of table %s: the snapshot is of another table", t.id)
	}
	if len(t.schema.PrimaryKeys) > 0 {
		return nil, errs.Internalf("change rows of table %s: its primary key says which rows are replaced", t.id)
	}
	w, err := t.NewWrite(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &rowChange{TableWrite: w, base: v, gone: map[int]map[uint16]bool{}}, nil
}

type rowChange struct {
	connector.TableWrite
	base *version
	gone map[int]map[uint16]bool
}

// Rows implements connector.RowChange.
func (c *rowChange) Rows() connector.Snapshot { return &addressed{c.base} }

// Delete implements connector.RowChange.
func (c *rowChange) Delete(_ context.Context, addresses *vector.Vec, sel []uint16) error {
	n := addresses.Len
	if sel != nil {
		n = len(sel)
	}
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		a := addresses.Values().I64s[addresses.At(i)]
		ch, row := int(a>>16), uint16(a)
		if c.gone[ch] == nil {
			c.gone[ch] = map[uint16]bool{}
		}
		if c.gone[ch][row] {
			return errs.Internalf("change rows of table %s: a row is deleted twice", c.base.table.id)
		}
		c.gone[ch][row] = true
	}
	return nil
}

// PrepareCommit implements connector.TableWrite.
func (c *rowChange) PrepareCommit(ctx context.Context) ([]connector.CommitMessage, error) {
	out, err := c.TableWrite.PrepareCommit(ctx)
	if err == nil && len(c.gone) > 0 {
		out = append(out, &message{gone: c.gone, base: c.base.info.ID})
		c.gone = map[int]map[uint16]bool{}
	}
	return out, err
}

// remove takes rows out of the version being made.
func (v *version) remove(gone map[int]map[uint16]bool) {
	for i, rows := range gone {
		ch := &v.chunks[i]
		sel := make([]uint16, 0, ch.batch.Len)
		for r := range int(ch.rows()) {
			p := uint16(r)
			if ch.sel != nil {
				p = ch.sel[r]
			}
			if !rows[p] {
				sel = append(sel, p)
			}
		}
		ch.sel = sel
	}
}

// addressed is a version with the addresses of its rows as one more column.
type addressed struct{ *version }

// Schema implements connector.Snapshot.
func (a *addressed) Schema() *catalog.Schema {
	s := *a.table.schema
	s.Fields = append(slices.Clone(s.Fields), catalog.Field{ID: s.HighestFieldID + 1, Name: connector.AddressColumn, Type: catalog.TBigInt.Required()})
	return &s
}

// Plan implements connector.Snapshot.
func (a *addressed) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	at := len(a.table.schema.Fields)
	own := req
	own.Columns = slices.DeleteFunc(slices.Clone(req.Columns), func(c int) bool { return c == at })
	if len(own.Columns) == len(req.Columns) {
		return a.version.Plan(ctx, req)
	}
	own.NoPruning = true // so that the splits are the chunks, in order
	p, err := a.version.Plan(ctx, own)
	if err != nil {
		return nil, err
	}
	for i, s := range p.Splits {
		p.Splits[i] = &addressedSplit{split: s.(*split), chunk: i, columns: req.Columns, at: at}
	}
	return p, nil
}

type addressedSplit struct {
	*split
	chunk   int
	columns []int
	at      int
}

// Open implements connector.Split.
func (s *addressedSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	r, err := s.split.Open(ctx)
	return &addressedReader{r.(*reader), s}, err
}

type addressedReader struct {
	*reader
	of *addressedSplit
}

// Next implements connector.BatchReader.
func (r *addressedReader) Next(ctx context.Context) (*vector.Batch, error) {
	from := r.at
	b, err := r.reader.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	ids := vector.New(vector.I64, b.Len)
	for i := from; i < from+b.Len; i++ {
		row := uint16(i)
		if sel := r.of.split.chunk.sel; sel != nil {
			row = sel[i]
		}
		ids.AppendI64(int64(r.of.chunk)<<16 | int64(row))
	}
	out := &vector.Batch{Len: b.Len, Seq: -1}
	k := 0
	for _, c := range r.of.columns {
		if c == r.of.at {
			out.Cols = append(out.Cols, ids)
			continue
		}
		out.Cols = append(out.Cols, b.Cols[k])
		k++
	}
	return out, nil
}

// partitions reports for each row of b whether it is in one of the partitions
// that an overwrite replaces.
func (t *Table) partitions(k *connector.Committable, added []*vector.Batch) func(b *vector.Batch, row int) bool {
	s := t.schema
	if k.OverwriteDynamic {
		have := map[string]bool{}
		cols := s.Columns(s.PartitionKeys)
		key := func(b *vector.Batch, row int) string {
			var out []byte
			for _, c := range cols {
				out = vector.AppendKey(out, b.Cols[c], row)
			}
			return string(out)
		}
		for _, b := range added {
			for i := range b.Len {
				have[key(b, i)] = true
			}
		}
		return func(b *vector.Batch, row int) bool { return have[key(b, row)] }
	}
	return func(b *vector.Batch, row int) bool {
		for name, want := range k.OverwriteIn {
			c := s.Column(name)
			if c < 0 {
				return false
			}
			v := b.Cols[c]
			if v.IsNull(row) || want == nil {
				if v.IsNull(row) != (want == nil) {
					return false
				}
				continue
			}
			if partitionText(s.Fields[c].Type, v, row) != *want {
				return false
			}
		}
		return true
	}
}

// partitionText is the text of a partition value.
func partitionText(t catalog.Type, v *vector.Vec, row int) string {
	at := v.At(row)
	switch p := v.Values(); {
	case t.Kind == catalog.Date:
		return time.Unix(int64(p.I32s[at])*86400, 0).UTC().Format("2006-01-02")
	case p.Kind == vector.I8:
		return strconv.Itoa(int(p.I8s[at]))
	case p.Kind == vector.I32:
		return strconv.Itoa(int(p.I32s[at]))
	case p.Kind == vector.I64:
		return strconv.FormatInt(p.I64s[at], 10)
	}
	return v.String(row)
}

// overwrite keeps the rows that an overwrite of partitions does not replace.
func (t *Table) overwrite(v, prev *version, replaced func(b *vector.Batch, row int) bool) {
	for _, ch := range prev.chunks {
		kept := chunk{batch: ch.batch, bounds: ch.bounds, sel: make([]uint16, 0, ch.rows())}
		for r := range int(ch.rows()) {
			p := uint16(r)
			if ch.sel != nil {
				p = ch.sel[r]
			}
			if !replaced(ch.batch, int(p)) {
				kept.sel = append(kept.sel, p)
			}
		}
		v.chunks = append(v.chunks, kept)
	}
	clear(t.index)
	if len(t.schema.PrimaryKeys) == 0 {
		return
	}
	cols := t.schema.Columns(t.schema.PrimaryKeys)
	for i, ch := range v.chunks {
		for _, p := range ch.sel {
			var key []byte
			for _, c := range cols {
				key = vector.AppendKey(key, ch.batch.Cols[c], int(p))
			}
			t.index[string(key)] = place{i, p}
		}
	}
}
