package spec

import (
	"encoding/json"
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// SchemaVersion is what new schema files have.
const SchemaVersion = 3

// schemaFile is a schema file, fields in Java's order.
type schemaFile struct {
	Version        *int              `json:"version"`
	ID             int64             `json:"id"`
	Fields         []catalog.Field   `json:"fields"`
	HighestFieldID int               `json:"highestFieldId"`
	PartitionKeys  []string          `json:"partitionKeys"`
	PrimaryKeys    []string          `json:"primaryKeys"`
	Options        map[string]string `json:"options"`
	Comment        *string           `json:"comment,omitempty"`
	TimeMillis     *int64            `json:"timeMillis,omitempty"`
}

// ParseSchema reads a schema file (schema/schema-<id>) of version 1 to 3. Options
// that older versions implied are added.
func ParseSchema(b []byte) (*catalog.Schema, error) {
	var f schemaFile
	if err := json.Unmarshal(b, &f); err != nil {
		if errs.ClassOf(err) == errs.Unsupported {
			return nil, err
		}
		return nil, errs.Corruptf("read the schema: %w", err)
	}
	var ids struct {
		Fields []struct {
			ID *int `json:"id"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(b, &ids); err != nil {
		return nil, errs.Corruptf("read the schema: %w", err)
	}
	missing := 0
	for _, x := range ids.Fields {
		if x.ID == nil {
			missing++
		}
	}
	version := 1
	if f.Version != nil {
		version = *f.Version
	}
	if version < 1 || version > SchemaVersion {
		return nil, errs.Unsupportedf(-1, "schema files of version %d", version)
	}
	s := &catalog.Schema{ID: f.ID, Fields: f.Fields, HighestFieldID: f.HighestFieldID, PartitionKeys: f.PartitionKeys,
		PrimaryKeys: f.PrimaryKeys, Options: f.Options}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	if f.Comment != nil {
		s.Comment = *f.Comment
	}
	if f.TimeMillis != nil {
		s.TimeMillis = *f.TimeMillis
	}
	if missing > 0 {
		if missing != len(f.Fields) {
			return nil, errs.Corruptf("read schema %d: %d of %d fields have no id", f.ID, missing, len(f.Fields))
		}
		s.HighestFieldID = AssignFieldIDs(s.Fields, -1)
	}
	if _, ok := s.Options["bucket"]; !ok && version == 1 {
		s.Options["bucket"] = "1"
	}
	if _, ok := s.Options["file.format"]; !ok && version <= 2 {
		s.Options["file.format"] = "orc"
	}
	return s, checkSchema(s)
}

// checkSchema rejects what would make later steps fail strangely.
func checkSchema(s *catalog.Schema) error {
	if s.ID < 0 || s.ID == math.MaxInt64 {
		return errs.Corruptf("read the schema: id %d is not a schema id", s.ID)
	}
	if len(s.Fields) == 0 {
		return errs.Corruptf("read schema %d: it has no columns", s.ID)
	}
	names, ids := map[string]bool{}, map[int]bool{}
	for _, f := range s.Fields {
		if names[f.Name] || ids[f.ID] || f.ID < 0 {
			return errs.Corruptf("read schema %d: column %q (id %d) is there twice, or its id is negative", s.ID, f.Name, f.ID)
		}
		if !complete(f.Type) {
			return errs.Corruptf("read schema %d: column %q has no type", s.ID, f.Name)
		}
		names[f.Name], ids[f.ID] = true, true
	}
	for _, list := range [][]string{s.PartitionKeys, s.PrimaryKeys} {
		seen := map[string]bool{}
		for _, k := range list {
			if !names[k] || seen[k] {
				return errs.Corruptf("read schema %d: key column %q does not exist, or is there twice", s.ID, k)
			}
			if seen[k] = true; !s.Fields[s.Column(k)].Type.IsPrimitive() {
				return errs.Corruptf("read schema %d: key column %q has the type %s", s.ID, k, s.Fields[s.Column(k)].Type)
			}
		}
	}
	return nil
}

// complete reports whether a type and all types in it are there.
func complete(t catalog.Type) bool {
	switch t.Kind {
	case catalog.InvalidType:
		return false
	case catalog.Array, catalog.Multiset, catalog.Vector:
		return complete(*t.Elem)
	case catalog.Map:
		return complete(*t.Key) && complete(*t.Elem)
	case catalog.Row:
		for _, f := range t.Fields {
			if !complete(f.Type) {
				return false
			}
		}
	}
	return true
}

// AssignFieldIDs numbers fields, nested ones included, in depth-first order from
// highest+1 and returns the last number.
func AssignFieldIDs(fields []catalog.Field, highest int) int {
	for i := range fields {
		highest++
		fields[i].ID = highest
		highest = assignNested(&fields[i].Type, highest)
	}
	return highest
}

func assignNested(t *catalog.Type, highest int) int {
	switch t.Kind {
	case catalog.Row:
		return AssignFieldIDs(t.Fields, highest)
	case catalog.Array, catalog.Multiset, catalog.Vector:
		return assignNested(t.Elem, highest)
	case catalog.Map:
		return assignNested(t.Elem, assignNested(t.Key, highest))
	}
	return highest
}

// MarshalSchema writes a schema file as Java does.
func MarshalSchema(s *catalog.Schema) ([]byte, error) {
	version := SchemaVersion
	f := schemaFile{Version: &version, ID: s.ID, Fields: s.Fields, HighestFieldID: s.HighestFieldID,
		PartitionKeys: s.PartitionKeys, PrimaryKeys: s.PrimaryKeys, Options: s.Options, TimeMillis: &s.TimeMillis}
	if f.PartitionKeys == nil {
		f.PartitionKeys = []string{}
	}
	if f.PrimaryKeys == nil {
		f.PrimaryKeys = []string{}
	}
	if f.Options == nil {
		f.Options = map[string]string{}
	}
	if s.Comment != "" {
		f.Comment = &s.Comment
	}
	b, err := marshal(f)
	if err != nil {
		return nil, errs.Internalf("write schema %d: %w", s.ID, err)
	}
	return prettyJSON(b), nil
}

// AssignMemberIDs numbers the members of ROWs within the type of a new column
// from highest+1 and returns the last number. Members of a member come before
// it, as Java numbers them when a column is made (ReassignFieldId).
func AssignMemberIDs(t *catalog.Type, highest int) int {
	for _, c := range []*catalog.Type{t.Key, t.Elem} {
		if c != nil {
			highest = AssignMemberIDs(c, highest)
		}
	}
	for i := range t.Fields {
		highest = AssignMemberIDs(&t.Fields[i].Type, highest) + 1
		t.Fields[i].ID = highest
	}
	return highest
}
