// Package mariadb starts private MariaDB servers for the demo and for tests: in
// a directory of their own, on a free port of the loopback interface, with a
// row binlog. A system instance is never touched.
//
// Invariant: Stop (or Kill) ends the server process and waits for it.
//
// Start reading at Start.
package mariadb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a running private MariaDB.
type Server struct {
	Dir  string // everything of the server lies below
	Port int
	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended, after done
}

// User and Password of an account with all rights, from any loopback client.
const (
	User     = "thermocline"
	Password = "thermocline"
)

// binary finds a program of MariaDB; servers are often outside a user's PATH.
func binary(names ...string) (string, error) {
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/opt/homebrew/bin"} {
			p := filepath.Join(dir, n)
			if st, err := os.Stat(p); err == nil && st.Mode()&0o111 != 0 {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("find %s: it is not installed (Debian: apt-get install mariadb-server)", names[0])
}

// Available reports whether a MariaDB server is installed.
func Available() bool {
	_, a := binary("mariadbd")
	_, b := binary("mariadb-install-db")
	return a == nil && b == nil
}

// Start installs (once) and starts a server in dir with extra options, and
// waits until it answers. ctx bounds the start, not the server's life.
func Start(ctx context.Context, dir string, options ...string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, Port: port}
	if err := s.install(ctx); err != nil {
		return nil, err
	}
	s.args = append([]string{
		"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--socket=" + s.socket(),
		"--pid-file=" + filepath.Join(dir, "pid"), "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--default-time-zone=+00:00",
		"--performance-schema=OFF", "--skip-name-resolve", "--max-connections=200", "--max-allowed-packet=64M",
		"--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=FULL", "--server-id=1",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M",
	}, options...)
	if u, err := user.Current(); err == nil {
		s.args = append(s.args, "--user="+u.Username)
	}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// socket keeps the path short: Unix sockets allow about 100 bytes.
func (s *Server) socket() string {
	p := filepath.Join(s.Dir, "sock")
	if len(p) < 100 {
		return p
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("mariadb-%d.sock", s.Port))
}

func (s *Server) install(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.Dir, "data", "mysql")); err == nil {
		return nil
	}
	inst, err := binary("mariadb-install-db")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + filepath.Join(s.Dir, "data"), "--auth-root-authentication-method=normal", "--skip-test-db"}
	if u, err := user.Current(); err == nil {
		args = append(args, "--user="+u.Username)
	}
	cmd := exec.CommandContext(ctx, inst, args...)
	if cmd.Env, err = s.env(); err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("install MariaDB in %s: %w: %s", s.Dir, err, lastLine(out))
	}
	return nil
}

// env gives a server a temporary directory of its own: at its start it removes
// every temporary table there, those of other servers too.
func (s *Server) env() ([]string, error) {
	tmp := filepath.Join(s.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	return append(os.Environ(), "TMPDIR="+tmp), nil
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// Restart starts the server again, on the same port, after Stop or Kill.
func (s *Server) Restart(ctx context.Context) error {
	bin, err := binary("mariadbd")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.Dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(bin, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.cmd.Env, err = s.env(); err != nil {
		return err
	}
	// A group of its own keeps the terminal's Ctrl-C away: we stop it in order.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start mariadbd: %w", err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		s.err = cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	account := fmt.Sprintf("CREATE USER IF NOT EXISTS '%[1]s'@'%%' IDENTIFIED BY '%[2]s'; CREATE USER IF NOT EXISTS '%[1]s'@'localhost' IDENTIFIED BY '%[2]s';"+
		"GRANT ALL ON *.* TO '%[1]s'@'%%' WITH GRANT OPTION; GRANT ALL ON *.* TO '%[1]s'@'localhost' WITH GRANT OPTION;", User, Password)
	for {
		out, err := s.root(ctx, account)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
			return fmt.Errorf("start mariadbd: it ended (%v): %s", s.err, lastLine(text))
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("start mariadbd: %w: %s", ctx.Err(), lastLine(out))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// root runs SQL as root over the socket.
func (s *Server) root(ctx context.Context, sql string) ([]byte, error) {
	cli, err := binary("mariadb", "mysql")
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, cli, "--no-defaults", "-S", s.socket(), "-uroot", "-e", sql).CombinedOutput()
}

// Exec runs SQL statements as root and returns what the client prints.
func (s *Server) Exec(ctx context.Context, sql string) (string, error) {
	out, err := s.root(ctx, sql)
	if err != nil {
		return string(out), fmt.Errorf("run %.60q on MariaDB: %s", sql, lastLine(out))
	}
	return string(out), nil
}

// Addr returns "127.0.0.1:port".
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// DSN returns a go-sql-driver data source name for database, which may be "".
func (s *Server) DSN(database string) string {
	return User + ":" + Password + "@tcp(" + s.Addr() + ")/" + database
}

// Stop shuts the server down and waits for it; after ctx's end it is killed.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		s.Kill()
	}
	return nil
}

// Kill ends the server as a power failure would.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.done
}
