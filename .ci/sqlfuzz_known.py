"""Differences of sqlfuzz.py that are known, each with its reason.

A rule is a function of a Case with the reason as its text. It says yes only to
what it has made sure of: where it can, by asking the oracle again in another way
that must not change the answer. explain gives the name of the first that does.
"""
import decimal
import re
import unicodedata

RULES = []
CHANGES = ("dml", "loose", "reads", "changes")  # the kinds of statements that change rows


def rule(f):
    RULES.append(f)
    return f


def explain(case):
    for f in RULES:
        if f(case):
            return f.__name__ + ": " + " ".join(f.__doc__.split())
    return None


def rows(c):
    return "rows" in c.a and "rows" in c.b and len(c.a["rows"]) == len(c.b["rows"])


def pairs(c, normal):
    """Whether the rows are equal once each cell is made normal."""
    key = lambda r: [(x is not None, x or "") for x in r]
    norm = lambda side: [[normal(v, t[0]) for v, t in zip(r, side["types"])] for r in side["rows"]]
    x, y = norm(c.a), norm(c.b)
    return x == y or sorted(x, key=key) == sorted(y, key=key)


# ---- what MySQL does not decide


@rule
def indeterminate(c):
    """Columns that are not grouped have the value of any row: with
    ONLY_FULL_GROUP_BY MySQL refuses the query."""
    return c.kind == "query" and c.ask(c.sql, "sql_mode='ONLY_FULL_GROUP_BY'").get("error") in (1055, 1140, 3029, 3065, 1142)


@rule
def member(c):
    """Any member of a group of texts that are equal under their collation may stand
    for it."""
    def soft(v, cls):
        if v is None or cls != "text":
            return v
        v = unicodedata.normalize("NFKD", v.replace("ß", "ss"))
        return re.sub(r" +(?=$|[;/,-])", "", "".join(x for x in v if not unicodedata.combining(x)).upper())
    return rows(c) and re.search(r"GROUP BY|DISTINCT|UNION|INTERSECT|EXCEPT|MIN\(|MAX\(", c.sql) is not None and pairs(c, soft)


DATA = {1264, 1265, 1292, 1365, 1366, 1406, 1411, 1441, 1690, 3140, 3141, 3146, 3156, 3751, 6527, 1451, 1062, 1048, 1525, 3854, 3685, 3020}

MIXES = {1267, 1270, 1271}


@rule
def which_error(c):
    """A statement with several values that are errors fails with the one that is
    evaluated first; the manual leaves the order open."""
    a, b = c.a.get("error"), c.b.get("error")
    if a in MIXES and b in (1210, 1525, 3586, 3593, 3594, 3853):
        # With one collation for all texts, MySQL has our error.
        return c.ask(re.sub(r"\b(t\d\.s[9b]?)\b(?! COLLATE)", r"(\1 COLLATE utf8mb4_bin)", c.sql)).get("error") == b
    return a != b and (a in DATA and b in DATA or {a, b} <= MIXES or (a, b) == (1210, 1054))


def same_values(a, b):
    """Whether two answers have the same rows but for the types of their columns."""
    def cell(v):
        if v is None or not re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", v):
            return v
        d = decimal.Decimal(v)
        return "0" if d == 0 else format(d.normalize(), ".11g")
    return "rows" in a and "rows" in b and sorted(map(repr, ([cell(v) for v in r] for r in a["rows"]))) == sorted(map(repr, ([cell(v) for v in r] for r in b["rows"])))


def widened(sql, message):
    """The statement with the expression that is out of range, says the message,
    computed in DECIMAL instead; None when the message's text is not in it."""
    m = re.search(r"value is out of range in '(.*)'$", message, re.S)
    if not m:
        return None
    text = re.sub(r"`(?:[^`]+`\.`)?([^`]+)`\.`([^`]+)`", r"\1.\2", m.group(1))
    text = re.sub(r"-\(([\w.]+)\)", r"-\1", text)
    found = re.search(r"\s*".join(re.escape(x) for x in re.findall(r"[\w.]+|\S", text)), sql, re.I)
    if not found:
        return None
    if text.startswith("-"):
        return sql.replace(found.group(), f"-CAST({found.group()[1:]} AS DECIMAL(40,0))")
    inner, depth = found.group()[1:-1], 0
    for at, ch in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(ch, 0)
        if depth == 0 and re.match(r" [-+*] ", inner[at:]):
            x, op, y = inner[:at], inner[at + 1], inner[at + 3:]
            return sql.replace(found.group(), f"(CAST({x} AS DECIMAL(40,0)) {op} CAST({y} AS DECIMAL(40,0)))")
    return None


