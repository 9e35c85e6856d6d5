package commit

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Properties that Commit adds to a snapshot's own. Others whose names start with
// PropertyPrefix are the caller's (source positions).
const (
	PropertyPrefix = "cdc."
	NonceProperty  = "cdc.nonce"
	EpochProperty  = "cdc.epoch"
)

// Config is what a Committer needs.
type Config struct {
	Files  fileio.FileIO
	Paths  *spec.Paths
	Schema *catalog.Schema
	// User is the commit user.
	User string
	// WriterVersion is stored in the snapshots.
	WriterVersion string
	// Metadata keeps decoded manifests; nil: nothing does.
	Metadata *Cache
	// Lock is taken around the creation of each snapshot, where a catalog asks for
	// it (DESIGN D12); nil takes none.
	Lock LockFunc
	// Committed, if not nil, is called after each commit that made a snapshot. What
	// it returns is logged: the commit stands.
	Committed func(ctx context.Context, snapshot int64) error
	// Now and Sleep are the clock; nil is the real one. Sleep returns the
	// context's error when it ends first.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Committer commits for one user to one table or branch. It implements
// connector.TableCommit.
type Committer struct {
	cfg       Config
	store     Store
	manifests manifestOptions
	keyTypes  []catalog.Type
	retries   int
	minWait   time.Duration
	maxWait   time.Duration
	timeout   time.Duration // of a commit's attempts together; 0: none
	// emptyCommits makes snapshots of commits that change nothing.
	emptyCommits bool
	rowTracking  bool
	upgrades     bool  // overwrites go to the highest level
	topLevel     int32 // which is this

	mu      sync.Mutex // one commit at a time
	history history
	others  others
	written map[place]lastWrite
	last    struct { // the manifests of the newest snapshot that we made
		identity string
		metas    []spec.ManifestMeta
	}
	// unsettled are attempts of earlier calls that may have happened, by nonce
	// and kind.
	unsettled map[unsettledKey][]attempt
	warned    bool // of a foreign engine
}

type unsettledKey struct {
	nonce string
	kind  spec.CommitKind
}

var _ connector.TableCommit = (*Committer)(nil)

// New makes a Committer. It refuses tables whose commits need more than this
// version does.
func New(cfg Config) (*Committer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.User == "" {
		return nil, errs.Internalf("open the committer of %s: there is no commit user", cfg.Paths.Root())
	}
	o := spec.NewOptions(cfg.Schema.Options)
	c := &Committer{cfg: cfg, store: Store{cfg.Files, cfg.Paths, cfg.Metadata}, unsettled: map[unsettledKey][]attempt{}, written: map[place]lastWrite{},
		manifests: manifestOptions{
			compression: o.String("manifest.compression", "zstd"),
			target:      o.Size("manifest.target-file-size", 8<<20),
			minMerge:    max(o.Int("manifest.merge-min-count", 30), 2),
			fullSize:    o.Size("manifest.full-compaction-threshold-size", 16<<20),
		},
		keyTypes:     spec.TypesOf(cfg.Schema, cfg.Schema.TrimmedPrimaryKeys()),
		retries:      int(o.Int("commit.max-retries", 10)),
		minWait:      o.Duration("commit.min-retry-wait", 10*time.Millisecond),
		maxWait:      o.Duration("commit.max-retry-wait", 10*time.Second),
		timeout:      o.Duration("commit.timeout", 0),
		emptyCommits: o.Bool("commit.force-create-snapshot", false) || !o.Bool("snapshot.ignore-empty-commit", true),
		rowTracking:  o.Bool("row-tracking.enabled", false),
		upgrades:     len(cfg.Schema.PrimaryKeys) > 0 && o.Bool("overwrite-upgrade", true),
		topLevel:     int32(max(o.Int("num-levels", max(o.Int("num-sorted-run.compaction-trigger", 5), 1)+1), 2)) - 1,
	}
	if o.Err != nil {
		return nil, o.Err
	}
	return c, refuse(cfg.Schema, o)
}

// refuse names what commits to a table would have to do and this version cannot.
func refuse(s *catalog.Schema, o *spec.Options) error {
	if f := o.String("manifest.format", "avro"); !strings.EqualFold(f, "avro") {
		return errs.Unsupportedf(-1, "writing tables with manifest.format = %s", f)
	}
	for _, key := range []string{"data-evolution.enabled", "sequence.snapshot-ordering"} {
		if o.Bool(key, false) {
			return errs.Unsupportedf(-1, "writing tables with %s", key)
		}
	}
	for key, none := range map[string]string{"metadata.iceberg.storage": "disabled"} {
		if v := o.String(key, none); !strings.EqualFold(v, none) {
			return errs.Unsupportedf(-1, "writing tables with %s = %s", key, v)
		}
	}
	if _, err := spec.WriteManifestList(nil, o.String("manifest.compression", "zstd")); err != nil {
		return err
	}
	return o.Err
}

func newNonce() string { return uuid.NewString() }

// gains reports whether rewritten manifests are better than those before.
func gains(now, before []spec.ManifestMeta) bool {
	return len(now) < len(before) || slices.ContainsFunc(before, func(m spec.ManifestMeta) bool { return m.Deleted > 0 })
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Store returns the reader of the table's state.
func (c *Committer) Store() Store { return c.store }

// Commit implements connector.TableCommit. The messages' new files become one
// APPEND or OVERWRITE snapshot, then their compactions one COMPACT snapshot of
// the same identifier. A compaction whose files are gone is dropped (see
// Message.CompactionDropped): no row depends on it.
func (c *Committer) Commit(ctx context.Context, cm *connector.Committable) (connector.CommitResult, error) {
	messages, err := own(cm.Messages)
	if err != nil {
		return connector.CommitResult{}, err
	}
	res, err := c.commitLocked(ctx, cm, messages)
	if err == nil {
		c.after(ctx, res.Snapshot)
	}
	return res, err
}

func (c *Committer) commitLocked(ctx context.Context, cm *connector.Committable, messages []*Message) (connector.CommitResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	res, err := c.commit(ctx, cm, messages)
	for _, m := range messages {
		switch {
		case err == nil:
			m.state.Store(messageCommitted)
			m.snapshot.Store(res.Snapshot)
		case errs.ClassOf(err) == errs.UnknownOutcome:
			m.state.Store(messageUnknown)
		default:
			m.state.Store(messageOpen)
		}
	}
	return res, err
}

func (c *Committer) commit(ctx context.Context, cm *connector.Committable, messages []*Message) (res connector.CommitResult, err error) {
	if cm.Overwrite {
		if cm.OverwriteDynamic && slices.ContainsFunc(messages, func(m *Message) bool { return m.Exclusive }) {
			// A key that moves is deleted in a partition that is not meant.
			return res, errs.Unsupportedf(-1, "INSERT OVERWRITE of the rows' partitions of a table whose primary key lacks a partition column; name the partition")
		}
		c.forgetCompactions(ctx, messages)
	}
	a := &change{kind: spec.KindAppend, cm: cm, messages: messages, search: cm.Nonce != ""}
	if a.overwrite, err = c.newScope(cm, messages); err != nil {
		return connector.CommitResult{}, err
	}
	if cm.Nonce == "" {
		cm.Nonce = newNonce()
	}
	var compacts []*Message
	rows, added := false, false
	for _, m := range messages {
		rows, added = rows || m.writes(), added || len(m.New) > 0
		if m.removes() {
			a.kind = spec.KindOverwrite
		}
		if m.compacts() {
			compacts = append(compacts, m)
		}
	}
	if cm.Overwrite {
		a.kind = spec.KindOverwrite
		rows = !cm.OverwriteDynamic || added // dynamic, without rows: no partition is meant
	}
	if rows || cm.EvenIfEmpty || c.emptyCommits {
		if res.Snapshot, res.Already, err = c.apply(ctx, a); err != nil {
			return connector.CommitResult{}, err
		}
		c.noteWritten(messages, res.Snapshot)
		if cm.Overwrite {
			c.removeChangelogs(ctx, messages)
		}
	} else if cm.Epoch > 0 {
		// Nothing to write, but a fenced process must learn of it here too.
		latest, err := c.store.Latest(ctx)
		if err != nil {
			return res, err
		}
		if err := c.fence(ctx, latest, cm.Epoch); err != nil {
			return res, err
		}
	}
	if len(compacts) > 0 {
		id, _, err := c.apply(ctx, &change{kind: spec.KindCompact, cm: cm, messages: compacts, search: a.search})
		switch {
		case err == nil:
			res.Snapshot = max(res.Snapshot, id)
		case res.Snapshot == 0 && errs.ClassOf(err) != errs.Conflict:
			return res, err
		default:
			// The rows are committed; the compaction is not needed for them.
			slog.Info("compaction is given up", "table", c.cfg.Paths.Root(), "error", err)
			for _, m := range compacts {
				m.dropped.Store(true)
			}
			if errs.ClassOf(err) != errs.UnknownOutcome && !a.search {
				c.removeCompacted(ctx, compacts)
			}
		}
	}
	return res, nil
}

func own(list []connector.CommitMessage) ([]*Message, error) {
	out := make([]*Message, 0, len(list))
	for _, x := range list {
		m, ok := x.(*Message)
		if !ok {
			return nil, errs.Internalf("commit: a message of type %T is not one of a Paimon table", x)
		}
		if !m.Empty() {
			out = append(out, m)
		}
	}
	return out, nil
}

// change is one snapshot to be made.
type change struct {
	kind     spec.CommitKind
	cm       *connector.Committable
	messages []*Message
	// overwrite is what an overwrite replaces, nil for other changes.
	overwrite scope
	restore   *spec.Snapshot // the state to go back to
	rewrite   bool           // manifests are rewritten, and nothing else
	// statistics, of schema described, are all that changes; nil: not.
	statistics []byte
	described  int64
	// rebase rewrites the manifests before the change: readers that collect
	// deletions before additions must not find an old deletion of a file that is
	// added again.
	rebase bool
	search bool // an earlier call may have committed it: look for it, remove nothing of it
}

// attempt is a snapshot that may have been created: we do not know.
type attempt struct {
	id    int64
	uuid  string
	files *scratch
}

// apply makes the change's snapshot, retrying lost races. It returns the
// snapshot's id, 0 when a compaction was dropped, and whether an earlier call
// had made it.
func (c *Committer) apply(ctx context.Context, ch *change) (id int64, already bool, err error) {
	key := unsettledKey{ch.cm.Nonce, ch.kind}
	unknown := c.unsettled[key]
	defer func() {
		delete(c.unsettled, key)
		if err != nil && len(unknown) > 0 {
			c.unsettled[key] = unknown
		}
		if err != nil && len(unknown) > 0 && errs.ClassOf(err) != errs.UnknownOutcome {
			err = errs.New(errs.UnknownOutcome, errs.KindOf(err), "commit to %s: it is not known whether snapshot %d was created: %w",
				c.cfg.Paths.Root(), unknown[0].id, err)
		}
	}()
	base := int64(-1) // snapshots up to here are known not to be ours
	retries := c.retries
	started := c.cfg.Now()
	for try := 0; ; try++ {
		if c.timeout > 0 && try > 0 && c.cfg.Now().Sub(started) > c.timeout {
			retries = try // this is the last attempt
		}
		latest, err := c.store.Latest(ctx)
		if err != nil {
			return 0, false, err
		}
		look := ch.search || base >= 0
		if ch.kind == spec.KindCompact {
			look = len(unknown) > 0
		}
		if look {
			found, err := c.find(ctx, latest, ch, unknown, base)
			if err != nil {
				return 0, false, err
			}
			if found != nil {
				c.settle(ctx, unknown, found)
				c.hints(ctx, latest.ID)
				return found.ID, true, nil
			}
		}
		base = 0
		if latest != nil {
			base = latest.ID
			c.warnForeign(latest)
			unknown = c.settle(ctx, unknown, latest) // none of them was created
		}
		if err := c.fence(ctx, latest, ch.cm.Epoch); err != nil {
			return 0, false, err
		}
		if ch.kind != spec.KindCompact { // that of a commit comes after its rows
			if err := c.follows(ctx, latest, ch.cm.After); err != nil {
				return 0, false, err
			}
		}
		files := c.newScratch()
		snap, err := c.build(ctx, ch, latest, files)
		if err != nil || snap == nil {
			files.remove(ctx)
			if errs.Is(err, errs.FileNotFound) && try < retries && c.cfg.Sleep(ctx, c.wait(try)) == nil {
				continue // latest has expired meanwhile
			}
			return 0, false, err
		}
		switch created, err := c.create(ctx, snap); created {
		case happened:
			c.settle(ctx, unknown, snap)
			c.history.note(snap)
			c.others.ours(snap)
			c.last.identity, c.last.metas = snap.Identity(), files.metas
			for path, list := range files.lists {
				c.store.Cache.putList(path, list)
			}
			c.hints(ctx, snap.ID)
			return snap.ID, false, nil
		case failed:
			files.remove(ctx)
			if try >= retries {
				return 0, false, errs.New(errs.ClassOf(err), errs.KindOf(err), "commit to %s: given up after %d attempts: %w", c.cfg.Paths.Root(), try+1, err)
			}
		case lost:
			files.remove(ctx)
			if try >= retries {
				return 0, false, errs.New(errs.Conflict, errs.KindNone, "commit to %s: %d attempts lost the race against other commits; raise commit.max-retries or have fewer writers",
					c.cfg.Paths.Root(), try+1)
			}
		case unclear:
			unknown = append(unknown, attempt{snap.ID, snap.UUID, files})
			if try >= retries {
				return 0, false, errs.New(errs.UnknownOutcome, errs.KindNone, "commit to %s: it is not known whether snapshot %d was created: %w",
					c.cfg.Paths.Root(), snap.ID, err)
			}
		}
		if err := c.cfg.Sleep(ctx, c.wait(try)); err != nil {
			return 0, false, errs.New(errs.Conflict, errs.KindNone, "commit to %s: %w", c.cfg.Paths.Root(), err)
		}
	}
}

// warnForeign tells once that another engine commits beside us: nothing keeps its
// commits and ours apart where it creates snapshots by renaming.
func (c *Committer) warnForeign(latest *spec.Snapshot) {
	if c.warned || c.last.identity == "" || latest.CommitUser == c.cfg.User || latest.Identity() == c.last.identity ||
		latest.WriterVersion != "" && latest.WriterVersion == c.cfg.WriterVersion {
		return
	}
	c.warned = true
	slog.Warn("another engine commits to this table at the same time; unless it takes part in the same lock, one may overwrite the other's snapshot",
		"table", c.cfg.Paths.Root(), "user", latest.CommitUser, "snapshot", latest.ID)
}

// wait is the pause after attempt try: doubling, with up to 20 % more.
func (c *Committer) wait(try int) time.Duration {
	d := c.minWait << min(try, 20)
	if d <= 0 || d > c.maxWait {
		d = c.maxWait
	}
	return d + time.Duration(rand.Int64N(int64(d)/5+1))
}

// settle removes the files of the attempts that newest, which exists, shows to
// be lost: they wanted its id or an older one and are not it. It returns those
// still unknown.
func (c *Committer) settle(ctx context.Context, unknown []attempt, newest *spec.Snapshot) []attempt {
	var rest []attempt
	for _, a := range unknown {
		switch {
		case a.uuid == newest.UUID:
		case a.id <= newest.ID:
			a.files.remove(ctx)
		default:
			rest = append(rest, a)
		}
	}
	return rest
}

type outcome uint8

const (
	happened outcome = iota
	lost             // another snapshot has the id
	failed           // it was not created, for another reason
	unclear
)

// create makes the snapshot file and finds out what became of it: whatever the
// store says, what counts is which snapshot has the id afterwards (DESIGN D12).
func (c *Committer) create(ctx context.Context, snap *spec.Snapshot) (outcome, error) {
	b, err := snap.Marshal()
	if err != nil {
		return failed, err
	}
	path := c.cfg.Paths.Snapshot(snap.ID)
	unlock, err := c.cfg.Lock.take(ctx)
	if err != nil {
		return failed, err
	}
	defer unlock()
	err = c.store.Files.CreateExclusive(ctx, path, b)
	if err == nil {
		return happened, nil
	}
	there, rerr := c.store.Snapshot(context.WithoutCancel(ctx), snap.ID)
	switch {
	case rerr == nil && there.UUID == snap.UUID:
		return happened, nil
	case rerr == nil:
		return lost, err
	case !errs.Is(rerr, errs.FileNotFound):
		return unclear, fmt.Errorf("%w; reading it back: %w", err, rerr)
	case errs.Is(err, errs.FileExists):
		return lost, err // it existed, and is gone again
	case errs.ClassOf(err) == errs.UnknownOutcome:
		return unclear, err
	}
	return failed, err
}

// hints updates LATEST, and EARLIEST for the first snapshot. They are only
// hints: failure is fine.
func (c *Committer) hints(ctx context.Context, id int64) {
	ctx = context.WithoutCancel(ctx)
	text := []byte(strconv.FormatInt(id, 10))
	if err := fileio.WriteHint(ctx, c.store.Files, c.cfg.Paths.Latest(), text); err != nil {
		slog.Debug("write the LATEST hint", "table", c.cfg.Paths.Root(), "error", err)
	}
	if id == 1 {
		if err := c.store.Files.WriteFile(ctx, c.cfg.Paths.Earliest(), text); err != nil {
			slog.Debug("write the EARLIEST hint", "table", c.cfg.Paths.Root(), "error", err)
		}
	}
}
