package mysql

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// flavor says how a server names transactions.
type flavor string

const (
	mariadbGTID flavor = "mariadb"    // domain-server-sequence
	mysqlGTID   flavor = "mysql"      // source id:number
	filePos     flavor = "mysql-file" // file and offset; GTIDs are off
)

// position is everything up to a transaction's end. file and pos are where the
// log was read; they decide only where there are no GTIDs.
type position struct {
	flavor flavor
	maria  mariaSet
	mysql  *gomysql.MysqlGTIDSet
	file   string
	pos    uint64
}

var _ source.Position = position{}

// mariaSet has the last sequence number of each domain.
type mariaSet map[uint32]mariaGTID

type mariaGTID struct {
	server uint32
	seq    uint64
}

// String returns the set as MariaDB writes it, domains ascending.
func (m mariaSet) String() string {
	var sb strings.Builder
	for i, d := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			sb.WriteByte(',')
		}
		fmt.Fprintf(&sb, "%d-%d-%d", d, m[d].server, m[d].seq)
	}
	return sb.String()
}

// parseMariaSet reads "0-1-5,1-1-7". Of several entries of one domain the last
// sequence number counts.
func parseMariaSet(s string) (mariaSet, error) {
	out := mariaSet{}
	if strings.TrimSpace(s) == "" {
		return out, nil
	}
	for _, part := range strings.Split(s, ",") {
		f := strings.Split(strings.TrimSpace(part), "-")
		if len(f) != 3 {
			return nil, errs.Corruptf("read MariaDB GTID position %q: write domain-server-sequence", s)
		}
		d, err1 := strconv.ParseUint(f[0], 10, 32)
		srv, err2 := strconv.ParseUint(f[1], 10, 32)
		seq, err3 := strconv.ParseUint(f[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, errs.Corruptf("read MariaDB GTID position %q: write domain-server-sequence", s)
		}
		if old, ok := out[uint32(d)]; !ok || old.seq < seq {
			out[uint32(d)] = mariaGTID{uint32(srv), seq}
		}
	}
	return out, nil
}

func (m mariaSet) clone() mariaSet { return maps.Clone(m) }

// txn identifies one transaction.
type txn struct {
	flavor flavor
	// MariaDB
	domain uint32
	gtid   mariaGTID
	// MySQL
	sid uuid.UUID
	tag gomysql.Tag
	gno int64
	// Where it ends in the log, 0 until its end was read.
	file string
	pos  uint64
}

func (t *txn) String() string {
	switch t.flavor {
	case mariadbGTID:
		return fmt.Sprintf("%d-%d-%d", t.domain, t.gtid.server, t.gtid.seq)
	case mysqlGTID:
		if t.tag.String() != "" {
			return fmt.Sprintf("%s:%s:%d", t.sid, t.tag, t.gno)
		}
		return fmt.Sprintf("%s:%d", t.sid, t.gno)
	}
	return fmt.Sprintf("%s:%d", t.file, t.pos)
}

// Includes implements source.Position. Without GTIDs a transaction is named by
// the place of its begin, so that it is known from its first row on: it belongs
// to a position that lies behind its begin, as positions are only at ends.
func (p position) Includes(x source.Txn) bool {
	t, ok := x.(*txn)
	if !ok || t.flavor != p.flavor {
		return false
	}
	switch p.flavor {
	case mariadbGTID:
		return p.maria[t.domain].seq >= t.gtid.seq
	case mysqlGTID:
		one := gomysql.NewMysqlGTIDSet()
		one.AddGTIDWithTag(t.sid, t.tag, t.gno)
		return p.mysql.Contain(&one)
	}
	return compareFiles(t.file, t.pos, p.file, p.pos) < 0
}

// Covers implements source.Position.
func (p position) Covers(x source.Position) bool {
	o, ok := x.(position)
	if !ok || o.flavor != p.flavor {
		return false
	}
	switch p.flavor {
	case mariadbGTID:
		for d, g := range o.maria {
			if p.maria[d].seq < g.seq {
				return false
			}
		}
		return true
	case mysqlGTID:
		return p.mysql.Contain(o.mysql)
	}
	return compareFiles(o.file, o.pos, p.file, p.pos) <= 0
}

// Meet implements source.Position.
func (p position) Meet(x source.Position) source.Position {
	o, ok := x.(position)
	switch {
	case !ok || p.Covers(o):
		return x
	case o.Covers(p):
		return p
	}
	// Neither is a part of the other: the log was read in two orders. The place
	// in the files is unknown then.
	out := position{flavor: p.flavor}
	switch p.flavor {
	case mariadbGTID:
		out.maria = mariaSet{}
		for d, a := range p.maria {
			if b, ok := o.maria[d]; ok {
				if b.seq < a.seq {
					a = b
				}
				out.maria[d] = a
			}
		}
	case mysqlGTID:
		set := gomysql.NewMysqlGTIDSet()
		for sid, tags := range *p.mysql {
			for tag, in := range tags {
				if both := meetIntervals(in, (*o.mysql)[sid][tag]); len(both) > 0 {
					if set[sid] == nil {
						set[sid] = map[gomysql.Tag]gomysql.IntervalSlice{}
					}
					set[sid][tag] = both
				}
			}
		}
		out.mysql = &set
	}
	return out
}

// meetIntervals intersects sorted lists of half-open intervals.
func meetIntervals(a, b gomysql.IntervalSlice) (out gomysql.IntervalSlice) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		lo, hi := max(a[i].Start, b[j].Start), min(a[i].Stop, b[j].Stop)
		if lo < hi {
			out = append(out, gomysql.Interval{Start: lo, Stop: hi})
		}
		if a[i].Stop < b[j].Stop {
			i++
		} else {
			j++
		}
	}
	return out
}

