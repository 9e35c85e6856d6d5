package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// leastSpeedup is how many times as fast joins and aggregates shall be with two
// threads as with one, where the machine has two idle cores.
const leastSpeedup = 1.8

// heavy are the queries whose time goes into joins and aggregates.
const heavy = "tpch-q03,tpch-q05,tpch-q07,tpch-q08,tpch-q09,tpch-q10,tpch-q13,tpch-q17,tpch-q18,tpch-q21," +
	"hits-q05,hits-q09,hits-q10,hits-q13,hits-q16,hits-q17,hits-q19,hits-q31,hits-q33,hits-q34,hits-q36"

// scalingRun measures queries with different numbers of threads, each in a process of
// its own, in turns, and reports how much faster more of them are.
func (b *bench) scalingRun(threads []int) error {
	if b.only == "" {
		b.only = heavy
	}
	qs, err := b.queries()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
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
		if err := b.prepare(suite); err != nil {
			return err
		}
		err := func() error {
			var engines []*engine
			defer func() {
				for _, e := range engines {
					e.close()
				}
			}()
			for _, n := range threads {
				args := []string{"--child", "serve", "--threads", strconv.Itoa(n)}
				if b.limit != "" {
					args = append(args, "--memory-limit", b.limit)
				}
				e, err := start(strconv.Itoa(n), exec.Command(self, append(args, b.warehouse())...))
				if err != nil {
					return err
				}
				engines = append(engines, e)
				if _, err := e.run(request{SQL: "USE " + b.database(suite)}); err != nil {
					return err
				}
			}
			for _, q := range own {
				l := &line{q: q, by: map[string]*result{}}
				for round := range b.rounds + 1 {
					for _, e := range engines {
						a, err := e.run(request{SQL: q.ours})
						if err != nil {
							return err
						}
						if a.Error != "" {
							return fmt.Errorf("%s with %s threads: %s", q.name, e.name, a.Error)
						}
						if round == 0 { // to warm
							l.by[e.name] = &result{}
							continue
						}
						l.by[e.name].shots = append(l.by[e.name].shots, shot{a.CPU, a.Wall})
					}
				}
				lines = append(lines, l)
				fmt.Fprint(os.Stderr, q.name)
				for _, e := range engines {
					fmt.Fprintf(os.Stderr, "  %s: %.1f ms, %.1f CPU", e.name, 1e3*l.by[e.name].median(shot.wallOf), 1e3*l.by[e.name].median(shot.cpuOf))
				}
				fmt.Fprintln(os.Stderr)
			}
			return nil
		}()
		if err != nil {
			return err
		}
	}
	return b.scalingReport(threads, lines)
}

func (b *bench) scalingReport(threads []int, lines []*line) error {
	var s bytes.Buffer
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	fmt.Fprintf(&s, "\n## Threads, %s, commit %s\n\n%s; load average %s; medians of %d rounds. A ratio is the wall time with the first number of threads divided by that with another.\n\n| query",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), strings.TrimSpace(string(commit)), cpuModel(), load(), b.rounds)
	for i, n := range threads {
		fmt.Fprintf(&s, " | %d: wall ms | CPU ms", n)
		if i > 0 {
			s.WriteString(" | times as fast")
		}
	}
	fmt.Fprintf(&s, " |\n|%s\n", strings.Repeat("---|", 3*len(threads)))
	below := 0
	logs := make([]float64, len(threads))
	for _, l := range lines {
		fmt.Fprintf(&s, "| %s", l.q.name)
		first := l.by[strconv.Itoa(threads[0])].median(shot.wallOf)
		for i, n := range threads {
			r := l.by[strconv.Itoa(n)]
			fmt.Fprintf(&s, " | %.1f | %.1f", 1e3*r.median(shot.wallOf), 1e3*r.median(shot.cpuOf))
			if i == 0 {
				continue
			}
			ratio := first / r.median(shot.wallOf)
			fmt.Fprintf(&s, " | %.2f", ratio)
			logs[i] += math.Log(ratio)
			if i == len(threads)-1 && ratio < leastSpeedup {
				below++
			}
		}
		s.WriteString(" |\n")
	}
	s.WriteString("\n")
	for i, n := range threads[1:] {
		fmt.Fprintf(&s, "%d threads are %.2f times as fast as %d (geometric mean). ", n, math.Exp(logs[i+1]/float64(len(lines))), threads[0])
	}
	fmt.Fprintf(&s, "%d of %d are below %.1f.\n", below, len(lines), leastSpeedup)
	os.Stdout.Write(s.Bytes())
	return b.keep(s.Bytes())
}
