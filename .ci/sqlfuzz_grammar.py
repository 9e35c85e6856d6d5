"""Random statements beyond the queries of ../shared/oracles/sqlfuzz.

Gen(seed, setting).statement() gives (kind, statements, whether the last one's order is total).
Statements are small, so that what differs needs no shrinking. What is left out:
what MySQL itself does not decide (ties in any order, members of a group under
a collation without case), and constructs that MySQL does not have.
"""
import random
import re

from sqlfuzz_clauses import Clauses

COLUMNS = [("id", "int not null", "int"), ("i", "int", "int"), ("b", "bigint", "int"), ("u", "int unsigned", "uint"), ("ti", "tinyint", "int"),
           ("d", "decimal(10,2)", "dec"), ("e", "decimal(20,6)", "dec"), ("f", "double", "dbl"), ("bo", "boolean", "bool"),
           ("s", "varchar(20) collate utf8mb4_general_ci", "gtext"), ("s9", "varchar(20) collate utf8mb4_0900_ai_ci", "text"),
           ("sb", "varchar(20) collate utf8mb4_bin", "btext"), ("dt", "date", "date"), ("ts", "datetime", "datetime"),
           ("t3", "datetime(3)", "datetime"), ("tm", "time", "time"), ("js", "json", "json"), ("y", "year", "year"),
           ("bu", "bigint unsigned", "big"), ("fl", "float", "flt"), ("vb", "varbinary(20)", "bin")]


PATTERNS = ["a%", "%b%", "_", "%", "foo\\_%", "%c ", "É%"]


