package commit_test

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Statistics are a snapshot of kind ANALYZE in which nothing else changes; those
// after it inherit them until the schema is another.
func TestDescribe(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("u")
	before := x.must(c, &connector.Committable{Identifier: 1, Properties: map[string]string{"cdc.position": "7"}, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	if _, err := x.committer("analyst").Describe(ctx, []byte("{}"), 3); errs.ClassOf(err) != errs.Conflict {
		t.Errorf("statistics of another schema: %v", err)
	}
	if _, err := x.committer("analyst").Describe(ctx, []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	s, err := c.Store().Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.CommitKind != spec.KindAnalyze || s.ID != 2 || *s.TotalRecordCount != *before.TotalRecordCount || *s.DeltaRecordCount != 0 || s.Properties["cdc.position"] != "" ||
		!strings.HasPrefix(s.Statistics, "stat-") {
		t.Errorf("snapshot %+v", s)
	}
	if b, err := x.mem.ReadFile(ctx, x.paths.StatisticsDir()+"/"+s.Statistics); err != nil || string(b) != "{}" {
		t.Errorf("%q, %v", b, err)
	}
	own, err := c.LatestOwn(ctx) // a pipeline finds its position behind it
	if err != nil || own.ID != 1 || own.Properties["cdc.position"] != "7" {
		t.Errorf("%+v, %v", own, err)
	}
	after := x.must(c, &connector.Committable{Identifier: 2, After: 1, Messages: messages(x.message("p", x.file(0, 2, 2)))})
	if after.Statistics != s.Statistics || after.ID != 3 {
		t.Errorf("statistics %q, not %q", after.Statistics, s.Statistics)
	}
	x.schema.ID = 1
	x.putSchema()
	if after = x.must(x.committer("u"), &connector.Committable{Identifier: 3, Messages: messages(x.message("p", x.file(0, 3, 3)))}); after.Statistics != "" {
		t.Errorf("statistics of another schema: %q", after.Statistics)
	}
}

// A crash at any file operation leaves the old or the new state, and nothing is
// named that is not there.
func TestCrashOfDescribe(t *testing.T) {
	x := newTable(t, nil)
	x.must(x.committer("u"), &connector.Committable{Identifier: 1, Messages: messages(x.message("p", x.file(0, 1, 1)))})
	probe := *x
	probe.mem = x.mem.Clone()
	n := probe.mem.Changes()
	if _, err := probe.committer("analyst").Describe(ctx, []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	n = probe.mem.Changes() - n
	seen := map[int64]bool{}
	for at := 1; at <= n; at++ {
		for outcome := fileio.FailBefore; outcome <= fileio.CrashAfter; outcome++ {
			y := *x
			y.mem = x.mem.Clone()
			first := y.mem.Changes()
			y.mem.SetFault(func(o fileio.Op) fileio.Outcome {
				if o.N == first+at {
					return outcome
				}
				return fileio.Proceed
			})
			_, err := y.committer("analyst").Describe(ctx, []byte("{}"), 0)
			y.mem.Restart()
			s, lerr := y.committer("u").Store().Latest(ctx)
			if lerr != nil {
				t.Fatal(lerr)
			}
			seen[s.ID] = true
			if err == nil && s.ID != 2 || s.ID == 2 != (s.Statistics != "") {
				t.Errorf("operation %d, outcome %d: %v, and snapshot %+v", at, outcome, err, s)
			}
			if s.Statistics != "" {
				if b, err := y.mem.ReadFile(ctx, y.paths.StatisticsDir()+"/"+s.Statistics); err != nil || string(b) != "{}" {
					t.Errorf("operation %d, outcome %d: %q, %v", at, outcome, b, err)
				}
			}
			y.must(y.committer("u"), &connector.Committable{Identifier: 2, Messages: messages(y.message("p", y.file(0, 2, 2)))})
		}
	}
	if !seen[1] || !seen[2] {
		t.Errorf("states %v", seen)
	}
}
