package fileio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// stores returns every implementation with a directory of its own; the contract
// of FileIO is tested on all of them.
func stores(t *testing.T) map[string]struct {
	fs  FileIO
	dir string
} {
	return map[string]struct {
		fs  FileIO
		dir string
	}{
		"local":  {Local{}, t.TempDir()},
		"memory": {NewMemory(), "/w"},
	}
}

func TestContract(t *testing.T) {
	ctx := context.Background()
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			fs, dir := s.fs, s.dir
			p := dir + "/a/b/file"
			if _, err := fs.ReadFile(ctx, p); !errs.Is(err, errs.FileNotFound) {
				t.Fatalf("read of a missing file: %v", err)
			}
			if _, err := fs.Open(ctx, p); !errs.Is(err, errs.FileNotFound) {
				t.Fatalf("open of a missing file: %v", err)
			}
			if _, err := fs.Stat(ctx, p); !errs.Is(err, errs.FileNotFound) {
				t.Fatalf("stat of a missing file: %v", err)
			}
			if l, err := fs.List(ctx, dir+"/a"); err != nil || len(l) != 0 {
				t.Fatalf("list of a missing directory: %v, %v", l, err)
			}
			if err := fs.Remove(ctx, p); err != nil {
				t.Fatalf("remove of a missing file: %v", err)
			}

			w, err := fs.Create(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, "hello ")
			io.WriteString(w, "world")
			if _, err := fs.ReadFile(ctx, p); !errs.Is(err, errs.FileNotFound) {
				t.Fatalf("a file is visible before Close: %v", err)
			}
			if l, _ := fs.List(ctx, dir+"/a/b"); len(l) != 0 {
				t.Fatalf("a file is listed before Close: %v", l)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}
			if b, err := fs.ReadFile(ctx, p); err != nil || string(b) != "hello world" {
				t.Fatalf("read back %q, %v", b, err)
			}
			f, err := fs.Open(ctx, p)
			if err != nil || f.Size() != 11 {
				t.Fatalf("open: %v", err)
			}
			buf := make([]byte, 5)
			if n, err := f.ReadAt(buf, 6); n != 5 || err != nil && err != io.EOF || string(buf) != "world" {
				t.Fatalf("ReadAt: %d %v %q", n, err, buf)
			}
			if n, err := f.ReadAt(buf, 8); n != 3 || err != io.EOF {
				t.Fatalf("ReadAt beyond the end: %d %v", n, err)
			}
			f.Close()

			w, _ = fs.Create(ctx, dir+"/a/b/gone")
			io.WriteString(w, "x")
			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}

			if err := fs.CreateExclusive(ctx, p, []byte("no")); !errs.Is(err, errs.FileExists) || errs.ClassOf(err) != errs.Conflict {
				t.Fatalf("exclusive create of an existing file: %v", err)
			}
			if err := fs.CreateExclusive(ctx, dir+"/a/b/new", []byte("1")); err != nil {
				t.Fatal(err)
			}
			if err := fs.WriteFile(ctx, dir+"/a/b/new", []byte("22")); err != nil {
				t.Fatal(err)
			}
			if in, err := fs.Stat(ctx, dir+"/a/b/new"); err != nil || in.Size != 2 || in.Dir || in.Name != "new" {
				t.Fatalf("stat %v %v", in, err)
			}
			if in, err := fs.Stat(ctx, dir+"/a"); err != nil || !in.Dir {
				t.Fatalf("stat of a directory %v %v", in, err)
			}
			l, err := fs.List(ctx, dir+"/a/b")
			if err != nil || len(l) != 2 || l[0].Name != "file" || l[1].Name != "new" || l[1].Size != 2 {
				t.Fatalf("list %v %v", l, err)
			}
			if l, _ := fs.List(ctx, dir); len(l) != 1 || l[0].Name != "a" || !l[0].Dir {
				t.Fatalf("list of the root %v", l)
			}
			if err := fs.Remove(ctx, dir+"/a/b/new"); err != nil {
				t.Fatal(err)
			}
			if err := fs.RemoveAll(ctx, dir+"/a"); err != nil {
				t.Fatal(err)
			}
			if l, _ := fs.List(ctx, dir); len(l) != 0 {
				t.Fatalf("files left: %v", l)
			}
			gone, cancel := context.WithCancel(ctx)
			cancel()
			if err := fs.WriteFile(gone, p, nil); err != context.Canceled {
				t.Fatalf("cancelled context: %v", err)
			}
		})
	}
}

// TestExclusiveOneWinner: of many that create one name, one wins.
func TestExclusiveOneWinner(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			for round := range 20 {
				p := fmt.Sprintf("%s/d/snapshot-%d", s.dir, round)
				var wg sync.WaitGroup
				var won atomic.Int32
				for g := range 8 {
					wg.Go(func() {
						err := s.fs.CreateExclusive(context.Background(), p, fmt.Appendf(nil, "%d", g))
						if err == nil {
							won.Add(1)
						} else if !errs.Is(err, errs.FileExists) {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if won.Load() != 1 {
					t.Fatalf("%d winners", won.Load())
				}
			}
		})
	}
}

func TestLocalLeavesNoTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	l := Local{}
	ctx := context.Background()
	if err := l.CreateExclusive(ctx, dir+"/x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	l.CreateExclusive(ctx, dir+"/x", []byte("2"))
	w, _ := l.Create(ctx, dir+"/y")
	w.Abort()
	left, _ := filepath.Glob(dir + "/.*")
	if len(left) != 0 {
		t.Fatalf("left over: %v", left)
	}
	if err := os.WriteFile(dir+"/plain", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteFile(ctx, dir+"/plain/below", nil); err == nil || !strings.Contains(err.Error(), "below") {
		t.Fatalf("a file in a file: %v", err)
	}
}

func TestMemoryFaults(t *testing.T) {
	ctx := context.Background()
	m := NewMemory()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.WriteFile(ctx, "/a", []byte("1")))
	m.CrashAt(1, false)
	if err := m.WriteFile(ctx, "/a", []byte("2")); err == nil {
		t.Fatal("no crash")
	}
	if _, err := m.ReadFile(ctx, "/a"); err == nil {
		t.Fatal("a crashed store answers")
	}
	m.Restart()
	if b, err := m.ReadFile(ctx, "/a"); err != nil || string(b) != "1" {
		t.Fatalf("crash before: %q %v", b, err)
	}
	w, err := m.Create(ctx, "/b")
	must(err)
	w.Write([]byte("unfinished"))
	m.CrashAt(1, true)
	if err := m.WriteFile(ctx, "/a", []byte("2")); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatalf("crash after: %v", err)
	}
	m.Restart()
	if b, err := m.ReadFile(ctx, "/a"); err != nil || string(b) != "2" {
		t.Fatalf("crash after: %q %v", b, err)
	}
	if err := w.Close(); err == nil {
		t.Fatal("a writer survived the crash")
	}
	m.SetFault(func(o Op) Outcome {
		if o.Verb == "exclusive" {
			return FailAfter
		}
		return Proceed
	})
	if err := m.CreateExclusive(ctx, "/c", []byte("3")); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatal(err)
	}
	if b, _ := m.ReadFile(ctx, "/c"); !bytes.Equal(b, []byte("3")) {
		t.Fatalf("lost reply: %q", b)
	}
}
