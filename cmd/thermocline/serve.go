package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/ingest"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/lease"
	"github.com/thermocline/thermocline/server/console"
	"github.com/thermocline/thermocline/server/metadata/accounts"
	"github.com/thermocline/thermocline/server/mysql"
	"github.com/thermocline/thermocline/server/session"
)

func serve(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	flags, file, pipelines := serveFlags(f)
	if err := c.parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	cfg, err := resolve(*flags, *file, *pipelines)
	if err != nil {
		return err
	}
	in, err := startInstance(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Printf("ready: MySQL on %s, HTTP on %s, warehouse %s\n", in.MySQLAddr(), in.HTTPAddr(), cfg.Warehouse)
	select {
	case <-ctx.Done():
	case err = <-in.failed:
	}
	slog.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return errors.Join(err, in.Stop(stop))
}

// instance is a running server.
type instance struct {
	lock     *os.File
	lease    *lease.Lease
	runner   *ingest.Runner
	sessions *session.Server
	spill    *fileio.Scratch
	upkeep   *paimon.Upkeep // nil without the lease
	care     *caretakers    // of the catalogs that statements made
	mysql    net.Listener
	http     net.Listener
	web      *http.Server
	cancel   context.CancelFunc
	wait     sync.WaitGroup
	failed   chan error
}

// startInstance starts everything that serve runs. When it returns, connections
// are accepted.
func startInstance(ctx context.Context, cfg config) (_ *instance, err error) {
	in := &instance{failed: make(chan error, 3)}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in.cancel = cancel
	defer func() {
		if err != nil {
			stop, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer done()
			err = errors.Join(err, in.Stop(stop))
		}
	}()

	// Ports first: nothing is touched when they are taken.
	if in.mysql, err = listen(cfg.MySQLListen, "--mysql-listen"); err != nil {
		return nil, err
	}
	if in.http, err = listen(cfg.HTTPListen, "--http-listen"); err != nil {
		return nil, err
	}
	if in.lock, err = lockDataDir(cfg.DataDir); err != nil {
		return nil, err
	}
	holder, err := identity(cfg.DataDir, in.lock)
	if err != nil {
		return nil, err
	}
	root, err := memoryRoot(cfg.MemoryLimit)
	if err != nil {
		return nil, err
	}
	store := share(root, "object store", storeShare)
	compaction := share(root, "compaction", compactionShare)
	if in.spill, err = spillFolder(cfg.DataDir, cfg.SpillLimit); err != nil {
		return nil, err
	}
	pins := &pinned{}
	w, err := openWarehouse(cfg.Warehouse, cfg.StoreOptions, store, share(root, "metadata", cacheShare), unmaintained(compaction), keepingPages(root),
		spilling(in.spill), func(c *paimon.Config) { c.Pinned = pins.snapshots })
	if err != nil {
		return nil, err
	}

	ingests := ingestOptions(w, cfg.DataDir, share(root, "ingest", ingestShare), store, in.spill)
	ingests.Live = &pins.live
	in.runner = ingest.NewRunner(ingests)
	in.lease, err = lease.Acquire(ctx, lease.Options{Files: w.files, Warehouse: w.path, DataDir: holder})
	switch {
	case err == nil:
		in.upkeep = newUpkeep(w.catalog, w.driver, pins, compaction)
		if err = in.runner.Resume(ctx); err != nil {
			return nil, err
		}
		for _, p := range cfg.Pipelines {
			def, err := loadPipeline(p)
			if err != nil {
				return nil, err
			}
			if _, err := in.runner.ExecuteFile(ctx, def.Text, p); err != nil {
				return nil, err
			}
		}
		in.wait.Go(func() { in.watchLease(run) })
		watch, err := cfg.Alerts.watcher()
		if err != nil {
			return nil, err
		}
		if watch != nil {
			in.wait.Go(func() { watch.Run(run, in.runner.Status) })
		}
	case errs.Is(err, errs.LeaseHeld):
		slog.Warn("running without pipelines and maintenance", "because", err)
		if len(cfg.Pipelines) > 0 {
			return nil, fmt.Errorf("start pipelines: %w", err)
		}
		err = nil
	default:
		return nil, err
	}

	users, err := accounts.Open(ctx, accounts.Options{Files: w.files, Path: filepath.Join(cfg.DataDir, "accounts"), Hash: hashPassword})
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(in.mysql.Addr().String())
	in.care = &caretakers{run: run, wait: &in.wait, dataDir: holder, pins: pins, budget: compaction, held: map[string]bool{w.path: true}}
	named := catalogControl{file: filepath.Join(cfg.DataDir, catalogsFile), store: store, cache: w.cache, configure: w.configure, caretakers: in.care}
	kept, err := named.load()
	if err != nil {
		return nil, err
	}
	in.sessions, err = session.NewServer(session.Config{
		Catalogs:       append([]session.NamedCatalog{{Name: defaultCatalog, Catalog: w.catalog}}, kept...),
		CatalogControl: named,
		Memory:         share(root, "query", queryShare),
		Spill:          in.spill,
		Files:          plainFiles(w),
		FileRoots:      cfg.FileRoots,
		Temporary:      temporaryTables(plainFiles(w)),
		Accounts:       users,
		Pipelines:      control{in.runner, named.roots(w.path)},
		Live:           liveFeeds{&pins.live, named.roots(w.path)},
		Version:        version,
		ErrorCode:      mysql.ErrorCode,
		Background:     in.background(),
		Globals:        map[string]string{"port": port, "datadir": cfg.DataDir},
	})
	if err != nil {
		return nil, err
	}
	pins.sessions.Store(in.sessions)
	if in.upkeep != nil { // not before it knows what is read
		in.wait.Go(func() { in.upkeep.Run(run) })
	}
	wire, err := mysql.NewServer(mysql.Config{Sessions: sessions{in.sessions}, Accounts: users, Budget: share(root, "wire", wireShare)})
	if err != nil {
		return nil, err
	}
	in.wait.Go(func() {
		if err := wire.Serve(run, in.mysql); err != nil && run.Err() == nil {
			in.failed <- fmt.Errorf("serve MySQL: %w", err)
		}
	})
	in.web = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: console.Handler(console.Config{
		Version: version, MySQL: in.MySQLAddr(), Metrics: metrics(in, wire, root), Profiles: cfg.Pprof,
		Health: func(ctx context.Context) error {
			_, err := w.catalog.Databases(ctx)
			return err
		},
	})}
	in.wait.Go(func() {
		if err := in.web.Serve(in.http); !errors.Is(err, http.ErrServerClosed) {
			in.failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	})
	return in, nil
}

// background returns what the process list shows beside sessions.
func (in *instance) background() func() []session.BackgroundTask {
	return background(func() []*paimon.Upkeep {
		all := in.care.running()
		if in.upkeep != nil {
			all = append([]*paimon.Upkeep{in.upkeep}, all...)
		}
		return all
	})
}

// sessions opens sessions for the MySQL port.
type sessions struct{ *session.Server }

func (s sessions) Open(ctx context.Context, o session.OpenOptions) (mysql.Session, error) {
	return s.Server.Open(ctx, o)
}

// hashPassword returns the stored form of a password.
func hashPassword(plugin, password string) (string, error) {
	switch plugin {
	case "mysql_native_password":
		return mysql.HashNative(password), nil
	case "caching_sha2_password":
		salt := make([]byte, 20)
		rand.Read(salt) // never fails
		for i := range salt {
			salt[i] = saltAlphabet[salt[i]%64]
		}
		return mysql.HashSHA2(password, salt), nil
	}
	return "", errs.Unsupportedf(-1, "the password plugin %s", plugin)
}

const saltAlphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func listen(addr, flagName string) (net.Listener, error) {
	if _, port, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("listen on %s: write HOST:PORT", addr)
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("listen on %s: %s is not a port", addr, port)
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program uses this port; stop it or give %s HOST:PORT", addr, flagName)
	}
	return l, err
}

