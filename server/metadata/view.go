package metadata

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// View is a view as those who describe it see it: like a table, whose columns
// are those that its query gives now. It cannot be read through this.
type View struct {
	*catalog.View
	id     catalog.Identifier
	schema *catalog.Schema
	// Broken is why the columns are not known: what the query reads is gone.
	Broken error
}

var _ catalog.Table = (*View)(nil)

// NewView describes a view. schema has the columns; it is nil when broken says
// why there are none.
func NewView(id catalog.Identifier, v *catalog.View, schema *catalog.Schema, broken error) *View {
	if schema == nil {
		schema = &catalog.Schema{}
	}
	return &View{View: v, id: id, schema: schema, Broken: broken}
}

// ID implements catalog.Table.
func (v *View) ID() catalog.Identifier { return v.id }

// Schema implements catalog.Table.
func (v *View) Schema() *catalog.Schema { return v.schema }

// UUID implements catalog.Table.
func (v *View) UUID() string { return "" }

// status is what TABLES and SHOW TABLE STATUS tell of a view.
func (v *View) status() TableStatus {
	st := TableStatus{Type: "VIEW", Comment: "VIEW", Created: v.Created, View: true}
	if v.Broken != nil {
		st.Comment = v.Broken.Error()
	}
	return st
}

func security(v *catalog.View) string {
	if v.Invoker {
		return "INVOKER"
	}
	return "DEFINER"
}

// ShowCreateView prints a view's definition.
func ShowCreateView(v *View) Listing {
	var b strings.Builder
	b.WriteString("CREATE ALGORITHM=UNDEFINED ")
	if user, host, ok := cutLast(v.Definer, "@"); ok { // views of other engines have none
		b.WriteString("DEFINER=" + backquote(user) + "@" + backquote(host) + " ")
	}
	b.WriteString("SQL SECURITY " + security(v.View) + " VIEW " + backquote(v.Name))
	if p, err := syntax.ParseOne(v.Query, syntax.Options{}); err != nil || !sameNames(p, v.Columns) {
		b.WriteString(" (")
		for i, c := range v.Columns {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(backquote(c))
		}
		b.WriteString(")")
	}
	b.WriteString(" AS " + v.Query)
	return list("View|varchar(64)~!; Create View|varchar(1024)~!; character_set_client|varchar(64)~!; collation_connection|varchar(64)~!",
		Row{v.Name, b.String(), "utf8mb4", CreateCollation})
}

// sameNames reports whether a query itself names its columns so.
func sameNames(p syntax.Parsed, names []string) bool {
	q, ok := p.Statement.(*syntax.Query)
	if !ok {
		return false
	}
	s, ok := q.Body.(*syntax.Select)
	if !ok || len(s.Items) != len(names) {
		return false
	}
	for i, it := range s.Items {
		if it.Name() != names[i] {
			return false
		}
	}
	return true
}

// cutLast cuts at the last separator: users may have an @ in their names.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// viewsRows are the rows of information_schema.VIEWS.
func viewsRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachDatabase(ctx, src, want, "TABLE_SCHEMA", func(db string) error {
		names, err := src.Views(ctx, db)
		if err != nil {
			if errs.Is(err, errs.UnknownDatabase) {
				return nil
			}
			return err
		}
		for _, n := range names {
			if !want.allows("TABLE_NAME", n) {
				continue
			}
			t, err := src.Table(ctx, db, n)
			v, ok := t.(*View)
			if err != nil || !ok {
				if ctx.Err() != nil {
					return err
				}
				continue
			}
			definition := ""
			if src.Allowed(ShowView, db, n) {
				definition = v.Query
			}
			if err := add(Row{"def", db, n, definition, "NONE", "NO", v.Definer, security(v.View), "utf8mb4", CreateCollation}); err != nil {
				return err
			}
		}
		return nil
	})
}