class Gen(Clauses):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.depth = 0
        self.scope = ["t0"]

    def p(self, *xs):
        return self.r.choice(xs)

    def chance(self, x):
        return self.r.random() < x

    # ---- rows of tables

    def value(self, kind):
        r = self.r
        if r.random() < 0.2:
            return "NULL"
        if kind in ("int", "uint", "bool"):
            n = r.choice([0, 1, 1, 2, 3, 5, 7, 10, 42, 100])
            return str(n if kind != "int" or r.random() < 0.7 else -n) if kind != "bool" else str(n % 2)
        if kind == "big":
            return r.choice(["0", "1", "3", "42", "18446744073709551615", "9223372036854775808", "10000000000"])
        if kind == "flt":
            return r.choice(["0", "0.5", "-1.25", "16777216", "1024", "3"])
        if kind == "bin":
            return r.choice(["''", "'a'", "'A'", "'abc'", "0x00c3a9", "0x61"])
        if kind == "dec":
            return r.choice(["0", "1.5", "-2.25", "0.01", "100", "3.14", "-0.5", "99999.99", "7"])
        if kind == "dbl":
            return r.choice(["0", "1.5e0", "-2.5e0", "0.1e0", "1e10", "3.14159e0", "-7e0", "1e-3"])
        if kind in ("text", "gtext", "btext"):
            return "'" + r.choice(["", "a", "A", "b", "abc", "ABC", "abc ", "é", "E", "ß", "ss", "foo_bar", "foo%bar", "10", "3.5x", "中文", "2024-02-29", "x y z", "Zebra"]) + "'"
        if kind == "date":
            return "'" + r.choice(["2024-01-31", "2024-02-29", "2023-12-31", "2000-01-01", "1999-12-31", "2024-03-10", "2022-01-02", "2021-07-04"]) + "'"
        if kind == "datetime":
            return "'" + r.choice(["2024-01-31 00:00:00", "2024-02-29 23:59:59.999", "2023-12-31 12:30:45.5", "2000-01-01 00:00:01", "1999-12-31 23:59:59.001", "2024-03-10 02:30:00"]) + "'"
        if kind == "time":
            return "'" + r.choice(["00:00:00", "23:59:59", "-01:02:03", "100:00:00", "12:34:56", "838:59:59"]) + "'"
        if kind == "year":
            return r.choice(["2024", "1999", "2000", "1970", "2155"])
        return "'" + r.choice(['{}', '[]', '1', '"a"', 'null', 'true', '{"a": 1}', '{"a": {"b": [1, 2]}, "c": "x"}', '[1, "two", null, 3.5]', '{"a": null, "b": [true]}', '[[1], [2, 3]]', '3.5', '"A"', '{"k é": "ß"}']) + "'"

    def setup(self, n):
        out = []
        for t in range(n):
            cols = ", ".join(f"`{c}` {ty}" for c, ty, _ in COLUMNS)
            out.append(f"CREATE TABLE t{t} ({cols}, PRIMARY KEY (id))")
            rows = []
            for k in range(self.r.choice([9, 14, 20])):
                rows.append("(" + ", ".join([str(k)] + [self.value(kind) for _, _, kind in COLUMNS[1:]]) + ")")
            out.append(f"INSERT INTO t{t} VALUES " + ", ".join(rows))
        out.append("CREATE TABLE ch LIKE t0")
        return out

    # ---- expressions

    def col(self, *kinds):
        names = [c for c, _, k in COLUMNS if k in kinds]
        return f"{self.r.choice(self.scope)}.{self.r.choice(names)}"

    def e(self, kind):
        self.depth += 1
        try:
            if self.depth > self.limit:
                return self.leaf(kind)
            return getattr(self, "e_" + kind)()
        finally:
            self.depth -= 1

    limit = 4

    def leaf(self, kind):
        if kind == "num":
            kind = self.p("int", "dec", "dbl", "int")
        lit = self.chance(0.25)
        if kind == "text":
            return self.p("'a'", "'B'", "'abc'", "''", "'10'", "' x '", "'foo'") if lit else self.col(self.p("text", "gtext", "btext"))
        if kind == "bool":
            return self.p("TRUE", "FALSE", "NULL") if lit else self.col("bool")
        if kind == "date":
            return self.p("DATE '2024-02-29'", "DATE '2023-12-31'") if lit else self.col("date")
        if kind == "datetime":
            return self.p("TIMESTAMP '2024-02-29 12:34:56'", "TIMESTAMP '1999-12-31 23:59:59.5'") if lit else self.col("datetime")
        if kind == "time":
            return self.p("TIME '12:00:00'", "TIME '-00:30:00.25'") if lit else self.col("time")
        if kind == "json":
            return self.p("CAST('{\"a\": [1, 2]}' AS JSON)", "CAST('[3, \"a\"]' AS JSON)", "JSON_ARRAY()", "JSON_OBJECT()") if lit else self.col("json")
        if kind == "int":
            return self.p("0", "1", "2", "-3", "10", "7") if lit else self.col("int", "int", "uint")
        if kind == "dec":
            return self.p("0.5", "1.25", "-2.50", "10.0") if lit else self.col("dec")
        if kind == "dbl":
            return self.p("0.5e0", "1e2", "-2.5e0") if lit else self.col("dbl")
        raise ValueError(kind)

    def e_num(self):
        return self.e(self.p("int", "dec", "dbl", "int"))

    def e_int(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("int"), lambda: self.leaf("int"),
            lambda: f"({e('int')} {self.p('+', '-', '*')} {e('int')})",
            lambda: f"({e('int')} {self.p('DIV', '%')} {e('num')})",
            lambda: f"ABS({e('int')})", lambda: f"SIGN({e('num')})", lambda: f"({e('int')} {self.p('&', '|', '^')} 7)",
            lambda: f"LENGTH({e('text')})", lambda: f"CHAR_LENGTH({e('text')})", lambda: f"ASCII({e('text')})",
            lambda: f"LOCATE({e('text')}, {e('text')})", lambda: f"INSTR({e('text')}, 'a')", lambda: f"FIELD({e('text')}, 'a', {e('text')})",
            lambda: f"{self.p('YEAR', 'MONTH', 'DAY', 'QUARTER', 'DAYOFYEAR', 'WEEKDAY', 'DAYOFWEEK', 'TO_DAYS', 'LAST_DAY', 'WEEKOFYEAR', 'YEARWEEK')}({e('date')})",
            lambda: f"WEEK({e('date')}, {self.r.randrange(8)})", lambda: f"DATEDIFF({e('date')}, {e(self.p('date', 'datetime'))})",
            lambda: f"TIMESTAMPDIFF({self.unit()}, {e(self.p('date', 'datetime'))}, {e(self.p('date', 'datetime'))})",
            lambda: f"EXTRACT({self.p('YEAR', 'MONTH', 'HOUR', 'MINUTE', 'SECOND', 'YEAR_MONTH', 'DAY_MINUTE', 'HOUR_SECOND', 'DAY_MICROSECOND', 'MICROSECOND')} FROM {e('datetime')})",
            lambda: f"{self.p('HOUR', 'MINUTE', 'SECOND', 'MICROSECOND', 'TIME_TO_SEC')}({e(self.p('time', 'datetime'))})",
            lambda: f"CAST({e(self.p('num', 'text', 'date', 'time', 'datetime', 'json'))} AS {self.p('SIGNED', 'UNSIGNED', 'SIGNED')})",
            lambda: f"JSON_LENGTH({e('json')}{self.p('', self.path(True))})", lambda: f"JSON_DEPTH({e('json')})",
            lambda: f"IF({e('bool')}, {e('int')}, {e('int')})", lambda: f"COALESCE({e('int')}, {e('int')})", lambda: f"NULLIF({e('int')}, {e('int')})",
            lambda: f"CASE {e('int')} WHEN 1 THEN {e('int')} ELSE {e('int')} END", lambda: f"GREATEST({e('int')}, {e('int')})", lambda: f"LEAST({e('int')}, {e('int')}, 5)",
            lambda: f"FLOOR({e('num')})", lambda: f"CEILING({e('num')})", lambda: f"ROUND({e('int')}, {self.p('-1', '1', '0')})",
            lambda: f"REGEXP_INSTR({e('text')}, {self.regex()})", lambda: f"STRCMP({e('text')}, {e('text')})", lambda: f"INTERVAL({e('int')}, 1, 5, 10)",
            lambda: f"BIT_COUNT({e('int')})", lambda: f"CRC32({e('text')})", lambda: f"FIND_IN_SET({e('text')}, 'a,b,abc')",
        ])()

    def e_dec(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("dec"), lambda: self.leaf("dec"), lambda: f"({e('dec')} {self.p('+', '-', '*', '/', '%')} {e(self.p('dec', 'int'))})",
            lambda: f"({e('int')} / {e('int')})", lambda: f"CAST({e(self.p('num', 'text', 'json', 'time'))} AS DECIMAL(12,{self.p(0, 2, 4)}))",
            lambda: f"ROUND({e('dec')}, {self.p('0', '1', '2', '5', '-1')})", lambda: f"TRUNCATE({e('dec')}, {self.p('0', '1', '-1', '3')})",
            lambda: f"COALESCE({e('dec')}, {e('int')})", lambda: f"GREATEST({e('dec')}, {e('int')})", lambda: f"(-{e('dec')})", lambda: f"ABS({e('dec')})",
            lambda: f"MOD({e('dec')}, {e('dec')})", lambda: f"NULLIF({e('dec')}, {e('num')})",
        ])()

    def e_dbl(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("dbl"), lambda: self.leaf("dbl"), lambda: f"({e('dbl')} {self.p('+', '-', '*', '/')} {e('num')})",
            lambda: f"CAST({e(self.p('num', 'text', 'json'))} AS DOUBLE)", lambda: f"ROUND(SQRT({e('num')}), 6)", lambda: f"ROUND(LN({e('num')}), 6)",
            lambda: f"ROUND(POW({e('int')}, 2), 3)", lambda: f"IFNULL({e('dbl')}, {e('num')})", lambda: f"ROUND({e('dbl')}, {self.p(0, 2, -1)})",
            lambda: f"({e('text')} + 0)", lambda: f"ROUND(ATAN2({e('num')}, {e('num')}), 6)",
        ])()

    def e_text(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("text"), lambda: self.leaf("text"), lambda: f"CONCAT({e('text')}, {e(self.p('text', 'num', 'date'))})",
            lambda: f"{self.p('UPPER', 'LOWER', 'TRIM', 'LTRIM', 'RTRIM', 'REVERSE', 'QUOTE', 'HEX', 'SOUNDEX', 'MD5')}({e('text')})",
            lambda: f"SUBSTRING({e('text')}, {self.p('1', '2', '-2', '0')}{self.p('', ', 2', ', 0')})", lambda: f"{self.p('LEFT', 'RIGHT')}({e('text')}, {self.p('1', '2', '10')})",
            lambda: f"{self.p('LPAD', 'RPAD')}({e('text')}, {self.p('2', '5')}, {self.p(chr(39) + '*' + chr(39), chr(39) + 'xy' + chr(39))})",
            lambda: f"REPLACE({e('text')}, 'a', {e('text')})", lambda: f"INSERT({e('text')}, 2, 1, 'zz')", lambda: f"REPEAT({e('text')}, 2)",
            lambda: f"SUBSTRING_INDEX({e('text')}, '_', {self.p('1', '-1')})", lambda: f"CONCAT_WS('-', {e('text')}, {e('num')}, {e('text')})",
            lambda: f"CAST({e(self.p('num', 'date', 'time', 'datetime', 'json', 'dec', 'dbl'))} AS CHAR{self.p('', '(3)')})",
            lambda: f"FORMAT({e('num')}, {self.p(0, 2)})", lambda: f"ELT({e('int')}, 'x', {e('text')})", lambda: f"IF({e('bool')}, {e('text')}, {e(self.p('text', 'num'))})",
            lambda: f"COALESCE({e('text')}, {e(self.p('text', 'int', 'date'))})", lambda: f"NULLIF({e('text')}, {e('text')})", lambda: f"GREATEST({e('text')}, {e('text')})",
            lambda: f"REGEXP_REPLACE({e('text')}, {self.regex()}, 'R')", lambda: f"REGEXP_SUBSTR({e('text')}, {self.regex()})",
            lambda: f"JSON_UNQUOTE({e('json')})", lambda: f"({self.col('json')} ->> '{self.path()}')", lambda: f"JSON_TYPE({e('json')})", lambda: f"CONV({e('int')}, 10, 16)",
            lambda: f"DATE_FORMAT({e(self.p('date', 'datetime'))}, '{self.p('%Y-%m-%d', '%W %M %e', '%H:%i:%s.%f', '%x %v %a', '%j %U %u', '%D %b %y', '%l %p')}')",
            lambda: f"{self.p('MONTHNAME', 'DAYNAME')}({e('date')})", lambda: f"({e('text')} COLLATE {self.p('utf8mb4_bin', 'utf8mb4_0900_ai_ci', 'utf8mb4_general_ci', 'utf8mb4_0900_as_cs')})",
            lambda: f"CASE WHEN {e('bool')} THEN {e('text')} WHEN {e('bool')} THEN {e('text')} END", lambda: f"BIN({e('int')})", lambda: f"TO_BASE64({e('text')})",
        ])()

    def unit(self):
        return self.p("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND")

    def interval(self):
        return self.r.choice([lambda: f"INTERVAL {self.e(self.p('int', 'dec', 'int'))} {self.unit()}", lambda: f"INTERVAL {self.p('1', '-1', '13')} {self.unit()}",
                              lambda: f"INTERVAL '{self.p('1:2', '-1:30', '1 2', '1.5', '1-2')}' {self.p('DAY_HOUR', 'HOUR_MINUTE', 'MINUTE_SECOND', 'YEAR_MONTH', 'SECOND_MICROSECOND', 'DAY_MINUTE')}"])()

    def e_date(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("date"), lambda: self.leaf("date"), lambda: f"({e('date')} {self.p('+', '-')} INTERVAL {self.p('1', '31', '-1')} {self.p('DAY', 'MONTH', 'YEAR', 'WEEK', 'QUARTER')})",
            lambda: f"DATE({e(self.p('datetime', 'text'))})", lambda: f"LAST_DAY({e('date')})", lambda: f"CAST({e(self.p('datetime', 'text', 'int'))} AS DATE)",
            lambda: f"MAKEDATE(2024, {e('int')})", lambda: f"FROM_DAYS(738000 + {self.leaf('int')})", lambda: f"COALESCE({e('date')}, {e('date')})",
            lambda: f"GREATEST({e('date')}, {e('date')})", lambda: f"STR_TO_DATE({e('text')}, '%Y-%m-%d')", lambda: f"IF({e('bool')}, {e('date')}, NULL)",
        ])()

    def e_datetime(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("datetime"), lambda: self.leaf("datetime"), lambda: f"({e('datetime')} {self.p('+', '-')} {self.interval()})",
            lambda: f"TIMESTAMP({e('date')}, {e('time')})", lambda: f"CAST({e(self.p('date', 'text', 'datetime'))} AS DATETIME{self.p('', '(2)')})",
            lambda: f"TIMESTAMPADD({self.unit()}, {e('int')}, {e(self.p('date', 'datetime'))})", lambda: f"COALESCE({e('datetime')}, {e('date')})",
            lambda: f"LEAST({e('datetime')}, {e('date')})", lambda: f"ADDTIME({self.col('datetime')}, {e('time')})", lambda: f"FROM_UNIXTIME(ABS({self.leaf('int')}) * 86400)",
        ])()

    def e_time(self):
        e = self.e
        return self.r.choice([
            lambda: self.leaf("time"), lambda: self.leaf("time"), lambda: f"TIME({e(self.p('datetime', 'text'))})", lambda: f"TIMEDIFF({self.col('datetime')}, {self.col('datetime')})",
            lambda: f"SEC_TO_TIME({e('num')})", lambda: f"MAKETIME({e('int')}, 30, {e(self.p('int', 'dec'))})", lambda: f"CAST({e(self.p('int', 'datetime', 'text'))} AS TIME{self.p('', '(3)')})",
            lambda: f"({self.leaf('time')} + INTERVAL {self.p('1', '-90', '59')} {self.p('SECOND', 'MINUTE', 'HOUR')})", lambda: f"SUBTIME({self.leaf('time')}, {e('time')})",
        ])()

    def path(self, arg=False):
        x = self.p("$", "$.a", "$.a.b", "$[0]", "$.a.b[1]", "$[1]", "$.*", "$[*]", "$**.b", "$.c", "$[last]", "$.b[0 to 1]")
        return f", '{x}'" if arg else x

    def e_json(self):
        e = self.e
        path = lambda: self.p("$", "$.a", "$.a.b", "$[0]", "$.z", "$[1]", "$.a.b[0]")
        return self.r.choice([
            lambda: self.leaf("json"), lambda: self.leaf("json"), lambda: f"JSON_EXTRACT({e('json')}, '{self.path()}')", lambda: f"JSON_ARRAY({e(self.p('int', 'text', 'json', 'bool', 'dec', 'date'))}, {e('json')})",
            lambda: f"JSON_OBJECT('k', {e(self.p('int', 'text', 'json', 'datetime'))}, 'j', {e('json')})", lambda: f"{self.p('JSON_SET', 'JSON_INSERT', 'JSON_REPLACE')}({e('json')}, '{path()}', {e(self.p('int', 'text', 'json'))})",
            lambda: f"JSON_REMOVE({e('json')}, '{self.p('$.a', '$[0]', '$.a.b')}')", lambda: f"{self.p('JSON_MERGE_PATCH', 'JSON_MERGE_PRESERVE')}({e('json')}, {e('json')})",
            lambda: f"JSON_KEYS({e('json')})", lambda: f"JSON_ARRAY_APPEND({e('json')}, '{path()}', {e('int')})", lambda: f"CAST({e(self.p('int', 'json', 'dec', 'dbl'))} AS JSON)",
            lambda: f"({self.col('json')} -> '{self.path()}')", lambda: f"JSON_SEARCH({e('json')}, '{self.p('one', 'all')}', '{self.p('x', '%', 'two')}')", lambda: f"JSON_QUOTE({e('text')})",
            lambda: f"JSON_ARRAY_INSERT({e('json')}, '{self.p('$[0]', '$[1]')}', {e('text')})", lambda: f"IF({e('bool')}, {e('json')}, {e('json')})",
        ])()

    def regex(self):
        return "'" + self.p("a", "^a", "[a-c]+", "b$", "(a|b)c?", ".", "[[:alpha:]]{2}", "\\\\d+", "x*", "o.b") + "'"

    def e_bool(self):
        e = self.e
        k = self.p("num", "text", "date", "datetime", "time", "int", "text")
        return self.r.choice([
            lambda: self.leaf("bool"), lambda: f"({e(k)} {self.p('=', '<>', '<', '<=', '>', '>=', '<=>')} {e(k)})", lambda: f"({e('int')} = {e(self.p('text', 'dec', 'dbl'))})",
            lambda: f"({e(k)} IS {self.p('', 'NOT ')}NULL)", lambda: f"({e('bool')} {self.p('AND', 'OR', 'XOR')} {e('bool')})", lambda: f"(NOT {e('bool')})",
            lambda: f"({e(k)} BETWEEN {e(k)} AND {e(k)})", lambda: f"({e(k)} {self.p('', 'NOT ')}IN ({e(k)}, {e(k)}, {self.p('NULL', e(k))}))",
            lambda: f"({e('text')} {self.p('', 'NOT ')}LIKE '{self.p(*PATTERNS)}')", lambda: f"({e('text')} REGEXP {self.regex()})",
            lambda: f"({e('bool')} IS {self.p('', 'NOT ')}{self.p('TRUE', 'FALSE', 'UNKNOWN')})", lambda: f"({e('date')} = {e(self.p('text', 'datetime'))})" if self.chance(0.3) else f"({e('date')} < {e('datetime')})",
            lambda: f"JSON_CONTAINS({e('json')}, '{self.p('1', '[1]', '{}')}')", lambda: f"({e('int')} MEMBER OF ({e('json')}))", lambda: f"JSON_CONTAINS_PATH({e('json')}, '{self.p('one', 'all')}', '$.a', '$.a.b')",
            lambda: f"JSON_OVERLAPS({e('json')}, '[1, 2, \"a\"]')", lambda: f"JSON_VALID({e('text')})",
        ])()

    def any(self):
        return self.e(self.p("int", "dec", "dbl", "text", "bool", "date", "datetime", "time", "json", "int", "text"))

    # ---- statements: (text, is the order total)

    def expr(self):
        self.scope = ["t0"]
        w = f" WHERE {self.e('bool')}" if self.chance(0.4) else ""
        return f"SELECT t0.id, {self.any()} AS x, {self.any()} AS y FROM t0{w} ORDER BY t0.id", True

    def only(self, *kinds):
        self.scope = ["t0"]
        self.limit = 5
        return f"SELECT t0.id, {self.e(self.p(*kinds))} AS x FROM t0 ORDER BY t0.id", True

    def json(self):
        return self.only("json", "json", "text", "bool") if self.chance(0.8) else (f"SELECT t0.i, JSON_ARRAYAGG({self.p('t0.s', 't0.d', 't0.js')}) x, JSON_OBJECTAGG(t0.id, t0.{self.p('js', 'i', 's')}) y FROM t0 WHERE t0.id = 3 GROUP BY t0.i", False)

    def date(self):
        return self.only("date", "datetime", "time", "int", "text")

    def text(self):
        return self.only("text", "text", "bool", "int")

    def aggregate(self):
        e = self.e
        d = self.p("", "", "DISTINCT ")
        return self.r.choice([
            lambda: "COUNT(*)", lambda: f"COUNT({d}{self.any()})", lambda: f"SUM({d}{e('num')})", lambda: f"AVG({d}{e(self.p('int', 'dec'))})", lambda: f"{self.p('MIN', 'MAX')}({e(self.p('int', 'dec', 'text', 'date', 'datetime', 'time'))})",
            lambda: f"GROUP_CONCAT({self.col('int', 'text', 'date')} ORDER BY {self.p('1, t0.id', 't0.id', 't0.id DESC')} SEPARATOR ';')" if not d else f"GROUP_CONCAT(DISTINCT {self.col('int')} ORDER BY 1)",
            lambda: f"BIT_OR({self.col('int')})", lambda: f"BIT_XOR({self.col('int')})", lambda: f"ROUND(STDDEV_SAMP({e('num')}), 6)", lambda: f"ROUND(VAR_POP({self.col('int', 'dec')}), 6)",
            lambda: f"SUM({e('bool')})", lambda: f"COUNT(DISTINCT {self.leaf('int')}, {self.leaf('text')})",
        ])()

    def group(self):
        self.scope = ["t0"]
        keys = [self.e(self.p("int", "text", "bool", "date")) for _ in range(self.p(1, 1, 2))]
        roll = self.chance(0.35)
        having = f" HAVING {self.p('COUNT(*) > 1', 'SUM(t0.d) > 1', 'MAX(t0.i) IS NOT NULL', 'a0 IS NOT NULL')}" if self.chance(0.3) else ""
        w = f" WHERE {self.e('bool')}" if self.chance(0.3) else ""
        items = [f"{k} AS k{i}" for i, k in enumerate(keys)] + [f"{self.aggregate()} AS a{i}" for i in range(self.p(1, 2))]
        if roll and self.chance(0.5):
            items.append(f"GROUPING({keys[0]}) AS g")
        return f"SELECT {', '.join(items)} FROM t0{w} GROUP BY {', '.join(keys)}{' WITH ROLLUP' if roll else ''}{having}", False

    def over(self):
        part = f"PARTITION BY {self.p(self.leaf('int'), self.leaf('text'), self.leaf('bool'), self.e('int'))} " if self.chance(0.6) else ""
        mode = self.p("ROWS", "RANGE", "none", "number", "date")
        bound = lambda n, after: self.p("UNBOUNDED " + ("FOLLOWING" if after else "PRECEDING"), "CURRENT ROW", f"{n} PRECEDING", f"{n} FOLLOWING")
        key = "t0.id"
        frame = ""
        if mode == "ROWS":
            frame = f"ROWS BETWEEN {bound(self.p(0, 1, 2), False)} AND {bound(self.p(0, 1, 3), True)}"
        elif mode == "RANGE":
            key = self.p("t0.i", "t0.d", "t0.s", "t0.dt", "t0.id")
            frame = "RANGE BETWEEN " + self.p("UNBOUNDED PRECEDING AND CURRENT ROW", "CURRENT ROW AND UNBOUNDED FOLLOWING", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW")
        elif mode == "number":
            key = self.p("t0.i", "t0.d", "t0.f", "t0.ti") + self.p("", " DESC")
            n = lambda: self.p("0", "1", "2.5", "10")
            frame = f"RANGE BETWEEN {bound(n(), False)} AND {bound(n(), True)}"
        elif mode == "date":
            key = self.p("t0.dt", "t0.ts", "t0.t3") + self.p("", " DESC")
            n = lambda: f"INTERVAL {self.p('1', '30', '2')} {self.p('DAY', 'MONTH', 'YEAR')}"
            frame = f"RANGE BETWEEN {bound(n(), False)} AND {bound(n(), True)}"
        ranked = key.split(" ")[0] == "t0.id"
        f = self.r.choice([
            lambda: f"SUM({self.p('t0.i', 't0.d', 't0.id')})", lambda: "COUNT(*)", lambda: f"COUNT({self.leaf('text')})", lambda: f"AVG({self.p('t0.i', 't0.d')})", lambda: f"{self.p('MIN', 'MAX')}({self.p('t0.i', 't0.d', 't0.dt', 't0.tm')})",
            lambda: f"RANK()", lambda: "DENSE_RANK()", lambda: "ROUND(PERCENT_RANK()", lambda: "ROUND(CUME_DIST()", lambda: f"FIRST_VALUE({self.p('t0.id', 't0.s', 't0.js')})" if ranked else "COUNT(*)",
            lambda: f"LAST_VALUE({self.p('t0.id', 't0.d', 't0.ts')})" if ranked else "COUNT(t0.s)", lambda: f"NTH_VALUE(t0.id, {self.p(1, 2)})" if ranked else "SUM(t0.bo)",
            lambda: f"LAG({self.p('t0.id', 't0.s9', 't0.dt')}{self.p('', ', 2', ', 1, NULL')})" if ranked else "MAX(t0.u)", lambda: f"LEAD(t0.d, 1, {self.p('0', '1.5', 't0.i')})" if ranked else "MIN(t0.f)",
            lambda: f"NTILE({self.p(2, 3)})" if ranked else "RANK()", lambda: "ROW_NUMBER()" if ranked else "DENSE_RANK()", lambda: "BIT_XOR(t0.i)", lambda: "ROUND(STDDEV_POP(t0.d)", lambda: "JSON_ARRAYAGG(t0.i)" if ranked else "SUM(t0.i)",
        ])()
        tail = ", 6)" if f.startswith("ROUND(") else ""
        return f"{f} OVER ({part}ORDER BY {key} {frame}){tail}"

    def window(self):
        self.scope = ["t0"]
        w = f" WHERE {self.e('bool')}" if self.chance(0.2) else ""
        return f"SELECT t0.id, {self.over()} AS x, {self.over()} AS y FROM t0{w} ORDER BY t0.id", True

    def setop(self):
        kinds = [self.p("int", "dec", "dbl", "text", "date", "datetime", "bool", "json") for _ in range(self.p(1, 2))]

        def side(depth):
            if depth > 0 and self.chance(0.4):
                return "(" + chain(depth - 1) + ")"
            self.scope = [self.p("t0", "t1")]
            items = [self.leaf(k) if self.chance(0.85) else self.any() for k in kinds]
            lim = f" ORDER BY id LIMIT {self.p(1, 3, 5)}" if self.chance(0.2) else ""
            q = f"SELECT {', '.join(f'{x} AS c{i}' for i, x in enumerate(items))} FROM {self.scope[0]}{lim}"
            return f"({q})" if lim or self.chance(0.2) else q

        def chain(depth):
            out = side(depth)
            for _ in range(self.p(1, 1, 2)):
                out += f" {self.p('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL', 'INTERSECT ALL')} " + side(depth)
            return out
        return chain(2), False

    def join(self):
        self.scope = ["t0", "t1"]
        k = self.p("int", "text", "date", "dec")
        on = f"{'t0.' + self.p(*[c for c, _, x in COLUMNS if x == k])} = {'t1.' + self.p(*[c for c, _, x in COLUMNS if x == k])}" if k != "text" else f"t0.{self.p('s', 's9', 'sb')} = t1.{self.p('s', 's9', 'sb')}"
        extra = f" AND {self.e('bool')}" if self.chance(0.4) else ""
        sub = self.r.choice([
            lambda: "", lambda: f" WHERE {self.e('bool')}", lambda: f" WHERE t0.i {self.p('IN', 'NOT IN')} (SELECT {self.p('q.i', 'q.ti', 'q.u')} FROM t1 q WHERE q.id {self.p('<', '>', '=')} t0.id)",
            lambda: f" WHERE {self.p('', 'NOT ')}EXISTS (SELECT 1 FROM t1 q WHERE q.{self.p('s', 'i', 'dt')} = t0.{self.p('s', 'i', 'dt')} AND q.id <> t0.id)",
            lambda: f" WHERE t0.d {self.p('>', '<', '=')} {self.p('ALL', 'ANY')} (SELECT q.d FROM t1 q WHERE q.i = t0.i)", lambda: f" WHERE t0.d > (SELECT AVG(q.d) FROM t1 q WHERE q.bo = t0.bo)",
        ])()
        item = self.r.choice([lambda: self.any(), lambda: f"(SELECT {self.p('MAX(q.d)', 'COUNT(*)', 'SUM(q.i)', 'MIN(q.s)')} FROM t1 q WHERE q.{self.p('i', 's')} = t0.{self.p('i', 's')})"])()
        return f"SELECT t0.id a, t1.id b, {item} AS x FROM t0 {self.p('JOIN', 'LEFT JOIN', 'RIGHT JOIN')} t1 ON {on}{extra}{sub}", False

    def assign(self, c, kind):
        if self.chance(0.15):
            return f"{c} = {self.p('NULL', 'DEFAULT')}"
        k = {"uint": "int", "gtext": "text", "btext": "text", "year": "int", "big": "int", "flt": "dbl", "bin": "text"}.get(kind, kind)
        x = self.any() if self.chance(0.2) else self.e(k)
        return f"{c} = {x}"

    def dml(self):
        """A script that ends with a query of the table."""
        self.scope = ["ch"]
        self.limit = 3
        cols = [(c, k) for c, _, k in COLUMNS[1:]]
        out = ["DELETE FROM ch", "INSERT INTO ch SELECT * FROM t0"]
        for _ in range(self.p(1, 2)):
            sets = ", ".join(self.assign(*self.p(*cols)) for _ in range(self.p(1, 2)))
            w = f" WHERE {self.e('bool')}" if self.chance(0.8) else ""
            lim = f" ORDER BY id {self.p('', 'DESC ')}LIMIT {self.p(1, 3)}" if self.chance(0.2) else ""
            out.append(self.r.choice([
                lambda: f"UPDATE {self.p('', '', 'IGNORE ')}ch SET {sets}{w}{lim}", lambda: f"UPDATE ch SET {sets}{w}{lim}", lambda: f"DELETE FROM ch{w}{lim}",
                lambda: f"UPDATE ch JOIN t1 ON ch.id = t1.id SET {'ch.' + sets.split(', ')[0]}" if self.chance(0.5) else f"DELETE FROM ch WHERE ch.i IN (SELECT i FROM t1)",
                lambda: f"{self.p('INSERT', 'REPLACE', 'INSERT IGNORE')} INTO ch (id, i, s, dt) SELECT id + {self.p(3, 100)}, i, s, dt FROM t1", lambda: f"INSERT INTO ch (id, i) VALUES ({self.p(1, 200)}, 5) ON DUPLICATE KEY UPDATE i = i + VALUES(i), s = CONCAT(s, 'x')",
                lambda: f"{self.p('INSERT', 'INSERT IGNORE', 'REPLACE')} INTO ch (id, {self.p(*cols)[0]}) VALUES ({self.p(300, 1)}, {self.any() if False else self.p(chr(39) + 'abc' + chr(39), '1e3', '-1', '2024', chr(39) + '2024-02-30' + chr(39), chr(39) + '12:30' + chr(39), '123456789012', chr(39) + '{}' + chr(39))})",
            ])())
        return out + ["SELECT * FROM ch ORDER BY id"], True

    # ---- constructs that the other generators leave out

    def k(self):
        """Columns that may be equal."""
        c = self.p("i", "ti", "s", "dt", "bo", "id")
        return c, c

    def lateral(self):
        self.scope = ["t1", "t0"] if self.chance(0.5) else ["t1"]
        self.limit = 3
        a, b = self.k()
        w = f" WHERE t1.{a} {self.p('=', '=', '<=', '<>')} t0.{b}" if self.chance(0.8) else ""
        item = self.r.choice([lambda: self.any(), lambda: self.aggregate().replace("t0.id", "t1.id"), lambda: self.p("t1.i + t0.i", "CONCAT(t1.s, t0.s)", "t1.d * t0.id")])()
        lim = f" ORDER BY t1.id LIMIT {self.p(1, 2)}" if "(" not in item and self.chance(0.5) else ""
        q = f"(SELECT {item} AS x FROM t1{w}{lim}) q"
        return f"SELECT t0.id, q.x FROM t0 {self.p('JOIN LATERAL ' + q + ' ON TRUE', 'LEFT JOIN LATERAL ' + q + ' ON q.x IS NOT NULL', ', LATERAL ' + q, 'LEFT JOIN LATERAL ' + q + ' ON TRUE')}", False

    def recursive(self):
        n = self.p(3, 5, 8)
        start, step = self.p(("1", "v + 1"), ("1", "v * 2"), ("CAST('a' AS CHAR(20))", "CONCAT(v, 'b')"), ("CAST(1 AS DECIMAL(20, 4))", "v / 2"), ("DATE '2024-01-31'", "v + INTERVAL 1 MONTH"), ("1e0", "v * 1.5e0"),
                             ("CAST(0 AS SIGNED)", "n - v"), ("CAST(NULL AS SIGNED)", "COALESCE(v, n)"))
        r = f"WITH RECURSIVE r (n, v) AS (SELECT 1, {start} UNION {self.p('ALL ', '')}SELECT n + 1, {step} FROM r WHERE n < {n})"
        return r + self.p(" SELECT * FROM r", " SELECT n, v, (SELECT COUNT(*) FROM t0 WHERE t0.id < n) FROM r", " SELECT r.v, t0.i FROM r LEFT JOIN t0 ON t0.id = r.n", " SELECT COUNT(*), MAX(v), MIN(n) FROM r",
                          " SELECT a.n, b.v FROM r a JOIN r b ON a.n = b.n + 1", " SELECT n % 2, SUM(n), COUNT(v) FROM r GROUP BY n % 2"), False

    def walk(self):
        """A hierarchy: each row's parent is id DIV 2."""
        return (f"WITH RECURSIVE h AS (SELECT id, 0 AS depth, CAST(id AS CHAR(60)) AS path FROM t0 WHERE id = {self.p(0, 1, 2)} UNION ALL SELECT t0.id, h.depth + 1, CONCAT(h.path, '/', t0.id) "
                f"FROM h JOIN t0 ON t0.id DIV {self.p(2, 3)} = h.id AND t0.id > h.id) SELECT {self.p('*', 'depth, COUNT(*), MAX(path)')} FROM h{'' if self.chance(0.3) else ''}").replace("depth, COUNT(*), MAX(path) FROM h", "depth, COUNT(*), MAX(path) FROM h GROUP BY depth"), False

    def jsontable(self):
        p = lambda: self.p("$", "$.a", "$[0]", "$.a.b", "$.b", "$.c")
        kind = lambda: self.p("INT", "VARCHAR(10)", "DECIMAL(8,2)", "DOUBLE", "JSON", "CHAR(3)", "BIGINT UNSIGNED")
        on = lambda: self.p("", " NULL ON EMPTY", " DEFAULT '7' ON EMPTY", " NULL ON ERROR", " DEFAULT '1' ON EMPTY NULL ON ERROR", " DEFAULT '3' ON EMPTY DEFAULT '4' ON ERROR")
        cols = ["o FOR ORDINALITY"] + [f"c{i} {kind()} PATH '{p()}'{on()}" for i in range(self.p(1, 2))]
        if self.chance(0.3):
            cols.append(f"e INT EXISTS PATH '{p()}'")
        if self.chance(0.4):
            cols.append(f"NESTED PATH '{self.p('$[*]', '$.a[*]', '$.b[*]', '$.a.b[*]')}' COLUMNS (n FOR ORDINALITY, m {self.p('JSON', 'VARCHAR(20)')} PATH '$')")
        doc = self.p("t0.js", "t0.js", "JSON_ARRAY(t0.i, t0.s, t0.js)", "'[1, {\"a\": 2}, [3, 4], \"x\"]'", "JSON_OBJECT('a', t0.js, 'b', JSON_ARRAY(t0.id, t0.u))")
        return f"SELECT t0.id, j.* FROM t0 {self.p('JOIN', 'LEFT JOIN')} JSON_TABLE({doc}, '{self.p('$', '$[*]', '$.a', '$.*', '$.a[*]')}' COLUMNS ({', '.join(cols)})) j ON {self.p('TRUE', 'TRUE', 'j.o = 1')}", False

    def rollup(self):
        self.scope = ["t0"]
        self.limit = 2
        keys = [self.p("t0.i", "t0.ti", "t0.bo", "t0.dt", "t0.id DIV 4", "t0.sb", "MONTH(t0.dt)", "t0.u % 3") for _ in range(self.p(1, 2, 2, 3))]
        keys = list(dict.fromkeys(keys))
        items = [f"{k} AS k{i}" for i, k in enumerate(keys)] + [self.aggregate() + " AS a", f"GROUPING({', '.join(keys)}) AS g"]
        if self.chance(0.3):
            k = self.p(*[k for k in keys if re.fullmatch(r"t0\.\w+", k)] or ["1"])
            items.append(self.p(f"IF(GROUPING({keys[0]}), 'all', {k})", f"COALESCE({k}, -1)", "SUM(COUNT(*)) OVER ()", f"{k} IS NULL") + " AS x")
        h = f" HAVING {self.p(f'GROUPING({keys[0]}) = 1' if keys[0][3:].isidentifier() else 'g = 1', 'g > 0', 'COUNT(*) > 1', f'k{len(keys) - 1} IS NOT NULL')}" if self.chance(0.4) else ""
        return f"SELECT {', '.join(items)} FROM t0{' WHERE ' + self.e('bool') if self.chance(0.3) else ''} GROUP BY {', '.join(keys)} WITH ROLLUP{h}", False

    def named(self):
        self.scope = ["t0"]
        k = self.p("t0.i", "t0.d", "t0.dt", "t0.s9", "t0.f")
        p = self.p("", "PARTITION BY t0.bo ", "PARTITION BY t0.ti ", "PARTITION BY t0.i % 2 ")
        frame = self.p("", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS 1 PRECEDING", "ROWS BETWEEN 3 FOLLOWING AND 5 FOLLOWING", "ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING")
        f = self.p("SUM(t0.d)", "AVG(t0.i)", "COUNT(t0.s)", "MIN(t0.dt)", "MAX(t0.tm)", "FIRST_VALUE(t0.sb)", "LAST_VALUE(t0.e)", "NTH_VALUE(t0.i, 2)", "VAR_SAMP(t0.i) * 0", "BIT_OR(t0.u)", "GROUP_CONCAT(t0.id)")
        if f.startswith("GROUP_CONCAT"):
            f = "SUM(t0.f)"
        return (f"SELECT t0.id, {f} OVER w AS x, {self.p('ROW_NUMBER()', 'RANK()', 'LAG(t0.i, 2, 0)', 'LEAD(t0.sb)', 'ROUND(CUME_DIST() OVER w, 6) + 0 * ROW_NUMBER()', 'NTILE(4)')} OVER (u) {self.p('+ 0', '')} AS y "
                f"FROM t0 WINDOW u AS ({p}ORDER BY {k}{self.p('', ' DESC')}, t0.id), w AS (u {frame}) ORDER BY {self.p('t0.id', 'RANK() OVER u, t0.id')}").replace("LEAD(t0.sb) OVER (u) + 0", "LEAD(t0.sb) OVER (u)"), True

    def overgroups(self):
        g = self.p("t0.bo", "t0.ti", "t0.i % 3", "t0.dt")
        f = self.p("SUM(SUM(t0.d))", "SUM(COUNT(*))", "MAX(COUNT(*))", "RANK()", "LAG(COUNT(*))", "AVG(SUM(t0.i))", "FIRST_VALUE(MIN(t0.id))", "SUM(AVG(t0.i))")
        return f"SELECT {g} AS g, COUNT(*) AS n, {f} OVER (ORDER BY {self.p('COUNT(*), MIN(t0.id)', 'MIN(t0.id)', 'SUM(t0.d), MIN(t0.id)')}) AS x FROM t0 GROUP BY {g}{self.p('', ' HAVING COUNT(*) > 1')}", False

    def collate(self):
        self.scope = ["t0"]
        self.limit = 3
        t = lambda: self.p("t0.s", "t0.s9", "t0.sb", "'a'", "'É'", "CONCAT(t0.s, 'x')", "UPPER(t0.sb)", "CAST(t0.i AS CHAR)", "CONCAT(t0.s, t0.s9)", "LEFT(t0.s9, 2)", "JSON_UNQUOTE(t0.js)", "COALESCE(t0.s9, t0.sb)",
                           "(t0.s COLLATE utf8mb4_bin)", "(t0.sb COLLATE utf8mb4_0900_ai_ci)", "(t0.s9 COLLATE utf8mb4_unicode_ci)", "(t0.s COLLATE utf8mb4_0900_as_ci)", "(t0.sb COLLATE utf8mb4_0900_bin)")
        x = self.r.choice([lambda: f"{t()} {self.p('=', '<', '>=', '<=>', '<>')} {t()}", lambda: f"{t()} IN ({t()}, {t()})", lambda: f"{t()} BETWEEN {t()} AND {t()}", lambda: f"{t()} LIKE {self.p(chr(39) + 'a%' + chr(39), t())}", lambda: f"STRCMP({t()}, {t()})",
                           lambda: f"LOCATE({t()}, {t()})", lambda: f"FIELD({t()}, {t()}, {t()})", lambda: f"COLLATION({t()})", lambda: f"COERCIBILITY({t()})", lambda: f"GREATEST({t()}, {t()}) = {t()}", lambda: f"NULLIF({t()}, {t()})",
                           lambda: f"COLLATION(CONCAT({t()}, {t()}))", lambda: f"HEX(WEIGHT_STRING({self.p('t0.s', 't0.s9', 't0.sb')}))", lambda: f"REPLACE({t()}, {t()}, '-')", lambda: f"IF({t()} = {t()}, {t()}, {t()})", lambda: f"CASE {t()} WHEN {t()} THEN 1 END"])()
        if self.chance(0.25):
            c = self.p("t0.s", "t0.s9", "t0.sb", "t0.s COLLATE utf8mb4_0900_as_cs", "t0.sb COLLATE utf8mb4_general_ci")
            return self.p(f"SELECT COUNT(DISTINCT {c}) AS x, MIN(t0.id) AS y FROM t0 GROUP BY {c}", f"SELECT COUNT(*), MAX(t0.id) FROM t0 JOIN t1 ON {c} = t1.{self.p('s', 's9', 'sb')}", f"SELECT t0.id FROM t0 ORDER BY {c}, t0.id LIMIT 7",
                          f"SELECT t0.id, DENSE_RANK() OVER (ORDER BY {c}) AS x FROM t0", f"SELECT COUNT(*) FROM (SELECT {c} FROM t0 {self.p('UNION', 'INTERSECT', 'EXCEPT')} SELECT t1.s9 FROM t1) q"), False
        return f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id", True

    def zone(self):
        self.scope = ["t0"]
        self.limit = 3
        z = lambda: self.p("'+00:00'", "'+05:30'", "'-08:00'", "'Europe/Berlin'", "'America/New_York'", "'Asia/Kolkata'", "'nowhere'", "'Australia/Lord_Howe'")
        ts = lambda: self.p("t0.ts", "t0.t3", "TIMESTAMP '2024-03-31 02:30:00'", "TIMESTAMP '2024-10-27 02:30:00'", "TIMESTAMP '2024-03-10 02:30:00.25'", "t0.dt", "TIMESTAMP '2024-01-01 00:00:00+02:00'", "'2024-06-01 12:00:00-03:00'")
        x = self.r.choice([lambda: f"CONVERT_TZ({ts()}, {z()}, {z()})", lambda: f"UNIX_TIMESTAMP({ts()})", lambda: f"FROM_UNIXTIME({self.p('0', '86400', '1711846800', '1729989000.5', 't0.b * 1000', 't0.d')}{self.p('', ', ' + chr(39) + '%Y %H:%i:%s' + chr(39))})",
                           lambda: f"CAST({ts()} AS DATETIME(3))", lambda: f"{ts()} = CONVERT_TZ({ts()}, '+00:00', {z()})", lambda: f"DATE({ts()} + {self.interval()})", lambda: f"TIMESTAMPDIFF({self.unit()}, {ts()}, {ts()})",
                           lambda: f"CAST({ts()} AT TIME ZONE '+00:00' AS CHAR)" if False else f"HOUR({ts()})", lambda: f"NOW() - {self.interval()}", lambda: f"UTC_TIMESTAMP() + INTERVAL t0.id {self.unit()}", lambda: f"CURDATE() + INTERVAL t0.ti {self.unit()}"])()
        return [f"SET time_zone = {self.p(chr(39) + '+00:00' + chr(39), chr(39) + 'Europe/Berlin' + chr(39), chr(39) + 'America/New_York' + chr(39), chr(39) + '-03:30' + chr(39))}", f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id"], True

    def decimal(self):
        d = lambda: self.p("t0.d", "t0.e", "CAST(t0.d AS DECIMAL(65,30))", "CAST(t0.e AS DECIMAL(30,30))", "CAST(t0.i AS DECIMAL(65,0))", "99999999999999999999.999999", "0.000000000000000000000000000001", "CAST(t0.f AS DECIMAL(20,10))", "-0.5", "12345678901234567890123456789.0",
                           "t0.b", "CAST('1e10' AS DECIMAL(20,5))", "t0.u", "1.10")
        x = self.r.choice([lambda: f"{d()} {self.p('+', '-', '*', '/', '%', 'DIV')} {d()}", lambda: f"({d()} * {d()}) {self.p('/', '+', '*')} {d()}", lambda: f"ROUND({d()}, {self.p('0', '2', '-2', '10', '31', 't0.id - 4')})", lambda: f"TRUNCATE({d()} / 3, {self.p('2', '5', '-1')})",
                           lambda: f"CAST({d()} AS DECIMAL({self.p('10,2', '5,5', '65,30', '3,1')}))", lambda: f"{d()} {self.p('=', '<', '<=>', '>=')} {d()}", lambda: f"FORMAT({d()}, {self.p(0, 2, 4)})", lambda: f"CAST({d()} AS {self.p('SIGNED', 'CHAR', 'DOUBLE', 'UNSIGNED')})",
                           lambda: f"{self.p('FLOOR', 'CEILING', 'ABS', 'SIGN', '-')}({d()})", lambda: f"{d()} BETWEEN {d()} AND {d()}", lambda: f"COALESCE(NULLIF({d()}, {d()}), {d()})", lambda: f"CONCAT({d()} / 7)", lambda: f"{d()} IN ({d()}, {d()})"])()
        if self.chance(0.3):
            a = f"{self.p('SUM', 'AVG', 'MAX', 'MIN', 'COUNT(DISTINCT', 'SUM(DISTINCT', 'AVG(DISTINCT')}"
            a = f"{a}{' ' if a.endswith('DISTINCT') else '('}{x})"
            return f"SELECT t0.bo AS g, {a} AS x FROM t0 GROUP BY t0.bo", False
        return ([f"SET div_precision_increment = {self.p(0, 2, 8, 30)}"] if self.chance(0.2) else []) + [f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id"], True

    def correlated(self):
        """Subqueries of outer columns in every clause."""
        a, b = self.k()
        n = self.alias()
        cond = self.p(f"{n}.{a} = t0.{b}", f"{n}.id < t0.id", f"{n}.{a} = t0.{b} AND {n}.id <> t0.id", f"{n}.i > t0.i OR {n}.s = t0.s", f"{n}.{a} <=> t0.{b}", f"{n}.d < t0.d", f"{n}.id = t0.id + 1")
        f = self.p("COUNT(*)", "MAX({0}.i)", "SUM({0}.d)", "MIN({0}.dt)", "COUNT({0}.s)", "AVG({0}.i)", "MAX({0}.i) + t0.id", "SUM({0}.i * t0.i)", "COUNT(DISTINCT {0}.ti)").format(n)
        one = f"(SELECT {f} FROM t1 {n} WHERE {cond})"
        first = f"(SELECT {n}.{self.p('i', 'd', 'dt', 'sb', 'id')} FROM t1 {n} WHERE {cond} ORDER BY {n}.id LIMIT 1)"
        sub = self.p(one, one, first, f"(SELECT {f} FROM t1 {n} WHERE {cond} HAVING COUNT(*) > 1)", f"(SELECT MAX(x) FROM (SELECT {n}.i AS x FROM t1 {n} WHERE {cond}) q)",
                     f"(SELECT COUNT(*) FROM t1 {n} WHERE {cond} AND EXISTS (SELECT 1 FROM t0 z WHERE z.id = {n}.id AND z.i <= t0.i))")
        member = self.p(f"t0.i {self.p('IN', 'NOT IN')} (SELECT {n}.{self.p('i', 'ti', 'd')} FROM t1 {n} WHERE {cond})", f"{self.p('', 'NOT ')}EXISTS (SELECT 1 FROM t1 {n} WHERE {cond})", f"t0.d {self.p('>', '<=', '=', '<>')} {self.p('ANY', 'ALL')} (SELECT {n}.d FROM t1 {n} WHERE {cond})",
                        f"(t0.i, t0.bo) {self.p('IN', 'NOT IN')} (SELECT {n}.i, {n}.bo FROM t1 {n} WHERE {cond})", f"{one} > 1", f"{first} IS NULL", f"(t0.i, t0.d) = (SELECT {n}.i, {n}.d FROM t1 {n} WHERE {cond} ORDER BY {n}.id LIMIT 1)")
        return self.r.choice([
            lambda: (f"SELECT t0.id, {sub} AS x FROM t0 ORDER BY t0.id", True), lambda: (f"SELECT t0.id FROM t0 WHERE {member} ORDER BY t0.id", True), lambda: (f"SELECT t0.id, {member} AS x FROM t0 ORDER BY t0.id", True),
            lambda: (f"SELECT t0.id FROM t0 ORDER BY {one}, t0.id", True), lambda: (f"SELECT t0.id, CASE WHEN {member} THEN {sub} ELSE t0.i END AS x FROM t0 ORDER BY t0.id", True), lambda: (f"SELECT {one} AS k, COUNT(*) FROM t0 GROUP BY k", False),
            lambda: (f"SELECT t0.bo, COUNT(*) FROM t0 GROUP BY t0.bo HAVING {self.p(f'(SELECT COUNT(*) FROM t1 {n} WHERE {n}.bo = t0.bo) > 1', f'MAX(t0.i) {self.p(chr(73) + chr(78), chr(62) + chr(32) + chr(65) + chr(76) + chr(76))} (SELECT {n}.i FROM t1 {n} WHERE {n}.bo <=> t0.bo)')}", False),
            lambda: (f"SELECT t0.id, y.id AS b FROM t0 {self.p('JOIN', 'LEFT JOIN')} t1 y ON y.i = t0.i AND {member}", False), lambda: (f"SELECT SUM({one}) AS x, COUNT({first}) AS y FROM t0", True),
            lambda: (f"SELECT t0.id, SUM({one}) OVER (ORDER BY t0.id) AS x FROM t0 ORDER BY t0.id", True), lambda: (f"SELECT q.x, COUNT(*) FROM (SELECT {sub} AS x FROM t0 WHERE {member}) q GROUP BY q.x", False),
        ])()

    def alias(self):
        self.n = getattr(self, "n", 0) + 1
        return f"q{self.n}"

    def variable(self):
        self.scope = ["t0"]
        self.limit = 2
        k = self.p("int", "dec", "dbl", "text", "date", "datetime", "bool", "json")
        v = {"int": "7", "dec": "1.50", "dbl": "2.5e0", "text": "'abc'", "date": "DATE '2024-02-29'", "datetime": "TIMESTAMP '2024-02-29 10:00:00'", "bool": "TRUE", "json": "CAST('[1]' AS JSON)"}[k]
        v = self.p(v, v, "NULL", "(SELECT MAX(t0.i) FROM t0)", "(SELECT SUM(t0.d) FROM t0)", "(SELECT MIN(t0.s9) FROM t0)", "1 + 1", "CONCAT('a', 1)", "1 / 3")
        use = self.p("@v", "@v + t0.i", "CONCAT(@v, t0.s)", "@v = t0.i", "COALESCE(@v, t0.d)", "@v IS NULL", "t0.i IN (@v, 1)", "IF(t0.id > 3, @v, t0.s)", "CAST(@v AS CHAR)", "@v * 2", "(SELECT COUNT(*) FROM t1 WHERE t1.i > @v)", "LENGTH(@v)", "@none", "@v LIKE 'a%'", "@v < t0.dt")
        return [f"SET @v = {v}", f"SELECT t0.id, {use} AS x FROM t0 ORDER BY t0.id"], True

    def mode(self):
        self.scope = ["t0"]
        self.limit = 4
        m = self.p("", "PIPES_AS_CONCAT", "NO_UNSIGNED_SUBTRACTION", "ANSI_QUOTES", "HIGH_NOT_PRECEDENCE", "NO_BACKSLASH_ESCAPES", "TIME_TRUNCATE_FRACTIONAL", "ERROR_FOR_DIVISION_BY_ZERO", "STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY", "IGNORE_SPACE", "ANSI", "TRADITIONAL", "REAL_AS_FLOAT")
        x = self.r.choice([lambda: self.any(), lambda: self.any(), lambda: f"{self.leaf('text')} || {self.leaf('text')}", lambda: "t0.u - t0.id", lambda: "NOT t0.i BETWEEN 0 AND 5", lambda: "'a\\nb'", lambda: f"CAST({self.leaf('datetime')} AS DATETIME)", lambda: "t0.i / 0", lambda: "MOD(t0.i, 0)",
                           lambda: "COUNT (*)" if "IGNORE_SPACE" in m or m == "ANSI" else "1", lambda: f"CAST({self.leaf('dbl')} AS REAL)", lambda: "CAST('2024-01-31 10:00:00.987' AS DATETIME(1))"])()
        if "COUNT" in x:
            return [f"SET sql_mode = '{m}'", f"SELECT {x} AS x FROM t0"], True
        return [f"SET sql_mode = '{m}'", f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id"], True

    def loose(self):
        """Changes without strict mode: values are cut, not refused."""
        script, total = self.dml()
        return ["SET sql_mode = ''"] + script, total

    def reads(self):
        """Statements that change one table by what they read in others."""
        a, b = self.k()
        agg = self.p("MAX(t1.i)", "SUM(t1.i)", "COUNT(*)", "MIN(t1.ti)")
        out = ["DELETE FROM ch", "INSERT INTO ch SELECT * FROM t0"]
        for _ in range(self.p(1, 2)):
            out.append(self.r.choice([
                lambda: f"INSERT INTO ch (id, i, s) SELECT 200 + t0.id, t1.i, t0.s FROM t0 JOIN t1 ON t0.id = t1.id WHERE t0.{a} {self.p('=', '<>', '<=>')} t1.{b}", lambda: f"INSERT INTO ch (id, i, d) SELECT 300 + t0.ti, {agg.replace('t1', 't0')}, AVG(t0.d) FROM t0 WHERE t0.ti >= 0 GROUP BY t0.ti",
                lambda: f"UPDATE ch SET i = (SELECT {agg} FROM t1 WHERE t1.{a} = ch.{b})", lambda: f"UPDATE ch, t1 SET ch.i = t1.i, ch.s = t1.s WHERE ch.id = t1.id AND ch.{a} {self.p('=', '<>', '<=')} t1.{b}", lambda: f"UPDATE ch LEFT JOIN t1 ON ch.id = t1.id AND t1.i > 1 SET ch.d = COALESCE(t1.d, -1)",
                lambda: f"DELETE FROM ch WHERE {self.p('', 'NOT ')}EXISTS (SELECT 1 FROM t1 WHERE t1.{a} = ch.{b})", lambda: f"DELETE ch FROM ch JOIN t1 ON ch.id = t1.id WHERE t1.{a} {self.p('=', '<>')} ch.{b}", lambda: f"DELETE FROM ch WHERE i {self.p('IN', 'NOT IN')} (SELECT {self.p('i', 'ti')} FROM t1 WHERE id > {self.p(2, 5)})",
                lambda: f"REPLACE INTO ch (id, i, dt) SELECT id, i, dt FROM t1 WHERE {self.p('i > 0', 's IS NULL', 'id % 2 = 0')}", lambda: "INSERT INTO ch (id, i) SELECT id, i FROM t1 ON DUPLICATE KEY UPDATE i = COALESCE(ch.i, 0) + VALUES(i)",
                lambda: f"INSERT INTO ch (id, js, tm) SELECT 400 + id, JSON_ARRAY(i, s), tm FROM t1 UNION SELECT 500 + id, js, NULL FROM t0", lambda: f"UPDATE ch SET d = d * 2, i = CASE WHEN e > 5 THEN 1 ELSE i END WHERE id IN (SELECT id FROM t1 WHERE d IS NOT NULL)",
            ])())
        return out + ["SELECT * FROM ch ORDER BY id"], True

    KINDS = ("expr expr json date text window window setop group group join dml lateral recursive walk jsontable rollup named overgroups collate collate zone decimal correlated correlated correlated variable mode loose reads").split() + Clauses.MORE

    def statement(self):
        kind = self.p(*self.KINDS)
        script, total = getattr(self, kind)()
        return kind, [script] if isinstance(script, str) else script, total