@rule
def evaluated_early(c):
    """A condition or key with a value that is an error is evaluated for rows that a
    join, or another condition, leaves out here first. The manual leaves the order
    open: computed in a type that has room, MySQL has our rows."""
    if c.a.get("error") != 1690 or "rows" not in c.b:
        return False
    sql = widened(c.sql, c.a["message"])
    return sql is not None and same_values(c.ask(sql), c.b)


def subqueries(sql):
    """The texts of all subqueries, without their parentheses."""
    for m in re.finditer(r"\((?=SELECT )", sql):
        depth = 0
        for at in range(m.start(), len(sql)):
            depth += {"(": 1, ")": -1}.get(sql[at], 0)
            if depth == 0:
                yield sql[m.end():at]
                break


@rule
def not_evaluated(c):
    """An operand with a value that is an error is not evaluated, because of an
    argument before it, of LIMIT, or of a constant condition. The manual leaves the
    order open: evaluated alone MySQL has the same error, or warning, or computed
    in a type that has room we have its rows."""
    if c.b.get("error") == 1242 and c.a.get("rows") == []:
        return any(c.ask(f"SELECT ({q})").get("error") == 1242 for q in subqueries(c.sql))
    if "error" in c.a or c.b.get("error") not in DATA:
        return False
    message = re.sub(r"^table \S+, snapshot \d+: ", "", c.b["message"])
    if c.b["error"] == 1690 and "rows" in c.a:
        sql = widened(c.sql, message)
        if sql is not None and same_values(c.ours(sql), c.a):
            return True
    m = re.search(r" in '(.*)'$", message, re.S)
    if m and c.b["error"] in (1690, 1441, 6527):
        x = m.group(1)
        used = set(re.findall(r"`(\w+)`\.`\w+`", x)) | set(re.findall(r"`\w+`\.`(\w+)`\.`\w+`", x))
        named = {alias: f"{t} {alias}" for t, alias in re.findall(r"(?:FROM|JOIN|,) (\w+) (\w+)", c.sql) if alias in used}
        if named and c.ask(f"SELECT {x} FROM {', '.join(sorted(named.values()))}").get("error") == c.b["error"]:
            return True
        for t in re.findall(r"FROM ([a-z]\w*)|UPDATE (?:IGNORE )?(\w+)|JOIN (\w+)", c.sql):
            t = next(y for y in t if y)
            for form in (x, re.sub(r"`\w+`\.", "", x)):
                if c.ask(f"SELECT {form} FROM {t}").get("error") == c.b["error"]:
                    return True
        return False
    if c.sql.startswith(("UPDATE", "DELETE", "INSERT", "REPLACE")):
        m = re.search(r" WHERE (.*?)( ORDER BY id .*LIMIT \d+| LIMIT \d+)?$", c.sql, re.S)
        if not m:
            return False
        return any(message.split(" for column")[0][:60] in w for w in c.warnings(f"SELECT {m.group(1)} FROM ch"))
    return False


# ---- faults of MySQL 9.7, seen by asking it in another way


@rule
def derived_merge(c):
    """Constant columns of a derived table on the inner side of an outer join come
    out as values where they are NULL, or lose rows: with derived_merge=off, which
    must not change answers, MySQL has our rows."""
    return "JOIN" in c.sql and "(SELECT" in c.sql and c.equal(c.ask(c.sql, "optimizer_switch='derived_merge=off'"), c.b)


@rule
def set_operations(c):
    """EXCEPT and INTERSECT of operands with mixed types: with
    hash_set_operations=off, which must not change answers, MySQL has our rows."""
    return re.search("EXCEPT|INTERSECT", c.sql) is not None and c.equal(c.ask(c.sql, "optimizer_switch='hash_set_operations=off'"), c.b)


