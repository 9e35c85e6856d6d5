package exec_test

import (
	"fmt"
	"testing"
)

// Statements that random comparison with MySQL 9.7 found, with its answers.

// TestMixedCollations: texts made of two collations are the weakest, searches
// take the collation of the text searched, and what edits a text keeps its.
func TestMixedCollations(t *testing.T) {
	e := newEngine("mix")
	e.must(t, `create table cc (id int, s varchar(20) collate utf8mb4_general_ci, s9 varchar(20) collate utf8mb4_0900_ai_ci, sb varchar(20) collate utf8mb4_bin);
insert into cc values (1,'A','a','A'),(2,'b','B','b')`)
	e.answers(t, [][2]string{
		{`select id, concat(s9,s) = 'AA', concat(s9,s) between 'AA' and 'AA', concat(s9,s) in ('AA','q'), strcmp(concat(s9,s),'AA'), concat(s9,s) like 'AA' from cc order by id`, `1,1,1,1,0,1; 2,0,0,0,1,0`},
		{`select id, greatest(s9, s) = s from cc order by id`, `1,1; 2,1`},
		{`select greatest(s9, s) = sb from cc`, `error 1267`},
		{`select concat(s9, s) = concat(s9, s) from cc`, `error 1267`},
		{`select collation(concat(concat(s9,s),'x')), coercibility(concat(concat(s9,s),'x')), collation(concat(concat(s9,s),sb)), collation(concat(concat(s9,s),s)), coercibility(concat(concat(s9,s),s)), collation(concat(s9,s,'x')) from cc limit 1`,
			`utf8mb4_0900_ai_ci,4,utf8mb4_bin,utf8mb4_general_ci,2,utf8mb4_bin`},
		{`select collation(replace(s,'a',s9)), coercibility(replace('x',s,s9)), coercibility(insert('x',1,1,s)), collation(insert(s9,1,1,s)), coercibility(lpad('x',1,s)), collation(rpad(s9,1,s)), coercibility(trim(s from 'x')), collation(substring_index(s9,s,1)), collation(regexp_substr('x',s)) from cc limit 1`,
			`utf8mb4_general_ci,4,4,utf8mb4_0900_ai_ci,4,utf8mb4_0900_ai_ci,4,utf8mb4_0900_ai_ci,utf8mb4_general_ci`},
		{`select id, locate(sb, 'a'), locate('a', sb), locate(sb, s9), locate(s9, sb), locate(sb,s), locate(s,sb), instr(sb, s9), instr(s9, sb), instr('a',sb), instr(sb,'a') from cc order by id`, `1,1,0,1,0,1,1,0,1,1,0; 2,0,0,1,0,1,1,0,1,0,0`},
		{`select locate('A' collate utf8mb4_bin, s9), locate(s9, 'A' collate utf8mb4_bin), instr(s9,'A' collate utf8mb4_bin) from cc order by id`, `1,0,1; 0,0,0`},
		{`select s between s9 and s from cc`, `error 1270`},
		{`select s in (s9, s) from cc`, `error 1270`},
		{`select s in (s9) from cc`, `error 1267`},
		{`select nullif(s, s9) from cc`, `error 1267`},
		{`select case s when s9 then 1 end from cc`, `error 1267`},
		{`select s from cc union select s9 from cc`, `error 1271`},
		{`select s from cc except select s9 from cc`, `error 1271`},
		{`select s from cc union all select sb from cc`, `A; A; b; b`},
		{`select coalesce(s, s9), collation(coalesce(s,s9)) from cc`, `A,utf8mb4_bin; b,utf8mb4_bin`},
	})
}

// TestRolledUpConstants: a constant key is NULL in the row of the total.
func TestRolledUpConstants(t *testing.T) {
	e := newEngine("rc")
	e.must(t, `create table t (i int);
insert into t values (1),(2),(2)`)
	e.answers(t, [][2]string{
		{`select 1+1 k, count(*), grouping(1+1) from t group by 1+1 with rollup`, `2,3,0; NULL,3,1`},
		{`select (upper('a') like 'b') AS k, count(*) from t group by (upper('a') like 'b') with rollup`, `0,3; NULL,3`},
		{`select upper('a') AS k, i, count(*) from t group by upper('a'), i with rollup`, `A,1,1; A,2,2; A,NULL,3; NULL,NULL,3`},
		{`select upper('a') AS k, count(*) from t group by upper('a')`, `A,3`},
	})
}

