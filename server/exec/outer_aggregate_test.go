package exec_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestOuterAggregates: an aggregate of an outer query's columns is computed in
// the outer query where one may stand there, and subqueries may read window
// functions and stand in them. The answers are MySQL 9.7's; rows without ORDER BY
// are sorted.
func TestOuterAggregates(t *testing.T) {
	e := newEngine("oa")
	e.must(t, `create table a (id int, g int, x int);
create table b (id int, g int, y int);
insert into a values (1,1,10),(2,1,20),(3,2,30),(4,2,NULL),(5,NULL,50);
insert into b values (1,1,1),(2,2,2),(3,2,NULL),(4,3,4)`)
	for _, c := range [][2]string{
		{`SELECT id, rank() over (order by id) IN (SELECT id FROM b) FROM a order by id`, `1,1; 2,1; 3,1; 4,1; 5,0`},
		{`SELECT id, rank() over (order by id) IN (SELECT id FROM b where b.g = a.g) FROM a order by id`, `1,1; 2,0; 3,1; 4,0; 5,0`},
		{`SELECT id, rank() over (order by id) IN (SELECT id FROM b where b.g = a.g) r FROM a order by r, id`, `2,0; 4,0; 5,0; 1,1; 3,1`},
		{`select (select max(a.x) from b limit 1) from a`, `50`},
		{`select (select max(a.x) from b where b.id=1) from a`, `50`},
		{`select (select max(a.x)) from a`, `50`},
		{`select (select count(a.x)), count(*) from a`, `4,5`},
		{`select g, (select sum(a.x)) s from a group by g order by g`, `NULL,50; 1,30; 2,30`},
		{`select g, (select sum(a.x) from b where b.id=1) s from a group by g order by g`, `NULL,50; 1,30; 2,30`},
		{`select g, (select sum(a.x)+y from b where b.id=a.g) s from a group by g order by g`, `NULL,NULL; 1,31; 2,32`},
		{`select g from a group by g having (select sum(a.x)) > 30`, `NULL`},
		{`select g from a group by g order by (select sum(a.x)) desc`, `NULL; 1; 2`},
		{`select id from a where 1 < (select count(a.x)) order by id`, ``},
		{`select id from a where 1 = (select count(a.x)) order by id`, `1; 2; 3; 5`},
		{`select id from a where 2 <= (select count(a.x) from b) order by id`, `1; 2; 3; 5`},
		{`select id from a where 20 < (select sum(a.x) from b) order by id`, `1; 2; 3; 5`},
		{`select id, (select sum(a.x + b.y) from b) s from a order by id`, `1,37; 2,67; 3,97; 4,NULL; 5,157`},
		{`select (select (select max(a.x))) m from a`, `50`},
		{`select id, (select count(*) from b where b.id < (select max(a.x))) m from a order by id`, `error 1140`},
		{`select (select b.g from b group by b.g having count(a.id) > 1 limit 1) m from a`, `1`},
		{`select count(*) from a where exists (select 1 from b having count(a.id) > 1)`, `5`},
		{`select id from a where exists (select b.g from b group by b.g having count(a.id) > 1) order by id`, `1; 2; 3; 4; 5`},
		{`select sum((select max(a.x) from b where b.g = a.g)) from a`, `error 1111`},
		{`select sum((select max(a.x+0) from b)) from a`, `error 1111`},
		{`select g, (select group_concat(a.id order by a.id) from b where b.id=1) from a group by g order by g`, `NULL,5; 1,1,2; 2,3,4`},
		{`select (select sum(a.x) over () from b limit 1) from a order by 1`, `NULL; 40; 80; 120; 200`},
		{`select a.g, (select avg(a.x) from b where b.g=a.g limit 1) from a group by a.g order by 1`, `NULL,NULL; 1,15.0000; 2,30.0000`},
		{`select id, (select sum(a.x) from b where b.g=a.g) from a order by id`, `error 1140`},
		{`select (select count(a.id) + count(b.id) from b) from a`, `9`},
		{`select (select count(a.id + b.id) from b) from a`, `4; 4; 4; 4; 4`},
		{`select a1.id, (select sum(a1.x) from a a2 join b on b.g=a2.g where a2.id=1) s from a a1`, `error 1140`},
		{`select 1 from a group by (select sum(a.x))`, `1; 1; 1; 1; 1`},
		{`select a.id from a join b on (select count(a.x)) = b.id order by 1`, `1; 2; 3; 5`},
		{`select (select distinct max(a.x) from b) from a`, `50`},
		{`select x from (select (select max(a.x)) x from a) q`, `50`},
		{`select max((select a.x)) from a`, `50`},
		{`select (select max(a.x) from b union select 7 order by 1 limit 1) from a`, `7`},
	} {
		var got string
		a, err := e.run(c[0])
		if err != nil {
			got = fmt.Sprintf("error %d", codes[errs.KindOf(err)])
		} else {
			var rows []string
			for _, r := range a.rows {
				var cells []string
				for _, v := range r {
					if v == nil {
						cells = append(cells, "NULL")
					} else {
						cells = append(cells, *v)
					}
				}
				rows = append(rows, strings.Join(cells, ","))
			}
			if !strings.Contains(strings.ToLower(c[0]), "order by") {
				sort.Strings(rows)
			}
			got = strings.Join(rows, "; ")
		}
		if got != c[1] {
			t.Errorf("%s\n got %s (%v)\nwant %s", c[0], got, err, c[1])
		}
	}
}
