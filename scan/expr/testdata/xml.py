#!/usr/bin/env python3
"""Makes xml.jsonl.gz: calls of EXTRACTVALUE and UPDATEXML with what a real MySQL 9.7 answers.

usage: xml.py COUNT SEED OUT COMMAND...     COMMAND is MySQL's client, logged in

Each line is {"fn", "args", "hex": the value's bytes or null, "warnings": [[level, code, message]…], "error": [code, message] or null}.
"""
import gzip, json, random, subprocess, sys

XMLS = """<a><b>x</b><b>y</b></a>
<a>t<b>x</b>u</a>
<a>1<b c="1" d='q'>x<c>y</c></b><c>z</c><b c="2">2.5</b></a><b>3</b>
<a><a><b>1</b></a><b>2</b><a><b/><b>3</b></a></a>
<a id="1"><b id="2"/><c id="3"><b id="4">four</b></c>tail</a >rest
<a>&lt;&amp;&#65;&foo;</a>
<?xml version="1.0" encoding='utf-8'?><!DOCTYPE a SYSTEM "b"><a>x</a>
<a><![CDATA[<q>&lt;]]><!-- c --> t </a>
<ns:a x:y="1"><ns:b>p</ns:b></ns:a>
<a b c>x</a>
<a b c d>x<div>5</div><and>6</and><text>7</text></a>
<é>5</é><a é="ü">Ärger</a>
<a>abc</a><a>ABC</a><b>10</b><b>9</b>
<a>0.1</a><a>0.2</a><a>1e3</a><a>-7</a><a>x7</a>
<a/><b/><c><a>q</a></c>
text only

<a>x
<a>x</b>
<a>x</bb>
</b>
<a><b></a></b>
<a x=1>y</a>
<a x="1>y</a>
<a x=>y</a>
<a x=b>y</a>
<a <b>y</a>
<1>
< a >x</ a >
<a>x</a
<a>x</
<a>x<
<!-- open <a>x</a>
<![CDATA[ open <a>x</a>
<!x/>
<?x/?><a>1</a>
<?x ?y><a>1</a>
<!x><a>1</a>
<a/ >x
<a b="1"/>x<c/>
<a b='1"2'>"x"</a>
<averyveryveryveryveryveryverylongnameofanelement>x</short>
<short>x</averyveryveryveryveryveryverylongnameofanelement>
<a>
 <b>1</b>
 <c>
</a>""".split("\n<a>\n <b>")
XMLS = XMLS[0].split("\n") + ["<a>\n <b>" + XMLS[1], "<a>\n<b>\n x </b>\n\n<1></a>", "<a\tx\n=\r\n'1'>\tz\n</a>", "<a><b>1</b>" * 3 + "</a>" * 3,
    "<a>" * 254 + "z" + "</a>" * 254, "<a>" * 255 + "z" + "</a>" * 255, "<a>" * 253 + "<b c='1'/>" + "</a>" * 253, "<a>" * 254 + "<!-- b --><![CDATA[k]]>" + "</a>" * 254, "<a>" * 300,
    "<a><b><c><d><e>5</e></d></c></b></a>", "<r><x>1</x><y>2</y><x>3</x><z><x>4</x></z></r>", None]