// compareFiles orders two places in the log. Files compare by the number at
// their end, not as text: binlog.1000000 comes after binlog.999999.
func compareFiles(af string, ap uint64, bf string, bp uint64) int {
	an, bn := fileNumber(af), fileNumber(bf)
	switch {
	case an < bn:
		return -1
	case an > bn:
		return 1
	case ap < bp:
		return -1
	case ap > bp:
		return 1
	}
	return 0
}

func fileNumber(name string) uint64 {
	n, _ := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
	return n
}

type positionJSON struct {
	Flavor flavor  `json:"flavor"`
	GTID   *string `json:"gtid,omitempty"`
	File   string  `json:"file,omitempty"`
	Pos    uint64  `json:"pos,omitempty"`
}

// String implements source.Position.
func (p position) String() string {
	j := positionJSON{Flavor: p.flavor, File: p.file, Pos: p.pos}
	switch p.flavor {
	case mariadbGTID:
		s := p.maria.String()
		j.GTID = &s
	case mysqlGTID:
		s := p.mysql.String()
		j.GTID = &s
	}
	b, err := json.Marshal(j)
	if err != nil { // strings and numbers only
		return ""
	}
	return string(b)
}

func parsePosition(s string) (position, error) {
	var j positionJSON
	bad := func() (position, error) {
		return position{}, errs.Corruptf("read binlog position %q: it is not a position of this version", s)
	}
	if err := json.Unmarshal([]byte(s), &j); err != nil {
		return bad()
	}
	p := position{flavor: j.Flavor, file: j.File, pos: j.Pos}
	if j.GTID == nil && j.Flavor != filePos {
		return bad()
	}
	var err error
	switch j.Flavor {
	case mariadbGTID:
		if p.maria, err = parseMariaSet(*j.GTID); err != nil {
			return position{}, err
		}
	case mysqlGTID:
		if p.mysql, err = parseMySQLSet(*j.GTID); err != nil {
			return position{}, err
		}
	case filePos:
		if j.File == "" || fileNumber(j.File) == 0 {
			return bad()
		}
	default:
		return bad()
	}
	return p, nil
}

// ParsePosition implements source.Source.
func (s *Source) ParsePosition(text string) (source.Position, error) {
	p, err := parsePosition(text)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func parseMySQLSet(s string) (*gomysql.MysqlGTIDSet, error) {
	s = strings.Join(strings.Fields(s), "")
	g, err := gomysql.ParseMysqlGTIDSet(s)
	if err != nil {
		return nil, errs.Corruptf("read GTID set %q: %w", s, err)
	}
	set, ok := g.(*gomysql.MysqlGTIDSet)
	if !ok {
		return nil, errs.Corruptf("read GTID set %q: unexpected form", s)
	}
	return set, nil
}