@rule
def switched(c):
    """With other optimizations switched off, which must not change answers, MySQL
    has our rows."""
    off = "semijoin=off,subquery_to_derived=off,materialization=off,block_nested_loop=off,derived_condition_pushdown=off,condition_fanout_filter=off,derived_merge=off,prefer_ordering_index=off"
    return "SELECT" in c.sql and c.sql.startswith(("SELECT", "WITH", "(")) and c.equal(c.ask(c.sql, f"optimizer_switch='{off}'"), c.b)


def derived_operands(sql):
    """The query with each set operation in parentheses as a derived table."""
    out, at, n = [], 0, 0
    while at < len(sql):
        if sql[at] == "(" and re.match(r"\(+SELECT", sql[at:]) and re.search(r"(^|\(|UNION|ALL|EXCEPT|INTERSECT) ?$", sql[:at]):
            depth, end = 0, at
            while True:
                depth += {"(": 1, ")": -1}.get(sql[end], 0)
                if depth == 0:
                    break
                end += 1
            out.append(f"SELECT * FROM ({derived_operands(sql[at + 1:end])}) d{len(sql)}_{n}")
            n, at = n + 1, end + 1
        else:
            out.append(sql[at])
            at += 1
    return "".join(out)


@rule
def nested_set_operations(c):
    """Set operations of set operations in parentheses lose rows, or keep too many:
    with each operand as a derived table, which is the same query, MySQL has our
    rows."""
    return re.search("EXCEPT|INTERSECT", c.sql) is not None and c.kind == "setop" and c.equal(c.ask(derived_operands(c.sql)), c.b)


@rule
def nested_mix(c):
    """Texts of two collations, which MySQL refuses in a set operation (1271), are
    accepted by it in one inside another; which collation they have then is not
    defined. With one collation for all, both have the same rows."""
    if c.kind != "setop" or "error" in c.a or not re.search(r"\((\(|SELECT).*(UNION|EXCEPT|INTERSECT)", c.sql, re.S):
        return False
    if not (re.search(r"\bt\d\.s\b", c.sql) and re.search(r"\bt\d\.s9\b", c.sql)):
        return False
    sql = re.sub(r"\b(t\d\.s[9b]?)\b(?! COLLATE)", r"(\1 COLLATE utf8mb4_bin)", c.sql)
    a, b = c.ask(sql), c.ours(sql)
    return "rows" in a and same_values(a, b)


def calls(sql, name):
    """Where calls of a function begin and end, and their arguments."""
    for m in re.finditer(r"\b" + name + r"\(", sql):
        depth, args, start, quoted = 1, [], m.end(), False
        for at in range(m.end(), len(sql)):
            ch = sql[at]
            if ch == "'":
                quoted = not quoted
            if quoted:
                continue
            depth += {"(": 1, ")": -1}.get(ch, 0)
            if depth == 0 or depth == 1 and ch == ",":
                args.append(sql[start:at].strip())
                start = at + 1
            if depth == 0:
                yield m.start(), at + 1, args
                break


@rule
def json_choice(c):
    """IF, CASE and COALESCE of JSON are read as numbers by their text, in which a
    string has its quotes: CAST('"10"' as JSON) is 10, IF(TRUE, it, it) is 0. Given to
    JSON_EXTRACT first, MySQL has our rows."""
    if not rows(c) or "JSON" not in c.sql and "js" not in c.sql:
        return False
    for start, end, args in calls(c.sql, "CAST"):
        m = re.match(r"(.*) AS (SIGNED|UNSIGNED|DECIMAL\(\d+,\d+\)|DOUBLE)$", c.sql[start + 5:end - 1], re.S)
        if m and re.match(r"\(*(IF|COALESCE|CASE|IFNULL|NULLIF|ELT)\b", m.group(1)):
            sql = f"{c.sql[:start]}CAST(JSON_EXTRACT({m.group(1)}, '$') AS {m.group(2)}){c.sql[end:]}"
            if c.equal(c.ask(sql), c.b):
                return True
    return False


