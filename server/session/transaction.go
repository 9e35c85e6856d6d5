package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/plan"
)

// transaction is what a client sees of transactions. Statements read one
// snapshot a table and writes commit at once, so COMMIT and ROLLBACK only end
// the state: the status flags, the pins of a consistent snapshot, READ ONLY.
type transaction struct {
	inTransaction bool
	explicit      bool // begun by BEGIN, not by autocommit = 0
	readOnly      bool
	nextReadOnly  *bool // SET TRANSACTION READ ONLY, for the next one
	wrote         bool  // something was written that ROLLBACK cannot undo
	savepoints    []string

	// A consistent snapshot: tables as of consistentAt, those already resolved
	// by the catalog and name.
	consistent   bool
	consistentAt time.Time
	pinned       map[string]connector.Snapshot
	cut          cut // what it reads live
}

func (s *Session) beginTransaction(ctx context.Context, x *syntax.Begin) error {
	s.endTransaction()
	ro := s.on("transaction_read_only")
	if s.nextReadOnly != nil {
		ro = *s.nextReadOnly
	}
	switch x.Access {
	case "READ ONLY":
		ro = true
	case "READ WRITE":
		ro = false
	}
	s.transaction = transaction{inTransaction: true, explicit: true, readOnly: ro}
	if x.ConsistentSnapshot {
		if err := s.pinAll(ctx); err != nil {
			s.transaction = transaction{}
			return err
		}
	}
	return nil
}

// maxEagerPins bounds the tables that START TRANSACTION WITH CONSISTENT
// SNAPSHOT resolves at once; others are resolved by time when they are read.
const maxEagerPins = 1000

// pinAll pins the tables of the current database at their newest snapshots and
// notes the time for all others.
func (s *Session) pinAll(ctx context.Context) error {
	s.consistent, s.consistentAt, s.pinned = true, s.srv.now(), map[string]connector.Snapshot{}
	if s.text("lake_freshness") == "live" {
		s.cut = cut{}
	}
	if s.database == "" {
		return nil
	}
	c, err := s.srv.catalogNamed(s.dbCatalog)
	if err != nil {
		return err
	}
	names, err := c.Tables(ctx, s.database)
	if err != nil {
		return err
	}
	for i, n := range names {
		if i >= maxEagerPins {
			break
		}
		t, err := c.Table(ctx, catalog.Identifier{Catalog: s.dbCatalog, Database: s.database, Table: n})
		if errs.Is(err, errs.UnknownTable) {
			continue
		}
		if err != nil {
			return err
		}
		r, ok := t.(connector.Readable)
		if !ok {
			continue
		}
		var snap connector.Snapshot
		if s.cut != nil {
			snap, _ = s.liveSnapshot(ctx, s.cut, s.dbCatalog, t)
		}
		if snap == nil {
			if snap, err = r.Snapshot(ctx, catalog.Ref{}); err != nil {
				return err
			}
		}
		s.keep(s.dbCatalog, t, snap)
	}
	return nil
}

func pinKey(catalogName string, t catalog.Table) string {
	return catalogName + "\x00" + t.ID().Database + "\x00" + t.ID().Object() + "\x00" + t.UUID()
}

// keep pins a snapshot until the transaction ends.
func (s *Session) keep(catalogName string, t catalog.Table, snap connector.Snapshot) {
	s.pinned[pinKey(catalogName, t)] = snap
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins = append(s.pins, pin{use: plan.TableUse{Catalog: catalogName, Table: t, Snapshot: snap}, since: s.srv.now(), transaction: true})
}

