package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/fileio/s3"
	"github.com/thermocline/thermocline/connector/files"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/blob"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/pagecache"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/source/generator"
	mysqlsource "github.com/thermocline/thermocline/ingest/source/mysql"
	"github.com/thermocline/thermocline/internal/memory"
)

// defaultCatalog is the name of the catalog of --warehouse.
const defaultCatalog = "paimon"

// warehouse is an opened Paimon warehouse.
type warehouse struct {
	path    string
	files   fileio.FileIO
	catalog catalog.Writable
	driver  *paimon.Driver
	// cache and configure are what its driver was made with, for those of other
	// catalogs.
	cache     *memory.Budget
	configure []func(*paimon.Config)
}

// formats are the formats of data files: Parquet is read and written, the others
// are read.
func formats() *format.Registry {
	return format.NewRegistry(parquet.Format{}, orc.Format{}, avro.Format{}, blob.Format{})
}

// openFiles returns the door to local files and to object stores. properties
// are a catalog's: those of the object store are used, and what they leave open
// comes from the environment. budget is charged with the store's buffers.
func openFiles(properties map[string]string, budget *memory.Budget) (fileio.FileIO, error) {
	o, err := s3.ParseOptions(properties)
	if err != nil {
		return nil, err
	}
	o.Budget = budget
	files := fileio.NewMux(fileio.Local{})
	files.Handle(func(ctx context.Context) (fileio.FileIO, error) { return s3.Open(ctx, o) }, s3.Schemes()...)
	return files, nil
}

// openWarehouse opens the Paimon warehouse in a local folder or below a prefix
// of an object store, which need not exist before the first write. cache pays for
// decoded metadata and bounds it; nil is a small unpaid cache. configure changes
// what the warehouse's driver gets.
func openWarehouse(path string, properties map[string]string, budget, cache *memory.Budget, configure ...func(*paimon.Config)) (*warehouse, error) {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("open warehouse %s: it is a file, not a folder", path)
	}
	files, err := openFiles(properties, budget)
	if err != nil {
		return nil, err
	}
	config := paimon.Config{Files: files, Formats: formats(), Location: time.Local, CacheBytes: cache.Limit(), CacheBudget: cache}
	for _, f := range configure {
		f(&config)
	}
	driver := paimon.NewDriver(config)
	c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: path, Driver: driver})
	if err != nil {
		return nil, err
	}
	return &warehouse{path: path, files: files, catalog: c, driver: driver, cache: cache, configure: configure}, nil
}

// temporaryTables makes the catalogs of sessions' temporary tables: in memory, and
// folders of a store.
func temporaryTables(s *files.Store) func(pays *memory.Budget) catalog.Writable {
	return func(pays *memory.Budget) catalog.Writable { return files.NewDeclared(tables.NewCatalog(pays), s) }
}

// plainFiles are the files that statements name.
func plainFiles(w *warehouse) *files.Store { return &files.Store{Files: w.files, Formats: formats()} }

// sources are the sources that pipelines can name.
func sources() map[string]source.Factory {
	return map[string]source.Factory{"mysql": mysqlsource.New, "generator": generator.New}
}

// spilling gives writers a place for rows that memory is too short for.
func spilling(s *fileio.Scratch) func(*paimon.Config) {
	return func(c *paimon.Config) { c.Spill = s }
}

// keepingPages gives drivers a common cache of decompressed pages of data files.
func keepingPages(root *memory.Budget) func(*paimon.Config) {
	b := share(root, "pages", pageShare)
	pages := pagecache.New(b.Limit(), b)
	root.Reclaim(pages)
	pages.Relieve(heapPressure())
	return func(c *paimon.Config) { c.Pages = pages }
}

// loadPipeline reads and checks a pipeline file.
func loadPipeline(file string) (*pipeline.Definition, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("read pipeline %s: %w", file, err)
	}
	return pipeline.Load(b, pipeline.LoadOptions{File: file})
}

// lockDataDir makes the data directory and locks it against other processes
// until the file is closed.
func lockDataDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock data directory %s: another thermocline uses it; stop it or give --data-dir", dir)
	}
	return f, nil
}

// identity is what tells the data directory whose lock is held from those of
// other machines with the same path: a random text, kept in the lock's file.
func identity(dir string, lock *os.File) (string, error) {
	b := make([]byte, 100)
	n, err := lock.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the identity of the data directory: %w", err)
	}
	id := strings.TrimSpace(string(b[:n]))
	if id == "" {
		id = uuid.NewString()
		if _, err := lock.WriteAt([]byte(id+"\n"), 0); err != nil {
			return "", fmt.Errorf("keep the identity of the data directory: %w", err)
		}
	}
	return dir + " " + id, nil
}
