package commit

import (
	"context"
	"strconv"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// history is what a Committer remembers of the table's snapshots, so that it
// does not walk back through all of them for each commit. It is forgotten when
// the snapshot that it knows last is not the same any more (rollback,
// re-creation).
type history struct {
	id       int64  // the newest snapshot looked at; 0: nothing is known
	identity string // and which it was
	own      *spec.Snapshot
	ownKnown bool // own is the newest own snapshot up to id, nil for none
}

// note records a snapshot that this Committer made on top of the one it knew.
func (h *history) note(s *spec.Snapshot) {
	*h = history{id: s.ID, identity: s.Identity(), own: s, ownKnown: true}
}

// newestOwn returns the newest snapshot of the user at or before latest, nil
// when there is none in the table's history.
func (c *Committer) newestOwn(ctx context.Context, latest *spec.Snapshot) (*spec.Snapshot, error) {
	h := &c.history
	if latest == nil {
		*h = history{}
		return nil, nil
	}
	if err := c.validate(ctx, latest); err != nil {
		return nil, err
	}
	if h.id == latest.ID && h.ownKnown {
		return h.own, nil
	}
	floor := int64(0)
	if h.ownKnown {
		floor = h.id
	}
	found, err := c.walk(ctx, latest, floor, func(s *spec.Snapshot) bool { return s.CommitUser == c.cfg.User })
	if err != nil {
		return nil, err
	}
	if found == nil && h.ownKnown {
		found = h.own
	}
	*h = history{id: latest.ID, identity: latest.Identity(), own: found, ownKnown: true}
	return found, nil
}

// validate forgets the history when it does not lead to latest.
func (c *Committer) validate(ctx context.Context, latest *spec.Snapshot) error {
	h := &c.history
	switch {
	case h.id == 0:
	case h.id > latest.ID || h.id == latest.ID && h.identity != latest.Identity():
		*h = history{}
	case h.id < latest.ID:
		s, err := c.store.Snapshot(ctx, h.id)
		switch {
		case errs.Is(err, errs.FileNotFound): // expired
		case err != nil:
			return err
		case s.Identity() != h.identity:
			*h = history{}
		}
	}
	return nil
}

// walk goes from latest back to the snapshot after floor and returns the first
// that want accepts, nil when none does. It ends where older ones have expired.
func (c *Committer) walk(ctx context.Context, latest *spec.Snapshot, floor int64, want func(*spec.Snapshot) bool) (*spec.Snapshot, error) {
	if latest == nil {
		return nil, nil
	}
	for s := latest; ; {
		if s.ID <= floor {
			return nil, nil
		}
		if want(s) {
			return s, nil
		}
		if s.ID == 1 {
			return nil, nil
		}
		next, err := c.store.Snapshot(ctx, s.ID-1)
		if errs.Is(err, errs.FileNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		s = next
	}
}

// find returns the snapshot that an earlier attempt at the change made: one of
// the user's with its nonce, or for compactions with an attempt's uuid. It looks
// at snapshots after base, all for -1, and stops at one of the user's that is
// older than the change.
func (c *Committer) find(ctx context.Context, latest *spec.Snapshot, ch *change, unknown []attempt, base int64) (*spec.Snapshot, error) {
	older := false
	found, err := c.walk(ctx, latest, max(base, 0), func(s *spec.Snapshot) bool {
		if s.CommitUser != c.cfg.User {
			return false
		}
		if ch.kind != spec.KindCompact {
			older = s.CommitIdentifier < ch.cm.Identifier
			return older || s.Properties[NonceProperty] == ch.cm.Nonce
		}
		for _, a := range unknown {
			if a.uuid == s.UUID {
				return true
			}
		}
		return false
	})
	if err != nil || found == nil || older {
		return nil, err
	}
	return found, nil
}

// fence fails when the newest own snapshot has a higher epoch than ours: another
// process has taken over.
func (c *Committer) fence(ctx context.Context, latest *spec.Snapshot, epoch int64) error {
	if epoch <= 0 {
		return nil
	}
	s, err := c.newestOwn(ctx, latest)
	if err != nil || s == nil {
		return err
	}
	theirs, err := strconv.ParseInt(s.Properties[EpochProperty], 10, 64)
	if err == nil && theirs > epoch {
		return errs.New(errs.Conflict, errs.Fenced, "commit to %s as %s: snapshot %d has epoch %d, ours is %d: another process has taken over; stop this one",
			c.cfg.Paths.Root(), c.cfg.User, s.ID, theirs, epoch)
	}
	return nil
}

// follows fails when the newest own snapshot is another than after, unless that
// is 0.
func (c *Committer) follows(ctx context.Context, latest *spec.Snapshot, after int64) error {
	if after == 0 {
		return nil
	}
	s, err := c.newestOwn(ctx, latest)
	if err != nil || s == nil || s.ID == after { // none is left: they have expired
		return err
	}
	return errs.New(errs.Conflict, errs.CommittedLate, "commit to %s as %s: snapshot %d was made meanwhile, by a request that came late or by another process; what it holds is not written again",
		c.cfg.Paths.Root(), c.cfg.User, s.ID)
}

// LatestOwn implements connector.TableCommit.
func (c *Committer) LatestOwn(ctx context.Context) (*connector.SnapshotInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest, err := c.store.Latest(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.newestOwn(ctx, latest)
	if err != nil || s == nil {
		return nil, err
	}
	return infoOf(s), nil
}

func infoOf(s *spec.Snapshot) *connector.SnapshotInfo {
	return &connector.SnapshotInfo{ID: s.ID, UUID: s.UUID, User: s.CommitUser, Identifier: s.CommitIdentifier,
		Kind: string(s.CommitKind), TimeMillis: s.TimeMillis, Properties: s.Properties}
}

var _ connector.Lineage = (*Committer)(nil)

// Overwritten implements connector.Lineage.
func (c *Committer) Overwritten(ctx context.Context, after int64) (by *connector.SnapshotInfo, newest int64, _ error) {
	latest, err := c.store.Latest(ctx)
	if err != nil || latest == nil {
		return nil, 0, err
	}
	_, err = c.walk(ctx, latest, after, func(s *spec.Snapshot) bool {
		if s.CommitUser != c.cfg.User && s.CommitKind == spec.KindOverwrite {
			by = infoOf(s)
		}
		return false
	})
	return by, latest.ID, err
}
