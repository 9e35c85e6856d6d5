package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/pagecache"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/mysql"
	"github.com/thermocline/thermocline/server/session"
)

// request is one line to an engine's process.
type request struct {
	SQL     string `json:"sql"`
	Rows    bool   `json:"rows"`              // give the rows back
	Profile string `json:"profile,omitempty"` // write a profile of the run there
	Repeat  int    `json:"repeat,omitempty"`  // with Profile: how often to run
}

// reply is the engine's line back.
type reply struct {
	CPU   float64     `json:"cpu"` // seconds, user and system
	Wall  float64     `json:"wall"`
	N     int64       `json:"n"`
	Rows  [][]*string `json:"rows,omitempty"`
	Peak  float64     `json:"peak"` // MiB resident at most so far
	Error string      `json:"error,omitempty"`
}

func cpuSeconds() (cpu, peakMiB float64) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, float64(r.Maxrss) / 1024
}

func openCatalog(warehouse string, cache *memory.Budget, pages *pagecache.Cache) (*filesystem.Catalog, error) {
	driver := paimon.NewDriver(paimon.Config{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{}), Location: time.UTC,
		CacheBytes: cache.Limit(), CacheBudget: cache, Pages: pages})
	return filesystem.Open(filesystem.Config{Files: fileio.Local{}, Warehouse: warehouse, Driver: driver})
}

// openSession wires a session as `thermocline sql` does.
func openSession(warehouse, limit string) (*session.Session, error) {
	bytes := int64(0)
	if limit != "" {
		n, err := memory.ParseSize(limit)
		if err != nil {
			return nil, err
		}
		bytes = n
		debug.SetMemoryLimit(bytes * 9 / 10)
	} else {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return nil, err
		}
		bytes = int64(float64(info.Totalram) * 0.75)
		debug.SetMemoryLimit(bytes)
	}
	memory.Pace()
	root := memory.New("process", bytes)
	kept := root.Child("pages", bytes*25/100)
	pages := pagecache.New(kept.Limit(), kept)
	root.Reclaim(pages)
	cat, err := openCatalog(warehouse, root.Child("metadata", bytes/10), pages)
	if err != nil {
		return nil, err
	}
	srv, err := session.NewServer(session.Config{
		Catalogs: []session.NamedCatalog{{Name: "paimon", Catalog: cat}},
		Memory:   root.Child("query", bytes*45/100),
		Version:  "bench", ErrorCode: mysql.ErrorCode,
	})
	if err != nil {
		return nil, err
	}
	return srv.Open(context.Background(), session.OpenOptions{User: "root", Address: "localhost"})
}

// serveChild runs statements of stdin.
func serveChild(warehouse string, threads int, limit string) error {
	runtime.GOMAXPROCS(threads)
	s, err := openSession(warehouse, limit)
	if err != nil {
		return err
	}
	defer s.Close()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if err := in.Decode(&r); err != nil {
			return nil // the parent has gone
		}
		a, err := serve(s, r)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

func serve(s *session.Session, r request) (a reply, err error) {
	if r.Profile != "" {
		f, err := os.Create(r.Profile)
		if err != nil {
			return a, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return a, err
		}
		defer pprof.StopCPUProfile()
	}
	for range max(r.Repeat, 1) {
		a = reply{}
		cpu, _ := cpuSeconds()
		start := time.Now()
		if err := execute(s, r, &a); err != nil {
			return a, err
		}
		a.Wall = time.Since(start).Seconds()
		end, peak := cpuSeconds()
		a.CPU, a.Peak = end-cpu, peak
	}
	return a, nil
}

func execute(s *session.Session, r request, a *reply) (err error) {
	ctx := context.Background()
	res, err := s.Execute(ctx, r.SQL, nil)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := res.Close(); err == nil {
			err = cerr
		}
	}()
	if res.Rows == nil {
		return nil
	}
	var text []byte
	for {
		b, err := res.Rows.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		for i := range b.Rows() {
			a.N++
			var row []*string
			for c, col := range res.Columns {
				v, at := b.Cols[c], b.Row(i)
				if v.IsNull(at) {
					row = append(row, nil)
					continue
				}
				text = expr.AppendText(text[:0], col.Type, v, at, time.UTC)
				if r.Rows {
					cell := string(text)
					row = append(row, &cell)
				}
			}
			if r.Rows {
				a.Rows = append(a.Rows, row)
			}
		}
	}
}

// loadChild makes the table db.name of a warehouse from the Parquet files that
// generators wrote into a folder, columns by name.
func loadChild(warehouse, name, from string) error {
	ctx := context.Background()
	database, table, _ := strings.Cut(name, ".")
	s, err := openSession(warehouse, "")
	if err != nil {
		return err
	}
	defer s.Close()
	ddl, ok := tableDDL[table]
	if !ok {
		return fmt.Errorf("no table %s is known", table)
	}
	for _, text := range []string{"CREATE DATABASE IF NOT EXISTS " + database, "USE " + database, "DROP TABLE IF EXISTS " + table,
		fmt.Sprintf("CREATE TABLE %s (%s) WITH ('bucket'='-1', 'write-only'='true')", table, ddl)} {
		r, err := s.Execute(ctx, text, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	cat, err := openCatalog(warehouse, nil, nil)
	if err != nil {
		return err
	}
	tb, err := cat.Table(ctx, catalog.Identifier{Database: database, Table: table})
	if err != nil {
		return err
	}
	wt := tb.(connector.Writable)
	w, err := wt.NewWrite(ctx, connector.WriteOptions{CommitUser: "bench", NoCompaction: true, Once: true})
	if err != nil {
		return err
	}
	defer w.Close()
	var columns []format.Column
	for _, f := range tb.Schema().Fields {
		columns = append(columns, format.Column{Name: f.Name, Type: f.Type, ID: f.ID})
	}
	files, err := filepath.Glob(filepath.Join(from, "*.parquet"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no Parquet files in %s (%v)", from, err)
	}
	for _, path := range files {
		if err := loadFile(ctx, w, path, columns); err != nil {
			return err
		}
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		return err
	}
	c, err := wt.NewCommit(ctx, "bench")
	if err != nil {
		return err
	}
	_, err = c.Commit(ctx, &connector.Committable{Identifier: math.MaxInt64, Messages: m})
	return err
}

func loadFile(ctx context.Context, w connector.TableWrite, path string, columns []format.Column) error {
	f, err := fileio.Local{}.Open(ctx, path)
	if err != nil {
		return err
	}
	r, err := parquet.Format{}.NewReader(ctx, f, format.ReadOptions{Path: path, Columns: columns, Strict: true})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
}
