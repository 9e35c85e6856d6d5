package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/fileio/s3"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/ingest"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// ingestOptions wires pipelines to w. Sinks that name another warehouse get it
// opened, with store as the budget of its object store.
func ingestOptions(w *warehouse, dataDir string, budget, store *memory.Budget, spill *fileio.Scratch) ingest.Options {
	l := &lakes{main: w, store: store, spill: spill, open: map[string]*ingest.Lake{}}
	o := ingest.Options{Sources: sources(), Budget: budget, Out: os.Stdout, OpenLake: l.lake}
	if dataDir != "" {
		o.Files, o.DataDir = w.files, dataDir
	}
	return o
}

// lakes are the warehouses of sinks, each opened once.
type lakes struct {
	main  *warehouse // nil: there is none
	store *memory.Budget
	spill *fileio.Scratch

	mu   sync.Mutex
	open map[string]*ingest.Lake // by their properties
}

// lake opens the warehouse that the catalog.properties.* of a sink name.
func (l *lakes) lake(ctx context.Context, properties map[string]string) (*ingest.Lake, error) {
	uri, plain := properties["warehouse"], true
	for k, v := range properties {
		switch k {
		case "warehouse":
		case "metastore":
			plain = plain && v == "filesystem"
		default:
			plain = false
		}
	}
	path := ""
	if uri != "" {
		var err error
		if path, err = warehousePath(uri); err != nil {
			return nil, err
		}
	}
	if l.main != nil && plain && (path == "" || path == l.main.path) {
		return &ingest.Lake{Catalog: l.main.catalog, Files: l.main.files, Root: l.main.path}, nil
	}
	if path == "" {
		return nil, errs.Userf(errs.InvalidConfig, "open the sink: catalog.properties.warehouse is missing")
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintf(&key, "%q=%q;", k, properties[k])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.open[key.String()]; x != nil {
		return x, nil
	}
	options, store := maps.Clone(properties), map[string]string{}
	options["type"] = "paimon"
	for k, v := range properties {
		if s3.IsOption(k) {
			store[k] = v
		}
	}
	control := catalogControl{store: l.store, configure: []func(*paimon.Config){spilling(l.spill)}}
	if l.main != nil {
		control.cache = l.main.cache
		control.configure = append(control.configure, l.main.configure...)
	}
	c, _, err := control.open(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("open the sink: %w", err)
	}
	files, err := openFiles(store, l.store)
	if err != nil {
		return nil, err
	}
	w, ok := c.(catalog.Writable)
	if !ok {
		return nil, errs.Unsupportedf(-1, "writing tables of a catalog with metastore %s", properties["metastore"])
	}
	x := &ingest.Lake{Catalog: w, Files: files, Root: path}
	l.open[key.String()] = x
	return x, nil
}
