// Package postgres opens PostgreSQL databases for JDBC catalogs. It is the door
// to pgx.
package postgres

import (
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/thermocline/thermocline/catalog/jdbc"
	"github.com/thermocline/thermocline/internal/errs"
)

// Driver returns the driver of the protocol postgresql.
func Driver() *jdbc.Driver {
	return &jdbc.Driver{
		Protocols: []string{"postgresql"},
		Open:      open,
		Numbered:  true,
		Age:       "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
		Duplicate: func(err error) bool { return code(err) == "23505" },
		Busy:      func(err error) bool { c := code(err); return c == "40001" || c == "40P01" || c == "55P03" },
	}
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// open reads a URI postgresql://HOST:PORT/DATABASE?PARAMETERS as pgjdbc does.
func open(rest string, properties map[string]string) (*sql.DB, error) {
	cfg, err := config(rest, properties)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*cfg)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// harmless parameters change nothing of what a catalog does.
var harmless = map[string]bool{
	"ApplicationName": true, "reWriteBatchedInserts": true, "stringtype": true, "prepareThreshold": true, "tcpKeepAlive": true,
	"defaultRowFetchSize": true, "loggerLevel": true, "binaryTransfer": true, "preparedStatementCacheQueries": true, "driver": true,
}

func config(rest string, properties map[string]string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" {
		return nil, errs.Userf(errs.InvalidConfig, "the URI is not jdbc:postgresql://HOST:PORT/DATABASE")
	}
	all := map[string]string{}
	for k, v := range u.Query() {
		all[k] = v[0]
	}
	for k, v := range properties {
		if _, ok := all[k]; !ok {
			all[k] = v
		}
	}
	q := url.Values{}
	q.Set("sslmode", "prefer")
	if all["ssl"] == "true" {
		q.Set("sslmode", "verify-full")
	}
	user, password := all["user"], all["password"]
	schema := ""
	for k, v := range all {
		switch k {
		case "user", "password", "ssl":
		case "sslmode":
			q.Set(k, v)
		case "sslrootcert", "sslcert", "sslkey":
			q.Set(k, v)
		case "currentSchema":
			schema = v
		case "connectTimeout":
			if _, err := strconv.Atoi(v); err != nil {
				return nil, errs.Userf(errs.InvalidConfig, "the connection parameter %s = %s is not understood", k, v)
			}
			q.Set("connect_timeout", v)
		case "socketTimeout", "loginTimeout":
		default:
			if !harmless[k] {
				return nil, errs.Unsupportedf(-1, "the connection parameter %s of PostgreSQL catalogs", k)
			}
		}
	}
	to := url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path, RawQuery: q.Encode()}
	cfg, err := pgx.ParseConfig(to.String())
	if err != nil {
		return nil, errs.Userf(errs.InvalidConfig, "the URI is not understood: %s", err)
	}
	if user != "" {
		cfg.User = user
	}
	if password != "" {
		cfg.Password = password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if schema != "" {
		cfg.RuntimeParams["search_path"] = schema
	}
	// acquired_at of a lock is a wall clock. Java's is in the zone of its process,
	// which pgjdbc makes that of the connection; engines must agree on it.
	if zone := time.Local.String(); zone != "Local" {
		cfg.RuntimeParams["timezone"] = zone
	} else if _, offset := time.Now().Zone(); offset == 0 {
		cfg.RuntimeParams["timezone"] = "UTC"
	}
	cfg.RuntimeParams["application_name"] = "thermocline"
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // no prepared statements: poolers between us keep working
	if strings.Trim(cfg.Database, "/") == "" {
		cfg.Database = cfg.User
	}
	return cfg, nil
}