@rule
def regexp_decimal(c):
    """What REGEXP_REPLACE and REGEXP_SUBSTR give is a DECIMAL by its whole number:
    CAST(REGEXP_REPLACE('3.5', 'x', '') AS DECIMAL(3,1)) is 3.0. As an argument of
    CONCAT, MySQL has our rows."""
    if not rows(c) or "AS DECIMAL" not in c.sql:
        return False
    sql = c.sql
    for name in ("REGEXP_REPLACE", "REGEXP_SUBSTR"):
        for start, end, _ in reversed(list(calls(sql, name))):
            sql = f"{sql[:start]}CONCAT({sql[start:end]}){sql[end:]}"
    return sql != c.sql and c.equal(c.ask(sql), c.b)


@rule
def window_minimum(c):
    """MIN and MAX OVER a window that is ordered by their own column look at the first
    or last row only, and so at NULL: of COALESCE(x, x) MySQL has our answer."""
    return re.search(r"(MIN|MAX)\(\S+\) OVER", c.sql) is not None and c.equal(c.ask(re.sub(r"(MIN|MAX)\(([\w.]+)\) OVER", r"\1(COALESCE(\2, \2)) OVER", c.sql)), c.b)


@rule
def quoted_null(c):
    """QUOTE(NULL) is the text NULL, but an outer join whose condition has it is
    taken for an inner one, as if it were NULL."""
    return "QUOTE(" in c.sql and re.search("LEFT JOIN|RIGHT JOIN", c.sql) is not None and "rows" in c.a and "rows" in c.b and len(c.b["rows"]) > len(c.a["rows"]) and all(r in c.b["rows"] for r in c.a["rows"])


@rule
def out_of_its_type(c):
    """ROUND of a DECIMAL(30,30) to less digits may be 1, which its type does not hold:
    temporary tables make 0.999… of it."""
    return c.kind == "decimal" and rows(c) and all(x == y or x is not None and re.fullmatch(r"-?9*\.?9*|-?0\.9+", x) for r, s in zip(bagged(c.a), bagged(c.b)) for x, y in zip(r, s))


@rule
def cut_replace(c):
    """REPLACE counts too short a result, so that temporary tables cut texts of it."""
    if "REPLACE(" not in c.sql or not rows(c) or not re.search("UNION|EXCEPT|INTERSECT|GROUP BY|ORDER BY|DISTINCT|OVER", c.sql):
        return False
    return all(x == y or x is not None and y is not None and y.startswith(x) for r, s in zip(bagged(c.a), bagged(c.b)) for x, y in zip(r, s))


def bagged(a):
    return sorted(a["rows"], key=lambda r: [(x is not None, x or "") for x in r])


@rule
def interval_key(c):
    """The function INTERVAL(), and what has it in itself, is not recognized as the
    key of the grouping that it is: written as CASE, MySQL has our rows."""
    if "GROUP BY" not in c.sql or not (c.a.get("error") in (1055, 3602) or "ROLLUP" in c.sql and rows(c)):
        return False
    sql = c.sql
    while True:
        found = list(calls(sql, "INTERVAL"))
        if not found:
            break
        start, end, args = found[-1]  # the innermost of nested ones is the last to begin
        x = args[0]
        whens = "".join(f" WHEN {x} < {bound} THEN {k}" for k, bound in enumerate(args[1:]))
        sql = f"{sql[:start]}(CASE WHEN {x} IS NULL THEN -1{whens} ELSE {len(args) - 1} END){sql[end:]}"
        if len(sql) > 60000:
            return False
    return sql != c.sql and same_values(c.ask(sql), c.b)


@rule
def rollup_of_nothing(c):
    """WITH ROLLUP over no rows because of a constant condition: the total row has
    GROUPING() 0, or keys of a row that is not there; over no rows for another reason
    it is right."""
    return "ROLLUP" in c.sql and "WHERE" in c.sql and "rows" in c.a and "rows" in c.b and len(c.a["rows"]) <= 1 and len(c.b["rows"]) <= 1 and \
        c.ask(re.sub(r"^SELECT .*? FROM (t0 WHERE .*) GROUP BY .*", r"SELECT COUNT(*) FROM \1", c.sql, flags=re.S)).get("rows") == [["0"]]


@rule
def div_minimum(c):
    """-9223372036854775808 DIV 1 is an error 1690, though it fits."""
    return c.a.get("error") == 1690 and " DIV " in c.a["message"] and "rows" in c.b and c.ask("SELECT -9223372036854775808 DIV 1").get("error") == 1690


