package procedure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

var cloneProcedures = []definition{
	// Flink's arguments in their order, then those of copy_files, then ours.
	{"clone", params(optional(catalog.TString, "database", "table", "catalog_conf", "target_database", "target_table", "target_catalog_conf"),
		optional(catalog.TInt, "parallelism"), optional(catalog.TString, "where", "included_tables", "excluded_tables", "prefer_file_format", "clone_from"),
		optional(catalog.TBoolean, "meta_only", "clone_if_exists"), optional(catalog.TString, "warehouse", "target_warehouse"), versionParams), nil, clone},
	{"copy_files", params(optional(catalog.TString, "warehouse", "database", "table", "catalog_conf", "target_warehouse", "target_database", "target_table", "target_catalog_conf"),
		optional(catalog.TInt, "parallelism"), versionParams), nil, clone},
	{"restore_table", required(catalog.TString, "table"), nil, func(ctx context.Context, c *call) error {
		id, err := identifier(c.args["table"])
		if err != nil {
			return err
		}
		if id.Branch != "" || id.System != "" {
			return errs.Userf(errs.WrongArguments, "%q is not the name of a table", c.args["table"])
		}
		if _, err := c.env.Catalog.Table(ctx, id); err == nil {
			return errs.Userf(errs.TableExists, "the table %s exists", id)
		} else if !errs.Is(err, errs.UnknownTable) {
			return err
		}
		dir, err := c.env.Dir(ctx, id)
		if err != nil {
			return err
		}
		if err := maintain.Restore(ctx, c.env.Driver.MaintainConfig(dir, id)); err != nil {
			return err
		}
		if c.env.Register != nil {
			if err := c.env.Register(ctx, id); err != nil {
				return err
			}
		}
		return c.success()
	}},
}

var versionParams = params(optional(catalog.TString, "tag"), optional(catalog.TBigInt, "snapshot_id"))

// clone copies a table, or all tables of a database, within a warehouse or to
// another one.
func clone(ctx context.Context, c *call) error {
	for _, a := range []string{"catalog_conf", "target_catalog_conf"} {
		if c.text(a) != "" {
			return errs.Unsupportedf(-1, "the argument %s of %s: use warehouse and target_warehouse", a, c.name)
		}
	}
	for _, a := range []string{"where", "prefer_file_format", "meta_only"} {
		if v := c.text(a); v != "" && v != "false" && v != "0" {
			return errs.Unsupportedf(-1, "the argument %s of %s", a, c.name)
		}
	}
	if f := strings.ToLower(c.text("clone_from")); f != "" && f != "paimon" {
		return errs.Unsupportedf(-1, "cloning from %s", f)
	}
	src, err := c.env.at(ctx, c.text("warehouse"))
	if err != nil {
		return err
	}
	dst, err := c.env.at(ctx, c.text("target_warehouse"))
	if err != nil {
		return err
	}
	from := maintain.CloneSource{Tag: c.text("tag")}
	if from.Snapshot, err = c.number(0, "snapshot_id"); err != nil {
		return err
	}
	if from.Tag != "" && from.Snapshot != 0 {
		return errs.Userf(errs.WrongArguments, "give a tag or a snapshot_id, not both")
	}
	overwrite, err := c.flag("clone_if_exists", true)
	if err != nil {
		return err
	}
	jobs, err := c.cloneJobs(ctx, src)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if _, err := dst.Catalog.Table(ctx, j.to); err == nil && !overwrite {
			continue
		}
		if err := cloneOne(ctx, src, dst, from, j); err != nil {
			return err
		}
	}
	return c.success()
}

type cloneJob struct{ from, to catalog.Identifier }

