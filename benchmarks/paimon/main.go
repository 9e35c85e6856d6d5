// Command paimon measures how fast primary-key tables are merged on read, how
// much deletion vectors cost, and how fast such tables are written and compacted,
// against Java Paimon and pypaimon in the same run.
//
//	go run ./benchmarks/paimon            # or: make bench-paimon
//	go run ./benchmarks/paimon --rows 1000000 --write-rows 500000 --rounds 1
//
// It makes three tables of nine columns with the same rows: an append table (plain
// Parquet), a primary-key table of five sorted runs whose keys interleave (run r
// has the ids that are r modulo 5), and the append table with a twentieth of its
// rows deleted by deletion vectors. Each is scanned by a process of its own, the
// engines in turns, so that a machine that grows busy slows all alike. What counts
// is processor time: user and system seconds of the whole process, the start of a
// JVM or of Python included. A scan looks at every value of every column; its rate
// counts the rows that the files hold, deleted ones too.
//
// pypaimon, whose merges take minutes, runs in the first round only.
// THERMOCLINE_PAIMON_JAVA names the oracle's script, THERMOCLINE_PYPAIMON a Python
// with pypaimon; what is missing is skipped by name.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
)

func main() {
	var b bench
	flag.Int64Var(&b.rows, "rows", 10_000_000, "rows of the tables that are scanned")
	flag.Int64Var(&b.writeRows, "write-rows", 5_000_000, "rows to write into a primary-key table, with compaction")
	flag.IntVar(&b.rounds, "rounds", 3, "how often each is measured; medians are reported")
	flag.StringVar(&b.dir, "dir", "", "folder for the tables, kept; default: a temporary one")
	flag.StringVar(&b.only, "only", "", "measure only what has this in its name")
	var m memoryBench
	memory := flag.Bool("memory", false, "measure the memory of large writes by --binary instead")
	flag.StringVar(&m.binary, "binary", "bin/thermocline", "with --memory: the program")
	flag.StringVar(&m.limit, "limit", "512MiB", "with --memory: its memory limit, in MiB")
	child := flag.String("child", "", "used by the command itself: scan or write")
	profile := flag.String("cpuprofile", "", "with --child: write a profile of the processor")
	flag.Parse()
	if *child != "" {
		if err := runChild(*child, *profile, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "paimon:", err)
			os.Exit(1)
		}
		return
	}
	if *memory {
		m.rows, m.dir = b.rows, b.dir
		err := m.run(func(what string, args ...string) error {
			_, err := b.child(nil, what, args...)
			return err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "paimon:", err)
			os.Exit(1)
		}
		return
	}
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "paimon:", err)
		os.Exit(1)
	}
}

func runChild(what, profile string, args []string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	out, err := children[what](args)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// outcome is what a child process found.
type outcome struct {
	Rows int64 `json:"rows"`
	IDs  int64 `json:"ids"` // the sum of the ids, to see that all read the same
}

// bench is a run of the benchmark.
type bench struct {
	rows, writeRows int64
	rounds          int
	dir, only       string
	java, python    string
}

// shot is one measured process.
type shot struct {
	rows     int64
	cpu      float64 // seconds, user and system
	wall     float64
	peakMiB  float64
	idsKnown bool
	ids      int64
}

// subject is what is measured: one engine doing one thing.
type subject struct {
	name  string
	run   func(round int) (shot, error)
	shots []shot
	skip  string
	once  bool // measured in the first round only
}

func (b *bench) run() error {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "bench-paimon-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.dir = dir
	}
	b.java, b.python = os.Getenv("THERMOCLINE_PAIMON_JAVA"), os.Getenv("THERMOCLINE_PYPAIMON")
	subjects, err := b.subjects()
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, s := range subjects {
			if s.skip != "" || s.once && round > 0 {
				continue
			}
			m, err := s.run(round)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d: %-42s %6.2f CPU s, %6.2f s, %5.0f MiB\n", round+1, s.name, m.cpu, m.wall, m.peakMiB)
			s.shots = append(s.shots, m)
		}
	}
	return b.report(subjects)
}