// TestDatesAmongTexts: GREATEST and LEAST compare dates and texts as dates; TIME
// and texts as texts.
func TestDatesAmongTexts(t *testing.T) {
	e := newEngine("da")
	e.must(t, `create table g1 (id int, d date, dt datetime, d3 datetime(3), s varchar(40), t time);
insert into g1 values (1,'2024-01-01','2024-01-01 10:00:00','2024-01-01 10:00:00.123','2024-01-01','10:00:00'),(2,'2024-06-01','2024-06-01 10:00:00','2024-06-01 10:00:00.123','2024-01-01 10:00:00.5','10:00:00'),(3,NULL,NULL,NULL,NULL,NULL)`)
	e.answers(t, [][2]string{
		{`select id, greatest(d,s), least(d,s), greatest(dt,s), least(dt,s), greatest(d3,s), least(d3,s) from g1 order by id`,
			`1,2024-01-01,2024-01-01,2024-01-01 10:00:00.000000,2024-01-01 00:00:00.000000,2024-01-01 10:00:00.123000,2024-01-01 00:00:00.000000; 2,2024-06-01,2024-01-01,2024-06-01 10:00:00.000000,2024-01-01 10:00:00.500000,2024-06-01 10:00:00.123000,2024-01-01 10:00:00.500000; 3,NULL,NULL,NULL,NULL,NULL,NULL`},
		{`select id, greatest(d,'2024-03-01'), least(d,'2024-03-01'), greatest(dt,'2024-03-01'), least(dt,'2024-03-01'), greatest(d3,'2024-03-01 01:02:03.1234'), least(d3,'2024-03-01 01:02:03.12345') from g1 order by id`,
			`1,2024-03-01,2024-01-01,2024-03-01 00:00:00,2024-01-01 10:00:00,2024-03-01 01:02:03.1234,2024-01-01 10:00:00.12300; 2,2024-06-01,2024-03-01,2024-06-01 10:00:00,2024-03-01 00:00:00,2024-06-01 10:00:00.1230,2024-03-01 01:02:03.12345; 3,NULL,NULL,NULL,NULL,NULL,NULL`},
		{`select id, greatest(d,dt), greatest(d,dt,'2024-03-01'), least(d,dt,'2024-03-01'), greatest(d,d3) from g1 where id < 3 order by id`,
			`1,2024-01-01 10:00:00,2024-03-01 00:00:00,2024-01-01 00:00:00,2024-01-01 10:00:00.123; 2,2024-06-01 10:00:00,2024-06-01 10:00:00,2024-03-01 00:00:00,2024-06-01 10:00:00.123`},
		{`select greatest(d,20240301), least(d,20240301), greatest(dt,20240301), least(dt,20240301000000) from g1 where id < 3 order by id`, `2024-03-01,2024-01-01,2024-03-01 00:00:00,2024-01-01 10:00:00; 2024-06-01,2024-03-01,2024-06-01 10:00:00,2024-03-01 00:00:00`},
		{`select greatest(t,s), greatest(t,'11:00:00'), least(t,'9:00:00'), greatest(t,'11') from g1 where id=1`, `2024-01-01,11:00:00,10:00:00,11`},
		{`select greatest(d,'x') from g1`, `error 1235`},
		{`select subtime('838:59:59','-00:00:03'), subtime(time'838:59:59',time'-00:00:03'), addtime('2024-01-01 00:00:00', subtime(time'838:59:59',time'-00:00:03'))`, `838:59:59,NULL,NULL`},
	})
}

// TestYearsBesideDates: a year is the date without month and day in comparisons,
// and a number in BETWEEN.
func TestYearsBesideDates(t *testing.T) {
	e := newEngine("yd")
	e.must(t, `create table n1 (id int, dt date, ts datetime, ts3 datetime(3), y year);
insert into n1 values (1,'2024-01-31','2024-01-31 10:00:00','2024-01-31 10:00:00.500',2020),(2,'2024-01-01','2024-01-01 10:00:00','2024-01-31 10:00:00.500',2021)`)
	e.answers(t, [][2]string{
		{`select y = dt, y < ts, y in (dt), y > ts3, y <=> dt from n1`, `0,1,0,0,0; 0,1,0,0,0`},
		{`select y between dt and dt, dt between y and y, dt between cast(2020 as year) and ts, ts between cast(2020 as year) and cast(2030 as year) from n1`, `0,0,1,0; 0,0,1,0`},
	})
}