PATHS = """/a/b
/a/text()
//node()
//text()
/a/b[1]
/a/b[2]
/a/b[last()]
//b[last()]
//b[last()-1]
/a/b[position()<2]
/a/b[position()=2]
//b[position()>1][1]
//b[1][1]
/
//*
//@*
//@id
/a/@id
/a[@id]
/a[@id=1]/b
//b[@id="4"]
//b[@c>1]
//*[@id=4]/..
/a/b/c/..
..
.
/.
/..
//.
./a
../a
a/./b
a/b/following-sibling::c
a/b/following::c
a/c/preceding::b
a/c/preceding-sibling::*
a/namespace::b
/a/child::b
/child::a/descendant::b
//b/parent::a
//b/parent::*
//b/ancestor::*
//b/ancestor::*[1]
//b/ancestor::*[2]
//b/ancestor::a
//b/ancestor-or-self::*
//b/ancestor-or-self::b
//b/self::b
//b/self::a
a/descendant-or-self::*
a/descendant-or-self::b
a/attribute::*
a/attribute::id
//c/attribute::node()
count(//b)
count(//*)
count(//@*)
count(//a//b)
count(//a/ancestor::*)
count(/)
count(.)
count(..)
//a[count(b)>1]
//a[count(.)=1]
//a[count(.)=2]
//a[not(b)]
//a[b]
//a[b and c]
//a[b or c]
//a[b=1]
//a["1"=b]
//a[b>1]
//a[1<b]
//b[.=1]
//b[.="x"]
//b[.!="x"]
//b["X"=.]
//b[contains(.,"o")]
//b[contains(.,"")]
//*[string-length()>2]
//*[string-length(.)=1]
//b[number()=1]
//b[number(.)>1]
//b[true()]
//b[false()]
//b["1"]
//b["x"]
//b[1.4]
//b[1.6]
//b[-1]
//b[0]
//b[1=1]
//b[1 div 0]
//b[//c]
//b[/a/c=3]
//b[@c=//b/@d]
sum(//b)
sum(//a)
sum(//a[.>0])
sum(.)
sum(1)
count(1)
1+1
1+1.50
1.50
1.10+1.10
1.5*3
1.50*2.25
7 mod 4
7.5 mod 4
7 mod 0
-7 mod 4
7 div 2
7.5 div 2
-7 div 2
1 div 0
5 div (2)
2-3
2 -3
a - 3
a-3
-a
--2
---2
- 1.5
"2"*3
"2"+"3"
"q"+1
"7" div "2"
"7" mod "2"
a+b
a*2
a div 2
a mod 2
a|b
a|b|c
//a|//b
(a|b)/c
a|1
1|a
count(a|//b)
(//b)[1]
(a)/b
(//a)//b
(/)//b
(1)/b
("x")
(1+2)*3
((1))
1=1
1!=1
1<2
3<2<1
1=1=1
1.0=1
"1.0"="1"
"1.0"=1
"a"="A"
"a"<"B"
a="x"
a<5
5<a
5>=a
a!="5"
a=a
//a = //b
a<b and c
1 and 0
1 and 1
0 or 0
"abc" and 1
"abc" or 1
a and 1
a AND 1
a or b
b and 0 or 1
0.5 and 1
not(a)
not(5)
not("x")
not(0.0)
not(1 div 0)
not(not(b))
boolean(a)
boolean(b)
boolean("x")
boolean(0)
boolean(0.1)
boolean(1 div 0)
true()
false()
true()+1
true() and false()
true()=1
concat("a","b")
concat(a,b)
concat(1,2.50)
concat("a",1,1.5)
concat(a)
concat()
concat(1=1,2)
contains("xab","B")
contains(a,"b")
contains("a",a)
contains("xa1",1)
contains("x","")
contains("x")
substring(a,2)
substring(a,2,1)
substring(a,0)
substring(a,-1)
substring("abc","2")
substring("abc",1.5)
substring("abc",2.5,1)
substring("abc",2,-1)
substring("abc",1,99)
substring("a")
substring("a",1,2,3)
substring(12345,2,2)
string-length("é€x")
string-length(a)
string-length()
string-length("")
string-length(12.50)
floor(1.5)
floor(-1.5)
floor(a)
floor("1.5")
floor("1.5x")
floor(7)
ceiling(1.2)
ceiling(-1.2)
ceiling(a)
ceiling(7)
round(1.5)
round(2.5)
round(-2.5)
round(-3.5)
round(a)
round(7)
round("2.5")
round(0.4)
number(a)
number("1.5e3")
number("x")
number(7)
number(1.50)
number(1=1)
position()
last()
count(a)+last()
count(a[1])+position()
a[1] and position()
name()
string(a)
local-name(a)
starts-with(a,"x")
normalize-space(a)
translate(a,"x","y")
id(1)
lang("x")
foo(a)
COUNT(a)
Not(a)
//b[LAST()]
a[TRUE()]
/a/TEXT()
/CHILD::a
Child::a/Descendant::b
a[
a]
a[1
a[]
a[1]]
(
)
(a
a)

a b
a,
a/
//
///
a//
a///b
a!b
a!
!
a!=
a=
a<
1+
1 +
-
a and
a or
and
or
div
mod
a/and
a/div
//and
//div/text()
//text
div div div
a and and
6 div 4 div 2
and(1)
1 and(1)
count (a)
count( a )
count(a
count(a,b)
count()
true(1)
"abc
'abc
'abc'
"a'b"
'a"b'
.5
1.
1.5.5
1a
1 a
a1
@
@@a
@id
//@
@*
a/@
a/@text()
a/child::
a/child::.
a/child::@id
a/foo::b
a/self::node()
ns:a
/ns:a/ns:b
ns:*
ns :a
ns: a
*:a
:a
a:
//ns:a/@x:y
é
//é
a/@é
a [ 1 ] / . . 
a[.="1"]
 /a
/ a
/a /b
/ /b
// b
a\tb
a\nb
a/comment()
comment()
a/processing-instruction()
a/processing-instruction("x")
a/text(1)
text
text()
node()/b
a/position()
a/count(b)
a[count(b)]
a[b][1]
a[1][b]
//a[2]
//a[position()=2]
//a[.//b]
//a[./b=2]
//a[../b]
//b[../@id]
//b[ancestor::c]
//*[self::b]
//*[self::b or self::c]
//*[@*]
//*[a|b]
//*[-1]
//*[1+1]
//*["a"="A"]
//*[concat("",1)]
//*[position() mod 2 = 1]
//*[position()=last()]
//*[not(position()=1)]
//*[count(ancestor::*)>1]
//*[sum(b)>2]
//*[floor(.)=2]
//*[substring(.,1,1)="x"]
//*[contains(.,"1") and @id]
//*[number(@id)>2]
/a[last()]
/a/b[2]/@c
/a/b[@c="2"]
/a/b[@c="1"]/c
$v
$
$@
$ v
a[$v=1]
a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
a ééééééééééééééééééééééééééééé
a xééééééééééééééééééééééééééééé
a=1 and a=b and c
a=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
//1
/1
//(a)
a/(b)
a/1
a/"x"
#a
a#
a;
a&b
~
{a}
123456789012345
a_b-c.d
a--b
a -b
a- b
a - b
/averyveryveryveryveryveryverylongnameofanelement""".split("\n")
PATHS = [p.replace("\\t", "\t").replace("\\n", "\n") for p in PATHS] + [None]

