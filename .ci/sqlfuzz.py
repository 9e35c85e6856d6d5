"""Random statements on two servers of the MySQL protocol, answers compared.

  sqlfuzz.py --oracle HOST:PORT:USER:PASSWORD --sut HOST:PORT:USER:PASSWORD --queries 100000 [--seed 1]
             [--kinds query,expr,…] [--out FILE.jsonl] [--explained FILE.jsonl] [--print] [--same]

Half of them are queries of ../shared/oracles/sqlfuzz (kind "query"), half those of
sqlfuzz_grammar.py. Every thousand has a database of its own; seed and number of
a statement say which it is. Equal means: same error code; or same classes of
columns (decimals with their scale), same rows, in order where the order is
total; doubles by eleven digits; affected rows of changes, and the table after
them. Each difference is explained by a rule of sqlfuzz_known.py, which names the
fault of the oracle or the freedom that its manual gives, or it is unexplained:
then it is written to FILE.jsonl, and the exit status is 1. What the second server
refuses by name (error 1235) is counted by what it names.

With --same (both servers are one product) no rule applies. With --mariadb the
first server is a MariaDB, and only kind "query" runs, by the rules of
sqlfuzz_mariadb.py.
"""
import argparse
import collections
import importlib.util
import json
import math
import os
import random
import re
import socket
import sys
import time

import pymysql
from pymysql.constants import FIELD_TYPE as F

import sqlfuzz_binary
import sqlfuzz_clauses
import sqlfuzz_grammar
import sqlfuzz_known
import sqlfuzz_mariadb

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "../../shared/oracles/sqlfuzz/sqlfuzz.py")
BLOCK = 1000
SLOW = 20  # seconds
LARGEST = 200000  # rows of all tables multiplied, of queries with a CROSS JOIN

CLASS = {F.TINY: "int", F.SHORT: "int", F.LONG: "int", F.LONGLONG: "int", F.INT24: "int", F.DECIMAL: "dec", F.NEWDECIMAL: "dec", F.FLOAT: "float",
         F.DOUBLE: "double", F.DATE: "date", F.DATETIME: "datetime", F.TIMESTAMP: "timestamp", F.TIME: "time", F.YEAR: "year", F.JSON: "json",
         F.NULL: "null", F.BIT: "bit"}
SETTINGS = ["SET time_zone = '+00:00'", "SET timestamp = 1717243506", "SET sql_mode = DEFAULT", "SET div_precision_increment = 4"]
QUERIES = ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"]  # of the shared fuzzer
OWN = ["SET lake_insert = 'strict'"]  # without it, INSERT replaces rows of a key


def shared():
    spec = importlib.util.spec_from_file_location("shared_sqlfuzz", SHARED)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def cell(v, cls):
    if v is None:
        return None
    if isinstance(v, bytes):
        v = v.decode("utf-8", "backslashreplace")
    if cls in ("double", "float"):
        x = float(v)
        return "0" if x == 0 else "%.11g" % x
    return v


class Server:
    def __init__(self, dsn):
        self.dsn, self.c, self.db, self.more = dsn, None, None, []

    def connect(self):
        h, p, u, pw = self.dsn.split(":")
        self.c = pymysql.connect(host=h, port=int(p), user=u, password=pw, charset="utf8mb4", conv={}, autocommit=True, read_timeout=120)
        self.cur = self.c.cursor()
        self.cur.execute("SET NAMES utf8mb4")
        self.reset()
        for s in OWN:
            try:
                self.cur.execute(s)
            except pymysql.Error:
                pass
        if self.db:
            self.cur.execute(f"USE {self.db}")

    def reset(self):
        for s in SETTINGS + self.more:
            self.cur.execute(s)

    def make(self, db, sqls):
        self.db = None
        self.connect()
        for s in [f"DROP DATABASE IF EXISTS {db}", f"CREATE DATABASE {db}", f"USE {db}"] + sqls:
            self.cur.execute(s)
        self.db = db

    def drop(self, db):
        self.db = None
        self.cur.execute(f"DROP DATABASE IF EXISTS {db}")
        self.c.close()
        self.c = None

    def run(self, sql):
        start = time.time()
        try:
            if self.c is None:
                self.connect()
            if sql.startswith(sqlfuzz_clauses.EXECUTE):
                parameters, text = sql[len(sqlfuzz_clauses.EXECUTE):].split("*/ ", 1)
                n, fields, rows = sqlfuzz_binary.execute(self.c, text, json.loads(parameters))
                d = [f.description() for f in fields]
            else:
                n = self.cur.execute(sql)
                rows, d = self.cur.fetchall(), self.cur.description
            if time.time() - start > SLOW:
                print(f"slow on {self.dsn.rsplit(':', 2)[0]}: {time.time() - start:.0f} s: {sql[:600]}", flush=True)
        except pymysql.Error as e:
            code = e.args[0] if e.args else 0
            if code in (2006, 2013, 0) or not isinstance(code, int):
                self.c = None
                return {"error": code, "message": f"connection lost: {e}"}
            return {"error": code, "message": str(e.args[1])}
        if not d:
            return {"n": n}
        cls = [CLASS.get(x[1], "text") for x in d]
        return {"types": [[c, x[5] if c in ("dec", "datetime", "time") else None] for c, x in zip(cls, d)], "rows": [[cell(v, c) for v, c in zip(r, cls)] for r in rows]}


