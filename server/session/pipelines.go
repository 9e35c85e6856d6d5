package session

import (
	"context"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// pipelines returns who runs pipelines, for accounts that may say so.
func (s *Session) pipelines(pos int, what string) (PipelineControl, error) {
	if s.srv.cfg.Pipelines == nil {
		return nil, errs.Unsupportedf(pos, "%s without a server that runs pipelines; use thermocline serve, or thermocline ingest FILE", what)
	}
	if !s.allowed(metadata.Super, metadata.Object{}) {
		return nil, errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation")
	}
	return s.srv.cfg.Pipelines, nil
}

// executePipeline runs EXECUTE PIPELINE.
func (s *Session) executePipeline(ctx context.Context, x *syntax.ExecutePipeline) (*Result, error) {
	p, err := s.pipelines(x.Pos(), "EXECUTE PIPELINE")
	if err != nil {
		return nil, err
	}
	name, err := p.Execute(ctx, x.YAML)
	if err != nil {
		return nil, err
	}
	return listing(metadata.Listing{Fields: metadata.ParseFields("pipeline|varchar(256)!"), Rows: []metadata.Row{{name}}, LikeColumn: -1})
}

// controlPipeline runs PAUSE, STOP, RESUME and DROP PIPELINE.
func (s *Session) controlPipeline(ctx context.Context, x *syntax.PipelineControl) (*Result, error) {
	p, err := s.pipelines(x.Pos(), x.Action+" PIPELINE")
	if err != nil {
		return nil, err
	}
	switch x.Action {
	case "RESUME":
		err = p.Resume(ctx, x.Name.Name)
	case "DROP":
		err = p.Drop(ctx, x.Name.Name)
	default:
		err = p.Pause(ctx, x.Name.Name)
	}
	if x.IfExists && errs.Is(err, errs.UnknownPipeline) {
		s.warn("Note", err)
		err = nil
	}
	return nil, err
}

// pipelineProcedures are the procedures of sys that steer pipelines, the same in
// every catalog.
var pipelineProcedures = []connector.Procedure{
	{Name: "pause_pipeline", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}}},
	{Name: "resume_pipeline", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}}},
	{Name: "drop_pipeline", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}}},
	{Name: "verify_pipeline", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}}},
	{Name: "repair_pipeline", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}, {Name: "table", Type: catalog.TString}}},
	{Name: "resnapshot", Params: []connector.Parameter{{Name: "name", Type: catalog.TString, Required: true}, {Name: "table", Type: catalog.TString, Required: true}}},
}

// callPipeline runs one of pipelineProcedures.
func (s *Session) callPipeline(ctx context.Context, x *syntax.Call, d connector.Procedure, run *statement) (*Result, error) {
	p, err := s.pipelines(x.Pos(), "CALL sys."+d.Name)
	if err != nil {
		return nil, err
	}
	args, err := s.arguments(ctx, x, d, run)
	if err != nil {
		return nil, err
	}
	s.endTransaction()
	switch d.Name {
	case "pause_pipeline":
		err = p.Pause(ctx, args["name"])
	case "resume_pipeline":
		err = p.Resume(ctx, args["name"])
	case "drop_pipeline":
		err = p.Drop(ctx, args["name"])
	case "verify_pipeline":
		var list []VerifiedTable
		if list, err = p.Verify(ctx, args["name"]); err != nil {
			return nil, err
		}
		var rows []metadata.Row
		for _, t := range list {
			rows = append(rows, metadata.Row{t.Table, t.Rows, t.Count, nilIfEmpty(t.Skipped)})
		}
		return listing(metadata.Listing{Fields: metadata.ParseFields("table|varchar(256)!; rows|bigint!; differing|bigint!; not_compared|text"), Rows: rows, LikeColumn: -1})
	case "repair_pipeline":
		err = p.Repair(ctx, args["name"], args["table"])
	case "resnapshot":
		err = p.Resnapshot(ctx, args["name"], args["table"])
	}
	if err != nil {
		return nil, err
	}
	return &Result{}, nil
}

