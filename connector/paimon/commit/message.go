package commit

import (
	"sync/atomic"

	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// Message is what a writer wants committed for one partition and bucket. It
// implements connector.CommitMessage. Its first part, New to Index, becomes an
// APPEND snapshot, or OVERWRITE when it takes rows away; its second part, the
// fields named Compact…, a COMPACT one after it.
type Message struct {
	Partition    spec.BinaryRow
	Bucket       int32
	TotalBuckets int32
	// Base is the snapshot up to which the writer knows what the bucket has, 0 for
	// an empty table: what it saw when it started, or its own last commit.
	Base int64

	// New are files with new rows.
	New []spec.DataFileMeta
	// Deleted are files whose rows the change removes or has written anew into
	// New (UPDATE and DELETE of append tables). Their entries are as in the table.
	Deleted []spec.DataFileMeta
	// Changelog are files with the changes in New (changelog-producer = input).
	Changelog []spec.DataFileMeta
	// Index are index files that belong to New and Deleted.
	Index IndexChange
	// KnownHashes are the names of the HASH index files of the whole partition by
	// which the keys in New were given their buckets, the message's own
	// predecessors included. It counts when Index adds a HASH file: the commit is a
	// conflict when the partition has others by then.
	KnownHashes []string

	// CompactBefore and CompactAfter are files replaced by others with the same
	// rows. A file in both, at different levels, is not rewritten.
	CompactBefore, CompactAfter []spec.DataFileMeta
	// CompactChangelog are files with the changes that the compaction found out
	// (changelog-producer = lookup and full-compaction).
	CompactChangelog []spec.DataFileMeta
	// CompactIndex are index files that belong to the compaction.
	CompactIndex IndexChange

	// Exclusive says that the rows were placed by what the whole table has
	// (cross-partition keys): Conflict when anybody else has written since Base.
	Exclusive bool
	// Lowest says that the new rows count less than all others of their keys: their
	// sequence number is 0, whatever the bucket has.
	Lowest bool
	// Turn is the message's place among the commits to the table, nil for none.
	Turn *Turn
	// Together says that the compactions of the committable apply all or none.
	Together bool

	dropped  atomic.Bool
	replaced atomic.Bool
	state    atomic.Int32
	snapshot atomic.Int64
}

// IndexChange adds and removes index files of a message's bucket. Kind,
// Partition and Bucket of the entries are filled in by the commit.
//
// Deleted names everything that the change was computed from and replaces: the
// bucket's index file of the same type (HASH, and DELETION_VECTORS of tables with
// buckets), and in append tables without buckets the files whose deletion vectors
// are in New or not needed any more. What is live and should have been named
// there makes a conflict.
type IndexChange struct {
	New, Deleted []spec.IndexEntry
}

// Empty reports whether there is nothing to do.
func (c IndexChange) Empty() bool { return len(c.New)+len(c.Deleted) == 0 }

// Snapshot returns the snapshot that the message went into, 0 while it is not
// committed. A writer's next message for the bucket has it as its Base.
func (m *Message) Snapshot() int64 { return m.snapshot.Load() }

// Replace notes that the rows of the message were committed as of snapshot, but by
// other messages, which were made of it. Its writer then looks at the table anew.
func (m *Message) Replace(snapshot int64) {
	m.state.Store(messageCommitted)
	m.snapshot.Store(snapshot)
	m.replaced.Store(true)
}

// Replaced reports whether Replace was called.
func (m *Message) Replaced() bool { return m.replaced.Load() }

// What became of a message.
const (
	messageOpen int32 = iota // not committed
	messageUnknown
	messageCommitted
)

// Empty implements connector.CommitMessage.
func (m *Message) Empty() bool { return !m.writes() && !m.compacts() }

// writes reports whether the message has a first part.
func (m *Message) writes() bool {
	return len(m.New)+len(m.Deleted)+len(m.Changelog) > 0 || !m.Index.Empty()
}

// compacts reports whether the message has a second part.
func (m *Message) compacts() bool {
	return len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog) > 0 || !m.CompactIndex.Empty()
}

// removes reports whether the first part takes rows away.
func (m *Message) removes() bool {
	if len(m.Deleted) > 0 {
		return true
	}
	for _, list := range [][]spec.IndexEntry{m.Index.New, m.Index.Deleted} {
		for i := range list {
			if list[i].IndexType == spec.IndexDeletionVectors {
				return true
			}
		}
	}
	return false
}

// Rows implements connector.CommitMessage.
func (m *Message) Rows() (n int64) {
	for i := range m.New {
		n += m.New[i].RowCount
	}
	return n
}

// CompactionDropped reports whether Commit gave up the message's compaction,
// because the files it replaces were gone. Its writer then looks at the table
// anew.
func (m *Message) CompactionDropped() bool { return m.dropped.Load() }

func (m *Message) entry(kind spec.FileKind, f spec.DataFileMeta) spec.ManifestEntry {
	return spec.ManifestEntry{Kind: kind, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: f}
}

func (m *Message) indexEntry(e spec.IndexEntry) spec.IndexEntry {
	e.Kind, e.Partition, e.Bucket = spec.FileAdd, m.Partition, m.Bucket
	return e
}

// compactedOnly returns the files that exist only because of the compaction.
func (m *Message) compactedOnly() []spec.DataFileMeta {
	before := map[string]bool{}
	for i := range m.CompactBefore {
		before[m.CompactBefore[i].FileName] = true
	}
	var out []spec.DataFileMeta
	for _, f := range m.CompactAfter {
		if !before[f.FileName] {
			out = append(out, f)
		}
	}
	return append(out, m.CompactChangelog...)
}

// rewritten returns the files that are gone after the compaction.
func (m *Message) rewritten() []spec.DataFileMeta {
	after := map[string]bool{}
	for i := range m.CompactAfter {
		after[m.CompactAfter[i].FileName] = true
	}
	var out []spec.DataFileMeta
	for _, f := range m.CompactBefore {
		if !after[f.FileName] {
			out = append(out, f)
		}
	}
	return out
}