// TestJSONOfDecimals: JSON made of decimals keeps their digits.
func TestJSONOfDecimals(t *testing.T) {
	e := newEngine("jd")
	e.must(t, `create table t (id int, d decimal(10,2), e decimal(20,6), dt date);
insert into t values (1,-0.5,-0.5,'1999-12-31'),(2,null,100,null)`)
	e.answers(t, [][2]string{
		{`select json_object('j', cast(e as json)), json_array(cast(e as json), e, cast(d as json)), json_object('k', cast(dt as json)), json_array_append('[]','$',cast(d as json)), json_set('{}','$.a',cast(e as json)) from t order by id`,
			`{"j": -0.500000},[-0.500000, -0.500000, -0.50],{"k": "1999-12-31"},[-0.50],{"a": -0.500000}; {"j": 100.000000},[100.000000, 100.000000, null],{"k": null},[null],{"a": 100.000000}`},
		{`select id in (cast('[1]' as json), 1), cast('[1, 2]' as json) in (cast('[1,2]' as json), 3) from t order by id`, `1,1; 0,1`},
	})
}

// TestStrictAssignments: what strict mode refuses to store, as MySQL words it.
func TestStrictAssignments(t *testing.T) {
	e := newEngine("sa")
	e.must(t, `create table dx (id int, d decimal(10,2), i int, f double, js json, tm time, dt date);
insert into dx (id) values (4)`)
	for _, c := range [][2]string{
		{`insert into dx (id,d) values (1,'3.5x')`, "Incorrect decimal value: '3.5x' for column 'd' at row 1"},
		{`insert into dx (id,d) values (3,'12:30')`, "Incorrect decimal value: '12:30' for column 'd' at row 1"},
		{`insert into dx (id,i) values (11,'3x')`, "Data truncated for column 'i' at row 1"},
		{`insert into dx (id,f) values (14,'3x')`, "Incorrect DOUBLE value: '3x' for column 'f' at row 1"},
		{`insert into dx (id,f) values (16,'')`, "Incorrect DOUBLE value: '' for column 'f' at row 1"},
		{`insert into dx (id,js) values (21,1)`, `Invalid JSON text: "not a JSON text, may need CAST" at position 0 in value for column 'dx.js'.`},
		{`insert into dx (id,js) select 22, 1.5`, `Invalid JSON text: "not a JSON text, may need CAST" at position 0 in value for column 'dx.js'.`},
		{`update dx set js = id`, `Invalid JSON text: "not a JSON text, may need CAST" at position 0 in value for column 'dx.js'.`},
		{`update dx set tm = time'838:59:59' + interval 1 minute`, "TIME value is out of range in '(TIME'838:59:59' + interval 1 minute)'"},
		{`update dx set dt = date'9999-12-31' + interval 1 day`, "DATE value is out of range in '(DATE'9999-12-31' + interval 1 day)'"},
		{`update dx set i = cast(cast('"a"' as json) as signed)`, "Invalid JSON value for CAST to INTEGER from column cast_as_json at row 1"},
		{`insert into dx (id,js) values (25,'1'), (26, null), (27, cast(1 as json))`, ""},
	} {
		_, err := e.run(c[0])
		if got := fmt.Sprint(err); err == nil && c[1] != "" || err != nil && got != c[1] {
			t.Errorf("%s\n got %v\nwant %s", c[0], err, c[1])
		}
	}
}

// TestTextsOfNoCollation: a text of two collations takes the other side's in a
// comparison, but not on the left of the binary collation that it has.
func TestTextsOfNoCollation(t *testing.T) {
	e := newEngine("nc")
	e.must(t, `create table c (id int, s varchar(20) collate utf8mb4_general_ci, s9 varchar(20) collate utf8mb4_0900_ai_ci, sb varchar(20) collate utf8mb4_bin);
insert into c values (1,'A','a','A'),(2,'b','B','b')`)
	e.answers(t, [][2]string{
		{`select sb = concat(s,s9), strcmp(sb,concat(s,s9)), nullif(sb,concat(s,s9)), (s collate utf8mb4_bin) = concat(s,s9) from c`, `0,-1,A,0; 0,-1,b,0`},
		{`select concat(s,s9) = sb from c`, `error 1267`},
		{`select strcmp(concat(s,s9),sb) from c`, `error 1267`},
		{`select strcmp(concat(s,s9),s collate utf8mb4_bin) from c`, `error 1267`},
		{`select nullif(concat(s,s9),json_unquote(json_array(s))) from c`, `error 1267`},
		{`select json_unquote(json_array(s)) < concat(s,s9) from c`, `0; 1`},
		{`select case sb when concat(s,s9) then 1 end, case concat(s,s9) when sb then 1 end from c`, `NULL,NULL; NULL,NULL`},
		{`select concat(s9,s) between sb and sb, sb between concat(s9,s) and sb, s between s9 and concat(s9,s), coalesce(s,s9) between concat(s9,s) and concat(s9,s) from c`, `error 1270`},
		{`select concat(s9,s) between sb and sb, sb between concat(s9,s) and sb, coalesce(s,s9) between concat(s9,s) and concat(s9,s) from c`, `0,0,0; 0,1,0`},
		{`select s9 in (s,'a',null) from c`, `error 1271`},
		{`select s9 in (s,null) from c`, `error 1270`},
		{`select left(s9,2) between concat(s,'x') and (s collate utf8mb4_bin), s9 in (s,(s collate utf8mb4_0900_as_ci)), s9 between s and (sb collate utf8mb4_0900_as_ci) from c`, `0,1,1; 0,1,1`},
		{`select s9 in (s, (sb collate utf8mb4_0900_ai_ci)), s9 in ((sb collate utf8mb4_0900_ai_ci), concat(s,'x')), s9 in (s) from c`, `error 1267`},
		{`select s9 in (s, (sb collate utf8mb4_0900_ai_ci)), s9 in ((sb collate utf8mb4_0900_ai_ci), concat(s,'x')) from c`, `1,1; 1,1`},
		{`select coercibility(concat(s,s9)), coercibility(coalesce(s,s9)) from c`, `7,7; 7,7`},
	})
}