@rule
def beyond_digits(c):
    """ROUND of 65 nines has 66 digits in MySQL, more than a DECIMAL may have, and a sum
    of more is 65 nines: both are an error 1690 here."""
    message = c.b.get("message", "")
    if c.b.get("error") == 1690 and "rows" in c.a and "DECIMAL value is out of range in 'sum'" in message:
        return any(v and re.fullmatch(r"-?9{65}", v) for r in c.a["rows"] for v in r)
    m = re.search(r"DECIMAL value is out of range in '(round\([-\d.,() ]+\))'", message)
    if m and "rows" in c.a:
        return any(v and re.fullmatch(r"-?\d{66,}(\.\d+)?", v) for r in c.ask("SELECT " + m.group(1)).get("rows", []) for v in r)
    return c.b.get("error") == 1690 and "DECIMAL value is out of range in 'round(" in c.b["message"] and "rows" in c.a and any(v and re.fullmatch(r"-?\d{66,}(\.\d+)?", v) for r in c.a["rows"] for v in r)


@rule
def component_text(c):
    """MD5 and SHA1 are functions of a component in 9.7, whose texts are read as numbers
    without the error that strict changes raise for others."""
    return c.kind in CHANGES and "error" not in c.a and re.search(r"Truncated incorrect DOUBLE value: '[0-9a-f]{32,40}'", c.b.get("message", "")) is not None and re.search(r"\b(MD5|SHA1?)\(", c.sql) is not None


@rule
def ascii_text(c):
    """Beside a text of ASCII (BIN, HEX, CONV, MD5 …) set operations, GREATEST and
    LEAST convert all others to ASCII and fail on letters that it does not have; it
    takes no COLLATE of the connection's character set."""
    return (c.a.get("error") == 3854 or c.a.get("error") == 1253 and "'ascii'" in c.a["message"]) and re.search(r"\b(BIN|HEX|CONV|MD5|TO_BASE64|SOUNDEX)\(", c.sql) is not None


@rule
def date_of_number(c):
    """A number whose time of day does not exist is a date all the same: CAST(218888179
    AS DATE) is 2000-02-18 though 88:81:79 is no time; as DATETIME it is NULL."""
    if not rows(c) or not re.search(r"AS DATE\)|DATE\(|LAST_DAY|DATEDIFF|DATE_FORMAT|DAYNAME|MONTHNAME|TO_DAYS|GREATEST|LEAST", c.sql):
        return False
    return c.ask("SELECT CAST(218888179 AS DATE)").get("rows") == [["2000-02-18"]] and all(x == y or y is None and re.fullmatch(r"\d{4}-\d\d-\d\d", x or "") for r, s in zip(c.a["rows"], c.b["rows"]) for x, y in zip(r, s)) and "CRC32" in c.sql


@rule
def width(c):
    """FLOOR and CEILING of quotients and choices of integer functions are integers,
    of DECIMAL when they may have more than 18 digits: MySQL counts digits function
    by function, here all integer functions have 19. The values are equal."""
    return re.search(r"FLOOR|CEILING|ROUND|TRUNCATE", c.sql) is not None and re.match(r"types? .*int.*dec.*0|types? .*dec.*0.*int", c.why) is not None and pairs(c, lambda v, t: v)


@rule
def temporal_text(c):
    """COALESCE, IF, CASE, GREATEST … and aggregates of dates and times store their
    text into a column of numbers, '2024-01-31' as 2024, where dates themselves store
    20240131; here all do."""
    if c.kind not in CHANGES or not re.search(r"COALESCE|IF\(|CASE|GREATEST|LEAST|NULLIF|MAX\(|MIN\(|ADDTIME|SUBTIME", " ".join(c.script)):
        return False
    if c.a.get("error") in (1265, 1366, 1264) and "error" not in c.b or c.b.get("error") in (1264, 1265) and c.a.get("error") in (1265, 1366, 1264):
        return re.search(r"DATE|DAY|TIME|\.(dt|ts|t3|tm)\b", c.sql) is not None
    numbers = ("int", "dec", "double", "float", "year")
    return rows(c) and any(r != s for r, s in zip(c.a["rows"], c.b["rows"])) and all(x == y or t[0] in numbers and x is not None and y is not None for r, s in zip(c.a["rows"], c.b["rows"]) for x, y, t in zip(r, s, c.a["types"])) and re.search(r"DATE|DAY|TIME|\.(dt|ts|t3|tm)\b", c.script[-2]) is not None


