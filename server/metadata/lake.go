package metadata

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

// The database sys is MySQL's, with one table, and Paimon's as well: its global
// system tables tell of all tables of one catalog. Names, types and values are
// Java Paimon's; views are left out there too. Unlike there, what an account may
// not see is left out, and catalog_options needs no option, since it shows no
// secrets.

// lakeTable is a global system table.
type lakeTable struct {
	fields []Field
	rows   func(ctx context.Context, src Source, catalogName string, want wanted, add func(Row) error) error
}

// of is the table of one catalog; "" is the current one.
func (t lakeTable) of(catalogName string) producer {
	return func(ctx context.Context, src Source, want wanted, add func(Row) error) error {
		return t.rows(ctx, src, catalogName, want, add)
	}
}

// lakeFields makes fields of Paimon's types.
func lakeFields(t catalog.Type, names ...string) (out []Field) {
	for _, n := range names {
		out = append(out, Field{Name: n, Stored: t, NotNull: t.NotNull})
	}
	return out
}

var lakeTables = map[string]lakeTable{
	"tables": {slices.Concat(lakeFields(catalog.TString, "database_name", "table_name", "table_type"),
		lakeFields(catalog.TBoolean, "partitioned", "primary_key"), lakeFields(catalog.TString, "owner"), lakeFields(catalog.TBigInt, "created_at"),
		lakeFields(catalog.TString, "created_by"), lakeFields(catalog.TBigInt, "updated_at"), lakeFields(catalog.TString, "updated_by"),
		lakeFields(catalog.TBigInt, "record_count", "file_size_in_bytes", "file_count", "last_file_creation_time")), lakeTableRows},
	"partitions": {slices.Concat(lakeFields(catalog.TString, "database_name", "table_name", "partition_name"),
		lakeFields(catalog.TBigInt, "record_count", "file_size_in_bytes", "file_count", "last_file_creation_time"), lakeFields(catalog.TBoolean, "done")), lakePartitionRows},
	"all_table_options": {lakeFields(catalog.TString, "database_name", "table_name", "key", "value"), lakeOptionRows},
	"catalog_options":   {lakeFields(catalog.TString.Required(), "key", "value"), catalogOptionRows},
}

// eachLakeTable calls f for the visible tables of a catalog. One that cannot be
// opened is left out with a warning.
func eachLakeTable(ctx context.Context, src Source, catalogName string, want wanted, f func(db string, t catalog.Table) error) error {
	dbs, err := src.LakeDatabases(ctx, catalogName)
	if err != nil {
		return err
	}
	for _, db := range dbs {
		if !want.allows("database_name", db.Name) {
			continue
		}
		names, err := src.Tables(ctx, db.Key)
		if errs.Is(err, errs.UnknownDatabase) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
		for _, n := range names {
			if !want.allows("table_name", n) {
				continue
			}
			t, err := src.Table(ctx, db.Key, n)
			if err == nil {
				if _, view := t.(*View); view {
					continue
				}
				err = f(db.Name, t)
			}
			switch {
			case err == nil, errs.Is(err, errs.UnknownTable), errs.Is(err, errs.UnknownDatabase), errs.Is(err, errs.TableDenied):
			case ctx.Err() != nil || errs.ClassOf(err) == errs.Resource:
				return err
			default:
				src.Warn(err)
			}
		}
	}
	return nil
}

func lakeTableRows(ctx context.Context, src Source, catalogName string, want wanted, add func(Row) error) error {
	return eachLakeTable(ctx, src, catalogName, want, func(db string, t catalog.Table) error {
		s := t.Schema()
		kind := s.Options["type"]
		if kind == "" {
			kind = "table"
		}
		text := func(k string) any {
			if v, ok := s.Options[k]; ok {
				return v
			}
			return nil
		}
		number := func(k string) any {
			if n, err := strconv.ParseInt(s.Options[k], 10, 64); err == nil {
				return n
			}
			return nil
		}
		// Only catalogs that keep snapshots themselves know counts.
		return add(Row{db, t.ID().Object(), kind, len(s.PartitionKeys) > 0, len(s.PrimaryKeys) > 0, text("owner"), number("createdAt"), text("createdBy"),
			number("updatedAt"), text("updatedBy"), nil, nil, nil, nil})
	})
}

func lakePartitionRows(ctx context.Context, src Source, catalogName string, want wanted, add func(Row) error) error {
	return eachLakeTable(ctx, src, catalogName, want, func(db string, t catalog.Table) error {
		p, ok := t.(connector.Partitioned)
		if !ok || len(t.Schema().PartitionKeys) == 0 {
			return nil
		}
		list, err := p.Partitions(ctx)
		if err != nil {
			return err
		}
		for _, i := range list {
			var created any
			if i.Created != 0 {
				created = i.Created
			}
			if err := add(Row{db, t.ID().Object(), i.Name, i.Rows, i.Bytes, i.Files, created, false}); err != nil {
				return err
			}
		}
		return nil
	})
}

func lakeOptionRows(ctx context.Context, src Source, catalogName string, want wanted, add func(Row) error) error {
	return eachLakeTable(ctx, src, catalogName, want, func(db string, t catalog.Table) error {
		options := map[string]string{}
		maps.Copy(options, t.Schema().Options)
		if l, ok := t.(connector.Located); ok {
			options["path"] = l.Location()
		}
		for _, k := range slices.Sorted(maps.Keys(options)) {
			if err := add(Row{db, t.ID().Object(), k, options[k]}); err != nil {
				return err
			}
		}
		return nil
	})
}

func catalogOptionRows(ctx context.Context, src Source, catalogName string, _ wanted, add func(Row) error) error {
	list, err := src.CatalogOptions(ctx, catalogName)
	if err != nil {
		return err
	}
	for _, o := range list {
		if err := add(Row{o.Name, o.Value}); err != nil {
			return err
		}
	}
	return nil
}
