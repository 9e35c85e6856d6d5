package testkit

import "fmt"

// Setting is a way to run a query that must not change its rows.
type Setting struct {
	BatchRows  int
	Threads    int
	ForceSpill bool
	NoPruning  bool
	Compacted  bool // the tables were compacted before
	NoSharing  bool // equal parts of a query are run for each place that reads them
}

// SQL is the statement that sets a session to the setting.
func (s Setting) SQL() string {
	on := map[bool]string{false: "ON", true: "OFF"}
	spill := "ON"
	if s.ForceSpill {
		spill = "'FORCE'"
	}
	return fmt.Sprintf("SET lake_batch_rows = %d, lake_threads = %d, lake_spill = %s, lake_pruning = %s, lake_sharing = %s",
		s.BatchRows, s.Threads, spill, on[s.NoPruning], on[s.NoSharing])
}

// Settings returns settings of which every two values meet in one of them: the
// law tests' combinations.
func Settings() []Setting {
	var all [][6]int
	for b := range 3 {
		for t := range 3 {
			for rest := range 16 {
				all = append(all, [6]int{b, t, rest & 1, rest >> 1 & 1, rest >> 2 & 1, rest >> 3})
			}
		}
	}
	type pair struct{ i, j, x, y int }
	pairs := func(s [6]int) (out []pair) {
		for i := range s {
			for j := range i {
				out = append(out, pair{j, i, s[j], s[i]})
			}
		}
		return out
	}
	met := map[pair]bool{}
	var out []Setting
	for {
		best, most := [6]int{}, 0
		for _, s := range all {
			n := 0
			for _, p := range pairs(s) {
				if !met[p] {
					n++
				}
			}
			if n > most {
				best, most = s, n
			}
		}
		if most == 0 {
			return out
		}
		for _, p := range pairs(best) {
			met[p] = true
		}
		out = append(out, Setting{BatchRows: [3]int{1, 7, 1024}[best[0]], Threads: [3]int{1, 2, 5}[best[1]],
			ForceSpill: best[2] == 1, NoPruning: best[3] == 1, Compacted: best[4] == 1, NoSharing: best[5] == 1})
	}
}
