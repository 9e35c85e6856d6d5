package exec_test

import (
	"context"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
)

// nestedRows fills n.t (id INT, r ROW<a, b ROW<x>>, m MAP, l ARRAY, lr ARRAY<ROW>):
//
//	1  {a: 1, b: {x: 'p'}}   {'k': 10, 'K': 11}  [1, 2, 3]    [{p: 1, q: 'u'}, {p: 2, q: NULL}]
//	2  {a: NULL, b: NULL}    {}                  []           [NULL, {p: 5, q: 'w'}]
//	3  NULL                  NULL                NULL         NULL
//	4  {a: 2, b: {x: 'é'}}   {'k': NULL, 'z': 7} [NULL, 9]    []
func nestedRows(t *testing.T, e *engine) {
	t.Helper()
	e.must(t, "create table t (id INT, r ROW<a INT, b ROW<x STRING>>, m MAP<STRING, INT>, l ARRAY<INT>, lr ARRAY<ROW<p INT, q STRING>>) WITH ('bucket' = '-1')")
	ctx := context.Background()
	tab, err := e.cat.Table(ctx, catalog.Identifier{Database: "n", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.(connector.Writable).NewWrite(ctx, connector.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i32, str := func(xs ...int) *vector.Vec { // -1 is NULL
		v := vector.New(vector.I32, len(xs))
		for _, x := range xs {
			if x < 0 {
				v.AppendNull()
			} else {
				v.AppendI32(int32(x))
			}
		}
		return v
	}, func(xs ...string) *vector.Vec { // "" is NULL
		v := vector.New(vector.Str, len(xs))
		for _, x := range xs {
			if x == "" {
				v.AppendNull()
			} else {
				v.AppendString(x)
			}
		}
		return v
	}
	null := func(v *vector.Vec, rows ...int) *vector.Vec {
		for _, r := range rows {
			v.SetNull(r)
		}
		return v
	}
	b := null(&vector.Vec{Kind: vector.Struct, Len: 4, Child: []*vector.Vec{str("p", "", "", "é")}}, 1, 2)
	r := null(&vector.Vec{Kind: vector.Struct, Len: 4, Child: []*vector.Vec{i32(1, -1, -1, 2), b}}, 2)
	m := null(&vector.Vec{Kind: vector.Map, Len: 4, Offset: []int32{0, 2, 2, 2, 4}, Child: []*vector.Vec{str("k", "K", "k", "z"), i32(10, 11, -1, 7)}}, 2)
	l := null(&vector.Vec{Kind: vector.List, Len: 4, Offset: []int32{0, 3, 3, 3, 5}, Child: []*vector.Vec{i32(1, 2, 3, -1, 9)}}, 2)
	pq := null(&vector.Vec{Kind: vector.Struct, Len: 4, Child: []*vector.Vec{i32(1, 2, -1, 5), str("u", "", "", "w")}}, 2)
	lr := null(&vector.Vec{Kind: vector.List, Len: 4, Offset: []int32{0, 2, 4, 4, 4}, Child: []*vector.Vec{pq}}, 2)
	if err := w.Write(ctx, &vector.Batch{Len: 4, Seq: -1, Cols: []*vector.Vec{i32(1, 2, 3, 4), r, m, l, lr}}); err != nil {
		t.Fatal(err)
	}
	msgs, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tab.(connector.Writable).NewCommit(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Messages: msgs}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNestedColumns: parts of ROW, MAP and ARRAY, and UNNEST.
func TestNestedColumns(t *testing.T) {
	e := newEngine("n")
	nestedRows(t, e)
	for _, e.opts = range []scan.Options{{}, {BatchRows: 1, Threads: 1}, {BatchRows: 3, Threads: 5}} {
		e.nested(t)
	}
}

func (e *engine) nested(t *testing.T) {
	e.answers(t, [][2]string{
		{`select id, r.a, r.b.x, t.r.a, n.t.r.b.x from t order by id`, `1,1,p,1,p; 2,NULL,NULL,NULL,NULL; 3,NULL,NULL,NULL,NULL; 4,2,é,2,é`},
		{`select id, m['k'], m['K'], m['none'], l[1], l[3], l[id] from t order by id`, `1,10,11,NULL,1,3,1; 2,NULL,NULL,NULL,NULL,NULL,NULL; 3,NULL,NULL,NULL,NULL,NULL,NULL; 4,NULL,NULL,NULL,NULL,NULL,NULL`},
		{`select id, lr[1].p, lr[2].q, lr[1] from t order by id`, `1,1,NULL,{"p": 1, "q": "u"}; 2,NULL,w,NULL; 3,NULL,NULL,NULL; 4,NULL,NULL,NULL`},
		{`select id, r.b from t where r.b is not null order by id`, `1,{"x": "p"}; 4,{"x": "é"}`},
		{`select id from t where r.a > 1 or l[2] = 2 order by id`, `1; 4`},
		{`select r.a + 1, upper(r.b.x) from t order by r.b.x desc, 1`, `3,É; 2,P; NULL,NULL; NULL,NULL`},
		{`select r.a, count(*) from t group by r.a order by 1`, `NULL,2; 1,1; 2,1`},
		{`select sum(r.a), max(m['z']), min(l[2]) from t`, `3,7,2`},
		{`select id, rank() over (order by r.a) k from t order by id`, `1,3; 2,1; 3,1; 4,4`},
		{`select d.r.a from (select id, r from t) d where d.id = 1`, `1`},
		{`with c as (select r as s, l from t) select s.a, l[1] from c order by 1`, `NULL,NULL; NULL,NULL; 1,1; 2,NULL`},
		{`select a.id, b.r.a from t a join t b on a.r.a = b.id order by 1`, `1,1; 4,NULL`},
		{`select a.id, b.r.a from t a left join t b on a.id = b.r.a order by 1`, `1,1; 2,2; 3,NULL; 4,NULL`},
		{`select id, (select max(u.id) from t u where u.r.a = t.id) from t order by id`, `1,1; 2,4; 3,NULL; 4,NULL`},
		{`select id, x from t cross join unnest(l) as u (x) order by id, x`, `1,1; 1,2; 1,3; 4,NULL; 4,9`},
		{`select id, value, ordinality from t, unnest(l) with ordinality as u order by id, ordinality`, `1,1,1; 1,2,2; 1,3,3; 4,NULL,1; 4,9,2`},
		{`select id, u.p, u.q from t join unnest(t.lr) u order by id, p`, `1,1,u; 1,2,NULL; 2,NULL,NULL; 2,5,w`},
		{`select id, k, v from t left join unnest(m) as u (k, v) on true order by id, k`, `1,K,11; 1,k,10; 2,NULL,NULL; 3,NULL,NULL; 4,k,NULL; 4,z,7`},
		{`select id, k from t left join unnest(m) as u (k, v) on v > 10 order by id, k`, `1,K; 2,NULL; 3,NULL; 4,NULL`},
		{`select id, k from t join unnest(m) as u (k, v) on v < 11 order by id, k`, `1,k; 4,z`},
		{`select id, x, k from t cross join unnest(l, m) as u (x, k, v) order by id, x`, `1,1,k; 1,2,K; 1,3,NULL; 4,NULL,k; 4,9,z`},
		{`select id, (select sum(x) from unnest(t.l) as u (x)) s from t order by id`, `error 1235`},
		{`select count(*), sum(x) from t cross join unnest(l) as u (x) where x > 1`, `3,14`},
		{`select id from t where r.nope = 1`, `error 1054`},
		{`select r.a.b from t`, `error 1054`},
		{`select l[0] from t`, `error 1210`},
		{`select id[1] from t`, `error 1235`},
		{`select r[1] from t`, `error 1210`},
		{`select * from t cross join unnest(id) u`, `error 1210`},
		{`select id, r.a from t where r.a = (select max(u.r.a) from t u)`, `4,2`},
		{`select distinct r.a is null from t order by 1`, `0; 1`},
		{`select r.a from t union all select id from t where id = 3 order by 1`, `NULL; NULL; 1; 2; 3`},
		{`select id, r, l from t where id = 1`, `1,{"a": 1, "b": {"x": "p"}},[1, 2, 3]`},
	})
}

// JSON is no value of a nested column.
func TestNestedInsertIsRefused(t *testing.T) {
	e := newEngine("n")
	nestedRows(t, e)
	for _, q := range []string{"INSERT INTO t (id, l) VALUES (9, '[1]')", "INSERT INTO t (id, m) SELECT 9, JSON_OBJECT('k', 1)", "INSERT INTO t (id, l) SELECT id, l FROM t"} {
		if _, err := e.run(q); errs.ClassOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", q, err)
		}
	}
	e.must(t, "INSERT INTO t (id, l) SELECT 9, NULL")
	if a, err := e.run("SELECT COUNT(*), MAX(id) FROM t"); err != nil || text(a.rows) != "5|9\n" {
		t.Errorf("%v %v", text(a.rows), err)
	}
}

// Shared rows have nested columns as they are stored, too.
func TestNestedShared(t *testing.T) {
	e := newEngine("n")
	nestedRows(t, e)
	e.spilling(t)
	q := "WITH c AS (SELECT * FROM t ORDER BY id LIMIT 4) SELECT a.id, a.l, b.r, a.r.b.x, b.m['k'], a.l[1], b.lr FROM c a JOIN c b ON a.id = b.id ORDER BY a.id"
	var want string
	for i, o := range []scan.Options{{Threads: 1}, {Threads: 1}, {Threads: 2, ForceSpill: true}} {
		e.opts, e.separate = o, i == 0
		a, err := e.run(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(a.rows); i == 0 {
			want = got
		} else if got != want || len(a.rows) != 4 {
			t.Errorf("%+v:\n%s, want\n%s", o, got, want)
		}
	}
}
