package pipeline

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Transform is one rule of the transform block.
type Transform struct {
	SourceTable   string
	Projection    string // "" is all columns
	Filter        string
	PrimaryKeys   []string
	PartitionKeys []string
	TableOptions  map[string]string
	// SoftDelete is converter-after-transform: SOFT_DELETE.
	SoftDelete bool
	// FirstRow is match: first-row: a row that the filter of this rule drops is
	// tried by the next rule that matches the table.
	FirstRow bool
	// AllowEmpty is allow-empty: true: the rule may match no table.
	AllowEmpty  bool
	Description string
	Line        int
}

var transformKeys = []string{"source-table", "projection", "filter", "primary-keys", "partition-keys", "table-options", "table-options.delimiter",
	"converter-after-transform", "description", "match", "allow-empty"}

func (l *loader) transforms(b entry) error {
	if b.node2.Kind != yaml.SequenceNode {
		return l.bad(b.node2, "transform must be a list of rules; begin each with a dash")
	}
	for _, n := range b.node2.Content {
		t, err := l.transform(n)
		if err != nil {
			return err
		}
		l.def.Transforms = append(l.def.Transforms, t)
	}
	return nil
}

func (l *loader) transform(n *yaml.Node) (t Transform, err error) {
	es, err := l.entries(n, "a transform rule")
	if err != nil {
		return t, err
	}
	t.Line = n.Line
	options, delimiter := entry{}, ","
	for _, e := range es {
		if !slices.Contains(transformKeys, e.key) {
			return t, l.unknown(e, "a transform rule", transformKeys)
		}
		v, err := l.scalar(e)
		if err != nil {
			return t, err
		}
		switch e.key {
		case "source-table":
			t.SourceTable = v
		case "projection":
			t.Projection = strings.TrimSpace(v)
		case "filter":
			t.Filter = strings.TrimSpace(v)
		case "primary-keys", "partition-keys":
			var names []string
			for _, c := range strings.Split(v, ",") {
				c = strings.Trim(strings.TrimSpace(c), "`")
				if c == "" || slices.Contains(names, c) {
					return t, l.bad(e.node2, "%s is %q; write each column once: a, b", e.key, v)
				}
				names = append(names, c)
			}
			if e.key == "primary-keys" {
				t.PrimaryKeys = names
			} else {
				t.PartitionKeys = names
			}
		case "table-options":
			options = e
		case "table-options.delimiter":
			if delimiter = v; v == "" {
				return t, l.bad(e.node2, "table-options.delimiter is empty")
			}
		case "converter-after-transform":
			if !strings.EqualFold(v, "SOFT_DELETE") {
				return t, l.bad(e.node2, "converter-after-transform is %s; write SOFT_DELETE", v)
			}
			t.SoftDelete = true
		case "description":
			t.Description = v
		case "match":
			switch strings.ToLower(v) {
			case "first-row":
				t.FirstRow = true
			case "first-rule":
			default:
				return t, l.bad(e.node2, "match is %s; write first-rule (a row that the filter drops is dropped) or first-row (the next rule tries it)", v)
			}
		case "allow-empty":
			if t.AllowEmpty, err = l.boolean(e, v); err != nil {
				return t, err
			}
		}
	}
	if t.SourceTable == "" {
		return t, l.bad(n, "a transform rule needs source-table")
	}
	if options.node != nil {
		t.TableOptions = map[string]string{}
		v, err := l.scalar(options)
		if err != nil {
			return t, err
		}
		for _, p := range strings.Split(v, delimiter) {
			if strings.TrimSpace(p) == "" {
				continue
			}
			k, x, ok := strings.Cut(p, "=")
			k = strings.TrimSpace(k)
			if !ok || k == "" || strings.HasPrefix(k, "mysql.type.") {
				return t, l.bad(options.node2, "table-options: %q is no entry; write key=value,key=value, and table-options.delimiter when a value holds a comma", p)
			}
			t.TableOptions[k] = strings.TrimSpace(x)
		}
	}
	return t, nil
}
