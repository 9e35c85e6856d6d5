package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/fileio/s3"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// config is what serve can be told, by flags or by a file whose keys are the
// flags' names.
type config struct {
	Warehouse string `yaml:"warehouse"`
	// StoreOptions configure the warehouse's object store; secrets may be among
	// them.
	StoreOptions map[string]string `yaml:"store-options"`
	DataDir      string            `yaml:"data-dir"`
	MemoryLimit  string            `yaml:"memory-limit"`
	SpillLimit   string            `yaml:"spill-limit"`
	// FileRoots are where statements may name files.
	FileRoots   []string `yaml:"file-root"`
	MySQLListen string   `yaml:"mysql-listen"`
	HTTPListen  string   `yaml:"http-listen"`
	Pprof       bool     `yaml:"pprof"`
	Pipelines   []string `yaml:"pipelines"`
	// Alerts tell people of pipelines that fall behind or stop; file only.
	Alerts *alertConfig `yaml:"alerts"`
}

func defaults() config {
	return config{Warehouse: "./lake", MySQLListen: "127.0.0.1:3307", HTTPListen: "127.0.0.1:8080"}
}

// serveFlags defines serve's flags and returns what they fill.
func serveFlags(f *flag.FlagSet) (c *config, file *string, pipelines *list) {
	c, pipelines = &config{StoreOptions: map[string]string{}}, &list{}
	d := defaults()
	file = f.String("config", "", "a YAML `FILE` whose keys are the names of these flags; flags win")
	f.StringVar(&c.Warehouse, "warehouse", "", "the `URI` or folder of the Paimon warehouse (default "+d.Warehouse+")")
	f.Var(storeOptions(c.StoreOptions), "store-option", "`KEY=VALUE` of the warehouse's object store, such as s3.endpoint=URL; may be given several times, in the file as the map store-options")
	f.StringVar(&c.DataDir, "data-dir", "", "the `folder` of accounts, kept pipelines, spill and cache (default <warehouse>/.thermocline, required when the warehouse is remote)")
	f.StringVar(&c.MemoryLimit, "memory-limit", "", "the memory that the process may use, such as 2GiB (default 75 % of the machine's or cgroup's)")
	f.StringVar(&c.SpillLimit, "spill-limit", "", spillLimitHelp)
	f.Var((*list)(&c.FileRoots), "file-root", "a `folder` or prefix such as s3://bucket/in below which accounts with the FILE privilege may read files (read_csv and its like) and write them (INTO OUTFILE); may be given several times")
	f.StringVar(&c.MySQLListen, "mysql-listen", "", "`HOST:PORT` of the MySQL protocol (default "+d.MySQLListen+")")
	f.StringVar(&c.HTTPListen, "http-listen", "", "`HOST:PORT` of health, metrics and console (default "+d.HTTPListen+")")
	f.BoolVar(&c.Pprof, "pprof", false, "serve profiles of the process below /debug/pprof of the HTTP port, to whoever reaches it")
	f.Var(pipelines, "pipeline", "a pipeline `FILE` to start and keep; may be given several times")
	return c, file, pipelines
}

// resolve merges defaults, file and flags, in this order, and checks the result.
func resolve(flags config, file string, pipelines []string) (config, error) {
	c := defaults()
	if file != "" {
		if err := readConfig(file, &c); err != nil {
			return c, err
		}
	}
	for _, p := range []struct {
		to   *string
		from string
	}{{&c.Warehouse, flags.Warehouse}, {&c.DataDir, flags.DataDir}, {&c.MemoryLimit, flags.MemoryLimit}, {&c.SpillLimit, flags.SpillLimit},
		{&c.MySQLListen, flags.MySQLListen}, {&c.HTTPListen, flags.HTTPListen}} {
		if p.from != "" {
			*p.to = p.from
		}
	}
	c.FileRoots = append(c.FileRoots, flags.FileRoots...)
	c.Pprof = c.Pprof || flags.Pprof
	c.Pipelines = append(c.Pipelines, pipelines...)
	var err error
	for k, v := range flags.StoreOptions {
		if c.StoreOptions == nil {
			c.StoreOptions = map[string]string{}
		}
		c.StoreOptions[k] = v
	}
	if err := storeOptions(c.StoreOptions).check(); err != nil {
		return c, err
	}
	if c.Warehouse, err = warehousePath(c.Warehouse); err != nil {
		return c, err
	}
	switch {
	case fileio.Scheme(c.DataDir) != "":
		return c, fmt.Errorf("data-dir %s: it must be a local folder", c.DataDir)
	case c.DataDir == "" && fileio.Scheme(c.Warehouse) != "":
		return c, fmt.Errorf("open warehouse %s: it is remote, so give --data-dir, a local folder for accounts, pipelines and cache", c.Warehouse)
	case c.DataDir == "":
		c.DataDir = filepath.Join(c.Warehouse, ".thermocline")
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return c, err
	}
	for _, size := range []string{c.MemoryLimit, c.SpillLimit} {
		if size != "" {
			if _, err := memory.ParseSize(size); err != nil {
				return c, err
			}
		}
	}
	if _, err := c.Alerts.watcher(); err != nil {
		return c, err
	}
	for _, p := range c.Pipelines {
		if _, err := os.Stat(p); err != nil {
			return c, fmt.Errorf("read pipeline %s: no such file", p)
		}
	}
	return c, nil
}

