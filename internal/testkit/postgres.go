package testkit

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Postgres starts a private PostgreSQL for the test, ends it with the test, and
// returns its port on the loopback interface. The superuser is "thermocline"
// with the password "thermocline", the database "test". Where none is installed
// the test is skipped, or fails when THERMOCLINE_TOOLS=required.
func Postgres(t testing.TB, options ...string) (port int) {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(bins) == 0 {
		if os.Getenv("THERMOCLINE_TOOLS") == "required" {
			t.Fatal("no PostgreSQL is installed: run make deps")
		}
		t.Skip("needs a PostgreSQL server: run make deps (Debian: apt-get install postgresql)")
	}
	sort.Strings(bins)
	bin := filepath.Dir(bins[len(bins)-1])
	dir, err := os.MkdirTemp("", "tcpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("thermocline"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if out, err := unprivileged(bin+"/initdb", "-D", data, "-U", "thermocline", "--pwfile="+password, "--encoding=UTF8", "--locale=C.UTF-8",
		"--auth=scram-sha-256", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("start PostgreSQL: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	args := []string{"-D", data}
	for _, o := range append([]string{"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=" + dir, "fsync=off"}, options...) {
		args = append(args, "-c", o)
	}
	server := unprivileged(bin+"/postgres", args...)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	for range 150 {
		// Through psql, which ends with 2 while the server starts.
		c := exec.Command(bin+"/psql", "-X", "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "thermocline", "-d", "postgres", "-c", "CREATE DATABASE test")
		c.Env = append(os.Environ(), "PGPASSWORD=thermocline")
		if c.Run() == nil {
			return port
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal(fmt.Errorf("PostgreSQL does not answer: %s", log.String()))
	return 0
}

// unprivileged is a command that root runs as somebody else, in a user
// namespace: PostgreSQL refuses to run as root.
func unprivileged(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}}
	}
	return c
}
