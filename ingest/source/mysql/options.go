package mysql

import (
	"crypto/tls"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zone names must work where the machine has none

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// options are the keys of a `source: type: mysql` block.
type options struct {
	host, user, password string
	port                 int
	serverIDFrom         uint32
	serverIDTo           uint32 // 0: any
	serverZone           *time.Location
	connectTimeout       time.Duration
	heartbeat            time.Duration
	booleans             bool // TINYINT(1) is BOOLEAN
	comments             bool
	ignoreCascades       bool
	startFile, startGTID string // scan.startup.specific-offset.*
	startPos             uint64
	startTime            time.Time // scan.startup.timestamp-millis
	tls                  *tls.Config
}

// optionKind says what this version does with a key.
type optionKind uint8

const (
	used      optionKind = iota
	tuning               // tunes a mechanism that works differently here: no effect on rows
	onlyValue            // only the one value is supported
)

type optionSpec struct {
	kind optionKind
	only string // onlyValue
}

// optionSpecs are the keys of Flink CDC's mysql source, without type, name,
// tables, tables.exclude and scan.startup.mode, which the pipeline reads.
var optionSpecs = map[string]optionSpec{
	"hostname": {}, "port": {}, "username": {}, "password": {},
	"server-id": {}, "server-time-zone": {}, "connect.timeout": {}, "heartbeat.interval": {},
	"treat-tinyint1-as-boolean.enabled": {}, "include-comments.enabled": {}, "foreign-key-cascades": {},
	"schema-change.enabled": {kind: tuning}, // a change of columns stops the table either way

	"scan.incremental.snapshot.chunk.size":                        {kind: tuning},
	"scan.incremental.snapshot.chunk.key-column":                  {kind: tuning},
	"scan.incremental.snapshot.unbounded-chunk-first.enabled":     {kind: tuning},
	"scan.incremental.close-idle-reader.enabled":                  {kind: tuning},
	"scan.snapshot.fetch.size":                                    {kind: tuning},
	"chunk-key.even-distribution.factor.upper-bound":              {kind: tuning},
	"chunk-key.even-distribution.factor.lower-bound":              {kind: tuning},
	"split-key.even-distribution.factor.upper-bound":              {kind: tuning},
	"split-key.even-distribution.factor.lower-bound":              {kind: tuning},
	"chunk-meta.group.size":                                       {kind: tuning},
	"connect.max-retries":                                         {kind: tuning},
	"connection.pool.size":                                        {kind: tuning},
	"scan.newly-added-table.enabled":                              {},             // the pipeline reads both
	"use.legacy.json.format":                                      {kind: tuning}, // JSON keeps the server's text
	"scan.incremental.snapshot.backfill.skip":                     {kind: onlyValue, only: "false"},
	"scan.binlog.newly-added-table.enabled":                       {},
	"scan.parse.online.schema.changes.enabled":                    {kind: onlyValue, only: "false"},
	"metadata.list":                                               {kind: onlyValue, only: ""},
	"scan.startup.specific-offset.file":                           {},
	"scan.startup.specific-offset.pos":                            {},
	"scan.startup.specific-offset.gtid-set":                       {},
	"scan.startup.specific-offset.skip-events":                    {kind: onlyValue, only: ""},
	"scan.startup.specific-offset.skip-rows":                      {kind: onlyValue, only: ""},
	"scan.startup.timestamp-millis":                               {},
	"scan.read-changelog-as-append-only.enabled":                  {kind: onlyValue, only: "false"},
	"scan.incremental.snapshot.enabled":                           {kind: tuning},
	"scan.incremental.snapshot.assign-ending-chunk-first.enabled": {kind: tuning},
}

// Keys are the keys of the source block that the MySQL source knows, for the
// pipeline reader's suggestions.
func Keys() []string {
	out := make([]string, 0, len(optionSpecs))
	for k := range optionSpecs {
		out = append(out, k)
	}
	return out
}

func optionError(o source.Option, format string, args ...any) error {
	return errs.Userf(errs.InvalidConfig, "line %d, column %d: source option %s: "+format, append([]any{o.Line, o.Col, o.Key}, args...)...)
}

func unsupportedOption(o source.Option) error {
	return errs.Unsupportedf(-1, "the source option %s: %s (line %d, column %d)", o.Key, source.Redact(o.Key, o.Value), o.Line, o.Col)
}

func parseOptions(list []source.Option) (options, error) {
	o := options{port: 3306, connectTimeout: 30 * time.Second, heartbeat: 10 * time.Second}
	useSSL, sslMode := false, ""
	for _, opt := range list {
		if rest, ok := strings.CutPrefix(opt.Key, "jdbc.properties."); ok {
			switch rest {
			case "useSSL", "requireSSL":
				v, err := boolean(opt)
				if err != nil {
					return o, err
				}
				useSSL = useSSL || v
			case "sslMode":
				sslMode = strings.ToUpper(opt.Value)
			case "useUnicode", "characterEncoding", "serverTimezone", "connectionTimeZone", "allowPublicKeyRetrieval",
				"zeroDateTimeBehavior", "useInformationSchema", "nullCatalogMeansCurrent", "autoReconnect", "rewriteBatchedStatements",
				"connectTimeout", "socketTimeout", "tcpKeepAlive", "useCompression", "useCursorFetch", "defaultFetchSize",
				"tinyInt1isBit", "transformedBitIsBoolean", "yearIsDateType":
				// They steer the Java driver; this reader fixes character set, zone and types itself.
			default:
				return o, unsupportedOption(opt)
			}
			continue
		}
		spec, ok := optionSpecs[opt.Key]
		if !ok {
			if strings.HasPrefix(opt.Key, "debezium.") {
				return o, unsupportedOption(opt)
			}
			return o, optionError(opt, "it is unknown; %s", source.Nearest(opt.Key, Keys()))
		}
		if spec.kind == onlyValue && !strings.EqualFold(opt.Value, spec.only) {
			return o, unsupportedOption(opt)
		}
		if err := o.set(opt); err != nil {
			return o, err
		}
	}
	for _, req := range []struct{ key, value string }{{"hostname", o.host}, {"username", o.user}} {
		if req.value == "" {
			return o, errs.Userf(errs.InvalidConfig, "read the source block: %s is required", req.key)
		}
	}
	switch sslMode {
	case "", "DISABLED", "PREFERRED":
		if useSSL {
			o.tls = &tls.Config{InsecureSkipVerify: true, ServerName: o.host} //nolint:gosec // useSSL without verification is what was asked for
		}
	case "REQUIRED":
		o.tls = &tls.Config{InsecureSkipVerify: true, ServerName: o.host} //nolint:gosec // REQUIRED encrypts and does not verify
	case "VERIFY_CA", "VERIFY_IDENTITY":
		o.tls = &tls.Config{ServerName: o.host}
	default:
		return o, errs.Userf(errs.InvalidConfig, "source option jdbc.properties.sslMode: %s is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY", sslMode)
	}
	return o, nil
}

func (o *options) set(opt source.Option) error {
	var err error
	switch opt.Key {
	case "hostname":
		o.host = opt.Value
	case "port":
		n, e := strconv.ParseUint(opt.Value, 10, 16)
		if e != nil || n == 0 {
			return optionError(opt, "%q is no port number", opt.Value)
		}
		o.port = int(n)
	case "username":
		o.user = opt.Value
	case "password":
		o.password = opt.Value
	case "server-id":
		from, to, isRange := strings.Cut(opt.Value, "-")
		a, e1 := strconv.ParseUint(strings.TrimSpace(from), 10, 32)
		b, e2 := a, error(nil)
		if isRange {
			b, e2 = strconv.ParseUint(strings.TrimSpace(to), 10, 32)
		}
		if e1 != nil || e2 != nil || a == 0 || b < a {
			return optionError(opt, "%q is no server id; write one number, or a range such as 5401-5404", opt.Value)
		}
		o.serverIDFrom, o.serverIDTo = uint32(a), uint32(b)
	case "server-time-zone":
		o.serverZone, err = ParseZone(opt.Value)
		if err != nil {
			return optionError(opt, "%q is no time zone; write a name such as Europe/Berlin, or an offset such as +08:00", opt.Value)
		}
	case "connect.timeout":
		o.connectTimeout, err = duration(opt)
	case "heartbeat.interval":
		o.heartbeat, err = duration(opt)
		o.heartbeat = max(o.heartbeat, 500*time.Millisecond)
	case "treat-tinyint1-as-boolean.enabled":
		o.booleans, err = boolean(opt)
	case "include-comments.enabled":
		o.comments, err = boolean(opt)
	case "foreign-key-cascades":
		switch strings.ToLower(opt.Value) {
		case "refuse":
		case "ignore":
			o.ignoreCascades = true
		default:
			return optionError(opt, "%q is neither refuse nor ignore", opt.Value)
		}
	case "scan.startup.specific-offset.file":
		o.startFile = opt.Value
	case "scan.startup.specific-offset.pos":
		if o.startPos, err = strconv.ParseUint(opt.Value, 10, 64); err != nil {
			return optionError(opt, "%q is no offset in a binlog file", opt.Value)
		}
	case "scan.startup.specific-offset.gtid-set":
		o.startGTID = opt.Value
	case "scan.startup.timestamp-millis":
		ms, e := strconv.ParseInt(opt.Value, 10, 64)
		if e != nil || ms <= 0 {
			return optionError(opt, "%q is no time in milliseconds since 1970", opt.Value)
		}
		o.startTime = time.UnixMilli(ms)
	case "schema-change.enabled", "scan.newly-added-table.enabled", "scan.binlog.newly-added-table.enabled":
		_, err = boolean(opt)
	}
	return err
}

func boolean(o source.Option) (bool, error) {
	switch strings.ToLower(o.Value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, optionError(o, "%q is neither true nor false", o.Value)
}

func duration(o source.Option) (time.Duration, error) {
	d, err := source.ParseDuration(o.Value)
	if err != nil || d <= 0 {
		return 0, optionError(o, "%q is no duration; write a number and a unit, such as 30s or 3 min", o.Value)
	}
	return d, nil
}

// ParseZone reads a zone name, "UTC", "GMT+8", or an offset "+08:00".
func ParseZone(s string) (*time.Location, error) {
	t := strings.TrimSpace(s)
	off := t
	for _, p := range []string{"UTC", "GMT"} {
		if r, ok := strings.CutPrefix(strings.ToUpper(t), p); ok {
			if r == "" {
				return time.UTC, nil
			}
			off = r
		}
	}
	if off != "" && (off[0] == '+' || off[0] == '-') {
		h, m, _ := strings.Cut(off[1:], ":")
		hn, e1 := strconv.Atoi(h)
		mn := 0
		var e2 error
		if m != "" {
			mn, e2 = strconv.Atoi(m)
		}
		if e1 != nil || e2 != nil || hn < 0 || hn > 18 || mn < 0 || mn > 59 {
			return nil, errs.Userf(errs.UnknownTimeZone, "read time zone %q: write an offset such as +08:00", s)
		}
		sec := hn*3600 + mn*60
		if off[0] == '-' {
			sec = -sec
		}
		return time.FixedZone(t, sec), nil
	}
	if t == "" || strings.EqualFold(t, "local") {
		return nil, errs.Userf(errs.UnknownTimeZone, "read time zone %q: write a name such as Europe/Berlin", s)
	}
	return time.LoadLocation(t)
}
