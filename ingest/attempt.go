package ingest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/route"
	"github.com/thermocline/thermocline/ingest/sink"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
)

// attempt is one try: from the last committed position until something breaks.
type attempt struct {
	p        *run
	src      source.Source
	set      *sink.Set
	targets  map[string]route.Target
	reached  bool // the source answered
	progress bool // something was committed
	warned   map[source.ID]time.Time
	doubt    bool // a commit failed: nobody may assume that this epoch is over
	work     context.Context
	heals    int // times that the log did not lead on
	pokeMu   sync.Mutex
	poked    func()
	asides   *asides         // copies beside the stream
	came     source.Position // where new tables begin that are not copied; nil: unknown
}

// drainTime is how long a pipeline that is asked to end may go on to commit.
const drainTime = 20 * time.Second

// name is the pipeline's identity: its name, or else its file's.
func (p *run) name() string {
	if p.def.Name != "" {
		return p.def.Name
	}
	base := path.Base(p.def.File)
	if n := strings.TrimSuffix(base, path.Ext(base)); n != "" && n != "." && n != "/" {
		return n
	}
	return "pipeline"
}

// user is the commit user of the pipeline's snapshots.
func (p *run) user() string {
	u := "cdc-" + p.name()
	if x := p.def.Sink.UserPrefix; x != "" {
		u = x + "-" + u
	}
	return u
}

// openLake opens the warehouse of the sink.
func (p *run) openLake(ctx context.Context) (*Lake, error) {
	if p.def.Sink.Type == "values" {
		v := &sink.Values{}
		if p.def.Sink.Print {
			v.Out = p.o.Out
		}
		return &Lake{Catalog: v}, nil
	}
	if p.o.OpenLake == nil {
		return nil, errs.Unsupportedf(-1, "the sink type %s here", p.def.Sink.Type)
	}
	return p.o.OpenLake(ctx, p.def.Sink.Catalog)
}

// run connects, finds out where each table stands, copies what was not copied,
// and follows. It returns nil when ctx ended and everything read is committed,
// or when a bounded pipeline is done.
func (a *attempt) run(ctx context.Context) (err error) {
	// Commits go on for a while after ctx has ended.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(drainTime):
			cancel()
		case <-work.Done():
		}
	})
	defer stop()
	a.work = work

	if a.src, err = a.p.openSource(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.src.Close()) }()
	if err := a.src.Check(ctx); err != nil {
		return err
	}
	a.reached = true
	if r, ok := a.src.(source.Retaining); ok {
		d, err := r.Retention(ctx)
		if err != nil {
			return err
		}
		a.p.set(func(s *Status) { s.Retention = d })
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	defer func() {
		if e := a.set.Close(work, !a.doubt); e != nil && err == nil {
			err = e
		}
		a.showTables()
	}()
	defer a.measure(ctx)()
	a.asides = newAsides(ctx, a)
	defer a.asides.close()
	a.showTables()
	if a.bounded() || !a.followed() && !slices.ContainsFunc(a.set.Tables, (*sink.Table).Replaces) { // otherwise new tables are copied beside the stream of the others
		if err := a.copyAll(ctx); err != nil {
			return err
		}
	}
	if a.bounded() && !a.copying() {
		return a.stopReasons()
	}
	return a.follow(ctx)
}

// followed reports whether there are tables to be followed.
func (a *attempt) followed() bool {
	return slices.ContainsFunc(a.set.Tables, func(t *sink.Table) bool { return t.Stopped == "" && t.Start != nil })
}

// bounded reports whether the pipeline ends with the copy.
func (a *attempt) bounded() bool { return a.p.def.Source.Startup == pipeline.SnapshotOnly }

// copying reports whether tables are being copied in chunks.
func (a *attempt) copying() bool {
	return slices.ContainsFunc(a.set.Tables, func(t *sink.Table) bool { return t.Copying != nil && t.Stopped == "" })
}

