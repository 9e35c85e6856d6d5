package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// nemesisFlags are the settings of a run.
type nemesisFlags struct {
	binary, gateway, java, keep  string
	only                         string
	kills, restarts, rate, plain int
	faults                       int
	seed                         uint64
	workers                      int
	patience, alter              time.Duration
}

// nemesis is a run: a source under load, a pipeline into a lake, and what is
// done to them.
type nemesis struct {
	nemesisFlags
	dir       string
	j         *journal
	maria     *mariadb.Server
	wire      *cutter   // between pipeline and source
	store     *badStore // between pipeline and object store, nil: a local warehouse
	warehouse string
	env       []string
	load      *load
	file      string // of the pipeline

	mu   sync.Mutex
	addr string // of the MySQL port, the same for every process
	http string
	proc *process
}

func runNemesis(ctx context.Context, args []string) (err error) {
	n := &nemesis{}
	fs := flag.NewFlagSet("nemesis", flag.ContinueOnError)
	fs.StringVar(&n.binary, "binary", "bin/thermocline", "the binary")
	fs.StringVar(&n.gateway, "versitygw", "", "the S3 gateway; without it the warehouse is a folder")
	fs.StringVar(&n.java, "java", "", "a Java Paimon verifier, called as FILE verify TABLE at the end")
	fs.StringVar(&n.keep, "dir", "", "the folder of the run, which stays (default: a temporary one, which stays after a fault)")
	fs.StringVar(&n.only, "tables", "", "of the tables of shapes.go only these, a,b,…")
	fs.IntVar(&n.kills, "kills", 200, "how often the pipeline's process is killed")
	fs.IntVar(&n.restarts, "restarts", 20, "how often MariaDB is restarted, by half of them killed")
	fs.IntVar(&n.rate, "rate", 2000, "changes a second")
	fs.IntVar(&n.plain, "rows", 330_000, "rows of the largest table before the pipeline starts; from 300,000 on it is copied in chunks")
	fs.IntVar(&n.faults, "faults", 20, "so many of a thousand requests to the object store fail")
	fs.IntVar(&n.workers, "workers", 4, "connections that change the source")
	fs.Uint64Var(&n.seed, "seed", uint64(time.Now().UnixNano()), "of changes and faults")
	fs.DurationVar(&n.alter, "alter", 5*time.Second, "about how often a definition changes")
	fs.DurationVar(&n.patience, "patience", 5*time.Minute, "how long the pipeline may need at the end until it stands still")
	if err := fs.Parse(args); err != nil {
		return err
	}
	fmt.Printf("nemesis: seed %d, %d kills, %d restarts of MariaDB, %d changes/s\n", n.seed, n.kills, n.restarts, n.rate)
	n.dir = n.keep
	if n.dir == "" {
		if n.dir, err = os.MkdirTemp("", "nemesis-"); err != nil {
			return err
		}
	}
	if n.dir, err = filepath.Abs(n.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(n.dir, "faults.log"))
	if err != nil {
		return err
	}
	defer out.Close()
	n.j = &journal{out: out, begin: time.Now(), counts: map[string]int{}}
	err = n.run(ctx)
	if err != nil {
		return fmt.Errorf("seed %d (the run is in %s): %w", n.seed, n.dir, err)
	}
	if n.keep == "" {
		return os.RemoveAll(n.dir)
	}
	return nil
}

