package read

import (
	"context"
	"errors"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Addressed returns the state of a table without primary key with one column
// more in its batches, after those that are asked for (and those of
// RowTracking): base of the row's data file plus the row's position in it, a
// BIGINT. base is called by several goroutines.
func (st *State) Addressed(base func(e *spec.ManifestEntry) int64) (*State, error) {
	if len(st.schema.PrimaryKeys) > 0 {
		return nil, errs.Internalf("address the rows of table %s: it has a primary key", st.src.Name)
	}
	if evolves(st.schema) {
		return nil, errs.Unsupportedf(-1, "changing rows of tables with '%s' = 'true' (table %s)", evolutionOption, st.src.Name)
	}
	if st.schema.Options[fallbackOption] != "" {
		return nil, errs.Unsupportedf(-1, "changing rows of tables with '%s' (table %s)", fallbackOption, st.src.Name)
	}
	c := *st
	c.address = base
	return &c, nil
}

// addresses appends the column of Addressed to a batch of a file.
func (f *fileReader) addresses(out *vector.Batch) {
	v := vector.New(vector.I64, out.Len)
	base := f.sc.st.address(f.e) + out.Seq
	for i := range out.Len {
		v.AppendI64(base + int64(i))
	}
	out.Cols = append(out.Cols, v)
}

// ReadFile reads one live data file of a table without primary key: the columns,
// then those of RowTracking and Addressed. Rows with deletion vectors are left
// out.
func (st *State) ReadFile(ctx context.Context, e *spec.ManifestEntry, columns []int, budget *memory.Budget) (connector.BatchReader, error) {
	if err := st.src.refuseTable(st.schema); err != nil {
		return nil, err
	}
	from, err := st.schemaOf(ctx, e.File.SchemaID)
	if err == nil {
		err = st.src.refuseFile(from, e)
	}
	if err != nil {
		return nil, err
	}
	sc := &scan{st: st, req: connector.ScanRequest{Columns: columns, Budget: budget}, paths: st.src.paths(st.schema)}
	if sc.deletions, err = st.deletions(ctx); err != nil {
		return nil, err
	}
	sc.schemas = map[int64]*catalog.Schema{from.ID: from}
	l, err := sc.newLayout(from, false)
	if err != nil {
		return nil, err
	}
	sc.layouts = map[layoutKey]*layout{{from.ID, false}: l}
	f, err := sc.openFile(ctx, e, fileOptions{})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// DeletionPositions calls mark with stretches of 64 rows of a data file that has
// a deletion vector: mark(i, word) says which of the rows from 64·i on are
// deleted. It returns the index file that holds the vector, "" when there is
// none.
func (st *State) DeletionPositions(ctx context.Context, e *spec.ManifestEntry, mark func(i int, word uint64)) (string, error) {
	dels, err := st.deletions(ctx)
	if err != nil {
		return "", err
	}
	sc := &scan{st: st, deletions: dels}
	m, err := sc.openDeletions(ctx, e)
	if err != nil || m == nil {
		return "", err
	}
	const step = 1 << 12
	mask := make([]uint64, step/64)
	for at := int64(0); at < e.File.RowCount; at += step {
		n := int(min(step, e.File.RowCount-at))
		clear(mask)
		m.Mask(mask[:(n+63)/64], at, n)
		for i, w := range mask {
			if w != 0 {
				mark(int(at/64)+i, w)
			}
		}
	}
	return dels[e.File.FileName].entry, nil
}

var errNoState = errors.New("the snapshot is not one of a Paimon table")

// StateOf returns the state behind a snapshot.
func StateOf(s connector.Snapshot) (*State, error) {
	if st, ok := s.(*State); ok {
		return st, nil
	}
	return nil, errs.Internalf("change rows: %w", errNoState)
}
