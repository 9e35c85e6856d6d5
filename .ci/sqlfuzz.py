"""Random statements on two servers of the MySQL protocol, answers compared.

  sqlfuzz.py --oracle HOST:PORT:USER:PASSWORD --sut HOST:PORT:USER:PASSWORD [--seed 1] [--queries 1000]
             [--kinds expr,json,date,text,window,setop,group,join,dml] [--warnings] [--out FILE.jsonl] [--print]

It covers what ../shared/oracles/sqlfuzz leaves out: frames of windows, nested set
operations, JSON, dates and intervals, collations, regular expressions, rollups
over expressions, and the rows, counts and warnings of statements that change
tables. Statements are small, so what differs needs no shrinking. Equal means:
same error code; or same classes of columns (decimals with their scale), same
rows, in order where the order is total; doubles by twelve digits. What the
system refuses by name (error 1235) is counted, not compared. One line of JSON a
kind of difference; exit status 1 when there is one.
"""
import argparse
import collections
import json
import math
import random
import re
import socket
import sys
import time

import pymysql
from pymysql.constants import FIELD_TYPE as F

CLASS = {F.TINY: "int", F.SHORT: "int", F.LONG: "int", F.LONGLONG: "int", F.INT24: "int", F.DECIMAL: "dec", F.NEWDECIMAL: "dec", F.FLOAT: "float",
         F.DOUBLE: "double", F.DATE: "date", F.DATETIME: "datetime", F.TIMESTAMP: "timestamp", F.TIME: "time", F.YEAR: "year", F.JSON: "json",
         F.NULL: "null", F.BIT: "bit"}

COLUMNS = [("id", "int not null", "int"), ("i", "int", "int"), ("b", "bigint", "int"), ("u", "int unsigned", "uint"), ("ti", "tinyint", "int"),
           ("d", "decimal(10,2)", "dec"), ("e", "decimal(20,6)", "dec"), ("f", "double", "dbl"), ("bo", "boolean", "bool"),
           ("s", "varchar(20) collate utf8mb4_general_ci", "gtext"), ("s9", "varchar(20) collate utf8mb4_0900_ai_ci", "text"),
           ("sb", "varchar(20) collate utf8mb4_bin", "btext"), ("dt", "date", "date"), ("ts", "datetime", "datetime"),
           ("t3", "datetime(3)", "datetime"), ("tm", "time", "time"), ("js", "json", "json"), ("y", "year", "year")]


PATTERNS = ["a%", "%b%", "_", "%", "foo\\_%", "%c ", "É%"]


class Gen:
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
            lambda: f"GROUP_CONCAT({d}{self.col('int', 'text', 'date')} ORDER BY {self.p('1', 't0.id', 't0.id DESC')} SEPARATOR ';')" if not d else f"GROUP_CONCAT(DISTINCT {self.col('int')} ORDER BY 1)",
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
        k = {"uint": "int", "gtext": "text", "btext": "text", "year": "int"}.get(kind, kind)
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


def cell(v, cls):
    if v is None:
        return None
    if isinstance(v, bytes):
        v = v.decode("utf-8", "surrogateescape")
    if cls in ("double", "float"):
        x = float(v)
        return "0" if x == 0 else "%.11g" % x
    return v


class Server:
    def __init__(self, dsn, db):
        h, p, u, pw = dsn.split(":")
        self.c = pymysql.connect(host=h, port=int(p), user=u, password=pw, charset="utf8mb4", conv={}, autocommit=True)
        self.cur = self.c.cursor()
        for s in (f"DROP DATABASE IF EXISTS {db}", f"CREATE DATABASE {db}", f"USE {db}", "SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET timestamp = 1717243506"):
            self.cur.execute(s)

    def run(self, sql, warnings):
        try:
            n = self.cur.execute(sql)
            rows = self.cur.fetchall()
            d = self.cur.description
        except pymysql.Error as e:
            if e.args[0] in (2006, 2013, 0):
                raise
            return {"error": e.args[0], "message": str(e.args[1])}
        out = {"n": n}
        if d:
            cls = [CLASS.get(x[1], "text") for x in d]
            out = {"types": [[c, x[5] if c in ("dec", "datetime", "time") else None] for c, x in zip(cls, d)], "rows": [[cell(v, c) for v, c in zip(r, cls)] for r in rows]}
        if warnings:
            self.cur.execute("SHOW WARNINGS")
            out["warnings"] = sorted({int(w[1]) for w in self.cur.fetchall()})
        return out


