package route

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
)

func tables(names ...string) (out []source.ID) {
	for _, n := range names {
		db, t, _ := strings.Cut(n, ".")
		out = append(out, source.ID{Database: db, Name: t})
	}
	return out
}

var all = tables("obs.users", "obs.items", "obs.order_1", "obs.order_2", "obs.order_33", "obs2.users", "crm.a-b", "crm.c")

func TestSelectors(t *testing.T) {
	for _, c := range []struct{ list, exclude, want string }{
		// What a real Flink CDC 3.6.0 did with them.
		{`obs.\.*`, "", "obs.items obs.order_1 obs.order_2 obs.order_33 obs.users"},
		{`obs.order_[0-9]+`, "", "obs.order_1 obs.order_2 obs.order_33"},
		{`OBS.USERS`, "", "obs.users"},
		{`obs.*`, "", `error: db.\.*`},
		{`obs\..*`, "", `error: db.\.*`},
		{`obs.order_[0-9]{1,3}`, "", "error: cut by a comma"},
		{`[obs|obs2].users`, "", "error: write (a|b)"},
		{`(obs|obs2).users`, "", "obs.users obs2.users"},
		{`obs.nothing`, "", "error: matches no table"},
		{`obs.users, crm.c`, "", "crm.c obs.users"},
		{`obs.users,crm.zzz`, "", "error: crm.zzz matches no table"},
		{`obs\.users`, "", "error: has 1 part(s)"},
		{`a.b.c`, "", "error: has 3 part(s)"},
		{`obs.\.*`, `obs.order_\.*`, "obs.items obs.users"},
		{`obs.users`, `obs.\.*`, "error: leaves no table"},
		{`crm.a-b`, "", "crm.a-b"},
		{`obs.(users`, "", "error: open bracket"},
		{`\.*.users`, "", "obs.users obs2.users"},
		{` , `, "", "error: the list is empty"},
		{`obs.`, "", "error: empty part"},
	} {
		got := ""
		inc, err := ParseSelectors("tables", c.list)
		var exc Selectors
		if err == nil && c.exclude != "" {
			exc, err = ParseSelectors("tables.exclude", c.exclude)
		}
		if err == nil {
			var ids []source.ID
			if ids, err = Resolve(all, inc, exc); err == nil {
				for _, id := range ids {
					got += " " + id.String()
				}
				got = strings.TrimSpace(got)
			}
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if want, isErr := strings.CutPrefix(c.want, "error: "); isErr && !(err != nil && strings.Contains(got, want)) || !isErr && got != c.want {
			t.Errorf("%s without %s: %s, want %s", c.list, c.exclude, got, c.want)
		}
	}
}

func TestRoutes(t *testing.T) {
	captured := tables("obs.users", "obs.items", "obs.order_1", "obs.order_2")
	for _, c := range []struct {
		rules []pipeline.Route
		first bool
		want  string
	}{
		{nil, false, "obs.items<obs.items obs.order_1<obs.order_1 obs.order_2<obs.order_2 obs.users<obs.users"},
		{[]pipeline.Route{{SourceTable: `obs.order_\.*`, SinkTable: "ods.orders"}}, false, "obs.items<obs.items obs.users<obs.users ods.orders<obs.order_1,obs.order_2"},
		{[]pipeline.Route{{SourceTable: `obs.items`, SinkTable: "ods.a"}, {SourceTable: `obs.\.*`, SinkTable: "ods.b"}}, false, "ods.a<obs.items ods.b<obs.items,obs.order_1,obs.order_2,obs.users"},
		{[]pipeline.Route{{SourceTable: `obs.items`, SinkTable: "ods.a"}, {SourceTable: `obs.\.*`, SinkTable: "ods.b"}}, true, "ods.a<obs.items ods.b<obs.order_1,obs.order_2,obs.users"},
		{[]pipeline.Route{{SourceTable: `obs.(users|items)`, SinkTable: "ods.x_$1"}}, false, "obs.order_1<obs.order_1 obs.order_2<obs.order_2 ods.x_items<obs.items ods.x_users<obs.users"},
		{[]pipeline.Route{{SourceTable: `obs.\.*`, SinkTable: "ods.pre_<>", ReplaceSymbol: "<>"}}, false, "ods.pre_items<obs.items ods.pre_order_1<obs.order_1 ods.pre_order_2<obs.order_2 ods.pre_users<obs.users"},
		{[]pipeline.Route{{SourceTable: `obs.users,obs.items`, SinkTable: "ods.two"}}, false, "obs.order_1<obs.order_1 obs.order_2<obs.order_2 ods.two<obs.items,obs.users"},
		{[]pipeline.Route{{SourceTable: `obs\.(\w+)s`, SinkTable: "$1.t"}}, false, "item.t<obs.items obs.order_1<obs.order_1 obs.order_2<obs.order_2 user.t<obs.users"},
		{[]pipeline.Route{{SourceTable: `OBS.users`, SinkTable: "ods.u"}}, false, "error: matches no captured table"},
		{[]pipeline.Route{{SourceTable: `obs.users`, SinkTable: "ods.u"}, {SourceTable: `obs.users`, SinkTable: "ods.v"}}, true, "error: an earlier rule takes all"},
		{[]pipeline.Route{{SourceTable: `obs.users`, SinkTable: "u"}}, false, "error: is no lake table"},
		{[]pipeline.Route{{SourceTable: `obs.users`, SinkTable: "ods.$1"}}, false, "error: names a group"},
		{[]pipeline.Route{{SourceTable: `obs.(users`, SinkTable: "ods.u"}}, false, "error: open bracket"},
		{[]pipeline.Route{{SourceTable: `[obs|x].users`, SinkTable: "ods.u"}}, false, "error: write (a|b)"},
	} {
		got := ""
		r, err := ParseRoutes(c.rules, c.first)
		if err == nil {
			var ts []Target
			if ts, err = r.Resolve(captured); err == nil {
				for _, x := range ts {
					var from []string
					for _, s := range x.Sources {
						from = append(from, s.String())
					}
					got += fmt.Sprintf(" %s<%s", x.ID, strings.Join(from, ","))
				}
				got = strings.TrimSpace(got)
			}
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if want, isErr := strings.CutPrefix(c.want, "error: "); isErr && !(err != nil && strings.Contains(got, want)) || !isErr && got != c.want {
			t.Errorf("%v: %s, want %s", c.rules, got, c.want)
		}
	}
}
