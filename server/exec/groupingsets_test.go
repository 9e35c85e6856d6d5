package exec_test

import (
	"testing"

	"github.com/thermocline/thermocline/scan"
)

// rowsOfSets are the rows of the tests of grouping sets, filters and frames.
const rowsOfSets = `create table t (id int, a int, b varchar(5), x int);
insert into t values (1,1,'p',10),(2,1,'q',20),(3,1,'q',NULL),(4,2,'p',5),(5,2,NULL,7),(6,NULL,'p',1),(7,NULL,NULL,2)`

// TestRollup: totals of groups, with the answers of MySQL 9.7.
func TestRollup(t *testing.T) {
	e := newEngine("gs")
	e.must(t, rowsOfSets)
	e.answers(t, [][2]string{
		{`select a, b, sum(x), count(*) from t group by a, b with rollup order by a, b, count(*), sum(x)`, `NULL,NULL,2,1; NULL,NULL,3,2; NULL,NULL,45,7; NULL,p,1,1; 1,NULL,30,3; 1,p,10,1; 1,q,20,2; 2,NULL,7,1; 2,NULL,12,2; 2,p,5,1`},
		{`select a, b, sum(x), grouping(a), grouping(b), grouping(a,b) from t group by a, b with rollup order by grouping(a,b), a, b`, `NULL,NULL,2,0,0,0; NULL,p,1,0,0,0; 1,p,10,0,0,0; 1,q,20,0,0,0; 2,NULL,7,0,0,0; 2,p,5,0,0,0; NULL,NULL,3,0,1,1; 1,NULL,30,0,1,1; 2,NULL,12,0,1,1; NULL,NULL,45,1,1,3`},
		{`select a, b, sum(x) from t group by rollup(a, b) order by grouping(a), a, grouping(b), b`, `NULL,NULL,2; NULL,p,1; NULL,NULL,3; 1,p,10; 1,q,20; 1,NULL,30; 2,NULL,7; 2,p,5; 2,NULL,12; NULL,NULL,45`},
		{`select a, sum(x) from t group by rollup(a) having sum(x) > 10 order by 1,2`, `NULL,45; 1,30; 2,12`},
		{`select a, count(*) from t where id > 100 group by a with rollup`, `NULL,0`},
		{`select a, b, count(*), sum(x) from t where id > 100 group by rollup(a,b)`, `NULL,NULL,0,NULL`},
		{`select a, a, count(*) from t group by a, a with rollup order by 3, 1`, `NULL,NULL,2; NULL,NULL,2; 2,2,2; 2,2,2; 1,1,3; 1,1,3; NULL,NULL,7`},
		{`select a+1, count(distinct b) from t group by a+1 with rollup order by 1, 2`, `NULL,1; NULL,2; 2,2; 3,1`},
		{`select distinct a from t group by a, b with rollup order by a`, `NULL; 1; 2`},
		{`select a, sum(x), rank() over (order by sum(x) desc) r from t group by a with rollup order by r`, `NULL,45,1; 1,30,2; 2,12,3; NULL,3,4`},
		{`select id, (select count(*) from t u where u.a = t.id group by a with rollup limit 1) from t order by id`, `1,3; 2,2; 3,0; 4,0; 5,0; 6,0; 7,0`},
		{`select id, (select group_concat(c order by c) from (select count(*) c from t u where u.a = t.id group by b with rollup) d) from t order by id`, `1,1,2,3; 2,1,1,2; 3,0; 4,0; 5,0; 6,0; 7,0`},
		{`select any_value(b), a from t group by a with rollup order by a, 1`, `p,NULL; p,NULL; p,1; p,2`},
		{`select a, avg(x), min(b), max(b) from t group by a with rollup order by grouping(a), a`, `NULL,1.5000,p,p; 1,15.0000,p,q; 2,6.0000,p,p; NULL,7.5000,p,q`},
		{`select case when grouping(a) then 'all' else a end, sum(x) from t group by a with rollup order by 2`, `NULL,3; 2,12; 1,30; all,45`},
		{`select a, b, count(*) from t group by a, b with rollup having grouping(b) = 1 order by a, 3`, `NULL,NULL,2; NULL,NULL,7; 1,NULL,3; 2,NULL,2`},
		{`select sum(c) from (select a, b, count(*) c from t group by a, b with rollup) d`, `21`},
		{`select a, c from (select a, count(*) c from t group by a with rollup) d where a is null order by c`, `NULL,2; NULL,7`},
		{`select a, c from (select a, count(*) c from t group by a with rollup) d where a = 1`, `1,3`},
		{`select b, first_value(x) respect nulls over (partition by b order by id) from t order by b, id`, `NULL,7; NULL,7; p,10; p,10; p,10; q,20; q,20`},
		{`select id, nth_value(x, 2) from first over (order by id) from t order by id`, `1,NULL; 2,20; 3,20; 4,20; 5,20; 6,20; 7,20`},
	})
}

