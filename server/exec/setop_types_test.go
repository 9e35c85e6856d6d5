package exec_test

import "testing"

// TestTypesOfNestedSetOperations: the columns of set operations have one type for
// all queries, however they are nested, so that each value is converted once.
func TestTypesOfNestedSetOperations(t *testing.T) {
	e := newEngine("so")
	e.must(t, `create table a (i int, d decimal(10,2), s varchar(20) collate utf8mb4_general_ci, s9 varchar(20) collate utf8mb4_0900_ai_ci, sb varchar(20) collate utf8mb4_bin, ts datetime, t3 datetime(3));
insert into a values (1,1.5,'a','A','b','2024-02-29 12:00:00','2024-02-29 12:00:00.125')`)
	e.answers(t, [][2]string{
		{`(select ts from a union all select t3 from a) union all select 'x'`, `2024-02-29 12:00:00; 2024-02-29 12:00:00.125; x`},
		{`select 'x' c union all (select i from a union all select d from a) order by c`, `1; 1.50; x`},
		{`(select i from a intersect select d from a) union all select 'x'`, `x`},
		{`(select s from a union select s9 from a) except all select sb from a`, `A; a`},
		{`(select s from a union select s9 from a) union select 'x' from a`, `error 1271`},
	})
}