// TestNumbersAsDates: numbers of seven digits are days of early years, dates have
// no fraction of a second, and results of regular expressions are numbers without a
// word.
func TestNumbersAsDates(t *testing.T) {
	e := newEngine("nd")
	e.must(t, `create table zz (id int, s varchar(20), i int);
insert into zz values (1,'a',1)`)
	e.answers(t, [][2]string{
		{`select cast(3610218 as date), cast(3610218 as datetime), cast(1000101 as date), cast(700100 as date), cast(991232 as date), cast(2000218.5 as datetime)`, `0361-02-18,0361-02-18 00:00:00,0100-01-01,NULL,NULL,0200-02-18 00:00:00`},
		{`select cast(20240101.5 as datetime(3)), cast(20240101101010.5 as datetime), timestamp(20240101.5)`, `2024-01-01 00:00:00.000,2024-01-01 10:10:11,2024-01-01 00:00:00.0`},
		{`select timestampadd(second, cast(-5 as unsigned), '2024-01-01 00:00:10'), time'10:00:00' + interval cast(-5 as unsigned) second`, `2024-01-01 00:00:05,09:59:55`},
		{`select cast('11111111111' as time), cast('1111111111' as time), cast('4294967295' as time), cast('20240101101010' as time)`, `NULL,838:59:59,NULL,10:10:10`},
		{`select convert_tz(timestamp'2024-03-10 02:30:00.25','America/New_York','Asia/Kolkata'), convert_tz(timestamp'2024-10-27 02:30:00.5','Europe/Berlin','+00:00')`, `2024-03-10 12:30:00.25,2024-10-27 00:30:00.5`},
		{`select cast(18446744073709551515 as time), cast(99 as time)`, `-00:01:01,NULL`},
		{`update zz set i = 2 where 1 = regexp_substr(s,'a') or 1 + regexp_replace(s,'b','c') > 0`, ``},
		{`select i from zz`, `2`},
		{`update zz set i = 3 where id = quote(s)`, `error 1292`},
	})
}

// TestYearsThatAreNone: without strict mode they are stored as 0, and texts of
// digits that do not fit are out of range before they are cut.
func TestYearsThatAreNone(t *testing.T) {
	e := newEngine("yn")
	e.must(t, `create table zz (id int, y year, ti tinyint, u int unsigned, d decimal(20,2), dt date)`)
	e.answers(t, [][2]string{
		{`insert ignore into zz (id,y) values (40,-1),(41,1e3),(42,1000),(43,'abc'),(44,200),(45,99),(46,2156),(47,'-1'),(48,'2156'),(49,1.5),(50,-1.5e0),(51,'0'),(52,'00'),(53,''),(54,'0000'),(55,0)`, ``},
		{`select id, y from zz order by id`, `40,0000; 41,0000; 42,0000; 43,0000; 44,0000; 45,1999; 46,0000; 47,0000; 48,0000; 49,2002; 50,0000; 51,2000; 52,2000; 53,0000; 54,0000; 55,0000`},
	})
	for _, c := range [][2]string{
		{`insert into zz (id,ti) values (60,'2024-02-30')`, "Out of range value for column 'ti' at row 1"},
		{`insert into zz (id,ti) values (60,'30x')`, "Data truncated for column 'ti' at row 1"},
		{`insert into zz (id,u) values (60,'-30x')`, "Out of range value for column 'u' at row 1"},
		{`insert into zz (id,d) values (60,'1e30x')`, "Incorrect decimal value: '1e30x' for column 'd' at row 1"},
		{`insert into zz (id,d) values (60,'1e30')`, "Out of range value for column 'd' at row 1"},
		{`insert into zz (id,dt) values (60,218888179)`, "Incorrect date value: '218888179' for column 'dt' at row 1"},
	} {
		if _, err := e.run(c[0]); err == nil || err.Error() != c[1] {
			t.Errorf("%s: got %v, want %s", c[0], err, c[1])
		}
	}
}