def xpath(r, depth=0):
    "A random expression."
    k = r.random()
    if depth > 3 or k < .35:
        return path(r, depth)
    e = lambda: xpath(r, depth + 1)
    if k < .45: return r.choice(["1", "2", "0", "1.5", '"x"', '"1"', "'2.5'", '""', "3.25"])
    if k < .6: return e() + r.choice([" ", ""]) + r.choice(["+", "-", "*", " div ", " mod ", "|", "|"]) + r.choice([" ", ""]) + e()
    if k < .7: return e() + r.choice(["=", "!=", "<", ">", "<=", ">="]) + e()
    if k < .78: return e() + r.choice([" and ", " or "]) + e()
    if k < .8: return "-" + e()
    if k < .84: return "(" + e() + ")" + r.choice(["", "", "/b", "//b"])
    f = r.choice(["count", "sum", "not", "boolean", "number", "floor", "ceiling", "round", "string-length", "concat2", "contains2", "substring2", "substring3", "true0", "last0", "position0"])
    n = int(f[-1]) if f[-1].isdigit() else 1
    return f.rstrip("0123456789") + "(" + ",".join(e() for _ in range(n)) + ")"

def path(r, depth):
    steps = []
    for _ in range(r.randint(1, 3)):
        s = r.choice(["", "", "", "", "", "@", "descendant::", "parent::", "ancestor::", "self::", "ancestor-or-self::", "descendant-or-self::", "attribute::", "following::"])
        s += r.choice(["a", "b", "c", "*", "*", "id", "c", "text()"])
        if r.random() < .1: s = r.choice([".", ".."])
        elif depth < 3 and r.random() < .3: s += "[" + r.choice([xpath(r, depth + 1), str(r.randint(1, 3)), "last()", "position()=" + str(r.randint(1, 3))]) + "]"
        steps.append(s)
    return r.choice(["", "", "/", "//", "//"]) + r.choice(["/", "/", "//"]).join(steps)

