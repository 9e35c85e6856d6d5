// Package scan turns a snapshot of a table into streams of batches: it plans
// the splits with pushed-down columns and filters, groups them into ranges that
// workers read in parallel, and opens the next split of a range while the
// current one is read.
//
// Invariants: the ranges of a scan depend on its splits alone, never on the
// number of threads, and every range is read in the order of its splits. So
// whoever combines what ranges give in their order gets the same result however
// many workers there were. Every goroutine that a reader starts has ended when
// its Close returns.
//
// Start reading at Open, then Source.
package scan

import (
	"context"
	"fmt"
	"runtime"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Options are the session switches that change how a statement is executed,
// never what it answers.
type Options struct {
	// NoPruning makes filters be evaluated on all rows (SET lake_pruning = OFF).
	NoPruning bool
	// NoPages makes pages of files be read and decompressed although they are kept
	// (SET lake_page_cache = OFF), and keeps none.
	NoPages bool
	// Threads is the number of workers (lake_threads); 0 is GOMAXPROCS.
	Threads int
	// BatchRows is the most rows of a batch (lake_batch_rows); 0 is
	// vector.BatchRows.
	BatchRows int
	// Memory is the most bytes one query may hold (lake_query_memory); 0 leaves
	// it to the budget above.
	Memory int64
	// NoSpill keeps operators from writing rows to disk (lake_spill): a query that
	// needs more memory than it may have fails.
	NoSpill bool
	// ForceSpill makes operators write every batch that they would keep, for tests.
	ForceSpill bool
}

// Workers returns the number of workers to use.
func (o Options) Workers() int {
	if o.Threads > 0 {
		return o.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Rows returns the most rows of a batch.
func (o Options) Rows() int {
	if o.BatchRows <= 0 {
		return vector.BatchRows
	}
	return min(o.BatchRows, vector.MaxBatchRows)
}

// maxRanges bounds the ranges of a scan: enough for any number of workers to be
// busy, few enough that per-range state stays small.
const maxRanges = 64

// Source is a planned scan. It is immutable and safe for concurrent use.
type Source struct {
	plan   *connector.Plan
	ranges [][]connector.Split
}

// Request says what to scan.
type Request struct {
	// Columns are positions in the snapshot's schema, in the batches' order.
	Columns []int
	// Filter is a hint to leave out rows that do not satisfy it; the caller
	// evaluates its condition again.
	Filter  *connector.Predicate
	Options Options
	// Budget pays for what the readers hold, and until it is closed for the plan.
	Budget *memory.Budget
	// Reads, when set, counts what the readers read.
	Reads *connector.Reads
}

// Open plans the scan of a snapshot.
func Open(ctx context.Context, snap connector.Snapshot, req Request) (*Source, error) {
	p, err := snap.Plan(ctx, connector.ScanRequest{
		Columns: req.Columns, Filter: req.Filter, NoPruning: req.Options.NoPruning, NoPages: req.Options.NoPages,
		BatchRows: req.Options.Rows(), Budget: req.Budget, Reads: req.Reads,
	})
	if err != nil {
		return nil, err
	}
	// A plan of a million files is no small thing. Whoever owns the budget gives it
	// back by closing it.
	if err := req.Budget.Reserve(p.Memory); err != nil {
		return nil, fmt.Errorf("plan the scan of %d files: %w", p.Files, err)
	}
	return &Source{plan: p, ranges: group(p.Splits)}, nil
}

// group cuts the splits into at most maxRanges runs of about the same bytes.
func group(splits []connector.Split) [][]connector.Split {
	if len(splits) <= maxRanges {
		out := make([][]connector.Split, len(splits))
		for i := range splits {
			out[i] = splits[i : i+1 : i+1]
		}
		return out
	}
	weight := func(s connector.Split) int64 { return max(1, s.Bytes()) }
	total := int64(0)
	for _, s := range splits {
		total += weight(s)
	}
	var out [][]connector.Split
	start, sum := 0, int64(0)
	for i, s := range splits {
		sum += weight(s)
		// The range ends where the running sum reaches its share, or where the
		// splits left are only just enough for the ranges left.
		if sum*maxRanges >= total*int64(len(out)+1) || i == len(splits)-1 {
			if len(out) == maxRanges-1 {
				break
			}
			out = append(out, splits[start:i+1:i+1])
			start = i + 1
		}
	}
	if start < len(splits) {
		out = append(out, splits[start:])
	}
	return out
}

// Ranges returns the number of ranges, which can be read independently.
func (s *Source) Ranges() int { return len(s.ranges) }

// Plan returns what the connector planned.
func (s *Source) Plan() *connector.Plan { return s.plan }

// Rows estimates the rows of all ranges.
func (s *Source) Rows() (n int64) {
	for _, x := range s.plan.Splits {
		n += x.Rows()
	}
	return n
}

// Reader reads the splits of range i one after the other. It belongs to one
// goroutine. Its methods follow connector.BatchReader.
func (s *Source) Reader(i int) connector.BatchReader { return &rangeReader{splits: s.ranges[i]} }
