package paimon

import (
	"context"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ connector.Opened = (*Table)(nil)

// source returns the table as package read sees it.
func (d *Driver) source(dir string, id catalog.Identifier) *read.Source {
	name := id
	name.System = ""
	return &read.Source{Name: name.String(), Files: d.cfg.Files, Formats: d.cfg.Formats, Cache: d.cache, Pages: d.pages(), Dir: dir, Branch: id.Branch, Zone: d.cfg.Location}
}

// Exists reports whether dir is a table: whether it has a schema.
func (d *Driver) Exists(ctx context.Context, dir string) (bool, error) {
	l, err := d.source(dir, catalog.Identifier{}).Schemas(ctx)
	return err == nil && !l.None(), err
}

// Open opens the table in dir, a branch of it, or one of its system tables, as
// id says. Errors: errs.UnknownTable.
func (d *Driver) Open(ctx context.Context, dir string, id catalog.Identifier) (connector.Readable, error) {
	if id.Branch == "main" {
		id.Branch = ""
	}
	if strings.ContainsAny(id.Branch, "/\x00") {
		return nil, errs.Userf(errs.UnknownTable, "table %s does not exist: no branch has the name %q", id, id.Branch)
	}
	t, err := d.open(ctx, strings.TrimRight(dir, "/"), id)
	if err != nil {
		return nil, err
	}
	if id.System == "" {
		return t, nil
	}
	return newSystemTable(t, id)
}

// open opens a table or branch.
func (d *Driver) open(ctx context.Context, dir string, id catalog.Identifier) (*Table, error) {
	t := &Table{driver: d, dir: dir, id: id}
	t.id.System = ""
	// A fast forward may have removed the first schemas: then the oldest counts.
	l, err := d.source(dir, catalog.Identifier{Database: id.Database, Table: id.Table}).Schemas(ctx)
	if err != nil {
		return nil, err
	}
	if l.None() {
		return nil, errs.Userf(errs.UnknownTable, "table %s does not exist: %s has no schema", t.id, dir)
	}
	if t.uuid, err = l.First(ctx); err != nil {
		return nil, fmt.Errorf("open table %s: %w", t.id, err)
	}
	if t.id.Branch != "" {
		if l, err = d.source(dir, t.id).Schemas(ctx); err != nil {
			return nil, err
		}
	}
	t.opened, err = l.Newest(ctx)
	t.schema = t.opened.Schema
	return t, err
}

// Source returns the table as package read sees it.
func (t *Table) Source() *read.Source { return t.driver.source(t.dir, t.id) }

// Snapshot implements connector.Readable.
func (t *Table) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	st, err := t.State(ctx, ref)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Current implements connector.Opened.
func (t *Table) Current(ctx context.Context) (connector.Snapshot, error) {
	st, err := t.Source().Current(ctx, t.opened)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// State resolves ref to a version with all that metadata says of it.
func (t *Table) State(ctx context.Context, ref catalog.Ref) (*read.State, error) {
	return t.Source().Resolve(ctx, ref)
}
