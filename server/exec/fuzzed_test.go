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
		{`select greatest(d,'x') from g1`, `error 1525`},
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
