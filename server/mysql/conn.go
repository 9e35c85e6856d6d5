package mysql

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

// conn is one client's connection. Everything belongs to the goroutine of run,
// except what is named otherwise.
type conn struct {
	wire
	srv  *Server
	id   uint32
	host string

	caps     uint32
	greeting []byte // scramble of the greeting
	scramble []byte // the last scramble
	frames   *zlibFrames

	user  string
	attrs map[string]string
	sess  Session
	// database is the current one as the client was last told.
	database string

	statements map[uint32]*statement
	lastStmt   uint32
	// streaming is the cursor whose rows come from a statement that is not
	// finished; the session runs nothing else meanwhile.
	streaming *cursor
	text      transcoder

	running atomic.Int64 // start of the running statement in ns, 0 when idle
	dead    atomic.Bool  // killed: end after the current command

	mu     sync.Mutex              // guards cancel
	cancel context.CancelCauseFunc // of the running statement, any goroutine
}

// errQuit ends the command loop without complaint.
var errQuit = errors.New("quit")

// run serves the connection until it ends. It never panics.
func (c *conn) run(ctx context.Context) {
	defer c.srv.forget(c)
	defer func() { _ = c.raw.Close() }()
	defer c.budget.Close()
	defer c.closeAll()
	defer func() {
		if r := recover(); r != nil {
			c.incident(r)
		}
	}()
	log := c.srv.log.With("connection", c.id, "host", c.host)
	if t, ok := c.raw.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4})
	}
	if !c.login(ctx, log) {
		return
	}
	err := c.serve(ctx)
	switch {
	case err == nil || errors.Is(err, errQuit):
	default:
		c.srv.aborted.Add(1)
		log.Debug("MySQL connection ended", "user", c.user, "error", err)
	}
}

// closeAll ends the session and what it holds.
func (c *conn) closeAll() {
	c.cancelStatement(errs.New(errs.User, errs.Killed, "run statement: the connection has ended"))
	c.closeStatements()
	if c.sess != nil {
		c.sess.Close()
	}
	c.rest()
}

// login brings the connection to its first command. What goes wrong is told to
// the client, if there is one.
func (c *conn) login(ctx context.Context, log *slog.Logger) bool {
	c.loginDeadline()
	loginCtx, stop := context.WithTimeout(ctx, c.srv.cfg.LoginTimeout)
	defer stop()
	l, err := c.handshake(loginCtx)
	if err != nil {
		if !quiet(err) && !c.srv.draining.Load() {
			log.Debug("MySQL handshake", "error", err)
			c.putError(&sqlError{1043, "08S01", "Bad handshake"}, false)
			c.flush()
		}
		return false
	}
	c.caps, c.user, c.attrs = l.caps, l.user, l.attrs
	acc, err := c.authenticate(loginCtx, l, false)
	if err == nil {
		// A factory may give a nil of its own type beside an error.
		var s Session
		if s, err = c.srv.cfg.Sessions.Open(loginCtx, c.options(acc, l)); err == nil {
			c.sess = s
		}
	}
	if err != nil {
		if errDenied(err) {
			c.srv.denied.Add(1)
			log.Info("MySQL login refused", "user", l.user, "error", err)
		}
		c.putError(err, true)
		c.flush()
		return false
	}
	c.database = c.sess.Status().Database
	c.ok(okay{})
	c.flush()
	if c.werr != nil {
		return false
	}
	// From here on reads may run ahead, and nothing is bounded by the login.
	_ = c.raw.SetDeadline(time.Time{})
	c.src = bufio.NewReaderSize(c.nc, 4096)
	if c.caps&capCompress != 0 {
		c.loose = true
		c.frames = &zlibFrames{src: c.src, dst: c.dst}
		c.src, c.dst = bufio.NewReaderSize(c.frames, 4096), c.frames
	}
	c.maxIn = c.srv.cfg.MaxPacket
	c.timed = true
	return true
}

