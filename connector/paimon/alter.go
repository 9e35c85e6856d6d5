package paimon

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// alterTries bounds how often a change is tried again after somebody else was
// faster. Each loss means that another change went through, so that more than a
// handful in a row is a store that answers wrongly.
const alterTries = 100

// Alter applies changes to the newest schema of the table in dir, or of the
// branch that id names: schema-(n+1) is made exclusively. When somebody else
// makes that file first, their schema is read and the changes are applied to it.
// Changes that leave the schema as it is write nothing. Errors: those of
// catalog.Altering.
func (d *Driver) Alter(ctx context.Context, dir string, id catalog.Identifier, changes []catalog.SchemaChange) error {
	dir = strings.TrimRight(dir, "/")
	if id.System != "" {
		return errs.Unsupportedf(-1, "ALTER TABLE of the system table %s", id)
	}
	if id.Branch == "main" {
		id.Branch = ""
	}
	if strings.ContainsAny(id.Branch, "/\x00") {
		return errs.Userf(errs.UnknownTable, "table %s does not exist: no branch has the name %q", id, id.Branch)
	}
	src := d.source(dir, id)
	for range alterTries {
		old, err := src.NewestSchema(ctx)
		if err != nil {
			return fmt.Errorf("alter table %s: %w", id, err)
		}
		latest, err := src.LatestID(ctx)
		if err != nil {
			return fmt.Errorf("alter table %s: %w", id, err)
		}
		next, err := ApplyChanges(old, changes, latest > 0)
		if err != nil {
			return fmt.Errorf("alter table %s: %w", id, err)
		}
		if next == nil {
			return nil
		}
		if err := d.checkBranches(ctx, dir, id, next); err != nil {
			return fmt.Errorf("alter table %s: %w", id, err)
		}
		if latest > 0 {
			if err := readable(old, next); err != nil {
				return fmt.Errorf("alter table %s: %w", id, err)
			}
		}
		done, err := d.putSchema(ctx, dir, id, next)
		if err != nil || done {
			return err
		}
	}
	return errs.New(errs.Conflict, errs.KindNone, "alter table %s: its schema changed %d times meanwhile; run the statement again", id, alterTries)
}

// putSchema makes a schema file. It returns false when another of its number
// exists.
func (d *Driver) putSchema(ctx context.Context, dir string, id catalog.Identifier, s *catalog.Schema) (bool, error) {
	data, err := spec.MarshalSchema(s)
	if err != nil {
		return false, fmt.Errorf("alter table %s: %w", id, err)
	}
	path := spec.NewPaths(dir, id.Branch, s).Schema(s.ID)
	if lock := d.lock(id); lock != nil {
		unlock, err := lock(ctx)
		if err != nil {
			return false, fmt.Errorf("alter table %s: %w", id, err)
		}
		defer unlock() // a lock that is not given back expires
	}
	err = d.cfg.Files.CreateExclusive(ctx, path, data)
	if err == nil {
		return true, nil
	}
	// Whatever the error says, the file decides (DESIGN D12).
	there, rerr := d.cfg.Files.ReadFile(context.WithoutCancel(ctx), path)
	switch {
	case errs.Is(rerr, errs.FileNotFound):
		return false, fmt.Errorf("alter table %s: %w", id, err)
	case rerr != nil:
		return false, errs.New(errs.UnknownOutcome, errs.KindNone, "alter table %s: %w; it may have been changed: %v", id, err, rerr)
	}
	return bytes.Equal(there, data), nil
}

// checkBranches refuses a schema whose fallback branch does not exist, which
// would make the table unreadable.
func (d *Driver) checkBranches(ctx context.Context, dir string, id catalog.Identifier, s *catalog.Schema) error {
	fallback, primary := strings.TrimSpace(s.Options["scan.fallback-branch"]), strings.TrimSpace(s.Options["scan.primary-branch"])
	if fallback != "" && primary != "" {
		return errs.Userf(errs.InvalidTable, "'scan.fallback-branch' and 'scan.primary-branch' cannot both be set")
	}
	for option, branch := range map[string]string{"scan.fallback-branch": fallback, "scan.primary-branch": primary} {
		if branch == "" {
			continue
		}
		other := id
		if other.Branch = branch; branch == "main" {
			other.Branch = ""
		}
		ids, err := d.source(dir, other).SchemaIDs(ctx)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return errs.Userf(errs.InvalidTable, "'%s' = '%s': the table has no such branch", option, branch)
		}
	}
	return nil
}

// readable refuses changes of types under which this version cannot read the
// rows that were written before: Paimon allows them, but the table would be
// lost to whoever asked for the change.
func readable(old, next *catalog.Schema) error {
	for _, f := range next.Fields {
		for _, g := range old.Fields {
			if f.ID == g.ID {
				if err := read.CanCast(g.Type, f.Type); err != nil {
					return fmt.Errorf("column %q: %w", f.Name, err)
				}
			}
		}
	}
	return nil
}

// ApplyChanges returns the schema after old under changes, checked by Paimon's
// rules, with the next id; nil when they change nothing. written says that the
// table has a snapshot, after which some options are fixed. It does not change
// old.
func ApplyChanges(old *catalog.Schema, changes []catalog.SchemaChange, written bool) (*catalog.Schema, error) {
	a := &alteration{old: old, written: written, next: copySchema(old)}
	for i := range changes {
		if err := a.apply(&changes[i]); err != nil {
			return nil, err
		}
	}
	if err := normalizeKeys(a.next); err != nil {
		return nil, err
	}
	if err := checkSchema(a.next); err != nil {
		return nil, err
	}
	before, err := spec.MarshalSchema(old)
	if err != nil {
		return nil, err
	}
	after, err := spec.MarshalSchema(a.next)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	a.next.ID++
	a.next.TimeMillis = time.Now().UnixMilli()
	return a.next, nil
}
