#!/usr/bin/env python3
"""Makes dates.jsonl.gz: what a MySQL answers to calls of date functions.

  dates.py HOST PORT USER PASSWORD [SEED] | gzip -n9 > dates.jsonl.gz     (PyMySQL)

Every letter of formats, every unit and mode, five time zones around their changes to and from summer time, good, odd and bad texts and numbers; the
rest is chosen at random. A line is a case as semantics.jsonl.gz has them, answered at 2024-06-01 10:20:30 UTC.
"""
import itertools
import json
import random
import sys

import pymysql
from pymysql.constants import FIELD_TYPE as FT, FLAG
from pymysql.converters import encoders

R = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 7)
out = []
def A(s): return "'"+s+"'"
BW="BETWEEN DATE'1999-01-01' AND DATE'2024-12-31'"
LT="< DATE'2024-01-01'"
def q(s): return "'" + s.replace("\\","\\\\").replace("'", "''") + "'"
DT = ["2024-02-29 23:59:59.999999","2023-12-31 12:34:56","1999-01-01","0001-01-01 00:00:00","9999-12-31 23:59:59","2024-03-31 02:30:00","2024-10-27 02:30:00.5","2021-06-15 10:00:00.123456","1970-01-01 00:00:00","2000-02-28","20240105","20240105101112","240105","24-1-5","2024.1.5 3:4:5","2024-01-05T10:11:12Z","2024-01-05 10:11:12+05:30","2024-01-05 25:00:00","2024-02-30","2024-13-01","abc","","2024-01-05 10:11","2024-01-05 10","2024-01-05 10:11:12.1234567","2024-00-10","0000-00-00","2024-1-1 1:1:1.5","70-01-01","69-12-31","10000-01-01","2024-01-05 10:11:12 abc"," 2024-01-05","2024-01-05 ","2024-01-05abc","101112","2024/01/05","2024-01-05 10:11:60","-2024-01-05"]
NUM = ["20240105","20240105101112","240105","101","0","99","20241301","240105101112.5","-1","20240229235959.999999","NULL","70101","20240105.7"]
TM = ["10:11:12","-10:11:12.5","838:59:59","839:00:00","-838:59:59.9","1 10:11:12","34 22:59:59","10:11","10","101112","1112","12.345678","abc","","10:60:00","10:11:60","25:00:00","00:00:00.0000005","2024-01-05 10:11:12","100:00:00","1 1","10:11:12.999999","5 abc","-1 02:03:04","23:59:59.9999999"]
UNITS = ["MICROSECOND","SECOND","MINUTE","HOUR","DAY","WEEK","MONTH","QUARTER","YEAR","SECOND_MICROSECOND","MINUTE_MICROSECOND","MINUTE_SECOND","HOUR_MICROSECOND","HOUR_SECOND","HOUR_MINUTE","DAY_MICROSECOND","DAY_SECOND","DAY_MINUTE","DAY_HOUR","YEAR_MONTH"]
FMT = list("abcDdefHhIijklMmprSsTUuVvWwXxYy%")
def add(e, **kw): out.append({"sql": "SELECT " + e + " AS x", **kw})
def dt(): return q(R.choice(DT)) if R.random() < .8 else R.choice(NUM)
def typed():
    k=R.random()
    if k<.3: return "DATE"+q(R.choice(["2024-02-29","1999-12-31","0001-01-01","9999-12-31","2020-10-25"]))
    if k<.6: return "TIMESTAMP"+q(R.choice(["2024-02-29 23:59:59.999999","2023-12-31 12:34:56","2021-06-15 10:00:00.1","0001-01-01 00:00:00","9999-12-31 23:59:59.999999"]))
    if k<.8: return "TIME"+q(R.choice(["10:11:12","-10:11:12.5","838:59:59","00:00:00.000001","-00:00:01"]))
    return dt()
