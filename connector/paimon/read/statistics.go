package read

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ connector.Described = (*State)(nil)

// Statistics implements connector.Described: what the snapshot's statistics file
// says. Statistics of a schema that is gone count as none.
func (st *State) Statistics(ctx context.Context) (*connector.Statistics, error) {
	if st.snap == nil || st.snap.Statistics == "" || st.changes != nil {
		return nil, nil
	}
	path := st.src.paths(nil).StatisticsDir() + "/" + st.snap.Statistics
	if s, ok := st.src.Cache.get(path).(*connector.Statistics); ok {
		return s, nil
	}
	s, err := parse(ctx, st.src, path, func(b []byte) (*connector.Statistics, error) {
		return spec.ParseStatistics(b, func(id int64) (*catalog.Schema, error) {
			if id == st.schema.ID {
				return st.schema, nil
			}
			return st.src.Schema(ctx, id)
		})
	})
	if errs.Is(err, errs.FileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	st.src.Cache.put(path, s, 256+int64(len(s.Columns))*512)
	return s, nil
}
