// Package mysql follows MySQL and MariaDB: it copies tables in one consistent
// read with the binlog position that matches it, then follows the binlog.
//
// Invariants. Rows are decoded by the definition of the table that was read in
// the snapshot's transaction (names, signedness, labels, character sets), so the
// server's default row metadata suffices; each TABLE_MAP event is verified
// against it, and DDL on a captured table stops that table. The snapshot and the
// binlog go through the same decoding of text, labels and numbers, so a row has
// the same values both ways. Only what was committed is delivered: the position
// moves at transaction ends.
//
// This package is the only door to go-mysql's replication protocol and to the
// parser of the source's DDL.
//
// Start reading at Source, then snapshot.go, stream.go, decode.go.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Source is a MySQL or MariaDB server.
type Source struct {
	opt    options
	budget *memory.Budget
	log    *slog.Logger

	mu     sync.Mutex
	db     *sql.DB
	server *server // what Check found
	shared *transcoders
}

var _ source.Source = (*Source)(nil)

// server is what Check finds out once per connection pool.
type server struct {
	mariadb bool
	version string // as the server says it
	number  int    // 80043, 101108
	gtid    bool   // transactions have GTIDs
	fold    bool   // table names ignore case
	// cascades says that changes by foreign keys are in the binlog: MySQL 9
	// moved them above the storage engine.
	cascades bool
	uuid     string // MySQL's server_uuid, MariaDB's "mariadb-<server_uid or host>"
}

// New makes a source from the options of a `source: type: mysql` block. It is a
// source.Factory.
func New(c source.Config) (source.Source, error) {
	opt, err := parseOptions(c.Options)
	if err != nil {
		return nil, err
	}
	log := c.Log
	if log == nil {
		log = slog.Default()
	}
	return &Source{opt: opt, budget: c.Budget, log: log}, nil
}

// Address implements source.Source.
func (s *Source) Address() string {
	return "mysql " + net.JoinHostPort(s.opt.host, strconv.Itoa(s.opt.port))
}

// pool returns the connection pool. Every connection speaks utf8mb4 in UTC
// under an empty sql_mode, so that a value has one text whatever the server's
// settings are.
func (s *Source) pool() (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd = s.opt.user, s.opt.password
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(s.opt.host, strconv.Itoa(s.opt.port))
	cfg.Timeout = s.opt.connectTimeout
	cfg.TLS = s.opt.tls
	cfg.AllowNativePasswords = true
	cfg.Logger = quiet{}
	if err := cfg.Apply(driver.Charset("utf8mb4", "")); err != nil {
		return nil, errs.Internalf("configure the connection to %s: %w", s.Address(), err)
	}
	cfg.Params = map[string]string{
		"sql_mode":             "''",
		"time_zone":            "'+00:00'",
		"net_write_timeout":    "3600",
		"net_read_timeout":     "600",
		"wait_timeout":         "86400",
		"group_concat_max_len": "1048576",
	}
	c, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, errs.Internalf("configure the connection to %s: %w", s.Address(), err)
	}
	s.db = sql.OpenDB(c)
	s.db.SetMaxOpenConns(16)
	s.db.SetMaxIdleConns(4)
	s.db.SetConnMaxIdleTime(time.Minute)
	return s.db, nil
}

// quiet drops the driver's own log lines: every error is returned too.
type quiet struct{}

func (quiet) Print(...any) {}

// Close implements source.Source.
func (s *Source) Close() error {
	s.mu.Lock()
	db := s.db
	s.db, s.server = nil, nil
	s.mu.Unlock()
	if db == nil {
		return nil
	}
	return db.Close()
}

// forget drops what was learned about the server, so that the next Check asks
// again; used when a connection broke, as another server may answer next time.
func (s *Source) forget() {
	s.mu.Lock()
	s.server = nil
	s.mu.Unlock()
}

// fault turns an error of the driver into one of ours. doing is "verb object".
func (s *Source) fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if oe := (*errs.Error)(nil); errors.As(err, &oe) {
		return err
	}
	var me *driver.MySQLError
	if errors.As(err, &me) {
		return serverFault(doing, s.Address(), me.Number, me.Message)
	}
	var ne net.Error
	switch {
	case errors.As(err, &ne), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, driver.ErrInvalidConn), errors.Is(err, net.ErrClosed),
		strings.Contains(err.Error(), "bad connection"):
		s.forget()
		return errs.New(errs.Unavailable, errs.KindNone, "%s of %s: %w", doing, s.Address(), err)
	}
	return errs.New(errs.Unavailable, errs.KindNone, "%s of %s: %w", doing, s.Address(), err)
}

// serverFault classes an error that the server sent.
func serverFault(doing, address string, code uint16, msg string) error {
	msg = oneLine(msg)
	switch code {
	case 1045, 1698, 1251, 2059: // access denied, by plugin, old protocol, unknown plugin
		return errs.New(errs.User, errs.AccessDenied, "log in to %s: %s; check username and password of the source block", address, msg)
	case 1044, 1142, 1143, 1227, 1370: // privileges
		return errs.New(errs.User, errs.SourceNotReady, "%s of %s: %s; grant SELECT, REPLICATION SLAVE and REPLICATION CLIENT to the account", doing, address, msg)
	case 1049, 1146:
		return errs.New(errs.User, errs.UnknownTable, "%s of %s: %s", doing, address, msg)
	case 1236: // the binlog dump cannot be served
		if strings.Contains(msg, "has connected to the") || strings.Contains(msg, "same server") || strings.Contains(msg, "was killed") {
			return errs.New(errs.Unavailable, errs.KindNone, "%s of %s: another client uses the same server id: %s", doing, address, msg)
		}
		return errs.New(errs.User, errs.SourceGone, "%s of %s: the position is not in the server's binlog (purged, or another server): %s; "+
			"drop the lake tables and the pipeline's state to copy them again", doing, address, msg)
	case 1412:
		return errs.New(errs.Unavailable, errs.KindNone, "%s of %s: a table was altered during the copy: %s", doing, address, msg)
	case 1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1317, 1927, 3024, 4031: // full, shutting down, killed, timeouts, deadlock
		return errs.New(errs.Unavailable, errs.KindNone, "%s of %s: %s (error %d)", doing, address, msg, code)
	}
	return errs.New(errs.User, errs.KindNone, "%s of %s: %s (error %d)", doing, address, msg, code)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// newServerID picks a server id outside the ranges that people use. The server
// disconnects whichever client of two with one id came first.
func newServerID(o options) uint32 {
	if o.serverIDTo > 0 {
		return o.serverIDFrom + rand.Uint32N(o.serverIDTo-o.serverIDFrom+1)
	}
	return 1<<30 + rand.Uint32N(1<<30)
}

// quote returns an identifier in backticks.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func quoteID(id source.ID) string { return quote(id.Database) + "." + quote(id.Name) }

// literal returns a string literal under the empty sql_mode.
func literal(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`, "\n", `\n`, "\r", `\r`, "\x1a", `\Z`)
	return "'" + r.Replace(s) + "'"
}

func notReady(format string, args ...any) error {
	return errs.New(errs.User, errs.SourceNotReady, "%s", fmt.Sprintf(format, args...))
}
