package filesystem

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ catalog.Altering = (*Catalog)(nil)

// AlterTable implements catalog.Altering.
func (c *Catalog) AlterTable(ctx context.Context, id catalog.Identifier, changes []catalog.SchemaChange) error {
	if err := c.needTable(ctx, id); err != nil {
		return err
	}
	return c.driver.Alter(ctx, c.tableDir(id), id, changes)
}

// RenameTable implements catalog.Altering: the table's directory gets another
// name, in one step. Object stores have no such step, so that it is refused
// there: Java Paimon copies file by file, which a crash leaves half done.
func (c *Catalog) RenameTable(ctx context.Context, from, to catalog.Identifier) error {
	if from.Branch != "" || from.System != "" {
		return errs.Unsupportedf(-1, "RENAME TABLE of a branch or system table (%s)", from)
	}
	if err := c.needTable(ctx, from); err != nil {
		return err
	}
	if err := catalog.ValidNewTable(to); err != nil {
		return err
	}
	if catalog.ValidName("database", to.Database) != nil {
		return catalog.NeedDatabase(ctx, c, to.Database)
	}
	if err := catalog.NeedDatabase(ctx, c, to.Database); err != nil {
		return err
	}
	exists := errs.Userf(errs.TableExists, "Table '%s' already exists", to)
	ok, err := c.driver.Exists(ctx, c.tableDir(to))
	if err != nil {
		return fmt.Errorf("rename table %s: %w", from, err)
	}
	if ok {
		return exists
	}
	err = fileio.RenameDir(ctx, c.files, c.tableDir(from), c.tableDir(to))
	switch {
	case errs.Is(err, errs.FileExists):
		if ok, look := c.driver.Exists(ctx, c.tableDir(to)); look == nil && ok {
			return exists
		}
		return fmt.Errorf("rename table %s to %s: the directory %s exists and is no table: %w", from, to, c.tableDir(to), err)
	case err != nil:
		return fmt.Errorf("rename table %s to %s: %w", from, to, err)
	}
	return nil
}

// needTable returns an error when a table does not exist.
func (c *Catalog) needTable(ctx context.Context, id catalog.Identifier) error {
	if catalog.ValidName("table", id.Table) != nil {
		return catalog.MissingTable(ctx, c, id)
	}
	if catalog.ValidName("database", id.Database) != nil {
		return catalog.NeedDatabase(ctx, c, id.Database)
	}
	ok, err := c.driver.Exists(ctx, c.tableDir(id))
	if err != nil {
		return fmt.Errorf("open table %s: %w", id, err)
	}
	if !ok {
		return catalog.MissingTable(ctx, c, id)
	}
	return nil
}
