package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/testkit"
)

// outcome counts reads.
type outcome struct {
	tables         map[string]bool
	equal, refused int
}

// support collects what TestInteropRead found, for docs/paimon-support.md.
type support struct {
	kinds      map[string]*outcome            // table, snapshot, …
	systems    map[string]*outcome            // system tables
	features   map[string]map[string]*outcome // by subject and value
	types      map[string]map[string]bool     // a type's formats
	options    map[string]map[string]bool     // an option's values in tables that are read
	refused    map[string]map[string]bool     // why: tables
	named      []string
	changelogs int
	tables     map[string]*tableFacts
}

func newSupport() *support {
	return &support{kinds: map[string]*outcome{}, systems: map[string]*outcome{}, features: map[string]map[string]*outcome{},
		types: map[string]map[string]bool{}, options: map[string]map[string]bool{}, refused: map[string]map[string]bool{}, tables: map[string]*tableFacts{}}
}

// tableFacts is what a table's folder says of it.
type tableFacts struct {
	schemas []tableSchema
	formats map[string]bool
	facts   [][2]string
}

type tableSchema struct {
	Fields []struct {
		Type catalog.Type `json:"type"`
	} `json:"fields"`
	PartitionKeys []string          `json:"partitionKeys"`
	PrimaryKeys   []string          `json:"primaryKeys"`
	Options       map[string]string `json:"options"`
}

