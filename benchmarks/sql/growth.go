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

// mostGrowth is by how much the time for a row may rise from one scale factor to
// the next.
const mostGrowth = 1.25

// growthRun measures the queries of TPC-H at growing scale factors, in one process
// after the other, and reports how the processor time for a row changes.
func (b *bench) growthRun(scales []float64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	times := map[string][]float64{} // by query, a median a scale
	var names []string
	for i, sf := range scales {
		b.sf, b.rows = sf, 0
		qs, err := b.queries()
		if err != nil {
			return err
		}
		if err := b.prepare("tpch"); err != nil {
			return err
		}
		args := []string{"--child", "serve", "--threads", strconv.Itoa(b.threads)}
		if b.limit != "" {
			args = append(args, "--memory-limit", b.limit)
		}
		e, err := start("ours", exec.Command(self, append(args, b.warehouse())...))
		if err != nil {
			return err
		}
		err = func() error {
			defer e.close()
			if _, err := e.run(request{SQL: "USE " + b.database("tpch")}); err != nil {
				return err
			}
			for _, q := range qs {
				r := &result{}
				for n := range b.rounds + 1 {
					a, err := e.run(request{SQL: q.ours})
					if err != nil {
						return err
					}
					if a.Error != "" {
						return fmt.Errorf("%s at scale factor %g: %s", q.name, sf, a.Error)
					}
					if n > 0 { // the first is to warm
						r.shots = append(r.shots, shot{a.CPU, a.Wall})
					}
				}
				if i == 0 {
					names = append(names, q.name)
				}
				times[q.name] = append(times[q.name], r.median(shot.cpuOf))
				fmt.Fprintf(os.Stderr, "%s at %g: %.1f ms CPU\n", q.name, sf, 1e3*r.median(shot.cpuOf))
			}
			return nil
		}()
		if err != nil {
			return err
		}
	}
	return b.growthReport(scales, names, times)
}

func (b *bench) growthReport(scales []float64, names []string, times map[string][]float64) error {
	var s bytes.Buffer
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	fmt.Fprintf(&s, "\n## Growth of TPC-H, %s, commit %s\n\n%s, %d threads; load average %s; medians of %d rounds. A ratio is the processor time for a row beside that at the scale factor before.\n\n| query",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), strings.TrimSpace(string(commit)), cpuModel(), b.threads, load(), b.rounds)
	for i, sf := range scales {
		fmt.Fprintf(&s, " | SF %g, CPU ms", sf)
		if i > 0 {
			s.WriteString(" | ratio")
		}
	}
	fmt.Fprintf(&s, " |\n|%s\n", strings.Repeat("---|", 2*len(scales)))
	above, worst := 0, 0.0
	logs := make([]float64, len(scales))
	for _, name := range names {
		fmt.Fprintf(&s, "| %s", strings.TrimPrefix(name, "tpch-"))
		for i, t := range times[name] {
			fmt.Fprintf(&s, " | %.1f", 1e3*t)
			if i == 0 {
				continue
			}
			ratio := t / times[name][i-1] / (scales[i] / scales[i-1])
			fmt.Fprintf(&s, " | %.2f", ratio)
			logs[i] += math.Log(ratio)
			worst = max(worst, ratio)
			if ratio > mostGrowth {
				above++
			}
		}
		s.WriteString(" |\n")
	}
	s.WriteString("\n")
	for i := 1; i < len(scales); i++ {
		fmt.Fprintf(&s, "From %g to %g the time for a row is %.2f times (geometric mean). ", scales[i-1], scales[i], math.Exp(logs[i]/float64(len(names))))
	}
	fmt.Fprintf(&s, "The worst is %.2f; %d above %.2f.\n", worst, above, mostGrowth)
	os.Stdout.Write(s.Bytes())
	if err := b.keep(s.Bytes()); err != nil {
		return err
	}
	if above > 0 {
		return fmt.Errorf("%d queries take more than %.2f times as long for a row", above, mostGrowth)
	}
	return nil
}
