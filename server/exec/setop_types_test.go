package exec_test

import "testing"

// TestTypesOfNestedSetOperations: the operands of a set operation have one type,
// and those of nested ones that MySQL merges into it; others have types of their
// own, in which they are compared, before their rows get the outer type.
func TestTypesOfNestedSetOperations(t *testing.T) {
	e := newEngine("so")
	e.must(t, `create table a (i int, d decimal(10,2), e decimal(20,6), s varchar(20) collate utf8mb4_general_ci, s9 varchar(20) collate utf8mb4_0900_ai_ci, sb varchar(20) collate utf8mb4_bin, ts datetime, t3 datetime(3));
insert into a values (1,1.5,2.5,'a','A','b','2024-02-29 12:00:00','2024-02-29 12:00:00.125');
create table b (ts datetime, t3 datetime(3));
insert into b values ('2024-01-01','2024-01-01')`)
	e.answers(t, [][2]string{
		{`(select ts from a union all select t3 from a) union all select 'x'`, `2024-02-29 12:00:00; 2024-02-29 12:00:00.125; x`},
		{`(select ts from a union select t3 from a) union all select 'x'`, `2024-02-29 12:00:00.000; 2024-02-29 12:00:00.125; x`},
		{`(select ts from a union select t3 from a) union all select 'x' union select 'y'`, `2024-02-29 12:00:00; 2024-02-29 12:00:00.125; x; y`},
		{`select 'x' union (select ts from a union all select t3 from a)`, `2024-02-29 12:00:00; 2024-02-29 12:00:00.125; x`},
		{`select 'x' union all (select ts from a union select t3 from a)`, `2024-02-29 12:00:00.000; 2024-02-29 12:00:00.125; x`},
		{`select 'x' c union all (select i from a union all select d from a) order by c`, `1; 1.50; x`},
		{`(select i from a intersect select d from a) union all select 'x'`, `x`},
		{`(select d from a union all select e from a) except select 'x'`, `1.500000; 2.500000`},
		{`select d from a except (select e from a union select 'x')`, `1.50`},
		{`select 'x' union (select d from a except (select e from a union select 3))`, `1.500000; x`},
		{`select ts from b except select t3 from b except select 'x'`, `2024-01-01 00:00:00`},
		{`(select ts from b except select t3 from b) union select 'x'`, `x`},
		{`select cast(t3 as char) from b union (select ts from b intersect select t3 from b)`, `2024-01-01 00:00:00.000`},
		{`select ts from b intersect select t3 from b intersect select cast(t3 as char) from b`, ``},
		{`select ts from b intersect all select t3 from b intersect all select cast(t3 as char) from b`, `2024-01-01 00:00:00.000`},
		{`select cast(t3 as char) from b intersect all (select ts from b intersect select t3 from b)`, ``},
		{`(select s from a union select s9 from a) except all select sb from a`, `A; a`},
		{`(select s from a union select s9 from a) union select 'x' from a`, `error 1271`},
		{`(select s from a union all select s9 from a) except select s from a`, ``},
		{`(select s from a union all select s9 from a) except select s9 from a`, ``},
		{`select s9 from a except (select s from a union all select s9 from a)`, ``},
		{`select 1 union select s from a union select s9 from a`, `error 1271`},
		{`select s from a union select s9 from a union select 1`, `error 1271`},
		{`select s from a union select s9 from a union select sb from a`, `error 1271`},
		{`select 1 from a union select concat(s9,s) from a`, `1; Aa`},
	})
}
