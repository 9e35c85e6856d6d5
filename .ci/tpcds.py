"""Makes the tables of TPC-DS as Parquet files, one a table, and their definitions
in Flink's types: the data of TestTPCDS. DuckDB's generator is deterministic.

  tpcds.py FOLDER [SCALE]        # scale factor 0.01 unless given
"""
import glob
import os
import sys

import duckdb
import duckdb_extension_tpcds

out = sys.argv[1]
scale = float(sys.argv[2]) if len(sys.argv) > 2 else 0.01
os.makedirs(out, exist_ok=True)
config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": "1", "memory_limit": "4GB"}
con = duckdb.connect(os.path.join(out, "generate.db"), config=config)
ext = os.path.dirname(duckdb_extension_tpcds.__file__)
con.execute("LOAD '%s'" % glob.glob(os.path.join(ext, "extensions", "*", "tpcds.duckdb_extension"))[0])
con.execute(f"CALL dsdgen(sf={scale}, overwrite=true)")
types = {"INTEGER": "INT", "VARCHAR": "STRING"}
tables = [t for (t,) in con.execute("SHOW TABLES").fetchall()]
with open(os.path.join(out, "schema.sql"), "w", encoding="utf-8", newline="\n") as f:
    for table in tables:
        columns = [f"{c[0]} {types.get(c[1], c[1])}" for c in con.execute(f"DESCRIBE {table}").fetchall()]
        f.write(f"CREATE TABLE {table} ({', '.join(columns)}) WITH ('bucket'='-1', 'write-only'='true');\n")
for table in tables:
    con.execute(f"COPY (SELECT * FROM {table} ORDER BY rowid) TO '{os.path.join(out, table)}.parquet' (FORMAT parquet, COMPRESSION zstd)")
con.close()
for path in glob.glob(os.path.join(out, "generate.db*")):
    os.remove(path)
with open(os.path.join(out, "scale"), "w") as f:
    f.write(f"{scale:g}\n")
