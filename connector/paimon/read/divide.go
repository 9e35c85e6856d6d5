package read

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// keyRange is the keys from from on, before to; nil is no bound.
type keyRange struct{ from, to []*vector.Vec }

// divide cuts sections of several runs into parts that can be read at the same
// time: the keys are cut where files of the section's largest run begin, so that
// each of those is read once, and of the other runs, which are small beside it as
// a rule, each part reads what lies in its range. Sections without such a run stay
// whole.
func (sc *scan) divide(sections []*section, target int64) ([]*section, error) {
	if sc.ordered {
		return sections, nil
	}
	var out []*section
	for i, s := range sections {
		if !s.merge || s.family != nil || s.bytes < 2*target {
			if out != nil {
				out = append(out, s)
			}
			continue
		}
		if out == nil {
			out = append(make([]*section, 0, len(sections)+8), sections[:i]...)
		}
		parts, err := sc.divided(s, target)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	if out == nil {
		return sections, nil
	}
	return out, nil
}

// mostRead is how much more than a section's bytes its parts may read together,
// in percent.
const mostRead = 130

func (sc *scan) divided(s *section, target int64) ([]*section, error) {
	types := spec.TypesOf(sc.st.schema, sc.st.schema.TrimmedPrimaryKeys())
	runs := make([][]keyed, len(s.runs))
	largest, most := 0, int64(0)
	for i, files := range s.runs {
		bytes := int64(0)
		for _, e := range files {
			k, err := keysOf(e, types)
			if err != nil {
				return nil, sc.st.src.vanished(sc.st.snap, "manifest", err)
			}
			runs[i] = append(runs[i], k)
			bytes += e.File.FileSize
		}
		if bytes > most {
			largest, most = i, bytes
		}
	}
	for ; target < s.bytes; target *= 2 {
		var parts []*section
		total, from, size := int64(0), []*vector.Vec(nil), int64(0)
		end := func(to []*vector.Vec) {
			p := part(runs, keyRange{from, to})
			p.deletes = p.deletes || sc.st.keepDeletes
			parts = append(parts, p)
			total += p.bytes
			from, size = to, 0
		}
		for i, k := range runs[largest] {
			// The share of the other runs goes with the largest's.
			share := k.e.File.FileSize * s.bytes / max(most, 1)
			if i > 0 && size+share > target {
				end(k.min)
			}
			size += share
		}
		end(nil)
		if len(parts) < 2 {
			break
		}
		if total*100 <= s.bytes*mostRead {
			return parts, nil
		}
	}
	return []*section{s}, nil
}

// part is the section of the files of runs that have keys in a range.
func part(runs [][]keyed, r keyRange) *section {
	var kept [][]*spec.ManifestEntry
	whole := true
	for _, files := range runs {
		var list []*spec.ManifestEntry
		for _, k := range files {
			if r.from != nil && compareKeys(k.max, r.from) < 0 || r.to != nil && compareKeys(k.min, r.to) >= 0 {
				continue
			}
			list = append(list, k.e)
			whole = whole && (r.from == nil || compareKeys(k.min, r.from) >= 0) && (r.to == nil || compareKeys(k.max, r.to) < 0)
		}
		if list != nil {
			kept = append(kept, list)
		}
	}
	s := newSection(kept)
	if !whole {
		s.merge, s.keys = true, &r
	}
	return s
}

// filter returns what rows in the range satisfy, as far as statistics can tell
// it, nil for nothing. first is the position in the schema of the key's first
// column, of type t.
func (r *keyRange) filter(first int, t catalog.Type) *connector.Predicate {
	if r == nil || !t.NotNull {
		return nil
	}
	switch t.Physical() {
	case vector.I32, vector.I64, vector.Str:
	default:
		return nil
	}
	var low, high *connector.Predicate
	if r.from != nil {
		low = &connector.Predicate{Op: connector.Ge, Column: first, Value: r.from[0]}
	}
	if r.to != nil {
		high = &connector.Predicate{Op: connector.Le, Column: first, Value: r.to[0]}
	}
	return connector.AndOf(low, high)
}

// keysOf decodes a file's key range.
func keysOf(e *spec.ManifestEntry, types []catalog.Type) (k keyed, err error) {
	k.e = e
	if k.min, err = e.File.MinKey.Decode(types); err == nil {
		k.max, err = e.File.MaxKey.Decode(types)
	}
	return k, err
}

// restrict limits a merge to the section's part of the keys, and returns the
// filter for its files.
func (sc *scan) restrict(cfg *merge.Config, s *section) *connector.Predicate {
	filter := sc.filter
	if s.keys == nil {
		return filter
	}
	cfg.From, cfg.To = s.keys.from, s.keys.to
	if sc.req.NoPruning {
		return filter
	}
	first := sc.st.schema.Columns(sc.st.schema.TrimmedPrimaryKeys())[0]
	return connector.AndOf(filter, s.keys.filter(first, sc.st.schema.Fields[first].Type))
}
