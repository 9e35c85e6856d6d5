package catalog

import (
	"context"
	"time"
)

// View is a named query. It is stored as text in which every table is named with
// its database (and catalog, if it is another one) and no * is left, so that it
// means the same for whoever reads it, whatever is added to the tables later.
type View struct {
	Database string `json:"-"`
	Name     string `json:"-"`
	// Query is the SELECT, in MySQL's dialect under an empty sql_mode; Columns are
	// the names of what it gives.
	Query   string   `json:"query"`
	Columns []string `json:"columns"`
	// Definer is the account, "user@host", with whose rights the tables are read,
	// unless Invoker: then it is the reader's.
	Definer string    `json:"definer,omitempty"`
	Invoker bool      `json:"invoker,omitempty"`
	Comment string    `json:"comment,omitempty"`
	Created time.Time `json:"created"`
	// Fields are the columns with the lake's types when the view was made: what
	// other engines are told. Catalogs that only we read do not keep them.
	Fields []Field `json:"-"`
}

// ViewRenaming is a Viewing that gives views other names.
type ViewRenaming interface {
	// RenameView renames a view within its database. Errors: errs.UnknownTable,
	// TableExists.
	RenameView(ctx context.Context, database, from, to string) error
}

// Viewing is a catalog that stores views. Their names and those of tables do not
// collide: CreateView and CreateTable refuse with errs.TableExists.
type Viewing interface {
	// Views returns the names of a database's views, sorted.
	Views(ctx context.Context, database string) ([]string, error)
	// View reads a view. Errors: errs.UnknownTable.
	View(ctx context.Context, database, name string) (*View, error)
	// CreateView stores a view, in place of one of that name with replace.
	CreateView(ctx context.Context, v *View, replace bool) error
	// DropView removes a view. Errors: errs.UnknownTable.
	DropView(ctx context.Context, database, name string) error
}