// options describes the client to the session.
func (c *conn) options(acc metadata.Account, l *login) session.OpenOptions {
	o := session.OpenOptions{
		ID: c.id, Account: acc, User: l.user, Address: c.raw.RemoteAddr().String(), Database: l.database,
		Collation: collationName(l.collation), Attributes: l.attrs, FoundRows: c.caps&capFoundRows != 0, Kill: c.kill,
	}
	if t, ok := c.nc.(*tls.Conn); ok {
		st := t.ConnectionState()
		o.TLSVersion, o.TLSCipher = tls.VersionName(st.Version), tls.CipherSuiteName(st.CipherSuite)
	}
	return o
}

// serve reads and runs commands.
func (c *conn) serve(ctx context.Context) error {
	for {
		c.seq = 0
		if c.frames != nil {
			c.frames.reset()
		}
		_ = c.raw.SetReadDeadline(time.Now().Add(c.srv.cfg.IdleTimeout))
		if c.srv.draining.Load() || c.dead.Load() {
			return c.farewell()
		}
		p, err := c.read()
		if err != nil {
			switch {
			case errors.Is(err, io.EOF):
				return io.ErrUnexpectedEOF
			case errors.Is(err, os.ErrDeadlineExceeded):
				return c.farewell()
			case errs.KindOf(err) != errs.KindNone: // too large, no memory
				c.putError(err, true)
				c.flush()
				c.linger()
			}
			return err
		}
		if len(p) == 0 {
			return errBadHandshake
		}
		if c.frames != nil { // as clients expect of packets in compressed frames
			c.seq = c.frames.seq
		}
		c.srv.questions.Add(1)
		if err := c.guard(ctx, p[0], p[1:]); err != nil {
			c.flush()
			return err
		}
		c.flush()
		if c.werr != nil {
			return c.werr
		}
		c.rest()
	}
}

// farewell says why the server ends the connection.
func (c *conn) farewell() error {
	var err error
	switch {
	case c.srv.draining.Load():
		err = &sqlError{1053, "08S01", "Server shutdown in progress"}
	case c.dead.Load():
		return errQuit
	default:
		err = &sqlError{4031, "HY000", "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior."}
	}
	c.putError(err, true)
	c.flush()
	return err
}

// linger takes what a client is still sending, within limits, so that the error
// reaches it instead of a reset.
func (c *conn) linger() {
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.CopyN(io.Discard, c.raw, 256<<20)
}

// guard runs a command and turns a panic into an error for the client.
func (c *conn) guard(ctx context.Context, cmd byte, p []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e := c.incident(r)
			for _, s := range c.statements {
				c.dropCursor(s)
			}
			c.putError(e, true)
			err = nil
		}
	}()
	return c.command(ctx, cmd, p)
}

// incident logs a panic and returns the error that names the log entry.
func (c *conn) incident(r any) error {
	var b [6]byte
	_, _ = rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	c.srv.log.Error("panic in MySQL connection", "incident", id, "connection", c.id, "user", c.user, "panic", fmt.Sprint(r),
		"stack", string(debug.Stack()))
	return errs.Internalf("run command: internal error, incident %s; the server's log has the details", id)
}

// statementContext returns the context of a statement, which lives until done
// is called, usually when its result is closed.
func (c *conn) statementContext(ctx context.Context) (stmt context.Context, done func()) {
	stmt, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	return stmt, func() {
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancelStatement cancels the running statement, if there is one. Any
// goroutine may call it.
func (c *conn) cancelStatement(cause error) {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// kill ends the connection, for KILL. Any goroutine may call it.
func (c *conn) kill() {
	c.dead.Store(true)
	c.cancelStatement(errs.New(errs.User, errs.Killed, "Query execution was interrupted"))
	_ = c.raw.SetReadDeadline(time.Now())
	_ = c.raw.SetWriteDeadline(time.Now().Add(5 * time.Second))
}
