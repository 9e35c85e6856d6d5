"""The other engines of benchmarks/sql: DuckDB in process, and a thermocline server over the MySQL protocol.

  engine.py SHARED queries                      prints the texts of the queries for both engines, JSON
  engine.py SHARED duckdb THREADS TABLE=GLOB …  runs statements of stdin over views of Parquet files
  engine.py SHARED mysql HOST PORT DATABASE PID runs them on a server, whose processor time counts

A line in, {"sql", "rows"}; a line out, {"cpu", "wall", "n", "rows", "peak", "error"}.
"""
import datetime
import decimal
import json
import os
import resource
import sys
import time


def text(v):
    if v is None or isinstance(v, str):
        return v
    if isinstance(v, bool):
        return "1" if v else "0"
    if isinstance(v, (bytes, bytearray)):
        return v.decode("utf-8", "replace")
    if isinstance(v, datetime.datetime):
        return v.strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    return str(v)


def own_time():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime, r.ru_maxrss / 1024


def process_time(pid):
    total = 0
    for t in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{t}/schedstat") as f:
                total += int(f.read().split()[0])
        except FileNotFoundError:
            pass
    peak = 0
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
    return total / 1e9, peak


def serve(run, clock):
    for line in sys.stdin:
        req = json.loads(line)
        out = {"n": 0}
        cpu, _ = clock()
        start = time.perf_counter()
        try:
            rows = run(req["sql"])
            out["wall"] = time.perf_counter() - start
            end, out["peak"] = clock()
            out["cpu"] = end - cpu
            out["n"] = len(rows)
            if req.get("rows"):
                out["rows"] = [[text(v) for v in r] for r in rows]
        except Exception as e:  # the parent decides
            out["error"] = str(e)
        print(json.dumps(out), flush=True)


def queries():
    import hits_queries
    import tpcommon
    con = tpcommon.connect(extensions=("tpch",))
    tpch = [q for (q,) in con.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()]
    print(json.dumps({"tpch": tpch, "hits": hits_queries.queries("mysql"), "hits_duckdb": hits_queries.queries("duckdb")}))


def duckdb_engine(threads, views):
    import duckdb
    con = duckdb.connect(config={"threads": threads, "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    con.execute("SET parquet_metadata_cache = true")
    con.execute("SET enable_progress_bar = false")  # it would go to stdout
    for v in views:
        name, files = v.split("=", 1)
        con.execute(f"CREATE VIEW {name} AS FROM read_parquet('{files}')")
    serve(lambda q: con.execute(q).fetchall(), own_time)


def mysql_engine(host, port, database, pid):
    import pymysql
    con = pymysql.connect(host=host, port=int(port), user="root", database=database, charset="utf8mb4", autocommit=True)

    def run(q):
        with con.cursor() as c:
            c.execute(q)
            return c.fetchall()

    serve(run, lambda: process_time(pid))


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(sys.argv[1], "oracles", "duckdb"))
    what, args = sys.argv[2], sys.argv[3:]
    if what == "queries":
        queries()
    elif what == "duckdb":
        duckdb_engine(args[0], args[1:])
    else:
        mysql_engine(*args)