def bag(rows):
    return sorted(rows, key=lambda r: [(x is not None, x or "") for x in r])


def differ(a, b, total):
    if "error" in b and b["error"] == 1235 and a.get("error") != 1235:
        return "refused"
    if "error" in a or "error" in b:
        return None if a.get("error") == b.get("error") else f"error {a.get('error')} / {b.get('error')}"
    if "rows" not in a or "rows" not in b:
        return None if a.get("n") == b.get("n") else f"count {a.get('n')} / {b.get('n')}"
    ra, rb = (a["rows"], b["rows"]) if total else (bag(a["rows"]), bag(b["rows"]))
    if ra != rb:
        return "rows"
    for i, (x, y) in enumerate(zip(a["types"], b["types"])):
        if x != y and not all(r[i] is None for r in ra):
            return f"type {x} / {y}"
    return None


class Case:
    """A statement whose answers differ, for the rules: a is the oracle's, b ours."""

    def __init__(self, oracle, sut, kind, script, sql, total, why, a, b):
        self.oracle, self.sut, self.kind, self.script, self.sql, self.total, self.why, self.a, self.b = oracle, sut, kind, script, sql, total, why, a, b
        self.asked = {}

    def ask(self, sql, *settings):
        """The oracle's answer to another statement, under other settings."""
        key = (sql,) + settings
        if key not in self.asked:
            c = self.oracle
            try:
                for s in settings:
                    c.cur.execute("SET " + s)
                self.asked[key] = c.run(sql)
            except pymysql.Error as e:
                self.asked[key] = {"error": e.args[0], "message": str(e)}
            if settings:
                if c.c is None:
                    c.connect()  # it had not answered in time
                c.cur.execute("SET optimizer_switch = DEFAULT")
                c.cur.execute("SET sql_mode = DEFAULT")
                for s in c.more + self.script[:-1]:
                    if s.startswith("SET "):
                        c.cur.execute(s)
        return self.asked[key]

    def ours(self, sql):
        """The second server's answer to another statement."""
        return self.sut.run(sql)

    def warnings(self, sql):
        """The oracle's warnings of another statement."""
        self.oracle.run(sql)
        return [" ".join(x.decode() if isinstance(x, bytes) else str(x) for x in w) for w in self.oracle.run("SHOW WARNINGS").get("rows", [])]

    def equal(self, a, b):
        return differ(a, b, self.total) is None


