package jdbc

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// Views are rows of paimon_views, as Java Paimon 2.0 makes them: view_schema is
//
//	{"fields": [{"id", "name", "type"}, …], "query": "…", "dialects": {"<engine>": "…", …}, "comment": "…", "options": {…}}
//
// Our query is the one for the dialect "thermocline", and the general one too;
// what Paimon does not know of a view is in options. A view that another engine
// made has its general query here, and is read with the reader's rights.

var (
	_ catalog.Viewing      = (*Catalog)(nil)
	_ catalog.ViewRenaming = (*Catalog)(nil)
)

type viewSchema struct {
	Fields   []catalog.Field   `json:"fields"`
	Query    string            `json:"query"`
	Dialects map[string]string `json:"dialects"`
	Comment  *string           `json:"comment,omitempty"`
	Options  map[string]string `json:"options"`
}

const (
	viewDialect   = "thermocline"
	optionDefiner = "thermocline.definer"
	optionInvoker = "thermocline.invoker"
	optionCreated = "thermocline.created"
)

// Views implements catalog.Viewing.
func (c *Catalog) Views(ctx context.Context, database string) ([]string, error) {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return nil, err
	}
	list, err := c.pairs(ctx, viewsTable, "view_name", database)
	sort.Strings(list)
	return list, err
}

// View implements catalog.Viewing.
func (c *Catalog) View(ctx context.Context, database, name string) (*catalog.View, error) {
	text, err := c.viewText(ctx, database, name)
	if err != nil {
		return nil, err
	}
	var s viewSchema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		if errs.ClassOf(err) == errs.Unsupported {
			return nil, err
		}
		return nil, errs.Corruptf("read view %s.%s from the catalog in %s: %w", database, name, c.db.where, err)
	}
	v := &catalog.View{Database: database, Name: name, Query: s.Query, Definer: s.Options[optionDefiner], Invoker: s.Options[optionInvoker] == "true", Fields: s.Fields}
	if q, ok := s.Dialects[viewDialect]; ok {
		v.Query = q
	}
	if v.Definer == "" {
		v.Invoker = true
	}
	if s.Comment != nil {
		v.Comment = *s.Comment
	}
	if t, err := time.Parse(time.RFC3339, s.Options[optionCreated]); err == nil {
		v.Created = t
	}
	for _, f := range s.Fields {
		if f.Type.Kind == catalog.InvalidType {
			return nil, errs.Corruptf("read view %s.%s from the catalog in %s: the column %q has no type", database, name, c.db.where, f.Name)
		}
		v.Columns = append(v.Columns, f.Name)
	}
	if v.Query == "" {
		return nil, errs.Corruptf("read view %s.%s from the catalog in %s: it holds no query", database, name, c.db.where)
	}
	return v, nil
}

// viewText returns the column view_schema of a view.
func (c *Catalog) viewText(ctx context.Context, database, name string) (string, error) {
	unknown := errs.Userf(errs.UnknownTable, "Table '%s.%s' doesn't exist", database, name)
	rows, err := c.db.db.QueryContext(ctx, c.db.bind("SELECT database_name, view_name, view_schema FROM paimon_views WHERE catalog_key = ? AND database_name = ? AND view_name = ?"),
		c.key, database, name)
	if err != nil {
		return "", hide(err, "read the catalog in %s", c.db.where)
	}
	defer rows.Close()
	for rows.Next() {
		var d, n, text string
		if err := rows.Scan(&d, &n, &text); err != nil {
			return "", hide(err, "read the catalog in %s", c.db.where)
		}
		if d == database && n == name { // the database's collation may ignore case
			return text, nil
		}
	}
	if err := rows.Err(); err != nil {
		return "", hide(err, "read the catalog in %s", c.db.where)
	}
	return "", unknown
}