// tables makes the tables that are missing and returns why one could not be.
func (b *bench) tables() (skipVectors string, err error) {
	for _, t := range []string{"append", "pk", "dv"} {
		dir := b.table(t)
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			continue
		}
		os.RemoveAll(dir)
		fmt.Fprintf(os.Stderr, "making %s, %d rows\n", t, b.rows)
		if _, err := b.child(nil, "make", t, dir, fmt.Sprint(b.rows)); err != nil {
			if t == "dv" && strings.Contains(err.Error(), errNoVectors) {
				skipVectors = errNoVectors
				continue
			}
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o644); err != nil {
			return "", err
		}
	}
	return skipVectors, nil
}

func (b *bench) table(kind string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%s-%d", kind, b.rows), "default.db", "t")
}

func (b *bench) subjects() ([]*subject, error) {
	noVectors, err := b.tables()
	if err != nil {
		return nil, err
	}
	var out []*subject
	add := func(name, skip string, run func(int) (shot, error)) {
		if b.only == "" || strings.Contains(name, b.only) {
			out = append(out, &subject{name: name, skip: skip, once: strings.HasSuffix(name, "pypaimon"), run: run})
		}
	}
	for _, t := range []struct{ kind, name string }{{"append", "scan plain"}, {"pk", "scan merge of five runs"}, {"dv", "scan with deletion vectors"}} {
		dir, skip := b.table(t.kind), ""
		if t.kind == "dv" {
			skip = noVectors
		}
		add(t.name+", thermocline", skip, func(int) (shot, error) {
			m, err := b.child(nil, "scan", dir)
			m.rows = b.rows
			return m, err
		})
		javaSkip, pySkip := skip, skip
		if b.java == "" {
			javaSkip = "THERMOCLINE_PAIMON_JAVA is not set"
		}
		if b.python == "" {
			pySkip = "THERMOCLINE_PYPAIMON is not set"
		}
		add(t.name+", Java Paimon", javaSkip, func(int) (shot, error) { return b.measure(b.rows, b.java, "bench", "scan", dir) })
		add(t.name+", pypaimon", pySkip, func(int) (shot, error) {
			return b.measure(b.rows, b.python, "-c", pypaimonScan, filepath.Dir(filepath.Dir(dir)))
		})
	}
	javaSkip := ""
	if b.java == "" {
		javaSkip = "THERMOCLINE_PAIMON_JAVA is not set"
	}
	fresh := func(round int, run func(dir string) (shot, error)) (shot, error) {
		dir, err := os.MkdirTemp(b.dir, "write-")
		if err != nil {
			return shot{}, err
		}
		defer os.RemoveAll(dir)
		return run(dir)
	}
	add("write and compact, thermocline", "", func(round int) (shot, error) {
		return fresh(round, func(dir string) (shot, error) {
			return b.child(nil, "write", filepath.Join(dir, "default.db", "t"), fmt.Sprint(b.writeRows))
		})
	})
	add("write and compact, Java Paimon", javaSkip, func(round int) (shot, error) {
		return fresh(round, func(dir string) (shot, error) {
			return b.measure(b.writeRows, b.java, "bench", "write-pk", dir, fmt.Sprint(b.writeRows))
		})
	})
	return out, nil
}

// rowsOf returns how many rows a scan gives.
func (b *bench) rowsOf(kind string) int64 {
	if kind == "dv" {
		return b.rows - (b.rows+deleteEvery-1-deleteAt)/deleteEvery
	}
	return b.rows
}

// child runs this command's child mode.
func (b *bench) child(env []string, what string, args ...string) (shot, error) {
	self, err := os.Executable()
	if err != nil {
		return shot{}, err
	}
	var out bytes.Buffer
	m, err := measure(&out, self, append([]string{"--child", what, "--"}, args...)...)
	if err != nil {
		return m, err
	}
	var o outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		return m, fmt.Errorf("%w: %q", err, out.String())
	}
	m.rows, m.ids, m.idsKnown = o.Rows, o.IDs, true
	if what == "scan" {
		if err := b.check(filepath.Base(filepath.Dir(filepath.Dir(args[0]))), o); err != nil {
			return m, err
		}
	}
	return m, nil
}