class Run:
    def __init__(self, a):
        self.a, self.up = a, shared()
        self.oracle, self.sut = Server(a.oracle), Server(a.sut)
        self.kinds = set(a.kinds.split(",")) if a.kinds else None
        self.unexplained, self.known, self.refused, self.done = [], collections.Counter(), collections.Counter(), collections.Counter()
        self.start = time.time()
        self.out = open(a.out, "w") if a.out and not a.print else None
        self.explained = open(a.explained, "w", buffering=1) if a.explained and not a.print else None

    def judge(self, seed, n, case, tree=None):
        if "timed out" in case.a.get("message", ""):
            print(f"not answered by the first server in time: seed {seed}, number {n}", flush=True)
            return
        if case.why == "refused":
            self.refused[re.sub(r"[`'\d].*|\(at.*", "", re.sub(r"^table \S+ ", "", case.b["message"]))[:110]] += 1
            return
        rules = sqlfuzz_mariadb if self.a.mariadb else sqlfuzz_known
        rule = None if self.a.same else rules.explain(case)
        if rule:
            self.known[rule] += 1
            if self.explained:
                self.explained.write(json.dumps(dict(rule=rule.split(":")[0], seed=seed, number=n, kind=case.kind, why=case.why, script=case.script, expected=case.a, got=case.b), ensure_ascii=False) + "\n")
            return
        rec = dict(seed=seed, number=n, kind=case.kind, why=case.why, sql=case.sql, script=case.script[:-1] or None, expected=case.a, got=case.b)
        if tree is not None:
            rec["sql"], rec["original"] = self.shrink(case, tree), case.sql
            rec["expected"], rec["got"] = self.oracle.run(rec["sql"]), self.sut.run(rec["sql"])
        self.unexplained.append(rec)
        print(f"unexplained: {case.why}: seed {seed}, number {n}: {rec['sql'][:300]}", flush=True)
        if self.out:
            self.out.write(json.dumps(rec, ensure_ascii=False) + "\n")
            self.out.flush()

    def shrink(self, case, tree):
        def still(s):
            a, b = self.oracle.run(s.sql()), self.sut.run(s.sql())
            if not self.query_differs(s, a, b):
                return False
            why = differ(a, b, False) or ""
            return case.why == why if "error" in case.why else case.why.split()[0] == why.split(" ")[0]
        return self.up.shrink(tree, still, 120).sql()

    def query_differs(self, q, a, b):
        """By the rules of the shared fuzzer, for types, order and equal texts."""
        if "rows" not in a or "rows" not in b:
            return differ(a, b, False)
        names = {"dec": "decimal", "text": "string", "json": "string", "timestamp": "datetime", "year": "int", "float": "double"}
        x, y = ({"names": None, "types": [(names.get(c, c), s if c == "dec" else None) for c, s in r["types"]], "rows": [tuple(v) for v in r["rows"]]} for r in (a, b))
        x["names"] = y["names"] = [""] * len(x["types"])
        d = self.up.compare(q, x, y)
        return d and d[0] + " " + d[1]

    def block(self, seed, count):
        half = count // 2 if not self.kinds or self.kinds - {"query"} else count
        if not self.kinds or "query" in self.kinds:
            rng = random.Random(seed)
            tables, ddl = self.up.make_tables(rng, 4, seed % 2 == 0)
            gen = self.up.Gen(rng, tables, set("join,sub,agg,window,setop,cte,order".split(",")))
            self.sizes = {m.group(1): m.group().count("), (") + 1 for m in (re.match(r"INSERT INTO (\w+) .*", x, re.S) for x in ddl) if m}
            self.with_tables(f"fuzz_{seed}", ddl, lambda: [self.query(seed, n, gen) for n in range(half)], QUERIES)
        else:
            half = 0
        if half == count:
            return
        g = sqlfuzz_grammar.Gen(seed)
        if self.kinds:
            g.KINDS = sqlfuzz_grammar.Gen.KINDS = [k for k in sqlfuzz_grammar.Gen.KINDS if k in self.kinds] or g.KINDS
        self.with_tables(f"more_{seed}", g.setup(2), lambda: [self.statement(seed, n) for n in range(count - half)])

    def with_tables(self, db, ddl, body, settings=()):
        if self.a.print:
            body()
            return
        servers = [self.oracle] if self.a.oracle == self.a.sut else [self.oracle, self.sut]
        for s in servers:
            s.more = list(settings)
            s.make(db, ddl)
        if len(servers) == 1:
            self.sut.db, self.sut.more = db, list(settings)
        body()
        for s in servers:
            s.drop(db)
        self.sut.c = None

    def query(self, seed, n, gen):
        while True:
            q = gen.query()
            sql = q.sql()
            if "CROSS JOIN" not in sql or math.prod(self.sizes.get(t, 1) for t in re.findall(r"\b(t\d) a\d", sql)) < LARGEST:
                break
        if self.a.print:
            print(sql + ";")
            return
        a, b = self.oracle.run(sql), self.sut.run(sql)
        self.done["query"] += 1
        why = differ(a, b, False) if b.get("error") == 1235 else self.query_differs(q, a, b)
        if why:
            self.judge(seed, n, Case(self.oracle, self.sut, "query", [sql], sql, False, why, a, b), q)

    def statement(self, seed, n):
        kind, script, total = sqlfuzz_grammar.Gen(seed * 1000003 + n).statement()
        if self.a.print:
            print(";\n".join(script) + ";")
            return
        self.done[kind] += 1
        for i, sql in enumerate(script):
            a, b = self.oracle.run(sql), self.sut.run(sql)
            if sql == "DELETE FROM ch":
                continue  # what an earlier difference left
            why = differ(a, b, total and i == len(script) - 1)
            if why:
                self.judge(seed, n, Case(self.oracle, self.sut, kind, script[:i + 1], sql, total, why, a, b))
            if why or "error" in a:
                break
        if script[0].startswith("SET "):
            for s in (self.oracle, self.sut):
                if s.c is None:
                    s.connect()
                s.reset()

    def report(self, total):
        done = sum(self.done.values())
        print(f"{done:,} of {total:,}: {len(self.unexplained)} unexplained, {sum(self.known.values())} known differences, {sum(self.refused.values())} refused, {time.time() - self.start:.0f} s", flush=True)


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
    ap.add_argument("--kinds", default="")
    ap.add_argument("--out", default="", help="what is unexplained")
    ap.add_argument("--explained", default="", help="what a rule explains, to check the rules by")
    ap.add_argument("--print", action="store_true")
    ap.add_argument("--same", action="store_true")
    ap.add_argument("--mariadb", action="store_true", help="the oracle is one: queries only, rules of sqlfuzz_mariadb.py")
    a = ap.parse_args()
    if a.mariadb:
        a.kinds = "query"
    run = Run(a)
    for k, at in enumerate(range(0, a.queries, BLOCK)):
        run.block(a.seed + k, min(BLOCK, a.queries - at))
        if not a.print:
            run.report(a.queries)
    if a.print:
        return
    print("statements:", ", ".join(f"{k} {n}" for k, n in sorted(run.done.items())))
    for name, counts in (("known", run.known), ("refused", run.refused)):
        for what, n in counts.most_common():
            print(f"{name} {n:6} {what}")
    sys.exit(1 if run.unexplained else 0)


if __name__ == "__main__":
    main()
