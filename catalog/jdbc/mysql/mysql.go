// Package mysql opens MySQL and MariaDB databases for JDBC catalogs. It is the
// door to go-sql-driver/mysql.
package mysql

import (
	"database/sql"
	"errors"
	"io"
	"log"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/catalog/jdbc"
	"github.com/thermocline/thermocline/internal/errs"
)

// Driver returns the driver of the protocols mysql and mariadb.
func Driver() *jdbc.Driver {
	return &jdbc.Driver{
		Protocols: []string{"mysql", "mariadb"},
		Open:      open,
		Age:       "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
		Definition: func(table, text string) string {
			if table != "paimon_table_properties" {
				return text
			}
			// Its key of four columns is too long for InnoDB in utf8mb4, which is why
			// Java's own definition fails there; a table that exists it uses.
			return strings.Replace(text, "property_value VARCHAR(1000)", "property_value VARCHAR(1000) CHARACTER SET utf8mb4", 1) + " CHARACTER SET utf8mb3"
		},
		Duplicate: func(err error) bool { return number(err) == 1062 },
		Busy:      func(err error) bool { n := number(err); return n == 1205 || n == 1213 },
	}
}

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// open reads a URI mysql://HOST:PORT/DATABASE?PARAMETERS as Connector/J does.
func open(rest string, properties map[string]string) (*sql.DB, error) {
	cfg, err := config(rest, properties)
	if err != nil {
		return nil, err
	}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetConnMaxIdleTime(time.Minute) // servers close idle connections
	return db, nil
}

func config(rest string, properties map[string]string) (*mysql.Config, error) {
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" || strings.Contains(u.Host, ",") {
		return nil, errs.Userf(errs.InvalidConfig, "the URI is not jdbc:mysql://HOST:PORT/DATABASE")
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr = u.Host + ":3306"
	}
	cfg.DBName = strings.Trim(u.Path, "/")
	if cfg.DBName == "" {
		return nil, errs.Userf(errs.InvalidConfig, "the URI names no database: jdbc:mysql://HOST:PORT/DATABASE")
	}
	cfg.InterpolateParams, cfg.CheckConnLiveness, cfg.TLSConfig, cfg.AllowFallbackToPlaintext = true, true, "preferred", true
	cfg.Timeout = 10 * time.Second
	cfg.Logger = log.New(io.Discard, "", 0) // what goes wrong is returned
	if u.User != nil {
		cfg.User = u.User.Username()
		cfg.Passwd, _ = u.User.Password()
	}
	all := map[string]string{}
	for k, v := range u.Query() {
		all[k] = v[0]
	}
	for k, v := range properties { // the URI's parameters come after in Java
		if _, ok := all[k]; !ok {
			all[k] = v
		}
	}
	for k, v := range all {
		if err := set(cfg, k, v); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// harmless parameters change nothing of what a catalog does.
var harmless = map[string]bool{
	"serverTimezone": true, "connectionTimeZone": true, "useUnicode": true, "characterEncoding": true, "autoReconnect": true,
	"allowPublicKeyRetrieval": true, "zeroDateTimeBehavior": true, "rewriteBatchedStatements": true, "cachePrepStmts": true,
	"useServerPrepStmts": true, "prepStmtCacheSize": true, "prepStmtCacheSqlLimit": true, "tinyInt1isBit": true, "maxReconnects": true,
	"useLegacyDatetimeCode": true, "nullCatalogMeansCurrent": true, "connectionCollation": true, "useCompression": true,
	"createDatabaseIfNotExist": true, "allowMultiQueries": true, "tcpKeepAlive": true, "driver": true,
}

func set(cfg *mysql.Config, k, v string) error {
	bad := func() error {
		return errs.Userf(errs.InvalidConfig, "the connection parameter %s = %s is not understood", k, v)
	}
	yes := strings.EqualFold(v, "true")
	switch k {
	case "user":
		cfg.User = v
	case "password":
		cfg.Passwd = v
	case "useSSL":
		if !yes {
			cfg.TLSConfig = "false"
		}
	case "requireSSL":
		if yes && cfg.TLSConfig == "preferred" {
			cfg.TLSConfig, cfg.AllowFallbackToPlaintext = "skip-verify", false
		}
	case "verifyServerCertificate":
		if yes {
			cfg.TLSConfig, cfg.AllowFallbackToPlaintext = "true", false
		}
	case "sslMode":
		switch strings.ToUpper(v) {
		case "DISABLED", "DISABLE":
			cfg.TLSConfig = "false"
		case "PREFERRED":
		case "REQUIRED", "TRUST":
			cfg.TLSConfig, cfg.AllowFallbackToPlaintext = "skip-verify", false
		case "VERIFY_CA", "VERIFY-CA", "VERIFY_IDENTITY", "VERIFY-FULL":
			cfg.TLSConfig, cfg.AllowFallbackToPlaintext = "true", false
		default:
			return bad()
		}
	case "connectTimeout", "socketTimeout":
		ms, err := strconv.Atoi(v)
		if err != nil || ms < 0 {
			return bad()
		}
		d := time.Duration(ms) * time.Millisecond
		if k == "connectTimeout" {
			cfg.Timeout = d
		} else {
			cfg.ReadTimeout, cfg.WriteTimeout = d, d
		}
	default:
		if !harmless[k] {
			return errs.Unsupportedf(-1, "the connection parameter %s of MySQL catalogs", k)
		}
	}
	return nil
}
