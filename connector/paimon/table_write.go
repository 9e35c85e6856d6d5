package paimon

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
)

// writerVersion is what snapshots say of who wrote them.
const writerVersion = "thermocline"

var _ connector.Writable = (*Table)(nil)

// NewWrite implements connector.Writable. What the table asks for and this
// version cannot write is an error of class Unsupported, before anything is
// written.
func (t *Table) NewWrite(_ context.Context, opts connector.WriteOptions) (connector.TableWrite, error) {
	w, err := write.New(t.writeConfig(opts))
	if err != nil {
		return nil, fmt.Errorf("write to %s: %w", t.id, err)
	}
	return w, nil
}

// writeConfig is what writers of the table need.
func (t *Table) writeConfig(opts connector.WriteOptions) write.Config {
	return write.Config{
		Files:        t.driver.cfg.Files,
		Paths:        spec.NewPaths(t.dir, t.id.Branch, t.schema),
		Schema:       t.schema,
		Formats:      t.driver.cfg.Formats,
		Budget:       opts.Budget,
		Spill:        t.driver.cfg.Spill,
		Once:         opts.Once,
		Metadata:     t.driver.metadata,
		NoCompaction: opts.NoCompaction || opts.Overwrite || opts.Layer != connector.LayerPlain,
		Overwrite:    opts.Overwrite,
		Branch:       t.id.Branch,
		CommitUser:   opts.CommitUser,
		Registry:     &t.driver.registry,
		KeepNulls:    opts.KeepNulls,
		Layer:        opts.Layer,
	}
}

// NewCommit implements connector.Writable.
func (t *Table) NewCommit(_ context.Context, user string) (connector.TableCommit, error) {
	c, err := commit.New(commit.Config{
		Files:         t.driver.cfg.Files,
		Paths:         spec.NewPaths(t.dir, t.id.Branch, t.schema),
		Schema:        t.schema,
		User:          user,
		WriterVersion: writerVersion,
		Lock:          t.lock(),
		Committed:     t.committed(),
		Metadata:      t.driver.metadata,
	})
	if err != nil {
		return nil, fmt.Errorf("commit to %s: %w", t.id, err)
	}
	return &tableCommit{Committer: c, t: t, user: user}, nil
}

// lock returns the function that takes the table's lock, nil where its catalog
// has none.
func (t *Table) lock() commit.LockFunc { return t.driver.lock(t.id) }

func (d *Driver) lock(id catalog.Identifier) commit.LockFunc {
	if d.cfg.Lock == nil {
		return nil
	}
	return func(ctx context.Context) (func() error, error) { return d.cfg.Lock(ctx, id.Database, id.Table) }
}
