// Package sqlite opens SQLite files for JDBC catalogs. It is the door to
// modernc.org/sqlite, SQLite without C.
package sqlite

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/thermocline/thermocline/catalog/jdbc"
	"github.com/thermocline/thermocline/internal/errs"
)

// Driver returns the driver of the protocol sqlite.
func Driver() *jdbc.Driver {
	return &jdbc.Driver{
		Protocols: []string{"sqlite"},
		Open:      open,
		Age:       "strftime('%s', 'now') - strftime('%s', acquired_at)",
		Duplicate: func(err error) bool {
			c := code(err)
			return c == lib.SQLITE_CONSTRAINT_PRIMARYKEY || c == lib.SQLITE_CONSTRAINT_UNIQUE
		},
		Busy: func(err error) bool {
			c := code(err) & 0xff
			return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
		},
	}
}

func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// open reads a URI sqlite:FILE. The file is made with the first write; its
// folder must exist.
func open(rest string, _ map[string]string) (*sql.DB, error) {
	file := strings.TrimPrefix(rest, "sqlite:")
	if file == "" || strings.HasPrefix(file, ":") || strings.Contains(file, "?") {
		return nil, errs.Userf(errs.InvalidConfig, "the URI is not jdbc:sqlite:FILE")
	}
	file = strings.TrimPrefix(file, "file:")
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(abs)); err != nil {
		return nil, errs.Userf(errs.InvalidConfig, "the folder of %s does not exist", abs)
	}
	// Several processes share the file: who finds it locked waits. Java Paimon
	// 2.0 with 'lock.enabled' leaves a query open for as long as it runs, which
	// keeps others from writing, its own second connection among them; without a
	// lock, or in turns, both use one file. A write-ahead log is no way out:
	// under one Java's writes fail at once.
	dsn := (&url.URL{Scheme: "file", Path: abs, RawQuery: "_pragma=busy_timeout(30000)&_txlock=immediate"}).String()
	return sql.Open("sqlite", dsn)
}
