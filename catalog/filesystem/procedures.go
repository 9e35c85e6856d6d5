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
		Dir: func(_ context.Context, id catalog.Identifier) (string, error) {
			if err := catalog.ValidName("database", id.Database); err != nil {
				return "", err
			}
			return c.tableDir(id), catalog.ValidName("table", id.Table)
		},
		Open: func(_ context.Context, warehouse string) (*procedure.Env, error) {
			other, err := Open(Config{Files: c.files, Warehouse: warehouse, Driver: c.driver})
			if err != nil {
				return nil, err
			}
			return other.environment(), nil
		}}
}