// open resolves the tables and opens the lake's.
func (a *attempt) open(ctx context.Context) error {
	p := a.p
	identity, err := a.src.Identity(ctx)
	if err != nil {
		return err
	}
	lake, err := p.openLake(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.root = lake.Root
	p.mu.Unlock()
	dir := sink.StateDir(lake.Root, p.name())
	state, err := sink.ReadState(ctx, lake.Files, dir)
	if err != nil {
		return err
	}
	var kept []source.ID
	if state != nil {
		for _, t := range state.Tables {
			for _, d := range t.Sources {
				kept = append(kept, d.ID)
			}
		}
	}
	targets, err := p.resolve(ctx, a.src, kept)
	if err != nil {
		return err
	}
	specs := make([]sink.Spec, len(targets))
	a.targets = map[string]route.Target{}
	for i, t := range targets {
		specs[i] = sink.Spec{ID: t.ID, Sources: t.Sources, ShardKey: t.ShardKey}
		a.targets[t.ID.String()] = t
	}
	var adopt func(context.Context, source.Position) (source.Position, error)
	if s, ok := a.src.(source.Adopting); ok {
		adopt = s.Adopt
	}
	p.openLive(lake, identity, targets)
	a.set, err = sink.Open(ctx, sink.Options{Live: p.live, Adopt: adopt, Catalog: lake.Catalog, Files: lake.Files, Dir: dir, Pipeline: p.name(), User: p.user(), Identity: identity,
		Parse: a.src.ParsePosition, Budget: p.budget, Log: p.log, State: state, Rules: p.rules, Policy: p.policy()}, specs)
	if err != nil {
		return err
	}
	for _, t := range a.set.Tables {
		if err := a.define(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// define makes sure that a resumed table has its definitions and the sources
// that it was copied from.
func (a *attempt) define(ctx context.Context, t *sink.Table) error {
	if t.NeedsCopy() || t.Stopped != "" {
		return nil
	}
	if t.Definitions == nil {
		tables, err := a.src.Describe(ctx, t.Sources)
		if err != nil {
			return err
		}
		if _, _, err := a.p.lakeSchema(a.targets[t.ID.String()], tables); err != nil {
			return err
		}
		return a.set.Define(t, tables)
	}
	same := len(t.Definitions) == len(t.Sources)
	for _, d := range t.Definitions {
		same = same && slices.Contains(t.Sources, d.ID)
	}
	if !same && a.p.def.Source.NewTables == pipeline.CopyNew && a.p.def.Source.Startup == pipeline.Initial && !slices.ContainsFunc(t.Definitions, func(d *source.Table) bool { return !slices.Contains(t.Sources, d.ID) }) {
		a.p.log.Warn("more tables feed the lake table than when it was copied; it is copied again", "table", t.ID.String())
		return a.set.Recopy(a.work, t, false)
	}
	if !same {
		return errs.Userf(errs.InvalidConfig, "start pipeline %s: other tables feed %s than when it was copied; drop the lake table to copy it again, or change the routes back", a.p.name(), t.ID)
	}
	return nil
}

// copyAll copies the tables that have not been copied. Each becomes visible
// when it is complete.
func (a *attempt) copyAll(ctx context.Context) error {
	for {
		var pending []*sink.Table
		for _, t := range a.set.Tables {
			if t.NeedsCopy() {
				pending = append(pending, t)
			}
		}
		if len(pending) == 0 {
			return nil
		}
		a.p.set(func(s *Status) { s.State, s.Error = Snapshotting, "" })
		if err := a.set.Intend(a.work, pending); err != nil {
			return err
		}
		copyThem := a.copyOnce
		switch a.p.def.Source.Startup {
		case pipeline.LatestOffset, pipeline.EarliestOffset, pipeline.SpecificOffset, pipeline.Timestamp:
			copyThem = a.startEmpty
		}
		if err := copyThem(ctx, pending); err != nil {
			return err
		}
		a.showTables()
	}
}

// startPosition is where tables begin that are not copied.
func (a *attempt) startPosition(ctx context.Context) (source.Position, time.Time, error) {
	mode := a.p.def.Source.Startup
	if mode == pipeline.LatestOffset {
		pos, err := a.src.Current(ctx)
		return pos, time.Time{}, err
	}
	s, ok := a.src.(source.Starting)
	if !ok {
		return nil, time.Time{}, errs.Unsupportedf(-1, "scan.startup.mode: %s with this source", mode)
	}
	return s.StartAt(ctx, string(mode))
}

// startEmpty begins tables empty, at the position of the startup mode.
func (a *attempt) startEmpty(ctx context.Context, pending []*sink.Table) error {
	pos, _, err := a.startPosition(ctx)
	if err != nil {
		return err
	}
	for _, t := range pending {
		tables, err := a.src.Describe(ctx, t.Sources)
		if err != nil {
			return err
		}
		if err := a.create(ctx, t, tables); err != nil {
			return err
		}
		if _, err := a.set.CommitCopy(a.work, t, pos); err != nil {
			a.doubt = true
			return err
		}
	}
	return nil
}

func (a *attempt) create(ctx context.Context, t *sink.Table, tables []*source.Table) error {
	schema, warnings, err := a.p.lakeSchema(a.targets[t.ID.String()], tables)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.p.log.Warn(w)
	}
	if err := a.set.Intend(a.work, []*sink.Table{t}); err != nil {
		return err
	}
	if err := a.set.Create(ctx, t, tables, schema); err != nil {
		return err
	}
	// The state knows the table before it has rows.
	return a.set.SaveState(a.work)
}

// copyOnce copies tables from one consistent read. A table that cannot be
// copied is stopped; the caller comes back for the others.
func (a *attempt) copyOnce(ctx context.Context, pending []*sink.Table) (err error) {
	var ids []source.ID
	at := map[source.ID]int{}
	for _, t := range pending {
		for _, id := range t.Sources {
			if _, ok := at[id]; !ok {
				at[id] = len(ids)
				ids = append(ids, id)
			}
		}
	}
	sn, err := a.src.Snapshot(ctx, ids)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	a.p.log.Info("copying", "tables", len(pending), "position", sn.Position().String())
	for _, t := range pending {
		tables := make([]*source.Table, len(t.Sources))
		for i, id := range t.Sources {
			d := *sn.Tables()[at[id]] // each lake table has its own key and identity
			d.Columns = slices.Clone(d.Columns)
			tables[i] = &d
		}
		if ok, err := a.beginChunks(t, tables, sn.Position()); err != nil {
			return err
		} else if ok {
			continue
		}
		if err := a.create(ctx, t, tables); err != nil {
			return err
		}
		a.set.Whole(t)
		for i, id := range t.Sources {
			if err := a.copyTable(ctx, sn, at[id], t, tables[i]); err != nil {
				return a.cannotCopy(t, err)
			}
		}
		rows, err := a.set.CommitCopy(a.work, t, sn.Position())
		if errs.Is(err, errs.TableStopped) {
			return a.cannotCopy(t, err)
		}
		if err != nil {
			a.doubt = true
			return err
		}
		a.progress = true
		a.p.set(func(s *Status) { s.RowsCommitted += rows; s.Rounds++ })
		a.p.log.Info("copied", "table", t.ID.String(), "rows", rows)
		a.showTables()
	}
	return nil
}

// cannotCopy stops a table whose rows are the reason why it cannot be copied.
func (a *attempt) cannotCopy(t *sink.Table, err error) error {
	if !errs.Is(err, errs.TableStopped) {
		return err
	}
	a.p.log.Error("the table cannot be copied", "table", t.ID.String(), "error", err)
	if err := a.set.Discard(a.work); err != nil {
		return err
	}
	return a.set.Stop(a.work, t, err.Error())
}

// Tables above this size are copied in chunks beside the stream: the copy is
// resumed where it was, and reads several at a time. Smaller ones are copied in
// one piece, and readers see nothing of them before they are complete.
var (
	chunkedRows  int64 = 300_000
	chunkedBytes int64 = 64 << 20
)

// beginChunks begins the copy of a large table in chunks, if source and table
// allow it. pos is that of a consistent read of the definitions: every later read
// has its transactions.
func (a *attempt) beginChunks(t *sink.Table, tables []*source.Table, pos source.Position) (bool, error) {
	if _, ok := a.src.(source.Chunked); !ok {
		return false, nil
	}
	var rows, bytes int64
	for _, d := range tables {
		if len(d.PrimaryKey) == 0 || d.Unsupported != "" {
			return false, nil
		}
		rows, bytes = rows+max(d.Rows, 0), bytes+max(d.Bytes, 0)
	}
	if rows < chunkedRows && bytes < chunkedBytes {
		return false, nil
	}
	schema, warnings, err := a.p.lakeSchema(a.targets[t.ID.String()], tables)
	if err != nil || !a.set.CanCopyInChunks(schema) {
		return false, err
	}
	if t.Replaces() { // the old rows go when the new ones are complete
		return false, nil
	}
	for _, d := range tables { // two source rows of one lake key have an order, which chunks would lose
		shape, err := a.p.rules.Bind(d, a.targets[t.ID.String()].ShardKey)
		if err != nil {
			return false, err
		}
		if !shape.KeepsKey(schema.PrimaryKeys) || len(tables) > 1 && !shape.TellsTable(schema.PrimaryKeys) {
			return false, nil
		}
	}
	for _, w := range warnings {
		a.p.log.Warn(w)
	}
	if err := a.set.Intend(a.work, []*sink.Table{t}); err != nil {
		return false, err
	}
	if err := a.set.BeginCopy(a.work, t, tables, schema, pos); err != nil {
		a.doubt = true
		return false, err
	}
	a.progress = true
	a.p.log.Info("copying in chunks", "table", t.ID.String(), "rows", rows, "position", pos.String())
	return true, nil
}

func (a *attempt) copyTable(ctx context.Context, sn source.Snapshot, i int, t *sink.Table, def *source.Table) error {
	rows, err := sn.Read(ctx, i)
	if err != nil {
		return err
	}
	t.From(transform.Origin{})
	defer rows.Close()
	for {
		n, done, err := t.Append(ctx, def, rows, true)
		a.p.set(func(s *Status) { s.RowsRead += n })
		if err != nil {
			return err
		}
		if done {
			a.countInvalid(invalid(rows.Invalid()), def)
			return nil
		}
	}
}

// invalid is a number of values that became NULL.
type invalid int64

// countInvalid counts and reports values that became NULL.
func (a *attempt) countInvalid(found invalid, def *source.Table) {
	if n := int64(found); n > 0 {
		a.p.set(func(s *Status) { s.Invalid += n })
		if last := a.warned[def.ID]; time.Since(last) > time.Minute {
			a.warned[def.ID] = time.Now()
			a.p.log.Warn("zero or impossible dates became NULL", "table", def.ID.String(), "values", n)
		}
	}
}

// stopReasons is an error when tables are stopped, nil when none is.
func (a *attempt) stopReasons() error {
	var reasons []string
	for _, t := range a.set.Tables {
		if t.Stopped != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s", t.ID, t.Stopped))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return errs.New(errs.User, errs.TableStopped, "%d table(s) stopped: %s", len(reasons), strings.Join(reasons, "; "))
}

// showTables puts the tables into the status.
func (a *attempt) showTables() {
	list := make([]TableStatus, len(a.set.Tables))
	for i, t := range a.set.Tables {
		x := TableStatus{Table: t.ID.String(), Phase: "stream", Rows: t.Rows, RowsRead: t.Read, Snapshot: t.Snapshot, Error: t.Stopped, Lag: t.Lag(), LagBytes: -1, at: t.Start}
		switch {
		case t.Stopped != "":
			x.Phase = "stopped"
		case t.NeedsCopy(), t.Copying != nil:
			x.Phase = "snapshot"
		}
		for _, id := range t.Sources {
			x.Sources = append(x.Sources, id.String())
		}
		list[i] = x
	}
	pos := a.set.Position()
	a.p.set(func(s *Status) { s.Tables, s.Position = list, pos })
}
