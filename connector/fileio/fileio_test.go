package fileio

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

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

// TestRemoveAllWhileWritten: a folder goes although files appear in it meanwhile,
// until their writer finds no folder.
func TestRemoveAllWhileWritten(t *testing.T) {
	for range 5 {
		dir := filepath.Join(t.TempDir(), "table")
		if err := os.MkdirAll(filepath.Join(dir, "manifest"), 0o755); err != nil {
			t.Fatal(err)
		}
		started, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if os.WriteFile(filepath.Join(dir, "manifest", strconv.Itoa(i)), nil, 0o644) != nil {
					return
				}
				if i == 20 {
					close(started)
				}
			}
		}()
		<-started
		err := Local{}.RemoveAll(t.Context(), dir)
		close(stop)
		<-done
		if err != nil {
			t.Fatal(err)
		}
	}
}
