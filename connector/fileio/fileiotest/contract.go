// Package fileiotest tests implementations of fileio.FileIO against its
// contract. Start reading at Run.
package fileiotest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Run tests the store fs in the directory dir, which is empty or absent and is
// left so.
func Run(t *testing.T, fs fileio.FileIO, dir string) {
	t.Run("files", func(t *testing.T) { files(t, fs, dir+"/files") })
	t.Run("directories", func(t *testing.T) { directories(t, fs, dir+"/directories") })
	t.Run("large", func(t *testing.T) { large(t, fs, dir+"/large") })
	t.Run("one winner", func(t *testing.T) { oneWinner(t, fs, dir+"/winner") })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, fs, dir+"/cancelled") })
	if err := fs.RemoveAll(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	if l, err := fs.List(context.Background(), dir); err != nil || len(l) != 0 {
		t.Fatalf("files left: %v, %v", l, err)
	}
}

func files(t *testing.T, fs fileio.FileIO, dir string) {
	ctx := context.Background()
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
	if err := fs.RemoveAll(ctx, dir); err != nil {
		t.Fatalf("remove of a missing directory: %v", err)
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
	if n, err := f.ReadAt(buf, 100); n != 0 || err != io.EOF {
		t.Fatalf("ReadAt after the end: %d %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	w, _ = fs.Create(ctx, dir+"/a/b/gone")
	io.WriteString(w, "x")
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}

	if err := fs.CreateExclusive(ctx, p, []byte("no")); !errs.Is(err, errs.FileExists) || errs.ClassOf(err) != errs.Conflict {
		t.Fatalf("exclusive create of an existing file: %v", err)
	}
	if b, err := fs.ReadFile(ctx, p); err != nil || string(b) != "hello world" {
		t.Fatalf("the exclusive create of an existing file left %q, %v", b, err)
	}
	if err := fs.CreateExclusive(ctx, dir+"/a/b/new", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := fs.WriteFile(ctx, dir+"/a/b/new", []byte("22")); err != nil {
		t.Fatal(err)
	}
	if in, err := fs.Stat(ctx, dir+"/a/b/new"); err != nil || in.Size != 2 || in.Dir || in.Name != "new" || in.ModTime.IsZero() {
		t.Fatalf("stat %v %v", in, err)
	}
	l, err := fs.List(ctx, dir+"/a/b")
	if err != nil || len(l) != 2 || l[0].Name != "file" || l[1].Name != "new" || l[1].Size != 2 || l[1].ModTime.IsZero() {
		t.Fatalf("list %v %v", l, err)
	}
	if err := fs.Remove(ctx, dir+"/a/b/new"); err != nil {
		t.Fatal(err)
	}
	if err := fs.WriteFile(ctx, dir+"/a/empty", nil); err != nil {
		t.Fatal(err)
	}
	if f, err = fs.Open(ctx, dir+"/a/empty"); err != nil || f.Size() != 0 {
		t.Fatalf("open of an empty file: %v", err)
	}
	if n, err := f.ReadAt(buf, 0); n != 0 || err != io.EOF {
		t.Fatalf("ReadAt of an empty file: %d %v", n, err)
	}
	f.Close()
	if b, err := fs.ReadFile(ctx, dir+"/a/empty"); err != nil || len(b) != 0 {
		t.Fatalf("read of an empty file: %q %v", b, err)
	}
}

func directories(t *testing.T, fs fileio.FileIO, dir string) {
	ctx := context.Background()
	names := []string{"a/x", "a/sub/deep/y", "ab/z", "a b+ü=1/pt=%2F/q", "c"}
	for _, n := range names {
		if err := fs.WriteFile(ctx, dir+"/"+n, []byte(n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range names {
		if b, err := fs.ReadFile(ctx, dir+"/"+n); err != nil || string(b) != n {
			t.Fatalf("read %s: %q, %v", n, b, err)
		}
	}
	list := func(d string) string {
		l, err := fs.List(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		s := ""
		for _, in := range l {
			s += in.Name
			if in.Dir {
				s += "/"
			}
			s += " "
		}
		return s
	}
	if got := list(dir); got != "a/ a b+ü=1/ ab/ c " {
		t.Fatalf("list of the root: %s", got)
	}
	if got := list(dir + "/a b+ü=1"); got != "pt=%2F/ " {
		t.Fatalf("list of a strange name: %s", got)
	}
	for _, d := range []string{dir, dir + "/a", dir + "/a/sub"} {
		if in, err := fs.Stat(ctx, d); err != nil || !in.Dir {
			t.Fatalf("stat of a directory %v %v", in, err)
		}
	}
	if err := fs.RemoveAll(ctx, dir+"/a"); err != nil {
		t.Fatal(err)
	}
	if got := list(dir); got != "a b+ü=1/ ab/ c " {
		t.Fatalf("after the removal of a: %s", got)
	}
	if _, err := fs.Stat(ctx, dir+"/a"); !errs.Is(err, errs.FileNotFound) {
		t.Fatalf("stat of a removed directory: %v", err)
	}
}

// large writes a file of several parts and reads it in all ways.
func large(t *testing.T, fs fileio.FileIO, dir string) {
	ctx := context.Background()
	want := make([]byte, 18<<20+12345)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(want)
	p := dir + "/big"
	w, err := fs.Create(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	for rest := want; len(rest) > 0; {
		n := min(len(rest), 777_777)
		if m, err := w.Write(rest[:n]); m != n || err != nil {
			t.Fatal(m, err)
		}
		rest = rest[n:]
	}
	if _, err := fs.Stat(ctx, p); !errs.Is(err, errs.FileNotFound) {
		t.Fatalf("a large file is visible before Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(ctx, p); err != nil || !bytes.Equal(b, want) {
		t.Fatalf("read back %d bytes, %v", len(b), err)
	}
	f, err := fs.Open(ctx, p)
	if err != nil || f.Size() != int64(len(want)) {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 7))
			at := 0
			for range 30 {
				off, n := at, 1+r.IntN(100_000)
				if g%2 == 1 { // the others read in sequence
					off = r.IntN(len(want))
				}
				n = min(n, len(want)-off)
				b := make([]byte, n)
				if got, err := f.ReadAt(b, int64(off)); got != n || err != nil && err != io.EOF || !bytes.Equal(b, want[off:off+n]) {
					t.Errorf("ReadAt %d bytes at %d: %d, %v", n, off, got, err)
					return
				}
				at = off + n
			}
		})
	}
	wg.Wait()
	b := make([]byte, len(want))
	if n, err := f.ReadAt(b, 0); n != len(b) || err != nil && err != io.EOF || !bytes.Equal(b, want) {
		t.Fatalf("ReadAt of everything: %d, %v", n, err)
	}

	if w, err = fs.Create(ctx, dir+"/gone"); err != nil {
		t.Fatal(err)
	}
	w.Write(want)
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(ctx, dir+"/gone"); !errs.Is(err, errs.FileNotFound) {
		t.Fatalf("an aborted file exists: %v", err)
	}
}

// oneWinner: of many that create one name, one wins, and its content stays.
func oneWinner(t *testing.T, fs fileio.FileIO, dir string) {
	for round := range 20 {
		p := fmt.Sprintf("%s/snapshot-%d", dir, round)
		var wg sync.WaitGroup
		var won, winner atomic.Int32
		for g := range 8 {
			wg.Go(func() {
				err := fs.CreateExclusive(context.Background(), p, fmt.Appendf(nil, "%d", g))
				if err == nil {
					won.Add(1)
					winner.Store(int32(g))
				} else if !errs.Is(err, errs.FileExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d winners", won.Load())
		}
		if b, err := fs.ReadFile(context.Background(), p); err != nil || string(b) != fmt.Sprint(winner.Load()) {
			t.Fatalf("%d won, the file says %q, %v", winner.Load(), b, err)
		}
	}
}

func cancelled(t *testing.T, fs fileio.FileIO, dir string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := dir + "/x"
	_, read := fs.ReadFile(ctx, p)
	_, open := fs.Open(ctx, p)
	_, create := fs.Create(ctx, p)
	_, stat := fs.Stat(ctx, p)
	_, list := fs.List(ctx, dir)
	for i, err := range []error{read, open, create, stat, list, fs.WriteFile(ctx, p, nil), fs.CreateExclusive(ctx, p, nil), fs.Remove(ctx, p), fs.RemoveAll(ctx, dir)} {
		if err != context.Canceled {
			t.Fatalf("call %d with a cancelled context: %v", i, err)
		}
	}
}
