package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// PartitionMatcher tells the partitions that have given values.
type PartitionMatcher struct {
	p    *Partitioner
	want []wanted
	seen map[string]bool
}

type wanted struct {
	key  int
	text string
	null bool
}

// Matcher returns the matcher of partitions with the given values, by partition
// column, in the text of partition paths, legacy or not: a DATE is a day number
// or yyyy-MM-dd. nil, and the name of the default partition, are NULL. Columns
// that are not named have any value. It belongs to one goroutine.
func (p *Partitioner) Matcher(values map[string]*string) (*PartitionMatcher, error) {
	m := &PartitionMatcher{p: p, seen: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k := slices.Index(p.Keys, name)
		if k < 0 {
			return nil, errs.Userf(errs.UnknownColumn, "%q is not a partition column; they are %s", name, strings.Join(p.Keys, ", "))
		}
		w := wanted{key: k}
		if v := values[name]; v == nil || *v == p.def {
			w.null = true
		} else {
			w.text = *v
		}
		if t := p.Types[k]; !w.null && t.Kind == catalog.Decimal {
			w.text = trimDecimal(w.text)
		}
		m.want = append(m.want, w)
	}
	return m, nil
}

// All reports whether every partition matches.
func (m *PartitionMatcher) All() bool { return len(m.want) == 0 }

// Match reports whether a partition has the values.
func (m *PartitionMatcher) Match(part BinaryRow) (bool, error) {
	if len(m.want) == 0 {
		return true, nil
	}
	if ok, known := m.seen[string(part)]; known {
		return ok, nil
	}
	vals, err := part.Decode(m.p.Types)
	if err != nil {
		return false, err
	}
	ok := true
	for _, w := range m.want {
		ok = ok && w.matches(m.p.Types[w.key], vals[w.key])
	}
	m.seen[string(part)] = ok
	return ok, nil
}

func (w *wanted) matches(t catalog.Type, v *vector.Vec) bool {
	if w.null || v.IsNull(0) {
		return w.null && v.IsNull(0)
	}
	if s := PathText(t, v, 0, true); s == w.text || t.Kind == catalog.Decimal && trimDecimal(s) == w.text {
		return true
	}
	return PathText(t, v, 0, false) == w.text
}

// trimDecimal takes away what does not change a number's value.
func trimDecimal(s string) string {
	s = strings.TrimPrefix(s, "+")
	if strings.ContainsRune(s, '.') {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	sign := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(strings.TrimPrefix(s, "-"), "0")
	if s == "" || s[0] == '.' {
		s = "0" + s
	}
	if sign && s != "0" {
		s = "-" + s
	}
	return s
}

// Texts returns a partition's values as a map from partition column to the text
// of partition paths; nil is NULL.
func (p *Partitioner) Texts(part BinaryRow) (map[string]*string, error) {
	out := map[string]*string{}
	if len(p.Keys) == 0 {
		return out, nil
	}
	vals, err := part.Decode(p.Types)
	if err != nil {
		return nil, err
	}
	for i, k := range p.Keys {
		out[k] = nil
		if !vals[i].IsNull(0) {
			s := PathText(p.Types[i], vals[i], 0, p.legacy)
			out[k] = &s
		}
	}
	return out, nil
}

// ParsePartitionSpecs reads the partitions that procedures name: "a=1,b=2;a=3"
// is two of them.
func (p *Partitioner) ParsePartitionSpecs(text string) ([]map[string]*string, error) {
	var out []map[string]*string
	for _, one := range strings.Split(text, ";") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		spec := map[string]*string{}
		for _, kv := range strings.Split(one, ",") {
			k, v, ok := strings.Cut(kv, "=")
			k, v = strings.TrimSpace(k), strings.TrimSpace(v)
			if !ok || k == "" {
				return nil, errs.Userf(errs.WrongArguments, "read the partition %q: write column=value, several with commas", one)
			}
			if len(v) > 1 && (v[0] == '\'' || v[0] == '"') && v[len(v)-1] == v[0] {
				v = v[1 : len(v)-1]
			}
			if _, twice := spec[k]; twice {
				return nil, errs.Userf(errs.WrongArguments, "read the partition %q: %s is there twice", one, k)
			}
			spec[k] = &v
			if v == p.def {
				spec[k] = nil
			}
		}
		if _, err := p.Matcher(spec); err != nil {
			return nil, err
		}
		out = append(out, spec)
	}
	if len(out) == 0 {
		return nil, errs.Userf(errs.WrongArguments, "read the partitions %q: there are none; write column=value", text)
	}
	return out, nil
}
