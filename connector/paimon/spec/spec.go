// Package spec holds the structures of Apache Paimon's table format and their
// codecs: schemas, snapshots, manifest lists, manifests, index manifests,
// BinaryRow, statistics, buckets, partition paths and file names. It does no
// I/O; connector/paimon/{read,write,commit} do.
//
// Invariants: what is written is byte-compatible with Java Paimon 1.3 to 2.0
// (fields, order, BinaryRow bytes). What is read may come from any release from
// 0.9 on: fields are found by name, unknown ones skipped, missing ones absent.
// Every decoder is safe on hostile bytes: an error of class errs.Corruption, no
// panic, and memory bounded by the input's size (for compressed blocks, by
// maxBlock and maxDecoded).
//
// The format is described at https://paimon.apache.org/docs/master/concepts/spec/;
// byte layouts follow the Java classes named in the comments.
//
// Start reading at Snapshot, then ManifestMeta, ManifestEntry and BinaryRow.
package spec

import (
	"encoding/json"
	"math"
)

// Opt is a value that may be absent.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns v as present.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Or returns the value, or def when it is absent.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// MarshalJSON writes null for an absent value.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON reads null as absent.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Opt[T]{}
		return nil
	}
	o.OK = true
	return json.Unmarshal(b, &o.V)
}

// Special buckets and identifiers.
const (
	// UnawareBucket is the _BUCKET of append tables without buckets, whose
	// _TOTAL_BUCKETS is -1.
	UnawareBucket = 0
	// PostponeBucket holds rows that wait for a compaction to place them.
	PostponeBucket = -2
	// BatchIdentifier is the commit identifier of batch commits.
	BatchIdentifier = math.MaxInt64
)

// Names and field ids of the system columns of primary-key files.
const (
	KeyPrefix      = "_KEY_"
	SequenceColumn = "_SEQUENCE_NUMBER"
	KindColumn     = "_VALUE_KIND"
	RowIDColumn    = "_ROW_ID"

	KeyIDOffset = math.MaxInt32 / 2 // the id of _KEY_x is the id of x plus this
	SequenceID  = math.MaxInt32 - 1
	KindID      = math.MaxInt32 - 2
	RowID       = math.MaxInt32 - 5
	// ReservedID is the first field id that tables may not use.
	ReservedID = math.MaxInt32 / 2
)
