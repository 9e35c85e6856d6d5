package mysql

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// DefaultVersion is what the server says it is: clients parse it as MySQL 8.
const DefaultVersion = "8.0.43-Thermocline"

// Config is what a Server is made of. Accounts and Sessions are required; the
// zero value of everything else is a sensible default.
type Config struct {
	Accounts Accounts
	Sessions SessionFactory
	// Version is the version in the greeting; "" is DefaultVersion.
	Version string
	// TLS has the certificate; nil makes a self-signed one, which protects
	// against listening but not against impostors. NoTLS turns TLS off.
	TLS   *tls.Config
	NoTLS bool
	// RequireTLS refuses clients without TLS that are not on this machine.
	RequireTLS bool
	// MaxConnections limits connections; 0 is 500.
	MaxConnections int
	// MaxPacket is max_allowed_packet in bytes; 0 is 64 MiB.
	MaxPacket int
	// MaxStatements limits the prepared statements of a connection; 0 is 16382.
	MaxStatements int
	// LoginTimeout bounds the login; 0 is 10 s. IdleTimeout is the longest wait
	// for a command; 0 is 8 h. WriteTimeout is the longest a client may take no
	// data (DESIGN D19); 0 is 60 s.
	LoginTimeout, IdleTimeout, WriteTimeout time.Duration
	// DrainTimeout is how long running statements may go on when the server
	// stops; 0 is 10 s.
	DrainTimeout time.Duration
	// Budget pays for large packets and parameters; nil is unlimited.
	Budget *memory.Budget
	// Log receives incidents and refused logins; nil is slog.Default.
	Log *slog.Logger
}

// Server speaks the MySQL protocol to clients. Its methods are safe for
// concurrent use.
type Server struct {
	cfg   Config
	log   *slog.Logger
	tls   *tls.Config
	auth  *authenticator
	start time.Time

	mu       sync.Mutex
	conns    map[*conn]struct{}
	draining atomic.Bool

	accepted, refused, denied, aborted, questions atomic.Uint64
}

// Stats are counters since the start, for metrics.
type Stats struct {
	Open      int    // connections now
	Accepted  uint64 // connections
	Refused   uint64 // beyond the limit
	Denied    uint64 // logins
	Aborted   uint64 // connections that ended without COM_QUIT, after login
	Questions uint64 // commands
}

// NewServer makes a server. It takes some milliseconds when it makes a certificate.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Accounts == nil || cfg.Sessions == nil {
		return nil, errs.Internalf("start MySQL port: accounts and sessions are required")
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&cfg.LoginTimeout, 10*time.Second)
	def(&cfg.IdleTimeout, 8*time.Hour)
	def(&cfg.WriteTimeout, 60*time.Second)
	def(&cfg.DrainTimeout, 10*time.Second)
	for p, v := range map[*int]int{&cfg.MaxConnections: 500, &cfg.MaxPacket: 64 << 20, &cfg.MaxStatements: 16382} {
		if *p == 0 {
			*p = v
		}
	}
	if cfg.Version == "" {
		cfg.Version = DefaultVersion
	}
	s := &Server{cfg: cfg, log: cfg.Log, tls: cfg.TLS, conns: map[*conn]struct{}{}, start: time.Now()}
	if s.log == nil {
		s.log = slog.Default()
	}
	if cfg.NoTLS {
		s.tls = nil
	} else if s.tls == nil {
		t, err := selfSigned()
		if err != nil {
			return nil, errs.New(errs.Internal, errs.KindNone, "make TLS certificate: %w", err)
		}
		s.tls = t
	}
	s.auth = newAuthenticator(cfg.Accounts)
	return s, nil
}

// Listen opens the port. A port that something else has is errs.PortInUse.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, errs.New(errs.Unavailable, errs.PortInUse,
			"listen on %s for MySQL clients: the port is in use; stop the other server or choose another with --mysql-listen", address)
	}
	return nil, errs.New(errs.User, errs.InvalidConfig, "listen on %s for MySQL clients: %w", address, err)
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	return Stats{Open: open, Accepted: s.accepted.Load(), Refused: s.refused.Load(), Denied: s.denied.Load(),
		Aborted: s.aborted.Load(), Questions: s.questions.Load()}
}

// Serve accepts connections until ctx ends, then drains: it closes idle
// connections at once, lets running statements go on for DrainTimeout, cancels
// what still runs, and returns when the last connection has ended. It closes
// l. The error is nil after ctx ended, else l was closed by someone else.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	watchCtx, stopWatch := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	watcher.Go(func() { s.watch(watchCtx) })
	stopAccept := context.AfterFunc(ctx, func() { _ = l.Close() })

	var failed error
	for pause := 5 * time.Millisecond; ; {
		nc, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			if errors.Is(err, net.ErrClosed) {
				failed = errs.New(errs.Unavailable, errs.KindNone, "accept MySQL connections: %w", err)
				break
			}
			// Out of file descriptors, or a client that left: go on when it
			// may have passed.
			s.log.Warn("accept MySQL connection", "error", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		s.accepted.Add(1)
		c := s.newConn(nc)
		if c == nil {
			s.refused.Add(1)
			wg.Go(func() { s.refuse(nc) })
			continue
		}
		wg.Go(func() { c.run(work) })
	}
	stopAccept()
	_ = l.Close()
	s.drain(&wg, stopWork)
	stopWatch()
	watcher.Wait()
	return failed
}

// drain ends all connections.
func (s *Server) drain(wg *sync.WaitGroup, cancel context.CancelCauseFunc) {
	s.draining.Store(true)
	s.each(func(c *conn) { _ = c.raw.SetReadDeadline(time.Now()) })
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	wait := func(d time.Duration) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-done:
			return true
		case <-t.C:
			return false
		}
	}
	if wait(s.cfg.DrainTimeout) {
		return
	}
	cancel(errs.New(errs.Resource, errs.ShuttingDown, "run statement: the server is shutting down"))
	if wait(5 * time.Second) {
		return
	}
	s.each(func(c *conn) { _ = c.raw.Close() })
	<-done
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}

// newConn registers a connection, or returns nil when there are too many.
func (s *Server) newConn(nc net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.cfg.MaxConnections {
		return nil
	}
	c := &conn{srv: s, id: s.cfg.Sessions.NextID(), host: hostOf(nc), statements: map[uint32]*statement{}}
	c.wire = wire{nc: nc, raw: nc, src: nc, dst: nc, maxIn: loginPacket, mark: -1, writeTO: s.cfg.WriteTimeout,
		budget: s.cfg.Budget.Child("MySQL connection", 0)}
	s.conns[c] = struct{}{}
	return c
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// refuse tells a client that there are too many.
func (s *Server) refuse(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(time.Second))
	w := wire{nc: nc, raw: nc, src: nc, dst: nc, mark: -1}
	w.putError(errs.New(errs.Resource, errs.TooManyClients, "Too many connections"), false)
	w.flush()
}

// watch looks twenty times a second whether clients of running statements
// are still there, and cancels the statements of those that are not.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.each(func(c *conn) {
				since := c.running.Load()
				if since != 0 && now.UnixNano()-since > int64(40*time.Millisecond) && gone(c.raw) {
					c.cancelStatement(errs.New(errs.User, errs.Killed, "run statement: the client has gone away"))
				}
			})
		}
	}
}

// hostOf returns the client's address without port, "localhost" for a Unix
// socket.
func hostOf(nc net.Conn) string {
	a := nc.RemoteAddr()
	if a.Network() == "unix" {
		return "localhost"
	}
	h, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return h
}
