package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// statement is a prepared statement.
type statement struct {
	text   string
	params int
	types  []paramType    // of the last execution that told them
	long   map[int][]byte // what COM_STMT_SEND_LONG_DATA brought
	// longErr is why long data was refused; the next execution tells it.
	longErr error
	paid    int64 // bytes reserved for text and long data
	cursor  *cursor
}

// cursor is a result that the client fetches in pieces.
type cursor struct {
	res  *session.Result
	ctx  context.Context
	done func()
	enc  *rowEncoder

	batch *vector.Batch // the current one; nil: ask for the next
	at    int           // rows of it that were sent
	ended bool          // no batch will come
	err   error         // what the statement failed with

	// kept are batches that were read ahead because the session was needed for
	// another statement.
	kept []*vector.Batch
	paid int64
}

const cursorReadOnly, paramCountAvailable = 1, 8

func unknownStatement(id uint32) error {
	return errs.Userf(errs.UnknownStatement, "Unknown prepared statement handler (%d) given to mysql_stmt_precheck", id)
}

// prepare answers COM_STMT_PREPARE.
func (c *conn) prepare(ctx context.Context, p []byte) {
	c.finishStreaming()
	c.settings()
	if len(c.statements) >= c.srv.cfg.MaxStatements {
		c.putError(&sqlError{1461, "42000", fmt.Sprintf("Can't create more than max_prepared_stmt_count statements (current value: %d)",
			c.srv.cfg.MaxStatements)}, true)
		return
	}
	text := c.text.fromClient(p)
	stmt, done := c.statementContext(ctx)
	defer done()
	c.running.Store(time.Now().UnixNano())
	defer c.running.Store(0)
	prep, err := c.sess.Prepare(stmt, text)
	if err == nil && prep.Params > maxParams {
		err = &sqlError{1390, "HY000", "Prepared statement contains too many placeholders"}
	}
	size := int64(len(text)) + 256
	if err == nil {
		err = c.budget.Reserve(size)
	}
	if err != nil {
		c.fail(stmt, err)
		return
	}
	for {
		c.lastStmt++
		if _, used := c.statements[c.lastStmt]; !used && c.lastStmt != 0 {
			break
		}
	}
	c.statements[c.lastStmt] = &statement{text: text, params: prep.Params, paid: size}
	cols := prep.Columns
	c.begin()
	o := put32(append(c.out, 0), c.lastStmt)
	o = put16(put16(o, uint16(len(cols))), uint16(prep.Params))
	c.out = append(o, 0, 0, 0)
	c.end()
	if prep.Params > 0 {
		for i := range prep.Params {
			d := parameterDefinition
			if i < len(prep.Parameters) && prep.Parameters[i].Class != expr.Null {
				d = define(&session.Column{Type: prep.Parameters[i]}, c.text.charset)
			}
			c.putColumn(&parameterColumn, d, false)
		}
		if c.caps&capDeprecateEOF == 0 {
			c.putOldEOF(0, 0)
		}
	}
	if len(cols) > 0 {
		for i := range cols {
			c.putColumn(&cols[i], define(&cols[i], c.text.charset), false)
		}
		if c.caps&capDeprecateEOF == 0 {
			c.putOldEOF(0, 0)
		}
	}
}

// execute answers COM_STMT_EXECUTE.
func (c *conn) execute(ctx context.Context, p []byte) {
	f := fields{b: p}
	id := uint32(f.uint(4))
	flags := f.uint(1)
	f.uint(4) // iterations, always 1
	s := c.statements[id]
	if s == nil {
		c.putError(unknownStatement(id), true)
		return
	}
	c.dropCursor(s)
	c.finishStreaming()
	c.settings()
	params, err := c.bind(s, &f, flags)
	c.forgetLong(s)
	if err != nil {
		c.putError(err, true)
		return
	}
	if flags&cursorReadOnly == 0 {
		c.answer(ctx, s.text, params, true, false)
		return
	}
	c.open(ctx, s, params)
}

