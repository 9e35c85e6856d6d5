package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Verified is what the comparison of a lake table with its source gave.
type Verified struct {
	Table string
	// Rows of the source were compared; Changing ones were changed while it was
	// compared and tell nothing.
	Rows, Changing int64
	// Count is the number of rows that differ; Differences are the first hundred.
	Count       int64
	Differences []Difference
	// Skipped says why the table was not compared, "" when it was.
	Skipped string
}

// Difference is a row that the lake has otherwise than the source.
type Difference struct {
	Key  string // column = value, …
	What string // "missing in the lake", "not in the source", "other values"
}

const shownDifferences = 100

// Verify compares the lake tables of a pipeline with their source, row by row,
// while the pipeline runs or not, and changes nothing. The lake is read at a
// snapshot whose position of the source is known, the source at one consistent
// read after it; rows that the source's log has changed between the two are left
// out. What depends on how a row came (op_ts, UUID(), …) is not compared.
func Verify(ctx context.Context, o Options, def *pipeline.Definition) ([]Verified, error) {
	return verify(ctx, o, def, 0)
}

// verify is Verify of at most so many rows a second, of the source and of the lake;
// 0 is all that can be.
func verify(ctx context.Context, o Options, def *pipeline.Definition, rowsPerSecond int64) (out []Verified, err error) {
	// A reader with the pipeline's own server-id would cut off the running one.
	d := *def
	d.Source.Options = slices.DeleteFunc(slices.Clone(def.Source.Options), func(x source.Option) bool { return x.Key == "server-id" })
	p, err := newRun(o, &d)
	if err != nil {
		return nil, err
	}
	v := newVerifier(p)
	v.rate, v.began = rowsPerSecond, time.Now()
	if v.src, err = p.openSource(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.src.Close()) }()
	if err := v.src.Check(ctx); err != nil {
		return nil, err
	}
	if err := v.pin(ctx); err != nil {
		return nil, err
	}
	if err := v.read(ctx); err != nil {
		return nil, err
	}
	for _, t := range v.tables {
		out = append(out, t.Verified)
	}
	return out, nil
}

// keyHash identifies a lake row.
type keyHash [2]uint64

type verifier struct {
	p      *run
	src    source.Source
	seeds  [3]maphash.Seed
	tables []*verified

	rate  int64 // rows a second, 0: any
	began time.Time
	rows  int64 // since then
}

