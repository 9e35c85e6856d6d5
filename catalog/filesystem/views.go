package filesystem

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// Views lie in the warehouse, where every server sees them:
//
//	<warehouse>/_thermocline/views/<database>/<view>/<version>
//
// A version is a JSON object, created exclusively, so that of two changes at once
// one wins and the other is made on top of it; the highest number counts. One
// with "dropped" says that the view is gone. Older ones are removed after the
// next exists.

var (
	_ catalog.Viewing      = (*Catalog)(nil)
	_ catalog.ViewRenaming = (*Catalog)(nil)
)

type viewFile struct {
	Format  int  `json:"format"`
	Dropped bool `json:"dropped,omitempty"`
	*catalog.View
}

const viewFormat = 1

func (c *Catalog) viewsDir(database string) string {
	return c.root + "/_thermocline/views/" + url.PathEscape(database)
}

// Views implements catalog.Viewing.
func (c *Catalog) Views(ctx context.Context, database string) ([]string, error) {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return nil, err
	}
	list, err := c.files.List(ctx, c.viewsDir(database))
	if err != nil {
		return nil, fmt.Errorf("list the views of %s: %w", database, err)
	}
	var out []string
	for _, e := range list {
		name, err := url.PathUnescape(e.Name)
		if !e.Dir || err != nil {
			continue
		}
		v, _, err := c.newestView(ctx, database, name)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// View implements catalog.Viewing.
func (c *Catalog) View(ctx context.Context, database, name string) (*catalog.View, error) {
	v, _, err := c.newestView(ctx, database, name)
	if err == nil && v == nil {
		err = errs.Userf(errs.UnknownTable, "Table '%s.%s' doesn't exist", database, name)
	}
	return v, err
}

// newestView reads the newest version, nil when the view does not exist.
func (c *Catalog) newestView(ctx context.Context, database, name string) (*catalog.View, int64, error) {
	dir := c.viewsDir(database) + "/" + url.PathEscape(name)
	for {
		list, err := c.files.List(ctx, dir)
		if err != nil {
			return nil, 0, fmt.Errorf("read view %s.%s: %w", database, name, err)
		}
		newest := int64(0)
		for _, e := range list {
			if n, err := strconv.ParseInt(e.Name, 10, 64); err == nil {
				newest = max(newest, n)
			}
		}
		if newest == 0 {
			return nil, 0, nil
		}
		path := dir + "/" + strconv.FormatInt(newest, 10)
		b, err := c.files.ReadFile(ctx, path)
		if errs.Is(err, errs.FileNotFound) {
			continue // a newer one has taken its place since
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read view %s.%s: %w", database, name, err)
		}
		var f viewFile
		if err := json.Unmarshal(b, &f); err != nil {
			return nil, 0, errs.Corruptf("read view %s.%s: %s: %v", database, name, path, err)
		}
		switch {
		case f.Format != viewFormat:
			return nil, 0, errs.Unsupportedf(-1, "views of format %d (%s)", f.Format, path)
		case f.Dropped:
			return nil, newest, nil
		case f.View == nil || f.Query == "":
			return nil, 0, errs.Corruptf("read view %s.%s: %s holds no query", database, name, path)
		}
		f.View.Database, f.View.Name = database, name
		return f.View, newest, nil
	}
}

// writeView creates the version after the one that change saw.
func (c *Catalog) writeView(ctx context.Context, database, name string, change func(old *catalog.View) (*viewFile, error)) error {
	dir := c.viewsDir(database) + "/" + url.PathEscape(name)
	for {
		old, version, err := c.newestView(ctx, database, name)
		if err != nil {
			return err
		}
		f, err := change(old)
		if err != nil {
			return err
		}
		f.Format = viewFormat
		b, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			return errs.Internalf("write view %s.%s: %v", database, name, err)
		}
		path := dir + "/" + strconv.FormatInt(version+1, 10)
		err = c.files.CreateExclusive(ctx, path, b)
		if err != nil {
			// Ours may be there in spite of the answer; another's is looked at anew.
			there, look := c.files.ReadFile(ctx, path)
			switch {
			case look == nil && string(there) == string(b):
			case errs.Is(err, errs.FileExists):
				continue
			default:
				return fmt.Errorf("write view %s.%s: %w", database, name, err)
			}
		}
		for n := version; n > 0 && n > version-3; n-- {
			// What is left over is older than the newest, which alone counts.
			_ = c.files.Remove(ctx, dir+"/"+strconv.FormatInt(n, 10))
		}
		return nil
	}
}

// CreateView implements catalog.Viewing.
func (c *Catalog) CreateView(ctx context.Context, v *catalog.View, replace bool) error {
	if err := catalog.NeedDatabase(ctx, c, v.Database); err != nil {
		return err
	}
	if err := catalog.ValidName("view", v.Name); err != nil {
		return err
	}
	if strings.Contains(v.Name, "$") {
		return errs.Userf(errs.InvalidTable, "create view %s.%s: a name cannot contain $", v.Database, v.Name)
	}
	exists := errs.Userf(errs.TableExists, "Table '%s' already exists", v.Name)
	table, err := c.driver.Exists(ctx, c.tableDir(catalog.Identifier{Database: v.Database, Table: v.Name}))
	if err != nil {
		return fmt.Errorf("create view %s.%s: %w", v.Database, v.Name, err)
	}
	if table {
		if replace {
			return errs.Userf(errs.WrongObject, "'%s.%s' is not VIEW", v.Database, v.Name)
		}
		return exists
	}
	return c.writeView(ctx, v.Database, v.Name, func(old *catalog.View) (*viewFile, error) {
		if old != nil && !replace {
			return nil, exists
		}
		return &viewFile{View: v}, nil
	})
}

// DropView implements catalog.Viewing.
func (c *Catalog) DropView(ctx context.Context, database, name string) error {
	if err := catalog.NeedDatabase(ctx, c, database); err != nil {
		return err
	}
	return c.writeView(ctx, database, name, func(old *catalog.View) (*viewFile, error) {
		if old == nil {
			return nil, errs.Userf(errs.UnknownTable, "Unknown table '%s.%s'", database, name)
		}
		return &viewFile{Dropped: true}, nil
	})
}

// RenameView implements catalog.ViewRenaming: the view is made under its new name
// before it goes from the old one, so that a crash between leaves both.
func (c *Catalog) RenameView(ctx context.Context, database, from, to string) error {
	v, err := c.View(ctx, database, from)
	if err != nil {
		return err
	}
	renamed := *v
	renamed.Name = to
	if err := c.CreateView(ctx, &renamed, false); err != nil {
		return err
	}
	return c.DropView(ctx, database, from)
}