// factsOf looks at a table's folder.
func factsOf(t testing.TB, dir string) *tableFacts {
	t.Helper()
	f := &tableFacts{formats: map[string]bool{}}
	err := filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
		if err != nil || de.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch ext := filepath.Ext(path); {
		case filepath.Dir(rel) == "schema":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var s tableSchema
			if err := json.Unmarshal(b, &s); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			f.schemas = append(f.schemas, s)
		case strings.Contains(rel, "bucket-") && (ext == ".parquet" || ext == ".orc" || ext == ".avro"):
			f.formats[ext[1:]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := f.schemas[len(f.schemas)-1]
	o := func(key, def string) string {
		if v := s.Options[key]; v != "" {
			return v
		}
		return def
	}
	fact := func(subject, value string) { f.facts = append(f.facts, [2]string{subject, value}) }
	for x := range f.formats {
		fact("Data files", strings.ToUpper(x[:1])+x[1:])
	}
	if len(f.formats) > 1 {
		fact("Data files", "several formats in one table")
	}
	bucket := o("bucket", "-1")
	switch {
	case len(s.PrimaryKeys) == 0 && bucket == "-1":
		fact("Buckets", "append, without buckets")
	case len(s.PrimaryKeys) == 0:
		fact("Buckets", "append, fixed")
	case bucket == "-2":
		fact("Buckets", "postponed")
	case bucket != "-1":
		fact("Buckets", "fixed")
	case !holdsAll(s.PrimaryKeys, s.PartitionKeys):
		fact("Buckets", "dynamic, keys across partitions")
	default:
		fact("Buckets", "dynamic")
	}
	if len(s.PrimaryKeys) > 0 {
		fact("Merge engine", o("merge-engine", "deduplicate"))
		fact("Changelog producer", o("changelog-producer", "none"))
	} else {
		fact("Merge engine", "none (append tables)")
	}
	if o("deletion-vectors.enabled", "") == "true" {
		fact("Deletion vectors", map[bool]string{true: "64-bit bitmaps", false: "32-bit bitmaps"}[o("deletion-vectors.bitmap64", "") == "true"])
	}
	if len(f.schemas) > 1 {
		fact("Schemas", "several")
	} else {
		fact("Schemas", "one")
	}
	fact("Partitions", map[bool]string{true: "yes", false: "no"}[len(s.PartitionKeys) > 0])
	fact("Manifests", o("manifest.format", "avro"))
	return f
}

func holdsAll(all, some []string) bool {
	for _, x := range some {
		if !slices.Contains(all, x) {
			return false
		}
	}
	return true
}

func count(m map[string]*outcome, key, table string, refused bool) {
	o := m[key]
	if o == nil {
		o = &outcome{tables: map[string]bool{}}
		m[key] = o
	}
	o.tables[table] = true
	if refused {
		o.refused++
	} else {
		o.equal++
	}
}

func note(m map[string]map[string]bool, key, value string) {
	if m[key] == nil {
		m[key] = map[string]bool{}
	}
	m[key][value] = true
}

var arguments = regexp.MustCompile(`\([^)]*\)`)

// typeName is a type without arguments and what is in it.
func typeName(t string) string {
	t = strings.TrimSuffix(t, " NOT NULL")
	if i := strings.IndexByte(t, '<'); i > 0 {
		return t[:i]
	}
	if strings.HasPrefix(t, "TIMESTAMP") {
		return t
	}
	return arguments.ReplaceAllString(t, "")
}

// quietOptions are of the table's writer, or shown elsewhere on the page.
var quietOptions = regexp.MustCompile(`^(bucket|file\.format|manifest\.format|merge-engine|changelog-producer|deletion-vectors\.(enabled|bitmap64)|path|owner|.*compact.*|num-.*|.*target-.*|` +
	`write-.*|snapshot\..*|file\.compression.*|.*\.compression|commit\..*|manifest\..*|metadata\..*|lookup.*|read\..*|consumer.*|partition\.timestamp.*|tag\..*|dynamic-.*)$`)

// add notes a read: of a table in dir, with the refusal why, "" for none.
func (d *support) add(t testing.TB, set, dir string, e testkit.Expected, want testkit.Rows, why string) {
	t.Helper()
	table := set + "/" + e.Table
	refused := why != ""
	if refused {
		note(d.refused, why, set+"/"+strings.TrimSuffix(e.Path, "/default.db/t"))
	}
	if e.System != "" {
		count(d.systems, e.System, table, refused)
		return
	}
	switch {
	case e.Branch != "":
		count(d.kinds, "branches", table, refused)
	case e.Ref.Kind == catalog.BySnapshot:
		count(d.kinds, "snapshots", table, refused)
	case e.Ref.Kind == catalog.ByTag:
		count(d.kinds, "tags", table, refused)
	default:
		count(d.kinds, "tables, newest state", table, refused)
	}
	f := d.tables[dir]
	if f == nil {
		f = factsOf(t, dir)
		d.tables[dir] = f
	}
	for _, x := range f.facts {
		if d.features[x[0]] == nil {
			d.features[x[0]] = map[string]*outcome{}
		}
		count(d.features[x[0]], x[1], table, refused)
	}
	if refused {
		return
	}
	for _, s := range f.schemas {
		for k, v := range s.Options {
			if !quietOptions.MatchString(k) && len(v) <= 40 {
				if strings.HasPrefix(k, "fields.") {
					parts := strings.Split(k, ".")
					k = "fields.…." + parts[len(parts)-1]
				}
				note(d.options, k, v)
			}
		}
	}
	for _, c := range want.Columns {
		for x := range f.formats {
			note(d.types, typeName(c.Type), x)
		}
	}
}

// page writes the page.
func (d *support) page() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# What is read of Paimon tables")
	p("")
	p("This page is generated: `make interop-read` reads tables that Java Paimon 0.9 to 2.0 wrote, in SQL, and compares every")
	p("row, and the columns' names and types, with what Java Paimon 2.0.0 reads. `THERMOCLINE_UPDATE=1 make interop-read` writes the page anew.")
	p("What is not read is refused by an error that names it, before any row is returned; nothing is approximated.")
	p("")
	p("| Reads | Tables | Equal to Java's | Refused |")
	p("|---|--:|--:|--:|")
	for _, k := range slices.Sorted(maps.Keys(d.kinds)) {
		p("| %s | %d | %d | %d |", k, len(d.kinds[k].tables), d.kinds[k].equal, d.kinds[k].refused)
	}
	sys := outcome{tables: map[string]bool{}}
	for _, o := range d.systems {
		maps.Copy(sys.tables, o.tables)
		sys.equal += o.equal
		sys.refused += o.refused
	}
	p("| system tables | %d | %d | %d |", len(sys.tables), sys.equal, sys.refused)
	p("")
	p("## Kinds of tables")
	p("")
	p("Reads of the newest state, snapshots, tags and branches.")
	p("")
	p("| | | Tables | Equal | Refused |")
	p("|---|---|--:|--:|--:|")
	for _, subject := range slices.Sorted(maps.Keys(d.features)) {
		for _, v := range slices.Sorted(maps.Keys(d.features[subject])) {
			o := d.features[subject][v]
			p("| %s | %s | %d | %d | %d |", subject, v, len(o.tables), o.equal, o.refused)
		}
	}
	p("")
	p("## Types of columns")
	p("")
	p("| Type | Read from |")
	p("|---|---|")
	for _, k := range slices.Sorted(maps.Keys(d.types)) {
		p("| %s | %s |", k, strings.Join(slices.Sorted(maps.Keys(d.types[k])), ", "))
	}
	p("")
	p("In SQL, ARRAY, MAP, MULTISET, ROW and VECTOR are JSON, VARIANT too, and BLOB is LONGBLOB. TIMESTAMP(7) to (9) has microseconds there: the digits beyond")
	p("are cut, and a statement that cuts any other than 0 has warning 1265. `thermocline sql --format jsonl` prints columns of tables as")
	p("they are stored, with all digits.")
	p("")
	p("ORC files have of TIMESTAMP WITH LOCAL TIME ZONE what the zone of the writer made of it, unless the table has `orc.timestamp-ltz.legacy.type` = `false`.")
	p("Where the file does not say that this zone was UTC, the column is refused. Who knows that it was says so in the statement:")
	p("`SELECT … FROM t /*+ OPTIONS('orc.timestamp-ltz.legacy.type'='false') */`.")
	p("")
	p("A column whose type was changed has the values that Java's casts give; changes between TIMESTAMP WITH LOCAL TIME ZONE and types other than integers are refused, since")
	p("they depend on the zone of who reads, and so are values that the new type does not have (`'abc'` as INT).")
	p("")
	p("## Options")
	p("")
	p("Options of the tables that are read, beside those of the writer.")
	p("")
	p("| Option | Values |")
	p("|---|---|")
	for _, k := range slices.Sorted(maps.Keys(d.options)) {
		vs := slices.Sorted(maps.Keys(d.options[k]))
		for i, v := range vs {
			vs[i] = "`" + strings.ReplaceAll(v, "|", "\\|") + "`"
		}
		p("| `%s` | %s |", k, strings.Join(vs[:min(len(vs), 12)], ", ")+map[bool]string{true: ", …"}[len(vs) > 12])
	}
	p("")
	p("## System tables")
	p("")
	p("| Table | Equal | Refused |")
	p("|---|--:|--:|")
	for _, k := range slices.Sorted(maps.Keys(d.systems)) {
		p("| `$%s` | %d | %d |", k, d.systems[k].equal, d.systems[k].refused)
	}
	p("")
	p("## Refused by name")
	p("")
	if len(d.refused) > 0 {
		p("Of the tables above:")
		p("")
		p("| This version does not support | Reads |")
		p("|---|---|")
		for _, k := range slices.Sorted(maps.Keys(d.refused)) {
			in := slices.Sorted(maps.Keys(d.refused[k]))
			p("| %s | %s |", strings.ReplaceAll(k, "|", "\\|"), strings.Join(in[:min(len(in), 6)], ", ")+map[bool]string{true: ", …"}[len(in) > 6])
		}
		p("")
	}
	p("And where the tables above have no example:")
	p("")
	for _, k := range d.named {
		p("* %s", k)
	}
	return b.String()
}
