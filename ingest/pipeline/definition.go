// Package pipeline reads pipeline files: Flink CDC's YAML, strictly. Unknown
// keys, wrong types, and what this version cannot do are errors that name the
// place; nothing is ignored silently.
//
// Start reading at Load.
package pipeline

import (
	"time"

	"github.com/thermocline/thermocline/ingest/source"
)

// Definition is a pipeline file that was read and checked, as far as it can be
// without connecting to anything.
type Definition struct {
	// Name is pipeline.name, "" when the file has none.
	Name string
	// Text is the file as it was given, secrets unresolved. It is what is kept.
	Text string
	// File is where it came from, for messages.
	File string

	Source Source
	Sink   Sink
	Routes []Route
	// Transforms are the rules of the transform block, in order.
	Transforms []Transform
	Settings   Settings
	// Warnings are things accepted that have no effect here.
	Warnings []string
}

// Source is the source block.
type Source struct {
	Type    string
	Name    string
	Tables  string // the selector list
	Exclude string
	Startup Startup
	// NewTables is what becomes of tables that come later and match Tables.
	NewTables NewTables
	// Metadata is metadata.list: columns such as op_ts that transforms may read.
	Metadata []string
	Options  []source.Option // the others, resolved
	Line     int
}

// Startup is scan.startup.mode.
type Startup string

// The startup modes of this version.
const (
	Initial      Startup = "initial"       // copy, then follow
	SnapshotOnly Startup = "snapshot"      // copy, then end
	LatestOffset Startup = "latest-offset" // follow from now on
	// Follow from an earlier place of the source's log, without a copy.
	EarliestOffset Startup = "earliest-offset"
	SpecificOffset Startup = "specific-offset"
	Timestamp      Startup = "timestamp" // of the transactions from a time on
)

// NewTables is what becomes of tables of the source that come, or match, when the
// pipeline has been running: scan.newly-added-table.enabled and
// scan.binlog.newly-added-table.enabled.
type NewTables uint8

// What becomes of new tables.
const (
	CopyNew   NewTables = iota // they are copied and followed
	FollowNew                  // they are followed from where they come, without a copy
	LeaveNew                   // they are left out
)

// Sink is the sink block.
type Sink struct {
	Type string // paimon, values
	Name string
	// Catalog are the catalog.properties.*, without the prefix.
	Catalog map[string]string
	// Table are the table.properties.*, without the prefix: options of every
	// table that is created.
	Table map[string]string
	// UserPrefix is commit.user-prefix.
	UserPrefix string
	// Partitions are the entries of partition.key: a table selector and columns.
	Partitions []Partition
	// Include and Exclude are include.schema.changes and exclude.schema.changes,
	// Destructive is allow-destructive: kinds of change that may take rows away.
	Include, Exclude, Destructive []string
	// Print is false for a values sink with print.enabled: false.
	Print bool
	Line  int
}

// Partition is one entry of partition.key.
type Partition struct {
	Table   string
	Columns []string
}

// Route is one rule of the route block.
type Route struct {
	SourceTable   string
	SinkTable     string
	ReplaceSymbol string
	// ShardKey names a column that is put before the key with the source table's
	// name, so that rows of several tables never overwrite each other; "" is none.
	ShardKey    string
	Description string
	Line        int
}

// Settings is the pipeline block.
type Settings struct {
	Parallelism    int
	CommitInterval time.Duration
	CommitBytes    int64  // commit.max-bytes: commit earlier when so much was read; 0 is none
	SchemaChange   string // upper case: LENIENT, EVOLVE, …
	FirstMatch     bool   // route-mode
	// Heal is on-log-lost: heal: where the source's log does not lead on, tables are
	// compared and repaired.
	Heal bool
	// VerifyInterval is verify.interval: how often the lake is compared with the
	// source, 0 is never; VerifyRows is verify.rows-per-second; VerifyRepair is
	// verify.repair.
	VerifyInterval time.Duration
	VerifyRows     int64
	VerifyRepair   bool
	// DropPartition is on-drop-partition: stop, ignore, mirror; "" is the
	// behaviour's.
	DropPartition string
	// Zone is local-time-zone, of functions in transforms; nil is the machine's.
	Zone *time.Location
}
