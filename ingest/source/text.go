package source

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// Nearest ends the message about an unknown key: "did you mean …?" with the
// known key at the smallest edit distance, or the statement that none is near.
func Nearest(key string, known []string) string {
	best, at := "", math.MaxInt
	for _, k := range known {
		if d := distance(strings.ToLower(key), k); d < at || d == at && k < best {
			best, at = k, d
		}
	}
	if best == "" {
		return "no key is known here"
	}
	return fmt.Sprintf("the nearest known key is %s", best)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		left := i + 1
		diag := prev[0]
		prev[0] = left
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = prev[j+1]
			left = min(left+1, prev[j+1]+1, cost)
			prev[j+1] = left
		}
	}
	return prev[len(b)]
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// ParseDuration reads Flink's durations: "30s", "3 min", "500 ms", "PT30S",
// and a number without a unit, which means milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	bad := errs.Userf(errs.InvalidConfig, "read duration %q: write a number and a unit, such as 30s or 3 min", s)
	if m := isoDuration.FindStringSubmatch(strings.ToUpper(t)); m != nil && len(t) > 2 {
		var d float64
		for i, unit := range []float64{86400, 3600, 60, 1} {
			if m[i+1] != "" {
				f, err := strconv.ParseFloat(m[i+1], 64)
				if err != nil {
					return 0, bad
				}
				d += f * unit
			}
		}
		if d > 1e9 {
			return 0, bad
		}
		return time.Duration(math.Round(d * 1e9)), nil
	}
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(t[:i], 10, 64)
	if err != nil {
		return 0, bad
	}
	unit, ok := map[string]time.Duration{
		"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
		"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
		"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"h": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
		"us": time.Microsecond, "µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
		"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	}[strings.ToLower(strings.TrimSpace(t[i:]))]
	if !ok || n > int64(math.MaxInt64/int64(unit)) {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}

// Redact hides the values of keys that hold secrets.
func Redact(key, value string) string {
	k := strings.ToLower(key)
	for _, s := range []string{"password", "secret", "token", "access-key", "accesskey", "credential", "private-key"} {
		if strings.Contains(k, s) {
			return "***"
		}
	}
	return value
}
