package commit

import (
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// partitionRange returns a filter that leaves out manifests which, by their
// statistics, hold nothing of the given partitions.
func (c *Committer) partitionRange(parts []spec.BinaryRow) func(*spec.ManifestMeta) bool {
	all := func(*spec.ManifestMeta) bool { return true }
	types := c.cfg.Paths.Partitioner().Types
	if len(types) == 0 || len(parts) > 64 {
		return all
	}
	vals := make([][]*vector.Vec, len(parts))
	for i, p := range parts {
		v, err := p.Decode(types)
		if err != nil {
			return all
		}
		vals[i] = v
	}
	return func(m *spec.ManifestMeta) bool {
		stats, err := m.PartitionStats.Decode(types)
		if err != nil || len(stats) != len(types) {
			return true
		}
		for _, p := range vals {
			may := true
			for i := range types {
				s := &stats[i]
				switch {
				case p[i].IsNull(0):
					may = may && (!s.Nulls.OK || s.Nulls.V > 0)
				case s.Min == nil || s.Max == nil || s.Min.IsNull(0) || s.Max.IsNull(0):
					// all NULL, or unknown
					may = may && (!s.Nulls.OK || s.Nulls.V < m.Added+m.Deleted)
				default:
					may = may && vector.Compare(p[i], 0, s.Min, 0) >= 0 && vector.Compare(p[i], 0, s.Max, 0) <= 0
				}
			}
			if may {
				return true
			}
		}
		return false
	}
}
