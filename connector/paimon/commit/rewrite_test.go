package commit_test

import (
	"testing"

	"github.com/thermocline/thermocline/connector"
)

// TestCompactedManifestsKeepSchema rewrites the manifests after a change of the
// schema: the snapshot has the columns of the one before, as Java's has, and the
// next write those of the new schema.
func TestCompactedManifestsKeepSchema(t *testing.T) {
	x := newTable(t, nil)
	c := x.committer("w")
	for i, p := range []string{"p", "q", "r"} {
		x.must(c, &connector.Committable{Identifier: int64(i), Messages: messages(x.message(p, x.file(0, 1, 10)))})
	}
	x.schema.ID = 1
	x.putSchema()
	res, err := c.CompactManifests(ctx)
	if err != nil || res.Snapshot != 4 {
		t.Fatal(res, err)
	}
	if s, err := c.Store().Snapshot(ctx, 4); err != nil || s.SchemaID != 0 || len(x.live(s)) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s := x.must(c, &connector.Committable{Identifier: 5, Messages: messages(x.message("z", x.file(0, 1, 10)))}); s.SchemaID != 1 {
		t.Errorf("%+v", s)
	}
}
