package session

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// procedures is the database that CALL names.
const procedures = "sys"

// call runs CALL [catalog.]sys.procedure(…): one of the procedures of a catalog,
// the current one when none is named.
func (s *Session) call(ctx context.Context, x *syntax.Call, run *statement) (*Result, error) {
	cat, db, name := s.catalog, s.database, x.Name.Object()
	switch len(x.Name.Parts) {
	case 2:
		db = x.Name.Parts[0].Name
	case 3:
		cat, db = x.Name.Parts[0].Name, x.Name.Parts[1].Name
	}
	if db == "" {
		return nil, errs.UserAt(x.Pos(), errs.NoDatabase, "No database selected")
	}
	if strings.EqualFold(db, procedures) {
		for _, d := range pipelineProcedures {
			if strings.EqualFold(d.Name, name) {
				return s.callPipeline(ctx, x, d, run)
			}
		}
	}
	c, err := s.srv.catalogNamed(cat)
	if err != nil {
		return nil, errs.UserAt(x.Pos(), errs.UnknownCatalog, "Unknown catalog '%s'", cat)
	}
	var known []string
	if p, ok := c.(connector.Procedural); ok && strings.EqualFold(db, procedures) {
		if strings.EqualFold(name, mergeInto.Name) {
			return s.callMerge(ctx, x, cat, run)
		}
		for _, d := range p.Procedures() {
			if strings.EqualFold(d.Name, name) {
				return s.callProcedure(ctx, x, cat, d, run)
			}
			known = append(known, d.Name)
		}
		known = append(known, mergeInto.Name)
	}
	return nil, errs.UserAt(x.Pos(), errs.UnknownProcedure, "PROCEDURE %s does not exist%s", db+"."+name, nearest(strings.ToLower(name), known))
}

func (s *Session) callProcedure(ctx context.Context, x *syntax.Call, cat string, d connector.Procedure, run *statement) (*Result, error) {
	if err := s.writable(x.Pos()); err != nil {
		return nil, err
	}
	args, err := s.arguments(ctx, x, d, run)
	if err != nil {
		return nil, err
	}
	if err := s.authorizeCall(cat, d, args); err != nil {
		return nil, err
	}
	s.endTransaction()
	s.state("running procedure " + d.Name)
	b, err := d.Call(ctx, args)
	if err != nil {
		return nil, err
	}
	return procedureResult(run.context(), d.Columns, b)
}

// procedureResult is what a procedure gave, in SQL's form.
func procedureResult(ec *expr.Context, fields []catalog.Field, b *vector.Batch) (*Result, error) {
	res := &Result{}
	out := &vector.Batch{Len: b.Len, Sel: b.Sel, Seq: -1}
	for i, f := range fields {
		load, err := expr.Stored(i, f, "", f.Name)
		if err != nil {
			return nil, err
		}
		v, err := load.Eval(ec, b)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
		res.Columns = append(res.Columns, Column{Name: f.Name, Type: load.Type()})
	}
	rows := &fixed{}
	if out.Rows() > 0 {
		rows.batches = []*vector.Batch{out}
	}
	res.Rows = rows
	return res, nil
}