def tm(): return q(R.choice(TM)) if R.random()<.7 else R.choice(["101112","-101112.5","8385959","8390000","1","NULL","12.3456789","TIME'10:11:12.123456'","TIMESTAMP'2024-01-05 10:11:12.5'","DATE'2024-01-05'","1e3"])
# DATE_FORMAT / TIME_FORMAT: every letter
for f in FMT + ["1","-","é","中"]:
    for d in DT[:10]: 
        if R.random()<.35: add(f"DATE_FORMAT({q(d)}, '%{f}')")
    add(f"DATE_FORMAT({typed()}, 'x%{f}%{f}y')")
    for t in TM[:6]:
        if R.random()<.5: add(f"TIME_FORMAT({q(t)}, '%{f}')")
for _ in range(80): add(f"DATE_FORMAT({typed()}, {q(''.join(R.choice(['%'+R.choice(FMT),'-',' ','%']) for _ in range(R.randint(1,5))))})")
for _ in range(60): add(f"TIME_FORMAT({tm()}, {q(''.join(R.choice(['%'+R.choice('HhIiklprSsTf'),':',' ']) for _ in range(R.randint(1,5))))})")
# STR_TO_DATE
pairs=[("2024-02-29","%Y-%m-%d"),("29/02/24","%d/%m/%y"),("Feb 29, 2024","%b %d, %Y"),("February 29 2024","%M %d %Y"),("29th Feb 2024","%D %b %Y"),("2024 060","%Y %j"),("2024 366","%Y %j"),("2023 366","%Y %j"),("10:11:12 PM","%h:%i:%s %p"),("10:11:12 PM","%r"),("22:11:12","%T"),("13:11:12 PM","%r"),("12:00:00 AM","%r"),("2024-02-30","%Y-%m-%d"),("2024-13-01","%Y-%m-%d"),("2024-00-01","%Y-%m-%d"),("abc","%Y"),("20240229","%Y%m%d"),("202402","%Y%m"),("2024","%Y"),("24","%y"),("70","%y"),("69","%y"),("1","%c"),("2024-1-5","%Y-%c-%e"),("10:11:12.123456","%T.%f"),("10:11:12.5","%H:%i:%s.%f"),("10","%H"),("25","%H"),("59","%i"),("60","%i"),("60","%s"),("2024 10 Monday","%X %V %W"),("2024 10 Sunday","%X %V %W"),("2024 10 Monday","%x %v %W"),("201001 Monday","%X%V %W"),("2024 53 Mon","%Y %U %a"),("2024 10 1","%Y %u %w"),("2024-02-29 xyz","%Y-%m-%d"),("2024-02-29","%Y-%m-%d %H:%i"),("  2024-02-29","%Y-%m-%d"),("2024   -02-29","%Y -%m-%d"),("2024-02-29","%Y%%-%m-%d"),("2024%-02-29","%Y%%-%m-%d"),("abc2024","%@%Y"),("2024abc10","%Y%@%m"),("...2024","%.%Y"),("123abc2024","%#abc%Y"),("2024-02-29 10","%Y-%m-%d %k"),("2024-02-29 10","%Y-%m-%d %l"),("2024-02-29 13","%Y-%m-%d %l"),("2024-02-29 0 AM","%Y-%m-%d %h %p"),("2024-02-29 12 PM","%Y-%m-%d %h %p"),("AM","%p"),("10 AM","%H %p"),("2024-02-29","%y-%m-%d"),("0000-00-00","%Y-%m-%d"),("00:00:00","%T"),("",""),("2024",""),("","%Y"),("2024-02-29","%x-%m-%d"),("Mon","%a"),("mon 2024-02-26","%a %Y-%m-%d"),("Tue 2024-02-26","%a %Y-%m-%d"),("9","%d"),("32","%d"),("12","%m"),("5","%u"),("2024-02-29T10:11:12","%Y-%m-%dT%H:%i:%s"),("2024-02-29 10:11:12.1234567","%Y-%m-%d %H:%i:%s.%f"),("10:11","%H:%i"),("1","%w"),("366","%j"),("0","%j"),("000","%j"),("2024 0","%Y %j"),("-5","%d"),("+5","%d"),("2024-Sept-01","%Y-%M-%d"),("2024-sep-01","%Y-%b-%d"),("99999","%Y"),("2024","%Y%"),("2024","%Y%q"),("2024-02-29 24:00:00","%Y-%m-%d %H:%i:%s"),("1:2:3","%h:%i:%s"),("13:2:3","%h:%i:%s"),("1:2:3 P","%h:%i:%s %p"),("5 6","%H %i"),("2024-02-29 10:11:12","%Y-%m-%d %T"),("2024-02-2910","%Y-%m-%d%H"),("1/1/1","%Y/%m/%d"),("12/1/1","%y/%m/%d")]
for s,f in pairs: add(f"STR_TO_DATE({q(s)}, {q(f)})")
for _ in range(150):
    s,_f=R.choice(pairs); _s,f=R.choice(pairs); 
    if R.random()<.5: s=_s if R.random()<.3 else s
    add(f"STR_TO_DATE({q(s)}, {q(f)})")
