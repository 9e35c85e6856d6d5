package maintain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/maintain"
)

// TestKeeperPace: where snapshots are kept for two minutes, what is older waits for a
// quarter of a minute at most; where they are kept for an hour, for a minute.
func TestKeeperPace(t *testing.T) {
	for kept, c := range map[string]struct{ before, due time.Duration }{
		"2 min":  {14 * time.Second, 15 * time.Second},
		"1 s":    {4 * time.Second, 5 * time.Second},
		"60 min": {59 * time.Second, time.Minute},
	} {
		x := newTable(t, map[string]string{"thermocline.maintenance": "true", "snapshot.time-retained": kept, "snapshot.num-retained.min": "1"})
		var k maintain.Keeper
		x.write()
		begin := x.now.Add(10 * time.Hour)
		x.now = begin
		x.must(k.Run(ctx, x.maintain()))
		x.now = begin.Add(-9 * time.Hour)
		x.write()
		x.write()
		x.now = begin.Add(c.before)
		x.must(k.Run(ctx, x.maintain()))
		if got := x.ids(); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("%s: after %v snapshots %v", kept, c.before, got)
		}
		x.now = begin.Add(c.due)
		x.must(k.Run(ctx, x.maintain()))
		if got := x.ids(); !slices.Equal(got, []int64{3}) {
			t.Errorf("%s: after %v snapshots %v", kept, c.due, got)
		}
	}
}
