package session

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// open makes a session of an authenticated client.
func (s *Server) open(ctx context.Context, o OpenOptions) (*Session, error) {
	if o.Account == (metadata.Account{}) {
		o.Account = metadata.Account{Identity: metadata.Root, Super: true}
		o.User, o.Address = "root", "localhost"
	}
	if o.ID == 0 {
		o.ID = s.NextID()
	}
	x := &Session{srv: s, id: o.ID, opts: o, account: o.Account, since: s.now(), catalog: s.defaultCatalog(), vars: newVariables()}
	x.proc = process{command: "Sleep", since: x.since}
	if err := x.reset(ctx); err != nil {
		return nil, err
	}
	if o.Database != "" {
		if err := x.use(ctx, o.Database); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, errs.New(errs.Resource, errs.ShuttingDown, "Server shutdown in progress")
	}
	if _, used := s.sessions[x.id]; used {
		return nil, errs.Internalf("open session: the connection id %d is in use", x.id)
	}
	s.sessions[x.id] = x
	s.counters.connections.Add(1)
	if n := int64(len(s.sessions)); n > s.counters.peak.Load() {
		s.counters.peak.Store(n)
	}
	return x, nil
}

// defaultCatalog is the catalog that sessions start in.
func (s *Server) defaultCatalog() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalogs[0].Name
}

// catalogList returns all catalogs.
func (s *Server) catalogList() []NamedCatalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.catalogs)
}

func (s *Session) close() {
	s.cancelStatement(errs.New(errs.User, errs.Killed, "Query execution was interrupted"))
	if s.open != nil {
		_ = s.open.Close()
	}
	s.endTransaction()
	s.dropTemporaries()
	s.srv.mu.Lock()
	if s.srv.sessions[s.id] == s {
		delete(s.srv.sessions, s.id)
	}
	s.srv.mu.Unlock()
}

func (s *Session) status() Status {
	return Status{
		Autocommit: s.settings().autocommit, InTransaction: s.inTransaction, Database: s.shownDatabase(), Catalog: s.catalog,
		Warnings:           warningCount(s.warnings.Count()),
		NoBackslashEscapes: s.mode.Has(expr.NoBackslashEscapes), ANSIQuotes: s.mode.Has(expr.ANSIQuotes),
	}
}

// reset gives the session a new one's variables.
func (s *Session) reset(context.Context) error {
	if s.open != nil {
		_ = s.open.Close()
	}
	s.endTransaction()
	s.dropTemporaries()
	s.transaction = transaction{}
	s.vars.copyOf(s.srv.globals)
	s.flink = map[string]string{}
	s.prepared = map[string]*prepared{}
	s.cache, s.recent = map[string]syntax.Parsed{}, map[string]syntax.Parsed{}
	s.userMu.Lock()
	s.user = map[string]expr.Value{}
	s.userMu.Unlock()
	s.warnings, s.previous = &expr.Warnings{}, &expr.Warnings{}
	s.lastInsertID, s.rowCount, s.foundRows = 0, 0, 0
	if c, ok := metadata.LookupCollation(s.opts.Collation); ok && clientCharset(c.Charset) {
		s.vars.set("character_set_client", c.Charset)
		s.vars.set("character_set_results", c.Charset)
		s.vars.set("character_set_connection", c.Charset)
		s.vars.set("collation_connection", c.Name)
	}
	s.changed("sql_mode", false)
	z, err := zoneOf(s.text("time_zone"))
	if err != nil {
		return err
	}
	s.zone = z
	return nil
}

func (s *Session) changeUser(ctx context.Context, o OpenOptions) error {
	if s.open != nil {
		_ = s.open.Close()
	}
	s.endTransaction()
	s.mu.Lock()
	if o.Account == (metadata.Account{}) {
		o.Account = s.account
	}
	if o.Kill == nil {
		o.Kill = s.opts.Kill
	}
	s.opts, s.account = o, o.Account
	s.mu.Unlock()
	s.catalog, s.dbCatalog, s.database = s.srv.defaultCatalog(), "", ""
	if err := s.reset(ctx); err != nil {
		return err
	}
	if o.Database == "" {
		return nil
	}
	return s.use(ctx, o.Database)
}

// shownDatabase is DATABASE(): the current database, with its catalog when that
// is not the current one.
func (s *Session) shownDatabase() string {
	if s.database == "" || s.dbCatalog == s.catalog {
		return s.database
	}
	return s.dbCatalog + "." + s.database
}

// use makes a database the current one.
func (s *Session) use(ctx context.Context, name string) error {
	if db, ok := metadata.VirtualDatabase(name); ok {
		if db == metadata.MySQLDatabase && !(source{s}).visible(s.srv.defaultCatalog(), db) {
			return errs.Userf(errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, db)
		}
		s.dbCatalog, s.database = s.catalog, db
		s.enterDatabase()
		return nil
	}
	cat, db := s.splitDatabase(name)
	return s.useIn(ctx, cat, db, name)
}

func (s *Session) useIn(ctx context.Context, catalogName, database, shown string) error {
	c, err := s.srv.catalogNamed(catalogName)
	if err != nil {
		return err
	}
	dbs, err := c.Databases(ctx)
	if err != nil {
		return err
	}
	visible := source{s}.visible(catalogName, database)
	if !slices.Contains(dbs, database) {
		if !visible {
			return errs.Userf(errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, shown)
		}
		return errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", shown)
	}
	if !visible {
		return errs.Userf(errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, shown)
	}
	s.dbCatalog, s.database = catalogName, database
	s.enterDatabase()
	return nil
}

// enterDatabase shows the current database in the process list.
func (s *Session) enterDatabase() {
	db := s.shownDatabase()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.db = db
}

// useStatement runs USE.
func (s *Session) useStatement(ctx context.Context, x *syntax.Use) error {
	if x.Catalog {
		return s.useCatalog(ctx, x)
	}
	if x.Name.Database() != "" {
		return s.useIn(ctx, x.Name.Database(), x.Name.Object(), x.Name.Database()+"."+x.Name.Object())
	}
	return s.use(ctx, x.Name.Object())
}
