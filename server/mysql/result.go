package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// okay is what an OK packet tells.
type okay struct {
	affected, lastID uint64
	warnings         uint16
	info             string
	status           uint16 // besides the session's
}

// flags is a session's state as status flags.
func flags(s session.Status) uint16 {
	f := uint16(0)
	if s.Autocommit {
		f |= statusAutocommit
	}
	if s.InTransaction {
		f |= statusInTrans
	}
	if s.NoBackslashEscapes {
		f |= statusNoBackslashEscapes
	}
	return f
}

// ok writes an OK packet.
func (c *conn) ok(o okay) { c.putOK(0, o) }

// putOK writes an OK packet, with another first byte where it stands for EOF.
// It tells of a new current database to clients that track the session.
func (c *conn) putOK(header byte, o okay) {
	state := c.sess.Status()
	st := flags(state) | o.status
	db := state.Database
	changed := c.caps&capSessionTrack != 0 && db != c.database
	if changed {
		st |= statusSessionChanged
		c.database = db
	}
	c.begin()
	b := putLen(putLen(append(c.out, header), o.affected), o.lastID)
	b = put16(put16(b, st), o.warnings)
	if changed || o.info != "" {
		b = putStr(b, o.info)
	}
	if changed {
		name := c.text.putText(nil, db)
		entry := append(putLen([]byte{sessionTrackSchema}, uint64(len(name))), name...)
		b = putStr(b, entry)
	}
	c.out = b
	c.end()
}

// putEOF ends definitions or rows: an EOF packet, or an OK packet that stands
// for it where the client wants that.
func (c *conn) putEOF(warnings, status uint16) {
	if c.caps&capDeprecateEOF != 0 {
		c.putOK(0xfe, okay{warnings: warnings, status: status})
		return
	}
	c.putOldEOF(warnings, status)
}

func (c *conn) putOldEOF(warnings, status uint16) {
	c.begin()
	c.out = put16(put16(append(c.out, 0xfe), warnings), flags(c.sess.Status())|status)
	c.end()
}

// fail answers with an error. A statement that was cancelled says why.
func (c *conn) fail(ctx context.Context, err error) {
	if cause := context.Cause(ctx); cause != nil && errs.KindOf(err) == errs.KindNone &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) && errs.KindOf(cause) != errs.KindNone {
		err = cause
	}
	c.putError(err, true)
}

// header announces rows: their number of columns and the definitions.
func (c *conn) header(cols []session.Column) {
	c.begin()
	c.out = putLen(c.out, uint64(len(cols)))
	c.end()
	for i := range cols {
		c.putColumn(&cols[i], define(&cols[i], c.text.charset), false)
	}
}

// settings follows the session's character sets.
func (c *conn) settings() {
	c.text.use(c.sess.ClientCollation(), c.sess.ResultsCollation())
}

// answer runs one statement and sends what it gives. It reports whether the
// next statement of a text may run.
func (c *conn) answer(ctx context.Context, text string, params []expr.Value, isBinary, more bool) bool {
	c.finishStreaming()
	stmt, done := c.statementContext(ctx)
	defer done()
	c.running.Store(time.Now().UnixNano())
	defer c.running.Store(0)
	res, err := c.sess.Execute(stmt, text, params)
	if err != nil {
		c.fail(stmt, err)
		return false
	}
	defer func() { _ = res.Close() }()
	if err := c.send(stmt, res, isBinary, more); err != nil {
		c.fail(stmt, err)
		return false
	}
	return c.werr == nil
}

// send writes a result and closes it. An error is the statement's and is still
// to be told to the client; errors of the connection are in werr.
func (c *conn) send(ctx context.Context, res *session.Result, isBinary, more bool) error {
	status := uint16(0)
	if more {
		status = statusMoreResults
	}
	c.settings()
	if res.Columns == nil {
		if err := res.Close(); err != nil {
			return err
		}
		c.ok(okay{affected: res.Affected, lastID: res.LastInsertID, warnings: res.Warnings, info: res.Info, status: status})
		return nil
	}
	if c.text.err != nil {
		return c.text.err
	}
	// Errors are likeliest before the first batch: then the client gets an
	// error instead of a result. A continuous result may have none for long.
	var b *vector.Batch
	var err error
	if !res.Continuous {
		if b, err = next(ctx, res); err != nil {
			return err
		}
	}
	c.large()
	c.header(res.Columns)
	if c.caps&capDeprecateEOF == 0 {
		c.putOldEOF(0, 0)
	}
	e := newRowEncoder(res.Columns, isBinary, c.sess.Zone(), &c.text)
	sent := time.Now()
	if res.Continuous {
		c.flush()
		if b, err = next(ctx, res); err != nil {
			return err
		}
	}
	for b != nil {
		if err := e.rows(&c.wire, b, 0, b.Rows()); err != nil {
			return err
		}
		if c.werr != nil {
			c.cancelStatement(errs.New(errs.User, errs.Killed, "run statement: the client has gone away"))
			return nil
		}
		// Rows of a slow statement are not held back for long.
		if now := time.Now(); res.Continuous || now.Sub(sent) > 100*time.Millisecond {
			c.flush()
			sent = now
		}
		if b, err = next(ctx, res); err != nil {
			return err
		}
	}
	if err := res.Close(); err != nil {
		return err
	}
	c.putEOF(res.Warnings, status)
	return nil
}

// next returns the next batch that has rows, nil at the end.
func next(ctx context.Context, res *session.Result) (*vector.Batch, error) {
	for res.Rows != nil {
		b, err := res.Rows.Next(ctx)
		if err != nil || b == nil || b.Rows() > 0 {
			return b, err
		}
	}
	return nil, nil
}
