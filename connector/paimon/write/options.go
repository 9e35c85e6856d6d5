package write

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// options are a table's options that writers follow.
type options struct {
	keyed   bool // has a primary key
	buckets int32

	format      string
	compression string
	level       int // of the codec
	extension   string
	target      int64
	buffer      int64
	thin        bool
	stats       []statsMode // a column of the schema
	statsLevels map[int32]statsMode
	dense       bool

	ignoreDelete       bool
	ignoreUpdateBefore bool

	compacts     bool // keyed tables that we maintain, or that ask for it
	forceCompact bool
	trigger      int
	stop         int
	levels       int32
	sizeRatio    int64
	maxAmp       int64
	smallRatio   float64
}

// Check reports whether tables of this schema can be written, and names what
// this version cannot do.
func Check(s *catalog.Schema) error {
	_, err := readOptions(s)
	return err
}

func readOptions(s *catalog.Schema) (*options, error) {
	o := spec.NewOptions(s.Options)
	keyed := len(s.PrimaryKeys) > 0
	out := &options{
		keyed:              keyed,
		buckets:            int32(o.Int("bucket", -1)),
		format:             strings.ToLower(o.String("file.format", "parquet")),
		compression:        strings.ToLower(o.String("file.compression", "zstd")),
		level:              int(o.Int("file.compression.zstd-level", 1)),
		target:             o.Size("target-file-size", 256<<20),
		buffer:             o.Size("write-buffer-size", 256<<20),
		thin:               o.Bool("data-file.thin-mode", false),
		dense:              o.Bool("metadata.stats-dense-store", true),
		ignoreDelete:       o.Bool("ignore-delete", o.Bool("deduplicate.ignore-delete", false)),
		ignoreUpdateBefore: o.Bool("ignore-update-before", false),
		forceCompact:       o.Bool("commit.force-compact", false),
		trigger:            int(max(o.Int("num-sorted-run.compaction-trigger", 5), 1)),
		sizeRatio:          o.Int("compaction.size-ratio", 1),
		maxAmp:             o.Int("compaction.max-size-amplification-percent", 200),
		smallRatio:         0.7,
	}
	if keyed && !o.Has("target-file-size") {
		out.target = 128 << 20
	}
	if out.compression != "zstd" && out.compression != "" {
		out.level = 0
	}
	// Tables of others are not compacted unless they ask for it (DESIGN D13).
	out.compacts = keyed && !o.Bool("write-only", false) && (o.Bool("thermocline.maintenance", false) || out.forceCompact)
	out.stop = int(o.Int("num-sorted-run.stop-trigger", int64(out.trigger)+3))
	out.levels = int32(min(max(o.Int("num-levels", int64(out.trigger)+1), 2), 1000))
	if v := o.String("compaction.small-file-ratio", ""); v != "" {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || f < 0 || f > 1 {
			return nil, errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not a number from 0 to 1", "compaction.small-file-ratio", v)
		}
		out.smallRatio = f
	}
	out.extension = out.format
	if o.Bool("file.suffix.include.compression", false) {
		out.extension = out.compression + "." + out.format
	}
	if o.Err != nil {
		return nil, o.Err
	}
	if err := refuse(s, o, out); err != nil {
		return nil, err
	}
	return out, readStatsModes(s, o, out)
}

