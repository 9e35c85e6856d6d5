package exec_test

import (
	"testing"

	"github.com/thermocline/thermocline/scan"
)

// TestJSONTable: JSON_TABLE with the answers of MySQL 9.7.
func TestJSONTable(t *testing.T) {
	e := newEngine("jt")
	e.must(t, `create table j (id int, d json, s varchar(100));
insert into j values (1,'[1,2,3]','{"a":1}'),(2,'{"a":[5,6],"b":"x"}','[9]'),(3,NULL,NULL),(4,'[]','[]')`)
	for _, e.opts = range []scan.Options{{}, {BatchRows: 1, Threads: 1}, {BatchRows: 2, Threads: 5}} {
		e.jsonTable(t)
	}
}

func (e *engine) jsonTable(t *testing.T) {
	e.answers(t, [][2]string{
		{`select * from json_table('[1.4,1.5,-2.5,"12"," 7 ","x","1.6",true,false,null,[1],{"a":1},3000000000,1e3]','$[*]' columns(a int path '$' default '-99' on error)) t`, `-2; -99; -99; -99; -99; -99; -99; 0; 1; 1; 1000; 12; 2; NULL`},
		{`select * from json_table('[1.4,300,-1,"12",null]','$[*]' columns(a tinyint unsigned path '$' default '77' on error)) t`, `1; 12; 77; 77; NULL`},
		{`select * from json_table('[1.005,"1.005","abc",1234.5,null,[1],true,1e2]','$[*]' columns(a decimal(5,2) path '$' default '9.99' on error)) t`, `1.00; 1.01; 1.01; 100.00; 9.99; 9.99; 9.99; NULL`},
		{`select * from json_table('[1.5,"2.5","abc",null,true,[1], 1e400]','$[*]' columns(a double path '$' default '9.99' on error)) t`, `error 3141`},
		{`select * from json_table('[1.5,"2.5","abc",null,true,[1]]','$[*]' columns(a double path '$' default '9.99' on error)) t`, `1; 1.5; 2.5; 9.99; 9.99; NULL`},
		{`select * from json_table('["2020-01-02","2020-01-02 03:04:05","x",20200102,null,true]','$[*]' columns(a date path '$' default '"1999-01-01"' on error)) t`, `1999-01-01; 1999-01-01; 2020-01-02; 2020-01-02; 2020-01-02; NULL`},
		{`select * from json_table('["2020-01-02","2020-01-02 03:04:05.678","x",20200102,null,true]','$[*]' columns(a datetime(1) path '$' default '"1999-01-01"' on error)) t`, `1999-01-01 00:00:00.0; 1999-01-01 00:00:00.0; 2020-01-02 00:00:00.0; 2020-01-02 00:00:00.0; 2020-01-02 03:04:05.7; NULL`},
		{`select * from json_table('["03:04:05","2020-01-02 03:04:05.678","x",20200102,null]','$[*]' columns(a time path '$' default '"00:00:01"' on error)) t`, `00:00:01; 00:00:01; 03:04:05; 03:04:06; NULL`},
		{`select * from json_table('["abc","abcd",1.50,true,null,[1,2],{"a":1},12345]','$[*]' columns(a varchar(4) path '$' default '"D"' on error)) t`, `1.5; D; D; D; NULL; abc; abcd; true`},
		{`select * from json_table('["abc",null,[1,2],{"a":1},1.50,"a\\"b"]','$[*]' columns(a json path '$', b text path '$', c char(2) path '$')) t`, `"a\"b",a"b,NULL; "abc",abc,NULL; 1.5,1.5,NULL; NULL,NULL,NULL; [1, 2],NULL,NULL; {"a": 1},NULL,NULL`},
		{`select * from json_table('[{"a":[1,2]},{"a":[3]},{}]','$[*]' columns(a json path '$.a[*]', b int path '$.a[*]' default '-1' on empty default '-2' on error)) t`, `3,3; NULL,-1; [1, 2],-2`},
		{`select * from json_table('[{"a":1}]','$[*]' columns(b int path '$.b' error on empty)) t`, `error 3665`},
		{`select * from json_table('[{"a":[1]}]','$[*]' columns(a int path '$.a' error on error)) t`, `error 3666`},
		{`select * from json_table('[{"a":"abcd"}]','$[*]' columns(a varchar(2) path '$.a' error on error)) t`, `error 3669`},
		{`select * from json_table('[{"a":"x"}]','$[*]' columns(a decimal(4,1) path '$.a' error on error)) t`, `error 3156`},
		{`select * from json_table('[{"a":1000000}]','$[*]' columns(a decimal(4,1) path '$.a' error on error)) t`, `error 3669`},
		{`select * from json_table('[{"a":1000000}]','$[*]' columns(a tinyint path '$.a' error on error)) t`, `error 3669`},
		{`select * from json_table('[{"a":"x"}]','$[*]' columns(a date path '$.a' error on error)) t`, `error 3669`},
		{`select * from json_table('[1','$[*]' columns(a int path '$')) t`, `error 3141`},
		{`select * from json_table('[1]','$[' columns(a int path '$')) t`, `error 3143`},
		{`select * from json_table(NULL,'$[*]' columns(a int path '$')) t`, ``},
		{`select * from json_table('[{"x":[{"y":[1,2]},{"y":[]},{"y":[3]}]},{"x":[]},{}]','$[*]' columns(i for ordinality, nested path '$.x[*]' columns(k for ordinality, nested path '$.y[*]' columns(l for ordinality, v int path '$')))) t`, `1,1,1,1; 1,1,2,2; 1,2,NULL,NULL; 1,3,1,3; 2,NULL,NULL,NULL; 3,NULL,NULL,NULL`},
		{`select * from json_table('[{"x":[1,2],"y":["p","q"]}]','$[*]' columns(i for ordinality, nested path '$.x[*]' columns(x int path '$', xo for ordinality), nested path '$.y[*]' columns(y varchar(5) path '$', yo for ordinality), z json path '$.x')) t`, `1,1,1,NULL,NULL,[1, 2]; 1,2,2,NULL,NULL,[1, 2]; 1,NULL,NULL,p,1,[1, 2]; 1,NULL,NULL,q,2,[1, 2]`},
		{`select id, t.* from j, json_table(j.d, '$[*]' columns(o for ordinality, a int path '$' default '0' on error)) t order by id, o`, `1,1,1; 1,2,2; 1,3,3`},
		{`select id, t.* from j, json_table(j.s, '$' columns(a int path '$.a', e int exists path '$.a')) t order by id`, `1,1,1; 2,NULL,0; 4,NULL,0`},
		{`select id, t.* from j left join json_table(j.d, '$[*]' columns(o for ordinality, a int path '$' default '0' on error)) t on t.a > 1 order by id, o`, `1,2,2; 1,3,3; 2,NULL,NULL; 3,NULL,NULL; 4,NULL,NULL`},
		{`select id, (select sum(a) from json_table(j.d, '$[*]' columns(a int path '$' default '0' on error)) t) s from j order by id`, `1,6; 2,NULL; 3,NULL; 4,NULL`},
		{`select id from j where exists (select 1 from json_table(j.d, '$[*]' columns(a int path '$')) t where t.a = 2)`, `1`},
		{`select id, t.a, u.b from j join json_table(j.d, '$[*]' columns(a int path '$')) t join json_table(j.s, '$[*]' columns(b int path '$')) u order by id, a, b`, ``},
		{`select j1.id, t.a from j j1 join j j2 on j1.id = j2.id, json_table(j1.d, '$[*]' columns(a int path '$')) t where t.a >= 2 order by 1, 2`, `1,2; 1,3`},
		{`select a from json_table('{"a":1}', '$' columns(a int path '$.a')) as t where a = 1`, `1`},
		{`select count(*), max(a) from json_table('[1,2,3]', '$[*]' columns(a int path '$')) as t`, `3,3`},
		{`select id from j, lateral (select a from json_table(j.d, '$[*]' columns(a int path '$')) t order by a desc limit 1) l where l.a is not null order by id`, `1`},
		{`select * from json_table('[1,2]', '$[*]' columns(a int path '$')) as t1, json_table('[3,4]', '$[*]' columns(b int path '$')) as t2 order by a, b`, `1,3; 1,4; 2,3; 2,4`},
		{`select * from json_table('[1]', '$[*]' columns(a int path '$', a int path '$')) as t`, `error 1060`},
		{`select * from json_table('[1]', '$[*]' columns(a int path '$'))`, `error 3667`},
		{`select * from json_table('[1]', '$[*]' columns(a int path '$' default 'x' on empty)) t`, `error 3141`},
		{`select * from json_table('[[1,2],[3]]', '$[*][0]' columns(a int path '$')) t`, `1; 3`},
		{`select * from json_table('[{"a":{"b":[1,{"b":2}]}}]', '$**.b' columns(a json path '$')) t`, `2; [1, {"b": 2}]`},
		{`select * from json_table('[3,1,2]', '$[1 to last]' columns(a int path '$')) t`, `1; 2`},
		{`select * from json_table('{"a":5}', '$.a' columns(a int path '$[0]', b int path '$.x')) t`, `5,NULL`},
		{`select * from json_table('{"a":5}', '$[0]' columns(a int path '$.a')) t`, `5`},
		{`select * from json_table('[1,2]','$[*]' columns(a bigint unsigned path '$', b float path '$', c year path '$')) t`, `1,1,2001; 2,2,2002`},
		{`select * from json_table('[1,2]','$[*]' columns(a blob path '$', c varchar(3) character set latin1 path '$', d timestamp path '$')) t`, `1,1,NULL; 2,2,NULL`},
		{`select * from json_table('[" 7","7 "," 1.5","1.5 ","0x1","1e1"]','$[*]' columns(a int path '$' default '-99' on error, b double path '$' default '-99' on error, c decimal(4,2) path '$' default '-9' on error)) t`, `-99,-99,-9.00; -99,-99,1.50; -99,-99,7.00; -99,1.5,1.50; -99,10,10.00; 7,7,7.00`},
		{`select * from json_table('[70,100,1900,1901,2155,2156,"70","x",true,1.7]','$[*]' columns(a year path '$' default '1990' on error)) t`, `1901; 1970; 1970; 1990; 1990; 1990; 1990; 2001; 2002; 2155`},
	})
}