// bind reads the values of a statement's placeholders.
func (c *conn) bind(s *statement, f *fields, flags uint64) ([]expr.Value, error) {
	if s.longErr != nil {
		return nil, s.longErr
	}
	n := s.params
	named := c.caps&capQueryAttrs != 0 && (n > 0 || flags&paramCountAvailable != 0)
	if named {
		told := f.lenenc()
		if f.bad || told < uint64(n) || told > maxParams {
			return nil, errMalformed
		}
		n = int(told)
	}
	if n == 0 {
		if f.bad {
			return nil, errMalformed
		}
		return nil, nil
	}
	types := s.types
	if len(types) != n {
		types = nil
	}
	values, types, err := readParams(f, n, types, s.long, named, &c.text)
	if err != nil {
		return nil, err
	}
	s.types = types
	return values[:s.params], nil // the rest are query attributes
}

// open runs a statement whose rows the client will fetch.
func (c *conn) open(ctx context.Context, s *statement, params []expr.Value) {
	stmt, done := c.statementContext(ctx)
	c.running.Store(time.Now().UnixNano())
	defer c.running.Store(0)
	res, err := c.sess.Execute(stmt, s.text, params)
	cur := &cursor{res: res, ctx: stmt, done: done}
	defer func() {
		if s.cursor != cur { // nothing to fetch: no rows, an error, a panic
			_ = res.Close()
			done()
		}
	}()
	if err != nil {
		c.fail(stmt, err)
		return
	}
	if res.Columns == nil {
		if err := c.send(stmt, res, true, false); err != nil {
			c.fail(stmt, err)
		}
		return
	}
	c.settings()
	if err = c.text.err; err == nil {
		// As without a cursor, most errors come before the first row.
		cur.batch, err = next(stmt, res)
	}
	if err != nil {
		c.fail(stmt, err)
		return
	}
	cur.ended = cur.batch == nil
	c.header(res.Columns)
	cur.enc = newRowEncoder(res.Columns, true, c.sess.Zone(), &c.text)
	// Also with DEPRECATE_EOF: this packet is how the client knows of the
	// cursor.
	c.putEOF(res.Warnings, statusCursorExists)
	s.cursor, c.streaming = cur, cur
	if cur.ended {
		c.finishRows(cur)
	}
}

// fetch answers COM_STMT_FETCH with the next rows of a cursor.
func (c *conn) fetch(p []byte) {
	f := fields{b: p}
	id, want := uint32(f.uint(4)), int(f.uint(4))
	s := c.statements[id]
	if s == nil || f.bad {
		c.putError(unknownStatement(id), true)
		return
	}
	cur := s.cursor
	if cur == nil {
		c.putError(&sqlError{1421, "HY000", fmt.Sprintf("The statement (%d) has no open cursor.", id)}, true)
		return
	}
	c.running.Store(time.Now().UnixNano())
	defer c.running.Store(0)
	c.large()
	for want > 0 && cur.err == nil {
		if cur.batch == nil && !c.advance(cur) {
			break
		}
		n := min(want, cur.batch.Rows()-cur.at)
		if cur.err = cur.enc.rows(&c.wire, cur.batch, cur.at, cur.at+n); cur.err != nil || c.werr != nil {
			break
		}
		cur.at += n
		want -= n
		if cur.at == cur.batch.Rows() {
			cur.batch, cur.at = nil, 0
			if want == 0 {
				c.advance(cur) // is this the end?
			}
		}
	}
	switch {
	case cur.err != nil:
		c.fail(cur.ctx, cur.err)
		c.dropCursor(s)
	case cur.batch == nil && cur.ended:
		c.putEOF(cur.res.Warnings, statusCursorExists|statusLastRowSent)
		c.dropCursor(s)
	default:
		c.putEOF(0, statusCursorExists)
	}
}