// unfed refuses to change a table that a running pipeline writes, and names the
// statement that pauses it.
func (s *Session) unfed(catalogName string, id catalog.Identifier) error {
	if s.srv.cfg.Pipelines == nil || id.Branch != "" {
		return nil
	}
	name := s.srv.cfg.Pipelines.Writer(catalogName, id)
	if name == "" {
		return nil
	}
	what := "The table " + id.String() + " is"
	if id.Table == "" {
		what = "Tables of the database " + id.Database + " are"
	}
	q := "'" + strings.ReplaceAll(name, "'", "''") + "'"
	return errs.Userf(errs.ForbiddenChange, "%s written by the pipeline %s, which must be paused for this: PAUSE PIPELINE %s, then RESUME PIPELINE %s", what, name, q, q)
}

// changesRows are words in the names of procedures that change what rows a table
// has.
var changesRows = []string{"rollback", "drop_partition", "expire_partitions", "purge", "overwrite", "fast_forward", "replace"}

// showPipelines is SHOW PIPELINES.
func (s *Session) showPipelines(ctx context.Context) (metadata.Listing, error) {
	rows, err := source{s}.PipelineRows(ctx)
	return metadata.Listing{Fields: metadata.PipelineFields, Rows: rows}, err
}

// seconds is a lag as a value; NULL when it is unknown.
func seconds(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return d.Seconds()
}

// PipelineRows implements metadata.PipelineSource.
func (c source) PipelineRows(ctx context.Context) (rows []metadata.Row, err error) {
	if c.s.srv.cfg.Pipelines == nil {
		return nil, nil
	}
	list, err := c.s.srv.cfg.Pipelines.List(ctx)
	for _, p := range list {
		var started any
		if !p.Started.IsZero() {
			started = p.Started.Truncate(time.Second)
		}
		rows = append(rows, metadata.Row{p.Name, p.State, nilIfEmpty(p.Source), nilIfEmpty(p.Sink), int64(len(p.Tables)), nilIfEmpty(p.Position), seconds(p.Lag), p.Rows,
			started, nilIfEmpty(p.Error)})
	}
	return rows, err
}

// PipelineTableRows implements metadata.PipelineSource.
func (c source) PipelineTableRows(ctx context.Context) (rows []metadata.Row, err error) {
	if c.s.srv.cfg.Pipelines == nil {
		return nil, nil
	}
	list, err := c.s.srv.cfg.Pipelines.List(ctx)
	for _, p := range list {
		for _, t := range p.Tables {
			db, name, _ := strings.Cut(t.Table, ".")
			var bytes, snapshot any
			if t.LagBytes >= 0 {
				bytes = t.LagBytes
			}
			if t.Snapshot > 0 {
				snapshot = t.Snapshot
			}
			rows = append(rows, metadata.Row{p.Name, db, name, strings.Join(t.Sources, ", "), t.Phase, nilIfEmpty(t.Position), seconds(t.Lag), bytes,
				t.RowsIn, t.RowsOut, snapshot, nilIfEmpty(t.Error)})
		}
	}
	return rows, err
}

// DifferenceRows implements metadata.PipelineSource.
func (c source) DifferenceRows(ctx context.Context) (rows []metadata.Row, err error) {
	err = c.eachVerified(ctx, func(pipeline string, t VerifiedTable) {
		db, name, _ := strings.Cut(t.Table, ".")
		for _, d := range t.Differences {
			rows = append(rows, metadata.Row{pipeline, db, name, d.Key, d.What, t.At.Truncate(time.Second)})
		}
	})
	return rows, err
}

// VerifiedRows implements metadata.PipelineSource.
func (c source) VerifiedRows(ctx context.Context) (rows []metadata.Row, err error) {
	err = c.eachVerified(ctx, func(pipeline string, t VerifiedTable) {
		db, name, _ := strings.Cut(t.Table, ".")
		rows = append(rows, metadata.Row{pipeline, db, name, t.At.Truncate(time.Second), t.Rows, t.Count, nilIfEmpty(t.Skipped)})
	})
	return rows, err
}

func (c source) eachVerified(ctx context.Context, f func(pipeline string, t VerifiedTable)) error {
	p := c.s.srv.cfg.Pipelines
	if p == nil {
		return nil
	}
	list, err := p.List(ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		tables, err := p.Verified(ctx, x.Name)
		if err != nil {
			return err
		}
		for _, t := range tables {
			f(x.Name, t)
		}
	}
	return nil
}