# ---- differences on purpose (docs/functions.md, docs/sql-syntax.md)


@rule
def own_scale(c):
    """A decimal column shows all fraction digits of its type; MySQL shows those of
    the value that was taken (CASE, IF, COALESCE, GREATEST, a user variable), and
    computed zeros without any."""
    def strip(v, cls):
        if v is None:
            return v
        if cls == "dec":
            return re.sub(r"\.?0+$", "", v) if "." in v else v
        return re.sub(r"-?\d+\.\d+", lambda m: re.sub(r"\.?0+$", "", m.group()), v) if cls in ("text", "json") else v
    return rows(c) and re.search(r"CASE|IF|COALESCE|GREATEST|LEAST|NULLIF|MOD|%|\*|/|@|ELSE|UNION|JSON|LAG|LEAD|VALUES ROW", c.sql) is not None and pairs(c, lambda v, cls: {"-0": "0", "": "0"}.get(strip(v, cls), strip(v, cls)) if cls != "text" else strip(v, cls))


@rule
def own_digits(c):
    """The quotient of decimals, and AVG, have the digits of the values that were taken,
    in groups of nine, behind GREATEST, IF, ROUND and their like: 0.0092783500 for
    0.0092783505, or a last digit that was rounded otherwise."""
    def cut(x, y):
        if x == y:
            return True
        if x is None or y is None or not re.fullmatch(r"-?\d+\.\d+", x) or not re.fullmatch(r"-?\d+\.\d+", y):
            return False
        return y.startswith(re.sub(r"0+$", "", x)) or len(x) == len(y) and abs(int(x.replace(".", "")) - int(y.replace(".", ""))) <= 1
    return rows(c) and re.search(r"/|AVG", c.sql) is not None and re.search(r"GREATEST|LEAST|IF\(|CASE|COALESCE|NULLIF|TRUNCATE|ROUND|CAST", c.sql) is not None and all(cut(x, y) for r, s in zip(bagged(c.a), bagged(c.b)) for x, y in zip(r, s))


@rule
def impossible_where(c):
    """A rollup over no rows, because EXPLAIN says Impossible WHERE, shows a constant key
    instead of NULL."""
    return "ROLLUP" in c.sql and "Impossible WHERE" in str(c.ask("EXPLAIN FORMAT=TRADITIONAL " + c.sql).get("rows")) and rows(c)


@rule
def outer_aggregate(c):
    """An aggregate whose arguments are all columns of an outer query's WHERE is
    refused by MySQL (1111) inside another aggregate, and is the inner query's here."""
    return c.a.get("error") == 1111 and "rows" in c.b and c.kind == "query" and re.search(r"(MIN|MAX|COUNT|SUM|AVG)\(.*\(SELECT (MIN|MAX|COUNT)\(", c.sql) is not None


@rule
def long_time(c):
    """A number that is too long for a TIME is 838:59:59 without strict mode, here it
    is no time: 00:00:00."""
    if c.kind == "loose" and c.why.startswith("count"):
        return re.search(r"\btm = (CRC32|\d{8}|\(?ch\.b|CAST|ABS|BIT)", c.sql) is not None
    return c.kind in CHANGES and rows(c) and re.search(r"\d{8}", " ".join(c.script)) is not None and all(x == y or t[0] == "time" and (x, y) == ("838:59:59", "00:00:00") for r, s in zip(c.a["rows"], c.b["rows"]) for x, y, t in zip(r, s, c.a["types"]))


@rule
def user_decimal(c):
    """A decimal in a user variable has its own scale, not 30 digits."""
    return c.kind == "variable" and re.match(r"type \['dec', 30\] / \['dec', ", c.why) is not None


@rule
def zero_date(c):
    """INSERT IGNORE and non-strict modes store NULL for what is no date, not
    0000-00-00, which lake tables do not have."""
    if c.why.startswith("count") and c.kind in CHANGES:
        return c.ask("SELECT COUNT(*) > 0 FROM ch WHERE CAST(dt AS CHAR) LIKE '0000%' OR CAST(ts AS CHAR) LIKE '0000%' OR CAST(t3 AS CHAR) LIKE '0000%'").get("rows") == [["1"]]
    return c.kind in CHANGES and rows(c) and pairs(c, lambda v, cls: None if v and cls in ("date", "datetime", "timestamp") and v.startswith("0000-00-00") else v)