// TestDecimalsInsideJSON: a decimal keeps its digits in documents that are put into
// others, and STRCMP is a truth value there.
func TestDecimalsInsideJSON(t *testing.T) {
	e := newEngine("dj")
	e.must(t, `create table b (id int, e decimal(20,6), js json);
insert into b values (1,1.5,'[1]'),(2,7,'{}')`)
	e.answers(t, [][2]string{
		{`select json_object('j', json_array(cast(e as decimal(12,2)), js)), json_array_insert(cast(json_array(round(e,2), js) as json),'$[1]','x') from b`, `{"j": [1.50, [1]]},[1.50, "x", [1]]; {"j": [7.00, {}]},[7.00, "x", {}]`},
		{`select json_array(strcmp('a','b'), strcmp('b','a'), strcmp('a','a')), json_object('a', strcmp(id,'2')) from b`, `[true, true, false],{"a": false}; [true, true, false],{"a": true}`},
	})
}

// TestAggregatesInLateral: an aggregate of the left side's columns is the inner
// query's, and so is GROUP_CONCAT ordered by an inner column.
func TestAggregatesInLateral(t *testing.T) {
	e := newEngine("al")
	e.must(t, `create table a (id int, i int);
create table b (id int);
insert into a values (1,5),(2,7);
insert into b values (1),(2)`)
	e.answers(t, [][2]string{
		{`select a.id, q.x from a join lateral (select sum(a.i) x from b) q`, `1,10; 2,14`},
		{`select a.id, q.x from a left join lateral (select group_concat(a.i order by b.id desc) x from b where b.id <= a.id) q on q.x is not null`, `1,5; 2,7,7`},
		{`select (select group_concat(b.id order by a.id) from a) from b`, `1,1; 2,2`},
	})
}

// TestEqualTextsOfOuterRows: outer values that are equal under their collation are
// different ones to a subquery that shows them or looks into them.
func TestEqualTextsOfOuterRows(t *testing.T) {
	e := newEngine("eo")
	e.must(t, `create table a (id int, s varchar(20) collate utf8mb4_general_ci, sb varchar(20) collate utf8mb4_bin, js json);
create table b (id int, s varchar(20) collate utf8mb4_general_ci);
insert into a values (1,'abc','x','1'),(2,'ABC','x ','1.0'),(3,'abc ','X','2');
insert into b values (1,'abc'),(2,'b')`)
	e.answers(t, [][2]string{
		{`select a.id, q.x from a left join lateral (select concat(b.s, '-', a.s, '.') as x from b where b.s <= a.s) q on q.x is not null order by a.id`, `1,abc-abc.; 2,abc-ABC.; 3,abc-abc .`},
		{`select id, (select max(concat(b.s, a.s, '.')) from b where b.s = a.s) from a order by id`, `1,abcabc.; 2,abcABC.; 3,abcabc .`},
		{`select id, (select count(*) from b where hex(b.s) = hex(a.s)) from a order by id`, `1,1; 2,0; 3,0`},
		{`select id, (select count(*) from b where length(a.sb) > b.id) from a order by id`, `1,0; 2,1; 3,0`},
		{`select id, (select max(concat(cast(a.js as char), '/', b.id)) from b where b.id < 5) from a order by id`, `1,1/2; 2,1.0/2; 3,2/2`},
		{`select json_search(json_array(json_object('k', timestamp'2024-01-01 00:00:00')), 'all', '%')`, `error 1235`},
		{`select id from a where exists (select 1 from b where binary b.s = binary a.s)`, `1`},
		{`select id from a where 'ABC' in (select concat(a.s, '') collate utf8mb4_bin from b) order by id`, `2`},
	})
}

