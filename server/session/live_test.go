package session

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/internal/errs"
)

// feeds is a registry for the tables of one warehouse.
type feeds struct{ *live.Registry }

func (f feeds) Feed(_ string, id catalog.Identifier) *live.Feed {
	return f.Find("/w", id.Database+"."+id.Table)
}

// TestLiveViews: a live query reads the views' snapshots, whatever is newest, with
// a note or an error where there is none to be read.
func TestLiveViews(t *testing.T) {
	srv := warehouse(t)
	var reg live.Registry
	srv.cfg.Live = feeds{&reg}
	s := session(t, srv, OpenOptions{})
	script(t, s, "CREATE DATABASE d;\nUSE d;\nCREATE TABLE a (id INT PRIMARY KEY, v INT);\nCREATE TABLE b (id INT PRIMARY KEY, v INT);\nINSERT INTO a VALUES (1, 1);\nINSERT INTO b VALUES (1, 1);\n"+
		"INSERT INTO a VALUES (2, 2);\nINSERT INTO b VALUES (2, 2)")
	table := func(name string, base int64) live.Table {
		c, err := srv.catalogNamed("paimon")
		if err != nil {
			t.Fatal(err)
		}
		tb, err := c.Table(t.Context(), catalog.Identifier{Database: "d", Table: name})
		if err != nil {
			t.Fatal(err)
		}
		return live.Table{UUID: tb.UUID(), LiveRows: connector.LiveRows{Base: base, Schema: -1, Position: "p1"}}
	}
	const both = "SELECT (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b)"
	check := func(when, q, want, note string) {
		t.Helper()
		if got := query(t, s, q); got != want {
			t.Errorf("%s: %q instead of %q", when, got, want)
		}
		if got := query(t, s, "SHOW WARNINGS"); note == "" && got != "" || !strings.Contains(got, note) {
			t.Errorf("%s: warnings %q instead of %q", when, got, note)
		}
	}
	check("committed", both, "2|2", "")
	script(t, s, "SET lake_freshness = 'live'")
	check("without a pipeline", both, "2|2", "d.a is read as committed, not live: no pipeline of this server writes it")
	f := reg.Open("/w", "p", []string{"d.a", "d.b"})
	publish := func(a, b live.Table) {
		f.Publish(live.NewView("p1", true, map[string]live.Table{"d.a": a, "d.b": b}))
	}
	publish(table("a", 1), table("b", 1))
	check("at the views' snapshots", both, "1|1", "")
	if got := query(t, s, "EXPLAIN FORMAT=TREE SELECT * FROM a"); !strings.Contains(got, "Scan d.a live at p1") {
		t.Errorf("EXPLAIN: %s", got)
	}
	check("a version", "SELECT COUNT(*) FROM a FOR VERSION AS OF 2", "2", "")
	check("a target", "SELECT COUNT(*) FROM b FOR VERSION AS OF 1", "1", "")
	script(t, s, "INSERT INTO b SELECT id + 10, v FROM a;\nUPDATE b SET v = v + 100 WHERE id = 2") // rows of the view, changes of what is there
	check("what is written", "SELECT GROUP_CONCAT(CONCAT(id, '=', v) ORDER BY id) FROM b FOR VERSION AS OF 4", "1=1,2=102,11=1", "")

	script(t, s, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	publish(table("a", 2), table("b", 2))
	check("in a transaction", both, "1|1", "")
	script(t, s, "COMMIT")
	check("after it", both, "2|2", "")

	other := table("b", 1)
	other.UUID = "another"
	publish(table("a", 1), other)
	check("another table", both, "1|3", "d.b is read as committed, not live: the pipeline p does not know it yet")
	stopped := table("b", 1)
	stopped.Committed = "it is not followed any more: for a test"
	publish(table("a", 1), stopped)
	check("stopped", both, "1|3", "for a test")
	stopped.Lost = true
	publish(table("a", 1), stopped)
	if _, err := rows(t.Context(), s, "SELECT COUNT(*) FROM b"); err == nil || !strings.Contains(err.Error(), "read d.b live: it was stopped before rows were committed that were read live") {
		t.Errorf("lost: %v", err)
	}
	check("beside a lost one", "SELECT COUNT(*) FROM a", "1", "")

	gone := table("a", 99)
	publish(gone, stopped)
	wantKind(t, s, "SELECT COUNT(*) FROM a", errs.FilesVanished)
	f.Close("was stopped")
	check("closed", "SELECT COUNT(*) FROM a", "2", "the pipeline p was stopped")
	script(t, s, "SET lake_freshness = 'committed'")
	check("committed again", both, "2|3", "")
}