// arguments binds the arguments of a CALL to parameters: by position, then by
// name. NULL is as if it were not given.
func (s *Session) arguments(ctx context.Context, x *syntax.Call, d connector.Procedure, run *statement) (map[string]string, error) {
	wrong := func(pos int, format string, args ...any) error {
		return errs.UserAt(pos, errs.WrongArguments, "CALL sys."+d.Name+": "+format, args...)
	}
	args, given := map[string]string{}, map[string]bool{}
	named := false
	for i, a := range x.Args {
		var p *connector.Parameter
		switch {
		case a.Name.Name != "":
			named = true
			for k := range d.Params {
				if strings.EqualFold(d.Params[k].Name, a.Name.Name) {
					p = &d.Params[k]
				}
			}
			if p == nil {
				return nil, wrong(a.Pos(), "there is no parameter %s; it takes %s", a.Name.Name, parameterNames(d))
			}
		case named:
			return nil, wrong(a.Pos(), "an argument without a name follows one with a name")
		case i >= len(d.Params):
			return nil, errs.UserAt(a.Pos(), errs.WrongArgCount, "CALL sys.%s: %d arguments are too many; it takes %s", d.Name, len(x.Args), parameterNames(d))
		default:
			p = &d.Params[i]
		}
		if given[p.Name] {
			return nil, wrong(a.Pos(), "the parameter %s is given twice", p.Name)
		}
		given[p.Name] = true
		v, err := s.evaluate(ctx, a.Value, run)
		if err != nil {
			return nil, err
		}
		if v.IsNull() {
			continue
		}
		text, ok := argumentText(v, p.Type, s)
		if !ok {
			return nil, wrong(a.Pos(), "the parameter %s is a %s, '%s' is none", p.Name, p.Type.Nullable(), text)
		}
		args[p.Name] = text
	}
	for _, p := range d.Params {
		if _, ok := args[p.Name]; p.Required && !ok {
			return nil, wrong(x.Pos(), "the parameter %s is missing; it takes %s", p.Name, parameterNames(d))
		}
	}
	return args, nil
}

// parameterNames lists a procedure's parameters, the optional ones in brackets.
func parameterNames(d connector.Procedure) string {
	if len(d.Params) == 0 {
		return "none"
	}
	out := make([]string, len(d.Params))
	for i, p := range d.Params {
		out[i] = p.Name
		if !p.Required {
			out[i] = "[" + p.Name + "]"
		}
	}
	return strings.Join(out, ", ")
}

// argumentText is a value as a cast to the parameter's type reads it. It reports
// false for what is no value of that type.
func argumentText(v expr.Value, t catalog.Type, s *Session) (string, bool) {
	text := string(expr.AppendText(nil, v.Type, v.Vec, 0, s.zone))
	switch t.Kind {
	case catalog.Boolean:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "1", "true":
			return "true", true
		case "0", "false":
			return "false", true
		}
		return text, false
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt:
		bits := map[string]int{"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[t.Nullable().String()]
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
		if err != nil {
			return text, false
		}
		return strconv.FormatInt(n, 10), true
	case catalog.Float, catalog.Double:
		_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return text, err == nil
	}
	return text, true
}

// authorizeCall checks the rights that a procedure needs: to alter the table it
// is about, and to delete from it where it takes rows back. What names no table,
// or other warehouses, is for accounts with all rights.
func (s *Session) authorizeCall(cat string, d connector.Procedure, args map[string]string) error {
	table, has := args["table"]
	for _, p := range d.Params {
		if strings.Contains(p.Name, "warehouse") {
			has = false
		}
	}
	if !has {
		if s.allowed(metadata.Super, metadata.Object{}) {
			return nil
		}
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation")
	}
	id, full := s.argumentTable(cat, table)
	args["table"] = full
	if err := s.authorize(metadata.Alter, cat, id, "ALTER"); err != nil {
		return err
	}
	for _, word := range changesRows {
		if strings.Contains(d.Name, word) {
			if err := s.unfed(cat, id); err != nil {
				return err
			}
		}
	}
	for _, word := range []string{"rollback", "drop", "expire_partitions", "purge", "overwrite", "fast_forward", "replace"} {
		if strings.Contains(d.Name, word) {
			return s.authorize(metadata.Delete, cat, id, "DELETE")
		}
	}
	return nil
}

// argumentTable reads a table's name in an argument, "db.t", or "t" in the
// current database of the catalog.
func (s *Session) argumentTable(cat, name string) (catalog.Identifier, string) {
	clean := strings.ReplaceAll(strings.TrimSpace(name), "`", "")
	db, object, ok := strings.Cut(clean, ".")
	if !ok && s.database != "" && s.dbCatalog == cat && !strings.EqualFold(s.database, procedures) {
		db, object, clean = s.database, clean, s.database+"."+clean
	}
	id := catalog.Identifier{Catalog: cat, Database: db}
	id.Table, id.Branch, id.System = catalog.ParseObject(object)
	return id, clean
}

