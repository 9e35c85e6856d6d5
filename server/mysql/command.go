package mysql

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// refusedCommands have a meaning in MySQL that this server does not offer.
var refusedCommands = map[byte]string{
	comRefresh: "COM_REFRESH", comShutdown: "COM_SHUTDOWN; stop the server with SIGTERM", comDebug: "COM_DEBUG",
	comBinlogDump: "COM_BINLOG_DUMP", comBinlogDumpGTID: "COM_BINLOG_DUMP_GTID", comTableDump: "COM_TABLE_DUMP",
	comRegisterSlave: "COM_REGISTER_SLAVE",
}

// command runs one command. An error ends the connection; what a client did
// wrong is answered and no error.
func (c *conn) command(ctx context.Context, cmd byte, p []byte) error {
	switch cmd {
	case comQuit:
		return errQuit
	case comQuery:
		return c.query(ctx, p)
	case comPing:
		c.ok(okay{})
	case comInitDB:
		c.finishStreaming()
		c.settings()
		if err := c.sess.Use(ctx, c.text.fromClient(p)); err != nil {
			c.putError(err, true)
			break
		}
		c.ok(okay{})
	case comStmtPrepare:
		c.prepare(ctx, p)
	case comStmtExecute:
		c.execute(ctx, p)
	case comStmtFetch:
		c.fetch(p)
	case comStmtSendLong:
		c.sendLong(p)
	case comStmtReset:
		c.resetStatement(p)
	case comStmtClose:
		f := fields{b: p}
		c.closeStatement(uint32(f.uint(4)))
	case comFieldList:
		c.fieldList(ctx, p)
	case comStatistics:
		c.statistics()
	case comProcessKill:
		f := fields{b: p}
		id := f.uint(4)
		if f.bad {
			return errBadHandshake
		}
		c.answer(ctx, fmt.Sprintf("KILL CONNECTION %d", id), nil, false, false)
	case comSetOption:
		return c.setOption(p)
	case comResetConnection:
		c.finishStreaming()
		c.closeStatements()
		if err := c.sess.Reset(ctx); err != nil {
			c.putError(err, true)
			break
		}
		c.ok(okay{})
	case comChangeUser:
		return c.changeUser(ctx, p)
	default:
		if name, ok := refusedCommands[cmd]; ok {
			c.putError(errs.Unsupportedf(-1, "the command %s", name), true)
			break
		}
		c.putError(&sqlError{1047, "08S01", "Unknown command"}, true)
	}
	return nil
}

// query runs COM_QUERY: one statement, or several where the client may send
// them. An error ends the text.
func (c *conn) query(ctx context.Context, p []byte) error {
	if c.caps&capQueryAttrs != 0 {
		f := fields{b: p}
		if err := c.skipAttributes(&f); err != nil {
			c.putError(err, true)
			return nil
		}
		p = f.b
	}
	c.settings()
	if n := int64(len(p)); n > freeBytes { // the text is a copy
		if err := c.budget.Reserve(n); err != nil {
			c.putError(err, true)
			return nil
		}
		defer c.budget.Release(n)
	}
	text := c.text.fromClient(p)
	parts := []string{text}
	if strings.IndexByte(text, ';') >= 0 || strings.TrimSpace(text) == "" {
		parts = c.sess.Split(text)
	}
	switch {
	case len(parts) == 0:
		c.putError(errs.Userf(errs.EmptyQuery, "Query was empty"), true)
		return nil
	case len(parts) > 1 && c.caps&capMultiStmts == 0:
		c.putError(errs.Userf(errs.MultiStatementOff, "You have an error in your SQL syntax; this connection does not allow "+
			"several statements in one text (CLIENT_MULTI_STATEMENTS); the second starts near '%.80s'", strings.TrimSpace(parts[1])), true)
		return nil
	}
	for i, s := range parts {
		if !c.answer(ctx, s, nil, false, i < len(parts)-1) {
			break
		}
	}
	return nil
}

