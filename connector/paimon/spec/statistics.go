package spec

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// statisticsJSON is the content of a file below statistics/: JSON whose bounds
// are texts of values, which Java's serializers of the types write.
type statisticsJSON struct {
	SnapshotID        int64                           `json:"snapshotId"`
	SchemaID          int64                           `json:"schemaId"`
	MergedRecordCount *int64                          `json:"mergedRecordCount,omitempty"`
	MergedRecordSize  *int64                          `json:"mergedRecordSize,omitempty"`
	ColStats          map[string]columnStatisticsJSON `json:"colStats"`
}

type columnStatisticsJSON struct {
	ColID         int     `json:"colId"`
	DistinctCount *int64  `json:"distinctCount,omitempty"`
	Min           *string `json:"min,omitempty"`
	Max           *string `json:"max,omitempty"`
	NullCount     *int64  `json:"nullCount,omitempty"`
	AvgLen        *int64  `json:"avgLen,omitempty"`
	MaxLen        *int64  `json:"maxLen,omitempty"`
}

// MarshalStatistics writes the statistics of a version whose schema is schema.
// Texts have no bounds, as Spark's ANALYZE gives none.
func MarshalStatistics(s *connector.Statistics, schema *catalog.Schema) ([]byte, error) {
	known := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	out := statisticsJSON{SnapshotID: s.Version, SchemaID: s.SchemaID, MergedRecordCount: known(s.Rows), MergedRecordSize: known(s.Bytes),
		ColStats: map[string]columnStatisticsJSON{}}
	for _, f := range schema.Fields {
		c, ok := s.Columns[f.ID]
		if !ok {
			continue
		}
		x := columnStatisticsJSON{ColID: f.ID, DistinctCount: known(c.Distinct), NullCount: known(c.Nulls), AvgLen: known(c.AvgLen), MaxLen: known(c.MaxLen)}
		if bounded(f.Type) && c.Min != nil && c.Max != nil {
			lo, hi := boundText(f.Type, c.Min), boundText(f.Type, c.Max)
			x.Min, x.Max = &lo, &hi
		}
		out.ColStats[f.Name] = x
	}
	b, err := marshal(out)
	if err != nil {
		return nil, errs.Internalf("write the statistics of snapshot %d: %w", s.Version, err)
	}
	return prettyJSON(b), nil
}

// ParseStatistics reads statistics; schemaOf gives the schema that they are about.
// Bounds that are not understood count as unknown: they only help to choose plans.
func ParseStatistics(b []byte, schemaOf func(id int64) (*catalog.Schema, error)) (*connector.Statistics, error) {
	var in statisticsJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, errs.Corruptf("read the statistics: %w", err)
	}
	schema, err := schemaOf(in.SchemaID)
	if err != nil {
		return nil, err
	}
	count := func(n *int64) int64 {
		if n == nil || *n < 0 {
			return -1
		}
		return *n
	}
	out := &connector.Statistics{Version: in.SnapshotID, SchemaID: in.SchemaID, Rows: count(in.MergedRecordCount), Bytes: count(in.MergedRecordSize),
		Columns: map[int]connector.ColumnStatistics{}}
	for _, f := range schema.Fields {
		x, ok := in.ColStats[f.Name]
		if !ok || x.ColID != f.ID {
			continue
		}
		c := connector.ColumnStatistics{Distinct: count(x.DistinctCount), Nulls: count(x.NullCount), AvgLen: count(x.AvgLen), MaxLen: count(x.MaxLen)}
		if bounded(f.Type) && x.Min != nil && x.Max != nil {
			if lo, hi := boundValue(f.Type, *x.Min), boundValue(f.Type, *x.Max); lo != nil && hi != nil {
				c.Min, c.Max = lo, hi
			}
		}
		out.Columns[f.ID] = c
	}
	return out, nil
}

// bounded reports whether statistics have the smallest and the largest value of a
// type.
func bounded(t catalog.Type) bool {
	switch t.Kind {
	case catalog.Boolean, catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Float, catalog.Double, catalog.Decimal,
		catalog.Date, catalog.Time, catalog.Timestamp, catalog.TimestampLTZ:
		return true
	}
	return false
}

// boundText is the text of row 0 of v: Java's toString of internal values, dates
// as day numbers, timestamps with all digits of their precision.
func boundText(t catalog.Type, v *vector.Vec) string {
	if t.Kind != catalog.Timestamp && t.Kind != catalog.TimestampLTZ {
		return PathText(t, v, 0, true)
	}
	millis, nanos := timestampParts(t, v.Values(), v.At(0))
	text := timestampText(millis, int64(nanos), 0, false)
	whole, frac, _ := strings.Cut(text, ".")
	if t.Length == 0 {
		return whole
	}
	return whole + "." + (frac + "000000000")[:t.Length]
}

// boundValue reads what boundText writes, nil where it is something else.
func boundValue(t catalog.Type, s string) *vector.Vec {
	v := vector.New(t.Physical(), 1)
	switch t.Kind {
	case catalog.Boolean:
		if s != "true" && s != "false" {
			return nil
		}
		v.AppendBool(s == "true")
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.Date, catalog.Time:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil
		}
		v.AppendI32(int32(n))
	case catalog.BigInt:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil
		}
		v.AppendI64(n)
	case catalog.Float:
		f, err := strconv.ParseFloat(s, 32)
		if err != nil || f != f {
			return nil
		}
		v.AppendF32(float32(f))
	case catalog.Double:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f != f {
			return nil
		}
		v.AppendF64(f)
	case catalog.Decimal:
		if len(s) > 100 {
			return nil
		}
		n, _, ok := vector.ParseDecimal(s, t.Scale)
		if !ok || !v.AppendDecimal(n) {
			return nil
		}
	case catalog.Timestamp, catalog.TimestampLTZ:
		at, err := time.Parse("2006-01-02 15:04:05", s) // which takes a fraction, too
		if err != nil {
			if at, err = time.Parse("2006-01-02T15:04:05", s); err != nil {
				return nil
			}
		}
		if v.Kind == vector.I128 {
			n := new(big.Int).Mul(big.NewInt(at.Unix()), big.NewInt(1_000_000_000))
			x, ok := vector.Int128FromBig(n.Add(n, big.NewInt(int64(at.Nanosecond()))))
			if !ok {
				return nil
			}
			v.AppendI128(x)
			break
		}
		v.AppendI64(at.Unix()*1_000_000 + int64(at.Nanosecond())/1000)
	default:
		return nil
	}
	return v
}
