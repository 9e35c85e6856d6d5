package read

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// HeldRun is a run of rows in memory that lies above the files of its bucket: a
// file of level 0 that was never written.
type HeldRun struct {
	// Entry is what the manifest entry of the file would be.
	Entry spec.ManifestEntry
	// Schema is the one that the rows were made by.
	Schema *catalog.Schema
	// Batches have the columns of Schema, all rows counting, and of tables with a
	// primary key the sequence numbers (I64) and row kinds (I32) after them, by key.
	Batches []*vector.Batch
}

// held are the runs of a state, and what it is of.
type held struct {
	runs     []HeldRun
	position string
}

// Live returns the state of a snapshot with runs on top, as of a position of the
// pipeline that they come from. A negative schema is the newest. Where the options
// of the table name what is to be read, it is that.
func (s *Source) Live(ctx context.Context, base, schema int64, position string, runs func(ctx context.Context) ([]HeldRun, error)) (*State, error) {
	newest, err := s.NewestSchema(ctx)
	if err != nil {
		return nil, err
	}
	if travels(newest.Options) {
		return s.byOptions(ctx, newest, nil)
	}
	as := newest
	if schema >= 0 && schema != newest.ID {
		was, err := s.Schema(ctx, schema)
		if err != nil {
			return nil, err
		}
		c := *was
		c.Options = newest.Options
		as = &c
	}
	if err := s.refuseLive(as); err != nil {
		return nil, err
	}
	snap, err := s.read(ctx, base)
	if errs.Is(err, errs.FileNotFound) {
		return nil, errs.New(errs.Unavailable, errs.FilesVanished, "read table %s live: its snapshot %d is gone; run the statement again", s.Name, base)
	}
	if err != nil {
		return nil, err
	}
	st := NewState(s, snap, as)
	st.level0 = showLevel0 // whether compaction has come to the newest rows is no matter
	st.held = &held{position: position}
	st.held.runs, err = runs(ctx)
	return st, err
}

// refuseLive names what keeps rows in memory from being read with those in files.
func (s *Source) refuseLive(schema *catalog.Schema) error {
	no := func(format string, args ...any) error {
		return errs.Unsupportedf(-1, "live reads of tables with "+format+" (table "+s.Name+"); SET lake_freshness = 'committed'", args...)
	}
	g, err := merge.NewRules(s.Name, schema)
	if err != nil {
		return err
	}
	o := spec.NewOptions(schema.Options)
	switch {
	case g.Combines():
		return no("'merge-engine' = '%s', whose rows are made of several when they are committed", o.String("merge-engine", ""))
	case len(schema.PrimaryKeys) > 0 && o.Int("bucket", 0) == spec.PostponeBucket:
		return no("'bucket' = '%d', whose rows get their buckets when they are compacted", spec.PostponeBucket)
	case evolves(schema):
		return no("'data-evolution.enabled' = 'true'")
	case strings.TrimSpace(o.String(fallbackOption, "")) != "":
		return no("'%s'", fallbackOption)
	}
	return o.Err
}

// LivePosition implements connector.LiveSnapshot.
func (st *State) LivePosition() string {
	if st.held == nil {
		return ""
	}
	return st.held.position
}

// hold adds the held runs to the live files.
func (l *liveFiles) hold(st *State, part *partitionFilter) error {
	if st.held == nil || len(st.held.runs) == 0 {
		return nil
	}
	x := spec.NewEntries(len(st.held.runs))
	for i := range st.held.runs {
		x.Add(&st.held.runs[i].Entry)
		if part != nil {
			if ok, err := part.partition(st.held.runs[i].Entry.Partition); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		l.files = append(l.files, spec.Ref{Set: uint32(len(l.sets)), Index: uint32(i)})
	}
	x.Done()
	l.sets = append(l.sets, x)
	return nil
}

// run returns the held run that an entry stands for, nil when it is a file.
func (h *held) run(e *spec.ManifestEntry) *HeldRun {
	if h == nil || !strings.HasPrefix(e.File.FileName, "held-") {
		return nil
	}
	for i := range h.runs {
		if r := &h.runs[i]; r.Entry.File.FileName == e.File.FileName {
			return r
		}
	}
	return nil
}

// heldReader reads the columns of a held run: format.Reader.
type heldReader struct {
	run      *HeldRun
	cols     []int // positions in the run's batches
	most     int   // rows of a batch
	at       int   // the batch
	from, to int64 // rows to read
	first    int64 // of the batch
	out      vector.Batch
}

func newHeldReader(r *HeldRun, o format.ReadOptions) (*heldReader, error) {
	h := &heldReader{run: r, most: o.BatchRows, to: r.Entry.File.RowCount}
	if h.most <= 0 || h.most > vector.MaxBatchRows {
		h.most = vector.BatchRows
	}
	if o.Parts > 1 {
		h.from, h.to = h.to*int64(o.Part)/int64(o.Parts), h.to*int64(o.Part+1)/int64(o.Parts)
	}
	n := len(r.Schema.Fields)
	for _, c := range o.Columns {
		at := fieldByID(r.Schema, c.ID)
		switch c.ID {
		case spec.SequenceID:
			at = n
		case spec.KindID:
			at = n + 1
		}
		if at < 0 || len(r.Batches) > 0 && at >= len(r.Batches[0].Cols) {
			return nil, errs.Internalf("read held rows: no column %q", c.Name)
		}
		h.cols = append(h.cols, at)
	}
	h.out.Cols = make([]*vector.Vec, len(h.cols))
	return h, nil
}

// Rows implements format.Reader.
func (h *heldReader) Rows() int64 { return h.run.Entry.File.RowCount }

// Next implements connector.BatchReader.
func (h *heldReader) Next(context.Context) (*vector.Batch, error) {
	for h.at < len(h.run.Batches) && h.from < h.to {
		b := h.run.Batches[h.at]
		begin := int(h.from - h.first)
		if begin >= b.Len {
			h.first += int64(b.Len)
			h.at++
			continue
		}
		n := int(min(int64(min(b.Len-begin, h.most)), h.to-h.from))
		h.out.Len, h.out.Seq = n, h.from
		var sel []uint16
		if n < b.Len {
			sel = make([]uint16, n)
			for i := range sel {
				sel[i] = uint16(begin + i)
			}
		}
		for i, c := range h.cols {
			if h.out.Cols[i] = b.Cols[c]; sel != nil {
				h.out.Cols[i] = b.Cols[c].Gather(sel)
			}
		}
		h.from += int64(n)
		return &h.out, nil
	}
	return nil, nil
}

// Close implements connector.BatchReader.
func (h *heldReader) Close() error {
	h.to = 0
	return nil
}

var _ connector.LiveSnapshot = (*State)(nil)
