"""Statements of clauses and protocols that sqlfuzz_grammar.Gen leaves out: views,
natural joins, prepared statements in the binary protocol, ordered set operations
inside others, VALUES and TABLE, extreme numbers, binary texts, rarer functions,
windows over joins and groups, changes with set operations.

Clauses is a mixin of Gen. A statement that begins with EXECUTE is a prepared one:
its comment has the parameters, see sqlfuzz_binary.
"""
import json

EXECUTE = "/*execute "


def execute(sql, *parameters):
    return f"{EXECUTE}{json.dumps(parameters, ensure_ascii=False)}*/ {sql}"


class Clauses:
    LIMITS = ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "0", "-1", "2147483648", "99999999999999999999999999999999999999999999999999999999999999999",
              "0.000000000000000000000000000001", "-0.5", "1.7976931348623157e308", "-2.2250738585072014e-308", "9007199254740993", "1e0", "CAST('18446744073709551615' AS UNSIGNED)", "NULL", "TRUE", "'9223372036854775808'", "'1e500'", "''", "-9.99"]

    def limits(self):
        """Numbers at the ends of their types. FORMAT of 65 digits with a fraction of 30
        gives points for commas in MySQL."""
        n = lambda: self.p(*self.LIMITS, "t0.b", "t0.u", "t0.bu", "t0.f", "t0.e", "t0.fl")
        x = self.r.choice([
            lambda: f"{n()} {self.p('+', '-', '*', '/', 'DIV', '%')} {n()}", lambda: f"-({n()})", lambda: f"ABS({n()})", lambda: f"CAST({n()} AS {self.p('SIGNED', 'UNSIGNED', 'DECIMAL(65,0)', 'DECIMAL(20,5)', 'DOUBLE', 'FLOAT', 'CHAR', 'YEAR', 'DATE', 'TIME')})",
            lambda: f"{n()} {self.p('=', '<', '<=>', '>=', '<>')} {n()}", lambda: f"{n()} BETWEEN {n()} AND {n()}", lambda: f"{n()} IN ({n()}, {n()})", lambda: f"{n()} {self.p('&', '|', '^', '<<', '>>')} {self.p(n(), '3', '64', '-1')}", lambda: f"~({n()})",
            lambda: f"{self.p('ROUND', 'TRUNCATE')}({n()}, {self.p('0', '3', '-3', '30', '-30', '-65')})", lambda: f"{self.p('FLOOR', 'CEILING', 'SIGN', 'BIT_COUNT', 'SQRT', 'LN', 'EXP', 'HEX', 'BIN', 'OCT', 'CRC32')}({n()})", lambda: f"POW({n()}, {self.p('2', '0.5', '-1', '0')})",
            lambda: f"{self.p('GREATEST', 'LEAST', 'COALESCE', 'IFNULL', 'NULLIF')}({n()}, {n()})", lambda: f"CASE WHEN t0.id % 2 = 0 THEN {n()} ELSE {n()} END", lambda: f"CONV({n()}, {self.p(10, 16, -10)}, {self.p(10, 2, -10, 36)})", lambda: f"FORMAT({n()}, {self.p(0, 3)})",
            lambda: f"CONCAT({n()})", lambda: f"FROM_UNIXTIME({n()})", lambda: f"SEC_TO_TIME({n()})", lambda: f"INTERVAL({n()}, {n()}, {n()})", lambda: f"MOD({n()}, {n()})", lambda: f"{n()} IS TRUE",
        ])()
        if self.chance(0.25):
            return f"SELECT t0.bo AS g, {self.p('SUM', 'AVG', 'MIN', 'MAX', 'BIT_AND', 'BIT_OR', 'BIT_XOR', 'COUNT')}({self.p('', 'DISTINCT ') if self.chance(0.3) else ''}{x}) AS x FROM t0 GROUP BY t0.bo".replace("BIT_AND(DISTINCT", "BIT_AND(").replace("BIT_OR(DISTINCT", "BIT_OR(").replace("BIT_XOR(DISTINCT", "BIT_XOR("), False
        return f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id", True

    def functions(self):
        """Functions that the other generators do not call."""
        self.scope = ["t0"]
        self.limit = 2
        e = self.e
        x = self.r.choice([
            lambda: f"CHAR({e('int')}, 65 USING utf8mb4)", lambda: f"ORD({e('text')})", lambda: f"UNHEX({self.p('HEX(' + e('text') + ')', e('text'))})", lambda: f"HEX({self.p(e('int'), 't0.vb', e('dec'), e('dbl'))})", lambda: f"{e('int')} {self.p('<<', '>>')} {self.p('1', '3', '64')}", lambda: f"~{e('int')}",
            lambda: f"INET_ATON(CONCAT({e('int')}, '.1.2.3'))", lambda: f"INET_NTOA({e('int')})", lambda: f"TIME_FORMAT({e('time')}, '{self.p('%H:%i', '%k %l %p', '%f', '%s|%S', '%r', '%T')}')", lambda: f"PERIOD_ADD(202401, {e('int')})", lambda: f"PERIOD_DIFF(202401, {self.p('202312', '199912', '2401')})",
            lambda: f"CONVERT({e('text')} USING {self.p('utf8mb4', 'latin1', 'binary', 'ascii')})", lambda: f"EXPORT_SET({e('int')}, 'Y', 'N', ',', {self.p(4, 8)})", lambda: f"MAKE_SET({e('int')}, 'a', {e('text')}, 'c')", lambda: f"MID({e('text')}, {e('int')}, {self.p('1', '3')})", lambda: f"POSITION({e('text')} IN {e('text')})",
            lambda: f"CONCAT('[', SPACE({e('int')} % 5), ']')", lambda: f"{self.p('SHA1', 'SHA', 'MD5')}({self.p(e('text'), 't0.vb')})", lambda: f"SHA2({e('text')}, {self.p('224', '256', '384', '512', '0', '1')})", lambda: f"ROUND({self.p('SIN', 'COS', 'TAN', 'ASIN', 'ACOS', 'ATAN', 'COT', 'EXP', 'LOG2', 'LOG10', 'LOG', 'RADIANS', 'DEGREES')}({e('num')}), 6)",
            lambda: f"ROUND(LOG({e('num')}, {e('num')}), 6)", lambda: f"JSON_VALUE({e('json')}, '{self.path()}'{self.p('', ' RETURNING SIGNED', ' RETURNING DECIMAL(8,2)', ' RETURNING CHAR(5)', ' RETURNING JSON', ' RETURNING DATE')}{self.p('', ' NULL ON ERROR', ' DEFAULT 1 ON EMPTY')})", lambda: f"REGEXP_LIKE({e('text')}, {self.regex()}, '{self.p('c', 'i', 'n', 'm')}')",
            lambda: f"REGEXP_SUBSTR({e('text')}, {self.regex()}, 1, {self.p(1, 2)})", lambda: f"REGEXP_REPLACE({e('text')}, {self.regex()}, '{self.p('<$0>', '', 'x')}', 1, {self.p(0, 1, 2)})", lambda: f"STR_TO_DATE({self.p('DATE_FORMAT(t0.ts, ' + chr(39) + '%d.%m.%Y %H:%i' + chr(39) + ')', e('text'))}, '{self.p('%d.%m.%Y %H:%i', '%d.%m.%Y', '%Y', '%H:%i:%s', '%M %d')}')",
            lambda: f"{self.p('ADDDATE', 'SUBDATE')}({e(self.p('date', 'datetime'))}, {self.p(e('int'), self.interval())})", lambda: f"TO_SECONDS({e(self.p('date', 'datetime'))})", lambda: f"UNIX_TIMESTAMP({e(self.p('date', 'datetime'))})", lambda: f"{e('text')} RLIKE {self.regex()}", lambda: f"ELT(FIELD({e('text')}, 'a', 'b', 'abc'), 1, 2, 3)",
            lambda: f"CAST({e(self.p('text', 'int', 'dec'))} AS {self.p('BINARY', 'BINARY(3)', 'NCHAR(4)', 'FLOAT', 'YEAR', 'DATETIME(1)', 'TIME(2)', 'DECIMAL(5,1)')})", lambda: f"IFNULL({e('text')}, {e(self.p('date', 'time', 'dec', 'json'))})", lambda: f"UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', {self.p(0, 1)})", lambda: f"IS_UUID({e('text')})",
            lambda: f"JSON_PRETTY({e('json')})", lambda: f"JSON_STORAGE_SIZE('[]') + JSON_LENGTH({e('json')})", lambda: f"JSON_SCHEMA_VALID('{{\"type\": \"{self.p('object', 'array', 'number', 'string')}\"}}', {e('json')})", lambda: f"{e('json')} {self.p('=', '<', '>=', '<=>')} {e(self.p('json', 'json', 'int', 'text'))}", lambda: f"{self.p('t0.vb', 'CAST(t0.s AS BINARY)')} {self.p('=', '<', 'LIKE')} {e('text')}",
            lambda: f"WEEK({e('date')})", lambda: f"GET_FORMAT({self.p('DATE', 'TIME', 'DATETIME')}, '{self.p('EUR', 'USA', 'ISO', 'JIS', 'INTERNAL')}')", lambda: f"FORMAT({e('num')}, 2, '{self.p('de_DE', 'en_US', 'fr_FR', 'de_CH')}')", lambda: f"TIMESTAMP({e(self.p('date', 'datetime', 'text'))})", lambda: f"FROM_BASE64(TO_BASE64({e('text')}))", lambda: f"SUBSTRING({e('text')} FROM {e('int')} FOR 2)",
            lambda: f"TRIM({self.p('LEADING', 'TRAILING', 'BOTH')} {self.p(chr(39) + 'a' + chr(39), e('text'))} FROM {e('text')})", lambda: f"SUBSTRING_INDEX({e('text')}, {e('text')}, {e('int')})", lambda: f"t0.fl {self.p('+', '*', '/', '=', '<')} {e('num')}", lambda: f"t0.bu {self.p('+', '*', '/', '=', '<', 'DIV', '%')} {e('int')}", lambda: f"CAST(t0.y {self.p('+', '-')} {e('int')} AS CHAR)", lambda: f"t0.y = {e(self.p('int', 'text', 'date'))}",
            lambda: f"BIT_LENGTH({e('text')})", lambda: f"OCT({e('int')})", lambda: f"DATE_FORMAT({e('text')}, '%Y')", lambda: f"COMPRESS('') = {e('text')}", lambda: f"CONCAT(t0.fl, '|', t0.y, '|', t0.bo)", lambda: f"SUM(t0.fl) OVER (ORDER BY t0.id)", lambda: f"{e('bool')} + {e('date')}", lambda: f"{e('time')} {self.p('+', '*', '-')} {e('int')}", lambda: f"{e('datetime')} {self.p('+', '*', '/')} {e('dec')}",
            lambda: f"ANY_VALUE({e('text')})", lambda: f"NAME_CONST('n', {self.p(1, 1.5)})", lambda: f"INSERT({e('text')}, {e('int')}, {self.p(1, 5)}, {e('text')})", lambda: f"LOCATE({e('text')}, {e('text')}, {self.p(1, 2, 3)})", lambda: f"LPAD({self.p(e('text'), e('int'))}, {e('int')} % 8, 'ab')", lambda: f"EXTRACT({self.p('WEEK', 'QUARTER', 'DAY_SECOND', 'HOUR_MICROSECOND', 'MINUTE_SECOND')} FROM {e(self.p('datetime', 'time', 'date'))})",
        ])()
        if x.startswith("ANY_VALUE"):
            return f"SELECT t0.id, {x} AS x FROM t0 GROUP BY t0.id ORDER BY t0.id", True
        return f"SELECT t0.id, {x} AS x FROM t0 ORDER BY t0.id", True

    def totals(self):
        """Aggregates of every type, alone, grouped, over windows and of nothing."""
        self.scope = ["t0"]
        c = self.p("t0.i", "t0.b", "t0.u", "t0.bu", "t0.ti", "t0.d", "t0.e", "t0.f", "t0.fl", "t0.bo", "t0.s9", "t0.dt", "t0.ts", "t0.t3", "t0.tm", "t0.y", "t0.vb", "t0.js")
        f = self.p("SUM", "AVG", "MIN", "MAX", "COUNT", "STD", "VARIANCE", "VAR_SAMP", "STDDEV_SAMP", "BIT_AND", "BIT_OR", "BIT_XOR", "ANY_VALUE")
        d = "DISTINCT " if f in ("SUM", "AVG", "MIN", "MAX", "COUNT") and self.chance(0.3) else ""
        if c == "t0.js" and f in ("BIT_AND", "BIT_OR", "BIT_XOR"):
            c = "t0.u"
        g = f"{f}({d}{c})"
        if f in ("STD", "VARIANCE", "VAR_SAMP", "STDDEV_SAMP"):
            g = f"ROUND({g}, 5)"
        if self.chance(0.15):
            g = f"GROUP_CONCAT({d}{self.p(c, c + ', t0.id')} ORDER BY t0.id{self.p('', ' DESC')} SEPARATOR '{self.p(',', '', '--')}')" if not d else f"GROUP_CONCAT(DISTINCT {c} ORDER BY {c})"
        w = self.p("", "", " WHERE FALSE", f" WHERE {self.e('bool')}", " WHERE t0.id = 2")
        if f == "ANY_VALUE":
            return f"SELECT t0.id, {g} AS x FROM t0{w} GROUP BY t0.id ORDER BY t0.id", True
        if self.chance(0.3):
            return f"SELECT t0.{self.p('bo', 'ti', 'dt', 'y')} AS g, {g} AS x, {self.p('COUNT(*)', 'MAX(t0.id)', g + ' IS NULL')} AS y FROM t0{w} GROUP BY g{self.p('', ' WITH ROLLUP')}", False
        if self.chance(0.3) and "GROUP_CONCAT" not in g and not d:
            return f"SELECT t0.id, {g.replace(', 5)', '') if g.startswith('ROUND') else g} OVER (ORDER BY t0.id {self.p('', 'ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING', 'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING')}){', 5)' if g.startswith('ROUND') else ''} AS x FROM t0{w} ORDER BY t0.id", True
        return f"SELECT {g} AS x, {self.p('COUNT(*)', g + ' + 0', 'CONCAT(' + g + ')', 'COALESCE(' + g + ', -1)')} AS y FROM t0{w}", True

    # ---- clauses

    def view(self):
        """Queries of views, of views of views, and of both joined."""
        self.scope = ["t0"]
        self.limit = 2
        a, b = self.any(), self.any()
        body = self.r.choice([
            lambda: f"SELECT t0.id, {a} AS x, t0.i FROM t0", lambda: f"SELECT t0.id, {a} AS x, t0.i FROM t0 WHERE {self.e('bool')}", lambda: f"SELECT t0.ti AS id, COUNT(*) AS x, SUM(t0.i) AS i FROM t0 GROUP BY t0.ti", lambda: f"SELECT DISTINCT t0.bo AS id, t0.i AS x, t0.ti AS i FROM t0",
            lambda: f"SELECT id, i AS x, ti AS i FROM t0 UNION {self.p('', 'ALL ')}SELECT id, ti, i FROM t1", lambda: f"SELECT t0.id, t1.d AS x, t1.i FROM t0 LEFT JOIN t1 ON t0.id = t1.id + 1", lambda: "SELECT t0.id, ROW_NUMBER() OVER (ORDER BY t0.id DESC) AS x, t0.i FROM t0", lambda: "WITH q AS (SELECT id, s AS x, i FROM t0 WHERE id > 2) SELECT * FROM q",
        ])()
        names = self.p("", "", " (id, x, i)")
        use = self.p("SELECT * FROM v", "SELECT id, x FROM v WHERE i > 0", "SELECT COUNT(*), MIN(id), MAX(i) FROM v", "SELECT i, COUNT(*) FROM v GROUP BY i", "SELECT v.id, v.x, t1.s FROM v JOIN t1 ON v.id = t1.id", "SELECT a.id, b.i FROM v a LEFT JOIN v b ON a.id = b.id + 1",
                     "SELECT t1.id, (SELECT COUNT(*) FROM v WHERE v.i = t1.i) AS n FROM t1", "SELECT id FROM t1 WHERE i IN (SELECT i FROM v)", "SELECT id, SUM(i) OVER (ORDER BY id, i) FROM v", "SELECT * FROM v NATURAL JOIN (SELECT id FROM t1) q", "SELECT id, i FROM v UNION SELECT id, i FROM t1")
        out = [f"CREATE OR REPLACE VIEW v{names} AS {body}", use]
        if self.chance(0.3):
            out = [out[0], f"CREATE OR REPLACE VIEW w AS SELECT {self.p('id, i', 'id + 1 AS id, i', 'MAX(id) AS id, i')} FROM v" + self.p("", " WHERE id > 1"), ""]
            if "MAX" in out[1]:
                out[1] += " GROUP BY i"
            out[2] = self.p("SELECT * FROM w", "SELECT w.id, v.i FROM w JOIN v USING (id)", "SELECT COUNT(*) FROM w WHERE i IS NOT NULL")
        return out, False

    def natural(self):
        """USING and NATURAL, whose common columns are one."""
        cols = [self.p("id, i, s9", "id, ti", "i, bo", "dt, id", "s, i AS n", "id, d", "sb, id", "y, i") for _ in range(3)]
        t = [f"(SELECT {c} FROM t{self.p(0, 1)}) {n}" for n, c in zip("abc", cols)]
        names = [[x.split(" AS ")[-1].strip() for x in c.split(",")] for c in cols]
        common = [x for x in names[0] if x in names[1]]
        kind = lambda: self.p("JOIN", "LEFT JOIN", "RIGHT JOIN", "INNER JOIN")
        if common and self.chance(0.6):
            src = f"{t[0]} {kind()} {t[1]} USING ({', '.join(common if self.chance(0.5) else common[:1])})"
        else:
            src = f"{t[0]} NATURAL {self.p('', 'LEFT ', 'RIGHT ')}JOIN {t[1]}"
        if self.chance(0.4):
            src += f" {self.p('NATURAL', 'NATURAL LEFT', 'NATURAL RIGHT')} JOIN {t[2]}" if self.chance(0.5) else f" {self.p('CROSS JOIN', 'JOIN')} {t[2]}"
        pick = common[0] if common else names[0][0]
        item = self.p("*", "*", "a.*", "COUNT(*)", "b.*, a.*", pick, f"{pick}, COUNT(*)")
        tail = self.p("", "", f" WHERE {pick} IS NOT NULL", f" WHERE {pick} > 1", f" HAVING {pick} IS NOT NULL" if item == pick else "")
        if item.endswith(", COUNT(*)"):
            tail = tail.replace("HAVING", "WHERE") + f" GROUP BY {pick}"
        return f"SELECT {item} FROM {src}{tail}", False

    def ordered(self):
        """Set operations with ORDER BY and LIMIT, inside one another and inside queries."""
        cols = self.p(("id", "i"), ("i", "id"), ("ti", "id"), ("id", "d"), ("dt", "id"), ("id", "f"))
        other = {"i": "ti", "ti": "i", "d": "e", "dt": "dt", "f": "d", "id": "id"}

        def one(depth):
            if depth and self.chance(0.5):
                return "(" + chain(depth - 1) + ")"
            c = [other[x] if self.chance(0.4) else x for x in cols]
            t = self.p("t0", "t1")
            src = self.r.choice([lambda: f"FROM {t}", lambda: f"FROM {t} WHERE id {self.p('<', '>')} {self.p(3, 6)}", lambda: f"FROM {t} GROUP BY {c[0]}, {c[1]}", lambda: f"FROM (SELECT * FROM {t} ORDER BY id LIMIT 6) z"])()
            q = f"SELECT {c[0]} AS a, {c[1]} AS b {src}"
            return f"({q} ORDER BY {self.p('a, b', 'b, a', 'b DESC, a', '2, 1', '1 DESC, 2 DESC')} LIMIT {self.p('3', '5', '2 OFFSET 1', '0', '4, 3')})" if self.chance(0.4) else q

        def chain(depth):
            out = one(depth)
            for _ in range(self.p(1, 1, 2)):
                out += f" {self.p('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'UNION DISTINCT')} " + one(depth)
            if self.chance(0.5):
                out += f" ORDER BY {self.p('a, b', 'b, a', 'a DESC, b', '1, 2', '2 DESC, 1 DESC')}{self.p('', ' LIMIT 3', ' LIMIT 4 OFFSET 2')}"
            return out
        q = chain(2)
        return self.r.choice([
            lambda: (q, False), lambda: (q, False), lambda: (f"SELECT COUNT(*), MIN(a), MAX(b) FROM ({q}) z", True), lambda: (f"WITH z AS ({q}) SELECT a, COUNT(*) FROM z GROUP BY a", False),
            lambda: (f"SELECT id FROM t0 WHERE ({self.p('id, i', 'i, id')}) IN (SELECT a, b FROM ({q}) z)", False), lambda: (f"SELECT x.id, z.b FROM t1 x LEFT JOIN ({q}) z ON z.a = x.id", False),
            lambda: (f"SELECT id, EXISTS (SELECT 1 FROM ({q}) z WHERE z.a = t0.id) AS e FROM t0", False), lambda: (f"SELECT a, b, RANK() OVER (ORDER BY a) AS r FROM ({q}) z", False),
        ])()

    def rows(self):
        """VALUES ROW and TABLE. MySQL does not order VALUES, whatever ORDER BY says."""
        self.scope = ["t0"]
        v = lambda: self.p("1", "2", "NULL", "1.50", "'a'", "2e0", "DATE '2024-01-31'", "-3", "TRUE", "'É'", "CAST('[1]' AS JSON)", "18446744073709551615")
        n = self.p(1, 2, 3)
        values = "VALUES " + ", ".join("ROW(" + ", ".join(v() for _ in range(n)) + ")" for _ in range(self.p(1, 2, 4)))
        return self.r.choice([
            lambda: (values, False), lambda: (values + f" ORDER BY {n}, 1", False), lambda: (f"SELECT * FROM ({values}) q ({', '.join('abc'[:n])}) {self.p('', 'WHERE a IS NOT NULL', 'ORDER BY a LIMIT 2')}", False), lambda: (f"{values} UNION {self.p('', 'ALL ')}{values}", False),
            lambda: (f"SELECT t0.id, q.a FROM t0 {self.p('JOIN', 'LEFT JOIN')} ({values}) q ({', '.join('abc'[:n])}) ON q.a = t0.{self.p('id', 'i', 's9')}", False), lambda: (f"SELECT id, i IN (SELECT a FROM ({values}) q ({', '.join('abc'[:n])})) AS x FROM t0", False),
            lambda: (f"TABLE t0 ORDER BY id{self.p('', ' LIMIT 3', ' DESC LIMIT 2 OFFSET 1')}", True), lambda: ("SELECT COUNT(*) FROM (TABLE t1) q", True), lambda: ("TABLE t0 UNION TABLE t1", False), lambda: (f"WITH q ({', '.join('abc'[:n])}) AS ({values}) SELECT a, COUNT(*) FROM q GROUP BY a", False),
        ])()

    def nested(self):
        """Subqueries of subqueries, whose columns are those of any query around them."""
        deep = lambda: self.p("(SELECT MAX(z.i) FROM t1 z WHERE z.id = y.id AND z.ti <= t0.id)", "(SELECT COUNT(*) FROM t1 z WHERE z.i = t0.i AND z.id <> y.id)", "EXISTS (SELECT 1 FROM t1 z WHERE z.i = y.i AND z.bo <=> t0.bo)", "y.i IN (SELECT z.i FROM t1 z WHERE z.id > t0.id)",
                              "(SELECT SUM(z.d) FROM t1 z WHERE z.ti = y.ti GROUP BY z.ti HAVING COUNT(*) > 1)", "(SELECT z.i FROM t1 z WHERE z.id = t0.id UNION SELECT z.i FROM t1 z WHERE z.id = t0.id)", "(SELECT q.m FROM (SELECT MAX(z.i) AS m FROM t1 z WHERE z.bo <=> y.bo) q)",
                              "(SELECT z.i FROM t1 z WHERE z.id >= y.id ORDER BY z.id LIMIT 1)", "(WITH q AS (SELECT z.i FROM t1 z WHERE z.id = y.id) SELECT COUNT(i) FROM q)", "y.d > ALL (SELECT z.d FROM t1 z WHERE z.bo = t0.bo)", "(SELECT COUNT(DISTINCT z.ti) FROM t1 z JOIN t0 w ON w.id = z.id WHERE w.i <=> y.i)")
        mid = self.r.choice([
            lambda: f"(SELECT COUNT(*) FROM t1 y WHERE y.bo <=> t0.bo AND {deep()})", lambda: f"(SELECT MAX(COALESCE({deep()}, y.id)) FROM t1 y WHERE y.id <= t0.id)", lambda: f"EXISTS (SELECT 1 FROM t1 y WHERE y.i = t0.i AND {deep()})", lambda: f"t0.i IN (SELECT y.i FROM t1 y WHERE {deep()})", lambda: f"t0.i NOT IN (SELECT y.i FROM t1 y WHERE y.i IS NOT NULL AND {deep()})",
            lambda: f"(SELECT SUM(q.x) FROM (SELECT {deep()} AS x FROM t1 y WHERE y.id < t0.id) q)", lambda: f"(SELECT COUNT(*) FROM t1 y LEFT JOIN t0 o ON o.id = y.id AND o.i >= t0.i WHERE y.ti = t0.ti)", lambda: f"(SELECT y.d FROM t1 y WHERE {deep()} ORDER BY y.id LIMIT 1)", lambda: f"(SELECT MIN(y.i) FROM t1 y GROUP BY y.bo HAVING y.bo = t0.bo)",
            lambda: f"(SELECT COUNT(*) OVER () FROM t1 y WHERE y.i = t0.i LIMIT 1)", lambda: f"(SELECT RANK() OVER (ORDER BY y.i) FROM t1 y WHERE y.ti = t0.ti ORDER BY y.id LIMIT 1)", lambda: f"(t0.i, t0.ti) IN (SELECT y.i, {self.p('y.ti', deep())} FROM t1 y)", lambda: f"(SELECT GROUP_CONCAT(y.id ORDER BY y.id) FROM t1 y WHERE y.i <=> t0.i)",
        ])()
        return self.r.choice([
            lambda: (f"SELECT t0.id, {mid} AS x FROM t0 ORDER BY t0.id", True), lambda: (f"SELECT t0.id FROM t0 WHERE {mid} ORDER BY t0.id", True), lambda: (f"SELECT t0.id, q.x FROM t0, LATERAL (SELECT {mid} AS x) q", False), lambda: (f"SELECT {mid} AS k, COUNT(*) FROM t0 GROUP BY k", False),
            lambda: (f"SELECT t0.bo, SUM({mid}) AS x FROM t0 GROUP BY t0.bo", False), lambda: (f"SELECT t0.id, o.id FROM t0 LEFT JOIN t1 o ON o.id = t0.id AND {mid} ORDER BY t0.id", True), lambda: (f"SELECT t0.id FROM t0 ORDER BY {mid}, t0.id", True), lambda: (f"SELECT t0.id, SUM({mid}) OVER (ORDER BY t0.id ROWS 2 PRECEDING) AS x FROM t0 ORDER BY t0.id", True),
        ])()

    def on(self):
        """Subqueries in the ON of joins, which need columns of one side, of both, or of a
        query around them."""
        t = lambda: self.p("a", "b")
        c = lambda: self.p("i", "ti", "bo", "u", "d", "s9", "dt")
        match = lambda: self.p(f"{t()}.{c()}", f"{t()}.id", "a.id + b.id", "3", "NULL")
        inner = lambda: self.r.choice([
            lambda: f"z.{c()} {self.p('=', '<=>', '<', '>=')} {t()}.{c()}", lambda: (lambda x: f"z.{x} = a.{x} AND z.id {self.p('<', '<>', '=')} b.id")(c()), lambda: f"z.id = {t()}.id", lambda: f"z.id > {t()}.id AND z.bo <=> {t()}.bo", lambda: "z.i > 2", lambda: "FALSE", lambda: "z.id BETWEEN a.id AND b.id", lambda: f"COALESCE(z.i, {t()}.i) > 1",
        ])()
        sub = lambda: self.r.choice([
            lambda: f"{self.p('', 'NOT ')}EXISTS (SELECT 1 FROM t1 z WHERE {inner()})", lambda: (lambda x: f"{t()}.{x} {self.p('IN', 'IN', 'NOT IN')} (SELECT z.{x} FROM t{self.p(0, 1)} z WHERE {inner()})")(c()), lambda: f"{match()} {self.p('IN', 'NOT IN')} (SELECT z.{self.p('id', 'i', 'ti')} FROM t1 z{self.p('', ' WHERE ' + inner())})",
            lambda: f"{t()}.{self.p('i', 'd', 'id')} {self.p('=', '<', '>=', '<=>')} (SELECT {self.p('MAX(z.i)', 'MIN(z.id)', 'COUNT(*)', 'AVG(z.d)', 'SUM(z.i)')} FROM t1 z WHERE {inner()})", lambda: f"{t()}.id = (SELECT z.id FROM t1 z WHERE {inner()} ORDER BY z.{self.p('id', 'i, z.id', 'id DESC')} LIMIT 1)", lambda: f"(a.i, b.ti) {self.p('IN', 'NOT IN')} (SELECT z.i, z.ti FROM t1 z{self.p('', ' WHERE ' + inner())})",
            lambda: f"{t()}.{self.p('i', 'id')} {self.p('>', '<=', '=', '<>')} {self.p('ANY', 'ALL')} (SELECT z.i FROM t1 z WHERE {inner()})", lambda: f"(SELECT COUNT(*) FROM t1 z WHERE {inner()}) {self.p('= 0', '> 1', '< 3')}", lambda: f"(SELECT MAX(z.id) FROM t1 z WHERE {inner()}) {self.p('IS NULL', '> b.id', '= a.id')}", lambda: f"EXISTS (SELECT 1 FROM t1 z LEFT JOIN t0 w ON w.id = z.id AND w.i IN (SELECT v.i FROM t1 v WHERE v.ti = z.ti OR v.id = a.id) WHERE {inner()})",
        ])()
        also = self.p("", "", " AND a.id = b.id", " AND a.i = b.i", " AND a.bo <=> b.bo", " AND a.id < b.id + 2", " AND b.id < 5")
        on = f"{sub()}{also}" if self.chance(0.75) else f"({sub()} {self.p('OR', 'AND', 'XOR')} {sub()}){also}"
        src = f"t0 a {self.p('LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'JOIN')} t1 b ON {on}"
        if self.chance(0.2):
            src += f" {self.p('LEFT JOIN', 'RIGHT JOIN')} t1 c ON c.id = {t()}.id AND {self.p('c.i', 'c.id', 'b.i', 'a.id')} {self.p('IN', 'NOT IN')} (SELECT z.i FROM t0 z WHERE {inner().replace('b.', 'c.') if self.chance(0.5) else inner()})"
        where = self.p("", "", " WHERE b.id IS NULL", " WHERE a.id > 2", " WHERE b.i IS NOT NULL")
        if self.chance(0.15):
            return f"SELECT o.id, (SELECT COUNT(*) FROM {src.replace('a.bo', 'o.bo')}{where}) AS x FROM t0 o WHERE o.id < 6 ORDER BY o.id", True
        return self.p(f"SELECT a.id, b.id AS bid FROM {src}{where}", f"SELECT a.id, b.id AS bid, a.i, b.s9 FROM {src}{where}", f"SELECT a.bo, COUNT(*) AS n, COUNT(b.id) AS m, SUM(b.i) AS s FROM {src}{where} GROUP BY a.bo", f"SELECT COUNT(*) AS n FROM {src}{where}"), False

    def windows(self):
        """Windows over joins, derived tables, groups, and in ORDER BY."""
        f = self.p("SUM(a.i)", "COUNT(b.i)", "AVG(b.d)", "MIN(b.dt)", "MAX(a.s9)", "RANK()", "DENSE_RANK()", "SUM(DISTINCT a.i)" if False else "COUNT(*)", "BIT_AND(a.u)", "MAX(b.id)")
        part = self.p("", "PARTITION BY a.bo ", "PARTITION BY b.ti ", "PARTITION BY a.i, b.bo ", "PARTITION BY a.s ")
        key = self.p("a.i", "b.d DESC", "a.dt", "a.s9", "b.id", "a.i, b.i DESC", "a.t3")
        frame = self.p("", "", "RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
        over = f"{f} OVER ({part}ORDER BY {key} {frame})"
        src = f"t0 a {self.p('JOIN', 'LEFT JOIN')} t1 b ON {self.p('a.id = b.id', 'a.i = b.i', 'a.bo = b.bo AND a.id < b.id', 'a.id = b.id + 1')}"
        return self.r.choice([
            lambda: (f"SELECT a.id, b.id, {over} AS x FROM {src}", False), lambda: (f"SELECT q.x, COUNT(*) FROM (SELECT {over} AS x FROM {src}) q GROUP BY q.x", False), lambda: (f"SELECT a.id, b.id FROM {src} ORDER BY {over}, a.id, b.id", True), lambda: (f"SELECT DISTINCT {over} AS x FROM {src}", False),
            lambda: (f"SELECT * FROM (SELECT a.id, ROW_NUMBER() OVER ({part}ORDER BY a.id, b.id) AS n FROM {src}) q WHERE n {self.p('= 1', '<= 2', '> 1')}", False), lambda: (f"SELECT a.bo, COUNT(*), {self.p('SUM(COUNT(*))', 'RANK()', 'MAX(MAX(b.i))')} OVER (ORDER BY {self.p('COUNT(*)', 'a.bo', 'SUM(a.i)')}) AS x FROM {src} GROUP BY a.bo", False),
            lambda: (f"SELECT a.id, {over} {self.p('+', '=', '-')} {f} OVER () AS x FROM {src}".replace("RANK() OVER ()", "COUNT(*) OVER ()").replace("DENSE_COUNT", "COUNT"), False), lambda: (f"SELECT a.id, (SELECT MAX(x) FROM (SELECT SUM(c.i) OVER (ORDER BY c.id) AS x FROM t1 c WHERE c.id <= a.id) q) AS y FROM t0 a", False),
        ])()

    def changes(self):
        """Changes by set operations, CTEs, views of several tables and ordered subqueries."""
        self.scope = ["ch"]
        self.limit = 2
        out = ["DELETE FROM ch", "INSERT INTO ch SELECT * FROM t0"]
        for _ in range(self.p(1, 2, 3)):
            out.append(self.r.choice([
                lambda: f"INSERT INTO ch (id, {self.p('i', 'd', 'f', 'ti', 'b')}) SELECT 100 + id, {self.p('i', 'd', 'ti', 'e')} FROM t1 {self.p('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} SELECT 200 + id, i FROM t0", lambda: f"INSERT INTO ch (id, i) WITH q AS (SELECT id, i FROM t1 WHERE i > 0) SELECT 300 + id, i FROM q",
                lambda: f"INSERT INTO ch (id, i) VALUES ROW(500, 1), ROW(501, {self.p('2', 'NULL', '2.6', chr(39) + '7' + chr(39))})", lambda: f"INSERT INTO ch (id, i, d) SELECT id, i, d FROM t1 AS n ON DUPLICATE KEY UPDATE {self.p('i = n.i', 'd = ch.d + n.d', 'i = n.i + ch.i, d = 1')}", lambda: f"INSERT INTO ch SET id = {self.p(600, 1)}, s = 'x', i = {self.p(1, 3)}",
                lambda: f"WITH q AS (SELECT id, {self.p('i', 'ti')} AS x FROM t1) UPDATE ch, q SET ch.i = q.x WHERE ch.id = q.id", lambda: "WITH q AS (SELECT id FROM t1 WHERE i > 1) DELETE FROM ch WHERE id IN (SELECT id FROM q)", lambda: f"UPDATE ch SET i = i + 1, ti = i WHERE id < {self.p(4, 20)}", lambda: f"UPDATE ch SET d = (SELECT d FROM t1 WHERE t1.id = ch.id), e = d",
                lambda: f"DELETE FROM ch ORDER BY {self.p('i', 'd DESC', 's9')}, id LIMIT {self.p(2, 5)}", lambda: f"UPDATE ch SET i = id * 10 ORDER BY {self.p('i', 'dt DESC')}, id LIMIT 3", lambda: "DELETE ch, x FROM ch JOIN t1 x ON FALSE WHERE ch.id = 3" if False else "DELETE FROM ch USING ch JOIN t1 ON ch.i = t1.i", lambda: f"REPLACE INTO ch (id, i, s) VALUES (1, 2, 'a'), (1, 3, {self.e('text').replace('ch.', '') if False else chr(39) + 'b' + chr(39)})",
                lambda: f"UPDATE ch SET {self.p('s9', 'sb')} = {self.e('text')} WHERE {self.e('bool')}", lambda: f"UPDATE ch SET bu = {self.p('bu + 1', 'u * 2', 'i', 'd', '-1', '18446744073709551615')}, fl = {self.p('f', 'd', '0.1', 'i / 3')} WHERE id < 9", lambda: f"UPDATE ch SET vb = {self.p('s', 'UNHEX(HEX(s9))', '0x00ff', 'CONCAT(vb, 1)', 'i')}", lambda: "TRUNCATE TABLE ch",
                lambda: f"DELETE FROM ch WHERE (i, ti) IN (SELECT i, ti FROM t1) OR d > (SELECT AVG(d) FROM t0)", lambda: f"UPDATE ch JOIN (SELECT ti, MAX(i) AS m, COUNT(*) AS n FROM t1 GROUP BY ti) q ON ch.ti = q.ti SET ch.i = q.m, ch.b = q.n", lambda: f"INSERT IGNORE INTO ch (id, ti, dt) SELECT 700 + id, {self.p('i * 100', 'b', 'd', 's')}, {self.p('dt', 'ts', 's')} FROM t0",
            ])())
        return (["SET sql_mode = ''"] if self.chance(0.15) else []) + out + ["SELECT * FROM ch ORDER BY id"], True

    def stored(self):
        """Numbers that columns with digits of their own, and unsigned ones, round or refuse. A FLOAT
        or DOUBLE that goes into another column is not looked at by MySQL 9.7, hence + 0."""
        n = lambda: self.p("0", "-0.5", "1.005", "2.345", "-1.5", "99.995", "999.994", "999.996", "1e3", "12345.678", "-1e30", "1e39", "'7.255'", "'-1'", "NULL", "0.0005", "1e-9", "9999999999", "123456.5")
        out = ["DROP TABLE IF EXISTS fl", "CREATE TABLE fl (id INT NOT NULL PRIMARY KEY, a FLOAT(5,2), b DOUBLE(10,3), c FLOAT UNSIGNED, d DOUBLE(6,0) UNSIGNED, e DECIMAL(8,2) UNSIGNED, f FLOAT)"]
        for k in range(self.p(3, 5)):
            c = self.p("a", "b", "c", "d", "e", "f")
            out.append(self.r.choice([
                lambda: f"INSERT {self.p('', 'IGNORE ')}INTO fl (id, {c}) VALUES ({k}, {n()}), ({k + 10}, {n()})", lambda: f"INSERT IGNORE INTO fl VALUES ({k}, {n()}, {n()}, {n()}, {n()}, {n()}, {n()})", lambda: f"UPDATE IGNORE fl SET {c} = {self.p(n(), 'a * 3', 'b / 7', 'c - 2', 'd + 0.5', 'e - 1', '-f', 'c + 0')}", lambda: f"INSERT IGNORE INTO fl (id, {c}) SELECT id + {100 * (k + 1)}, {self.p('i', 'd', 'f + 0', 'e', 's', 'fl + 0')} FROM t0",
            ])())
        return out + [f"SELECT * FROM fl ORDER BY id" if self.chance(0.7) else "SELECT id, a + 1 AS x, a * 1e0 AS y, b * e AS z, CONCAT(a, '|', b) AS s FROM fl ORDER BY id"], True

    def counted(self):
        """User variables that a change counts in, row by row."""
        out = ["DELETE FROM ch", "INSERT INTO ch SELECT * FROM t0", f"SET @n = {self.p('0', '100', '-3')}, @p = 0"]
        step = lambda: self.p("@n := @n + 1", "@n := @n + 1", "@n := @n + id", "@n := GREATEST(@n, id) - 1", "@n := @n + IF(id % 2 = 0, 1, 10)", "@n := IF(@p = ti, @n + 1, 1)")
        for k in range(self.p(1, 2, 3)):
            out.append(self.r.choice([
                lambda: f"UPDATE ch SET {self.p('i', 'b', 'd')} = ({step()}){self.p('', ' WHERE id > 3', ' WHERE i IS NOT NULL')}{self.p('', ' ORDER BY id DESC', ' ORDER BY s9, id', ' ORDER BY dt DESC, id LIMIT 4', ' LIMIT 3')}", lambda: f"UPDATE ch SET i = ({step()}), b = @n, s = CONCAT('n', @n){self.p('', ' ORDER BY ti, id')}", lambda: f"UPDATE ch SET i = ({step()}), ti = @p := ti ORDER BY ti, id",
                lambda: f"INSERT INTO ch (id, i, b) SELECT {1000 * (k + 1)} + id, {step()}, @n FROM {self.p('t0', 't1', '(SELECT id, ti, i FROM t1 WHERE id < 5) q')} ORDER BY {self.p('id', 'id DESC', 'ti, id')}{self.p('', ' LIMIT 3')}",
            ])())
        return out + ["SELECT @n, @p", "SELECT * FROM ch ORDER BY id"], True

    # ---- the binary protocol

    def parameter(self, kind):
        if self.chance(0.12):
            return ["null", None]
        return {"int": lambda: self.p(["int", self.p(0, 1, 2, -3, 7, 10, 1 << 40)], ["tiny", self.p(1, -5)], ["uint", self.p(3, (1 << 64) - 1)]), "dec": lambda: ["decimal", self.p("1.50", "-0.01", "10", "123456789.123456")], "dbl": lambda: [self.p("double", "double", "float"), self.p(0.5, 2.0, -3.25)],
                "text": lambda: ["text", self.p("a", "ABC", "", "é", "10", "2024-02-29", "3.5x", "%b%", "中文")], "date": lambda: ["date", self.p("2024-02-29", "1999-12-31")], "datetime": lambda: ["datetime", self.p("2024-02-29 12:34:56", "1999-12-31 23:59:59.250000")],
                "time": lambda: ["time", self.p("12:34:56", "-01:02:03", "100:00:00", "00:00:01.500000")], "blob": lambda: ["blob", self.p("abc", "a")]}[kind]()

    def prepared(self):
        """Statements with parameters, and results of every type. CAST of a parameter that
        is a time as CHAR gives NULL in MySQL, that of a date-time a fraction of 31 digits."""
        self.scope = ["t0"]
        self.limit = 2
        k = self.p("int", "dec", "dbl", "text", "date", "datetime", "time")
        c = {"int": self.p("t0.i", "t0.b", "t0.u", "t0.ti", "t0.bu"), "dec": self.p("t0.d", "t0.e"), "dbl": self.p("t0.f", "t0.fl"), "text": self.p("t0.s", "t0.s9", "t0.sb"), "date": "t0.dt", "datetime": self.p("t0.ts", "t0.t3"), "time": "t0.tm"}[k]
        a, b = self.parameter(k), self.parameter(k)
        order = " FROM t0 ORDER BY t0.id"
        x, ps = self.r.choice([
            lambda: (self.any(), []), lambda: (self.any(), []), lambda: (f"{c}", []), lambda: (f"{c} {self.p('=', '<', '>=', '<>', '<=>')} ?", [a]), lambda: (f"{c} BETWEEN ? AND ?", [a, b]), lambda: (f"{c} IN (?, ?)", [a, b]), lambda: (f"COALESCE({c}, ?)", [a]), lambda: ("?", [a]),
            lambda: (f"{c} + ?", [a]) if k in ("int", "dec", "dbl") else (f"CONCAT({c}, ?)", [a]), lambda: (f"IF(? , {c}, NULL)", [self.parameter("int")]), lambda: (f"CASE WHEN {c} > ? THEN ? ELSE {c} END", [a, b]), lambda: (f"NULLIF({c}, ?)", [a]), lambda: (f"GREATEST({c}, ?)", [a]),
            lambda: ("t0.s9 LIKE ?", [self.parameter("text")]), lambda: ("SUBSTRING(t0.s, ?, ?)", [["int", self.p(1, 2, -1)], ["int", 2]]), lambda: ("t0.dt + INTERVAL ? DAY", [self.parameter("int")]), lambda: ("ROUND(t0.d, ?)", [["int", self.p(0, 1, -1)]]), lambda: (f"CAST(? AS {self.p('SIGNED', 'CHAR', 'DECIMAL(10,2)', 'DATE', 'DOUBLE')})", [a if k not in ("time", "datetime") else ["int", 5]]),
            lambda: ("(SELECT COUNT(*) FROM t1 WHERE t1.i > ?)", [self.parameter("int")]), lambda: (f"MAX({c}) OVER (ORDER BY t0.id ROWS ? PRECEDING)", [["int", 2]]), lambda: ("JSON_EXTRACT(t0.js, ?)", [["text", self.p("$", "$.a", "$[0]")]]), lambda: ("t0.vb = ?", [self.parameter("blob")]), lambda: ("t0.js", []), lambda: ("t0.y", []), lambda: ("t0.vb", []),
        ])()
        if self.chance(0.15):
            return [execute(f"SELECT t0.id, {c} AS x FROM t0 WHERE {c} {self.p('=', '>', '<=')} ? ORDER BY t0.id LIMIT ? OFFSET ?", a, ["int", self.p(2, 5)], ["int", self.p(0, 1)])], True
        if self.chance(0.1):
            col = c[3:]
            return ["DELETE FROM ch", execute(f"INSERT INTO ch (id, {col}, s) VALUES (?, ?, ?), (7, ?, 'x')", ["int", 3], a, ["text", "q"], b), execute(f"UPDATE ch SET {col} = ? WHERE id {self.p('=', '<')} ?", self.parameter(k), ["int", 7]), execute("SELECT * FROM ch ORDER BY id")], True
        if self.chance(0.1):
            return [execute("SELECT * FROM t0 ORDER BY id")], True
        return [execute(f"SELECT t0.id, {x} AS x{order}", *ps)], True

    def named_parameters(self):
        """PREPARE and EXECUTE USING variables."""
        self.scope = ["t0"]
        v = self.p("7", "1.50", "NULL", "2.5e0", "-3")
        q = self.p("SELECT t0.id FROM t0 WHERE t0.i > ? ORDER BY t0.id", "SELECT ? + 1, ? = 7", "SELECT COUNT(*) FROM t0 WHERE t0.s = ? OR t0.d < ?", "SELECT t0.id, COALESCE(t0.i, ?) AS x FROM t0 ORDER BY t0.id", "SELECT t0.ti, COUNT(*) FROM t0 WHERE t0.id > ? GROUP BY t0.ti ORDER BY 1")
        if "t0.s" in q:
            v = self.p("'abc'", "'A'", "NULL")
            q = q.replace("t0.d", "t0.s9")
        return [f"SET @a = {v}", f"PREPARE p FROM '{q}'", "EXECUTE p USING " + ", ".join(["@a"] * q.count("?")), f"SET @a = {self.p('2', '3')}", "EXECUTE p USING " + ", ".join(["@a"] * q.count("?"))], False

    MORE = "limits functions functions totals totals view natural ordered ordered rows nested nested on on windows changes changes stored counted prepared prepared prepared named_parameters".split()