def differ(a, b, total, warnings):
    if "error" in b and b["error"] == 1235:
        return "refused"
    if "error" in a or "error" in b:
        if a.get("error") == b.get("error"):
            return None
        return f"error {a.get('error')} / {b.get('error')}"
    if "rows" in a:
        ra, rb = a["rows"], b["rows"]
        if not total:
            key = lambda r: [(x is not None, x or "") for x in r]
            ra, rb = sorted(ra, key=key), sorted(rb, key=key)
        if ra != rb:
            return "rows"
        empty = [all(r[i] is None for r in ra) for i in range(len(a["types"]))]
        for x, y, none in zip(a["types"], b["types"], empty):
            if x != y and not none:
                return f"type {x} / {y}"
    elif a.get("n") != b.get("n"):
        return f"count {a.get('n')} / {b.get('n')}"
    if warnings and a.get("warnings") != b.get("warnings"):
        return f"warnings {a['warnings']} / {b['warnings']}"
    return None


def shape(why, sql):
    names = sorted(set(re.findall(r"\b[A-Z][A-Z_]+\b", sql)))
    return re.sub(r"\d+", "#", why) + " " + " ".join(names)[:120]


def ports():
    """Three free ports."""
    s = [socket.socket() for _ in range(3)]
    for x in s:
        x.bind(("127.0.0.1", 0))
    print(*[x.getsockname()[1] for x in s])


def main():
    if sys.argv[1:] == ["--ports"]:
        return ports()
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--oracle", required=True)
    ap.add_argument("--sut", required=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--queries", type=int, default=1000)
    ap.add_argument("--kinds", default="expr,expr,json,date,text,window,window,setop,group,group,join,dml")
    ap.add_argument("--warnings", action="store_true")
    ap.add_argument("--out", default="")
    ap.add_argument("--print", action="store_true")
    a = ap.parse_args()
    g = Gen(a.seed)
    setup = g.setup(2)
    kinds = a.kinds.split(",")
    if not a.print:
        db = f"more_{a.seed}"
        servers = [Server(a.oracle, db), Server(a.sut, db)]
        for s in servers:
            for q in setup:
                s.cur.execute(q)
    seen, count, refused = {}, 0, collections.Counter()
    start = time.time()
    for n in range(a.queries):
        g = Gen(a.seed * 1000003 + n)
        kind = g.p(*kinds)
        script, total = getattr(g, kind)()
        if isinstance(script, str):
            script = [script]
        if a.print:
            print(";\n".join(script) + ";")
            continue
        for sql in script:
            x, y = (s.run(sql, a.warnings) for s in servers)
            why = differ(x, y, total, a.warnings)
            if why == "refused":
                refused[re.sub(r"[`'\d].*|\(at.*", "", y["message"])[:80]] += 1
                break
            if why is None:
                if "error" in x:
                    break
                continue
            count += 1
            key = shape(why, sql)
            if key not in seen:
                seen[key] = dict(seed=a.seed, number=n, kind=kind, why=why, sql=sql, script=script if len(script) > 1 else None, expected=x, got=y)
            break
    if a.print:
        return
    if a.out:
        with open(a.out, "w") as f:
            for v in seen.values():
                f.write(json.dumps(v, ensure_ascii=False) + "\n")
    print(json.dumps(dict(seed=a.seed, queries=a.queries, differences=count, kinds=len(seen), refused=sum(refused.values()), why=dict(refused.most_common(20)), seconds=round(time.time() - start, 1)), ensure_ascii=False))
    sys.exit(1 if seen else 0)


if __name__ == "__main__":
    main()
