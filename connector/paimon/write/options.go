package write

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// options are a table's options that writers follow.
type options struct {
	keyed   bool // has a primary key
	buckets int32
	mode    bucketMode

	format            string
	compression       string
	zlevel            int  // of the codec
	suffixed          bool // file names have the compression
	formatLevels      map[int32]string
	compressionLevels map[int32]string
	target            int64
	targetRows        int64 // 0: no limit
	buffer            int64
	bufferAppend      bool // append tables keep rows until the commit
	spillable         bool
	spillDisk         int64 // bytes that a writer may spill, 0: no limit
	spillRuns         int   // of a bucket
	spillCodec        spillCodec
	sortSpill         int // runs that a compaction reads from their files at once
	thin              bool
	stats             []statsMode // a column of the schema
	statsLevels       map[int32]statsMode
	dense             bool

	producer             producer
	changelogFormat      string
	changelogCompression string
	changelogStats       *statsMode
	rowDeduplicate       bool
	rowDeduplicateIgnore []string

	firstRow    bool // merge-engine
	vectors     bool // deletion-vectors.enabled
	bitmap64    bool
	indexTarget int64 // of files of deletion vectors
	tracking    bool  // row-tracking.enabled
	needsLookup bool  // what is on level 0 waits for compaction

	indexes        []indexSpec
	indexThreshold int64 // bytes up to which they lie in manifests

	ignoreDelete       bool
	ignoreUpdateBefore bool
	kindField          int // the column that has the row kind, -1

	dynamicRows    int64
	dynamicInitial int
	dynamicMax     int

	compacts     bool // tables that we maintain, or that ask for it
	waits        bool // the commit of rows waits for their compaction
	forceCompact bool
	trigger      int
	stop         int
	levels       int32
	sizeRatio    int64
	maxAmp       int64
	smallRatio   float64
	forceUp      bool // level 0 is emptied whenever nothing else is to be done
	deltaCommits int64
	interval     time.Duration // full compactions, 0: never for its age
	totalSize    int64         // full compaction below, 0: never
	increment    int64         // full compaction above, 0: never
	minFiles     int
	deleteRatio  float64
}

// bucketMode is how rows get their buckets.
type bucketMode uint8

const (
	fixedBuckets   bucketMode = iota // by a hash of the bucket key
	unawareBuckets                   // append tables without buckets
	dynamicBuckets                   // by HASH index files, keys hold the partition
	crossBuckets                     // by an index of all keys: a key may change its partition
	postponeBucket                   // later, by compaction
)

// producer is a changelog producer.
type producer uint8

const (
	producerNone producer = iota
	producerInput
	producerLookup
	producerFull
)

