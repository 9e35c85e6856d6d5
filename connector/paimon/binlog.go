package paimon

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
)

// packReader shows a log of changes as t$binlog does: a row before an update and
// the one after it, which stand next to each other, are one row of kind +U whose
// arrays have both values.
type packReader struct {
	connector.BatchReader
	split *viewSplit
	at    []int // position of each column in the log's batches, -1: the row kind
	out   vector.Batch
	first *vector.Batch // the row before an update whose other half is to come
	cur   *vector.Batch // the log's, of which the rows from next on are to come
	next  int
}

func newPackReader(r connector.BatchReader, s *viewSplit) *packReader {
	p := &packReader{BatchReader: r, split: s}
	n := 0
	for _, c := range s.columns {
		p.out.Cols = append(p.out.Cols, s.snap.schema.Fields[c].Type.NewVec(0))
		if s.snap.inner(c) < 0 {
			p.at = append(p.at, -1)
			continue
		}
		p.at = append(p.at, n)
		n++
	}
	return p
}

// Next implements connector.BatchReader.
func (p *packReader) Next(ctx context.Context) (*vector.Batch, error) {
	p.out.Len, p.out.Seq = 0, -1
	for _, v := range p.out.Cols {
		v.Reset()
	}
	most := p.split.rows
	if most <= 0 || most > vector.MaxBatchRows {
		most = vector.BatchRows
	}
	for p.out.Len < most {
		if p.cur == nil || p.next == p.cur.Rows() {
			b, err := p.BatchReader.Next(ctx)
			if err != nil {
				return nil, err
			}
			if p.cur, p.next = b, 0; b == nil {
				if p.first != nil {
					p.emit(p.first, 0, nil, 0) // an update without its second half
					p.first = nil
				}
				break
			}
			continue
		}
		i := p.cur.Row(p.next)
		switch kind := p.cur.Kind(i); {
		case p.first != nil && kind == vector.UpdateAfter:
			p.emit(p.first, 0, p.cur, i)
			p.first = nil
		case p.first != nil:
			p.emit(p.first, 0, nil, 0)
			p.first = nil
			continue
		case kind == vector.UpdateBefore:
			p.keep(p.cur, i)
		default:
			p.emit(p.cur, i, nil, 0)
		}
		p.next++
	}
	if p.out.Len == 0 {
		return nil, nil
	}
	return &p.out, nil
}

// keep copies the row before an update.
func (p *packReader) keep(b *vector.Batch, i int) {
	p.first = &vector.Batch{Len: 1, Seq: -1, Kinds: []vector.RowKind{b.Kind(i)}}
	for _, c := range b.Cols {
		v := vector.NewLike(c.Values(), 1)
		v.AppendFrom(c, i)
		p.first.Cols = append(p.first.Cols, v)
	}
}

// emit adds a row of one change, or of the two halves of an update.
func (p *packReader) emit(a *vector.Batch, i int, b *vector.Batch, j int) {
	kind := a.Kind(i)
	if b != nil {
		kind = b.Kind(j)
	}
	for c, at := range p.at {
		v := p.out.Cols[c]
		if at < 0 {
			v.AppendString(vector.RowKindString(kind))
			continue
		}
		v.Child[0].AppendFrom(a.Cols[at], i)
		if b != nil {
			v.Child[0].AppendFrom(b.Cols[at], j)
		}
		v.CloseList()
	}
	p.out.Len++
}
