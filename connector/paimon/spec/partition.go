package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/variant"
	"github.com/thermocline/thermocline/internal/vector"
)

// DefaultPartitionName stands for NULL and blank partition values in paths.
const DefaultPartitionName = "__DEFAULT_PARTITION__"

// Partitioner renders the partition values of one table.
type Partitioner struct {
	Keys   []string
	Types  []catalog.Type
	legacy bool
	def    string
}

// NewPartitioner makes the Partitioner of a schema, by its options
// partition.legacy-name and partition.default-name.
func NewPartitioner(s *catalog.Schema) *Partitioner {
	p := &Partitioner{Keys: s.PartitionKeys, Types: TypesOf(s, s.PartitionKeys), legacy: true, def: DefaultPartitionName}
	if v, ok := s.Options["partition.legacy-name"]; ok {
		p.legacy = !strings.EqualFold(strings.TrimSpace(v), "false")
	}
	if v, ok := s.Options["partition.default-name"]; ok {
		p.def = v
	}
	return p
}

// Path returns "k1=v1/k2=v2/" for a partition, "" without partition keys.
func (p *Partitioner) Path(part BinaryRow) (string, error) {
	if len(p.Keys) == 0 {
		return "", nil
	}
	vals, err := part.Decode(p.Types)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, k := range p.Keys {
		text := p.def
		if !vals[i].IsNull(0) {
			if s := PathText(p.Types[i], vals[i], 0, p.legacy); !blank(s) {
				text = s
			}
		}
		b.WriteString(EscapePath(k))
		b.WriteByte('=')
		b.WriteString(EscapePath(text))
		b.WriteByte('/')
	}
	return b.String(), nil
}

// blank is Java's StringUtils.isNullOrWhitespaceOnly.
func blank(s string) bool {
	for _, r := range s {
		if !javaWhitespace(r) {
			return false
		}
	}
	return true
}

// javaWhitespace is Character.isWhitespace: Unicode's space separators except
// the non-breaking ones, and some controls.
func javaWhitespace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20, r == 0x1680, r >= 0x2000 && r <= 0x200a && r != 0x2007,
		r == 0x2028, r == 0x2029, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// PathText returns the text of a partition value. With legacy it is Java's
// toString of the internal value (dates are day numbers), else the SQL cast to a
// string.
func PathText(t catalog.Type, v *vector.Vec, i int, legacy bool) string {
	at := v.At(i)
	v = v.Values()
	switch t.Kind {
	case catalog.Boolean:
		return strconv.FormatBool(v.I8s[at] != 0)
	case catalog.TinyInt, catalog.SmallInt, catalog.Int:
		return strconv.Itoa(int(v.I32s[at]))
	case catalog.BigInt:
		return strconv.FormatInt(v.I64s[at], 10)
	case catalog.Float:
		return JavaFloat(float64(v.F32s[at]), 32)
	case catalog.Double:
		return JavaFloat(v.F64s[at], 64)
	case catalog.Decimal:
		return string(vector.AppendDecimalText(nil, v, at, t.Scale))
	case catalog.Date:
		if legacy {
			return strconv.Itoa(int(v.I32s[at]))
		}
		return dateText(int64(v.I32s[at]))
	case catalog.Time:
		if legacy {
			return strconv.Itoa(int(v.I32s[at]))
		}
		return timeText(int64(v.I32s[at]), t.Length)
	case catalog.Timestamp, catalog.TimestampLTZ:
		millis, nanos := timestampParts(t, v, at)
		return timestampText(millis, int64(nanos), t.Length, legacy)
	}
	return string(v.Bytes(at))
}

func dateText(days int64) string {
	return time.Unix(days*86400, 0).UTC().Format("2006-01-02")
}

// timeText prints milliseconds of the day: up to p fraction digits, trailing
// zeros dropped but one digit kept when p > 0, as Java's cast does.
func timeText(ms int64, p int) string {
	s := fmt.Sprintf("%02d:%02d:%02d", ms/3600000, ms/60000%60, ms/1000%60)
	if p == 0 {
		return s
	}
	frac := fmt.Sprintf("%03d", ms%1000)[:min(p, 3)]
	for len(frac) > 1 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	return s + "." + frac
}

// timestampText prints a timestamp: as LocalDateTime.toString for legacy names
// (seconds omitted when zero, 3, 6 or 9 fraction digits), else "yyyy-MM-dd
// HH:mm:ss" and p fraction digits without trailing zeros.
func timestampText(millis, nanos int64, p int, legacy bool) string {
	sec := millis / 1000
	if millis%1000 < 0 {
		sec--
	}
	nanos += (millis - sec*1000) * 1_000_000
	t := time.Unix(sec, 0).UTC()
	if legacy {
		s := t.Format("2006-01-02T15:04")
		if t.Second() == 0 && nanos == 0 {
			return s
		}
		s += t.Format(":05")
		switch {
		case nanos == 0:
		case nanos%1_000_000 == 0:
			s += fmt.Sprintf(".%03d", nanos/1_000_000)
		case nanos%1000 == 0:
			s += fmt.Sprintf(".%06d", nanos/1000)
		default:
			s += fmt.Sprintf(".%09d", nanos)
		}
		return s
	}
	s := t.Format("2006-01-02 15:04:05")
	frac := fmt.Sprintf("%09d", nanos)
	for len(frac) > p && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac == "" {
		return s
	}
	return s + "." + frac
}

// JavaFloat prints a float as Java's Double.toString (bits 64) and
// Float.toString (bits 32) do: plain between 1e-3 and 1e7, else d.dddEn.
func JavaFloat(f float64, bits int) string { return variant.JavaFloat(f, bits) }

const escaped = "\"#%'*/:=?\\{}[]^"

// EscapePath writes the characters that paths may not have as %XX (Java's
// PartitionPathUtils.escapePathName).
func EscapePath(s string) string {
	need := false
	for i := range len(s) {
		if mustEscape(s[i]) {
			need = true
			break
		}
	}
	if !need {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if mustEscape(s[i]) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func mustEscape(c byte) bool {
	return c < 0x20 || c == 0x7f || strings.IndexByte(escaped, c) >= 0
}

// UnescapePath undoes EscapePath.
func UnescapePath(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if x, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(x))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// DefaultName stands for NULL in the table's paths, Legacy says whether values
// have their legacy text there.
func (p *Partitioner) DefaultName() string { return p.def }

// Legacy: see DefaultName.
func (p *Partitioner) Legacy() bool { return p.legacy }
