package fileio

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// TestSharedSyncs says that writers of one directory, however many at once, all
// return, with their files there and errors told.
func TestSharedSyncs(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for j := range 5 {
				if err := (Local{}).CreateExclusive(ctx, filepath.Join(dir, fmt.Sprint(i, "-", j)), []byte("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 40 {
		wg.Go(func() {
			if err := syncs.sync(filepath.Join(dir, "missing")); err == nil {
				t.Error("a directory that is not there was synced")
			}
		})
	}
	wg.Wait()
	got, err := Local{}.List(ctx, dir)
	if err != nil || len(got) != 200 {
		t.Errorf("%d files, %v", len(got), err)
	}
	syncs.mu.Lock()
	defer syncs.mu.Unlock()
	for d := range syncs.dirs {
		if filepath.Dir(d) == dir || d == dir {
			t.Errorf("%s is remembered", d)
		}
	}
}

// TestHint says that a hint is there for those who read it, and replaces the old.
func TestHint(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "d", "LATEST")
	for _, text := range []string{"1", "22"} {
		if err := WriteHint(ctx, NewMux(Local{}), path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := (Local{}).ReadFile(ctx, path); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	m := NewMemory()
	if err := WriteHint(ctx, m, "/x/LATEST", []byte("3")); err != nil {
		t.Fatal(err)
	}
	if b, err := m.ReadFile(ctx, "/x/LATEST"); err != nil || string(b) != "3" {
		t.Errorf("%q, %v", b, err)
	}
}