// pace waits so that rows are read no faster than they may be.
func (v *verifier) pace(ctx context.Context, rows int) error {
	if v.rate <= 0 {
		return nil
	}
	v.rows += int64(rows)
	ahead := time.Duration(float64(v.rows)/float64(v.rate)*float64(time.Second)) - time.Since(v.began)
	if ahead < 10*time.Millisecond {
		return nil
	}
	select {
	case <-time.After(ahead):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verified is one lake table while it is compared.
type verified struct {
	Verified
	defs   []*source.Table
	shapes []*transform.Shape
	at     source.Position // that the lake snapshot has at least
	lake   connector.Snapshot
	keys   []int  // positions of key columns in the lake
	steady []bool // by lake column: it is compared
	soft   bool   // deleted rows stay in the lake
	from   []int  // positions of defs among all source tables
	moving map[keyHash]bool
	types  []expr.Type
}

func (t *verified) skip(format string, args ...any) { t.Skipped = fmt.Sprintf(format, args...) }

// pin pins a snapshot of each lake table and the position that it has.
func (v *verifier) pin(ctx context.Context) error {
	p := v.p
	lake, err := p.openLake(ctx)
	if err != nil {
		return err
	}
	state, err := sink.ReadState(ctx, lake.Files, sink.StateDir(lake.Root, p.name()))
	if err != nil {
		return err
	}
	if state == nil {
		return errs.Userf(errs.InvalidConfig, "verify pipeline %s: it has not run yet on the warehouse %s", p.name(), lake.Root)
	}
	var low source.Position
	if state.Position != "" {
		if low, err = v.src.ParsePosition(state.Position); err != nil {
			return err
		}
	}
	var kept []source.ID
	for _, st := range state.Tables {
		for _, d := range st.Sources {
			kept = append(kept, d.ID)
		}
	}
	targets, err := p.resolve(ctx, v.src, kept)
	if err != nil {
		return err
	}
	for _, target := range targets {
		t := &verified{Verified: Verified{Table: target.ID.String()}, moving: map[keyHash]bool{}}
		v.tables = append(v.tables, t)
		st := state.Tables[t.Table]
		switch {
		case st == nil || !st.Copied:
			t.skip("it is not copied yet")
			continue
		case st.Recopy:
			t.skip("it is being copied again")
			continue
		case st.Stopped != "":
			t.skip("it is stopped: %s", st.Stopped)
			continue
		}
		if err := t.open(ctx, v, lake.Catalog, target.ID, st, low, target.ShardKey); err != nil {
			return err
		}
	}
	return nil
}

func (t *verified) open(ctx context.Context, v *verifier, c catalog.Catalog, id catalog.Identifier, st *sink.TableState, low source.Position, shard string) error {
	tb, err := c.Table(ctx, id)
	if err != nil {
		return err
	}
	w, ok := tb.(connector.Writable)
	r, ok2 := tb.(connector.Readable)
	if !ok || !ok2 {
		t.skip("its rows are not kept")
		return nil
	}
	commit, err := w.NewCommit(ctx, v.p.user())
	if err != nil {
		return err
	}
	own, err := commit.LatestOwn(ctx)
	if err != nil {
		return err
	}
	if own != nil {
		if own.Properties[sink.PropPhase] != "stream" && own.Properties[sink.PropChunks] != "" {
			t.skip("it is not copied yet")
			return nil
		}
		if t.at, err = v.src.ParsePosition(own.Properties[sink.PropPosition]); err != nil {
			return err
		}
	}
	if low != nil && (t.at == nil || low.Covers(t.at)) {
		t.at = low
	}
	if t.at == nil {
		t.skip("its position in the source is not known")
		return nil
	}
	if t.lake, err = r.Snapshot(ctx, catalog.Ref{}); err != nil {
		return err
	}
	schema := t.lake.Schema()
	for _, f := range schema.Fields {
		x, err := expr.FromColumn(f, schema.MySQLType(f))
		if err != nil {
			return err
		}
		t.types = append(t.types, x)
	}
	for _, d := range st.Sources {
		c := *d
		s, err := v.p.rules.Bind(&c, shard)
		if err == nil {
			s.Leave(st.Ignored[d.ID.String()])
			if err = s.Fit(schema); err == nil {
				err = s.Keys(keysOf(schema), false)
			}
		}
		if err != nil {
			t.skip("%v", err)
			return nil
		}
		c.BeforeImages = true
		t.add(&c, s)
	}
	t.comparable()
	return nil
}

// compared returns the tables that are compared.
func (v *verifier) compared() (out []*verified) {
	for _, t := range v.tables {
		if t.Skipped == "" {
			out = append(out, t)
		}
	}
	return out
}

// read takes one consistent read of the source, leaves out what has changed since
// the lake's positions, and compares.
func (v *verifier) read(ctx context.Context) (err error) {
	var ids []source.ID
	for _, t := range v.compared() {
		for _, d := range t.defs {
			i := slices.Index(ids, d.ID)
			if i < 0 {
				i = len(ids)
				ids = append(ids, d.ID)
			}
			t.from = append(t.from, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	sn, err := v.src.Snapshot(ctx, ids)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	for _, t := range v.compared() {
		for k, d := range t.defs {
			if !sameColumns(d, sn.Tables()[t.from[k]]) {
				t.skip("its definition in the source has changed and the lake has not followed yet")
			}
		}
	}
	for _, t := range v.compared() {
		if err := v.changing(ctx, t, sn.Position()); err != nil {
			return err
		}
	}
	for _, t := range v.compared() {
		if err := v.compare(ctx, t, sn, shower{t}); err != nil {
			return err
		}
	}
	return nil
}

func sameColumns(a, b *source.Table) bool {
	return slices.EqualFunc(a.Columns, b.Columns, func(x, y source.Column) bool {
		return x.Name == y.Name && x.Type.Nullable().Equal(y.Type.Nullable()) && x.Declared == y.Declared && compact(x.Native) == compact(y.Native)
	})
}

// compact is JSON without blanks: the state file indents it.
func compact(j json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, j) != nil {
		return string(j)
	}
	return b.String()
}

// changing collects the rows that the log changes from the lake's position to the
// consistent read.
func (v *verifier) changing(ctx context.Context, t *verified, to source.Position) (err error) {
	if t.at.Covers(to) {
		return nil
	}
	src, err := v.p.openSource()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := src.Check(ctx); err != nil {
		return err
	}
	st, err := src.Stream(ctx, t.at, t.defs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for !st.Position().Covers(to) {
		ev, err := st.Next(ctx)
		if err != nil {
			return err
		}
		switch ev.Kind {
		case source.RowsEvent:
			err = v.each(t, ev.Table, ev.Rows, nil, func(b *vector.Batch, i int) error {
				t.moving[v.key(t, b, i)] = true
				return nil
			})
			if len(t.moving) > mostMoving {
				t.skip("more than %d of its rows changed since the lake's position; verify it when the pipeline has caught up", mostMoving)
				return nil
			}
		case source.AlterEvent, source.TruncateEvent, source.DropEvent, source.RowsLostEvent, source.StopEvent:
			t.skip("its source is changing: %s", t.defs[ev.Table].ID)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each decodes rows of the k-th source table and calls f with the lake rows.
func (v *verifier) each(t *verified, k int, rows source.Rows, ends func(rows int) error, f func(b *vector.Batch, i int) error) error {
	s := t.shapes[k]
	var seq int64
	b := s.NewBatch(vector.BatchRows)
	for {
		b.Reset()
		end := rows.AppendTo(b, vector.BatchRows-1, 1<<20)
		if end != nil && !errors.Is(end, source.EOF) {
			return end
		}
		if s.Wants() {
			s.Stamp(b, transform.Origin{}, &seq)
		}
		out, err := s.Apply(b)
		if err != nil {
			return err
		}
		for i := range out.Rows() {
			if err := f(out, out.Row(i)); err != nil {
				return err
			}
		}
		if ends != nil {
			if err := ends(out.Rows()); err != nil {
				return err
			}
		}
		if end != nil {
			return nil
		}
	}
}

func (v *verifier) key(t *verified, b *vector.Batch, i int) keyHash {
	var buf [64]byte
	x := buf[:0]
	for _, c := range t.keys {
		x = appendValue(x, b.Cols[c], i)
	}
	return keyHash{maphash.Bytes(v.seeds[0], x), maphash.Bytes(v.seeds[1], x)}
}

func (v *verifier) values(t *verified, b *vector.Batch, i int) uint64 {
	var buf [256]byte
	x := buf[:0]
	for c, ok := range t.steady {
		if ok {
			x = appendValue(x, b.Cols[c], i)
		}
	}
	return maphash.Bytes(v.seeds[2], x)
}

// appendValue appends a value so that different rows give different bytes.
func appendValue(x []byte, c *vector.Vec, i int) []byte {
	if c.IsNull(i) {
		return append(x, 0)
	}
	x = append(x, 1)
	w, at := c.Values(), c.At(i)
	switch c.Kind {
	case vector.I8:
		return append(x, byte(w.I8s[at]))
	case vector.I32:
		return binary.LittleEndian.AppendUint32(x, uint32(w.I32s[at]))
	case vector.I64:
		return binary.LittleEndian.AppendUint64(x, uint64(w.I64s[at]))
	case vector.F32:
		return binary.LittleEndian.AppendUint32(x, math.Float32bits(w.F32s[at]))
	case vector.F64:
		return binary.LittleEndian.AppendUint64(x, math.Float64bits(w.F64s[at]))
	case vector.Str:
		s := c.Bytes(i)
		return append(binary.LittleEndian.AppendUint32(x, uint32(len(s))), s...)
	}
	text := vector.AppendDecimalText(nil, c, i, 0)
	return append(binary.LittleEndian.AppendUint32(x, uint32(len(text))), text...)
}

func (t *verified) keyText(b *vector.Batch, i int) string {
	var parts []string
	for _, c := range t.keys {
		f := t.lake.Schema().Fields[c]
		e, err := expr.Stored(c, f, t.lake.Schema().MySQLType(f), f.Name)
		text := "?"
		if err == nil {
			one := *b
			one.Sel = []uint16{uint16(i)}
			if v, err := e.Eval(expr.NewContext(), &one); err == nil && !v.IsNull(i) {
				text = string(expr.AppendText(nil, t.types[c], v, i, time.UTC))
			}
		}
		parts = append(parts, f.Name+" = "+text)
	}
	return strings.Join(parts, ", ")
}

func (t *verified) differs(what string, b *vector.Batch, i int) {
	t.Count++
	if len(t.Differences) < shownDifferences {
		t.Differences = append(t.Differences, Difference{t.keyText(b, i), what})
	}
}

// mostMoving is how many changing rows are remembered.
const mostMoving = 2_000_000

// bytesOfRow is what a row of the source takes while it waits for the lake's.
const bytesOfRow = 64

// verifyBytes is how much of the memory a pass takes at most.
const verifyBytes = 128 << 20

// comparison is told what differs. Batches are the lake's rows: those of the source
// where they are missing or changed, those of the lake where they are too many.
type comparison interface {
	missing(b *vector.Batch, i int) error
	changed(b *vector.Batch, i int) error
	surplus(b *vector.Batch, i int) error
	// batchEnds comes before a batch is used again.
	batchEnds() error
}

// shower keeps differences to be shown.
type shower struct{ t *verified }

func (s shower) missing(b *vector.Batch, i int) error {
	s.t.differs("missing in the lake", b, i)
	return nil
}

func (s shower) changed(b *vector.Batch, i int) error {
	s.t.differs("other values", b, i)
	return nil
}

func (s shower) surplus(b *vector.Batch, i int) error {
	s.t.differs("not in the source", b, i)
	return nil
}

func (shower) batchEnds() error { return nil }

// compare compares a table, in passes that each hold a part of its keys: one reading
// of the source, one of the lake, and where rows are missing or changed another of
// the source.
func (v *verifier) compare(ctx context.Context, t *verified, sn source.Snapshot, out comparison) error {
	var rows int64
	for _, d := range t.from {
		rows += max(sn.Tables()[d].Rows, 0)
	}
	passes := uint64(rows*bytesOfRow/verifyBytes + 1)
	if err := v.p.budget.Reserve(verifyBytes); err != nil {
		return err
	}
	defer v.p.budget.Release(verifyBytes)
	for pass := range passes {
		mine := func(k keyHash) bool { return k[0]%passes == pass }
		want := map[keyHash]uint64{}
		if err := v.eachSource(ctx, t, sn, nil, func(b *vector.Batch, i int) error {
			if k := v.key(t, b, i); mine(k) {
				want[k] = v.values(t, b, i)
				t.Rows++
			}
			return nil
		}); err != nil {
			return err
		}
		changed := map[keyHash]bool{}
		if err := v.eachLake(ctx, t, out.batchEnds, func(b *vector.Batch, i int) error {
			k := v.key(t, b, i)
			if !mine(k) {
				return nil
			}
			x, ok := want[k]
			delete(want, k)
			switch {
			case t.moving[k]:
			case !ok && !t.soft:
				return out.surplus(b, i)
			case ok && x != v.values(t, b, i):
				changed[k] = true
			}
			return nil
		}); err != nil {
			return err
		}
		for k := range want {
			if t.moving[k] {
				delete(want, k)
			}
		}
		if len(want)+len(changed) == 0 {
			continue
		}
		if err := v.eachSource(ctx, t, sn, out.batchEnds, func(b *vector.Batch, i int) error {
			k := v.key(t, b, i)
			if !mine(k) {
				return nil
			}
			if _, missing := want[k]; missing {
				return out.missing(b, i)
			}
			if changed[k] {
				return out.changed(b, i)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	t.Changing = int64(len(t.moving))
	return nil
}

// eachSource calls f with the lake rows that the source's consistent read gives.
func (v *verifier) eachSource(ctx context.Context, t *verified, sn source.Snapshot, ends func() error, f func(b *vector.Batch, i int) error) error {
	for k, i := range t.from {
		rows, err := sn.Read(ctx, i)
		if err != nil {
			return err
		}
		err = v.each(t, k, rows, func(n int) error {
			if err := v.pace(ctx, n); err != nil || ends == nil {
				return err
			}
			return ends()
		}, f)
		if err = errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) eachLake(ctx context.Context, t *verified, ends func() error, f func(b *vector.Batch, i int) error) error {
	cols := make([]int, len(t.lake.Schema().Fields))
	for i := range cols {
		cols[i] = i
	}
	plan, err := t.lake.Plan(ctx, connector.ScanRequest{Columns: cols, Budget: v.p.budget})
	if err != nil {
		return err
	}
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			return err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil || b == nil {
				if err = errors.Join(err, r.Close()); err != nil {
					return err
				}
				break
			}
			for i := range b.Rows() {
				if err == nil {
					err = f(b, b.Row(i))
				}
			}
			if err == nil {
				err = ends()
			}
			if err == nil {
				err = v.pace(ctx, b.Rows())
			}
			if err != nil {
				return errors.Join(err, r.Close())
			}
		}
	}
	return nil
}

// WriteVerified prints the result for people and returns an error when the lake
// differs.
func WriteVerified(w io.Writer, list []Verified) error {
	var differ int64
	for _, t := range list {
		var err error
		switch {
		case t.Skipped != "":
			_, err = fmt.Fprintf(w, "%s: not compared: %s\n", t.Table, t.Skipped)
		case t.Count == 0:
			_, err = fmt.Fprintf(w, "%s: %d rows are the same, %d were changing\n", t.Table, t.Rows, t.Changing)
		default:
			_, err = fmt.Fprintf(w, "%s: %d of %d rows differ\n", t.Table, t.Count, t.Rows)
		}
		for _, d := range t.Differences {
			if err == nil {
				_, err = fmt.Fprintf(w, "  %s: %s\n", d.Key, d.What)
			}
		}
		if err != nil {
			return err
		}
		differ += t.Count
	}
	if differ > 0 {
		return errs.New(errs.User, errs.TableStopped, "verify: %d row(s) of the lake differ from the source; copy a table again with CALL sys.resnapshot('pipeline', 'database.table')", differ)
	}
	return nil
}