for s,f in pairs[:40]:
    if R.random()<.3: add(f"STR_TO_DATE({q(s)}, {q(f)})", sql_mode="")
# TIMESTAMPDIFF/ADD
for u in UNITS[:9]:
    for _ in range(16):
        add(f"TIMESTAMPDIFF({u}, {typed()}, {typed()})")
        add(f"TIMESTAMPADD({u}, {R.choice(['1','-1','1.5','-1.5','0.0000015','100000','-999999999999','NULL',A('3'),A('x'),A('1.7'),'1e2','9223372036854775807','25'])}, {typed()})")
# DATE_ADD
IV=["1","-1","1.5","-2.5","1.999999","0","100","'1:2'","'1:2:3'","'1 2:3:4.5'","'-1:2'","'1.5'","'1 2'","'1-2'","'-1-2'","'1.000001'","'abc'","''","NULL","'1:2:3:4:5'","99999999999","-99999999999","'1,2'","'10:11:12.123456'","0.0000001","'1 10:11:12.5'","1e1","' 5'","'5 '","-0.5","0.5","2.5"]
for u in UNITS:
    for _ in range(26):
        add(f"{R.choice(['DATE_ADD','DATE_SUB'])}({typed()}, INTERVAL {R.choice(IV)} {u})")
    for _ in range(5): add(f"EXTRACT({u} FROM {R.choice([typed,tm,dt])()})")
# WEEK etc
for _ in range(120):
    f=R.choice(["WEEK({0},{1})","YEARWEEK({0},{1})","WEEK({0})","WEEKOFYEAR({0})","YEARWEEK({0})"])
    d=R.choice([f"'{R.choice([1999,2000,2004,2008,2015,2016,2019,2020,2021,2022,2023,2024,1,9999])}-{R.choice(['01-01','01-02','01-03','01-04','01-05','01-06','01-07','12-28','12-29','12-30','12-31','06-15'])}'" if 1 else '']).replace("'1-","'0001-")
    add(f.format(d, R.choice(list(range(8))+[8,-1,99,'NULL',A('3')])))
for _ in range(40): add(R.choice(["WEEK({0},{1})","YEARWEEK({0},{1})"]).format(typed(), R.randint(0,7)))
one=["TO_DAYS","LAST_DAY","DAYNAME","MONTHNAME","DAYOFWEEK","DAYOFYEAR","DAYOFMONTH","WEEKDAY","QUARTER","YEAR","MONTH","HOUR","MINUTE","SECOND","MICROSECOND","DATE","TIME","TIMESTAMP","TO_SECONDS","TIME_TO_SEC","UNIX_TIMESTAMP"]
for f in one:
    for _ in range(14): add(f"{f}({R.choice([typed,tm,dt])()})")
