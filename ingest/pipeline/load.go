package pipeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan/expr"
)

// LoadOptions say how a file is read.
type LoadOptions struct {
	// File is the name for messages.
	File string
	// RequireName refuses a file without pipeline.name.
	RequireName bool
	// Env looks up ${ENV:NAME}; nil is os.LookupEnv.
	Env func(string) (string, bool)
}

// Load reads a pipeline file. Errors are of class User or Unsupported, one
// line, with file, line and column.
func Load(text []byte, o LoadOptions) (*Definition, error) {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	l := &loader{o: o, def: &Definition{Text: string(text), File: o.File}}
	if err := l.document(text); err != nil {
		return nil, err
	}
	return l.def, nil
}

type loader struct {
	o     LoadOptions
	def   *Definition
	batch *yaml.Node // execution.runtime-mode: BATCH
}

// at says where a node stands.
func (l *loader) at(n *yaml.Node) string {
	where := fmt.Sprintf("line %d, column %d", n.Line, n.Column)
	if l.o.File != "" {
		where = l.o.File + ": " + where
	}
	return where
}

func (l *loader) bad(n *yaml.Node, format string, args ...any) error {
	return errs.Userf(errs.InvalidConfig, "%s: "+format, append([]any{l.at(n)}, args...)...)
}

func (l *loader) unsupported(n *yaml.Node, format string, args ...any) error {
	return errs.Unsupportedf(-1, format+" (%s)", append(args, l.at(n))...)
}

func (l *loader) warn(format string, args ...any) {
	l.def.Warnings = append(l.def.Warnings, fmt.Sprintf(format, args...))
}

// entry is one key of a block.
type entry struct {
	key         string
	node, node2 *yaml.Node // key and value
}

// entries returns the keys of a mapping, each once.
func (l *loader) entries(n *yaml.Node, what string) ([]entry, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil, l.bad(n, "%s must be a block of keys", what)
	}
	var out []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return nil, l.bad(k, "a key of %s must be plain text", what)
		}
		if slices.ContainsFunc(out, func(e entry) bool { return e.key == k.Value }) {
			return nil, l.bad(k, "the key %s of %s is given twice", k.Value, what)
		}
		out = append(out, entry{k.Value, k, v})
	}
	return out, nil
}

// unknown refuses a key.
func (l *loader) unknown(e entry, what string, known []string) error {
	return l.bad(e.node, "the key %s of %s is unknown; %s", e.key, what, source.Nearest(e.key, known))
}

// scalar returns a value as text, secrets resolved.
func (l *loader) scalar(e entry) (string, error) {
	n := e.node2
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", l.bad(n, "%s must be one value, not a list or block", e.key)
	}
	if n.Tag == "!!null" {
		return "", l.bad(e.node, "%s has no value", e.key)
	}
	return l.resolve(n, n.Value)
}

// resolve replaces ${ENV:NAME} and ${FILE:/path}. Messages never show a value.
func (l *loader) resolve(n *yaml.Node, s string) (string, error) {
	var sb strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			sb.WriteString(s)
			return sb.String(), nil
		}
		j := strings.IndexByte(s[i:], '}')
		kind, name, ok := strings.Cut(s[i+2:max(i+2, i+j)], ":")
		if j < 0 || !ok || kind != "ENV" && kind != "FILE" {
			sb.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		var v string
		if kind == "ENV" {
			if v, ok = l.o.Env(name); !ok {
				return "", l.bad(n, "the environment variable %s is not set", name)
			}
		} else {
			b, err := readSecret(name)
			if err != nil {
				return "", l.bad(n, "the file %s cannot be read: %v", name, errors.Unwrap(err))
			}
			v = b
		}
		sb.WriteString(s[:i])
		sb.WriteString(v)
		s = s[i+j+1:]
	}
}

// readSecret reads a small file of the operator, without its last line end.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

var topKeys = []string{"source", "sink", "route", "transform", "pipeline"}

