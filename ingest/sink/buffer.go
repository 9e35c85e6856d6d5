package sink

import (
	"context"
	"errors"
	"time"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// bufferBytes is how much a table collects before the rows go to its writer.
const bufferBytes = 1 << 20

// buffer collects rows between the source and a table's writer.
type buffer struct {
	batch    *vector.Batch
	shape    *transform.Shape // of the rows; nil: they are the lake's
	reserved int64
}

// drop empties the buffer.
func (b *buffer) drop(budget *memory.Budget) {
	b.batch, b.shape = nil, nil
	budget.Release(b.reserved)
	b.reserved = 0
}

// Append decodes rows of a source table into the lake table, until they end or
// a buffer is full, and returns how many there were. After an error the round
// must be discarded. copying keeps the writer from compacting.
func (t *Table) Append(ctx context.Context, def *source.Table, rows source.Rows, copying bool) (n int64, done bool, _ error) {
	budget := t.set.o.Budget
	if t.unshaped {
		return 0, false, errs.New(errs.User, errs.TableStopped, "follow %s: rows came before the change of definition that was begun", def.ID)
	}
	shape := t.shapes[def.ID]
	if shape.Plain() {
		shape = nil
	}
	if t.buffer.batch != nil && t.buffer.shape != shape {
		// Rows of another source table come first, as they did in the log.
		if err := t.drain(ctx, copying); err != nil {
			return 0, false, err
		}
		t.buffer.drop(budget)
	}
	for {
		if t.buffer.batch == nil {
			if t.buffer.shape = shape; shape != nil {
				t.buffer.batch = shape.NewBatch(64)
			} else {
				t.buffer.batch = def.NewBatch(64)
			}
		}
		b := t.buffer.batch
		before := b.Len
		end := rows.AppendTo(b, vector.BatchRows, bufferBytes)
		if end != nil && !errors.Is(end, source.EOF) {
			return n, false, end
		}
		if shape != nil && shape.Wants() {
			shape.Stamp(b, t.origin, &t.stamped)
		}
		got := int64(b.Len - before)
		n += got
		t.rows += got
		t.Read += got
		if got > 0 {
			t.wait()
		}
		full := b.Len >= vector.BatchRows || dataBytes(b) >= bufferBytes
		if size := b.Bytesize(); size > t.buffer.reserved {
			if err := budget.Reserve(size - t.buffer.reserved); err != nil {
				full = true // make room by writing first
			} else {
				t.buffer.reserved = size
			}
		}
		if full {
			if err := t.drain(ctx, copying); err != nil {
				return n, false, err
			}
		}
		if end != nil || full {
			return n, end != nil, nil
		}
	}
}

// TableError is an error that concerns one table of a round: the others may go
// on without it.
type TableError struct {
	Table *Table
	Err   error
}

func (e *TableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TableError) Unwrap() error { return e.Err }

// Stamps reports whether rows of a source table are shaped by where they come
// from: then From must be called.
func (t *Table) Stamps(id source.ID) bool {
	s := t.shapes[id]
	return s != nil && s.Wants()
}

// From says where the rows of the next calls of Append come from.
func (t *Table) From(o transform.Origin) {
	if o.Txn != t.origin.Txn {
		t.stamped = 0
	}
	t.origin = o
}

// dataBytes estimates the bytes of the rows of a batch, without the room that
// its vectors keep free.
func dataBytes(b *vector.Batch) int64 {
	var width, text int64
	for _, c := range b.Cols {
		switch c.Kind {
		case vector.I8:
			width++
		case vector.I32, vector.F32:
			width += 4
		case vector.I64, vector.F64:
			width += 8
		default:
			width += 16
		}
		for _, buf := range c.Bufs {
			text += int64(len(buf))
		}
	}
	return width*int64(b.Len) + text
}

// drain hands the buffered rows to the writer.
func (t *Table) drain(ctx context.Context, copying bool) error {
	b := t.buffer.batch
	if b == nil || b.Len == 0 {
		return nil
	}
	if err := t.openWriter(ctx, copying); err != nil {
		return err
	}
	rows := b
	if s := t.buffer.shape; s != nil {
		var err error
		if rows, err = s.Apply(b); err != nil {
			return &TableError{t, err}
		}
		if text, n := s.Warned(); n > 0 && time.Since(t.warned) > time.Minute {
			t.warned = time.Now()
			t.set.o.Log.Warn("values of a transform were cut or became NULL", "pipeline", t.set.o.Pipeline, "table", t.ID.String(), "values", n, "first", text)
		}
	}
	if err := t.onlyInserts(rows); err != nil {
		return err
	}
	err := t.write.Write(ctx, rows)
	if errs.Is(err, errs.MemoryLimit) {
		// Memory is short: finish the files of every writer, uncommitted, and
		// try once more.
		if err = t.set.relieve(ctx); err == nil {
			err = t.write.Write(ctx, rows)
		}
	}
	if err != nil {
		return err
	}
	t.bytes += dataBytes(b)
	b.Reset()
	if size := b.Bytesize(); size < t.buffer.reserved {
		t.set.o.Budget.Release(t.buffer.reserved - size)
		t.buffer.reserved = size
	}
	return nil
}

// onlyInserts refuses changes of rows that a table without a key cannot find.
func (t *Table) onlyInserts(b *vector.Batch) error {
	if b.Kinds == nil || len(t.table.Schema().PrimaryKeys) > 0 {
		return nil
	}
	for i := range b.Rows() {
		if k := b.Kind(b.Row(i)); k != vector.Insert {
			return &TableError{t, errs.New(errs.User, errs.TableStopped, "a row was updated or deleted (%s), which a table without a key cannot follow; give the source table a primary key or a NOT NULL UNIQUE index, or write primary-keys in a transform",
				vector.RowKindString(k))}
		}
	}
	return nil
}

// openWriter starts a writer unless there is one.
func (t *Table) openWriter(ctx context.Context, copying bool) error {
	if t.write != nil {
		return nil
	}
	layer := connector.LayerPlain
	if t.Copying != nil {
		layer = connector.LayerAbove
	}
	w, err := t.table.NewWrite(ctx, connector.WriteOptions{CommitUser: t.set.o.User, Budget: t.set.o.Budget, NoCompaction: copying, KeepNulls: true, Layer: layer})
	if err != nil {
		return err
	}
	t.write = w
	t.hold()
	return nil
}

// relieve turns all buffered rows of all writers into files.
func (s *Set) relieve(ctx context.Context) error {
	for _, t := range s.Tables {
		if err := t.prepare(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare finishes the files of what the table's writers have.
func (t *Table) prepare(ctx context.Context) error {
	for _, w := range []connector.TableWrite{t.write, t.base} {
		if w == nil {
			continue
		}
		m, err := w.PrepareCommit(ctx)
		if err != nil {
			return err
		}
		t.pending = append(t.pending, m...)
	}
	return nil
}

// flush finishes the files of everything appended.
func (t *Table) flush(ctx context.Context) error {
	if err := t.drain(ctx, !t.copied()); err != nil {
		return err
	}
	t.buffer.drop(t.set.o.Budget) // an idle table keeps nothing
	return t.prepare(ctx)
}

func (t *Table) copied() bool { return t.Start != nil }