for _ in range(60): add(f"FROM_UNIXTIME({R.choice(['0','1','-1','1.5','1700000000','1700000000.123456','1700000000.1234567','32536771199','32536771200','2147483648',A('1700000000'),A('abc'),'NULL','0.9999999','1e9','1711846799','1711846800','1729990800','0.1','1700000000.9999999'])}{R.choice(['','',', '+q('%Y-%m-%d %H:%i:%s.%f'),', '+q('%x %v %W')])})")
for _ in range(40): add(f"SEC_TO_TIME({R.choice(['0','1','-1','3661','86400','3020399','3020400','-3020400','1.5','1.9999999',A('100'),A('abc'),'NULL','1e10','-0.5','12345.678901'])})")
for _ in range(50): add(f"MAKETIME({R.choice(['1','-1','838','839','0','NULL','1.5',A('x')])},{R.choice(['0','59','60','-1','NULL'])},{R.choice(['0','59','60','59.999999','1.5','-1','59.9999999','NULL',A('7')])})")
for _ in range(40): add(f"MAKEDATE({R.choice(['2024','2023','0','1','99','70','69','9999','10000','-1','NULL'])},{R.choice(['1','60','366','365','0','-1','367','3652424','NULL','1.5'])})")
for _ in range(40): add(f"PERIOD_ADD({R.choice(['202401','2401','9912','0','202413','-1','199912','1','NULL','7001','999912'])},{R.choice(['1','-1','12','-25','0','NULL','100000'])})")
for _ in range(25): add(f"PERIOD_DIFF({R.choice(['202401','2401','9912','202412','0','7001','202413'])},{R.choice(['202301','2401','9912','199901','0','0001'])})")
for _ in range(120): add(f"{R.choice(['ADDTIME','SUBTIME','TIMEDIFF','TIMESTAMP'])}({R.choice([typed,tm,dt])()}, {R.choice([tm,tm,typed])()})")
for _ in range(60): add(f"DATEDIFF({typed()}, {typed()})")
for _ in range(30): add(f"FROM_DAYS({R.choice(['0','365','366','730669','3652424','3652425','-1','NULL','1.5',A('738000'),'99999999'])})")
for _ in range(30): add(f"GET_FORMAT({R.choice(['DATE','TIME','DATETIME','TIMESTAMP'])}, {R.choice([A('EUR'),A('USA'),A('JIS'),A('ISO'),A('INTERNAL'),A('x'),'NULL',A('eur')])})")
Z=["UTC","+05:30","Europe/Berlin","America/New_York","Australia/Lord_Howe","-13:59","+14:00","SYSTEM","+14:01","Nowhere/City","europe/berlin","+5:30","Asia/Kathmandu","MET"]
ZD=["2024-03-31 01:59:59","2024-03-31 02:00:00","2024-03-31 02:30:00","2024-03-31 03:00:00","2024-10-27 01:59:59","2024-10-27 02:00:00","2024-10-27 02:30:00.5","2024-10-27 03:00:00","2024-03-10 02:30:00","2024-11-03 01:30:00","2024-04-07 01:45:00","2024-10-06 02:15:00","1970-01-01 00:00:00","1970-01-01 00:00:01","2038-01-19 03:14:08","2050-07-01 12:00:00","3001-01-18 23:59:59","3001-01-19 00:00:00","1950-01-01 00:00:00","2024-02-29","9999-12-31 23:59:59.999999"]
for _ in range(220): add(f"CONVERT_TZ({q(R.choice(ZD))}, {q(R.choice(Z))}, {q(R.choice(Z))})")
for z in Z[:5]:
    s={"set":[f"SET time_zone = '{z}'"]}
    for d in ZD: 
        if R.random()<.8: add(f"UNIX_TIMESTAMP({q(d)})", **s)
    for _ in range(22): add(f"FROM_UNIXTIME({R.choice(['1711846799','1711846800','1729990799','1729990800','1729994399','1729994400','1710054000','1730611800','1730615400','1712415599','1712415600','1728142200','1728144000','0','32536771199','1700000000.5'])})", **s)
    for _ in range(6): add(f"UNIX_TIMESTAMP({typed()})", **s)
    add("NOW(), NOW(3), CURDATE(), CURTIME(6), UTC_DATE(), UTC_TIME(2), UTC_TIMESTAMP(6), SYSDATE(0) IS NULL, LOCALTIME(1), CURRENT_TIMESTAMP(6), LOCALTIMESTAMP", set=[f"SET time_zone = '{z}'","SET timestamp = 1711846799.987654"], reset=["SET timestamp = DEFAULT"])
    add("CAST(NOW(6) AS DATETIME(2)), CAST(NOW(6) AS TIME), UNIX_TIMESTAMP(), UNIX_TIMESTAMP(NOW(6)), NOW(6)+0, CURTIME()+0, CURDATE()+0", set=[f"SET time_zone = '{z}'","SET timestamp = 1729990800.5"], reset=["SET timestamp = DEFAULT"])