func (n *nemesis) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.Now()
	if n.maria, err = mariadb.Start(ctx, filepath.Join(n.dir, "maria"), "--max-binlog-size=16M", "--innodb-lock-wait-timeout=5", "--lock-wait-timeout=20"); err != nil {
		return err
	}
	defer func() { n.maria.Kill() }()
	if n.wire, err = newCutter(n.maria.Addr(), n.seed, n.j); err != nil {
		return err
	}
	defer n.wire.close()
	if err := n.openStore(); err != nil {
		return err
	}
	if n.store != nil {
		defer n.store.close()
	}
	if err := n.fill(ctx); err != nil {
		return err
	}
	defer n.load.db.Close()
	for _, a := range []*string{&n.addr, &n.http} {
		if *a, err = freeAddr(); err != nil {
			return err
		}
	}
	defer func() { n.end() }()

	var all sync.WaitGroup
	work, rest := context.WithCancel(ctx)
	defer func() { rest(); all.Wait() }()
	for i := range n.workers {
		all.Go(func() { n.load.work(work, rand.New(rand.NewPCG(n.seed, uint64(100+i)))) })
	}
	all.Go(func() { n.load.alter(work, rand.New(rand.NewPCG(n.seed, 21)), n.alter) })
	all.Go(func() {
		if err := n.watch(work); err != nil {
			cancel(err)
		}
	})
	if err := n.torment(ctx); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	// Quiet: no faults, no changes, and a process that stays.
	n.wire.calm.Store(true)
	n.wire.cut()
	if n.store != nil {
		n.store.calm.Store(true)
	}
	rest()
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	fmt.Printf("after %s: %d changes in %d transactions, %d statements of definitions, %d refused (%v); %s\n", time.Since(begin).Round(time.Second),
		n.load.changes.Load(), n.load.transactions.Load(), n.load.alterations.Load(), n.load.refusals.Load(), n.load.refused, n.j.summary())
	if err := n.start(ctx); err != nil {
		return err
	}
	if err := n.settle(ctx); err != nil {
		return err
	}
	report, err := n.check(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("nemesis: seed %d: every row as it must be, in %s: %s\n", n.seed, time.Since(begin).Round(time.Second), report)
	return nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// openStore opens the warehouse.
func (n *nemesis) openStore() error {
	n.warehouse = filepath.Join(n.dir, "lake")
	if n.gateway == "" {
		return os.MkdirAll(n.warehouse, 0o755)
	}
	for _, d := range []string{"s3/data/lake", "s3/meta"} {
		if err := os.MkdirAll(filepath.Join(n.dir, d), 0o755); err != nil {
			return err
		}
	}
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	logs, err := os.Create(filepath.Join(n.dir, "gateway.log"))
	if err != nil {
		return err
	}
	defer logs.Close()
	cmd := exec.Command(n.gateway, "--port", addr, "--quiet", "posix", "--sidecar", filepath.Join(n.dir, "s3/meta"), filepath.Join(n.dir, "s3/data"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=testtest")
	cmd.Stdout, cmd.Stderr = logs, logs
	if err := cmd.Start(); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		if tries > 600 {
			cmd.Process.Kill()
			cmd.Wait()
			return fmt.Errorf("start the S3 gateway: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n.store, err = newBadStore(addr, n.faults, n.seed, n.j); err != nil {
		return err
	}
	n.store.stop = func() { cmd.Process.Kill(); cmd.Wait() }
	n.warehouse = "s3://lake/house"
	n.env = []string{"AWS_ENDPOINT_URL=" + n.store.endpoint, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"}
	return nil
}

// fill makes the source's tables and the pipeline's file.
func (n *nemesis) fill(ctx context.Context) error {
	db, err := sql.Open("mysql", n.maria.DSN("")+"?multiStatements=true&timeout=5s&readTimeout=60s&time_zone=%27%2B00%3A00%27")
	if err != nil {
		return err
	}
	n.load = &load{db: db, shapes: shapes(n.plain, n.only), rate: n.rate, big: max(200, 10*n.rate), refused: map[string]int{}}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE n; CREATE TABLE n.marker (id INT PRIMARY KEY, v INT); INSERT INTO n.marker VALUES (1, 0)"); err != nil {
		return err
	}
	rules, routes := "", "  - {source-table: n.marker, sink-table: n.marker}\n"
	for _, s := range n.load.shapes {
		switch s.name {
		case "sh_1":
			routes += "  - {source-table: \"n.sh_[0-9]\", sink-table: ods.shards, shard-key: true}\n"
		case "log_input":
			routes += "  - {source-table: n.log_input, sink-table: ods.log_copy}\n  - {source-table: n.log_input, sink-table: n.log_input}\n"
		}
		q := fmt.Sprintf("CREATE TABLE n.%s (%s)", s.name, s.create)
		if s.fill != "" {
			q += fmt.Sprintf("; INSERT INTO n.%s %s", s.name, strings.ReplaceAll(s.fill, " seq_", " n.seq_"))
		}
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		if s.transform != "" {
			rules += fmt.Sprintf("  - source-table: n.%s\n    %s\n", s.name, s.transform)
		}
	}
	port := n.wire.l.Addr().(*net.TCPAddr).Port
	yaml := fmt.Sprintf(`source:
  type: mysql
  hostname: 127.0.0.1
  port: %d
  username: %s
  password: %s
  tables: n.\.*
  tables.exclude: n.away
  heartbeat.interval: 1s
  connect.timeout: 5s
transform:
%sroute:
%ssink:
  type: paimon
  allow-destructive: [truncate.table]
  table.properties.snapshot.num-retained.min: 2
  table.properties.snapshot.num-retained.max: 10
  table.properties.snapshot.time-retained: 10 s
pipeline:
  name: nemesis
  schema.change.behavior: EVOLVE
  commit.interval: 500 ms
`, port, mariadb.User, mariadb.Password, rules, routes)
	n.file = filepath.Join(n.dir, "nemesis.yaml")
	return os.WriteFile(n.file, []byte(yaml), 0o600)
}

// process is the pipeline's, from its start on, ready or not.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts the process and does not wait for anything.
func (n *nemesis) launch() error {
	logs, err := os.OpenFile(filepath.Join(n.dir, "serve.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logs.Close()
	fmt.Fprintf(logs, "---- start at %.3f\n", time.Since(n.j.begin).Seconds())
	cmd := exec.Command(n.binary, "serve", "--mysql-listen", n.addr, "--http-listen", n.http, "--warehouse", n.warehouse, "--data-dir", filepath.Join(n.dir, "data"), "--memory-limit", "768MiB", "--pipeline", n.file)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.Stdout, cmd.Stderr = logs, logs
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	n.mu.Lock()
	n.proc = p
	n.mu.Unlock()
	return nil
}

// end kills the process.
func (n *nemesis) end() {
	n.mu.Lock()
	p := n.proc
	n.proc = nil
	n.mu.Unlock()
	if p != nil {
		p.cmd.Process.Kill()
		<-p.done
	}
}

// start starts a process and waits until it answers.
func (n *nemesis) start(ctx context.Context) error {
	if err := n.launch(); err != nil {
		return err
	}
	db, err := open(n.addr)
	if err != nil {
		return err
	}
	defer db.Close()
	for tries := 0; ; tries++ {
		if err = db.PingContext(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-n.proc.done:
			return fmt.Errorf("serve ended: %s", n.lastLog())
		default:
		}
		if tries > 1200 {
			return fmt.Errorf("serve does not answer: %w", err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// lastLog is the end of the process's log.
func (n *nemesis) lastLog() string {
	b, _ := os.ReadFile(filepath.Join(n.dir, "serve.log"))
	b = b[max(0, len(b)-3000):]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[i+1:]
	}
	return string(b)
}

// torment kills and restarts until it has done so often enough.
func (n *nemesis) torment(ctx context.Context) error {
	r := rand.New(rand.NewPCG(n.seed, 5))
	restarts := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait() }()
	enough := make(chan struct{})
	all.Go(func() {
		restarts <- n.restart(ctx, rand.New(rand.NewPCG(n.seed, 6)), enough)
	})
	restarted := false
	for k := 0; k < n.kills || !restarted; k++ {
		if err := n.launch(); err != nil {
			return err
		}
		// Some die while they start, most while they follow, a few live for long.
		wait := time.Duration(1000+r.IntN(5000)) * time.Millisecond
		switch x := r.IntN(10); {
		case x < 2:
			wait = time.Duration(r.IntN(1000)) * time.Millisecond
		case x == 9:
			wait = time.Duration(8+r.IntN(15)) * time.Second
		}
		select {
		case err := <-restarts:
			if err != nil {
				return err
			}
			restarted = true
			restarts = nil
			pause(ctx, wait)
		case <-n.proc.done:
			if !strings.Contains(n.lastLog(), "address already in use") {
				return fmt.Errorf("serve ended by itself:\n%s", n.lastLog())
			}
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		if k == n.kills/10 { // so many met the first copy; the others meet changes
			if err := n.copied(ctx); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.end()
		n.j.note("kills", "after %s", wait)
		if k+1 == n.kills {
			close(enough) // the remaining restarts follow each other closely
		}
		if (k+1)%10 == 0 {
			fmt.Fprintf(os.Stderr, "%d kills of %d, %s, %d changes; %s\n", k+1, n.kills, time.Since(n.j.begin).Round(time.Second), n.load.changes.Load(), n.j.summary())
		}
	}
	return nil
}

// restart restarts MariaDB again and again.
func (n *nemesis) restart(ctx context.Context, r *rand.Rand, enough <-chan struct{}) error {
	every := time.Duration(n.kills) * 4 * time.Second / time.Duration(n.restarts+1)
	for range n.restarts {
		select {
		case <-time.After(every/2 + time.Duration(r.Int64N(int64(every)))):
		case <-enough:
			pause(ctx, 3*time.Second)
		case <-ctx.Done():
			return nil
		}
		if r.IntN(2) == 0 {
			n.j.note("MariaDB killed", "")
			n.maria.Kill()
		} else {
			n.j.note("MariaDB stopped", "")
			stop, cancel := context.WithTimeout(ctx, time.Minute)
			err := n.maria.Stop(stop)
			cancel()
			if err != nil {
				return err
			}
		}
		pause(ctx, time.Duration(r.IntN(3000))*time.Millisecond)
		again, cancel := context.WithTimeout(ctx, 2*time.Minute)
		err := n.maria.Restart(again)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	return nil
}

// verifyFile runs thermocline verify.
func (n *nemesis) verifyFile(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, n.binary, "verify", "--warehouse", n.warehouse, n.file)
	cmd.Env = append(os.Environ(), n.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		return "", fmt.Errorf("verify: %w\n%s", err, out.String())
	}
	return out.String(), nil
}