// TestGroupingSets: grouping sets, FILTER, QUALIFY and window frames that MySQL
// does not have, with the answers of DuckDB 1.5.5 (default_null_order =
// 'nulls_first', // for DIV).
func TestGroupingSets(t *testing.T) {
	e := newEngine("gs")
	e.must(t, rowsOfSets)
	for _, e.opts = range []scan.Options{{}, {BatchRows: 1, Threads: 1}, {BatchRows: 2, Threads: 5}} {
		e.groupingSets(t)
	}
}

func (e *engine) groupingSets(t *testing.T) {
	e.answers(t, [][2]string{
		{`select a, b, sum(x), count(*) from t group by cube(a, b) order by a, b, count(*), sum(x)`, `NULL,NULL,2,1; NULL,NULL,3,2; NULL,NULL,9,2; NULL,NULL,45,7; NULL,p,1,1; NULL,p,16,3; NULL,q,20,2; 1,NULL,30,3; 1,p,10,1; 1,q,20,2; 2,NULL,7,1; 2,NULL,12,2; 2,p,5,1`},
		{`select a, b, sum(x), grouping(a,b) from t group by grouping sets ((a,b),(a),(b),()) order by grouping(a,b), a, b`, `NULL,NULL,2,0; NULL,p,1,0; 1,p,10,0; 1,q,20,0; 2,NULL,7,0; 2,p,5,0; NULL,NULL,3,1; 1,NULL,30,1; 2,NULL,12,1; NULL,NULL,9,2; NULL,p,16,2; NULL,q,20,2; NULL,NULL,45,3`},
		{`select a, b, count(*) from t group by grouping sets ((a),(b)) order by grouping(a), a, b`, `NULL,NULL,2; 1,NULL,3; 2,NULL,2; NULL,NULL,2; NULL,p,3; NULL,q,2`},
		{`select a, count(*) from t group by grouping sets ((a),(a),()) order by a, count(*)`, `NULL,2; NULL,2; NULL,7; 1,3; 1,3; 2,2; 2,2`},
		{`select a, b, count(*) from t group by grouping sets (rollup(a,b), (b)) order by grouping(a), grouping(b), a, b`, `NULL,NULL,1; NULL,p,1; 1,p,1; 1,q,2; 2,NULL,1; 2,p,1; NULL,NULL,2; 1,NULL,3; 2,NULL,2; NULL,NULL,2; NULL,p,3; NULL,q,2; NULL,NULL,7`},
		{`select a, b, x, count(*) from t group by a, rollup(b, x) order by grouping(b), grouping(x), a, b, x`, `NULL,NULL,2,1; NULL,p,1,1; 1,p,10,1; 1,q,NULL,1; 1,q,20,1; 2,NULL,7,1; 2,p,5,1; NULL,NULL,NULL,1; NULL,p,NULL,1; 1,p,NULL,1; 1,q,NULL,2; 2,NULL,NULL,1; 2,p,NULL,1; NULL,NULL,NULL,2; 1,NULL,NULL,3; 2,NULL,NULL,2`},
		{`select a, b, x, count(*) from t group by rollup((a, b), x) order by grouping(a), grouping(x), a, b, x`, `NULL,NULL,2,1; NULL,p,1,1; 1,p,10,1; 1,q,NULL,1; 1,q,20,1; 2,NULL,7,1; 2,p,5,1; NULL,NULL,NULL,1; NULL,p,NULL,1; 1,p,NULL,1; 1,q,NULL,2; 2,NULL,NULL,1; 2,p,NULL,1; NULL,NULL,NULL,7`},
		{`select a, b, count(*) from t group by cube(a), cube(b) order by grouping(a), grouping(b), a, b`, `NULL,NULL,1; NULL,p,1; 1,p,1; 1,q,2; 2,NULL,1; 2,p,1; NULL,NULL,2; 1,NULL,3; 2,NULL,2; NULL,NULL,2; NULL,p,3; NULL,q,2; NULL,NULL,7`},
		{`select count(*), sum(x) from t group by ()`, `7,45`},
		{`select count(*), sum(x) from t group by grouping sets ((), ())`, `7,45; 7,45`},
		{`select count(*), sum(x) from t where id > 100 group by grouping sets ((), (a))`, `0,NULL`},
		{`select a, count(*) from t where id > 100 group by grouping sets ((a))`, ``},
		{`select count(*) filter (where x > 5), sum(x) filter (where a = 1), max(b) filter (where id > 100) from t`, `3,30,NULL`},
		{`select a, count(*) filter (where x > 5), count(distinct b) filter (where x is not null), avg(x) filter (where id < 5) is null from t group by a order by a`, `NULL,0,1,1; 1,2,2,0; 2,1,1,0`},
		{`select a, sum(x) filter (where b = 'q') from t group by rollup(a) order by grouping(a), a`, `NULL,NULL; 1,20; 2,NULL; NULL,20`},
		{`select id, sum(x) filter (where b = 'p') over (order by id) from t order by id`, `1,10; 2,10; 3,10; 4,15; 5,15; 6,16; 7,16`},
		{`select id, count(*) filter (where b = 'p') over (partition by a order by id rows between 1 preceding and 1 following) from t order by id`, `1,1; 2,1; 3,0; 4,1; 5,1; 6,1; 7,1`},
		{`select sum(10 div (x - 5)) filter (where x <> 5) from t`, `2`},
		{`select id, x from t qualify row_number() over (partition by a order by id) = 1 order by id`, `1,10; 4,5; 6,1`},
		{`select id, row_number() over (partition by a order by id desc) rn from t qualify rn = 1 order by id`, `3,1; 5,1; 7,1`},
		{`select a, sum(x) s from t group by a qualify rank() over (order by sum(x) desc) <= 2 order by s`, `2,12; 1,30`},
		{`select a, count(*) from t where id > 1 group by a having count(*) > 1 qualify row_number() over (order by a) = 2`, `1,2`},
		{`select distinct a from t qualify count(*) over (partition by a) = 2 order by a`, `NULL; 2`},
		{`select id from t qualify row_number() over (order by id) in (select id from t where x > 5) order by id`, `1; 2; 5`},
		{`select id from t qualify sum(x) over (order by id) > (select max(x) from t) and id > 2 order by id limit 2`, `3; 4`},
		{`select id, sum(x) over (order by a groups between 1 preceding and current row) from t order by id`, `1,33; 2,33; 3,33; 4,42; 5,42; 6,3; 7,3`},
		{`select id, sum(x) over (order by a groups between current row and 1 following) from t order by id`, `1,42; 2,42; 3,42; 4,12; 5,12; 6,33; 7,33`},
		{`select id, count(*) over (order by a groups between 1 following and 2 following) from t order by id`, `1,2; 2,2; 3,2; 4,0; 5,0; 6,5; 7,5`},
		{`select id, count(*) over (order by a desc nulls first groups between 2 preceding and 1 preceding) from t order by id`, `1,4; 2,4; 3,4; 4,2; 5,2; 6,0; 7,0`},
		{`select id, count(*) over (partition by b order by a groups between unbounded preceding and 1 following) from t order by id`, `1,3; 2,2; 3,2; 4,3; 5,2; 6,2; 7,2`},
		{`select id, sum(x) over (order by id rows between 1 preceding and 1 following exclude current row) from t order by id`, `1,20; 2,10; 3,25; 4,7; 5,6; 6,9; 7,1`},
		{`select id, count(*) over (order by a rows between unbounded preceding and unbounded following exclude group) from t order by id`, `1,4; 2,4; 3,4; 4,5; 5,5; 6,5; 7,5`},
		{`select id, sum(x) over (order by a rows between unbounded preceding and unbounded following exclude ties) from t order by id`, `1,25; 2,35; 3,15; 4,38; 5,40; 6,43; 7,44`},
		{`select id, count(*) over (order by a groups between unbounded preceding and unbounded following exclude no others) from t order by id`, `1,7; 2,7; 3,7; 4,7; 5,7; 6,7; 7,7`},
		{`select id, first_value(id) over (order by a, id rows between unbounded preceding and unbounded following exclude current row) from t order by id`, `1,6; 2,6; 3,6; 4,6; 5,6; 6,7; 7,6`},
		{`select id, last_value(id) over (order by a, id groups between 1 preceding and 1 following exclude current row) from t order by id`, `1,2; 2,3; 3,4; 4,5; 5,4; 6,7; 7,1`},
		{`select id, nth_value(id, 2) over (order by a, id rows between 1 preceding and 2 following exclude current row) from t order by id`, `1,2; 2,3; 3,4; 4,5; 5,NULL; 6,1; 7,1`},
		{`select id, lag(x ignore nulls) over (order by id) from t order by id`, `1,NULL; 2,10; 3,20; 4,20; 5,5; 6,7; 7,1`},
		{`select id, lag(x, 2 ignore nulls) over (order by id) from t order by id`, `1,NULL; 2,NULL; 3,10; 4,10; 5,20; 6,5; 7,7`},
		{`select id, lag(x, 2, -1 ignore nulls) over (order by id) from t order by id`, `1,-1; 2,-1; 3,10; 4,10; 5,20; 6,5; 7,7`},
		{`select id, lead(b, 1 ignore nulls) over (order by id) from t order by id`, `1,q; 2,q; 3,p; 4,p; 5,p; 6,NULL; 7,NULL`},
		{`select id, lead(b, 0 ignore nulls) over (order by id) from t order by id`, `1,p; 2,q; 3,q; 4,p; 5,NULL; 6,p; 7,NULL`},
		{`select id, first_value(b ignore nulls) over (order by id desc) from t order by id`, `1,p; 2,p; 3,p; 4,p; 5,p; 6,p; 7,NULL`},
		{`select id, last_value(b ignore nulls) over (order by id rows between 1 preceding and current row) from t order by id`, `1,p; 2,q; 3,q; 4,p; 5,p; 6,p; 7,p`},
		{`select id, nth_value(x, 3 ignore nulls) over (order by id rows between unbounded preceding and unbounded following exclude current row) from t order by id`, `1,7; 2,7; 3,5; 4,7; 5,5; 6,5; 7,5`},
		{`select id, lag(x ignore nulls) over (partition by b order by id) from t order by id`, `1,NULL; 2,NULL; 3,20; 4,10; 5,NULL; 6,5; 7,7`},
	})
	e.answers(t, [][2]string{
		// As MySQL with ROLLUP; DuckDB has NULL for rows without a group.
		{`select id, (select count(*) from t u where u.a = t.id group by cube(b) having grouping(b) = 1) from t order by id`, `1,3; 2,2; 3,0; 4,0; 5,0; 6,0; 7,0`},
		// As DuckDB, where the place of IGNORE NULLS and FROM LAST is the standard's.
		{`select id, lag(x) ignore nulls over (order by id) from t order by id`, `1,NULL; 2,10; 3,20; 4,20; 5,5; 6,7; 7,1`},
		{`select id, nth_value(id, 2) from last over (order by id rows between unbounded preceding and unbounded following) from t order by id`, `1,6; 2,6; 3,6; 4,6; 5,6; 6,6; 7,6`},
		{`select id, nth_value(x, 1) from last ignore nulls over (order by id rows 1 preceding) from t order by id`, `1,10; 2,20; 3,20; 4,5; 5,7; 6,1; 7,2`},
		{`select a, count(*) from t group by distinct rollup(a), rollup(a) order by grouping(a), a`, `NULL,2; 1,3; 2,2; NULL,7`},
		{`select a from t qualify a > 1`, `error 1064`},
		{`select a, x from t group by a qualify rank() over (order by x) = 1`, `error 1055`},
		{`select rank() over (order by id) ignore nulls from t`, `error 1064`},
		{`select row_number() filter (where x > 1) over (order by id) from t`, `error 1064`},
		{`select id, sum(x) over (groups 1 preceding) from t`, `error 1064`},
		{`select a, count(*) from t group by cube(a) with rollup`, `error 1064`},
	})
}
