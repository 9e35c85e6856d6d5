"""Makes the tables of TPC-H at scale factor 0.01 as text, values separated by
"|", one file a table: the data of TestTPCH. DuckDB's generator is deterministic.

  tpch.py FOLDER
"""
import glob
import os
import sys

import duckdb
import duckdb_extension_tpch

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
con = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
ext = os.path.dirname(duckdb_extension_tpch.__file__)
con.execute("LOAD '%s'" % glob.glob(os.path.join(ext, "extensions", "*", "tpch.duckdb_extension"))[0])
con.execute("CALL dbgen(sf=0.01)")
for (table,) in con.execute("SHOW TABLES").fetchall():
    with open(os.path.join(out, table + ".csv"), "w", encoding="utf-8", newline="\n") as f:
        for row in con.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall():
            f.write("|".join(str(v) for v in row) + "\n")
