package session

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Column describes a result column as protocols show it.
type Column struct {
	Name     string // the alias
	Type     expr.Type
	Database string // of the base table, "" for expressions
	Table    string // alias of the table
	OrgTable string
	OrgName  string
	Key      bool // part of the primary key
	// Stored, when set, is the lake's type of a column that comes as it is stored
	// (OpenOptions.Lossless): Type does not describe its vectors then.
	Stored *catalog.Type
	// Texts: a decimal that comes as text, with its own number of fraction digits.
	Texts bool
}

// Result is what one statement gave: rows, or counts.
type Result struct {
	// Columns are the result's columns; nil for a statement without rows.
	Columns []Column
	// Rows streams the rows; nil for a statement without rows. The vectors have
	// the physical kinds of Columns. Who got the Result closes it.
	Rows connector.BatchReader
	// Continuous says that Rows waits for rows that do not exist yet. A protocol
	// sends the columns at once, and rows as they come.
	Continuous bool

	Affected     uint64
	LastInsertID uint64
	Warnings     uint16 // known when Rows has ended
	Info         string // the text of MySQL's OK packet
}

// Close releases the rows. It may be called more than once.
func (r *Result) Close() error {
	if r == nil || r.Rows == nil {
		return nil
	}
	return r.Rows.Close()
}

// Prepared describes a statement before it runs.
type Prepared struct {
	Columns []Column // nil when not known before execution, or none
	Params  int      // number of placeholders
	// Parameters are the types that are expected of them; nil when unknown.
	Parameters []expr.Type
}