func (l *loader) document(text []byte) error {
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return errs.Userf(errs.InvalidConfig, "read the pipeline %s: it is empty", l.o.File)
		}
		return errs.Userf(errs.InvalidConfig, "read the pipeline %s: it is no YAML: %s", l.o.File, strings.TrimPrefix(oneLine(err.Error()), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return errs.Userf(errs.InvalidConfig, "read the pipeline %s: it has several documents; write one pipeline a file", l.o.File)
	}
	if len(doc.Content) == 0 {
		return errs.Userf(errs.InvalidConfig, "read the pipeline %s: it is empty", l.o.File)
	}
	root := doc.Content[0]
	blocks, err := l.entries(root, "the pipeline")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	l.def.Settings = Settings{Parallelism: 1, CommitInterval: time.Second, SchemaChange: "LENIENT", VerifyRows: 50_000}
	for _, b := range blocks {
		seen[b.key] = true
		switch b.key {
		case "source":
			err = l.source(b)
		case "sink":
			err = l.sink(b)
		case "route":
			err = l.routes(b)
		case "pipeline":
			err = l.settings(b)
		case "transform":
			err = l.transforms(b)
		default:
			err = l.unknown(b, "the pipeline", topKeys)
		}
		if err != nil {
			return err
		}
	}
	for _, need := range []string{"source", "sink"} {
		if !seen[need] {
			return l.bad(root, "the block %s is missing", need)
		}
	}
	if l.batch != nil && l.def.Source.Startup != SnapshotOnly {
		return l.bad(l.batch, "execution.runtime-mode is BATCH, which needs scan.startup.mode: snapshot in the source block")
	}
	if l.o.RequireName && l.def.Name == "" {
		return l.bad(root, "pipeline.name is missing; a server knows its pipelines by name: add pipeline: name: …")
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (l *loader) source(b entry) error {
	es, err := l.entries(b.node2, "the source block")
	if err != nil {
		return err
	}
	s := &l.def.Source
	copyNew := false
	s.Line, s.Startup = b.node.Line, Initial
	for _, e := range es {
		v, err := l.scalar(e)
		if err != nil {
			return err
		}
		switch e.key {
		case "type":
			s.Type = v
		case "name":
			s.Name = v
		case "tables":
			s.Tables = v
		case "tables.exclude":
			s.Exclude = v
		case "metadata.list":
			for _, m := range strings.Split(v, ",") {
				if m = strings.TrimSpace(m); m == "" {
					continue
				}
				if m != "op_ts" {
					return l.bad(e.node2, "metadata.list: %s is no metadata column of this source; write op_ts", m)
				}
				s.Metadata = []string{"op_ts"}
			}
		case "scan.startup.mode":
			switch m := Startup(strings.ToLower(v)); m {
			case Initial, SnapshotOnly, LatestOffset, EarliestOffset, SpecificOffset, Timestamp:
				s.Startup = m
			case "committed-offset":
				return l.unsupported(e.node2, "scan.startup.mode: %s", v)
			default:
				return l.bad(e.node2, "scan.startup.mode is %s; write initial, snapshot, latest-offset, earliest-offset, specific-offset or timestamp", v)
			}
		default:
			switch on := strings.EqualFold(v, "true"); {
			case e.key == "scan.newly-added-table.enabled" && on:
				copyNew = true
			case e.key == "scan.newly-added-table.enabled" && s.NewTables == CopyNew:
				s.NewTables = LeaveNew
			case e.key == "scan.binlog.newly-added-table.enabled" && on:
				s.NewTables = FollowNew
			}
			s.Options = append(s.Options, source.Option{Key: e.key, Value: v, Line: e.node.Line, Col: e.node.Column})
		}
	}
	if copyNew && s.NewTables == FollowNew {
		return l.bad(b.node, "scan.newly-added-table.enabled copies new tables and scan.binlog.newly-added-table.enabled does not; write one of the two")
	}
	switch {
	case s.Type == "":
		return l.bad(b.node, "the source block has no type")
	case s.Tables == "" && s.Type != "generator":
		return l.bad(b.node, `the source block has no tables; write tables: database.table, or database.\.* for all of a database`)
	}
	return nil
}

var (
	paimonKeys = []string{"type", "name", "catalog.properties.metastore", "catalog.properties.warehouse", "table.properties.bucket", "commit.user-prefix", "commit.user",
		"partition.key", "include.schema.changes", "exclude.schema.changes", "allow-destructive"}
	valuesKeys = []string{"type", "name", "materialized.in.memory", "print.enabled", "sink.api", "error.on.schema.change", "include.schema.changes", "exclude.schema.changes", "allow-destructive"}
	otherSinks = []string{"iceberg", "kafka", "doris", "starrocks", "elasticsearch", "maxcompute", "oceanbase", "fluss", "hudi"}
	// changeTags are the names of include.schema.changes and exclude.schema.changes.
	changeTags = []string{"all", "table", "column", "add", "alter", "create", "drop", "rename", "create.table", "add.column", "alter.column.type", "rename.column",
		"drop.column", "truncate.table", "drop.table", "alter.table.comment"}
)

func (l *loader) sink(b entry) error {
	es, err := l.entries(b.node2, "the sink block")
	if err != nil {
		return err
	}
	s := &l.def.Sink
	*s = Sink{Line: b.node.Line, Catalog: map[string]string{}, Table: map[string]string{}, Print: true, UserPrefix: ""}
	for _, e := range es {
		if e.key == "type" {
			if s.Type, err = l.scalar(e); err != nil {
				return err
			}
			if slices.Contains(otherSinks, s.Type) {
				return l.unsupported(e.node2, "the sink type %s", s.Type)
			}
			if s.Type != "paimon" && s.Type != "values" {
				return l.bad(e.node2, "the sink type %s is unknown; write paimon or values", s.Type)
			}
		}
	}
	if s.Type == "" {
		return l.bad(b.node, "the sink block has no type")
	}
	for _, e := range es {
		switch e.key {
		case "include.schema.changes", "exclude.schema.changes", "allow-destructive":
			list, err := l.changeList(e)
			if err != nil {
				return err
			}
			switch e.key[0] {
			case 'i':
				s.Include = list
			case 'e':
				s.Exclude = list
			default:
				s.Destructive = list
			}
			continue
		}
		v, err := l.scalar(e)
		if err != nil {
			return err
		}
		if err := l.sinkKey(e, v); err != nil {
			return err
		}
	}
	if s.Type == "paimon" {
		switch m := s.Catalog["metastore"]; m {
		case "", "filesystem":
		case "jdbc":
			if s.Catalog["uri"] == "" {
				return l.bad(b.node, "catalog.properties.uri is missing; metastore: jdbc needs one such as jdbc:mysql://HOST:PORT/DATABASE")
			}
		default:
			return l.unsupported(b.node, "catalog.properties.metastore: %s (filesystem and jdbc are)", m)
		}
		if s.Catalog["lock.flavor"] != "" {
			l.warn("catalog.properties.lock.flavor is no option of Paimon and has no effect; a jdbc catalog takes its own lock")
		}
	}
	return nil
}

func (l *loader) sinkKey(e entry, v string) (err error) {
	s := &l.def.Sink
	switch e.key {
	case "type":
		return nil
	case "name":
		s.Name = v
		return nil
	}
	if s.Type == "values" {
		switch e.key {
		case "print.enabled":
			s.Print, err = l.boolean(e, v)
		case "materialized.in.memory", "error.on.schema.change":
			on, e2 := l.boolean(e, v)
			if e2 == nil && on {
				e2 = l.unsupported(e.node, "%s of a values sink", e.key)
			}
			err = e2
		case "sink.api":
			l.warn("sink.api has no effect here")
		default:
			err = l.unknown(e, "a values sink", valuesKeys)
		}
		return err
	}
	if k, ok := strings.CutPrefix(e.key, "catalog.properties."); ok && k != "" {
		s.Catalog[k] = v
		return nil
	}
	if k, ok := strings.CutPrefix(e.key, "table.properties."); ok && k != "" {
		if strings.HasPrefix(k, "mysql.type.") {
			return l.bad(e.node, "%s is set by the pipeline itself", e.key)
		}
		s.Table[k] = v
		return nil
	}
	switch e.key {
	case "commit.user-prefix", "commit.user":
		s.UserPrefix = v
	case "partition.key":
		for _, p := range strings.Split(v, ";") {
			if strings.TrimSpace(p) == "" {
				continue
			}
			table, cols, ok := strings.Cut(p, ":")
			part := Partition{Table: strings.TrimSpace(table)}
			for _, c := range strings.Split(cols, ",") {
				if c = strings.TrimSpace(c); c != "" {
					part.Columns = append(part.Columns, c)
				}
			}
			if !ok || part.Table == "" || len(part.Columns) == 0 {
				return l.bad(e.node2, "partition.key: %q is no entry; write database.table:column,column;…", p)
			}
			s.Partitions = append(s.Partitions, part)
		}
	default:
		return l.unknown(e, "a paimon sink", paimonKeys)
	}
	return nil
}

func (l *loader) boolean(e entry, v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, l.bad(e.node2, "%s is %q; write true or false", e.key, v)
}

// changeList reads a list of kinds of schema changes.
func (l *loader) changeList(e entry) (out []string, _ error) {
	var list []*yaml.Node
	switch e.node2.Kind {
	case yaml.SequenceNode:
		list = e.node2.Content
	case yaml.ScalarNode:
		list = []*yaml.Node{e.node2}
	default:
		return nil, l.bad(e.node2, "%s must be a list", e.key)
	}
	for _, n := range list {
		if n.Kind != yaml.ScalarNode || !slices.Contains(changeTags, strings.ToLower(n.Value)) {
			return nil, l.bad(n, "%s: %s is no kind of schema change; %s", e.key, n.Value, source.Nearest(n.Value, changeTags))
		}
		x := strings.ToLower(n.Value)
		if e.key == "allow-destructive" && x != "truncate.table" {
			return nil, l.bad(n, "allow-destructive: %s is not a kind that empties lake tables; only truncate.table is (a lake table is never dropped)", n.Value)
		}
		out = append(out, x)
	}
	return out, nil
}

func (l *loader) routes(b entry) error {
	if b.node2.Kind != yaml.SequenceNode {
		return l.bad(b.node2, "route must be a list of rules; begin each with a dash")
	}
	known := []string{"source-table", "sink-table", "replace-symbol", "shard-key", "description"}
	for _, n := range b.node2.Content {
		es, err := l.entries(n, "a route rule")
		if err != nil {
			return err
		}
		r := Route{Line: n.Line}
		for _, e := range es {
			if !slices.Contains(known, e.key) {
				return l.unknown(e, "a route rule", known)
			}
			v, err := l.scalar(e)
			if err != nil {
				return err
			}
			switch e.key {
			case "source-table":
				r.SourceTable = v
			case "sink-table":
				r.SinkTable = v
			case "replace-symbol":
				r.ReplaceSymbol = v
			case "shard-key":
				switch strings.ToLower(v) {
				case "true":
					r.ShardKey = "shard"
				case "false":
				default:
					r.ShardKey = v
				}
			case "description":
				r.Description = v
			}
		}
		if r.SourceTable == "" || r.SinkTable == "" {
			return l.bad(n, "a route rule needs source-table and sink-table")
		}
		l.def.Routes = append(l.def.Routes, r)
	}
	return nil
}

var settingKeys = []string{"name", "parallelism", "schema.change.behavior", "schema-operator.rpc-timeout", "schema.operator.rpc-timeout", "schema.operator.uid",
	"operator.uid.prefix", "local-time-zone", "execution.runtime-mode", "route-mode", "user-defined-function", "model", "commit.interval", "commit.max-bytes", "on-drop-partition", "on-log-lost",
	"verify.interval", "verify.rows-per-second", "verify.repair"}

func (l *loader) settings(b entry) error {
	es, err := l.entries(b.node2, "the pipeline block")
	if err != nil {
		return err
	}
	s := &l.def.Settings
	for _, e := range es {
		key := strings.TrimPrefix(e.key, "pipeline.")
		switch key {
		case "user-defined-function", "model":
			return l.unsupported(e.node, "%s of a pipeline", key)
		}
		if !slices.Contains(settingKeys, key) {
			return l.unknown(e, "the pipeline block", settingKeys)
		}
		v, err := l.scalar(e)
		if err != nil {
			return err
		}
		switch key {
		case "name":
			if l.def.Name = strings.TrimSpace(v); l.def.Name == "" || len(v) > 200 {
				return l.bad(e.node2, "name must have 1 to 200 characters")
			}
		case "parallelism":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				return l.bad(e.node2, "parallelism is %q; write a number from 1", v)
			}
			s.Parallelism = n
		case "schema.change.behavior":
			s.SchemaChange = strings.ToUpper(v)
			switch s.SchemaChange {
			case "EXCEPTION", "EVOLVE", "TRY_EVOLVE", "LENIENT", "IGNORE", "STRICT_EVOLVE":
			default:
				return l.bad(e.node2, "schema.change.behavior is %s; write EXCEPTION, EVOLVE, TRY_EVOLVE, LENIENT, IGNORE or STRICT_EVOLVE", v)
			}
		case "schema-operator.rpc-timeout", "schema.operator.rpc-timeout":
			if _, err := source.ParseDuration(v); err != nil {
				return l.bad(e.node2, "%s is %q; write a number and a unit, such as 3 min", key, v)
			}
		case "local-time-zone":
			if !strings.EqualFold(v, "systemDefault") {
				z, err := expr.ParseTimeZone(v)
				if err != nil {
					return l.bad(e.node2, "local-time-zone: %s is no time zone; write a name such as Asia/Shanghai, or +08:00", v)
				}
				s.Zone = z
			}
		case "execution.runtime-mode":
			switch strings.ToUpper(v) {
			case "STREAMING":
			case "BATCH":
				l.batch = e.node2
			default:
				return l.bad(e.node2, "execution.runtime-mode is %s; write STREAMING or BATCH", v)
			}
		case "route-mode":
			switch strings.ToUpper(v) {
			case "ALL_MATCH":
			case "FIRST_MATCH":
				s.FirstMatch = true
			default:
				return l.bad(e.node2, "route-mode is %s; write ALL_MATCH or FIRST_MATCH", v)
			}
		case "commit.interval":
			d, err := source.ParseDuration(v)
			if err != nil || d < 10*time.Millisecond || d > 24*time.Hour {
				return l.bad(e.node2, "commit.interval is %q; write a duration from 10 ms to 24 h, such as 1s", v)
			}
			s.CommitInterval = d
		case "verify.interval":
			d, err := source.ParseDuration(v)
			if err != nil || d < time.Second {
				return l.bad(e.node2, "verify.interval is %q; write a duration from 1s, such as 24 h", v)
			}
			s.VerifyInterval = d
		case "verify.rows-per-second":
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 1 {
				return l.bad(e.node2, "verify.rows-per-second is %q; write a number from 1", v)
			}
			s.VerifyRows = n
		case "verify.repair":
			if s.VerifyRepair, err = l.boolean(e, v); err != nil {
				return err
			}
		case "on-log-lost":
			switch strings.ToLower(v) {
			case "stop":
			case "heal":
				s.Heal = true
			default:
				return l.bad(e.node2, "on-log-lost is %s; write stop, or heal (tables are compared with the source and repaired)", v)
			}
		case "on-drop-partition":
			switch s.DropPartition = strings.ToLower(v); s.DropPartition {
			case "stop", "ignore", "mirror":
			default:
				return l.bad(e.node2, "on-drop-partition is %s; write stop, ignore (the rows stay in the lake) or mirror (the table is copied again)", v)
			}
		case "commit.max-bytes":
			n, err := memory.ParseSize(v)
			if err != nil || n < 1 {
				return l.bad(e.node2, "commit.max-bytes is %q; write a size such as 256MiB", v)
			}
			s.CommitBytes = n
		}
	}
	return nil
}