// TestNotEvaluated: arguments behind one that is NULL are not evaluated, except
// those of arithmetic.
func TestNotEvaluated(t *testing.T) {
	e := newEngine("ne")
	e.must(t, `create table t (id int, s varchar(10), u int unsigned, js json);
insert into t values (1,NULL,1,NULL),(2,'a',5,'[1]')`)
	e.answers(t, [][2]string{
		{`select id, concat(s, u - 2) from t order by id`, `1,NULL; 2,a3`},
		{`select id, concat(u - 2, s) from t`, `error 1690`},
		{`select id, s = u - 2, left(s, u - 4), s between 'a' and u - 2 from t`, `1,NULL,NULL,NULL; 2,0,a,1`},
		{`select id, locate(s, u - 2) from t`, `error 1690`},
		{`select id, left(s, u - 4), repeat(s, u - 3) from t order by id`, `1,NULL,NULL; 2,a,aa`},
		{`select id, s + (u - 2) from t`, `error 1690`},
		{`select id, s in (id, u - 2) from t`, `error 1690`},
	})
}

// TestSumsOfAverages: of averages of subqueries SUM and AVG take all digits.
func TestSumsOfAverages(t *testing.T) {
	e := newEngine("su")
	e.must(t, `create table b (id int, i int);
insert into b values (1,1),(2,1),(3,0)`)
	e.answers(t, [][2]string{
		{`select sum((select avg(i) from b)), avg((select avg(i) from b)), sum((select avg(i) from b) + 0) from b`, `2.0000,0.66666667,2.0001`},
		{`select sum((select avg(x.i) from b x where x.id <> b.id or x.id = 1)) from b`, `2.1667`},
	})
}

// TestTextsAsDates: a text that is no date is less than all dates, but NULL when IF,
// CASE or NULLIF chose it, and a user variable is no constant.
func TestTextsAsDates(t *testing.T) {
	e := newEngine("td")
	e.must(t, `create table ct (id int, dt date, s varchar(20), ts datetime);
insert into ct values (1,'2024-01-01','abc','2024-01-01'),(3,'2024-01-01','2024-01-01','2024-01-01')`)
	e.answers(t, [][2]string{
		{`select dt = s, dt = if(id>0,s,s), dt = coalesce(s), dt = case when id>0 then s end, dt = ifnull(s,s), dt = nullif(s,'q'), dt = greatest(s,'') from ct order by id`, `0,NULL,0,NULL,0,NULL,0; 1,1,1,1,1,1,1`},
		{`select dt = if(id>2,s,id), dt = if(id>0,s,'x'), dt = case id when 1 then s else 7 end from ct order by id`, `NULL,NULL,NULL; 1,1,NULL`},
		{`select last_day(date'2024-01-05') = if(id>2,s,id), date'2024-01-01' = if(id>0,s,s), last_day(dt) > nullif(s,'q') from ct order by id`, `0,0,NULL; 0,1,1`},
		{`select ts < s, ts < if(id>0,s,s), ts < coalesce(s), ts <=> coalesce(s), coalesce(s) < ts from ct order by id`, `0,NULL,0,0,1; 0,0,0,1,0`},
	})
}

// TestWindowKeysBeforeFrames: a position as the key of any window is refused
// before frames are looked at.
func TestWindowKeysBeforeFrames(t *testing.T) {
	e := newEngine("wk")
	e.must(t, `create table b (id int)`)
	e.answers(t, [][2]string{
		{`select count(*) over (order by id range between 10 following and 10 preceding), sum(id) over (partition by 10 order by id) from b`, `error 3592`},
		{`select count(*) over w, sum(id) over (order by id range between 10 following and 10 preceding) from b window w as (partition by 1)`, `error 3592`},
		{`select count(*) over (order by id range between 10 following and 10 preceding) from b`, `error 3586`},
	})
}

// TestYearConstants: a constant beside a YEAR column is a year, of one or two
// digits one of 1970 to 2069; beside what is computed of years, in CASE, and among
// several items of IN it is a number.
func TestYearConstants(t *testing.T) {
	e := newEngine("yc")
	e.must(t, `create table yy (id int, y year);
insert into yy values (1,1970),(2,1999),(3,2001),(4,2024),(5,2069)`)
	e.answers(t, [][2]string{
		{`select group_concat(id order by id) from yy where y > 1`, `4,5`},
		{`select group_concat(id order by id) from yy where 70 = y or y = '24' or y = 1.0`, `1,3,4`},
		{`select group_concat(id order by id) from yy where y between 1 and 30`, `3,4`},
		{`select group_concat(id order by id) from yy where y between 1 and 99`, `NULL`},
		{`select group_concat(id order by id) from yy where y in (70, 24)`, `NULL`},
		{`select group_concat(id order by id) from yy where y in (70)`, `1`},
		{`select group_concat(id order by id) from yy where y >= 100`, `1,2,3,4,5`},
		{`select group_concat(id order by id) from yy where y > 0`, `1,2,3,4,5`},
		{`select group_concat(id order by id) from yy where y > '00'`, `3,4,5`},
		{`select group_concat(id order by id) from yy where coalesce(y) > 1 and y + 0 > 1`, `1,2,3,4,5`},
		{`select id, nullif(y, 70), case y when 99 then 1 end, greatest(y, 70), y <=> 99 from yy where id < 3`, `1,NULL,NULL,1970,0; 2,1999,NULL,1999,1`},
		{`select id from (select id, y as z, max(y) as m from yy group by id, y) q where z > 1 and m > 24`, `5`},
		{`select y from yy group by y having max(y) < 99`, ``},
		{`select count(*) from yy having max(y) > 1`, `5`},
	})
}

