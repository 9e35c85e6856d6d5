// Package lease lets one process at a time run pipelines and maintenance on a
// warehouse. The lease is the file _thermocline/lease in the warehouse, renewed
// every RenewEvery; one that was not renewed for DeadAfter counts as dead.
//
// The lease keeps two processes from doing the same work; it does not protect
// the data. That is the business of commits, which are exclusive and fenced by
// epochs, so a process that was stopped for a minute can lose its lease but can
// neither hide nor repeat rows.
//
// Taking over: who wants a dead lease creates the file lease.claim-<nonce of the
// dead lease> exclusively, reads the lease once more, and replaces it. Of many
// that try, one succeeds.
//
// Start reading at Acquire.
package lease

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// RenewEvery is the time between renewals; DeadAfter the age from which a lease
// counts as dead.
const (
	RenewEvery = 10 * time.Second
	DeadAfter  = 30 * time.Second
)

// record is the content of the lease file.
type record struct {
	Nonce   string `json:"nonce"`    // of the process's life
	DataDir string `json:"data-dir"` // an identity, not only a path: see Options
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Renewed int64  `json:"renewed-millis"`
}

// Options configure Acquire.
type Options struct {
	Files     fileio.FileIO
	Warehouse string
	// DataDir identifies the data directory, on whatever machine. Whoever holds the
	// lock of that directory takes over at once a lease that was written from it.
	DataDir string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Lease is a held lease. Release ends it.
type Lease struct {
	o      Options
	mine   record
	since  int64 // when it was acquired, milliseconds
	cancel context.CancelFunc
	wait   sync.WaitGroup
	lost   chan struct{}
}

func (o Options) file() string { return path.Join(o.Warehouse, "_thermocline", "lease") }

func (o Options) read(ctx context.Context) (*record, error) {
	b, err := o.Files.ReadFile(ctx, o.file())
	if errs.Is(err, errs.FileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil || r.Nonce == "" {
		// Not ours to understand: treat it as a lease of unknown age.
		in, serr := o.Files.Stat(ctx, o.file())
		if serr != nil {
			return nil, serr
		}
		return &record{Nonce: "unreadable", Renewed: in.ModTime.UnixMilli()}, nil
	}
	return &r, nil
}

// acquireTries is how often an acquisition is tried that the store lets fail:
// requests to create a file are not repeated by the store's own package.
const acquireTries = 6

// Acquire takes the lease and renews it until Release. When another process
// holds it, the error is of kind errs.LeaseHeld and names the holder.
func Acquire(ctx context.Context, o Options) (*Lease, error) {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		l, err := acquire(ctx, o)
		if class := errs.ClassOf(err); err == nil || try == acquireTries || class != errs.UnknownOutcome && class != errs.Unavailable {
			return l, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
		pause *= 2
	}
}

func acquire(ctx context.Context, o Options) (*Lease, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	host, _ := os.Hostname()
	l := &Lease{o: o, lost: make(chan struct{}), mine: record{
		Nonce: uuid.NewString(), DataDir: o.DataDir, Host: host, PID: os.Getpid(), Renewed: o.Now().UnixMilli()}}
	old, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	if old == nil {
		err := o.Files.CreateExclusive(ctx, o.file(), l.text())
		if err != nil {
			// Lost, or unknown: what the file says decides.
			now, rerr := o.read(ctx)
			if rerr != nil {
				return nil, rerr
			}
			if now == nil {
				return nil, err
			}
			if now.Nonce != l.mine.Nonce {
				return nil, held(now)
			}
		}
	} else if err := l.takeOver(ctx, old); err != nil {
		return nil, err
	}
	l.since = l.mine.Renewed
	renew, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.wait.Go(func() { l.renew(renew) })
	return l, nil
}

func held(r *record) error {
	return errs.New(errs.Conflict, errs.LeaseHeld, "take the lease of the warehouse: process %d on %s holds it (data directory %s)", r.PID, r.Host, r.DataDir)
}

func (l *Lease) text() []byte {
	b, _ := json.Marshal(l.mine) // strings and integers: cannot fail
	return append(b, '\n')
}

func (l *Lease) takeOver(ctx context.Context, old *record) error {
	o := l.o
	age := o.Now().Sub(time.UnixMilli(old.Renewed))
	if (old.DataDir == "" || old.DataDir != o.DataDir) && age < DeadAfter {
		return held(old)
	}
	claim := o.file() + ".claim-" + old.Nonce
	if err := l.claim(ctx, claim, old); err != nil {
		return err
	}
	defer o.Files.Remove(context.WithoutCancel(ctx), claim)
	now, err := o.read(ctx)
	if err != nil {
		return err
	}
	if now != nil && (now.Nonce != old.Nonce || now.Renewed != old.Renewed) {
		return held(now) // taken, or alive after all
	}
	return o.Files.WriteFile(ctx, o.file(), l.text())
}

// claim creates the file of a claim. One that is there is another's, unless they
// died between claim and lease.
func (l *Lease) claim(ctx context.Context, claim string, old *record) error {
	o := l.o
	for again := false; ; again = true {
		err := o.Files.CreateExclusive(ctx, claim, l.text())
		if err == nil {
			return nil
		}
		// It exists, or nothing is known: its content decides.
		b, rerr := o.Files.ReadFile(ctx, claim)
		if errs.Is(rerr, errs.FileNotFound) && errs.Is(err, errs.FileExists) {
			return held(old) // whoever claimed it has the lease, or found it held
		}
		if rerr != nil {
			return err
		}
		var by record
		if json.Unmarshal(b, &by) == nil && by.Nonce == l.mine.Nonce {
			return nil
		}
		in, serr := o.Files.Stat(ctx, claim)
		if errs.Is(serr, errs.FileNotFound) {
			return held(old)
		}
		if serr != nil {
			return serr
		}
		ours := by.DataDir != "" && by.DataDir == o.DataDir // we hold its lock: they are dead
		if again || !ours && o.Now().Sub(in.ModTime) < DeadAfter {
			return held(old)
		}
		if err := o.Files.Remove(ctx, claim); err != nil {
			return err
		}
	}
}

func (l *Lease) renew(ctx context.Context) {
	tick := time.NewTicker(RenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !l.renewOnce(ctx) {
			close(l.lost)
			return
		}
	}
}

// renewOnce reports false when the lease is somebody else's by now.
func (l *Lease) renewOnce(ctx context.Context) bool {
	now, err := l.o.read(ctx)
	if err != nil {
		slog.Warn("renew the lease of the warehouse", "error", err)
		return true
	}
	// What a process that died before us wrote may come late; it is overwritten.
	late := now != nil && now.DataDir != "" && now.DataDir == l.o.DataDir && now.Renewed < l.since
	if now != nil && now.Nonce != l.mine.Nonce && !late {
		slog.Error("the lease of the warehouse was taken over", "by", now.Host, "pid", now.PID)
		return false
	}
	l.mine.Renewed = l.o.Now().UnixMilli()
	if err := l.o.Files.WriteFile(ctx, l.o.file(), l.text()); err != nil {
		slog.Warn("renew the lease of the warehouse", "error", err)
	}
	return true
}

// Lost is closed when another process has taken the lease over.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Release gives the lease up, so that the next process need not wait.
func (l *Lease) Release(ctx context.Context) error {
	l.cancel()
	l.wait.Wait()
	now, err := l.o.read(ctx)
	if err != nil || now == nil || now.Nonce != l.mine.Nonce {
		return err
	}
	return l.o.Files.Remove(ctx, l.o.file())
}