// check compares what a scan saw with what the rows are.
func (b *bench) check(table string, o outcome) error {
	kind, _, _ := strings.Cut(table, "-")
	want := outcome{Rows: b.rowsOf(kind)}
	for id := range b.rows {
		if kind != "dv" || id%deleteEvery != deleteAt {
			want.IDs += id
		}
	}
	if o != want {
		return fmt.Errorf("the scan of %s gave %+v, not %+v", table, o, want)
	}
	return nil
}

func (b *bench) measure(rows int64, program string, args ...string) (shot, error) {
	m, err := measure(&bytes.Buffer{}, program, args...)
	m.rows = rows
	return m, err
}

// measure runs a process to its end.
func measure(out *bytes.Buffer, program string, args ...string) (shot, error) {
	var errOut bytes.Buffer
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = out, &errOut
	begin := now()
	if err := c.Run(); err != nil {
		return shot{}, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args[:min(len(args), 3)], " "), err, tail(errOut.String()))
	}
	m := shot{wall: now() - begin, cpu: c.ProcessState.UserTime().Seconds() + c.ProcessState.SystemTime().Seconds()}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.peakMiB = float64(u.Maxrss) / 1024
	}
	return m, nil
}

func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-500):]
}

// median returns the middle of what f gives for the shots.
func (s *subject) median(f func(shot) float64) float64 {
	var x []float64
	for _, m := range s.shots {
		x = append(x, f(m))
	}
	slices.Sort(x)
	return x[len(x)/2]
}

func (s *subject) rate() float64 {
	return s.median(func(m shot) float64 { return float64(m.rows) / m.cpu / 1e6 })
}

func (b *bench) report(subjects []*subject) error {
	fmt.Printf("%d rows scanned, %d written, 9 columns; medians of %d rounds in turns\n\n", b.rows, b.writeRows, b.rounds)
	fmt.Println("| | M rows a CPU s | CPU s | wall s | peak MiB |")
	fmt.Println("|---|---|---|---|---|")
	rates := map[string]float64{}
	for _, s := range subjects {
		if s.skip != "" {
			fmt.Printf("| %s | skipped: %s | | | |\n", s.name, s.skip)
			continue
		}
		rates[s.name] = s.rate()
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.0f |\n", s.name, s.rate(), s.median(func(m shot) float64 { return m.cpu }),
			s.median(func(m shot) float64 { return m.wall }), s.median(func(m shot) float64 { return m.peakMiB }))
	}
	fmt.Println()
	failed := false
	bar := func(what string, x, floor float64, of string) {
		if x == 0 {
			return
		}
		verdict := "holds"
		if x < floor {
			verdict, failed = "missed", true
		}
		fmt.Printf("%s: %.2f%s, at least %.2f: %s\n", what, x, of, floor, verdict)
	}
	ratio := func(a, b string) float64 {
		if rates[b] == 0 {
			return 0
		}
		return rates[a] / rates[b]
	}
	bar("merge of five runs against plain", ratio("scan merge of five runs, thermocline", "scan plain, thermocline"), 0.5, "")
	bar("deletion vectors against plain", ratio("scan with deletion vectors, thermocline", "scan plain, thermocline"), 0.9, "")
	bar("merge of five runs", rates["scan merge of five runs, thermocline"], 0.81, " M rows a CPU s")
	bar("write and compact", rates["write and compact, thermocline"], 0.20, " M rows a CPU s")
	for _, what := range []string{"scan plain", "scan merge of five runs", "scan with deletion vectors", "write and compact"} {
		for _, peer := range []string{"Java Paimon", "pypaimon"} {
			if r := ratio(what+", thermocline", what+", "+peer); r > 0 {
				fmt.Printf("%s: %.1f times %s\n", what, r, peer)
			}
		}
	}
	if failed {
		return fmt.Errorf("a bar was missed")
	}
	return nil
}
