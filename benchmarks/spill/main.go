// Command spill runs the queries of TPC-H within little memory: with spilling all
// of them must give the published answers, without it those that need more must
// fail with an error that names the limit. For each it finds, by halving, the memory
// within which it fails without spilling.
//
//	go run ./benchmarks/spill                     # or: make test-spill
//	go run ./benchmarks/spill --sf 0.1 --memory 32MiB --only q09,q18
//
// The generators of ../shared/oracles/duckdb make the data; it is loaded once into
// append tables of a Paimon warehouse, which is kept. Every query is a process of
// its own, so that its processor time and largest memory are known.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/thermocline/thermocline/internal/memory"
)

var tables = []string{"region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"}

func main() {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	data := flag.String("data", filepath.Join(cache, "thermocline-bench-spill"), "folder for data and tables, kept")
	shared := flag.String("shared", "../shared", "the folder with oracles/duckdb and fixtures/tpch")
	sf := flag.String("sf", "1", "TPC-H scale factor: 0.01, 0.1 or 1")
	limit := flag.String("memory", "256MiB", "memory of a query")
	process := flag.String("memory-limit", "2GiB", "memory of the process")
	only := flag.String("only", "", "run only these queries, separated by commas (q09,q18)")
	binary := flag.String("binary", "bin/thermocline", "the `FILE` to run")
	flag.Parse()
	if err := run(*data, *shared, *sf, *limit, *process, *only, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "spill:", err)
		os.Exit(1)
	}
}

func run(data, shared, sf, limit, process, only, binary string) error {
	bytes, err := memory.ParseSize(limit)
	if err != nil {
		return err
	}
	lake := filepath.Join(data, "lake")
	database := "tpch_sf" + strings.ReplaceAll(sf, ".", "_")
	if err := load(data, shared, sf, lake, database); err != nil {
		return err
	}
	fmt.Printf("| query | rows | cpu s | wall s | largest RSS | without spilling | names the limit at |\n|---|---|---|---|---|---|---|\n")
	bad := 0
	for n := 1; n <= 22; n++ {
		q := fmt.Sprintf("q%02d", n)
		if only != "" && !strings.Contains(","+only+",", ","+q+",") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(shared, "fixtures/tpch/queries", q+".sql"))
		if err != nil {
			return err
		}
		want, err := answers(filepath.Join(shared, "fixtures/tpch/answers/sf"+sf, q+".csv"))
		if err != nil {
			return err
		}
		ask := func(memory, spill string) (*outcome, error) {
			sql := fmt.Sprintf("USE %s; SET lake_query_memory = '%s', lake_spill = %s;\n%s", database, memory, spill, text)
			return query(binary, "sql", "--warehouse", lake, "--memory-limit", process, "--format", "jsonl", "-e", sql)
		}
		with, err := ask(limit, "ON")
		if err != nil {
			return err
		}
		switch {
		case with.failure != "":
			bad++
			fmt.Printf("%s within %s: %s\n", q, limit, with.failure)
			continue
		case different(with.rows, want) != "":
			bad++
			fmt.Printf("%s within %s: %s\n", q, limit, different(with.rows, want))
			continue
		}
		// Without spilling: half the memory each time, until it does not suffice.
		verdict, fails := "answers", ""
		for at := bytes; fails == "" && at >= 64<<10; at /= 2 {
			size := memory.FormatSize(at)
			without, err := ask(size, "OFF")
			if err != nil {
				return err
			}
			switch {
			case without.failure != "" && strings.Contains(without.failure, "the query limit of "+size):
				if fails = size; at == bytes {
					verdict = "names the limit"
				}
			case without.failure != "":
				bad++
				verdict, fails = without.failure, "–"
			case different(without.rows, want) != "":
				bad++
				verdict, fails = different(without.rows, want), "–"
			}
		}
		if fails == "" {
			fails = "–"
		}
		fmt.Printf("| %s | %d | %.2f | %.2f | %d MiB | %s | %s |\n", q, len(with.rows), with.cpu.Seconds(), with.wall.Seconds(), with.rss>>20, verdict, fails)
	}
	if bad > 0 {
		return fmt.Errorf("%d queries went wrong", bad)
	}
	return nil
}

// load makes the tables, once.
func load(data, shared, sf, lake, database string) error {
	ready := filepath.Join(data, database+".ready")
	if _, err := os.Stat(ready); err == nil {
		return nil
	}
	raw := filepath.Join(data, "raw-sf"+sf)
	if _, err := os.Stat(filepath.Join(raw, "manifest.json")); err != nil {
		oracle := filepath.Join(shared, "oracles/duckdb")
		out, err := exec.Command(filepath.Join(oracle, "setup.sh")).Output()
		if err != nil {
			return fmt.Errorf("set DuckDB up: %w", err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		args := []string{filepath.Join(oracle, "gen_tpch.py"), "--sf", sf, "--out", raw}
		if err := command(lines[len(lines)-1], args...); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := command("go", "run", "./benchmarks/sql", "--child", "load", lake, database+"."+t, filepath.Join(raw, t)); err != nil {
			return fmt.Errorf("load %s: %w", t, err)
		}
	}
	return os.WriteFile(ready, nil, 0o644)
}

func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}

// outcome is what a query gave, and what it took.
type outcome struct {
	rows      [][]string
	failure   string
	cpu, wall time.Duration
	rss       int64
}

func query(binary string, args ...string) (*outcome, error) {
	c := exec.Command(binary, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	at := time.Now()
	err := c.Run()
	o := &outcome{wall: time.Since(at)}
	if c.ProcessState == nil {
		return nil, err
	}
	o.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.rss = u.Maxrss << 10
	}
	if err != nil {
		o.failure = strings.TrimSpace(errs.String())
		return o, nil
	}
	sc := bufio.NewScanner(&out)
	sc.Buffer(nil, 1<<24)
	for first := true; sc.Scan(); first = false {
		if first {
			continue // the columns
		}
		d := json.NewDecoder(strings.NewReader(sc.Text()))
		d.UseNumber()
		var cells []any
		if err := d.Decode(&cells); err != nil {
			return nil, fmt.Errorf("read %q: %w", sc.Text(), err)
		}
		row := make([]string, len(cells))
		for i, x := range cells {
			if row[i] = fmt.Sprint(x); x == nil {
				row[i] = `\N`
			}
		}
		o.rows = append(o.rows, row)
	}
	return o, sc.Err()
}

func answers(path string) ([][]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for i, l := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
		if i > 0 {
			rows = append(rows, strings.Split(l, "|"))
		}
	}
	return rows, nil
}

// different compares rows in order, numbers within 1e-6 relative or 1e-4: MySQL's
// averages have four digits more.
func different(got, want [][]string) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		for k := range got[i] {
			x, y := got[i][k], want[i][k]
			a, e1 := strconv.ParseFloat(x, 64)
			b, e2 := strconv.ParseFloat(y, 64)
			if x != y && (e1 != nil || e2 != nil || math.Abs(a-b) > math.Max(1e-4, 1e-6*math.Abs(b))) {
				return fmt.Sprintf("row %d column %d: %s, want %s", i+1, k+1, x, y)
			}
		}
	}
	return ""
}
