package spec

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// MetadataKind names what a metadata file is, by its name.
type MetadataKind string

// The kinds of metadata files.
const (
	SchemaFile       MetadataKind = "schema"
	SnapshotFile     MetadataKind = "snapshot" // tags and changelogs too
	HintFile         MetadataKind = "hint"     // LATEST, EARLIEST
	ManifestListFile MetadataKind = "manifest list"
	ManifestFile     MetadataKind = "manifest"
	IndexManifest    MetadataKind = "index manifest"
	StatisticsFile   MetadataKind = "statistics"
	ConsumerFile     MetadataKind = "consumer"
)

// KindOfFile returns what the file of that name is; "" when it is no metadata
// file of Paimon.
func KindOfFile(name string) MetadataKind {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "LATEST" || name == "EARLIEST" {
		return HintFile
	}
	for _, k := range []struct {
		prefix string
		kind   MetadataKind
	}{{"schema-", SchemaFile}, {"snapshot-", SnapshotFile}, {"tag-", SnapshotFile}, {"changelog-", SnapshotFile},
		{"manifest-list-", ManifestListFile}, {"index-manifest-", IndexManifest}, {"manifest-", ManifestFile},
		{"stat-", StatisticsFile}, {"consumer-", ConsumerFile}} {
		if rest, ok := strings.CutPrefix(name, k.prefix); ok {
			if k.prefix == "changelog-" { // a data file of that prefix has a uuid and an extension
				if _, err := strconv.ParseInt(rest, 10, 64); err != nil {
					return ""
				}
			}
			return k.kind
		}
	}
	return ""
}

// Inspect turns a metadata file into a value that encoding/json prints. schemas
// returns a version of the table's schema, so that rows in the metadata become
// readable; it may be nil or return nil, and then rows are hexadecimal.
func Inspect(name string, data []byte, schemas func(id int64) *catalog.Schema) (any, error) {
	if schemas == nil {
		schemas = func(int64) *catalog.Schema { return nil }
	}
	switch kind := KindOfFile(name); kind {
	case SchemaFile, SnapshotFile, StatisticsFile, ConsumerFile:
		switch kind {
		case SchemaFile:
			if _, err := ParseSchema(data); err != nil {
				return nil, err
			}
		case SnapshotFile:
			if _, err := ParseSnapshot(data); err != nil {
				return nil, err
			}
		}
		if !json.Valid(data) {
			return nil, errs.Corruptf("it is not JSON")
		}
		return json.RawMessage(data), nil
	case HintFile:
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil {
			return nil, errs.Corruptf("it is not a number: %q", data[:min(len(data), 40)])
		}
		return map[string]int64{"snapshot": n}, nil
	case ManifestListFile:
		list, err := ReadManifestList(data)
		if err != nil {
			return nil, err
		}
		out := make([]metaView, len(list))
		for i, m := range list {
			out[i] = metaView{m, m.PartitionStats}
			if s := schemas(m.SchemaID); s != nil {
				out[i].PartitionStats = readableStats(m.PartitionStats, s, s.PartitionKeys)
			}
		}
		return out, nil
	case ManifestFile:
		out := []entryView{}
		err := ReadManifest(data, func(e *ManifestEntry) error {
			out = append(out, viewEntry(*e, schemas(e.File.SchemaID)))
			return nil
		})
		return out, err
	case IndexManifest:
		return ReadIndexManifest(data)
	}
	return nil, errs.Userf(errs.WrongArguments, "%s is not a metadata file of Paimon", name)
}

type metaView struct {
	ManifestMeta
	PartitionStats any `json:"partitionStats"`
}

type fileView struct {
	DataFileMeta
	MinKey     any `json:"minKey"`
	MaxKey     any `json:"maxKey"`
	KeyStats   any `json:"keyStats"`
	ValueStats any `json:"valueStats"`
}

type entryView struct {
	ManifestEntry
	Kind      string   `json:"kind"`
	Partition any      `json:"partition"`
	File      fileView `json:"file"`
}

func viewEntry(e ManifestEntry, s *catalog.Schema) entryView {
	v := entryView{ManifestEntry: e, Kind: "ADD", Partition: e.Partition,
		File: fileView{e.File, e.File.MinKey, e.File.MaxKey, e.File.KeyStats, e.File.ValueStats}}
	if e.Kind == FileDelete {
		v.Kind = "DELETE"
	}
	if s == nil {
		return v
	}
	keys := s.TrimmedPrimaryKeys()
	v.Partition = readableRow(e.Partition, s, s.PartitionKeys)
	v.File.MinKey, v.File.MaxKey = readableRow(e.File.MinKey, s, keys), readableRow(e.File.MaxKey, s, keys)
	v.File.KeyStats = readableStats(e.File.KeyStats, s, keys)
	cols := e.File.ValueStatsCols.V
	if !e.File.ValueStatsCols.OK {
		cols = make([]string, len(s.Fields))
		for i, f := range s.Fields {
			cols[i] = f.Name
		}
	}
	v.File.ValueStats = readableStats(e.File.ValueStats, s, cols)
	return v
}

// readableRow returns the row as a JSON object, or the row itself when it is not
// one of these columns.
func readableRow(r BinaryRow, s *catalog.Schema, names []string) any {
	for _, n := range names {
		if s.Column(n) < 0 {
			return r
		}
	}
	types := TypesOf(s, names)
	vals, err := r.Decode(types)
	if err != nil {
		return r
	}
	out := make(map[string]any, len(names))
	for i, n := range names {
		out[n] = readable(types[i], vals[i])
	}
	return out
}

func readableStats(st Stats, s *catalog.Schema, names []string) any {
	nulls := make(map[string]Opt[int64], len(names))
	for i, c := range st.NullCounts {
		if i < len(names) {
			nulls[names[i]] = c
		}
	}
	return map[string]any{"min": readableRow(st.Min, s, names), "max": readableRow(st.Max, s, names), "nullCounts": nulls}
}

func readable(t catalog.Type, v *vector.Vec) any {
	if v.IsNull(0) {
		return nil
	}
	switch t.Kind {
	case catalog.Boolean:
		return v.I8s[0] != 0
	case catalog.TinyInt, catalog.SmallInt, catalog.Int:
		return v.I32s[0]
	case catalog.BigInt:
		return v.I64s[0]
	case catalog.Binary, catalog.Varbinary, catalog.Blob:
		return map[string]string{"b": hex.EncodeToString(v.Bytes(0))}
	}
	return PathText(t, v, 0, false)
}