def mutate(r, s, chars):
    for _ in range(r.randint(1, 2)):
        i = r.randint(0, len(s))
        s = s[:i] + r.choice(["", r.choice(chars)]) + s[i + r.randint(0, 2):]
    return s

def cases(count, seed):
    r = random.Random(seed)
    plain = [x for x in XMLS if x is not None]
    for x in XMLS:
        yield "EXTRACTVALUE", [x, "/a"]
        yield "EXTRACTVALUE", [x, "//*"]
        yield "EXTRACTVALUE", [x, "count(//*)"]
        yield "UPDATEXML", [x, "/a", "<n/>"]
        yield "UPDATEXML", [x, "//b", "new"]
        yield "UPDATEXML", [x, "/a/@*", "n"]
    for p in PATHS:
        for x in r.sample(plain[:16], 3):
            yield "EXTRACTVALUE", [x, p]
        yield "UPDATEXML", [r.choice(plain[:16]), p, "<n/>"]
    yield "UPDATEXML", ["<a/>", "/a", None]
    while True:
        x, k = r.choice(plain[:16] + plain[-6:-1]), r.random()
        p = xpath(r)
        if k < .25: x, p = mutate(r, r.choice(plain[:40]), "<>/=!?\"' ab1-[]\n"), r.choice(["/a", "//b", "//*", "count(//*)", "//@*"])
        elif k < .35: p = mutate(r, r.choice([p, r.choice(PATHS[:-1])]), "/[]()@.*|+-=<>! ab1\"',:$")
        if r.random() < .2: yield "UPDATEXML", [x, p, "<n/>"]
        else: yield "EXTRACTVALUE", [x, p]

def literal(s):
    if s is None: return "NULL"
    return "_utf8mb4 X'%s' COLLATE utf8mb4_0900_ai_ci" % s.encode().hex() if s else "'' COLLATE utf8mb4_0900_ai_ci"

def main():
    count, seed, out, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    g, todo, seen = cases(count, seed), [], set()
    while len(todo) < count:
        c = next(g)
        if len(c[1][1] or "") > 200 or (key := json.dumps(c)) in seen: continue
        seen.add(key)
        todo.append(c)
    sql = "SET max_error_count = 1024;\n" + "".join("SELECT '@@case';\nSELECT CONCAT('@', HEX(%s(%s)));\nSHOW WARNINGS;\n" % (f, ", ".join(map(literal, a))) for f, a in todo)
    got = subprocess.run(command + ["--default-character-set=utf8mb4", "--force", "-N", "--batch", "--raw", "--unbuffered"], input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode("utf8", "replace")
    parts = got.split("@@case\n")[1:]
    assert len(parts) == len(todo), (len(parts), len(todo))
    with gzip.GzipFile(out, "wb", mtime=0) as o:
        for (f, a), text in zip(todo, parts):
            line = {"fn": f, "args": a, "hex": None, "warnings": [], "error": None}
            first, _, rest = text.partition("\n")
            if first.startswith("@"): line["hex"] = first[1:]
            elif first != "NULL": rest = text
            chunks = []
            for l in rest.split("\n"):
                if l.split("\t")[0] in ("Warning", "Error", "Note"): chunks.append(l)
                elif chunks: chunks[-1] += "\n" + l
            for l in chunks:
                level, code, message = l.rstrip("\n").split("\t", 2)
                if level == "Error":
                    line["error"] = line["error"] or [int(code), message]
                else: line["warnings"].append([level, int(code), message])
            if line["error"]: line["warnings"] = []
            o.write((json.dumps(line, ensure_ascii=False) + "\n").encode())

main()