// mergeInto is Paimon's procedure of that name, which needs the engine: it is
// MERGE INTO with its clauses as arguments.
var mergeInto = connector.Procedure{Name: "merge_into", Params: []connector.Parameter{
	{Name: "target_table", Type: catalog.TString, Required: true},
	{Name: "target_alias", Type: catalog.TString},
	{Name: "source_sqls", Type: catalog.TString},
	{Name: "source_table", Type: catalog.TString, Required: true},
	{Name: "merge_condition", Type: catalog.TString, Required: true},
	{Name: "matched_upsert_condition", Type: catalog.TString},
	{Name: "matched_upsert_setting", Type: catalog.TString},
	{Name: "not_matched_insert_condition", Type: catalog.TString},
	{Name: "not_matched_insert_values", Type: catalog.TString},
	{Name: "matched_delete_condition", Type: catalog.TString},
	{Name: "not_matched_by_source_upsert_condition", Type: catalog.TString},
	{Name: "not_matched_by_source_upsert_setting", Type: catalog.TString},
	{Name: "not_matched_by_source_delete_condition", Type: catalog.TString},
}}

// callMerge runs CALL sys.merge_into.
func (s *Session) callMerge(ctx context.Context, x *syntax.Call, cat string, run *statement) (*Result, error) {
	args, err := s.arguments(ctx, x, mergeInto, run)
	if err != nil {
		return nil, err
	}
	if args["source_sqls"] != "" {
		return nil, errs.Unsupportedf(x.Pos(), "source_sqls of sys.merge_into; run those statements before, or name a subquery as source_table")
	}
	m, err := syntax.ParseOne(mergeText(args), s.options())
	if err != nil {
		return nil, errs.UserAt(x.Pos(), errs.WrongArguments, "CALL sys.merge_into: %v", err)
	}
	stmt, ok := m.Statement.(*syntax.Merge)
	if !ok || len(m.Placeholders) > 0 {
		return nil, errs.UserAt(x.Pos(), errs.WrongArguments, "CALL sys.merge_into: its arguments make no MERGE")
	}
	if cat != s.catalog {
		return nil, errs.Unsupportedf(x.Pos(), "sys.merge_into of another catalog; USE CATALOG %s first", cat)
	}
	if _, err := s.merge(ctx, stmt, run); err != nil {
		return nil, err
	}
	return listing(metadata.Listing{Fields: metadata.ParseFields("result|longtext"), Rows: []metadata.Row{{"Success"}}, LikeColumn: -1})
}

// mergeText writes the MERGE that the arguments of merge_into mean. Deletions
// come first: Paimon takes a row that both conditions hold for as deleted.
func mergeText(args map[string]string) string {
	maps.DeleteFunc(args, func(_, v string) bool { return strings.TrimSpace(v) == "" })
	var sb strings.Builder
	sb.WriteString("MERGE INTO " + args["target_table"])
	if a := args["target_alias"]; a != "" {
		sb.WriteString(" AS " + a)
	}
	sb.WriteString(" USING " + args["source_table"] + " ON " + args["merge_condition"])
	when := func(kind, condition, then string) {
		sb.WriteString(" WHEN " + kind)
		if c := strings.TrimSpace(condition); c != "" && !strings.EqualFold(c, "true") {
			sb.WriteString(" AND (" + c + ")")
		}
		sb.WriteString(" THEN " + then)
	}
	if c, ok := args["matched_delete_condition"]; ok {
		when("MATCHED", c, "DELETE")
	}
	if set, ok := args["matched_upsert_setting"]; ok {
		when("MATCHED", args["matched_upsert_condition"], "UPDATE SET "+set)
	}
	if v, ok := args["not_matched_insert_values"]; ok {
		if strings.TrimSpace(v) == "*" {
			v = "INSERT *"
		} else {
			v = "INSERT VALUES (" + v + ")"
		}
		when("NOT MATCHED", args["not_matched_insert_condition"], v)
	}
	if c, ok := args["not_matched_by_source_delete_condition"]; ok {
		when("NOT MATCHED BY SOURCE", c, "DELETE")
	}
	if set, ok := args["not_matched_by_source_upsert_setting"]; ok {
		when("NOT MATCHED BY SOURCE", args["not_matched_by_source_upsert_condition"], "UPDATE SET "+set)
	}
	return sb.String()
}