// TestEdgesOfNumbers: bit operations take decimals as signed integers; FORMAT
// writes doubles by the fewest digits that are theirs.
func TestEdgesOfNumbers(t *testing.T) {
	e := newEngine("en")
	e.answers(t, [][2]string{
		{`select 18446744073709551615.0 | 0, 9223372036854775808.5 | 0, ~18446744073709551615.0, bit_count(cast('18446744073709551615' as decimal(30))), -1.5 | 0, 18446744073709551615 | 0`,
			`9223372036854775807,9223372036854775807,9223372036854775808,63,18446744073709551614,18446744073709551615`},
		{`select period_add(202401, -3), period_add(202401, -24288), period_add(202401, -30000), period_add(202401, -24289), period_add(202401, 9223372036854775807)`, `202310,0,6148914691236469577,6148914691236517176,3074457345618460944`},
		{`select bit_or(cast('18446744073709551615' as decimal(30))), bit_or('18446744073709551615'), bit_or(-5.5)`, `9223372036854775807,18446744073709551615,18446744073709551610`},
		{`select 0.000000000000000000000000000001 < 99999999999999999999999999999999999999999999999999999999999999999, 0.000000000000000000000000000001 < 99999999999999999999999999999999999999999999999999,
			-99999999999999999999999999999999999999999999999999999999999999999 < 0.000000000000000000000000000001, 99999999999999999999999999999999999999999999999999999999999999999 between 0.000000000000000000000000000001 and 99999999999999999999999999999999999999999999999999999999999999999,
			1 in (0.000000000000000000000000000001, 99999999999999999999999999999999999999999999999999999999999999999), 0.000000000000000000000000000001 = 99999999999999999999999999999999999999999999999999999999999999999`, `1,1,1,1,0,0`},
		{`select format(1e22/3, 3), format(0.1e0+0.2e0, 20), format(1e15/3,6), format(2e0/3,25), format(1e23,0), format(0.15e0,1), format(-0.5e0,0)`,
			`3,333,333,333,333,333,500,000.000,0.30000000000000004000,333,333,333,333,333.300000,0.6666666666666666000000000,100,000,000,000,000,000,000,000,0.2,-0`},
	})
}

// TestTextsOfJSONTable: blanks at the end are cut where a text is too long, and
// always in CHAR; an empty text is the double 0.
func TestTextsOfJSONTable(t *testing.T) {
	e := newEngine("jt")
	e.answers(t, [][2]string{
		{`select length(c), length(v) from json_table('["abc ", "abcd", "ab  ", "a    b", "abc    ", "é  ", "ab "]', '$[*]' columns (c char(3) path '$', v varchar(3) path '$')) j`,
			`2,3; 2,3; 2,4; 3,3; 3,3; NULL,NULL; NULL,NULL`},
		{`select d, f, x, i from json_table('["", " "]', '$[*]' columns (d double path '$', f float path '$', x decimal(8,2) path '$', i int path '$')) j`, `0,0,NULL,NULL; NULL,NULL,NULL,NULL`},
	})
}

