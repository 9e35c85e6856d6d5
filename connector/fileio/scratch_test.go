package fileio

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

func TestTemporaryFilesLeaveNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	s := NewScratch(dir, 100)
	if err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	f, err := s.Create(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.Write(bytes.Repeat([]byte{'x'}, 40)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("while it is open: %v, %v", left, err)
	}
	b := make([]byte, 10)
	if _, err := f.ReadAt(b, 70); err != nil || string(b) != "xxxxxxxxxx" || f.Size() != 80 {
		t.Fatalf("%q of %d bytes, %v", b, f.Size(), err)
	}
	if _, err := f.Write(make([]byte, 21)); errs.KindOf(err) != errs.DiskLimit {
		t.Fatalf("above the limit: %v", err)
	}
	if bytes, files := s.Used(); bytes != 80 || files != 1 {
		t.Fatalf("%d bytes in %d files", bytes, files)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, files := s.Used(); bytes != 0 || files != 0 {
		t.Fatalf("closed: %d bytes in %d files", bytes, files)
	}
	broken := errors.New("broken")
	s.SetFault(func(string) error { return broken })
	if _, err := s.Create(context.Background()); !errors.Is(err, broken) {
		t.Fatalf("a fault: %v", err)
	}
}

func TestLeftTemporaryFilesAreCleaned(t *testing.T) {
	dir := t.TempDir()
	keep := filepath.Join(dir, "accounts")
	for _, f := range []string{keep, filepath.Join(dir, ".12345"+scratchSuffix)} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewScratch(dir, 0).Clean(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "accounts" {
		t.Fatalf("left: %v, %v", left, err)
	}
}