# ---- more faults of MySQL 9.7


def differing(c):
    """Pairs of rows that differ, and where: (ours and the oracle's row, position)."""
    for r, s in zip(c.a["rows"], c.b["rows"]) if c.total else zip(bagged(c.a), bagged(c.b)):
        for k, (x, y) in enumerate(zip(r, s)):
            if x != y:
                yield r, s, k


def with_calls(sql, names, form):
    """The statement with each call of some functions replaced by a form of it, the
    innermost first."""
    for name in names:
        for n in range(len(list(calls(sql, name)))):
            start, end, args = list(calls(sql, name))[-1 - n]
            sql = sql[:start] + form(name, sql[start:end], args) + sql[end:]
    return sql


NUMBERS = ("STRCMP", "INSTR", "LOCATE", "FIND_IN_SET", "FIELD", "REGEXP_INSTR", "POSITION")


@rule
def plain_number(c):
    """Whole numbers that functions of texts give are no plain ones: STRCMP is a boolean in
    JSON, where -1 is true, and INSTR brings the collation of its texts into COALESCE.
    With + 0, MySQL has our rows."""
    if "rows" not in c.b or not any(n + "(" in c.sql for n in NUMBERS):
        return False
    return same_values(c.ask(with_calls(c.sql, NUMBERS, lambda _, text, args: f"({text} + 0)")), c.b)


@rule
def infinite(c):
    """Sums and averages beyond the largest double are shown as 0, though they are greater
    than it: here they are Infinity."""
    if not rows(c) or not re.search(r"\b(SUM|AVG)\(", c.sql) or " OVER " in c.sql:
        return False
    if any(x != "0" or y not in ("inf", "-inf") for r, s, k in differing(c) for x, y in [(r[k], s[k])]):
        return False
    sql = c.sql
    for name in ("SUM", "AVG"):
        found = list(calls(sql, name))
        if found:
            start, end, _ = found[0]
            sql = f"{sql[:start]}(ABS({sql[start:end]}) > 1.7976931348623157e308){sql[end:]}"
    proof = c.ask(sql)
    return "rows" in proof and sum(r.count("1") for r in proof["rows"]) >= len(list(differing(c)))


@rule
def lost_digits(c):
    """Sums of doubles lose what is small beside the greatest of them; here they lose
    nothing. The difference is within the error of adding up their absolute values."""
    if not rows(c) or not re.search(r"\b(SUM|AVG)\(", c.sql) or any(t[0] not in ("double", "text") for r, s, k in differing(c) for t in [c.a["types"][k]]):
        return False
    sums = c.ask(with_calls(c.sql, ("SUM", "AVG"), lambda name, _, args: f"{name}(ABS({args[0]}))") if not re.search(r"(SUM|AVG)\(DISTINCT", c.sql) else "")
    if "rows" not in sums or len(sums["rows"]) != len(c.a["rows"]):
        return False
    most = [max([abs(float(r[k])) for r in sums["rows"] if r[k] is not None and t[0] == "double"] or [0]) for k, t in enumerate(c.a["types"])]
    most = [m or max(most) for m in most]  # CONCAT(AVG(x))
    number = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
    return all(r[k] and s[k] and number.fullmatch(r[k]) and number.fullmatch(s[k]) and abs(float(r[k]) - float(s[k])) <= 1e-14 * most[k] for r, s, k in differing(c))


@rule
def average_of_nothing(c):
    """AVG over a window without values may be 0: SUM over the same window is NULL."""
    if not rows(c) or not re.search(r"AVG\([^()]*\) OVER", c.sql) or not c.total:
        return False
    sums = c.ask(re.sub(r"AVG(\([^()]*\) OVER)", r"SUM\1", c.sql))
    if len(sums.get("rows", [])) != len(c.a["rows"]):
        return False
    return all(s[k] is None and float(r[k]) == 0 and sums["rows"][c.a["rows"].index(r)][k] is None for r, s, k in differing(c))