// TestMixedCollationsAgain: a mixed text takes the collation of a column beside it,
// even its own, but within one list only another; its minimum is not defined.
func TestMixedCollationsAgain(t *testing.T) {
	e := newEngine("mg")
	e.must(t, `create table cc (id int, s varchar(20) collate utf8mb4_general_ci, s9 varchar(20) collate utf8mb4_0900_ai_ci, sb varchar(20) collate utf8mb4_bin);
insert into cc values (1,'a','b','c')`)
	e.answers(t, [][2]string{
		{`select coercibility(concat(concat(s,s9),sb)), coercibility(coalesce(sb,concat(s,s9))), coercibility(concat(s,s9,sb)), coercibility(concat(s,s9,s)), collation(concat(s,s9,s)), coercibility(concat(s,s9,'a')), coercibility(concat(s,s9,s collate utf8mb4_bin)) from cc`,
			`2,2,7,2,utf8mb4_general_ci,7,0`},
		{`select coercibility(greatest(json_unquote('"a"'), concat(s,s9))), 'A' = greatest(json_unquote('"a"'), left(concat(s,s9),1)), greatest(json_unquote('"a"'), left(concat(s,s9),1)) = 'A', 'B' < greatest(json_unquote('"a"'), left(concat(s,s9),1)) from cc`, `4,0,0,1`},
		{`select greatest(concat(s,s9), sb) = sb, concat(concat(s,s9),sb) = sb from cc`, `1,0`},
		{`select concat(s,s9,sb) = sb from cc`, `error 1267`},
		{`select min(concat(s,s9)) from cc`, `error 1267`},
		{`select max(left(greatest(s,s9), 1)) over () from cc`, `error 1267`},
		{`select group_concat(concat(s,s9)), count(distinct concat(s,s9)) from cc`, `ab,1`},
	})
}

// TestEqualTexts: of equal texts GREATEST gives the last, LEAST the first.
func TestEqualTexts(t *testing.T) {
	e := newEngine("eq")
	e.must(t, `create table ge (id int, s varchar(20) collate utf8mb4_general_ci, s2 varchar(20) collate utf8mb4_general_ci);
insert into ge values (1,'b','B'),(2,'B','b'),(3,'a ','a')`)
	e.answers(t, [][2]string{
		{`select id, greatest('B', s), greatest(s, 'B'), least('B', s), greatest(s, s2), least(s, s2), concat(greatest(s2, s), '!') from ge order by id`, `1,b,B,B,B,b,b!; 2,B,B,B,b,B,B!; 3,B,B,a ,a,a ,a !`},
		{`select greatest('a','b','B'), greatest('b','a','B'), least('c','b','B')`, `B,B,b`},
	})
}

// TestTypesOfJSON: a number made from an unsigned one is one in JSON.
func TestTypesOfJSON(t *testing.T) {
	e := newEngine("tj")
	e.must(t, `create table t (u int unsigned, i int);
insert into t values (5, 5)`)
	e.answers(t, [][2]string{{`select json_type(cast(crc32('a') as json)), json_type(cast(u as json)), json_type(cast(i as json)), json_type('5') from t`, `UNSIGNED INTEGER,UNSIGNED INTEGER,INTEGER,INTEGER`}})
}

// TestDatesWithoutMonth: numbers that are dates without month or day are refused
// where a mode lets them through; as times they are their time of day.
func TestDatesWithoutMonth(t *testing.T) {
	e := newEngine("dm")
	e.answers(t, [][2]string{
		{`select year(2)`, `error 1235`},
		{`select maketime(cast(-1 as unsigned), 30, 0), maketime(-1, 30, 0), maketime(-5 | 7, 0, 0.5)`, `838:59:59,-01:30:00,838:59:59.0`},
		{`select cast(2 as date), cast(32 as date), cast(20240100 as date)`, `NULL,NULL,NULL`},
		{`select time(10000000000), time('10000000000.0'), time(20240100101112), time('20240001101112'), cast('10000001234' as time), time(10000236000), time('2024-00-01 10:00:00'), time('2024-02-30 10:00:00.5'), time('2024-02-292024-02-29'), time('2024-02-29x10:00:00'), time('2024-13-45 10:00:00')`,
			`00:00:00,00:00:00.0,10:11:12,10:11:12,NULL,NULL,10:00:00,10:00:00.5,00:20:24,00:20:24,NULL`},
	})
}

// TestOrderOfCommonColumns: the columns of USING and NATURAL come in the order of
// the first table, of a right join's second.
func TestOrderOfCommonColumns(t *testing.T) {
	e := newEngine("oc")
	from := ` (select 1 as id, 2 as sb, 3 as d) a %s (select 2 as sb, 1 as id, 4 as e) c`
	e.answers(t, [][2]string{
		{`select * from` + fmt.Sprintf(from, "natural right join"), `2,1,4,3`},
		{`select * from` + fmt.Sprintf(from, "natural join"), `1,2,3,4`},
		{`select * from` + fmt.Sprintf(from, "join") + ` using (sb, id)`, `1,2,3,4`},
		{`select * from` + fmt.Sprintf(from, "right join") + ` using (id, sb)`, `2,1,4,3`},
		{`select * from` + fmt.Sprintf(from, "right join") + ` using (id)`, `1,2,4,2,3`},
	})
}
