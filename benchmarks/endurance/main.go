// Command endurance runs the server for a long time under what production does
// to it, and checks every row afterwards. It runs the binary as its own process.
//
//	endurance kills    kill -9 at random instants while statements write, change,
//	                   compact and expire: a statement happened wholly or not at
//	                   all, and one that was answered is there
//	endurance writers  two servers write disjoint partitions of one table at once
//	endurance java     the same by a server and Java Paimon, on a JDBC catalog
//	endurance steady   many commits a second: files, snapshots and memory must stay
//	                   flat
//	endurance feed     a pipeline from MariaDB with few changes, or with few of
//	                   many tables changing: files and memory must stay bounded
//	endurance nemesis  a pipeline from a MariaDB under load, while it is killed, the
//	                   MariaDB restarted, connections cut, requests to the object
//	                   store fail: in the end the lake equals the source
//	endurance cancel   statements are ended while they work: how long they go on
//
// It ends with status 1 at the first wrong row.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The driver reports every connection that a kill cuts.
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "kills":
		err = kills(ctx, args)
	case "writers":
		err = writers(ctx, args)
	case "java":
		err = beside(ctx, args)
	case "steady":
		err = steady(ctx, args)
	case "feed":
		err = feed(ctx, args)
	case "nemesis":
		err = runNemesis(ctx, args)
	case "cancel":
		err = cancelling(ctx, args)
	default:
		usage()
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "endurance %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: endurance kills|writers|java|steady|feed|nemesis|cancel [flags]; -h lists them")
	os.Exit(2)
}

// server is a running `serve`.
type server struct {
	cmd  *exec.Cmd
	addr string // of the MySQL port
	logs *os.File
}

// start starts a server and waits until it is ready. An addr other than "" is
// the one to listen on.
func start(binary, addr string, env []string, args ...string) (*server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	cmd := exec.Command(binary, append([]string{"serve", "--mysql-listen", addr, "--http-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	logs, err := os.CreateTemp("", "endurance-*.log")
	if err != nil {
		return nil, err
	}
	os.Remove(logs.Name())
	cmd.Stderr = logs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, logs: logs}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Wait()
		return nil, fmt.Errorf("serve ended before it was ready:\n%s", s.tail())
	}
	rest, ok := strings.CutPrefix(line, "ready: MySQL on ")
	if !ok {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("serve said %q", line)
	}
	s.addr, _, _ = strings.Cut(rest, ",")
	return s, nil
}

// tail returns the end of the server's log.
func (s *server) tail() string {
	st, err := s.logs.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(st.Size(), 4000))
	n, _ := s.logs.ReadAt(b, st.Size()-int64(len(b)))
	return string(b[:n])
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.logs.Close()
}

func (s *server) stop() error {
	defer s.logs.Close()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("serve did not end in order: %w\n%s", err, s.tail())
	}
	return nil
}

// rss returns the resident memory in MiB.
func (s *server) rss() float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

// open opens connections to a server, one statement a round trip.
func open(addr string) (*sql.DB, error) {
	return sql.Open("mysql", "root@tcp("+addr+")/?timeout=5s&interpolateParams=true")
}

// setup runs statements that set something up.
func setup(ctx context.Context, addr string, statements ...string) error {
	db, err := open(addr)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// refused reports whether a statement's error is the server's answer, so that
// the statement did nothing, and not a connection that broke.
func refused(err error) bool {
	var e *mysql.MySQLError
	// 1105 may carry a commit whose outcome is not known, 1053 a shutdown.
	return errors.As(err, &e) && e.Number != 1105 && e.Number != 1053 && e.Number != 1317
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
