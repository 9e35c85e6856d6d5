package plan

import (
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Name is a resolved object name: which catalog, and what it is called there.
type Name struct {
	// Catalog is the catalog's name, "" for virtual databases.
	Catalog string
	// In is the catalog that answers for the name.
	In catalog.Catalog
	ID catalog.Identifier
	// Temporary is the session's temporary table of that name, or nil.
	Temporary catalog.Table
}

// ResolveDatabase resolves a database name: db, catalog.db, or `catalog.db` in
// one part; the current one when the name is empty (DESIGN D14).
func ResolveDatabase(cs Catalogs, name syntax.ObjectName) (Name, error) {
	if name.IsZero() {
		_, db := cs.Current()
		if db == "" {
			return Name{}, errs.Userf(errs.NoDatabase, "No database selected")
		}
		return resolveDatabase(cs, "", db, -1)
	}
	if len(name.Parts) > 2 {
		return Name{}, errs.UserAt(name.Pos(), errs.Syntax, "a database name has at most two parts, catalog and database")
	}
	cat := ""
	if len(name.Parts) == 2 {
		cat = name.Parts[0].Name
	}
	return resolveDatabase(cs, cat, name.Parts[len(name.Parts)-1].Name, name.Pos())
}

func resolveDatabase(cs Catalogs, cat, db string, pos int) (Name, error) {
	current, _ := cs.Current()
	if cat == "" {
		if v, ok := cs.Virtual(db); ok {
			return Name{In: v, ID: catalog.Identifier{Database: strings.ToLower(db)}}, nil
		}
		// Another catalog's database may be written as one name with a dot. The
		// current catalog's own database of that very name comes first.
		if c, rest, ok := strings.Cut(db, "."); ok {
			if other, found := cs.Catalog(c); found {
				if v, ok := cs.Virtual(rest); ok {
					return Name{In: v, ID: catalog.Identifier{Catalog: c, Database: strings.ToLower(rest)}}, nil
				}
				return Name{Catalog: c, In: other, ID: catalog.Identifier{Catalog: c, Database: rest}}, nil
			}
		}
		cat = current
	}
	in, ok := cs.Catalog(cat)
	if !ok {
		return Name{}, errs.UserAt(pos, errs.UnknownCatalog, "Unknown catalog '%s'", cat)
	}
	if v, ok := cs.Virtual(db); ok {
		id := catalog.Identifier{Database: strings.ToLower(db)}
		if cat != current {
			id.Catalog = cat
		}
		return Name{In: v, ID: id}, nil
	}
	return Name{Catalog: cat, In: in, ID: catalog.Identifier{Catalog: cat, Database: db}}, nil
}

// Unquoted cuts a table name that is quoted as a whole, `db.t$branch_b`, as
// Flink's users write it: no table has a dot in its name.
func Unquoted(name syntax.ObjectName) syntax.ObjectName {
	if len(name.Parts) != 1 {
		return name
	}
	at := name.Parts[0].At
	if db, object, ok := strings.Cut(name.Parts[0].Name, "."); ok && db != "" && object != "" {
		name.Parts = []syntax.Ident{{At: at, Name: db}, {At: at, Name: object}}
	}
	return name
}

// ResolveTable resolves a table name of up to three parts. It does not look
// whether the table exists.
func ResolveTable(cs Catalogs, name syntax.ObjectName) (Name, error) {
	name = Unquoted(name)
	parts := name.Parts
	var out Name
	var err error
	switch len(parts) {
	case 1:
		_, db := cs.Current()
		if db == "" {
			if t, ok := cs.Temporary("", parts[0].Name); ok {
				return Name{ID: catalog.Identifier{Table: parts[0].Name}, Temporary: t}, nil
			}
			return out, errs.UserAt(name.Pos(), errs.NoDatabase, "No database selected")
		}
		out, err = resolveDatabase(cs, "", db, name.Pos())
	case 2:
		out, err = resolveDatabase(cs, "", parts[0].Name, name.Pos())
	case 3:
		out, err = resolveDatabase(cs, parts[0].Name, parts[1].Name, name.Pos())
	default:
		err = errs.UserAt(name.Pos(), errs.Syntax, "a table name has at most three parts: catalog, database and table")
	}
	if err != nil {
		return out, err
	}
	object := name.Object()
	if current, _ := cs.Current(); out.Catalog == current || out.Catalog == "" {
		if t, ok := cs.Temporary(out.ID.Database, object); ok {
			out.Temporary = t
		}
	}
	out.ID.Table, out.ID.Branch, out.ID.System = catalog.ParseObject(object)
	return out, nil
}

// open opens a table and gives errors the position of its name.
func (b *binder) open(name syntax.ObjectName) (Name, catalog.Table, error) {
	n, err := ResolveTable(b.env.Catalogs, name)
	if err != nil {
		return n, nil, err
	}
	if n.Temporary != nil {
		return n, n.Temporary, nil
	}
	if b.env.Authorize != nil {
		if err := b.env.Authorize(b.ctx, n.Catalog, n.ID); err != nil {
			return n, nil, err
		}
	}
	t, err := n.In.Table(b.ctx, n.ID)
	if err != nil {
		return n, nil, positioned(err, name.Pos())
	}
	return n, t, nil
}

// positioned gives a user's error the position of what it is about.
func positioned(err error, pos int) error {
	e, ok := err.(*errs.Error)
	if !ok || e.Pos >= 0 || e.Class != errs.User && e.Class != errs.Unsupported {
		return err
	}
	c := *e
	c.Pos = pos
	return &c
}

// use pins the version of a table that ref names. The same table at the same
// version is resolved once a statement (DESIGN D9).
func (b *binder) use(n Name, t catalog.Table, ref catalog.Ref, pos int) (*TableUse, error) {
	key := n.Catalog + "\x00" + n.ID.String() + "\x00" + ref.String()
	if n.Temporary != nil {
		key = "temporary\x00" + key
	}
	if u := b.uses[key]; u != nil {
		return u, nil
	}
	r, ok := t.(connector.Readable)
	if !ok {
		return nil, errs.Unsupportedf(pos, "reading table %s", n.ID)
	}
	u := &TableUse{Catalog: n.Catalog, Table: t, Ref: ref}
	if ref.Kind == catalog.Latest && b.env.Pinned != nil && n.Temporary == nil {
		if s, ok := b.env.Pinned(n.Catalog, t); ok {
			u.Snapshot = s
		}
	}
	if u.Snapshot == nil {
		var err error
		if o, ok := t.(connector.Opened); ok && ref.Kind == catalog.Latest && n.Temporary == nil {
			u.Snapshot, err = o.Current(b.ctx) // b.open has just opened it
		} else {
			u.Snapshot, err = r.Snapshot(b.ctx, ref)
		}
		if err != nil {
			return nil, positioned(err, pos)
		}
	}
	if b.env.Pin != nil {
		b.env.Pin(*u)
	}
	b.uses[key] = u
	b.tables = append(b.tables, u)
	return u, nil
}
