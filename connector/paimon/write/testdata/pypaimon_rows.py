"""Compares Paimon tables, read with pypaimon, with files of expected rows.

    pypaimon_rows.py TABLE EXPECTED.jsonl [SNAPSHOT] ...

The arguments are triples; SNAPSHOT may be "-" for the newest. An expected file
has a header line, then one canonical JSON array a row, sorted. Prints one line
for each difference and exits with 1 if there is any.
"""
import datetime
import decimal
import json
import math
import sys

import pyarrow as pa


def number(v, bits):
    if math.isnan(v):
        return '"NaN"'
    if math.isinf(v):
        return '"Infinity"' if v > 0 else '"-Infinity"'
    if v == 0:
        return "-0" if math.copysign(1, v) < 0 else "0"
    if bits == 32:
        import numpy
        text = numpy.format_float_scientific(numpy.float32(v), unique=True, trim="-")
    else:
        text = repr(v)
    sign, digits, exp = decimal.Decimal(text).normalize().as_tuple()
    d = "".join(map(str, digits))
    n = len(d) + exp
    s = "-" if sign else ""
    if n > 21 or n < -5:
        e = n - 1
        return s + d[0] + ("." + d[1:] if len(d) > 1 else "") + "e" + ("-" if e < 0 else "+") + str(abs(e))
    if n <= 0:
        return s + "0." + "0" * -n + d
    if n >= len(d):
        return s + d + "0" * (n - len(d))
    return s + d[:n] + "." + d[n:]


UNITS = {"s": (10 ** 9, 0), "ms": (10 ** 6, 3), "us": (10 ** 3, 6), "ns": (1, 9)}


def clock(ns, digits):
    s, f = divmod(ns, 10 ** 9)
    text = "%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60)
    return text + "." + ("%09d" % f)[:digits] if digits else text


def day(n):
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=n)).isoformat()


def text(v):
    if not v.is_valid:
        return "null"
    t = v.type
    if pa.types.is_timestamp(t):
        unit, digits = UNITS[t.unit]
        days, rest = divmod(v.value * unit, 86400 * 10 ** 9)
        return '"%s %s%s"' % (day(days), clock(rest, digits), "Z" if t.tz else "")
    if pa.types.is_time(t):
        unit, digits = UNITS[t.unit]
        return '"%s"' % clock(v.value * unit, digits)
    if pa.types.is_date32(t):
        return '"%s"' % day(v.value)
    x = v.as_py()
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x)
    if isinstance(x, float):
        return number(x, 32 if pa.types.is_float32(t) else 64)
    if isinstance(x, decimal.Decimal):
        return '"%s"' % format(x, "f")
    if isinstance(x, bytes):
        return '{"b":"%s"}' % x.hex()
    return json.dumps(x, ensure_ascii=False)


def rows(path, snapshot):
    from pypaimon.table.file_store_table import FileStoreTable
    table = FileStoreTable.from_path(path)
    if snapshot != "-":
        table = table.copy({"scan.snapshot-id": snapshot})
    b = table.new_read_builder()
    names = [f.name for f in b.read_type()]
    data = b.new_read().to_arrow(b.new_scan().plan().splits())
    if data is None or data.num_rows == 0:
        return []
    data = data.combine_chunks()
    cols = [data.column(n) for n in names]
    return sorted("[" + ",".join(text(c[i]) for c in cols) + "]" for i in range(data.num_rows))


def main(args):
    bad = 0
    for path, expected, snapshot in zip(args[0::3], args[1::3], args[2::3]):
        with open(expected, encoding="utf-8") as f:
            want = f.read().split("\n")[1:-1]
        want.sort()
        try:
            got = rows(path, snapshot)
        except Exception as e:
            print("%s: %s: %s" % (path, type(e).__name__, e))
            bad += 1
            continue
        if got != want:
            first = next((i for i in range(max(len(got), len(want))) if got[i:i + 1] != want[i:i + 1]), 0)
            print("%s snapshot %s: %d rows, want %d; row %d is %s, want %s" % (
                path, snapshot, len(got), len(want), first, got[first:first + 1], want[first:first + 1]))
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