// CreateView implements catalog.Viewing, under the lock of the name, which a
// table of that name would take too.
func (c *Catalog) CreateView(ctx context.Context, v *catalog.View, replace bool) error {
	id := catalog.Identifier{Database: v.Database, Table: v.Name}
	if err := catalog.ValidNewTable(id); err != nil {
		return err
	}
	if err := catalog.NeedDatabase(ctx, c, v.Database); err != nil {
		return err
	}
	if len(v.Fields) != len(v.Columns) {
		return errs.Internalf("create view %s: the types of its columns are missing", id)
	}
	s := viewSchema{Query: v.Query, Dialects: map[string]string{viewDialect: v.Query}, Options: map[string]string{optionCreated: v.Created.UTC().Format(time.RFC3339)}}
	for i, f := range v.Fields {
		s.Fields = append(s.Fields, catalog.Field{ID: i, Name: v.Columns[i], Type: f.Type})
	}
	if v.Comment != "" {
		s.Comment = &v.Comment
	}
	if v.Definer != "" {
		s.Options[optionDefiner], s.Options[optionInvoker] = v.Definer, strconv.FormatBool(v.Invoker)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return errs.Internalf("create view %s: %v", id, err)
	}
	unlock, err := c.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock() // a lock that is not given back expires
	exists := errs.Userf(errs.TableExists, "Table '%s' already exists", v.Name)
	if ok, err := c.has(ctx, tablesTable, "table_name", id); err != nil {
		return err
	} else if ok && replace {
		return errs.Userf(errs.WrongObject, "'%s' is not VIEW", id)
	} else if ok {
		return exists
	}
	old, err := c.has(ctx, viewsTable, "view_name", id)
	switch {
	case err != nil:
		return err
	case old && !replace:
		return exists
	case old:
		_, err = c.db.exec(ctx, c.db.db, "UPDATE paimon_views SET view_schema = ? WHERE catalog_key = ? AND database_name = ? AND view_name = ?", string(text), c.key, v.Database, v.Name)
	default:
		_, err = c.db.exec(ctx, c.db.db, "INSERT INTO paimon_views (catalog_key, database_name, view_name, view_schema) VALUES (?,?,?,?)", c.key, v.Database, v.Name, string(text))
	}
	if err == nil {
		return nil
	}
	if c.db.driver.Duplicate(err) {
		return exists
	}
	// The reply may have been lost.
	if there, look := c.viewText(context.WithoutCancel(ctx), v.Database, v.Name); look == nil && there == string(text) {
		return nil
	}
	return hide(err, "create view %s", id)
}

// DropView implements catalog.Viewing.
func (c *Catalog) DropView(ctx context.Context, database, name string) error {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return err
	}
	if _, err := c.viewText(ctx, database, name); errs.Is(err, errs.UnknownTable) {
		return errs.Userf(errs.UnknownTable, "Unknown table '%s.%s'", database, name)
	} else if err != nil {
		return err
	}
	_, err := c.db.exec(ctx, c.db.db, "DELETE FROM paimon_views WHERE catalog_key = ? AND database_name = ? AND view_name = ?", c.key, database, name)
	return hide(err, "drop view %s.%s", database, name)
}

// RenameView implements catalog.ViewRenaming.
func (c *Catalog) RenameView(ctx context.Context, database, from, to string) error {
	ids := []catalog.Identifier{{Database: database, Table: from}, {Database: database, Table: to}}
	if err := catalog.ValidNewTable(ids[1]); err != nil {
		return err
	}
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, func(a, b catalog.Identifier) int { return strings.Compare(a.Table, b.Table) })
	for _, id := range slices.Compact(sorted) {
		unlock, err := c.lock(ctx, id)
		if err != nil {
			return err
		}
		defer unlock() // a lock that is not given back expires
	}
	if _, err := c.viewText(ctx, database, from); err != nil {
		return err
	}
	for table, column := range map[string]string{tablesTable: "table_name", viewsTable: "view_name"} {
		if ok, err := c.has(ctx, table, column, ids[1]); err != nil {
			return err
		} else if ok {
			return errs.Userf(errs.TableExists, "Table '%s' already exists", to)
		}
	}
	_, err := c.db.exec(ctx, c.db.db, "UPDATE paimon_views SET view_name = ? WHERE catalog_key = ? AND database_name = ? AND view_name = ?", to, c.key, database, from)
	if err == nil {
		return nil
	}
	if _, look := c.viewText(context.WithoutCancel(ctx), database, to); look == nil { // the reply was lost
		return nil
	}
	return hide(err, "rename view %s to %s", ids[0], ids[1])
}
