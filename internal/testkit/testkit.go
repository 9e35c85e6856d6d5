// Package testkit starts what tests need and finds shared test data. Tests
// import it; nothing else does.
//
// Start reading at Shared and MariaDB.
package testkit

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// Root returns the repository's root folder: the nearest one with a go.mod, from
// the folder of the package under test upwards.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("no go.mod above the working directory")
		}
	}
}

// Testdata returns a path below the repository's testdata folder.
func Testdata(elem ...string) string {
	return filepath.Join(append([]string{Root(), "testdata"}, elem...)...)
}

// Shared returns the absolute path of shared test data that lies beside the
// repository, such as "fixtures/bucket-hash". Where it is absent the test is
// skipped, or fails when THERMOCLINE_SHARED=required.
func Shared(t testing.TB, elem string) string {
	t.Helper()
	p := filepath.Join(filepath.Dir(Root()), "shared", filepath.FromSlash(elem))
	if _, err := os.Stat(p); err != nil {
		if os.Getenv("THERMOCLINE_SHARED") == "required" {
			t.Fatalf("the shared test data %s is required here but absent", elem)
		}
		t.Skipf("needs the shared test data %s in a folder ../shared beside the repository", elem)
	}
	return p
}

// Tool returns the path that the environment variable names, such as a Python
// interpreter with a client installed. Where it is unset the test is skipped,
// or fails when THERMOCLINE_TOOLS=required, as make test sets it.
func Tool(t testing.TB, variable string) string {
	t.Helper()
	p := os.Getenv(variable)
	if p == "" {
		if os.Getenv("THERMOCLINE_TOOLS") == "required" {
			t.Fatalf("%s is not set: run the tests by make test, which installs what they need", variable)
		}
		t.Skipf("needs %s: run make test, which installs what the tests need", variable)
	}
	return p
}

// NeedMariaDB skips the test where no MariaDB is installed, or fails it when
// THERMOCLINE_TOOLS=required.
func NeedMariaDB(t testing.TB) {
	t.Helper()
	if mariadb.Available() {
		return
	}
	if os.Getenv("THERMOCLINE_TOOLS") == "required" {
		t.Fatal("no MariaDB is installed: run make deps")
	}
	t.Skip("needs a MariaDB server: run make deps (Debian: apt-get install mariadb-server)")
}

// MariaDB starts a private MariaDB with a row binlog for the test and stops it
// at the test's end. The account is mariadb.User with mariadb.Password. Where no
// MariaDB is installed the test is skipped, or fails when
// THERMOCLINE_TOOLS=required.
func MariaDB(t testing.TB, options ...string) *mariadb.Server {
	t.Helper()
	NeedMariaDB(t)
	dir, err := os.MkdirTemp("", "tcmaria")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := mariadb.Start(ctx, dir, options...)
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	return s
}
