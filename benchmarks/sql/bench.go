package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench is a run of the benchmark.
type bench struct {
	data, shared, only, profile, base, binary, limit, out string
	sf                                                    float64
	rows                                                  int64
	rounds, threads                                       int
	noDuck                                                bool
	clients, each                                         int
	growth, scaling                                       string

	python, temp string
	tables       map[string][]string // by suite
}

// shot is one measured run.
type shot struct{ cpu, wall float64 }

// result is what one engine did with one query.
type result struct {
	shots []shot
	err   string
}

func (r *result) median(of func(shot) float64) float64 {
	if len(r.shots) == 0 {
		return math.NaN()
	}
	var v []float64
	for _, s := range r.shots {
		v = append(v, of(s))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func (s shot) cpuOf() float64  { return s.cpu }
func (s shot) wallOf() float64 { return s.wall }

// line is one query's results, by engine.
type line struct {
	q       query
	by      map[string]*result
	answers string // "equal", or what differs
}

func (b *bench) warehouse() string { return filepath.Join(b.data, "lake") }

func (b *bench) run() error {
	out, err := exec.Command(filepath.Join(b.shared, "oracles/duckdb/setup.sh")).Output()
	if err != nil {
		return fmt.Errorf("DuckDB's environment (%s): %w", b.shared, err)
	}
	b.python = strings.TrimSpace(string(out))
	if b.temp, err = os.MkdirTemp("", "bench-sql-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.temp)
	b.tables = map[string][]string{"tpch": {"region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"}, "hits": {"hits"}}
	if b.growth != "" {
		var scales []float64
		for _, t := range strings.Split(b.growth, ",") {
			sf, err := strconv.ParseFloat(t, 64)
			if err != nil || sf <= 0 || len(scales) > 0 && sf <= scales[len(scales)-1] {
				return fmt.Errorf("--growth %s: write growing scale factors, such as 0.1,1", b.growth)
			}
			scales = append(scales, sf)
		}
		return b.growthRun(scales)
	}
	if b.scaling != "" {
		var threads []int
		for _, t := range strings.Split(b.scaling, ",") {
			n, err := strconv.Atoi(t)
			if err != nil || n < 1 {
				return fmt.Errorf("--scaling %s: write numbers of threads, such as 1,2", b.scaling)
			}
			threads = append(threads, n)
		}
		return b.scalingRun(threads)
	}
	qs, err := b.queries()
	if err != nil {
		return err
	}
	if b.clients > 0 {
		return b.clientsRun(qs)
	}
	var lines []*line
	for _, suite := range []string{"tpch", "hits"} {
		var own []query
		for _, q := range qs {
			if q.suite == suite {
				own = append(own, q)
			}
		}
		if len(own) == 0 {
			continue
		}
		l, err := b.suite(suite, own)
		if err != nil {
			return err
		}
		lines = append(lines, l...)
	}
	return b.report(lines)
}

// database is the name of a suite's tables, which its size is part of.
func (b *bench) database(suite string) string {
	if suite == "hits" {
		return fmt.Sprintf("hits_%d", b.rows)
	}
	return "tpch_sf" + strings.ReplaceAll(strconv.FormatFloat(b.sf, 'f', -1, 64), ".", "_")
}

// prepare makes a suite's data and tables that are missing.
func (b *bench) prepare(suite string) error {
	db := b.database(suite)
	ready := filepath.Join(b.data, db+".ready")
	if _, err := os.Stat(ready); err == nil {
		return nil
	}
	raw := filepath.Join(b.data, "raw-"+db)
	if err := os.MkdirAll(b.data, 0o755); err != nil {
		return err
	}
	args := []string{filepath.Join(b.shared, "oracles/duckdb/gen_hits.py"), "--rows", fmt.Sprint(b.rows), "--out", raw}
	if suite == "tpch" {
		args = []string{filepath.Join(b.shared, "oracles/duckdb/gen_tpch.py"), "--sf", fmt.Sprint(b.sf), "--out", raw}
		if b.sf > 1 {
			args = append(args, "--steps", fmt.Sprint(int(10*b.sf)))
		}
	}
	fmt.Fprintln(os.Stderr, "making", db)
	if err := command(b.python, args...); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, t := range b.tables[suite] {
		if err := command(self, "--child", "load", b.warehouse(), db+"."+t, filepath.Join(raw, t)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(raw); err != nil {
		return err
	}
	return os.WriteFile(ready, nil, 0o644)
}

func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// engines starts the engines on a suite's tables.
func (b *bench) engines(suite string) (all []*engine, err error) {
	defer func() {
		if err != nil {
			for _, e := range all {
				e.close()
			}
		}
	}()
	add := func(e *engine, err error) error {
		if err == nil {
			all = append(all, e)
		}
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--child", "serve", "--threads", fmt.Sprint(b.threads)}
	if b.limit != "" {
		args = append(args, "--memory-limit", b.limit)
	}
	args = append(args, b.warehouse())
	if err := add(start("ours", exec.Command(self, args...))); err != nil {
		return all, err
	}
	if b.base != "" {
		old, err := b.older()
		if err != nil {
			return all, err
		}
		if err := add(start("base", exec.Command(old, args...))); err != nil {
			return all, err
		}
	}
	for _, e := range all {
		if _, err := e.run(request{SQL: "USE " + b.database(suite)}); err != nil {
			return all, err
		}
	}
	if b.binary != "" {
		if err := add(b.server(b.database(suite))); err != nil {
			return all, err
		}
	}
	if !b.noDuck {
		args := []string{"-c", enginePy, b.shared, "duckdb", fmt.Sprint(b.threads)}
		for _, t := range b.tables[suite] {
			args = append(args, fmt.Sprintf("%s=%s/%s.db/%s/bucket-0/*.parquet", t, b.warehouse(), b.database(suite), t))
		}
		if err := add(start("duckdb", exec.Command(b.python, args...))); err != nil {
			return all, err
		}
	}
	return all, nil
}

// older builds this command at another commit.
func (b *bench) older() (string, error) {
	path := filepath.Join(b.temp, "base-sql")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tree := filepath.Join(b.temp, "tree")
	if err := command("git", "worktree", "add", "-q", "--detach", tree, b.base); err != nil {
		return "", err
	}
	defer func() { _ = command("git", "worktree", "remove", "--force", tree) }()
	c := exec.Command("go", "build", "-o", path, "./benchmarks/sql")
	c.Dir, c.Stderr = tree, os.Stderr
	return path, c.Run()
}

func (b *bench) suite(suite string, qs []query) ([]*line, error) {
	if err := b.prepare(suite); err != nil {
		return nil, err
	}
	engines, err := b.engines(suite)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, e := range engines {
			e.close()
		}
	}()
	var lines []*line
	for _, q := range qs {
		l := &line{q: q, by: map[string]*result{}}
		lines = append(lines, l)
		for _, e := range engines {
			l.by[e.name] = &result{}
		}
		if l.answers, err = b.check(q, engines); err != nil {
			return nil, err
		}
		for range b.rounds {
			for _, e := range engines {
				r := l.by[e.name]
				if r.err != "" {
					continue
				}
				a, err := e.run(request{SQL: text(q, e)})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", q.name, err)
				}
				if r.err = a.Error; a.Error == "" {
					r.shots = append(r.shots, shot{a.CPU, a.Wall})
				}
			}
		}
		fmt.Fprintln(os.Stderr, l)
		if b.profile != "" && l.by["ours"].err == "" {
			if err := os.MkdirAll(b.profile, 0o755); err != nil {
				return nil, err
			}
			n := max(1, int(1.5/l.by["ours"].median(shot.wallOf)))
			if _, err := engines[0].run(request{SQL: q.ours, Profile: filepath.Join(b.profile, q.name+".pprof"), Repeat: min(n, 200)}); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
}

func text(q query, e *engine) string {
	if e.name == "duckdb" {
		return q.duckdb
	}
	return q.ours
}

// check warms the engines up and compares their answers.
func (b *bench) check(q query, engines []*engine) (string, error) {
	var (
		want [][]*string
		cols int
	)
	for i := len(engines) - 1; i >= 0; i-- { // DuckDB, the last, is the measure
		e := engines[i]
		a, err := e.run(request{SQL: total(text(q, e), cols), Rows: true})
		if err != nil {
			return "", fmt.Errorf("%s: %w", q.name, err)
		}
		switch {
		case a.Error != "":
			return e.name + ": " + a.Error, nil
		case e.name == "duckdb" && cols == 0 && len(a.Rows) > 0:
			// Now that the number of columns is known, once more in a total order.
			if cols = len(a.Rows[0]); total(q.duckdb, cols) != q.duckdb {
				if a, err = e.run(request{SQL: total(q.duckdb, cols), Rows: true}); err != nil {
					return "", err
				}
				if a.Error != "" {
					return "duckdb: " + a.Error, nil
				}
			}
		}
		if i == len(engines)-1 {
			want = a.Rows
			continue
		}
		if why := differ(a.Rows, want); why != "" {
			return e.name + ": " + why, nil
		}
	}
	return "", nil
}

var limitClause = regexp.MustCompile(`(?is)^(.*?)(\s+ORDER\s+BY\s[^()]*)?(\s+LIMIT \d+(?: OFFSET \d+)?)$`)

// total makes a query's order total, so that its LIMIT leaves no choice.
func total(q string, cols int) string {
	m := limitClause.FindStringSubmatch(q)
	if m == nil || cols == 0 {
		return q
	}
	order, sep := m[2], ", "
	if order == "" {
		order, sep = " ORDER BY", " "
	}
	for i := range cols {
		order += fmt.Sprint(sep, i+1)
		sep = ", "
	}
	return m[1] + order + m[3]
}

// differ compares rows in any order, numbers within 1e-6 of their size or 1e-4:
// MySQL's averages have four more digits than DuckDB's columns.
func differ(got, want [][]*string) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, DuckDB %d", len(got), len(want))
	}
	arrange := func(rows [][]*string) {
		slices.SortStableFunc(rows, func(a, b []*string) int {
			for i := range a {
				if c := strings.Compare(sortCell(a[i]), sortCell(b[i])); c != 0 {
					return c
				}
			}
			return 0
		})
	}
	arrange(got)
	arrange(want)
	for r := range got {
		for c := range got[r] {
			if !sameCell(got[r][c], want[r][c]) {
				return fmt.Sprintf("row %d column %d: %s, DuckDB %s", r+1, c+1, show(got[r][c]), show(want[r][c]))
			}
		}
	}
	return ""
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// sortCell brings the spellings of a value of both engines together.
func sortCell(s *string) string {
	if s == nil {
		return "\x00"
	}
	if f, err := strconv.ParseFloat(*s, 64); err == nil {
		return strconv.FormatFloat(f, 'e', 3, 64)
	}
	return strings.TrimSuffix(*s, ".000000")
}

func sameCell(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	if *a == *b {
		return true
	}
	x, err1 := strconv.ParseFloat(*a, 64)
	y, err2 := strconv.ParseFloat(*b, 64)
	if err1 != nil || err2 != nil {
		return day(*a) == day(*b)
	}
	return math.Abs(x-y) <= math.Max(1e-4, 1e-6*math.Abs(y))
}

// day leaves out what a date has only as a timestamp.
func day(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, ".000000"), " 00:00:00")
}

func (l *line) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-10s", l.q.name)
	for _, e := range []string{"ours", "base", "wire", "duckdb"} {
		if r := l.by[e]; r != nil {
			fmt.Fprintf(&s, "  %s %8.1f ms CPU %8.1f ms", e, 1e3*r.median(shot.cpuOf), 1e3*r.median(shot.wallOf))
		}
	}
	if l.by["duckdb"] != nil {
		fmt.Fprintf(&s, "  ratio %.2f", l.ratio("ours", "duckdb", shot.cpuOf))
	}
	if l.answers != "" {
		fmt.Fprintf(&s, "  WRONG: %.200s", l.answers)
	}
	return s.String()
}

func (l *line) ratio(a, b string, of func(shot) float64) float64 {
	if l.by[a] == nil || l.by[b] == nil {
		return math.NaN()
	}
	// Timers and idle threads make the smallest figures noise: 1 ms counts as such.
	return max(1e-3, l.by[a].median(of)) / max(1e-3, l.by[b].median(of))
}

// report writes the table.
func (b *bench) report(lines []*line) error {
	var s bytes.Buffer
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	fmt.Fprintf(&s, "\n## %s, commit %s\n\n%s, %d threads of %d processors, Go %s; load average %s; medians of %d rounds.\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		strings.TrimSpace(string(commit)), cpuModel(), b.threads, runtime.NumCPU(), strings.TrimPrefix(runtime.Version(), "go"), load(), b.rounds)
	if b.limit != "" {
		fmt.Fprintf(&s, "Memory limit of our process: %s.\n", b.limit)
	}
	wrong := 0
	for _, suite := range []string{"tpch", "hits"} {
		var own []*line
		for _, l := range lines {
			if l.q.suite == suite {
				own = append(own, l)
			}
		}
		if len(own) == 0 {
			continue
		}
		against := "duckdb"
		if b.noDuck {
			if against = "base"; b.base == "" {
				against = "wire"
			}
		}
		fmt.Fprintf(&s, "\n### %s\n\n| query | CPU ms", b.database(suite))
		var others []string
		for _, e := range []string{"base", "wire", "duckdb"} {
			if own[0].by[e] != nil {
				others = append(others, e)
				fmt.Fprintf(&s, " | %s", e)
			}
		}
		fmt.Fprintf(&s, " | ratio | wall ms | %s | ratio | answers |\n|%s\n", against, strings.Repeat("---|", 7+len(others)))
		geo := map[string][]float64{} // logarithms of ratios
		add := func(name string, ratio float64) {
			if !math.IsNaN(ratio) {
				geo[name] = append(geo[name], math.Log(ratio))
			}
		}
		worst := 0.0
		for _, l := range own {
			fmt.Fprintf(&s, "| %s | %.1f", strings.TrimPrefix(l.q.name, suite+"-"), 1e3*l.by["ours"].median(shot.cpuOf))
			for _, e := range others {
				fmt.Fprintf(&s, " | %.1f", 1e3*l.by[e].median(shot.cpuOf))
			}
			cpu, wall := l.ratio("ours", against, shot.cpuOf), l.ratio("ours", against, shot.wallOf)
			vs := math.NaN()
			if l.by[against] != nil {
				vs = 1e3 * l.by[against].median(shot.wallOf)
			}
			answers := "equal"
			if l.answers != "" {
				wrong++
				answers = strings.ReplaceAll(l.answers, "|", "/")
			}
			fmt.Fprintf(&s, " | %.2f | %.1f | %.1f | %.2f | %s |\n", cpu, 1e3*l.by["ours"].median(shot.wallOf), vs, wall, answers)
			if !math.IsNaN(cpu) {
				worst = max(worst, cpu)
			}
			add("cpu", cpu)
			add("wall", wall)
			add("wire", l.ratio("wire", "ours", shot.cpuOf))
			add("base", l.ratio("ours", "base", shot.cpuOf))
		}
		mean := func(name string) float64 {
			sum := 0.0
			for _, x := range geo[name] {
				sum += x
			}
			return math.Exp(sum / float64(len(geo[name])))
		}
		fmt.Fprintf(&s, "\nGeometric mean of %d ratios to %s: **%.2f** by CPU time, %.2f by wall time; the worst by CPU %.2f.", len(geo["cpu"]), against, mean("cpu"), mean("wall"), worst)
		if b.binary != "" {
			fmt.Fprintf(&s, " Over the MySQL port: %.2f times the CPU time of the same in process.", mean("wire"))
		}
		if b.base != "" {
			fmt.Fprintf(&s, " Against %s: %.2f by CPU time.", b.base, mean("base"))
		}
		s.WriteString("\n")
	}
	os.Stdout.Write(s.Bytes())
	if err := b.keep(s.Bytes()); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d answers differ from DuckDB's or are errors", wrong)
	}
	return nil
}

// keep appends a report to the file of results, if there is one.
func (b *bench) keep(text []byte) error {
	if b.out == "" {
		return nil
	}
	f, err := os.OpenFile(b.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func cpuModel() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(raw)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func load() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(raw))
	if len(f) < 3 {
		return "unknown"
	}
	return strings.Join(f[:3], " ")
}
