package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Many small commits: rows trickle into a primary-key table, ten a commit, each
// durable, with default maintenance beside the writer. What must stay small is the
// time of a commit and of an aggregate over the table, the number of live files,
// and memory.
//
//	go run ./benchmarks/paimon --child commits DIR [COMMITS [RATE]]
//
// RATE is commits a second; 0, the default, is as many as there can be. Durations
// in its output are milliseconds.
func init() {
	children["commits"] = func(args []string) (outcome, error) {
		n, rate := 30_000, 0
		if len(args) == 0 {
			return outcome{}, fmt.Errorf("commits: give a folder")
		}
		for i, v := range []*int{&n, &rate} {
			if len(args) > i+1 {
				x, err := strconv.Atoi(args[i+1])
				if err != nil {
					return outcome{}, err
				}
				*v = x
			}
		}
		return trickle(args[0], n, rate)
	}
}

const rowsPerCommit = 10

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func trickle(dir string, commits, rate int) (outcome, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	files := fileio.Local{}
	budget := memory.New("bench", 512<<20)
	d := paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}), Maintained: true})
	c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: dir, Driver: d})
	if err != nil {
		return outcome{}, err
	}
	if err := c.CreateDatabase(ctx, "db", true); err != nil {
		return outcome{}, err
	}
	x, err := c.CreateTable(ctx, catalog.Identifier{Database: "db", Table: fmt.Sprintf("t%d", time.Now().UnixNano())}, &catalog.Schema{
		Fields:      []catalog.Field{{Name: "id", Type: catalog.TBigInt}, {Name: "amount", Type: catalog.TBigInt}, {Name: "note", Type: catalog.TString}},
		PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1", "snapshot.time-retained": "2 min"}}, false)
	if err != nil {
		return outcome{}, err
	}
	t := x.(*paimon.Table)
	u := paimon.NewUpkeep(paimon.UpkeepConfig{Catalog: c, Driver: d, Budget: budget})
	var wait sync.WaitGroup
	wait.Go(func() { u.Run(ctx) })
	defer wait.Wait()
	defer stop()

	w, err := t.NewWrite(ctx, connector.WriteOptions{CommitUser: "bench", Budget: budget})
	if err != nil {
		return outcome{}, err
	}
	defer w.Close()
	com, err := t.NewCommit(ctx, "bench")
	if err != nil {
		return outcome{}, err
	}
	b := vector.NewBatch([]vector.Kind{vector.I64, vector.I64, vector.Str}, rowsPerCommit)
	took := make([]time.Duration, 0, commits)
	started, cpu := time.Now(), cpuSeconds()
	worst := time.Duration(0)
	for i := range commits {
		if rate > 0 {
			time.Sleep(time.Until(started.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		}
		begin := time.Now()
		b.Reset()
		for r := range rowsPerCommit {
			id := int64(i*rowsPerCommit + r)
			b.Cols[0].AppendI64(id)
			b.Cols[1].AppendI64(id % 1000)
			b.Cols[2].AppendString("a row that trickled in")
		}
		b.Len = rowsPerCommit
		if err := w.Write(ctx, b); err != nil {
			return outcome{}, err
		}
		m, err := w.PrepareCommit(ctx)
		if err != nil {
			return outcome{}, err
		}
		if _, err := com.Commit(ctx, &connector.Committable{Identifier: int64(i), Messages: m}); err != nil {
			return outcome{}, err
		}
		took = append(took, time.Since(begin))
		if (i+1)%max(commits/10, 1) == 0 {
			at, sum, err := aggregate(ctx, t)
			if err != nil {
				return outcome{}, err
			}
			if want := wantSum(int64(i+1) * rowsPerCommit); sum != want {
				return outcome{}, fmt.Errorf("the sum after %d commits is %d, not %d", i+1, sum, want)
			}
			worst = max(worst, at)
			live, snaps, all, err := shape(ctx, t)
			if err != nil {
				return outcome{}, err
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			fmt.Fprintf(os.Stderr, "%6d commits: %5.1f s wall, %5.1f s cpu, aggregate %4d ms, %d live files, %d snapshots, %d files, heap %d MiB\n",
				i+1, time.Since(started).Seconds(), cpuSeconds()-cpu, at.Milliseconds(), live, snaps, all, mem.HeapAlloc>>20)
		}
	}
	slices.Sort(took)
	fmt.Fprintf(os.Stderr, "%d commits of %d rows: %.1f s wall, %.1f s cpu; a commit %.1f ms median, %.1f ms at 99 %%; worst aggregate %d ms; upkeep %+v\n",
		commits, rowsPerCommit, time.Since(started).Seconds(), cpuSeconds()-cpu, float64(took[len(took)/2].Microseconds())/1000,
		float64(took[len(took)*99/100].Microseconds())/1000, worst.Milliseconds(), u.Stats())
	return outcome{Rows: int64(commits) * rowsPerCommit}, nil
}

func wantSum(rows int64) int64 {
	full, rest := rows/1000, rows%1000
	return full*999*1000/2 + rest*(rest-1)/2
}

// aggregate sums a column of the newest snapshot.
func aggregate(ctx context.Context, t *paimon.Table) (time.Duration, int64, error) {
	begin := time.Now()
	snap, err := t.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return 0, 0, err
	}
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{1}})
	if err != nil {
		return 0, 0, err
	}
	sum := int64(0)
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return 0, 0, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				v := b.Cols[0]
				sum += v.Values().I64s[v.At(b.Row(i))]
			}
		}
		if err := r.Close(); err != nil {
			return 0, 0, err
		}
	}
	return time.Since(begin), sum, nil
}

// shape counts live files, snapshots, and all files below the table's folder.
func shape(ctx context.Context, t *paimon.Table) (live, snapshots, all int, err error) {
	store := t.Maintain().Store()
	s, err := store.Latest(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	list, err := store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		return 0, 0, 0, err
	}
	ids, err := store.SnapshotIDs(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, dir := range []string{"/snapshot", "/manifest", "/bucket-0"} {
		in, err := os.ReadDir(t.Dir() + dir)
		if err != nil {
			return 0, 0, 0, err
		}
		all += len(in)
	}
	return len(list), len(ids), all, nil
}
