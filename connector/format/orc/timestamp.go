package orc

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

const (
	// epoch2015 is 2015-01-01 00:00:00 UTC, from which seconds count.
	epoch2015 = 1420070400
	// gregorian is 1582-10-15 00:00:00 UTC, the first day of the Gregorian
	// calendar in java.sql.Timestamp.
	gregorian = -12219292800
	// year0001 is 0001-01-01 in the Julian calendar, from when on it is followed.
	year0001 = -62135769600
	// modernZones is 1900-01-01 00:00:00 UTC. Java knows no rules of zones before.
	modernZones = -2208988800
	maxSeconds  = 1 << 42
)

// legacyInstants is the table option that says, unless it is false, that writers
// stored of an instant the wall clock of UTC as one of their own zone.
const legacyInstants = "orc.timestamp-ltz.legacy.type"

// clock turns stored seconds and nanoseconds into wall clocks or instants.
type clock struct {
	zone    *time.Location // nil: UTC
	base    int64          // the second that stored ones count from
	hybrid  bool           // values before 1582-10-15 are of the Julian calendar
	instant bool
	path    string
}

// newClock makes the clock of a column in a stripe whose writer was in zone.
func newClock(of *file, n *node, t catalog.Type, zone string) (clock, error) {
	k := clock{base: epoch2015, hybrid: !of.proleptic, path: of.path}
	utc, where := false, fmt.Sprintf("in the zone %q", zone)
	if zone == "" {
		where = "in a zone that is not recorded"
	}
	switch zone {
	case "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal", "Greenwich", "Etc/Greenwich", "GMT0", "Etc/GMT0", "Etc/GMT+0", "Etc/GMT-0":
		utc = true
	}
	if n.kind == kindInstant {
		k.instant = true
		if !utc && !of.instants {
			return k, errs.Unsupportedf(-1, "TIMESTAMP WITH LOCAL TIME ZONE in ORC written %s (%s; the writer's zone has shifted the values unless the table has '%s' = 'false')", where, of.path, legacyInstants)
		}
		return k, nil
	}
	if utc {
		return k, nil
	}
	loc, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return k, errs.Unsupportedf(-1, "TIMESTAMP in ORC written %s (%s)", where, of.path)
	}
	k.zone = loc
	k.base = time.Date(2015, 1, 1, 0, 0, 0, 0, loc).Unix()
	return k, nil
}

// seconds returns the second and nanosecond of a wall clock (or instant) as if
// in UTC, of what is stored, as Java's reader does.
func (k *clock) seconds(stored int64, nanos int64) (int64, error) {
	if stored < -maxSeconds || stored > maxSeconds {
		return 0, fmt.Errorf("a timestamp of %d seconds is out of range", stored)
	}
	s := stored + k.base
	// Writers divide milliseconds towards zero, so that seconds before 1970 are one
	// too high when there is a fraction. In the last second before 1970 the sign
	// is lost, and Java reads a time after it.
	if nanos > 999_999 && s*1000+nanos/1_000_000 < 0 {
		s--
	}
	if k.zone != nil {
		if s < modernZones {
			return 0, errs.Unsupportedf(-1, "TIMESTAMP before 1900 in ORC written in the zone %q (%s)", k.zone, k.path)
		}
		_, offset := time.Unix(s, 0).In(k.zone).Zone()
		s += int64(offset)
	}
	if s < gregorian && k.hybrid {
		switch {
		case k.instant:
			return 0, errs.Unsupportedf(-1, "TIMESTAMP WITH LOCAL TIME ZONE before 1582-10-15 in ORC (%s)", k.path)
		case s < year0001:
			return 0, errs.Unsupportedf(-1, "TIMESTAMP before the year 1 in ORC (%s)", k.path)
		}
		s = julian(s)
	}
	return s, nil
}

// julian returns the second at which the Gregorian calendar shows what the
// Julian one shows at s.
func julian(s int64) int64 {
	day := s / 86400
	if s%86400 < 0 {
		day--
	}
	rest := s - day*86400
	// Days since 0000-03-01 of the Julian calendar, which has a leap day every
	// fourth year.
	d := day + 719470
	year := (4*d + 3) / 1461
	yday := d - (1461*year)/4
	month := (5*yday + 2) / 153
	mday := yday - (153*month+2)/5 + 1
	month += 3
	if month > 12 {
		month -= 12
		year++
	}
	return time.Date(int(year), time.Month(month), int(mday), 0, 0, 0, 0, time.UTC).Unix() + rest
}

// readTimestamps reads seconds, and nanoseconds without trailing zeros.
func (c *column) readTimestamps(n, m int) error {
	v := c.vec
	c.nums, c.nums2 = sized(c.nums, m), sized(c.nums2, m)
	if err := c.ints.read(c.nums); err != nil {
		return err
	}
	if err := c.second.read(c.nums2); err != nil {
		return err
	}
	wide := v.Kind == vector.I128
	if wide {
		v.I128s = sized(v.I128s, n)
	} else {
		v.I64s = sized(v.I64s, n)
	}
	for i, x := range c.nums {
		nanos, err := parseNanos(uint64(c.nums2[i]))
		if err != nil {
			return err
		}
		s, err := c.clock.seconds(x, nanos)
		if err != nil {
			return err
		}
		if wide {
			v.I128s[i] = times(s, 1e9).Add(vector.Int128From(nanos))
			continue
		}
		if nanos%1000 != 0 {
			return errs.Unsupportedf(-1, "ORC timestamps of nanoseconds in a column of microseconds (%s)", c.r.of.path)
		}
		v.I64s[i] = s*1e6 + nanos/1000
	}
	return nil
}

// parseNanos reads nanoseconds: the low three bits are the number of trailing
// zeros less one, 0 for none.
func parseNanos(x uint64) (int64, error) {
	n := x >> 3
	if n > 999_999_999 {
		return 0, errors.New("a timestamp has more than a second of nanoseconds")
	}
	if z := x & 7; z != 0 {
		for range z + 1 {
			n *= 10
		}
	}
	if n > 999_999_999 {
		return 0, errors.New("a timestamp has more than a second of nanoseconds")
	}
	return int64(n), nil
}

// times returns x * y for a y that is not negative.
func times(x, y int64) vector.Int128 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if x < 0 {
		hi -= uint64(y)
	}
	return vector.Int128{Lo: lo, Hi: int64(hi)}
}
