package metadata

import "context"

// PipelineSource is implemented by a Source of a server that runs pipelines. Rows
// have the fields of sys.pipelines and sys.pipeline_tables.
type PipelineSource interface {
	PipelineRows(ctx context.Context) ([]Row, error)
	PipelineTableRows(ctx context.Context) ([]Row, error)
	// VerifiedRows and DifferenceRows have those of sys.pipeline_verified and
	// sys.pipeline_differences.
	VerifiedRows(ctx context.Context) ([]Row, error)
	DifferenceRows(ctx context.Context) ([]Row, error)
}

var (
	verifiedFields   = ParseFields("pipeline|varchar(256)!; table_schema|varchar(256)!; table_name|varchar(256)!; verified|timestamp!; rows|bigint!; differing|bigint!; not_compared|text")
	differenceFields = ParseFields("pipeline|varchar(256)!; table_schema|varchar(256)!; table_name|varchar(256)!; row_key|text!; difference|varchar(64)!; verified|timestamp!")
)

// PipelineFields are the columns of SHOW PIPELINES and sys.pipelines.
var PipelineFields = ParseFields("name|varchar(256)!; state|varchar(32)!; source|varchar(256); sink|varchar(256); tables|int; position|text; " +
	"lag_seconds|double; rows|bigint; started|timestamp; error|text")

var pipelineTableFields = ParseFields("pipeline|varchar(256)!; table_schema|varchar(256)!; table_name|varchar(256)!; sources|text; phase|varchar(32)!; position|text; " +
	"lag_seconds|double; lag_bytes|bigint; rows_in|bigint!; rows_out|bigint!; snapshot_id|bigint; last_error|text")

// pipelineTables are tables of the database sys that are the same in every
// catalog.
var pipelineTables = map[string]struct {
	fields []Field
	rows   func(PipelineSource, context.Context) ([]Row, error)
}{
	"pipelines":            {PipelineFields, PipelineSource.PipelineRows},
	"pipeline_tables":      {pipelineTableFields, PipelineSource.PipelineTableRows},
	"pipeline_verified":    {verifiedFields, PipelineSource.VerifiedRows},
	"pipeline_differences": {differenceFields, PipelineSource.DifferenceRows},
}

func pipelineRows(name string) producer {
	return func(ctx context.Context, src Source, _ wanted, add func(Row) error) error {
		p, ok := src.(PipelineSource)
		if !ok {
			return nil
		}
		rows, err := pipelineTables[name].rows(p, ctx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := add(r); err != nil {
				return err
			}
		}
		return nil
	}
}
