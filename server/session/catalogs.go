package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// CatalogControl opens and keeps catalogs that statements make.
type CatalogControl interface {
	// OpenCatalog opens a catalog by the options of CREATE CATALOG, and makes its
	// default database where it can. What it cannot open is refused by name.
	OpenCatalog(ctx context.Context, name string, options map[string]string) (catalog.Catalog, error)
	// SaveCatalogs keeps the definitions of all catalogs that statements made, so
	// that they are there after a restart.
	SaveCatalogs(ctx context.Context, definitions []CatalogDefinition) error
	// Shown returns an option's value as it may be shown: without secrets.
	Shown(option, value string) string
}

// CatalogDefinition is what CREATE CATALOG said.
type CatalogDefinition struct {
	Name    string            `json:"name"`
	Comment string            `json:"comment,omitempty"`
	Options map[string]string `json:"options"`
}

// NamedCatalog is a catalog and its name.
type NamedCatalog struct {
	Name    string
	Catalog catalog.Catalog
	// Definition is what made it; nil for the server's own.
	Definition *CatalogDefinition
}

// flinkDefaultCatalog is how Flink's scripts call the catalog that is there from
// the start: another name of the server's own.
const flinkDefaultCatalog = "default_catalog"

// defaultDatabase is the current database after USE CATALOG, where it exists.
const defaultDatabase = "default"

// catalogNamed returns a catalog by its exact name.
func (s *Server) catalogNamed(name string) (catalog.Catalog, error) {
	c, err := s.namedCatalog(name)
	return c.Catalog, err
}

func (s *Server) namedCatalog(name string) (NamedCatalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.catalogs {
		if c.Name == name {
			return c, nil
		}
	}
	if name == flinkDefaultCatalog {
		return s.catalogs[0], nil
	}
	return NamedCatalog{}, errs.Userf(errs.UnknownCatalog, "open catalog %s: there is none of that name", name)
}

// follow renames the session's catalog when the server's own was renamed since
// the last statement (createCatalog).
func (s *Session) follow() {
	if s.renames == s.srv.renames.Load() {
		return
	}
	s.srv.mu.Lock()
	now, was := s.srv.catalogs[0].Name, s.srv.was
	s.srv.mu.Unlock()
	s.renames = s.srv.renames.Load()
	if s.catalog == was {
		s.catalog = now
	}
	if s.dbCatalog == was {
		s.dbCatalog = now
	}
}

// mayChangeCatalogs refuses those who must not open paths and databases of their
// choice in the name of the server.
func (s *Session) mayChangeCatalogs() error {
	if !s.allowed(metadata.Super, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation")
	}
	return nil
}

// catalogVisible reports whether the account may know of a catalog: the
// server's own, and those with a database in which it has a right.
func (s *Session) catalogVisible(ctx context.Context, c NamedCatalog) bool {
	if s.account.Super || c.Name == s.srv.defaultCatalog() || s.srv.accounts.Allowed(s.account.Identity, metadata.SeeDatabases, metadata.Object{}) {
		return true
	}
	dbs, err := c.Catalog.Databases(ctx)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(dbs, func(db string) bool { return source{s}.visible(c.Name, db) })
}

