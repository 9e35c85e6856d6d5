package spec

import (
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Options reads a table's options with Paimon's spellings: sizes "128 mb",
// durations "1 h", booleans in any case. The first value that cannot be read is
// kept in Err; the default is returned for it.
type Options struct {
	m   map[string]string
	Err error
}

// NewOptions reads from m.
func NewOptions(m map[string]string) *Options { return &Options{m: m} }

func (o *Options) bad(key, want string) {
	if o.Err == nil {
		o.Err = errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not %s", key, o.m[key], want)
	}
}

// String returns an option's text.
func (o *Options) String(key, def string) string {
	if v, ok := o.m[key]; ok {
		return strings.TrimSpace(v)
	}
	return def
}

// Has reports whether an option is set.
func (o *Options) Has(key string) bool { _, ok := o.m[key]; return ok }

// Int returns a whole number.
func (o *Options) Int(key string, def int64) int64 {
	v, ok := o.m[key]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		o.bad(key, "a whole number")
		return def
	}
	return n
}

// Bool returns a truth value.
func (o *Options) Bool(key string, def bool) bool {
	v, ok := o.m[key]
	if !ok {
		return def
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true":
		return true
	case "false":
		return false
	}
	o.bad(key, "true or false")
	return def
}

// Size returns bytes.
func (o *Options) Size(key string, def int64) int64 {
	v, ok := o.m[key]
	if !ok {
		return def
	}
	n, err := memory.ParseSize(v)
	if err != nil {
		o.bad(key, "a size such as 128 mb")
		return def
	}
	return n
}

var durationUnits = map[string]time.Duration{
	"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	"us": time.Microsecond, "µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond,
}

// Duration returns a time span; a plain number is milliseconds.
func (o *Options) Duration(key string, def time.Duration) time.Duration {
	v, ok := o.m[key]
	if !ok {
		return def
	}
	t := strings.ToLower(strings.TrimSpace(v))
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(t[:i], 10, 64)
	unit, known := durationUnits[strings.TrimSpace(t[i:])]
	if err != nil || !known || n > int64(1<<62)/int64(unit) {
		o.bad(key, "a duration such as 10 s or 1 h")
		return def
	}
	return time.Duration(n) * unit
}