# CAST and rounding
for _ in range(150): add(f"CAST({R.choice([typed,tm,dt])()} AS {R.choice(['DATE','DATETIME','DATETIME(6)','DATETIME(3)','TIME','TIME(6)','TIME(2)','YEAR','SIGNED','DECIMAL(20,6)','CHAR'])})")
for _ in range(40): add(f"{typed()} {R.choice(['+','-'])} INTERVAL {R.choice(IV)} {R.choice(UNITS)}")
for _ in range(30): add(f"{typed()} {R.choice(['+ 0','- 1','* 1.0','= NOW()',LT,BW])}")

CLASS = {FT.TINY: "int", FT.SHORT: "int", FT.INT24: "int", FT.LONG: "int", FT.LONGLONG: "int", FT.YEAR: "year", FT.NEWDECIMAL: "decimal", FT.DOUBLE: "double", FT.DATE: "date", FT.NEWDATE: "date",
         FT.DATETIME: "datetime", FT.TIMESTAMP: "datetime", FT.TIME: "time", FT.NULL: "null"}
NOW, BASE = "SET timestamp = 1717237230", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


def column(f):
    c = CLASS.get(f.type_code) or ("binary" if f.charsetnr == 63 else "string")
    if c == "int" and f.flags & FLAG.UNSIGNED:
        c = "uint"
    return [f.name, c] + ([f.scale] if c == "decimal" else [min(f.scale, 6)] if c in ("datetime", "time") else [])


def main():
    host, port, user, password = sys.argv[1:5]
    con = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4", conv=dict(encoders), use_unicode=False)
    cur = con.cursor()
    seen = set()
    for n, c in enumerate(out):
        if (c["sql"], str(c.get("set")), c.get("sql_mode")) in seen:
            continue
        seen.add((c["sql"], str(c.get("set")), c.get("sql_mode")))
        c = {"id": f"dates-{n + 1}", "ordered": True, **c}
        for s in ("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET time_zone = '+00:00'", NOW):
            cur.execute(s)
        cur.execute("SET SESSION sql_mode = %s", (c.get("sql_mode", BASE),))
        c.pop("reset", None)
        for s in c.get("set", []):
            cur.execute(s)
        try:
            cur.execute(c["sql"])
            c["columns"] = [column(f) for f in cur._result.fields]
            c["rows"] = [[v if v is None else v.decode() for v in r] for r in cur.fetchall()]
            cur.execute("SHOW WARNINGS")
            w = [[r[0].decode(), int(r[1]), r[2].decode("utf-8", "replace")] for r in cur.fetchall()]
            if w:
                c["warnings"] = w
        except pymysql.Error as e:
            c["error"], c["message"] = e.args[0], e.args[1]
        print(json.dumps(c, ensure_ascii=False))


main()