var producers = map[string]producer{"none": producerNone, "input": producerInput, "lookup": producerLookup, "full-compaction": producerFull}

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
		zlevel:             int(o.Int("file.compression.zstd-level", 1)),
		suffixed:           o.Bool("file.suffix.include.compression", false),
		target:             o.Size("target-file-size", 256<<20),
		targetRows:         o.Int("target-file-row-num", 0),
		buffer:             o.Size("write-buffer-size", 256<<20),
		spillable:          o.Bool("write-buffer-spillable", true),
		spillDisk:          o.Size("write-buffer-spill.max-disk-size", 0),
		spillRuns:          int(max(o.Int("local-sort.max-num-file-handles", 128), 2)),
		bufferAppend:       o.Bool("write-buffer-for-append", false),
		sortSpill:          int(max(o.Int("sort-spill-threshold", 1<<30), 0)),
		thin:               o.Bool("data-file.thin-mode", false),
		dense:              o.Bool("metadata.stats-dense-store", true),
		firstRow:           keyed && strings.EqualFold(o.String("merge-engine", ""), "first-row"),
		vectors:            o.Bool("deletion-vectors.enabled", false),
		bitmap64:           o.Bool("deletion-vectors.bitmap64", false),
		indexTarget:        o.Size("deletion-vector.index-file.target-size", 2<<20),
		tracking:           !keyed && o.Bool("row-tracking.enabled", false),
		rowDeduplicate:     o.Bool("changelog-producer.row-deduplicate", false),
		ignoreUpdateBefore: o.Bool("ignore-update-before", false),
		kindField:          -1,
		dynamicRows:        max(o.Int("dynamic-bucket.target-row-num", 2_000_000), 1),
		dynamicInitial:     int(max(o.Int("dynamic-bucket.initial-buckets", 1), 1)),
		dynamicMax:         int(o.Int("dynamic-bucket.max-buckets", -1)),
		forceCompact:       o.Bool("commit.force-compact", false),
		trigger:            int(max(o.Int("num-sorted-run.compaction-trigger", 5), 1)),
		sizeRatio:          o.Int("compaction.size-ratio", 1),
		maxAmp:             o.Int("compaction.max-size-amplification-percent", 200),
		deltaCommits:       o.Int("full-compaction.delta-commits", 0),
		interval:           o.Duration("compaction.optimization-interval", 0),
		totalSize:          o.Size("compaction.total-size-threshold", 0),
		increment:          o.Size("compaction.incremental-size-threshold", 0),
		minFiles:           int(max(o.Int("compaction.min.file-num", 5), 2)),
	}
	for _, k := range []string{"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"} {
		out.ignoreDelete = out.ignoreDelete || o.Bool(k, false)
	}
	if keyed && !o.Has("target-file-size") {
		out.target = 128 << 20
	}
	var ok bool
	if name := strings.ToLower(o.String("changelog-producer", "none")); keyed {
		if out.producer, ok = producers[name]; !ok {
			return nil, errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not none, input, lookup or full-compaction", "changelog-producer", name)
		}
	}
	out.changelogFormat = strings.ToLower(o.String("changelog-file.format", out.format))
	out.changelogCompression = strings.ToLower(o.String("changelog-file.compression", out.compression))
	if v := o.String("changelog-file.stats-mode", ""); v != "" {
		m, err := parseStatsMode(v)
		if err != nil {
			return nil, err
		}
		out.changelogStats = &m
	}
	for _, n := range strings.Split(o.String("changelog-producer.row-deduplicate-ignore-fields", ""), ",") {
		if n = strings.TrimSpace(n); n != "" {
			out.rowDeduplicateIgnore = append(out.rowDeduplicateIgnore, n)
		}
	}
	out.needsLookup = keyed && (out.vectors || out.firstRow || out.producer == producerLookup || o.Bool("force-lookup", false))
	out.forceUp = out.needsLookup || keyed && o.Bool("compaction.force-up-level-0", false)
	writeOnly := o.Bool("write-only", false) || o.Bool(connector.CopyingOption, false)
	// Tables of others are not compacted unless they ask for it (DESIGN D13), or
	// their rows would stay invisible, or their changes unknown.
	out.compacts = !writeOnly && (o.Bool("thermocline.maintenance", false) || out.forceCompact || out.needsLookup || out.producer == producerFull)
	out.waits = out.compacts && (out.forceCompact || out.needsLookup && o.Bool("lookup-wait", true) || out.deltaCommits > 0)
	out.stop = int(o.Int("num-sorted-run.stop-trigger", int64(out.trigger)+3))
	out.levels = int32(min(max(o.Int("num-levels", int64(out.trigger)+1), 2), 1000))
	var err error
	if out.spillCodec, err = readSpillCodec(strings.ToLower(o.String("spill-compression", "zstd")), int(o.Int("spill-compression.zstd-level", 1))); err != nil {
		return nil, err
	}
	if out.smallRatio, err = ratio(o, "compaction.small-file-ratio", 0.7); err == nil {
		out.deleteRatio, err = ratio(o, "compaction.delete-ratio-threshold", 0.2)
	}
	if err == nil {
		out.formatLevels, err = levelMap(o, "file.format.per.level")
	}
	if err == nil {
		out.compressionLevels, err = levelMap(o, "file.compression.per.level")
	}
	if err != nil {
		return nil, err
	}
	if f := o.String("rowkind.field", ""); f != "" && keyed {
		out.kindField = s.Column(f)
		if out.kindField < 0 || s.Fields[out.kindField].Type.Kind != catalog.Varchar && s.Fields[out.kindField].Type.Kind != catalog.Char {
			return nil, errs.Userf(errs.InvalidTable, "write a table: 'rowkind.field' names %q, which is no column of characters", f)
		}
	}
	if o.Err != nil {
		return nil, o.Err
	}
	if out.mode, err = readBucketMode(s, out); err != nil {
		return nil, err
	}
	if err := refuse(s, o, out); err != nil {
		return nil, err
	}
	if out.indexes, out.indexThreshold, err = readIndexes(s, o); err != nil {
		return nil, err
	}
	return out, readStatsModes(s, o, out)
}