// cloneJobs returns what the arguments name.
func (c *call) cloneJobs(ctx context.Context, src *Env) ([]cloneJob, error) {
	db, table := strings.ReplaceAll(c.text("database"), "`", ""), strings.ReplaceAll(c.text("table"), "`", "")
	toDB, toTable := strings.ReplaceAll(c.text("target_database"), "`", ""), strings.ReplaceAll(c.text("target_table"), "`", "")
	var databases []string
	switch {
	case db == "" && table == "":
		if toDB != "" || toTable != "" {
			return nil, errs.Userf(errs.WrongArguments, "the argument database is missing")
		}
		all, err := src.Catalog.Databases(ctx)
		if err != nil {
			return nil, err
		}
		databases = all
	case db == "":
		return nil, errs.Userf(errs.WrongArguments, "the argument database is missing")
	case table != "":
		name, branch, system := catalog.ParseObject(table)
		j := cloneJob{catalog.Identifier{Database: db, Table: name, Branch: branch, System: system}, catalog.Identifier{Database: db, Table: name}}
		if toDB != "" {
			j.to.Database = toDB
		}
		if toTable != "" {
			j.to.Table = toTable
		}
		return []cloneJob{j}, nil
	default:
		databases = []string{db}
	}
	if toTable != "" {
		return nil, errs.Userf(errs.WrongArguments, "target_table is given without table")
	}
	included, excluded := list(c.text("included_tables")), list(c.text("excluded_tables"))
	var out []cloneJob
	for _, d := range databases {
		names, err := src.Catalog.Tables(ctx, d)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if full := d + "." + n; len(included) > 0 && !slices.Contains(included, full) && !slices.Contains(included, n) ||
				slices.Contains(excluded, full) || slices.Contains(excluded, n) {
				continue
			}
			j := cloneJob{catalog.Identifier{Database: d, Table: n}, catalog.Identifier{Database: d, Table: n}}
			if toDB != "" {
				j.to.Database = toDB
			}
			out = append(out, j)
		}
	}
	return out, nil
}

func cloneOne(ctx context.Context, src, dst *Env, from maintain.CloneSource, j cloneJob) error {
	t, err := src.table(ctx, j.from)
	if err != nil {
		return err
	}
	if err := dst.Catalog.CreateDatabase(ctx, j.to.Database, true); err != nil {
		return err
	}
	_, missing := dst.Catalog.Table(ctx, j.to)
	if missing != nil && !errs.Is(missing, errs.UnknownTable) {
		return missing
	}
	dir, err := dst.Dir(ctx, j.to)
	if err != nil {
		return err
	}
	cfg := dst.Driver.MaintainConfig(dir, j.to)
	cfg.Schema = t.Schema()
	if err := t.Maintain().Clone(ctx, from, cfg); err != nil {
		return err
	}
	if missing != nil && dst.Register != nil {
		return dst.Register(ctx, j.to)
	}
	return nil
}

// at returns the catalog of a warehouse: this one for "" or its own.
func (env *Env) at(ctx context.Context, warehouse string) (*Env, error) {
	path := strings.TrimRight(spec.LocalPath(strings.TrimSpace(warehouse)), "/")
	if path == "" || path == strings.TrimRight(env.Warehouse, "/") {
		return env, nil
	}
	if env.Open == nil {
		return nil, errs.Unsupportedf(-1, "other warehouses than the catalog's own (%s)", warehouse)
	}
	other, err := env.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the warehouse %s: %w", warehouse, err)
	}
	return other, nil
}

// refused are procedures of Paimon that make no sense without Flink or Hive, or
// that this version does not have. They are there so that CALL names them.
var refused = []string{"migrate_table", "migrate_database", "migrate_iceberg_table", "rescale", "query_service", "compact_chain_table", "data_evolution_merge_into",
	"reassign_row_id", "remove_unexisting_files", "remove_unexisting_manifests", "merge_branch", "create_global_index", "drop_global_index", "vector_search",
	"full_text_search", "alter_view_dialect", "create_function", "alter_function", "drop_function", "alter_column_default_value", "materialize_deletion_vectors",
	"init_file_based_privilege", "create_privileged_user", "drop_privileged_user", "grant_privilege_to_user", "revoke_privilege_from_user", "rewrite_file_index"}

func refusedProcedures() []definition {
	var out []definition
	for _, name := range refused {
		p := []connector.Parameter{}
		for i := range 12 { // whatever is given: the name is what is refused
			p = append(p, connector.Parameter{Name: fmt.Sprintf("argument%d", i+1), Type: catalog.TString})
		}
		out = append(out, definition{name, p, nil, func(context.Context, *call) error {
			return errs.Unsupportedf(-1, "the procedure %s", name)
		}})
	}
	return out
}
