package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// runInspect prints a metadata file as JSON, or what a data file says of itself.
func runInspect(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	options := storeOptions{}
	f.Var(options, "store-option", "`KEY=VALUE` of the object store, such as s3.endpoint=URL; may be given several times")
	if err := c.parse(f, args); err != nil {
		return err
	}
	if err := options.check(); err != nil {
		return err
	}
	path, err := c.oneFile(f)
	if err != nil {
		return err
	}
	if path, err = warehousePath(path); err != nil {
		return err
	}
	v, err := inspect(ctx, path, options)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func inspect(ctx context.Context, path string, options map[string]string) (any, error) {
	files, err := openFiles(options, nil)
	if err != nil {
		return nil, err
	}
	if spec.KindOfFile(path) != "" {
		b, err := files.ReadFile(ctx, path)
		if err != nil {
			return nil, err
		}
		return spec.Inspect(path, b, schemasNear(ctx, files, path))
	}
	file, err := files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name := format.FormatOf(path)
	if name == "" {
		return nil, fmt.Errorf("inspect %s: it is neither a metadata file of Paimon nor a data file with an extension", path)
	}
	fm, err := formats().ByName(name)
	if err != nil {
		return nil, err
	}
	return fm.Describe(ctx, file, path)
}

// schemasNear returns the schemas of the table that the metadata file at path
// belongs to, so that keys and statistics in it can be read.
func schemasNear(ctx context.Context, files fileio.FileIO, path string) func(id int64) *catalog.Schema {
	dir := filepath.Join(filepath.Dir(filepath.Dir(path)), "schema")
	return func(id int64) *catalog.Schema {
		b, err := files.ReadFile(ctx, filepath.Join(dir, fmt.Sprintf("schema-%d", id)))
		if err != nil {
			return nil
		}
		s, err := spec.ParseSchema(b)
		if err != nil {
			return nil
		}
		return s
	}
}