// refuse names what a table uses and this version cannot write.
func refuse(s *catalog.Schema, o *spec.Options, out *options) error {
	unsupported := func(format string, args ...any) error {
		return errs.Unsupportedf(-1, "writing "+format, args...)
	}
	if t := strings.ToLower(o.String("type", "table")); t != "table" {
		return unsupported("tables of type %s", t)
	}
	switch {
	case out.keyed && out.buckets == -1:
		return unsupported("primary-key tables with dynamic buckets (table option 'bucket' = '-1', the default): give the table a fixed number of buckets")
	case out.keyed && out.buckets == spec.PostponeBucket:
		return unsupported("tables with postponed buckets ('bucket' = '-2')")
	case out.buckets == 0 || out.buckets < -1:
		return errs.Userf(errs.InvalidTable, "write a table with 'bucket' = '%d': it must be -1 or at least 1", out.buckets)
	}
	// Off by default; on, they ask for more than this version does.
	for _, key := range []string{"deletion-vectors.enabled", "row-tracking.enabled", "data-evolution.enabled", "sequence.snapshot-ordering",
		"pk-clustering-override", "primary-key.nullable", "force-lookup"} {
		if o.Bool(key, false) {
			return unsupported("tables with %s", key)
		}
	}
	for key, def := range map[string]string{"merge-engine": "deduplicate", "changelog-producer": "none", "bucket-function.type": "default",
		"metadata.iceberg.storage": "disabled", "tag.automatic-creation": "none", "manifest.format": "avro"} {
		if v := strings.ToLower(o.String(key, def)); v != def {
			return unsupported("tables with %s = %s", key, v)
		}
	}
	for _, key := range []string{"sequence.field", "rowkind.field", "record-level.expire-time", "data-file.external-paths",
		"file.format.per.level", "file.compression.per.level"} {
		if o.Has(key) {
			return unsupported("tables with the option %s", key)
		}
	}
	for key := range s.Options {
		if strings.HasPrefix(key, "file-index.") && strings.HasSuffix(key, ".columns") {
			return unsupported("tables with file indexes (%s)", key)
		}
	}
	for _, f := range s.Fields {
		if f.Type.Kind == catalog.Blob {
			return unsupported("columns of type BLOB (column %s)", f.Name)
		}
	}
	if !out.keyed && out.buckets > 0 && len(bucketKey(s, o)) == 0 {
		return errs.Userf(errs.InvalidTable, "write an append table with 'bucket' = '%d': it needs a 'bucket-key'", out.buckets)
	}
	for _, k := range bucketKey(s, o) {
		if s.Column(k) < 0 {
			return errs.Userf(errs.InvalidTable, "write a table: its bucket key has the column %q, which does not exist", k)
		}
	}
	if out.keyed && len(s.TrimmedPrimaryKeys()) == 0 {
		return errs.Userf(errs.InvalidTable, "write a table: its primary key has only partition columns")
	}
	return nil
}

// bucketKey returns the columns that choose the bucket.
func bucketKey(s *catalog.Schema, o *spec.Options) []string {
	if v := o.String("bucket-key", ""); v != "" {
		keys := strings.Split(v, ",")
		for i := range keys {
			keys[i] = strings.TrimSpace(keys[i])
		}
		return keys
	}
	return s.TrimmedPrimaryKeys()
}

// statsMode says what statistics of a column are kept.
type statsMode struct {
	none, counts bool
	truncate     int // 0: full
}

func parseStatsMode(text string) (statsMode, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	switch t {
	case "none":
		return statsMode{none: true}, nil
	case "counts":
		return statsMode{counts: true}, nil
	case "full":
		return statsMode{}, nil
	}
	if r, ok := strings.CutPrefix(t, "truncate("); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(r, ")")); err == nil && n > 0 {
			return statsMode{truncate: n}, nil
		}
	}
	return statsMode{}, errs.Userf(errs.InvalidConfig, "read the statistics mode %q: it must be none, counts, truncate(n) or full", text)
}

// keyStats is the mode of key columns.
var keyStats = statsMode{truncate: 128}

func readStatsModes(s *catalog.Schema, o *spec.Options, out *options) error {
	def, err := parseStatsMode(o.String("metadata.stats-mode", "truncate(16)"))
	if err != nil {
		return err
	}
	first := o.Int("metadata.stats-keep-first-n-columns", -1)
	keys := s.TrimmedPrimaryKeys()
	out.stats = make([]statsMode, len(s.Fields))
	for i, f := range s.Fields {
		out.stats[i] = def
		if first >= 0 && int64(i) >= first {
			out.stats[i] = statsMode{none: true}
		}
		if out.thin && contains(keys, f.Name) {
			out.stats[i] = keyStats // the only statistics of the key
		}
		if v := o.String("fields."+f.Name+".stats-mode", ""); v != "" {
			if out.stats[i], err = parseStatsMode(v); err != nil {
				return err
			}
		}
	}
	if v := o.String("metadata.stats-mode.per.level", ""); v != "" {
		out.statsLevels = map[int32]statsMode{}
		for _, part := range strings.Split(v, ",") {
			lv, mode, ok := strings.Cut(part, ":")
			n, err := strconv.Atoi(strings.TrimSpace(lv))
			if !ok || err != nil {
				return errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not level:mode", "metadata.stats-mode.per.level", part)
			}
			if out.statsLevels[int32(n)], err = parseStatsMode(mode); err != nil {
				return fmt.Errorf("level %d: %w", n, err)
			}
		}
	}
	return o.Err
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
