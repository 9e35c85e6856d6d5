package mysql

import (
	"encoding/json"
	"testing"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// TestUnanswered: a source that does not answer says nothing of a table that is
// created anew: the stream fails, and is read again, instead of the table's stopping.
// What the source refuses stops the table.
func TestUnanswered(t *testing.T) {
	for _, c := range []struct {
		err     error
		stops   bool
		pending bool
	}{
		{errs.New(errs.Unavailable, errs.KindNone, "invalid connection"), false, true},
		{errs.Userf(errs.UnknownDatabase, "the database d is gone"), true, false},
	} {
		h := &history{same: func(a, b string) bool { return a == b }, absent: []bool{true}, shadow: map[source.ID]*shadow{},
			charset: func(string) (json.RawMessage, error) { return nil, c.err },
			tables:  []*source.Table{{ID: source.ID{Database: "d", Name: "t"}, Columns: []source.Column{{Name: "a", ID: 1, Native: json.RawMessage(`{"type":"int"}`)}}, NextColumn: 2}}}
		out := h.apply("CREATE TABLE t (a INT)", "d", nil)
		if stops := len(out) == 1 && out[0].kind == source.StopEvent; stops != c.stops || (h.unanswered != nil) != c.pending {
			t.Errorf("%v: effects %+v, unanswered %v", c.err, out, h.unanswered)
		}
	}
}