// createCatalog runs CREATE CATALOG. A catalog of the name of the server's own
// takes that name over: the server's own is called default_catalog from then on.
func (s *Session) createCatalog(ctx context.Context, x *syntax.CreateCatalog) error {
	if err := s.mayChangeCatalogs(); err != nil {
		return err
	}
	control := s.srv.cfg.CatalogControl
	if control == nil {
		return errs.Unsupportedf(x.Pos(), "CREATE CATALOG here")
	}
	name := x.Name.Name
	if name == "" || strings.ContainsAny(name, ".`\x00") || name == flinkDefaultCatalog {
		return errs.UserAt(x.Pos(), errs.InvalidConfig, "'%s' cannot be the name of a catalog", name)
	}
	exists := func() bool {
		return slices.ContainsFunc(s.srv.catalogList(), func(c NamedCatalog) bool { return c.Name == name && c.Definition != nil })
	}
	taken := func() error {
		err := errs.UserAt(x.Pos(), errs.CatalogExists, "Can't create catalog '%s'; catalog exists", name)
		if x.IfNotExists {
			s.warn("Note", err)
			return nil
		}
		return err
	}
	if exists() {
		return taken()
	}
	d := &CatalogDefinition{Name: name, Comment: x.Comment, Options: map[string]string{}}
	for _, o := range x.Options {
		if _, twice := d.Options[o.Key]; twice {
			return errs.UserAt(o.Pos(), errs.InvalidConfig, "the option '%s' is there twice", o.Key)
		}
		d.Options[o.Key] = o.Value
	}
	c, err := control.OpenCatalog(ctx, name, d.Options)
	if err != nil {
		return err
	}
	s.srv.catalogChange.Lock() // one change at a time, with its file
	defer s.srv.catalogChange.Unlock()
	if exists() {
		closeCatalog(c)
		return taken()
	}
	list := append(s.srv.catalogList(), NamedCatalog{Name: name, Catalog: c, Definition: d})
	renamed := list[0].Name == name
	if renamed {
		list[0].Name = flinkDefaultCatalog
	}
	if err := control.SaveCatalogs(ctx, definitions(list)); err != nil {
		closeCatalog(c)
		return err
	}
	s.srv.mu.Lock()
	s.srv.catalogs = list
	if renamed {
		s.srv.was = name
		s.srv.renames.Add(1)
	}
	s.srv.mu.Unlock()
	s.follow()
	return nil
}

// dropCatalog runs DROP CATALOG: the name goes, the warehouse stays.
func (s *Session) dropCatalog(ctx context.Context, x *syntax.DropCatalog) error {
	if err := s.mayChangeCatalogs(); err != nil {
		return err
	}
	name := x.Name.Name
	s.srv.catalogChange.Lock()
	defer s.srv.catalogChange.Unlock()
	list := s.srv.catalogList()
	i := slices.IndexFunc(list, func(c NamedCatalog) bool { return c.Name == name })
	switch {
	case i < 0:
		err := errs.UserAt(x.Pos(), errs.UnknownCatalog, "Can't drop catalog '%s'; catalog doesn't exist", name)
		if x.IfExists {
			s.warn("Note", err)
			return nil
		}
		return err
	case list[i].Definition == nil:
		return errs.UserAt(x.Pos(), errs.InvalidConfig, "Can't drop catalog '%s': it is the server's own", name)
	case s.catalog == name || s.dbCatalog == name && s.database != "":
		return errs.UserAt(x.Pos(), errs.InvalidConfig, "Can't drop catalog '%s': it is the current one; USE CATALOG another first", name)
	}
	gone := list[i]
	list = slices.Delete(list, i, i+1)
	if err := s.srv.cfg.CatalogControl.SaveCatalogs(ctx, definitions(list)); err != nil {
		return err
	}
	s.srv.mu.Lock()
	s.srv.catalogs = list
	s.srv.mu.Unlock()
	closeCatalog(gone.Catalog)
	return nil
}

// alterCatalog runs ALTER CATALOG: the catalog is opened anew with the changed
// options before it takes the old one's place.
func (s *Session) alterCatalog(ctx context.Context, x *syntax.AlterCatalog) error {
	if err := s.mayChangeCatalogs(); err != nil {
		return err
	}
	name := x.Name.Name
	s.srv.catalogChange.Lock()
	defer s.srv.catalogChange.Unlock()
	list := slices.Clone(s.srv.catalogList())
	i := slices.IndexFunc(list, func(c NamedCatalog) bool { return c.Name == name })
	switch {
	case i < 0:
		return errs.UserAt(x.Pos(), errs.UnknownCatalog, "Unknown catalog '%s'", name)
	case list[i].Definition == nil:
		return errs.UserAt(x.Pos(), errs.InvalidConfig, "Can't alter catalog '%s': it is the server's own", name)
	}
	old := list[i]
	d := &CatalogDefinition{Name: name, Comment: old.Definition.Comment, Options: maps.Clone(old.Definition.Options)}
	if x.HasComment {
		d.Comment = x.Comment
	}
	for _, o := range x.Set {
		d.Options[o.Key] = o.Value
	}
	for _, k := range x.Reset {
		delete(d.Options, k)
	}
	list[i].Definition = d
	if !maps.Equal(d.Options, old.Definition.Options) {
		c, err := s.srv.cfg.CatalogControl.OpenCatalog(ctx, name, d.Options)
		if err != nil {
			return err
		}
		list[i].Catalog = c
	}
	if err := s.srv.cfg.CatalogControl.SaveCatalogs(ctx, definitions(list)); err != nil {
		if list[i].Catalog != old.Catalog {
			closeCatalog(list[i].Catalog)
		}
		return err
	}
	s.srv.mu.Lock()
	s.srv.catalogs = list
	s.srv.mu.Unlock()
	if list[i].Catalog != old.Catalog {
		closeCatalog(old.Catalog)
	}
	return nil
}