// skipAttributes reads the query attributes before a text. Nothing here asks
// for them.
func (c *conn) skipAttributes(f *fields) error {
	n := f.lenenc()
	sets := f.lenenc()
	if f.bad || n > maxParams || sets != 1 {
		return errMalformed
	}
	if n == 0 {
		return nil
	}
	_, _, err := readParams(f, int(n), nil, nil, true, &c.text)
	return err
}

func (c *conn) statistics() {
	up := time.Since(c.srv.start).Seconds()
	s := c.srv.Stats()
	c.begin()
	c.out = fmt.Appendf(c.out, "Uptime: %.0f  Threads: %d  Questions: %d  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0  "+
		"Queries per second avg: %.3f", up, s.Open, s.Questions, float64(s.Questions)/max(up, 1))
	c.end()
}

func (c *conn) setOption(p []byte) error {
	f := fields{b: p}
	switch n := f.uint(2); {
	case f.bad || n > 1:
		c.putError(&sqlError{1047, "08S01", "Unknown command"}, true)
		return nil
	case n == 0:
		c.caps |= capMultiStmts
	default:
		c.caps &^= capMultiStmts
	}
	c.putEOF(0, 0)
	return nil
}

// fieldList answers COM_FIELD_LIST: the columns of a table, from what preparing
// a SELECT tells.
func (c *conn) fieldList(ctx context.Context, p []byte) {
	c.finishStreaming()
	c.settings()
	name, _, _ := bytes.Cut(p, []byte{0})
	table := "`" + strings.ReplaceAll(c.text.fromClient(name), "`", "``") + "`"
	stmt, done := c.statementContext(ctx)
	defer done()
	prep, err := c.sess.Prepare(stmt, "SELECT * FROM "+table)
	if err != nil {
		c.fail(stmt, err)
		return
	}
	for i := range prep.Columns {
		c.putColumn(&prep.Columns[i], define(&prep.Columns[i], c.text.charset), true)
	}
	c.putEOF(0, 0)
}

// changeUser answers COM_CHANGE_USER: a login on the open connection. A failed
// one ends the connection, as in MySQL.
func (c *conn) changeUser(ctx context.Context, p []byte) error {
	c.finishStreaming()
	l, ok := parseChangeUser(p, c.caps)
	if !ok {
		c.putError(&sqlError{1043, "08S01", "Bad handshake"}, true)
		return errBadHandshake
	}
	loginCtx, stop := context.WithTimeout(ctx, c.srv.cfg.LoginTimeout)
	defer stop()
	_ = c.raw.SetReadDeadline(time.Now().Add(c.srv.cfg.LoginTimeout))
	c.maxIn = loginPacket
	acc, err := c.authenticate(loginCtx, l, true)
	c.maxIn = c.srv.cfg.MaxPacket
	if err == nil {
		c.closeStatements()
		c.user, c.attrs = l.user, l.attrs
		err = c.sess.ChangeUser(loginCtx, c.options(acc, l))
	}
	if err != nil {
		if errDenied(err) {
			c.srv.denied.Add(1)
			c.srv.log.Info("MySQL change of user refused", "connection", c.id, "user", l.user, "error", err)
		}
		c.putError(err, true)
		return err
	}
	c.database = c.sess.Status().Database
	c.ok(okay{})
	return nil
}

// parseChangeUser reads the payload of COM_CHANGE_USER behind the command.
func parseChangeUser(p []byte, caps uint32) (*login, bool) {
	f := fields{b: p}
	l := &login{caps: caps, collation: defaultCollation}
	l.user = string(f.nul())
	l.answer = append([]byte(nil), f.take(int(f.uint(1)))...)
	l.database = string(f.nul())
	if len(f.b) >= 2 {
		l.collation = uint16(f.uint(2))
		if caps&capPluginAuth != 0 && len(f.b) > 0 {
			l.method = string(f.nulOrRest())
		}
		if caps&capConnectAttrs != 0 && len(f.b) > 0 {
			l.attrs = readAttrs(&f)
		}
	}
	return l, !f.bad
}