@rule
def between_null(c):
    """x BETWEEN NULL AND a text may be 0 where it is NULL: written as two comparisons,
    MySQL has our rows."""
    sql = re.sub(r"SELECT t0\.id, (.+) BETWEEN (.+) AND (.+) AS x FROM", r"SELECT t0.id, (\1 >= \2 AND \1 <= \3) AS x FROM", c.sql)
    return "NULL" in c.sql and sql != c.sql and c.equal(c.ask(sql), c.b)


@rule
def number_text(c):
    """The text of -2.2250738585072014e-308 is -2.2250738585072e-308 in functions of texts,
    three digits less than it has. Of the number that the text shows we have MySQL's
    rows."""
    m = re.search(r"-?2\.2250738585072014e-308", c.sql)
    if not m or not rows(c):
        return False
    shown = c.ask(f"SELECT CONCAT({m.group()})").get("rows", [[None]])[0][0]
    return shown not in (None, m.group()) and c.equal(c.a, c.ours(c.sql.replace(m.group(), shown)))


@rule
def own_length(c):
    """The length of a text that has a decimal's own digits (see own_scale): without
    LENGTH, the texts differ by those."""
    if not rows(c) or "LENGTH(" not in c.sql or "GREATEST" not in c.sql and "LEAST" not in c.sql and "CASE" not in c.sql and "IF" not in c.sql and "COALESCE" not in c.sql:
        return False
    sql = with_calls(c.sql, ("BIT_LENGTH", "CHAR_LENGTH", "LENGTH"), lambda _, text, args: f"({args[0]})")
    from copy import copy
    d = copy(c)
    d.sql, d.a, d.b = sql, c.ask(sql), c.ours(sql)
    return own_scale(d)


@rule
def no_month(c):
    """A text with a month or a day of zero has a year for DATE_FORMAT; dates without
    month or day are NULL here."""
    if not rows(c) or not c.total:
        return False
    found = list(calls(c.sql, "DATE_FORMAT"))
    if not found:
        return False
    start, end, args = found[0]
    sql = f"{c.sql[:start]}(MONTH({args[0]}) = 0 OR DAYOFMONTH({args[0]}) = 0){c.sql[end:]}"
    proof = c.ask(sql).get("rows", [])
    return len(proof) == len(c.a["rows"]) and all(s[k] is None and proof[c.a["rows"].index(r)][k] == "1" for r, s, k in differing(c))


@rule
def null_parameter(c):
    """A parameter that is given as NULL has no fraction of seconds here; MySQL counts six
    digits for any parameter. The values are equal."""
    if c.kind != "prepared" or '["null", null]' not in " ".join(c.script) or not rows(c):
        return False
    return pairs(c, lambda v, t: re.sub(r"\.0+$", "", v) if v and t in ("time", "datetime") else v)


@rule
def equal_columns(c):
    """Where a join's condition says that two columns of texts are equal, MySQL may put one
    for the other into other conditions, though equal texts may be different ones. With
    the equality IS TRUE, which it does not look into, MySQL has our rows."""
    if not re.search(r"JOIN", c.sql):
        return False
    sql = re.sub(r"\b(a\d+\.c\d+ = a\d+\.c\d+)\b", r"((\1) IS TRUE)", c.sql)
    return sql != c.sql and same_values(c.ask(sql), c.b)


def rewritten(c, sql):
    """Whether another form of the statement is equal on both servers, or what differs
    then is known, and the second server gives the same as before."""
    from copy import copy
    d = copy(c)
    d.sql, d.a, d.b = sql, c.ask(sql), c.ours(sql)
    return same_values(d.b, c.b) and (d.equal(d.a, d.b) or explain(d) is not None)


@rule
def sixty_seconds(c):
    """ADDTIME, TIMESTAMPADD and + INTERVAL of dates with a fraction of seconds are rounded
    to a whole number without a minute that it makes full: 20240301235960. Rounded as a
    date first, MySQL has our rows."""
    sql = with_calls(c.sql, ("CAST",), lambda _, text, args: re.sub(r"^CAST\(((?:ADDTIME|TIMESTAMPADD)\(.*|\(.* INTERVAL .*) AS (SIGNED|UNSIGNED)\)$", r"CAST(CAST(\1 AS DATETIME) AS \2)", text))
    return sql != c.sql and rewritten(c, sql)
