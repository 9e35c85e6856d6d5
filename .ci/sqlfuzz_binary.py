"""Prepared statements in the binary protocol, on a connection of PyMySQL, which has none.

execute(connection, sql, parameters) prepares, executes and closes a statement and
gives (number of rows changed or read, columns, rows) as a cursor of the text
protocol does: columns as PyMySQL's field packets, cells as text or None. A
parameter is a pair of kind and value: kinds are int, uint, tiny, double, float,
decimal, text, blob, date, datetime, time and null. Errors are those of PyMySQL.
"""
import datetime
import struct

from pymysql.constants import COMMAND, FIELD_TYPE as F, FLAG
from pymysql.protocol import FieldDescriptorPacket

KINDS = {"int": F.LONGLONG, "uint": F.LONGLONG, "tiny": F.TINY, "double": F.DOUBLE, "float": F.FLOAT, "decimal": F.NEWDECIMAL, "text": F.VAR_STRING,
         "blob": F.BLOB, "date": F.DATE, "datetime": F.DATETIME, "time": F.TIME, "null": F.NULL}


def lenenc(b):
    n = len(b)
    return (bytes([n]) if n < 251 else b"\xfc" + struct.pack("<H", n) if n < 65536 else b"\xfd" + struct.pack("<I", n)[:3]) + b


def moment(text):
    return datetime.datetime.fromisoformat(text)


def value(kind, v):
    if kind in ("int", "uint"):
        return struct.pack("<Q", v & (1 << 64) - 1)
    if kind == "tiny":
        return struct.pack("<b", v)
    if kind == "double":
        return struct.pack("<d", v)
    if kind == "float":
        return struct.pack("<f", v)
    if kind in ("decimal", "text", "blob"):
        return lenenc(str(v).encode())
    if kind == "date":
        d = moment(v)
        return struct.pack("<BHBB", 4, d.year, d.month, d.day)
    if kind == "datetime":
        d = moment(v)
        return struct.pack("<BHBBBBBI", 11, d.year, d.month, d.day, d.hour, d.minute, d.second, d.microsecond)
    assert kind == "time"
    sign, v = (1, v[1:]) if v.startswith("-") else (0, v)
    h, m, s = v.split(":")
    s, _, us = s.partition(".")
    return struct.pack("<BBIBBBI", 12, sign, int(h) // 24, int(h) % 24, int(m), int(s), int((us + "000000")[:6]))


class Row:
    """Reads the cells of a row's bytes after its NULL bitmap."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        b = self.data[self.at:self.at + n]
        if len(b) != n:
            raise ValueError("a row is too short")
        self.at += n
        return b

    def unpack(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def length(self):
        n, = self.take(1)
        if n < 251:
            return n
        return int.from_bytes(self.take({252: 2, 253: 3, 254: 8}[n]), "little")

    def cell(self, f):
        t, unsigned = f.type_code, f.flags & FLAG.UNSIGNED
        forms = {F.TINY: "b", F.SHORT: "h", F.YEAR: "h", F.LONG: "i", F.INT24: "i", F.LONGLONG: "q"}
        if t in forms:
            x, = self.unpack(forms[t].upper() if unsigned or t == F.YEAR else forms[t])
            return "%04d" % x if t == F.YEAR else str(x)
        if t == F.DOUBLE:
            return repr(self.unpack("d")[0])
        if t == F.FLOAT:
            return "%.6g" % self.unpack("f")[0]
        if t in (F.DATE, F.NEWDATE, F.DATETIME, F.TIMESTAMP):
            n, = self.take(1)
            b = Row(self.take(n) + bytes(11 - n)).unpack("HBBBBBI")
            day = "%04d-%02d-%02d" % b[:3]
            return day if t in (F.DATE, F.NEWDATE) else day + " %02d:%02d:%02d" % b[3:6] + fraction(b[6], f.scale)
        if t == F.TIME:
            n, = self.take(1)
            neg, days, h, m, s, us = Row(self.take(n) + bytes(12 - n)).unpack("BIBBBI")
            return "-" * neg + "%02d:%02d:%02d" % (days * 24 + h, m, s) + fraction(us, f.scale)
        return self.take(self.length()).decode("utf-8", "backslashreplace")


def fraction(us, scale):
    return ("." + ("%06d" % us)[:scale]) if 0 < scale <= 6 else ""


def execute(c, sql, parameters):
    c._execute_command(COMMAND.COM_STMT_PREPARE, sql.encode())
    p = c._read_packet()
    ident, ncols, nparams = struct.unpack("<xIHH", p.get_all_data()[:9])
    for n in (nparams, ncols):
        for _ in range(n + 1 if n else 0):
            c._read_packet()
    try:
        if nparams != len(parameters):
            raise ValueError(f"{nparams} parameters of {sql}")
        body = struct.pack("<IBI", ident, 0, 1)
        if parameters:
            bits = sum(1 << i for i, (k, _) in enumerate(parameters) if k == "null")
            body += bits.to_bytes((nparams + 7) // 8, "little") + b"\1"
            body += b"".join(bytes([KINDS[k], 0x80 if k == "uint" else 0]) for k, _ in parameters)
            body += b"".join(value(k, v) for k, v in parameters if k != "null")
        c._execute_command(COMMAND.COM_STMT_EXECUTE, body)
        p = c._read_packet()
        if p.is_ok_packet():
            p.advance(1)
            return p.read_length_encoded_integer(), [], []
        fields = [c._read_packet(FieldDescriptorPacket) for _ in range(p.read_length_encoded_integer())]
        c._read_packet()
        rows, skip = [], 1 + (len(fields) + 9) // 8
        while True:
            p = c._read_packet()
            if p.is_eof_packet():
                return len(rows), fields, rows
            data = p.get_all_data()
            bits, r = int.from_bytes(data[1:skip], "little"), Row(data[skip:])
            rows.append([None if bits >> i + 2 & 1 else r.cell(f) for i, f in enumerate(fields)])
            if r.at != len(r.data):
                raise ValueError("a row is too long")
    finally:
        c._execute_command(COMMAND.COM_STMT_CLOSE, struct.pack("<I", ident))
