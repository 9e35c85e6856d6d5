package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ catalog.Viewing = (*Catalog)(nil)

// Views implements catalog.Viewing.
func (c *Catalog) Views(_ context.Context, database string) ([]string, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if _, ok := c.dbs[database]; !ok {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", database)
	}
	return slices.Sorted(maps.Keys(c.views[database])), nil
}

// View implements catalog.Viewing.
func (c *Catalog) View(_ context.Context, database, name string) (*catalog.View, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if v := c.views[database][name]; v != nil {
		return v, nil
	}
	return nil, errs.Userf(errs.UnknownTable, "Table '%s.%s' doesn't exist", database, name)
}

// CreateView implements catalog.Viewing.
func (c *Catalog) CreateView(_ context.Context, v *catalog.View, replace bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, ok := c.dbs[v.Database]
	_, table := db[v.Name]
	switch {
	case !ok:
		return errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", v.Database)
	case table && replace:
		return errs.Userf(errs.WrongObject, "'%s.%s' is not VIEW", v.Database, v.Name)
	case table, c.views[v.Database][v.Name] != nil && !replace:
		return errs.Userf(errs.TableExists, "Table '%s' already exists", v.Name)
	}
	if c.views == nil {
		c.views = map[string]map[string]*catalog.View{}
	}
	if c.views[v.Database] == nil {
		c.views[v.Database] = map[string]*catalog.View{}
	}
	c.views[v.Database][v.Name] = v
	return nil
}

// DropView implements catalog.Viewing.
func (c *Catalog) DropView(_ context.Context, database, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.views[database][name] == nil {
		return errs.Userf(errs.UnknownTable, "Unknown table '%s.%s'", database, name)
	}
	delete(c.views[database], name)
	return nil
}