// advance gets the cursor's next batch and reports whether there is one.
func (c *conn) advance(cur *cursor) bool {
	if len(cur.kept) > 0 {
		cur.batch, cur.kept = cur.kept[0], cur.kept[1:]
		return true
	}
	if cur.ended || cur.err != nil {
		return false
	}
	cur.batch, cur.err = next(cur.ctx, cur.res)
	if cur.batch == nil {
		cur.ended = true
		c.finishRows(cur)
		return false
	}
	return true
}

// finishRows closes the statement behind a cursor; kept rows stay.
func (c *conn) finishRows(cur *cursor) {
	if c.streaming == cur {
		c.streaming = nil
	}
	if err := cur.res.Close(); err != nil && cur.err == nil {
		cur.err = err
	}
	if cur.done != nil {
		cur.done()
		cur.done = nil
	}
}

// finishStreaming reads the rest of the open cursor into memory, because the
// session is about to run something else. What goes wrong is told when the
// client fetches.
func (c *conn) finishStreaming() {
	cur := c.streaming
	if cur == nil {
		return
	}
	keep := func(b *vector.Batch) bool {
		b = b.Clone()
		if cur.err = c.budget.Reserve(b.Bytesize()); cur.err != nil {
			return false
		}
		cur.paid += b.Bytesize()
		cur.kept = append(cur.kept, b)
		return true
	}
	if cur.batch != nil && cur.at > 0 {
		rest := *cur.batch
		rest.Sel = make([]uint16, 0, cur.batch.Rows()-cur.at)
		for i := cur.at; i < cur.batch.Rows(); i++ {
			rest.Sel = append(rest.Sel, uint16(cur.batch.Row(i)))
		}
		cur.batch, cur.at = &rest, 0
	}
	ok := cur.batch == nil || keep(cur.batch)
	cur.batch, cur.at = nil, 0
	for ok {
		b, err := next(cur.ctx, cur.res)
		if cur.err = err; err != nil || b == nil {
			break
		}
		ok = keep(b)
	}
	cur.ended = true
	c.finishRows(cur)
}

func (c *conn) dropCursor(s *statement) {
	cur := s.cursor
	if cur == nil {
		return
	}
	s.cursor = nil
	c.finishRows(cur)
	c.budget.Release(cur.paid)
	cur.kept, cur.paid = nil, 0
}

// sendLong takes a piece of a long parameter. There is no answer.
func (c *conn) sendLong(p []byte) {
	f := fields{b: p}
	id, n := uint32(f.uint(4)), int(f.uint(2))
	s := c.statements[id]
	if s == nil || f.bad || s.longErr != nil {
		return
	}
	if n >= s.params {
		s.longErr = errs.Userf(errs.WrongArguments, "Incorrect arguments to mysqld_stmt_send_long_data")
		return
	}
	old := s.long[n]
	if len(old)+len(f.b) > c.srv.cfg.MaxPacket {
		s.longErr = errs.Userf(errs.PacketTooLarge,
			"Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes")
		return
	}
	if s.longErr = c.budget.Reserve(int64(len(f.b))); s.longErr != nil {
		return
	}
	s.paid += int64(len(f.b))
	if s.long == nil {
		s.long = map[int][]byte{}
	}
	s.long[n] = append(old, f.b...)
	if s.long[n] == nil {
		s.long[n] = []byte{}
	}
}

func (c *conn) forgetLong(s *statement) {
	for _, b := range s.long {
		c.budget.Release(int64(len(b)))
		s.paid -= int64(len(b))
	}
	s.long, s.longErr = nil, nil
}

func (c *conn) resetStatement(p []byte) {
	f := fields{b: p}
	id := uint32(f.uint(4))
	s := c.statements[id]
	if s == nil {
		c.putError(unknownStatement(id), true)
		return
	}
	c.dropCursor(s)
	c.forgetLong(s)
	c.ok(okay{})
}

func (c *conn) closeStatement(id uint32) {
	s := c.statements[id]
	if s == nil {
		return
	}
	c.dropCursor(s)
	c.budget.Release(s.paid)
	delete(c.statements, id)
}

func (c *conn) closeStatements() {
	for id := range c.statements {
		c.closeStatement(id)
	}
}
