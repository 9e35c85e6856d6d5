package exec_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// Queries with the answers of MySQL 9.7, which was asked to make them: rows with
// ";" between them, sorted where the query has no ORDER BY, or the error's number.

// answers runs queries and compares what they give.
func (e *engine) answers(t *testing.T, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
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

// TestOuterAggregates: an aggregate of an outer query's columns is computed in
// the outer query where one may stand there, and subqueries may read window
// functions and stand in them.
func TestOuterAggregates(t *testing.T) {
	e := newEngine("oa")
	e.must(t, `create table a (id int, g int, x int);
create table b (id int, g int, y int);
insert into a values (1,1,10),(2,1,20),(3,2,30),(4,2,NULL),(5,NULL,50);
insert into b values (1,1,1),(2,2,2),(3,2,NULL),(4,3,4)`)
	e.answers(t, [][2]string{
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
	})
}

// TestAverageDigits: AVG computes with more digits than it shows.
func TestAverageDigits(t *testing.T) {
	e := newEngine("av")
	e.must(t, `create table q (id int, h int, g int, d decimal(10,2), e decimal(12,6), u bigint unsigned);
insert into q values (1,1,1,1.11,1.000001,1),(2,1,1,2.22,1.000001,2),(3,1,0,3.34,1.000000,2),(4,2,5,1.00,5.5,7),(5,2,6,1.01,6.123457,9),(6,2,6,1.01,7,9),(7,3,NULL,NULL,NULL,NULL)`)
	e.answers(t, [][2]string{
		{`select avg(g)*3, avg(d)*3, avg(e)*3, avg(u)*3 from q where h=1`, `2.0000,6.670000,3.0000020000,5.0000`},
		{`select h, avg(g)*3, avg(d)*3, avg(e)*3, avg(u)*3 from q group by h`, `1,2.0000,6.670000,3.0000020000,5.0000; 2,17.0000,3.020000,18.6234570000,25.0000; 3,NULL,NULL,NULL,NULL`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h order by h`, `1,2.0000,6.670000; 2,17.0000,3.020000; 3,NULL,NULL`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h order by avg(g)*3`, `3,NULL,NULL; 1,2.0000,6.670000; 2,17.0000,3.020000`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h order by avg(g)*3 desc, h limit 2`, `2,17.0000,3.020000; 1,2.0000,6.670000`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h with rollup`, `1,2.0000,6.670000; 2,17.0000,3.020000; 3,NULL,NULL; NULL,9.5000,4.845000`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h having avg(g)*3 = 2`, `1,2.0000,6.670000`},
		{`select h, avg(g)*3, avg(d)*3 from q group by h having avg(g) > 0.6666 and avg(g) < 0.66667`, `1,2.0000,6.670000`},
		{`select distinct avg(g)*3 from q group by h`, `17.0000; 2.0000; NULL`},
		{`select h, avg(g)*3, row_number() over (order by h) from q group by h`, `1,2.0001,1; 2,17.0001,2; 3,NULL,3`},
		{`select h, sum(avg(g)) over (order by h), sum(avg(g)*3) over (order by h) from q group by h`, `1,0.6667,2.0001; 2,6.3334,19.0002; 3,6.3334,19.0002`},
		{`select h, avg(g)+0e0, cast(avg(g) as double), sqrt(avg(g)), row_number() over (order by h) from q group by h`, `1,0.6667,0.6667,0.8165169930871004,1; 2,5.6667,5.6667,2.3804831442377408,2; 3,NULL,NULL,NULL,3`},
		{`select h, sum(avg(g)+0e0) over (order by h), avg(avg(g)) over () from q group by h`, `1,0.6667,3.16670000; 2,6.333399999999999,3.16670000; 3,6.333399999999999,3.16670000`},
		{`select h, avg(g)/3, row_number() over (order by h) from q group by h having avg(g)*3 = 2`, `1,0.22223333,1`},
		{`select h, avg(g)+0e0 x from q group by h order by rank() over (order by h)`, `1,0.6667; 2,5.6667; 3,NULL`},
		{`select (select avg(g) from q where h=1)*3`, `2.0000`},
		{`select (select avg(g) from q where h=1)*3, h from q`, `2.0000,1; 2.0000,1; 2.0000,1; 2.0000,2; 2.0000,2; 2.0000,2; 2.0000,3`},
		{`select id, (select avg(g) from q b where b.h=a.h)*3 from q a`, `1,2.0000; 2,2.0000; 3,2.0000; 4,17.0000; 5,17.0000; 6,17.0000; 7,NULL`},
		{`select id from q where 0.6667 = (select avg(g) from q where h=1)`, ``},
		{`select id from q where g > (select avg(g) from q b where b.h=q.h)`, `1; 2; 5; 6`},
		{`select id from q where 0.6667 in (select avg(g) from q group by h)`, ``},
		{`select id from q where 0.666666666 in (select avg(g) from q group by h)`, `1; 2; 3; 4; 5; 6; 7`},
		{`select avg(g)/3, avg(g)+avg(d), avg(g)-0.00000001, -avg(g), abs(avg(g))*3 from q where h=1`, `0.22222222,2.890000,0.66666666,-0.6667,2.0001`},
		{`select round(avg(g),6), round(avg(g),2), round(avg(d),8), truncate(avg(g),6), floor(avg(g)), ceil(avg(g)*3) from q where h=1`, `0.6667,0.67,2.223333,0.6666,0,2`},
		{`select cast(avg(g) as decimal(20,10)), cast(avg(g) as char), concat(avg(g)), avg(g) div 0.2, avg(g) % 0.2, mod(avg(d),1) from q where h=1`, `0.6666666660,0.6667,0.6667,3,0.0667,0.223333`},
		{`select format(avg(g),6), cast(avg(g) as double), avg(g)+0e0, cast(avg(g)*3 as signed), sqrt(avg(g)), truncate(avg(g)*3, 0), floor(avg(g)*3) from q where h=1`, `0.666667,0.6666666666666666,0.6666666666666666,2,0.816496580927726,2,2`},
		{`select ifnull(avg(g),0)*3, coalesce(avg(g),0)*3, if(1,avg(g),0)*3, case when 1 then avg(g) end*3, nullif(avg(g),0)*3, greatest(avg(g),0)*3, least(avg(g),1)*3 from q where h=1`, `2.0001,2.0001,2.0000,2.0000,2.0000,2.0001,2.0001`},
		{`select avg(g)=avg(u), avg(g) between 0.6666 and 0.66667, avg(g) in (0.6667), avg(g) in (0.666666666), avg(g) <=> 0.6667, sign(avg(g)-0.6667) from q where h=1`, `0,1,0,1,0,0`},
		{`select avg(distinct g)*3, avg(g*1.5)*3, avg(g)*avg(g), avg(g)*1000 from q`, `9.0000,14.25000,10.02777777,3166.6667`},
		{`select max(a) from (select avg(g)*3 a from q group by h) x`, `17.0000`},
		{`select avg(a)*3 from (select avg(g) a from q group by h) x`, `9.50010000`},
		{`select sum(g)/count(g)*3, sum(d)/count(d)*3, sum(g)/3, sum(g)/3*3 from q where h=1`, `2.0001,6.669999,0.6667,2.0001`},
		{`select h, sum(g)/count(g)*3, sum(d)/count(d)*3 from q group by h`, `1,2.0001,6.669999; 2,17.0001,3.020001; 3,NULL,NULL`},
		{`select g/3*3, d/3*3, g/7*7, (g/7)=0.1429 from q where id=1`, `0.9999,1.110000,1.0003,1`},
		{`select avg(g) from q where h=1 union select 0.0000001`, `0.0000001; 0.6666667`},
		{`select group_concat(a) from (select avg(g) a from q group by h order by h) x`, `0.6667,5.6667`},
		{`select json_array(avg(g)), hex(avg(g)), avg(g) like '0.6667' , avg(g)='0.6667', avg(g)=0.6667e0 from q where h=1`, `[0.666666666],1,1,0,0`},
		{`select time_to_sec(sec_to_time(avg(g)*3)), date_add('2020-01-01', interval avg(g)*3 day), repeat('x', avg(g)*3), left('abcdef', avg(g)*3) from q where h=1`, `2,2020-01-03,xx,ab`},
		{`select round(avg(g),6)*1000, truncate(avg(g),6)*1000, truncate(avg(g),2), truncate(avg(g), g) from q where h=1 group by h,g`, `0.0000,0.0000,0.00,0.0000; 1000.0000,1000.0000,1.00,1.0000`},
		{`select h from q group by h having avg(g)*3 = 17 or avg(g)+0 = 0.6667`, `1; 2`},
		{`select h, avg(g) a from q group by h having a*3 = 2`, `1,0.6667`},
		{`select h, avg(g) a from q group by h having a = 0.6667`, ``},
		{`select h, avg(g) a from q group by h order by a, avg(d)`, `3,NULL; 1,0.6667; 2,5.6667`},
		{`select avg(case when h=1 then g end)/avg(h), 100.0*avg(g>0), avg(g)/sum(g), sum(d)/avg(d) from q`, `0.38888889,83.33333,0.16666667,6.000000`},
		{`select h, avg(g), (select avg(b.g) from q b where b.h=q.h and b.g > avg(q.g)) x from q group by h`, `1,0.6667,1.0000; 2,5.6667,6.0000; 3,NULL,NULL`},
		{`select h from q group by h having max(g) > 1.05*avg(g)`, `1; 2`},
		{`select g, g > 1.2*(select avg(g) from q) from q`, `0,0; 1,0; 1,0; 5,1; 6,1; 6,1; NULL,NULL`},
		{`select avg(g)+avg(g)+avg(g), avg(g)*count(*), avg(u)*10000000000000, avg(e)*avg(e)*avg(e) from q where h=1`, `2.0000,2.0000,16666666660000.0000,1.000002000001333331625183404444`},
		{`select h, (select count(*) from q b where b.h = q.h and b.d >= avg(q.d)) from q group by h order by h`, `1,1; 2,2; 3,0`},
		{`select h, (select sum(b.g + 0*max(q.g)) from q b where b.h=1) from q group by h order by h`, `1,2; 2,2; 3,NULL`},
		{`select h from q where avg(g) > 1`, `error 1111`},
		{`select h, (select count(*) from q b where b.g > avg(b.d)) from q group by h`, `error 1111`},
		{`select h, (select count(*) from q b join q c on b.id = c.id and b.g > min(q.g)) from q group by h order by h`, `1,5; 2,2; 3,0`},
		{`select (select count(*) from q b where b.g > avg(q.g)) from q where id in (select id from q c where c.g > avg(q.g))`, `error 1111`},
	})
}
