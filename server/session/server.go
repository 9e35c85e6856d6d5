package session

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/admission"
	"github.com/thermocline/thermocline/server/metadata"
)

// Config is what a Server is made of. Only Catalogs is required.
type Config struct {
	// Catalogs are the catalogs by name, in the order in which they are listed.
	// The first is the default one of new sessions.
	Catalogs []NamedCatalog
	// Memory is the budget of all queries together; nil is unlimited.
	Memory *memory.Budget
	// Spill is where queries put rows that do not fit their memory; nil: nowhere,
	// they fail.
	Spill *fileio.Scratch
	// Accounts says who may log in and do what; nil: root with an empty
	// password and every right, from this machine only.
	Accounts metadata.Accounts
	// Temporary makes the catalog of a session's temporary tables, which reserve
	// their rows from pays; nil: there are no temporary tables.
	Temporary func(pays *memory.Budget) catalog.Writable
	// Files opens files as tables and makes files; nil: there are none here.
	Files Files
	// FileRoots are the folders and prefixes below which statements may name files,
	// with the FILE privilege. AnyFile lets every statement name every file, for
	// sessions of who started the process.
	FileRoots []string
	AnyFile   bool
	// Background returns what the process does beside statements, for the process
	// list; nil: nothing.
	Background func() []BackgroundTask
	// CatalogControl opens and keeps catalogs; nil: CREATE CATALOG is refused.
	CatalogControl CatalogControl
	// Pipelines runs ingest pipelines; nil: there are none here.
	Pipelines PipelineControl
	// Live is where tables are read live; nil: as committed only.
	Live LiveFeeds
	// Version is the program's version, shown in version_comment.
	Version string
	// Globals are initial values of global system variables, such as port and
	// datadir.
	Globals map[string]string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log receives internal errors and slow queries; nil is slog.Default.
	Log *slog.Logger
	// ErrorCode returns the number that SHOW WARNINGS shows for a kind; nil or
	// 0 shows 1105.
	ErrorCode func(errs.Kind) int
	// SlowQuery is the duration from which a statement is logged; 0 means the
	// global long_query_time variable decides.
	SlowQuery time.Duration
}

// Server is what all sessions of a process share. It is safe for concurrent
// use.
type Server struct {
	cfg      Config
	accounts metadata.Accounts
	log      *slog.Logger
	now      func() time.Time
	started  time.Time
	globals  *variables
	queue    *admission.Queue

	mu       sync.Mutex
	catalogs []NamedCatalog
	was      string // name of the server's own catalog before it was renamed
	sessions map[uint32]*Session
	closing  bool

	renames       atomic.Int32 // of the server's own catalog, 0 or 1
	catalogChange sync.Mutex   // held while the list of catalogs and its file change

	nextID   atomic.Uint32
	incident atomic.Uint64
	counters counters
}

// NewServer makes a server. It holds no resources beyond its sessions.
func NewServer(cfg Config) (*Server, error) {
	if len(cfg.Catalogs) == 0 {
		return nil, errs.Internalf("start server: no catalog is configured")
	}
	s := &Server{cfg: cfg, accounts: cfg.Accounts, log: cfg.Log, now: cfg.Now, sessions: map[uint32]*Session{}}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.accounts == nil {
		s.accounts = metadata.RootOnly{}
	}
	s.started = s.now()
	s.globals = globalVariables(cfg)
	s.queue = s.newQueue()
	s.catalogs = append(s.catalogs, cfg.Catalogs...)
	for _, c := range s.catalogs[1:] {
		if c.Name == s.catalogs[0].Name { // see createCatalog
			s.catalogs[0].Name = flinkDefaultCatalog
		}
	}
	return s, nil
}

// Accounts returns who may log in and do what.
func (s *Server) Accounts() metadata.Accounts { return s.accounts }

// OpenOptions describe a client that has been authenticated.
type OpenOptions struct {
	// ID is the connection's id as the greeting told it; 0 takes the next one.
	ID uint32
	// Account is who logged in. The zero Account is root of an in-process
	// session, with every right.
	Account metadata.Account
	// User is the name given at login, Address where the client is
	// ("10.0.0.7:40312", "localhost"); for the process list and USER().
	User, Address string
	// Database is the initial database, "" for none.
	Database string
	// Collation is the connection's collation; "" is utf8mb4_0900_ai_ci.
	Collation string
	// Attributes are the connection attributes the client sent.
	Attributes map[string]string
	// FoundRows makes Affected count matched rows (CLIENT_FOUND_ROWS).
	FoundRows bool
	// TLSVersion and TLSCipher of the connection, "" without TLS; for SHOW
	// STATUS LIKE 'Ssl_cipher'.
	TLSVersion, TLSCipher string
	// Lossless makes the results of queries show stored columns as the lake has
	// them, where SQL's form would lose something: nested values, and timestamps
	// beyond microseconds (Column.Stored).
	Lossless bool
	// Kill, when set, is called (from any goroutine) to end the connection for
	// KILL CONNECTION; the session's statement is cancelled before.
	Kill func()
}

// NextID returns a connection id that no open session has.
func (s *Server) NextID() uint32 {
	for {
		id := s.nextID.Add(1)
		s.mu.Lock()
		_, used := s.sessions[id]
		s.mu.Unlock()
		if id != 0 && !used {
			return id
		}
	}
}

// Shutdown refuses new sessions and statements and cancels running ones. It
// does not wait: front ends wait for their connections.
func (s *Server) Shutdown() {
	s.mu.Lock()
	s.closing = true
	open := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		open = append(open, x)
	}
	s.mu.Unlock()
	for _, x := range open {
		x.cancelStatement(errs.New(errs.Resource, errs.ShuttingDown, "run statement: the server is shutting down"))
	}
}

// hostOf returns the address without its port.
func hostOf(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}

// Open starts a session.
func (s *Server) Open(ctx context.Context, o OpenOptions) (*Session, error) {
	return s.open(ctx, o)
}
