// Command sql measures queries against DuckDB over the very same Parquet files in
// the same run: the 22 of TPC-H and the 43 shapes of ClickBench.
//
//	go run ./benchmarks/sql                       # or: make bench-sql
//	go run ./benchmarks/sql --sf 0.1 --rows 1000000 --rounds 3
//	go run ./benchmarks/sql --only hits-q29 --profile /tmp/profiles
//	go run ./benchmarks/sql --base HEAD~5         # beside an older commit
//	go run ./benchmarks/sql --growth 0.1,1
//	go run ./benchmarks/sql --scaling 1,2
//	go run ./benchmarks/sql --clients 100 --memory-limit 2GiB --binary bin/thermocline
//
// The generators of ../shared/oracles/duckdb make the data; it is loaded once
// into append tables of a Paimon warehouse, and DuckDB reads the data files of
// these tables. Each engine is a process of its own that keeps running, so that
// files, caches and compiled plans are warm; the engines take turns query by
// query and round by round, so that a machine that grows busy slows all alike.
// What counts is processor time, user and system, of the whole process: garbage
// collection and idle threads included. Wall time is given beside it.
//
// Answers are checked in the same run: every query runs once with an order that
// leaves no ties, and its rows are compared with DuckDB's.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var b bench
	flag.StringVar(&b.data, "data", filepath.Join(cacheDir(), "thermocline-bench-sql"), "folder for data and tables, kept")
	flag.StringVar(&b.shared, "shared", "../shared", "the folder with oracles/duckdb")
	flag.Float64Var(&b.sf, "sf", 1, "TPC-H scale factor; 0 leaves the suite out")
	flag.Int64Var(&b.rows, "rows", 10_000_000, "rows of the hits table; 0 leaves the suite out")
	flag.IntVar(&b.rounds, "rounds", 3, "how often each query is measured; medians are reported")
	flag.IntVar(&b.threads, "threads", 2, "threads of every engine")
	flag.StringVar(&b.only, "only", "", "measure only queries whose name has one of these, separated by commas (tpch-q01, hits-q29)")
	flag.StringVar(&b.profile, "profile", "", "folder for one profile of the processor a query")
	flag.StringVar(&b.base, "base", "", "also measure this commit")
	flag.StringVar(&b.binary, "binary", "", "also measure over the MySQL port of this thermocline")
	flag.StringVar(&b.limit, "memory-limit", "", "limit of the memory of our processes, such as 2GiB")
	flag.StringVar(&b.out, "out", "", "append the table to this file, as Markdown")
	flag.BoolVar(&b.noDuck, "no-duckdb", false, "leave DuckDB out, and with it the check of answers")
	flag.IntVar(&b.clients, "clients", 0, "instead of measuring, run all queries over the MySQL port within --memory-limit: alone, then by so many clients at a time")
	flag.IntVar(&b.each, "each", 6, "with --clients: how many queries a client runs")
	flag.StringVar(&b.growth, "growth", "", "instead, measure TPC-H at these scale factors and compare the time for a row (0.1,1)")
	flag.StringVar(&b.scaling, "scaling", "", "instead, measure joins and aggregates with these numbers of threads and compare their wall times (1,2)")
	child := flag.String("child", "", "used by the command itself: serve or load")
	flag.Parse()
	var err error
	switch *child {
	case "serve":
		err = serveChild(flag.Arg(0), b.threads, b.limit)
	case "load":
		err = loadChild(flag.Arg(0), flag.Arg(1), flag.Arg(2))
	default:
		err = b.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sql:", err)
		os.Exit(1)
	}
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return os.TempDir()
	}
	return dir
}