func definitions(list []NamedCatalog) (out []CatalogDefinition) {
	for _, c := range list {
		if c.Definition != nil {
			out = append(out, *c.Definition)
		}
	}
	return out
}

// closeCatalog ends the connections of a catalog that has any.
func closeCatalog(c catalog.Catalog) {
	if x, ok := c.(interface{ Close() error }); ok {
		_ = x.Close()
	}
}

// useCatalog runs USE CATALOG.
func (s *Session) useCatalog(ctx context.Context, x *syntax.Use) error {
	name := x.Name.Object()
	c, err := s.srv.namedCatalog(name)
	if err != nil || !s.catalogVisible(ctx, c) {
		return errs.UserAt(x.Pos(), errs.UnknownCatalog, "Unknown catalog '%s'", name)
	}
	database := defaultDatabase
	if c.Definition != nil && c.Definition.Options["default-database"] != "" {
		database = c.Definition.Options["default-database"]
	}
	dbs, err := c.Catalog.Databases(ctx)
	if err != nil {
		return err
	}
	s.catalog, s.dbCatalog, s.database = c.Name, "", ""
	if slices.Contains(dbs, database) && (source{s}).visible(c.Name, database) {
		s.dbCatalog, s.database = c.Name, database
	}
	s.enterDatabase()
	return nil
}

// showCatalogs lists the catalogs that the account may know of.
func (s *Session) showCatalogs(ctx context.Context) metadata.Listing {
	l := metadata.Listing{Fields: metadata.ParseFields("catalog name|varchar(256)!"), LikeExact: true}
	for _, c := range s.srv.catalogList() {
		if s.catalogVisible(ctx, c) {
			l.Rows = append(l.Rows, metadata.Row{c.Name})
		}
	}
	return l
}

// showCreateCatalog prints the statement that made a catalog, without secrets.
func (s *Session) showCreateCatalog(ctx context.Context, x *syntax.Show) (metadata.Listing, error) {
	name := x.Table.Object()
	c, err := s.srv.namedCatalog(name)
	if err != nil || !s.catalogVisible(ctx, c) {
		return metadata.Listing{}, errs.UserAt(x.Pos(), errs.UnknownCatalog, "Unknown catalog '%s'", name)
	}
	if c.Definition == nil {
		return metadata.Listing{}, errs.UserAt(x.Pos(), errs.InvalidConfig, "the catalog '%s' is the server's own, which no statement made", name)
	}
	quoted := func(v string) string { return "'" + strings.ReplaceAll(v, "'", "''") + "'" }
	var b strings.Builder
	b.WriteString("CREATE CATALOG `" + strings.ReplaceAll(c.Name, "`", "``") + "`")
	if c.Definition.Comment != "" {
		b.WriteString("\nCOMMENT " + quoted(c.Definition.Comment))
	}
	b.WriteString(" WITH (")
	for i, k := range slices.Sorted(maps.Keys(c.Definition.Options)) {
		v := s.srv.cfg.CatalogControl.Shown(k, c.Definition.Options[k])
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  " + quoted(k) + " = " + quoted(v))
	}
	b.WriteString("\n)")
	return metadata.Listing{Fields: metadata.ParseFields("catalog|varchar(256)!;create catalog|longtext!"), Rows: []metadata.Row{{c.Name, b.String()}}, LikeColumn: -1}, nil
}
