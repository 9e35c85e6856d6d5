package jdbc

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/procedure"
)

// Procedures implements connector.Procedural. Another warehouse than the
// catalog's own is none of its tables': sys.clone stays within the catalog.
func (c *Catalog) Procedures() []connector.Procedure {
	return procedure.All(&procedure.Env{Catalog: c, Driver: c.driver, Warehouse: c.root,
		Dir: func(_ context.Context, id catalog.Identifier) (string, error) {
			if err := catalog.ValidName("database", id.Database); err != nil {
				return "", err
			}
			return c.tableDir(id), catalog.ValidName("table", id.Table)
		},
		Register: c.repaired, Repair: c.repaired})
}

func (c *Catalog) repaired(ctx context.Context, id catalog.Identifier) error {
	_, err := c.Repair(ctx, id)
	return err
}
