package spec

import (
	"bytes"
	"encoding/json"
	"math"
	"sort"

	"github.com/thermocline/thermocline/internal/errs"
)

// CommitKind says what a snapshot changed.
type CommitKind string

// The commit kinds.
const (
	KindAppend    CommitKind = "APPEND"    // only new files
	KindCompact   CommitKind = "COMPACT"   // the same rows in other files
	KindOverwrite CommitKind = "OVERWRITE" // rows removed, or replaced
	KindAnalyze   CommitKind = "ANALYZE"   // only statistics
)

// NoWatermark is how Java writes that there is no watermark.
const NoWatermark = math.MinInt64

// Snapshot is one version of a table (snapshot/snapshot-<id>, and tags). Fields
// are in the order in which Java writes them.
type Snapshot struct {
	Version                   int               `json:"version"`
	UUID                      string            `json:"uuid,omitempty"` // since 2.0
	ID                        int64             `json:"id"`
	SchemaID                  int64             `json:"schemaId"`
	BaseManifestList          string            `json:"baseManifestList"`
	BaseManifestListSize      *int64            `json:"baseManifestListSize,omitempty"`
	DeltaManifestList         string            `json:"deltaManifestList"`
	DeltaManifestListSize     *int64            `json:"deltaManifestListSize,omitempty"`
	ChangelogManifestList     string            `json:"changelogManifestList,omitempty"`
	ChangelogManifestListSize *int64            `json:"changelogManifestListSize,omitempty"`
	IndexManifest             string            `json:"indexManifest,omitempty"`
	CommitUser                string            `json:"commitUser"`
	WriterVersion             string            `json:"writerVersion,omitempty"`
	CommitIdentifier          int64             `json:"commitIdentifier"`
	CommitKind                CommitKind        `json:"commitKind"`
	TimeMillis                int64             `json:"timeMillis"`
	LogOffsets                map[string]int64  `json:"logOffsets,omitempty"`
	TotalRecordCount          *int64            `json:"totalRecordCount,omitempty"`
	DeltaRecordCount          *int64            `json:"deltaRecordCount,omitempty"`
	ChangelogRecordCount      *int64            `json:"changelogRecordCount,omitempty"`
	Watermark                 *int64            `json:"watermark,omitempty"`
	Statistics                string            `json:"statistics,omitempty"`
	Properties                map[string]string `json:"properties,omitempty"`
	NextRowID                 *int64            `json:"nextRowId,omitempty"`
	Operation                 string            `json:"operation,omitempty"` // since 2.0

	// TagCreateTime and TagTimeRetained are in tag files only.
	TagCreateTime   json.RawMessage `json:"tagCreateTime,omitempty"`
	TagTimeRetained json.RawMessage `json:"tagTimeRetained,omitempty"`

	// Extra are fields that this version does not know, written back as read.
	Extra map[string]json.RawMessage `json:"-"`
}

// ParseSnapshot reads a snapshot or tag file.
func ParseSnapshot(b []byte) (*Snapshot, error) {
	s, known := scanSnapshot(b)
	if !known {
		s = &Snapshot{}
		if err := json.Unmarshal(b, s); err != nil {
			return nil, errs.Corruptf("read the snapshot: %w", err)
		}
	}
	switch {
	case s.ID < 1 || s.ID == math.MaxInt64:
		return nil, errs.Corruptf("read the snapshot: id %d is not a snapshot id", s.ID)
	case s.SchemaID < 0:
		return nil, errs.Corruptf("read snapshot %d: schema id %d is negative", s.ID, s.SchemaID)
	case s.BaseManifestList == "" || s.DeltaManifestList == "":
		return nil, errs.Corruptf("read snapshot %d: a manifest list is missing", s.ID)
	}
	for _, name := range []string{s.BaseManifestList, s.DeltaManifestList, s.ChangelogManifestList, s.IndexManifest, s.Statistics} {
		if name != "" && !ValidFileName(name) {
			return nil, errs.Corruptf("read snapshot %d: %q is not a file name", s.ID, name)
		}
	}
	if s.Version == 0 {
		s.Version = 1
	}
	if known {
		return s, nil // without other members
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, errs.Corruptf("read the snapshot: %w", err)
	}
	for k, v := range all {
		if !snapshotFields[k] {
			if s.Extra == nil {
				s.Extra = map[string]json.RawMessage{}
			}
			s.Extra[k] = v
		}
	}
	return s, nil
}

var snapshotFields = jsonNames(Snapshot{})

// Marshal writes the snapshot as Java does, field order and spacing included.
func (s *Snapshot) Marshal() ([]byte, error) {
	b, err := marshal(s)
	if err != nil {
		return nil, errs.Internalf("write snapshot %d: %w", s.ID, err)
	}
	if len(s.Extra) > 0 {
		keys := make([]string, 0, len(s.Extra))
		for k := range s.Extra {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		b = bytes.TrimSuffix(b, []byte("}"))
		for _, k := range keys {
			name, err := marshal(k)
			if err != nil {
				return nil, errs.Internalf("write snapshot %d: %w", s.ID, err)
			}
			b = append(append(append(append(b, ','), name...), ':'), s.Extra[k]...)
		}
		b = append(b, '}')
	}
	return prettyJSON(b), nil
}

// HasWatermark reports whether the snapshot has a watermark, and which.
func (s *Snapshot) HasWatermark() (millis int64, ok bool) {
	if s.Watermark == nil || *s.Watermark == NoWatermark {
		return 0, false
	}
	return *s.Watermark, true
}

// Identity tells this very snapshot from others that had or will have its id:
// the uuid, or else the manifest lists' names, which hold uuids (DESIGN D9).
func (s *Snapshot) Identity() string {
	if s.UUID != "" {
		return s.UUID
	}
	return s.BaseManifestList + "/" + s.DeltaManifestList
}
