"""Differences between MariaDB and MySQL that queries of ../shared/oracles/sqlfuzz
show, for sqlfuzz.py --mariadb: MariaDB is the oracle then, and where the two
differ MySQL is the one to follow. A rule is as those of sqlfuzz_known.py.
"""
import decimal
import re

from sqlfuzz_known import derived_merge, rows, same_values

RULES = [derived_merge]


def rule(f):
    RULES.append(f)
    return f


def explain(case):
    for f in RULES:
        if f(case):
            return f.__name__ + ": " + " ".join(f.__doc__.split())
    return None


@rule
def unsigned(c):
    """ROW_NUMBER, RANK, YEAR and others are unsigned in MySQL; in a set operation with
    signed integers they are DECIMAL. The values are equal."""
    return re.match(r"types? .*int.*dec", c.why) is not None and re.search("UNION|EXCEPT|INTERSECT", c.sql) is not None and same_values(c.a, c.b)


@rule
def rollup(c):
    """WITH ROLLUP of a constant, or of no rows, has no total row in MariaDB."""
    return "WITH ROLLUP" in c.sql and "rows" in c.a and "rows" in c.b and len(c.b["rows"]) == len(c.a["rows"]) + 1 and all(r in c.b["rows"] for r in c.a["rows"])


@rule
def division(c):
    """MySQL divides decimals in groups of nine digits and goes on computing with all of
    them, MariaDB with fewer: digits behind the fourth differ."""
    def near(x, y):
        if x == y:
            return True
        try:
            return abs(decimal.Decimal(x) - decimal.Decimal(y)) < decimal.Decimal("0.0001")
        except (TypeError, decimal.InvalidOperation):
            return False
    key = lambda r: [(x is not None, x or "") for x in r]
    return rows(c) and re.search(r" / |AVG\(", c.sql) is not None and all(near(x, y) for r, s in zip(sorted(c.a["rows"], key=key), sorted(c.b["rows"], key=key)) for x, y in zip(r, s))


@rule
def positions(c):
    """A number as the key of a window is a position, which MySQL refuses (3592)."""
    return c.b.get("error") == 3592 and re.search(r"(PARTITION|ORDER) BY -?\d+\b", c.sql) is not None


@rule
def constant_order(c):
    """GROUP_CONCAT(x ORDER BY a constant below zero) is an unknown column in MariaDB."""
    return c.a.get("error") == 1054 and re.search(r"GROUP_CONCAT\(.* ORDER BY -\d", c.sql) is not None and "rows" in c.b


@rule
def unsigned_years(c):
    """YEAR() is unsigned in MySQL: what is less than it minus it is an error 1690."""
    return c.b.get("error") == 1690 and re.search(r"UNSIGNED value is out of range in '.*year\(", c.b["message"], re.I) is not None
