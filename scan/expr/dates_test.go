package expr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDates compares thousands of calls of date functions with MySQL's answers
// (testdata/dates.py). What differs is listed in testdata/dates.golden: dates that
// do not exist, which are refused; negative and long TIMEs as dates, where MySQL
// 9.7 starts from the time of day instead of midnight; NULL and negative modes of
// weeks; zones after 2037, whose rules MySQL's tables have not; TIMEs above
// 838:00:00 with a fraction; numbers below 101 as dates.
func TestDates(t *testing.T) {
	var golden strings.Builder
	total := map[string]int{}
	for _, c := range casesOf(t, "dates.jsonl.gz") {
		v, detail := judge(c, nil)
		if total[v]++; v == pass {
			continue
		}
		if v == skipped {
			t.Errorf("%s is not covered: %s", c.SQL, detail)
		}
		fmt.Fprintf(&golden, "%s\t%s\t%s\t%s\n", v, c.SQL, strings.Join(c.Set, "; "), detail)
	}
	t.Logf("%v", total)
	file := filepath.Join("testdata", "dates.golden")
	if *update {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != golden.String() {
		t.Errorf("what differs from MySQL has changed; look at the difference to %s and run with -update", file)
	}
}