// watchLease ends the pipelines when another process has taken over.
func (in *instance) watchLease(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-in.lease.Lost():
		in.failed <- errs.New(errs.Conflict, errs.LeaseHeld, "another process has taken over the warehouse's lease")
	}
}

// MySQLAddr returns where the MySQL protocol is spoken.
func (in *instance) MySQLAddr() string { return in.mysql.Addr().String() }

// HTTPAddr returns where HTTP is spoken.
func (in *instance) HTTPAddr() string { return in.http.Addr().String() }

// Stop drains: no new connections, running statements end, pipelines commit
// what they have. ctx bounds the wait.
func (in *instance) Stop(ctx context.Context) error {
	var all error
	add := func(err error) { all = errors.Join(all, err) }
	in.cancel() // the MySQL port closes its listener and drains
	if in.mysql != nil {
		in.mysql.Close()
	}
	if in.web != nil {
		add(in.web.Shutdown(ctx))
	} else if in.http != nil {
		in.http.Close()
	}
	if in.runner != nil {
		add(in.runner.Close(ctx))
	}
	done := make(chan struct{})
	go func() {
		in.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		if in.sessions != nil {
			in.sessions.Shutdown()
		}
		add(errors.New("stop: connections did not end in time"))
	}
	if in.lease != nil {
		add(in.lease.Release(ctx))
	}
	if in.lock != nil {
		add(in.lock.Close())
	}
	return all
}
