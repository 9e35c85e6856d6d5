package jdbc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// Driver opens databases of one kind. Its packages lie below this one, and cmd
// joins them.
type Driver struct {
	// Protocols are the names in jdbc:<protocol>:….
	Protocols []string
	// Open makes a pool of connections. rest is the URI without jdbc:, properties
	// are the catalog options jdbc.<key>, such as user and password.
	Open func(rest string, properties map[string]string) (*sql.DB, error)
	// Numbered says that placeholders are $1, $2, … instead of ?.
	Numbered bool
	// Age is the expression of a lock's age in seconds, by the clock of the
	// database and the column acquired_at.
	Age string
	// Definition changes the text that makes a table where the database needs it;
	// nil leaves it.
	Definition func(table, text string) string
	// Duplicate reports whether an error says that a row of that key exists, Busy
	// that the statement may be tried again.
	Duplicate, Busy func(error) bool
}

// database is an opened metadata database.
type database struct {
	db     *sql.DB
	driver *Driver
	where  string // for messages, without secrets
}

// The tables, as Java's JdbcUtils makes them: the same text for all databases.
const (
	tablesTable             = "paimon_tables"
	databasePropertiesTable = "paimon_database_properties"
	tablePropertiesTable    = "paimon_table_properties"
	locksTable              = "paimon_distributed_locks"
	viewsTable              = "paimon_views"
)

var definitions = map[string]string{
	tablesTable: "CREATE TABLE paimon_tables(catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT NULL,table_name VARCHAR(255) NOT NULL," +
		" PRIMARY KEY (catalog_key, database_name, table_name))",
	databasePropertiesTable: "CREATE TABLE paimon_database_properties(catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT NULL," +
		"property_key VARCHAR(255),property_value VARCHAR(1000),PRIMARY KEY (catalog_key, database_name, property_key))",
	tablePropertiesTable: "CREATE TABLE paimon_table_properties(catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT NULL,table_name VARCHAR(255) NOT NULL," +
		"property_key VARCHAR(255) NOT NULL,property_value VARCHAR(1000),PRIMARY KEY (catalog_key, database_name, table_name, property_key))",
	locksTable: "CREATE TABLE paimon_distributed_locks(lock_id VARCHAR(%d) NOT NULL,acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL," +
		"expire_time_seconds BIGINT DEFAULT 0 NOT NULL,PRIMARY KEY (lock_id))",
	viewsTable: "CREATE TABLE paimon_views(catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT NULL,view_name VARCHAR(255) NOT NULL," +
		"view_schema TEXT NOT NULL, PRIMARY KEY (catalog_key, database_name, view_name))",
}

// propertyLength is the size of the columns property_value.
const propertyLength = 1000

// secretParameter finds passwords in URIs.
var secretParameter = regexp.MustCompile(`(?i)((?:password|passwd|pwd|secret|token)[a-z_]*=)[^&;\s]*|//[^/@\s]*:[^/@\s]*@`)

// Redact returns a text, such as a URI, without the passwords in it.
func Redact(s string) string {
	return secretParameter.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "//") {
			return "//***@"
		}
		return m[:strings.IndexByte(m, '=')+1] + "***"
	})
}

// openDatabase opens the database of a URI jdbc:<protocol>:….
func openDatabase(uri string, drivers []*Driver, properties map[string]string, pool int) (*database, error) {
	rest, ok := strings.CutPrefix(uri, "jdbc:")
	protocol, _, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return nil, errs.Userf(errs.InvalidConfig, "open the catalog: 'uri' = '%s' is not jdbc:<protocol>:…", Redact(uri))
	}
	var known []string
	for _, d := range drivers {
		for _, p := range d.Protocols {
			known = append(known, p)
			if p != protocol {
				continue
			}
			db, err := d.Open(rest, properties)
			if err != nil {
				return nil, hide(err, "open the catalog in %s", Redact(uri))
			}
			db.SetMaxOpenConns(pool)
			db.SetMaxIdleConns(pool)
			return &database{db: db, driver: d, where: Redact(uri)}, nil
		}
	}
	return nil, errs.Unsupportedf(-1, "catalogs in %s databases (use one of %s)", protocol, strings.Join(known, ", "))
}

// hide wraps an error of a database. The texts of drivers may show where they
// connected to and as whom, but never a password.
func hide(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var e *errs.Error
	switch {
	case errors.As(err, &e):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	}
	return errs.New(errs.Unavailable, errs.KindNone, "%s: %s", what, Redact(err.Error()))
}

// bind numbers the placeholders where the database wants that.
func (d *database) bind(query string) string {
	if !d.driver.Numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c == '?' {
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// runner is a pool or a transaction.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// exec runs a change and returns the number of its rows.
func (d *database) exec(ctx context.Context, r runner, query string, args ...any) (int64, error) {
	res, err := r.ExecContext(ctx, d.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// strings returns the first column of a query.
func (d *database) strings(ctx context.Context, r runner, query string, args ...any) (out []string, err error) {
	rows, err := r.QueryContext(ctx, d.bind(query), args...)
	if err != nil {
		return nil, hide(err, "read the catalog in %s", d.where)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, hide(err, "read the catalog in %s", d.where)
		}
		out = append(out, s)
	}
	return out, hide(rows.Err(), "read the catalog in %s", d.where)
}

// ensure makes a table that does not exist. A table that cannot be looked at
// and cannot be made is an error.
func (d *database) ensure(ctx context.Context, table string, args ...any) error {
	look := func() error {
		rows, err := d.db.QueryContext(ctx, "SELECT 1 FROM "+table+" WHERE 1 = 0")
		if err != nil {
			return err
		}
		return rows.Close()
	}
	if look() == nil {
		return nil
	}
	text := definitions[table]
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	if d.driver.Definition != nil {
		text = d.driver.Definition(table, text)
	}
	_, err := d.db.ExecContext(ctx, text)
	if err == nil || look() == nil { // someone else may have been faster
		return nil
	}
	return hide(err, "open the catalog in %s: make the table %s", d.where, table)
}

// within runs f in a transaction.
func (d *database) within(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
