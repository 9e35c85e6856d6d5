package read

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Schemas are the schema files that a table or branch had at one moment: what one
// listing tells, so that a statement asks the store once.
type Schemas struct {
	src   *Source
	files []numbered
	at    time.Time // before they were listed
}

// Schemas lists the schemas of the table or branch.
func (s *Source) Schemas(ctx context.Context) (Schemas, error) {
	at := time.Now()
	files, err := s.numberedFiles(ctx, s.paths(nil).SchemaDir(), "schema-")
	return Schemas{s, files, at}, err
}

// None reports whether there was no schema: then there was no table.
func (l Schemas) None() bool { return len(l.files) == 0 }

// First returns the hash of the oldest schema's file, which tells a table from
// another that was made in its place later.
func (l Schemas) First(ctx context.Context) (string, error) {
	if l.None() {
		return "", l.missing()
	}
	f := l.files[0]
	path := l.src.paths(nil).Schema(f.id)
	if sum := l.src.Cache.hash(path, f.info); sum != "" {
		return sum, nil
	}
	b, err := l.src.Files.ReadFile(ctx, path)
	if err != nil {
		return "", fmt.Errorf("table %s: %w", l.src.Name, err)
	}
	h := sha256.Sum256(b)
	sum := hex.EncodeToString(h[:])
	l.src.Cache.putHash(path, f.info, sum)
	return sum, nil
}

// Newest returns the schema with the largest id.
func (l Schemas) Newest(ctx context.Context) (Definition, error) {
	if l.None() {
		return Definition{}, l.missing()
	}
	f := l.files[len(l.files)-1]
	schema, err := l.src.schemaIn(ctx, f)
	return Definition{Schema: schema, file: f.info, settled: settled(f.info, l.at)}, err
}

func (l Schemas) missing() error {
	return errs.Userf(errs.UnknownTable, "table %s does not exist: %s has no schema", l.src.Name, l.src.Dir)
}

// Definition is the newest schema of a table or branch when it was opened.
type Definition struct {
	Schema *catalog.Schema
	file   fileio.Info
	// settled: another file in its place would look different.
	settled bool
}

// Current is Resolve of the newest version for who has asked for the newest schema
// just now, which is d: it looks only whether that schema's file is still the same,
// after it has read the snapshot. A schema that was added in between counts from the
// next time on, unless the snapshot has it.
func (s *Source) Current(ctx context.Context, d Definition) (*State, error) {
	whole := func() (*State, error) { return s.Resolve(ctx, catalog.Ref{}) }
	if !d.settled || travels(d.Schema.Options) {
		return whole()
	}
	snap, err := s.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if snap == nil || snap.SchemaID > d.Schema.ID {
		return whole()
	}
	now, ok, err := s.find(ctx, s.paths(nil).Schema(d.Schema.ID))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.Name, err)
	}
	if !ok || !sameFile(now, d.file) {
		return whole() // another table has taken its place, or a rollback was made
	}
	return s.newestState(ctx, snap, d.Schema), nil
}
