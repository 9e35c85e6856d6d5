package maintain_test

import (
	"testing"

	"github.com/thermocline/thermocline/connector/paimon/maintain"
)

// TestExpireRestored says that files which an expired snapshot deleted and another
// expired one brought back stay: the first remaining snapshot has them.
func TestExpireRestored(t *testing.T) {
	for _, options := range lawTables() {
		x := newTable(t, options)
		x.write()
		x.write()
		ids := x.ids()
		before := ids[len(ids)-1]
		x.compact(true) // deletes the files of both
		m := x.maintain()
		if _, _, _, err := m.RestoreAsLatest(ctx, "", before); err != nil {
			t.Fatal(err)
		}
		x.reload()
		x.write()
		x.write()
		if n, err := x.maintain().ExpireSnapshots(ctx, maintain.Retention{Min: 1, Max: 1000}); err != nil || n < 4 {
			t.Fatalf("%d snapshots went, %v", n, err)
		}
		x.complete("after expiry") // fails when a live file is gone
	}
}
