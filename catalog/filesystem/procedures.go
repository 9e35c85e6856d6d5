package filesystem

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/procedure"
)

// Procedures implements connector.Procedural.
func (c *Catalog) Procedures() []connector.Procedure { return procedure.All(c.environment()) }

func (c *Catalog) environment() *procedure.Env {
	return &procedure.Env{Catalog: c, Driver: c.driver, Warehouse: c.root,
		Dir: func(_ context.Context, id catalog.Identifier) (string, error) { return c.tableDir(id), nil }}
}