// readBucketMode returns how rows of a table get their buckets.
func readBucketMode(s *catalog.Schema, o *options) (bucketMode, error) {
	switch {
	case o.buckets > 0:
		return fixedBuckets, nil
	case o.buckets == -1 && !o.keyed:
		return unawareBuckets, nil
	case o.buckets == -1:
		for _, p := range s.PartitionKeys {
			if !contains(s.PrimaryKeys, p) {
				return crossBuckets, nil
			}
		}
		return dynamicBuckets, nil
	case o.buckets == spec.PostponeBucket && o.keyed:
		return postponeBucket, nil
	}
	return 0, errs.Userf(errs.InvalidTable, "write a table with 'bucket' = '%d': it must be at least 1, -1, or with a primary key -2", o.buckets)
}

func ratio(o *spec.Options, key string, def float64) (float64, error) {
	v := o.String(key, "")
	if v == "" {
		return def, nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < 0 || f > 1 {
		return 0, errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not a number from 0 to 1", key, v)
	}
	return f, nil
}

// levelsNamed returns the levels whose files are written in their own way.
func (o *options) levelsNamed() []int32 {
	var out []int32
	for n := range o.formatLevels {
		out = append(out, n)
	}
	for n := range o.compressionLevels {
		if _, ok := o.formatLevels[n]; !ok {
			out = append(out, n)
		}
	}
	return out
}

func parseLevel(s string) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
	return int32(n), err
}

// refuse names what a table uses and this version cannot write.
func refuse(s *catalog.Schema, o *spec.Options, out *options) error {
	unsupported := func(format string, args ...any) error {
		return errs.Unsupportedf(-1, "writing "+format, args...)
	}
	if t := strings.ToLower(o.String("type", "table")); t != "table" && t != "materialized-table" {
		return unsupported("tables of type %s", t)
	}
	// Off by default; on, they ask for more than this version does.
	for _, key := range []string{"data-evolution.enabled", "sequence.snapshot-ordering", "pk-clustering-override", "primary-key.nullable", "chain-table.enabled",
		"clustering.incremental"} {
		if o.Bool(key, false) {
			return unsupported("tables with %s", key)
		}
	}
	for key, def := range map[string]string{"bucket-function.type": "default",
		"metadata.iceberg.storage": "disabled", "manifest.format": "avro", "write.sequence-number-init-mode": "scan"} {
		if v := strings.ToLower(o.String(key, def)); v != def {
			return unsupported("tables with %s = %s", key, v)
		}
	}
	for _, key := range []string{"record-level.expire-time", "data-file.external-paths"} {
		if o.Has(key) {
			return unsupported("tables with the option %s", key)
		}
	}
	for _, f := range s.Fields {
		if f.Type.Kind == catalog.Blob {
			return unsupported("columns of type BLOB (column %s)", f.Name)
		}
	}
	if out.tracking && out.mode != unawareBuckets {
		return unsupported("tables with row-tracking.enabled and buckets")
	}
	if out.vectors && (out.producer == producerFull || out.firstRow) {
		return errs.Userf(errs.InvalidTable, "write a table with deletion vectors: they work neither with 'changelog-producer' = 'full-compaction' nor with 'merge-engine' = 'first-row'")
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