func readConfig(file string, c *config) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read configuration %s: %w", file, err)
	}
	d := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
	if err := d.Decode(c); err != nil && len(bytes.TrimSpace(b)) > 0 {
		return fmt.Errorf("read configuration %s: %s", file, strings.SplitN(err.Error(), "\n", 2)[0])
	}
	return nil
}

// warehousePath returns the path of a warehouse or file by its URI: local ones
// absolute, those in an object store as SCHEME://BUCKET/KEY.
func warehousePath(uri string) (string, error) {
	if s3.Handles(uri) {
		bucket, key, err := s3.Split(uri)
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(fileio.Scheme(uri)+"://"+bucket+"/"+key, "/"), nil
	}
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		if scheme != "file" {
			return "", errs.Unsupportedf(-1, "%s, as in %s (use a folder or s3://BUCKET/PATH)", scheme, uri)
		}
		uri = rest
	}
	uri = strings.TrimPrefix(uri, "file:")
	return filepath.Abs(uri)
}

// memoryRoot sets the runtime's memory limit and returns the budget below which
// everything reserves (DESIGN D18).
func memoryRoot(limit string) (*memory.Budget, error) {
	n := machineMemory() / 4 * 3
	if m := debug.SetMemoryLimit(-1); m < n { // GOMEMLIMIT
		n = m
	}
	if limit != "" {
		var err error
		if n, err = memory.ParseSize(limit); err != nil {
			return nil, err
		}
		if n < 64<<20 {
			return nil, fmt.Errorf("memory-limit %s: at least 64MiB are needed", limit)
		}
	}
	debug.SetMemoryLimit(n - max(min(n/8, 128<<20), min(n/4, 64<<20))) // the program itself takes memory, too: 50 MiB for its code
	if os.Getenv("GOGC") == "" {
		// What lives is small beside what queries go through: collecting at five times
		// of it instead of twice saves up to a fifth of their time.
		memory.Pace()
	}
	return memory.New("process", n), nil
}

// Shares of the memory limit, in percent.
const (
	queryShare  = 45
	ingestShare = 25
	wireShare   = 10 // large packets and parameters
	storeShare  = 12 // buffers of uploads to object stores and of reads ahead
	cacheShare  = 8  // decoded metadata of tables and files
	pageShare   = 25 // decompressed pages of data files, given up when others need it
	// compactionShare is for compactions that no writer does.
	compactionShare = 10
)

func share(b *memory.Budget, name string, percent int64) *memory.Budget {
	return b.Child(name, b.Limit()/100*percent)
}

// machineMemory returns the least of what the cgroups, ulimit -v and -d, and the
// machine allow, in bytes.
func machineMemory() int64 {
	n := int64(math.MaxInt64)
	for _, f := range append(cgroupLimits(), "/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		if b, err := os.ReadFile(f); err == nil {
			if x, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
				n = min(n, x)
			}
		}
	}
	for _, r := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var l unix.Rlimit
		if err := unix.Getrlimit(r, &l); err == nil && l.Cur < math.MaxInt64 {
			n = min(n, int64(l.Cur))
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
				if x, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					n = min(n, x<<10)
				}
			}
		}
	}
	if n == math.MaxInt64 {
		return 4 << 30
	}
	return n
}

// cgroupLimits returns the files with the memory limits of the process's cgroup and
// of those above it.
func cgroupLimits() (files []string) {
	const root = "/sys/fs/cgroup"
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for at := filepath.Clean("/" + path); at != "/"; at = filepath.Dir(at) {
				files = append(files, filepath.Join(root, at, "memory.max"))
			}
		}
	}
	return append(files, filepath.Join(root, "memory.max"))
}

func runCheckConfig(_ context.Context, c *command, args []string) error {
	f := c.flags()
	if err := c.parse(f, args); err != nil {
		return err
	}
	file, err := c.oneFile(f)
	if err != nil {
		return err
	}
	got, err := resolve(config{}, file, nil)
	if err != nil {
		return err
	}
	for _, p := range got.Pipelines {
		if _, err := loadPipeline(p); err != nil {
			return err
		}
	}
	fmt.Printf("%s: fine\nwarehouse     %s\ndata-dir      %s\nmysql-listen  %s\nhttp-listen   %s\npipelines     %d\n",
		file, got.Warehouse, got.DataDir, got.MySQLListen, got.HTTPListen, len(got.Pipelines))
	return nil
}