// pinnedSnapshot answers which snapshot a table is read at in a consistent
// transaction. A table that was made or first written since then cannot be read
// in it.
func (s *Session) pinnedSnapshot(ctx context.Context) func(string, catalog.Table) (connector.Snapshot, bool) {
	if !s.consistent {
		return nil
	}
	return func(catalogName string, t catalog.Table) (connector.Snapshot, bool) {
		if snap, ok := s.pinned[pinKey(catalogName, t)]; ok {
			return snap, true
		}
		r, ok := t.(connector.Readable)
		if !ok || t.ID().System != "" {
			return nil, false
		}
		if s.cut != nil && s.srv.cfg.Live != nil && s.cut[s.srv.cfg.Live.Feed(catalogName, t.ID())] != nil {
			// Of a pipeline that was seen at the begin.
			if snap, ok := s.liveSnapshot(ctx, s.cut, catalogName, t); ok {
				s.keep(catalogName, t, snap)
				return snap, true
			}
		}
		snap, err := r.Snapshot(ctx, catalog.Ref{Kind: catalog.ByTimestamp, Time: s.consistentAt})
		if errs.Is(err, errs.UnknownSnapshot) {
			// None that old: fine when there is none at all.
			if snap, err = r.Snapshot(ctx, catalog.Ref{}); err == nil && snap.Version() != 0 {
				err = errs.Userf(errs.UnknownSnapshot, "Table definition has changed, please retry transaction: %s has no snapshot as old as the transaction", t.ID())
			}
		}
		if err != nil {
			return unreadable{t.Schema(), err}, true
		}
		s.keep(catalogName, t, snap)
		return snap, true
	}
}

// unreadable is a snapshot that cannot be read, for a reason.
type unreadable struct {
	schema *catalog.Schema
	err    error
}

func (u unreadable) Version() int64          { return 0 }
func (u unreadable) Schema() *catalog.Schema { return u.schema }
func (u unreadable) RowCount(context.Context) (int64, bool, error) {
	return 0, false, u.err
}
func (u unreadable) Plan(context.Context, connector.ScanRequest) (*connector.Plan, error) {
	return nil, u.err
}

// touch notes that a statement used tables: without autocommit that begins a
// transaction.
func (s *Session) touch(tables int) {
	if tables > 0 && !s.inTransaction && !s.settings().autocommit {
		s.inTransaction = true
	}
}

// autocommitted reports whether the statement was a transaction of its own.
func (s *Session) autocommitted() bool { return !s.inTransaction && !s.consistent }

// releaseTransaction drops the pins that a transaction holds.
func (s *Session) releaseTransaction() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins = slices.DeleteFunc(s.pins, func(p pin) bool { return p.transaction })
	s.cut.release()
}

// endTransaction is COMMIT, and what commits implicitly.
func (s *Session) endTransaction() {
	next := s.nextReadOnly
	if s.inTransaction {
		next = nil
	}
	s.releaseTransaction()
	s.transaction = transaction{nextReadOnly: next}
}

func (s *Session) rollback(x *syntax.Rollback) error {
	if x.Chain || x.Release {
		return errs.Unsupportedf(x.Pos(), "ROLLBACK AND CHAIN and RELEASE")
	}
	if x.To.Name != "" {
		i := s.savepointAt(x.To.Name)
		if i < 0 {
			return errs.UserAt(x.Pos(), errs.UnknownProcedure, "SAVEPOINT %s does not exist", x.To.Name)
		}
		s.savepoints = s.savepoints[:i+1]
		s.warnWritten()
		return nil
	}
	s.warnWritten()
	s.endTransaction()
	return nil
}

// warnWritten warns that rows stay.
func (s *Session) warnWritten() {
	if s.wrote {
		s.warn("Warning", errs.New(errs.User, errs.NotRolledBack, "Some non-transactional changed tables couldn't be rolled back"))
	}
}

func (s *Session) savepointAt(name string) int {
	return slices.IndexFunc(s.savepoints, func(p string) bool { return strings.EqualFold(p, name) })
}

func (s *Session) savepoint(name string) {
	if !s.inTransaction {
		return // as MySQL with autocommit: it ends at once
	}
	if i := s.savepointAt(name); i >= 0 {
		s.savepoints = slices.Delete(s.savepoints, i, i+1)
	}
	s.savepoints = append(s.savepoints, name)
}

func (s *Session) releaseSavepoint(name string) error {
	i := s.savepointAt(name)
	if i < 0 {
		return errs.Userf(errs.UnknownProcedure, "SAVEPOINT %s does not exist", name)
	}
	s.savepoints = s.savepoints[:i]
	return nil
}

// writable refuses writes in READ ONLY transactions.
func (s *Session) writable(pos int) error {
	ro := s.readOnly
	if !s.inTransaction {
		ro = s.on("transaction_read_only")
		if s.nextReadOnly != nil {
			ro = *s.nextReadOnly
		}
	}
	if ro {
		return errs.UserAt(pos, errs.ReadOnlyTransaction, "Cannot execute statement in a READ ONLY transaction.")
	}
	return nil
}
