#!/usr/bin/env python3
"""Makes regexp.jsonl.gz: what a MySQL answers to random regular expressions.

  regexp.py HOST PORT USER PASSWORD COUNT > regexp.jsonl     (PyMySQL)

A line is [pattern, flags, subject, answer]; answer is what REGEXP_REPLACE(subject, pattern, '<$0>', 1, 0, flags) gives, or the number of an error.
"""
import json
import random
import sys

import pymysql

R = random.Random(20260)
ATOMS = ["a", "b", "c", "ab", "ss", "ß", "é", "É", "K", "ſ", "中", "😀", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", ".", "[ab]", "[^ab]", "[a-c]", "[[:alpha:]]", "[[:^digit:]]", "[[:punct:]]",
         "[a-c&&[b-z]]", "[a-z--[c]]", "[\\w&&[^b]]", "[^\\s]", "[é-ñ]", "[ß]", "\\p{Lu}", "\\P{L}", "\\p{Greek}", "\\x41", "\\u00e9", "\\R", "\\h", "\\n", "[\\]a]", "[-a]", "[a-]", "\\Qa.b\\E", "x", "1", " "]
ASSERT = ["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\G"]
QUANT = ["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?", "??", "{1,3}?", "*+", "++", "?+", "{2}+"]
LOOK = ["(?=", "(?!", "(?<=", "(?<!"]
SUBJECTS = ["", "a", "abc", "aab", "AbC", "abcabc", "a b c", "foo bar", "ß", "SS", "Straße STRASSE", "é É e\u0301", "K\u212a k", "ſs", "中文 😀x", "a\nb", "a\r\nb", "a\n", "ab\r\n", "a\u2028b", "12 a1", "a.b", "x1x", "aaa", "abab", "a\u0301b", "]-a", "σς Σ",
            "ﬀ ff", "ŉ ʼn", "a\tb", "xaXA"]


def expr(depth):
    n = R.choice([1, 1, 2, 2, 3])
    out = ""
    for _ in range(n):
        k = R.random()
        if k < 0.12:
            out += R.choice(ASSERT)
            continue
        if k < 0.24 and depth:
            look = R.choice(LOOK)
            out += look + (expr(depth - 1) if "<" not in look or R.random() < 0.2 else R.choice(ATOMS[:-1]) + R.choice(["", "", "b", "?", "{1,2}", "|" + R.choice(ATOMS)])) + ")"
            continue
        if k < 0.5 and depth:
            atom = R.choice(["(", "(", "(?:", "(?>", "(?i:", "(?-i:", "(?<n>" if R.random() < 0.3 else "("]) + expr(depth - 1) + ("|" + expr(depth - 1) if R.random() < 0.4 else "") + ")"
        elif k < 0.56 and ("(a" in out or "([" in out or R.random() < 0.1):
            atom = R.choice(["\\1", "\\1", "\\2"])
        else:
            atom = R.choice(ATOMS)
        out += atom
        if R.random() < 0.3:
            out += R.choice(QUANT)
    return out


def main():
    host, port, user, password, count = sys.argv[1:6]
    con = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4")
    cur = con.cursor()
    for _ in range(int(count)):
        p = expr(2)
        if R.random() < 0.04:
            i = R.randrange(len(p) + 1)
            p = p[:i] + R.choice(["(", ")", "[", "*", "{", "\\", "]", "}", "|", "(?#x)"]) + p[i:]
        if not p:
            continue
        for s in R.sample(SUBJECTS, 2):
            f = R.choice(["c", "i", "", "im", "cm", "cn", "imn", "u"])
            try:
                cur.execute("SELECT REGEXP_REPLACE(%s, %s, '<$0>', 1, 0, %s)", (s, p, f))
                answer = cur.fetchone()[0]
                if isinstance(answer, bytes):
                    answer = answer.decode()
            except pymysql.Error as e:
                answer = e.args[0]
            print(json.dumps([p, f, s, answer], ensure_ascii=False))


main()
