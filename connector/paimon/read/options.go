package read

import (
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// The options that say what is read of a table. They stand in the table's schema
// or are given with a statement; the statement's go over the table's.
const (
	optMode           = "scan.mode"
	optTimestamp      = "scan.timestamp"
	optTimestampMilli = "scan.timestamp-millis"
	optWatermark      = "scan.watermark"
	optFileCreation   = "scan.file-creation-time-millis"
	optCreation       = "scan.creation-time-millis"
	optSnapshot       = "scan.snapshot-id"
	optTag            = "scan.tag-name"
	optVersion        = "scan.version"
	optBetween        = "incremental-between"
	optBetweenTime    = "incremental-between-timestamp"
	optAutoTag        = "incremental-to-auto-tag"
	optBetweenMode    = "incremental-between-scan-mode"
	optTagToSnapshot  = "incremental-between-tag-to-snapshot"
)

// versionOptions choose a version or changes; the others in the list above say
// how.
var versionOptions = []string{optTimestamp, optTimestampMilli, optWatermark, optFileCreation, optCreation, optSnapshot, optTag, optVersion, optBetween, optBetweenTime, optAutoTag}

// streamOptions matter to a continuous read only.
var streamOptions = strings.Fields(`consumer-id consumer.mode consumer.ignore-progress consumer.expiration-time consumer.changelog-only
	continuous.discovery-interval streaming.read.snapshot.delay scan.bounded.watermark streaming-read-overwrite streaming-read-append-overwrite`)

// mergeOptions change how rows are merged or shown, and may be given with a
// statement.
var mergeOptions = strings.Fields(`ignore-delete first-row.ignore-delete deduplicate.ignore-delete partial-update.ignore-delete sequence.field sequence.field.sort-order
	changelog-producer deletion-vectors.merge-on-read num-levels num-sorted-run.compaction-trigger full-compaction.delta-commits partition.default-name
	tag.creation-period tag.creation-period-duration tag.period-formatter scan.fallback-branch changelog.num-retained.min changelog.num-retained.max changelog.time-retained
	orc.timestamp-ltz.legacy.type`)

// quietOptions change nothing in the rows that are read.
var quietOptions = strings.Fields(`read.batch-size source.split.target-size source.split.open-file-cost scan.parallelism scan.infer-parallelism scan.infer-parallelism.max
	scan.manifest.parallelism scan.split-enumerator.batch-size scan.split-enumerator.mode scan.max-splits-per-task scan.plan-sort-partition scan.remove-normalize
	scan.watermark.emit.strategy scan.watermark.alignment.group scan.watermark.idle-timeout scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
	scan.dedicated-split-generation scan.max-snapshot.count source.checkpoint-align.enabled source.checkpoint-align.timeout read.shuffle-bucket-with-partition
	lookup.async lookup.cache lookup.async-thread-number lookup.bootstrap-parallelism file-index.read.enabled file-reader-async-threshold sort-spill-buffer-size sort-spill-threshold
	source.operator-uid.suffix`)

// fixedOptions cannot be changed once a table has snapshots, and so not by a
// statement either.
var fixedOptions = strings.Fields(`type bucket bucket-key bucket-function.type data-file.path-directory merge-engine sequence.snapshot-ordering
	aggregation.remove-record-on-delete partial-update.remove-record-on-delete partial-update.remove-record-on-sequence-group rowkind.field primary-key partition
	dynamic-bucket.initial-buckets force-lookup row-tracking.enabled data-evolution.enabled index-file-in-data-file-dir blob-field blob-descriptor-field blob-view-field
	pk-clustering-override deletion-vectors.enabled path branch`)

// merged returns a schema with options put over its own, or says why one cannot
// be (paimon-format: options; Java's FileStoreTable.copy).
func (s *Source) merged(schema *catalog.Schema, options map[string]string) (*catalog.Schema, error) {
	if len(options) == 0 {
		return schema, nil
	}
	for _, k := range slices.Sorted(maps.Keys(options)) {
		old, has := schema.Options[k]
		switch {
		case has && old == options[k]:
		case slices.Contains(fixedOptions, k):
			what := "it is fixed when the table is made"
			if k == "branch" {
				what = "write the branch into the table's name, t$branch_" + options[k]
			}
			return nil, errs.Userf(errs.WrongArguments, "read table %s: the option '%s' cannot be given with a statement: %s", s.Name, k, what)
		case k == optMode, slices.Contains(versionOptions, k), k == optBetweenMode, k == optTagToSnapshot,
			slices.Contains(streamOptions, k), slices.Contains(mergeOptions, k), slices.Contains(quietOptions, k), strings.HasPrefix(k, "fields."):
		case slices.Contains(knownOptions, k):
			return nil, errs.Unsupportedf(-1, "the table option '%s' with a statement (table %s)", k, s.Name)
		default:
			return nil, errs.Userf(errs.WrongArguments, "read table %s: there is no option '%s' for reading", s.Name, k)
		}
	}
	c := *schema
	c.Options = maps.Clone(schema.Options)
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	maps.Copy(c.Options, options)
	return &c, nil
}

// knownOptions are options of Java Paimon that change what is read and are
// refused by name.
var knownOptions = strings.Fields(`scan.bucket scan.partitions scan.ignore-corrupt-files scan.ignore-lost-files scan.fallback-snapshot-branch scan.fallback-delta-branch scan.primary-branch
	scan.fallback-branch.read-fail-fast table-read.sequence-number.enabled stream-scan-mode batch-scan-mode query-auth.enabled postpone.merge-on-read record-level.expire-time
	record-level.time-field scan.plan.auto-tag-for-read.time-retained scan.bounded`)

// startup is what a table's options say to read.
type startup struct {
	mode string
	o    *spec.Options
}

// travels reports whether options choose anything but the newest version.
func travels(options map[string]string) bool {
	if m := strings.ToLower(strings.TrimSpace(options[optMode])); m != "" && m != "default" && m != "latest-full" && m != "full" && m != "latest" {
		return true
	}
	return slices.ContainsFunc(versionOptions, func(k string) bool { _, ok := options[k]; return ok })
}

// startupOf reads the mode that options ask for and checks that they agree.
func (s *Source) startupOf(options map[string]string) (startup, error) {
	o := spec.NewOptions(options)
	st := startup{mode: strings.ToLower(o.String(optMode, "default")), o: o}
	fail := func(format string, args ...any) (startup, error) {
		return st, errs.Userf(errs.WrongArguments, "read table "+s.Name+": "+format, args...)
	}
	// What each mode needs: exactly one of these options.
	needs := map[string][]string{
		"latest-full": nil, "latest": nil, "compacted-full": nil, "latest-delta": nil,
		"from-timestamp":          {optTimestamp, optTimestampMilli},
		"from-snapshot":           {optSnapshot, optTag, optWatermark, optVersion},
		"from-snapshot-full":      {optSnapshot},
		"from-file-creation-time": {optFileCreation},
		"from-creation-timestamp": {optCreation},
		"incremental":             {optBetween, optBetweenTime, optAutoTag},
	}
	if st.mode == "full" {
		st.mode = "latest-full"
	}
	if st.mode == "default" {
		st.mode = "latest-full"
		for _, m := range []string{"from-timestamp", "from-snapshot", "from-file-creation-time", "from-creation-timestamp", "incremental"} {
			if slices.ContainsFunc(needs[m], o.Has) {
				st.mode = m
				break
			}
		}
	}
	want, known := needs[st.mode]
	if !known {
		return fail("'%s' is '%s'; the modes are default, %s", optMode, st.mode, strings.Join(slices.Sorted(maps.Keys(needs)), ", "))
	}
	found := 0
	for _, k := range versionOptions {
		switch {
		case !o.Has(k):
		case slices.Contains(want, k):
			found++
		case len(want) == 0:
			return fail("'%s' contradicts '%s' = '%s'", k, optMode, st.mode)
		default:
			return fail("'%s' contradicts '%s'", k, strings.Join(slices.DeleteFunc(slices.Clone(want), func(k string) bool { return !o.Has(k) }), "', '"))
		}
	}
	if found != 1 && len(want) > 0 {
		return fail("'%s' = '%s' takes exactly one of '%s'", optMode, st.mode, strings.Join(want, "', '"))
	}
	return st, nil
}
