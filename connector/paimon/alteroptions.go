package paimon

import (
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// fixedOptions are those that say what the table's files mean: Paimon allows no
// change once there is a snapshot (CoreOptions marked Immutable).
var fixedOptions = map[string]bool{
	"type": true, "bucket-key": true, "bucket-function.type": true, "data-file.path-directory": true, "merge-engine": true,
	"sequence.snapshot-ordering": true, "aggregation.remove-record-on-delete": true, "partial-update.remove-record-on-delete": true,
	"partial-update.remove-record-on-sequence-group": true, "rowkind.field": true, "primary-key": true, "partition": true,
	"dynamic-bucket.initial-buckets": true, "force-lookup": true, "row-tracking.enabled": true, "data-evolution.enabled": true,
	"index-file-in-data-file-dir": true, "blob-field": true, "blob-descriptor-field": true, "blob-view-field": true,
	"pk-clustering-override": true, "primary-key.nullable": true,
}

func fixed(key string) error {
	return forbidden("the option '%s' cannot change once the table has been written to", key)
}

func (a *alteration) setOption(key, v string) error {
	old, had := a.old.Options[key]
	if had && old == v || a.sameNormalized(key, v, had) {
		// As it was before the statement; an earlier step may have changed it.
		if had {
			a.next.Options[key] = v
		}
		return nil
	}
	switch {
	case key == "type":
		return forbidden("the option 'type' cannot change")
	case key == "path":
		return forbidden("the option 'path' cannot change: the catalog places its tables")
	}
	if a.written {
		if err := a.checkChange(key, old, had, v); err != nil {
			return err
		}
	}
	a.next.Options[key] = v
	return nil
}

// sameNormalized reports whether an option that the schema keeps elsewhere is
// set to what it is.
func (a *alteration) sameNormalized(key, v string, had bool) bool {
	switch key {
	case "type":
		old := "table"
		if had {
			old = a.old.Options[key]
		}
		return strings.EqualFold(v, old)
	case "primary-key":
		return !had && slices.Equal(names(v), a.old.PrimaryKeys)
	case "partition":
		return !had && slices.Equal(names(v), a.old.PartitionKeys)
	}
	return false
}

// checkChange refuses changes of options that would make files that are there
// mean something else.
func (a *alteration) checkChange(key, old string, had bool, v string) error {
	if fixedOptions[key] {
		return fixed(key)
	}
	isTrue := func(s string) bool { return strings.EqualFold(s, "true") }
	switch key {
	case "bucket":
		from, to := -1, 0
		var err error
		if had {
			if from, err = strconv.Atoi(strings.TrimSpace(old)); err != nil {
				return errs.Userf(errs.InvalidTable, "the option 'bucket' = '%s' is no number", old)
			}
		}
		if to, err = strconv.Atoi(strings.TrimSpace(v)); err != nil {
			return errs.Userf(errs.InvalidTable, "the option 'bucket' = '%s' is no number", v)
		}
		if from == -1 || to == -1 {
			return forbidden("the option 'bucket' cannot change from or to -1 once the table has been written to")
		}
	case "deletion-vectors.enabled":
		if !isTrue(a.old.Options["deletion-vectors.modifiable"]) && isTrue(old) != isTrue(v) {
			return forbidden("the option 'deletion-vectors.enabled' cannot change once the table has been written to: rows could come back; 'deletion-vectors.modifiable' = 'true' allows it")
		}
	case "ignore-delete", "ignore-update-before":
		if isTrue(old) && !isTrue(v) {
			return forbidden("the option '%s' cannot change from true to false", key)
		}
	case "clustering.columns":
		if _, ok := a.old.Options["pk-clustering-override"]; ok {
			return forbidden("the option '%s' cannot change with 'pk-clustering-override'", key)
		}
	}
	return nil
}

func (a *alteration) removeOption(key string) error {
	if key == "type" {
		return forbidden("the option 'type' cannot change")
	}
	if a.written {
		switch {
		case fixedOptions[key]:
			return fixed(key)
		case key == "bucket":
			return forbidden("the option 'bucket' cannot be removed once the table has been written to")
		case key == "clustering.columns" && a.old.Options["pk-clustering-override"] != "":
			return forbidden("the option '%s' cannot change with 'pk-clustering-override'", key)
		}
	}
	delete(a.next.Options, key)
	return nil
}

// columnLists are options whose values are names of columns.
func isColumnList(key string) bool {
	switch key {
	case "bucket-key", "sequence.field", "clustering.columns", "upsert-key", "record-level.time-field", "rowkind.field",
		"partial-update.remove-record-on-sequence-group", "sink.clustering.by-columns":
		return true
	}
	return strings.HasPrefix(key, "file-index.") && strings.HasSuffix(key, ".columns") ||
		strings.HasPrefix(key, fieldsPrefix) && strings.HasSuffix(key, ".sequence-group")
}

const fieldsPrefix = "fields."

// renameInOptions renames a column of the table in the keys and values of
// options. A name is replaced where it stands whole in a list.
func renameInOptions(options map[string]string, from, to string) {
	rename := func(list string) string {
		parts := strings.Split(list, ",")
		changed := false
		for i, p := range parts {
			if strings.TrimSpace(p) == from {
				parts[i], changed = to, true
			}
		}
		if !changed {
			return list
		}
		return strings.Join(parts, ",")
	}
	keys := make([]string, 0, len(options))
	for k := range options {
		keys = append(keys, k)
	}
	for _, k := range keys {
		v, key := options[k], k
		if isColumnList(k) {
			v = rename(v)
		}
		if list, suffix, ok := fieldsKey(k); ok {
			key = fieldsPrefix + rename(list) + "." + suffix
		} else if rest, ok := strings.CutPrefix(k, "file-index."); ok {
			// file-index.<type>.<column>.<option>
			if parts := strings.SplitN(rest, ".", 3); len(parts) == 3 && parts[1] == from {
				key = "file-index." + parts[0] + "." + to + "." + parts[2]
			}
		}
		if key != k {
			delete(options, k)
		}
		options[key] = v
	}
}

// fieldsKey splits the key fields.<columns>.<suffix> of an option.
func fieldsKey(k string) (columns, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(k, fieldsPrefix)
	if !ok || rest == "default-aggregate-function" {
		return "", "", false
	}
	columns, suffix, ok = strings.Cut(rest, ".")
	return columns, suffix, ok
}

// dropFromOptions removes what options say of how a dropped column of a nested
// type is stored. Other options that name a column keep it from being dropped.
func dropFromOptions(options map[string]string, f catalog.Field) {
	switch f.Type.Kind {
	case catalog.Map:
		for _, s := range []string{"map.storage-layout", "map.shared-shredding.max-columns", "map.shared-shredding.column-placement-policy"} {
			delete(options, fieldsPrefix+f.Name+"."+s)
		}
	case catalog.Blob:
		for _, k := range []string{"blob-field", "blob-descriptor-field", "blob.stored-descriptor-fields", "blob-view-field"} {
			if v, ok := options[k]; ok {
				list := slices.DeleteFunc(names(v), func(n string) bool { return n == f.Name })
				if len(list) == 0 {
					delete(options, k)
				} else {
					options[k] = strings.Join(list, ",")
				}
			}
		}
	}
}
