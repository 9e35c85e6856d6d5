package session

import (
	"context"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

func (s *Server) open(ctx context.Context, o OpenOptions) (*Session, error) {
	if o.Account == (metadata.Account{}) {
		o.Account = metadata.Account{Identity: metadata.Root, Super: true}
		o.User, o.Address = "root", "localhost"
	}
	if o.ID == 0 {
		o.ID = s.NextID()
	}
	s.mu.Lock()
	first := s.catalogs[0].Name
	s.mu.Unlock()
	x := &Session{srv: s, id: o.ID, opts: o, account: o.Account, since: s.now(), catalog: first}
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
		return nil, errs.New(errs.Resource, errs.ShuttingDown, "open session: the server is shutting down")
	}
	s.sessions[x.id] = x
	return x, nil
}

func (s *Session) close() {
	s.cancelStatement(errs.New(errs.User, errs.Killed, "run statement: the session was closed"))
	s.srv.mu.Lock()
	delete(s.srv.sessions, s.id)
	s.srv.mu.Unlock()
}

func (s *Session) status() Status {
	return Status{Autocommit: true, Database: s.database, Catalog: s.catalog}
}

func (s *Session) reset(context.Context) error { return nil }

func (s *Session) changeUser(ctx context.Context, o OpenOptions) error {
	s.opts, s.account, s.database = o, o.Account, ""
	if err := s.reset(ctx); err != nil {
		return err
	}
	if o.Database == "" {
		return nil
	}
	return s.use(ctx, o.Database)
}

// resolveDatabase finds the catalog and database that a name in a USE or in a
// qualified table name means: a database of the current catalog, or
// "catalog.db" (DESIGN D14).
func (s *Session) resolveDatabase(ctx context.Context, name string) (catalogName, database string, err error) {
	c, err := s.srv.catalogNamed(s.catalog)
	if err != nil {
		return "", "", err
	}
	has := func(c catalog.Catalog, db string) (bool, error) {
		dbs, err := c.Databases(ctx)
		return slices.Contains(dbs, db), err
	}
	if ok, err := has(c, name); err != nil || ok {
		return s.catalog, name, err
	}
	if cn, db, ok := strings.Cut(name, "."); ok {
		if c, err := s.srv.catalogNamed(cn); err == nil {
			if ok, err := has(c, db); err != nil || ok {
				return cn, db, err
			}
		}
	}
	return "", "", errs.Userf(errs.UnknownDatabase, "Unknown database '%s'", name)
}

func (s *Session) use(ctx context.Context, database string) error {
	c, db, err := s.resolveDatabase(ctx, database)
	if err != nil {
		return err
	}
	s.catalog, s.database = c, db
	return nil
}

func (s *Session) execute(_ context.Context, _ string, _ []expr.Value) (*Result, error) {
	return nil, errs.Unsupportedf(0, "this statement")
}

func (s *Session) prepare(_ context.Context, _ string) (*Prepared, error) {
	return nil, errs.Unsupportedf(0, "preparing this statement")
}

func (s *Session) split(text string) []string { return []string{text} }
