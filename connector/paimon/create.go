package paimon

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// MaintenanceOption marks tables that are maintained without being asked for
// (compaction, expiry): those made here, unless the option says otherwise
// (DESIGN D13).
const MaintenanceOption = "thermocline.maintenance"

// Create makes the table id in dir from s, which needs Fields (ids are assigned
// where all are 0), keys, Options and Comment. Creation is one step: the first
// schema file, made exclusively. Errors: errs.TableExists, errs.InvalidTable,
// and the kinds of bad columns and keys.
func (d *Driver) Create(ctx context.Context, dir string, id catalog.Identifier, s *catalog.Schema) (connector.Readable, error) {
	dir = strings.TrimRight(dir, "/")
	first, err := FirstSchema(s)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	exists := func() error { return errs.Userf(errs.TableExists, "Table '%s' already exists", id) }
	ok, err := d.Exists(ctx, dir)
	if err != nil {
		return nil, err
	}
	if ok {
		return nil, exists()
	}
	data, err := spec.MarshalSchema(first)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	path := spec.NewPaths(dir, "", first).Schema(0)
	if err := d.cfg.Files.CreateExclusive(ctx, path, data); err != nil {
		// Whatever the error says, the file decides (DESIGN D12).
		there, rerr := d.cfg.Files.ReadFile(ctx, path)
		switch {
		case errs.Is(rerr, errs.FileNotFound):
			return nil, fmt.Errorf("create table %s: %w", id, err)
		case rerr != nil:
			return nil, errs.New(errs.UnknownOutcome, errs.KindNone, "create table %s: %w; it may exist: %v", id, err, rerr)
		case !bytes.Equal(there, data):
			return nil, exists()
		}
	}
	return d.Open(ctx, dir, id)
}

// FirstSchema checks a table definition by Paimon's rules and completes it:
// field ids, NOT NULL of the primary key, keys that were given as options.
// It does not change s.
func FirstSchema(s *catalog.Schema) (*catalog.Schema, error) {
	out := &catalog.Schema{Options: maps.Clone(s.Options), Comment: s.Comment, TimeMillis: time.Now().UnixMilli(),
		PartitionKeys: slices.Clone(s.PartitionKeys), PrimaryKeys: slices.Clone(s.PrimaryKeys)}
	if out.Options == nil {
		out.Options = map[string]string{}
	}
	for _, f := range s.Fields {
		f.Type = cloneType(f.Type)
		out.Fields = append(out.Fields, f)
	}
	if err := normalizeKeys(out); err != nil {
		return nil, err
	}
	if err := checkSchema(out); err != nil {
		return nil, err
	}
	assign := true
	for _, f := range out.Fields {
		assign = assign && f.ID == 0
	}
	if assign {
		out.HighestFieldID = -1
		for i := range out.Fields { // as Java's Schema.Builder counts
			out.Fields[i].ID = out.HighestFieldID + 1
			out.HighestFieldID = spec.AssignMemberIDs(&out.Fields[i].Type, out.Fields[i].ID)
		}
	} else {
		seen := map[int]bool{}
		if err := checkIDs(out.Fields, seen, &out.HighestFieldID); err != nil {
			return nil, err
		}
		out.HighestFieldID = max(out.HighestFieldID, s.HighestFieldID)
	}
	if _, ok := out.Options[MaintenanceOption]; !ok {
		out.Options[MaintenanceOption] = "true"
	}
	return out, nil
}

func cloneType(t catalog.Type) catalog.Type {
	for _, p := range []**catalog.Type{&t.Key, &t.Elem} {
		if *p != nil {
			c := cloneType(**p)
			*p = &c
		}
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = cloneType(t.Fields[i].Type)
	}
	return t
}

// checkIDs checks field ids that the caller chose.
func checkIDs(fields []catalog.Field, seen map[int]bool, highest *int) error {
	for _, f := range fields {
		if f.ID < 0 || f.ID >= spec.ReservedID || seen[f.ID] {
			return errs.Userf(errs.InvalidTable, "column %q has the field id %d, which is taken or out of range", f.Name, f.ID)
		}
		seen[f.ID] = true
		*highest = max(*highest, f.ID)
		if err := checkNestedIDs(f.Type, seen, highest); err != nil {
			return err
		}
	}
	return nil
}

func checkNestedIDs(t catalog.Type, seen map[int]bool, highest *int) error {
	for _, c := range []*catalog.Type{t.Key, t.Elem} {
		if c != nil {
			if err := checkNestedIDs(*c, seen, highest); err != nil {
				return err
			}
		}
	}
	return checkIDs(t.Fields, seen, highest)
}

// Drop removes the table in dir and its files. The schemas go first, so that a
// drop that is interrupted leaves no table.
func (d *Driver) Drop(ctx context.Context, dir string) error {
	return maintain.Drop(ctx, d.cfg.Files, dir)
}
