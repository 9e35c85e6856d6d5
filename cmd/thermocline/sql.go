package main

import (
	"bufio"
	"context"
	"fmt"
	"github.com/thermocline/thermocline/internal/memory"
	"io"
	"os"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/server/mysql"
	"github.com/thermocline/thermocline/server/session"
)

// runSQL runs statements in process with the engine of the server. It takes no
// lock and creates nothing unless a statement writes.
func runSQL(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	dir := f.String("warehouse", "./lake", "the `URI` or folder of the Paimon warehouse")
	catalogFile := f.String("catalog-file", "", "a `FILE` of CREATE CATALOG statements to run first")
	format := f.String("format", "table", "`table`, csv, tsv, json or jsonl")
	text := f.String("e", "", "the `SQL` to run, instead of a file or standard input")
	limit := f.String("memory-limit", "", "the memory that the process may use (default 75 % of the machine's)")
	spillLimit := f.String("spill-limit", "", spillLimitHelp)
	options := storeOptions{}
	f.Var(options, "store-option", "`KEY=VALUE` of the warehouse's object store, such as s3.endpoint=URL; may be given several times")
	if err := c.parse(f, args); err != nil {
		return err
	}
	if err := options.check(); err != nil {
		return err
	}
	p, ok := printers[*format]
	if !ok {
		return fmt.Errorf("--format %s: use table, csv, tsv, json or jsonl", *format)
	}
	var given bool
	for _, a := range args {
		given = given || a == "-e" || a == "--e"
	}
	switch {
	case f.NArg() > 1 || given && f.NArg() > 0:
		return fmt.Errorf("give one file, or -e SQL")
	case f.NArg() == 1:
		b, err := os.ReadFile(f.Arg(0))
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Arg(0), err)
		}
		*text = string(b)
	case !given:
		b, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		*text = string(b)
	}
	if *catalogFile != "" {
		b, err := os.ReadFile(*catalogFile)
		if err != nil {
			return fmt.Errorf("read %s: %w", *catalogFile, err)
		}
		*text = string(b) + ";\n" + *text
	}
	root, err := memoryRoot(*limit)
	if err != nil {
		return err
	}
	spill, err := spillFolder(temporaryFolder(), *spillLimit)
	if err != nil {
		return err
	}
	s, err := openSession(ctx, *dir, *format, options, root, spill)
	if err != nil {
		return err
	}
	defer s.Close()
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for _, stmt := range s.Split(*text) {
		if err := runStatement(ctx, s, stmt, p, out); err != nil {
			out.Flush()
			return err
		}
	}
	return out.Flush()
}

// openSession opens a session on the warehouse at a URI, in process, for results
// in a format. Queries put rows that do not fit their memory into spill.
func openSession(ctx context.Context, warehouse, format string, options map[string]string, root *memory.Budget, spill *fileio.Scratch) (*session.Session, error) {
	path, err := warehousePath(warehouse)
	if err != nil {
		return nil, err
	}
	store := share(root, "object store", storeShare)
	w, err := openWarehouse(path, options, store, share(root, "metadata", cacheShare), unmaintained(share(root, "compaction", compactionShare)), keepingPages(root), spilling(spill))
	if err != nil {
		return nil, err
	}
	srv, err := session.NewServer(session.Config{
		Catalogs:       []session.NamedCatalog{{Name: defaultCatalog, Catalog: w.catalog}},
		CatalogControl: catalogControl{store: store, cache: w.cache, configure: w.configure},
		Memory:         share(root, "query", queryShare),
		Spill:          spill,
		Files:          plainFiles(w),
		AnyFile:        true,
		Temporary:      temporaryTables(plainFiles(w)),
		Version:        version,
		ErrorCode:      mysql.ErrorCode,
	})
	if err != nil {
		return nil, err
	}
	return srv.Open(ctx, session.OpenOptions{User: "root", Address: "localhost", Lossless: format == "jsonl"})
}

// runStatement runs one statement and prints its rows.
func runStatement(ctx context.Context, s *session.Session, text string, p printer, out *bufio.Writer) (err error) {
	r, err := s.Execute(ctx, text, nil)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := r.Close(); err == nil {
			err = cerr
		}
	}()
	if r.Rows == nil {
		return nil
	}
	return p(ctx, r, s.Zone(), out)
}
