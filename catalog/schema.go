package catalog

import "strings"

// Field is a column, or a member of a ROW.
type Field struct {
	ID      int     `json:"id"`
	Name    string  `json:"name"`
	Type    Type    `json:"type"`
	Comment string  `json:"description,omitempty"`
	Default *string `json:"defaultValue,omitempty"`
}

// Schema is one version of a table's definition. It must not be changed once a
// Table returned it.
type Schema struct {
	ID             int64
	Fields         []Field
	HighestFieldID int
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        map[string]string
	Comment        string
	TimeMillis     int64
}

// Column returns the position of the named column, exactly spelled, or -1.
func (s *Schema) Column(name string) int {
	for i, f := range s.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Columns returns the positions of the named columns; every name must exist.
func (s *Schema) Columns(names []string) []int {
	out := make([]int, len(names))
	for i, n := range names {
		out[i] = s.Column(n)
	}
	return out
}

// TrimmedPrimaryKeys returns the primary key without the partition columns: the
// key inside a partition.
func (s *Schema) TrimmedPrimaryKeys() []string {
	var out []string
	for _, k := range s.PrimaryKeys {
		if !contains(s.PartitionKeys, k) {
			out = append(out, k)
		}
	}
	return out
}

// MySQLType returns what MySQL knew of the column beyond its Paimon type, as
// the option mysql.type.<field id> keeps it (DESIGN D15), such as
// "bigint unsigned" or "varchar(10) collate utf8mb4_general_ci"; or "".
func (s *Schema) MySQLType(f Field) string { return s.Options[MySQLTypeOption(f.ID)] }

// WithDefaults returns the schema with options that it does not set.
func (s *Schema) WithDefaults(options map[string]string) *Schema {
	if len(options) == 0 {
		return s
	}
	out := *s
	out.Options = map[string]string{}
	for _, m := range []map[string]string{options, s.Options} {
		for k, v := range m {
			out.Options[k] = v
		}
	}
	return &out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Identifier names an object: a table, one of its branches, or one of its
// system tables.
type Identifier struct {
	Catalog  string // "" where it does not matter
	Database string
	Table    string // without branch and system table
	Branch   string // "" is main
	System   string // "" is the table itself; else "snapshots", "files", …
}

// ParseObject splits an object name: "t", "t$snapshots", "t$branch_b",
// "t$branch_b$files".
func ParseObject(name string) (table, branch, system string) {
	table, rest, ok := strings.Cut(name, "$")
	if !ok || table == "" {
		return name, "", ""
	}
	if b, found := strings.CutPrefix(rest, "branch_"); found {
		if branch, system, _ = strings.Cut(b, "$"); branch != "" {
			return table, branch, system
		}
	}
	return table, "", rest
}

// Object returns the name with branch and system table, without the database.
func (id Identifier) Object() string {
	s := id.Table
	if id.Branch != "" {
		s += "$branch_" + id.Branch
	}
	if id.System != "" {
		s += "$" + id.System
	}
	return s
}

// String returns "database.object".
func (id Identifier) String() string {
	if id.Database == "" {
		return id.Object()
	}
	return id.Database + "." + id.Object()
}
