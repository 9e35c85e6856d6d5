package read

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// Opener opens single data files, of any schema that the table had, as rows of
// one schema: what compaction reads. It belongs to one goroutine.
type Opener struct {
	sc *scan
}

// NewOpener makes an Opener for files of the state's bucket, whose batches have
// the given columns of its schema.
func (st *State) NewOpener(ctx context.Context, columns []int, budget *memory.Budget) (*Opener, error) {
	sc := &scan{st: st, req: connector.ScanRequest{Columns: columns, Budget: budget}, paths: st.src.paths(st.schema), once: true,
		schemas: map[int64]*catalog.Schema{}, layouts: map[layoutKey]*layout{}}
	sc.mergeCols = columns
	var err error
	sc.deletions, err = st.deletions(ctx)
	return &Opener{sc: sc}, err
}

// HasDeletions reports whether a data file has a deletion vector.
func (o *Opener) HasDeletions(file string) bool { _, ok := o.sc.deletions[file]; return ok }

// Open opens a file of a primary-key table: batches have the columns, the
// sequence number and the row kind. Deleted rows are left out, by a selection;
// Seq is the position in the file of a batch's first row. filter, whose columns
// are positions in the schema, leaves out parts of the file.
func (o *Opener) Open(ctx context.Context, e *spec.ManifestEntry, filter *connector.Predicate) (connector.BatchReader, error) {
	if err := o.prepare(ctx, e, true); err != nil {
		return nil, err
	}
	f, err := o.sc.openFile(ctx, e, fileOptions{merge: true, seqs: true, kinds: true, filter: filter, keysOnly: true})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenAppend opens a file of a table without primary key.
func (o *Opener) OpenAppend(ctx context.Context, e *spec.ManifestEntry) (connector.BatchReader, error) {
	if err := o.prepare(ctx, e, false); err != nil {
		return nil, err
	}
	f, err := o.sc.openFile(ctx, e, fileOptions{})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// prepare works out how a file's columns become those of the schema.
func (o *Opener) prepare(ctx context.Context, e *spec.ManifestEntry, merge bool) error {
	sc, id := o.sc, e.File.SchemaID
	if sc.layouts[layoutKey{id, merge}] != nil {
		return nil
	}
	s, err := sc.st.schemaOf(ctx, id)
	if err == nil {
		err = sc.st.src.refuseFile(s, e)
	}
	if err != nil {
		return err
	}
	sc.schemas[id] = s
	sc.layouts[layoutKey{id, merge}], err = sc.newLayout(s, merge)
	return err
}
