package mysql

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// XA transactions are in the log twice: their rows where they are prepared, and
// later, perhaps much later or never, a statement that commits them.
//
//	GTID 7 | XA START X'61',X'',1 | rows | XA END X'61',X'',1 | XA PREPARE
//	GTID 8 … other transactions …
//	GTID 9 | XA COMMIT X'61',X'',1
//
// (MariaDB has no XA START, but a flag of the event of the GTID.)
//
// Rows count where they are committed (GTID 9 here): there they are read from the
// log once more, by a second connection. So nothing is kept in between, in memory
// or in a position, and a start between the two is like any other: then the place
// of the first is looked for in the log, from its newest file on. No definition can
// change in between, for the server keeps a prepared transaction's tables locked.

// preparedXA is a flag of MariaDB's GTID event: the transaction is prepared.
const preparedXA = 0x40

// xaStart is where the log has the rows of an XA transaction.
type xaStart struct {
	on   bool   // there is one
	id   string // as the statements write it: X'…',X'…',n; "" until it is known
	file string // "" where the place is not known
	pos  uint64 // of the event that begins the transaction
	rows bool   // of captured tables
}

var xid = regexp.MustCompile(`(?i)X'([0-9a-f]*)'\s*,\s*X'([0-9a-f]*)'\s*,\s*(\d+)`)

// xidOf normalizes the identifier in an XA statement; "" when there is none.
func xidOf(text string) string {
	m := xid.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.ToLower(fmt.Sprintf("x'%s',x'%s',%s", m[1], m[2], m[3]))
}

// xaStatement handles XA START, END, COMMIT and ROLLBACK of the log.
func (st *stream) xaStatement(h *replication.EventHeader, rest string) error {
	id := xidOf(rest)
	switch w, _ := firstWord(rest); w {
	case "START", "BEGIN":
		st.began = true
		if id == "" {
			return errs.Corruptf("follow the binlog of %s: an XA statement without an identifier: %s", st.s.Address(), shorten(rest))
		}
		st.xa = st.xaHere(id)
	case "END":
		st.began = true
		if st.xa.on && id != "" {
			st.xa.id = id
		}
	case "COMMIT":
		x, known := st.xas[id]
		delete(st.xas, id)
		if known && !x.rows {
			st.end(h)
			return nil
		}
		return st.replayFrom(h, id, x, known)
	default: // ROLLBACK
		delete(st.xas, id)
		st.end(h)
	}
	return nil
}

// xaHere is an XA transaction that begins with the present one.
func (st *stream) xaHere(id string) xaStart {
	x := xaStart{on: true, id: id, pos: st.txn.pos}
	if st.placed {
		x.file = st.txn.file
	}
	return x
}

// xaPrepared ends the transaction that prepares an XA transaction, or that has it
// as a whole.
func (st *stream) xaPrepared(h *replication.EventHeader, onePhase bool) error {
	x := st.xa
	st.xa = xaStart{}
	switch {
	case !x.on: // not begun as one
		st.end(h)
		return nil
	case x.id == "":
		return errs.Corruptf("follow the binlog of %s: an XA transaction without an identifier", st.s.Address())
	}
	x.rows = len(st.touched) > 0
	if !onePhase {
		st.xas[x.id] = x
		st.end(h)
		return nil
	}
	if !x.rows {
		st.end(h)
		return nil
	}
	return st.replayFrom(h, x.id, x, true)
}

// replayFrom begins to read the rows of an XA transaction whose commit is the event
// of h.
func (st *stream) replayFrom(h *replication.EventHeader, id string, x xaStart, known bool) error {
	if !slices.ContainsFunc(st.stopped, func(stopped bool) bool { return !stopped }) {
		st.end(h)
		return nil
	}
	st.replay = &logReader{st: st, id: id, maps: map[uint64]*mapped{}, untilFile: st.file, until: st.txn.pos}
	st.commitHeader = *h
	if known && x.file != "" && x.pos <= math.MaxUint32 { // the protocol has 32 bits
		st.replay.files = []logPlace{{x.file, x.pos}}
	}
	return nil
}

// logPlace is a place in the log.
type logPlace struct {
	file string
	pos  uint64
}

// logReader reads the rows of one XA transaction from the log by a connection of
// its own: first it looks for the place where they are, if that is not known.
type logReader struct {
	st    *stream
	id    string
	files []logPlace // to be read, in this order; nil: not known yet

	// The search ends before the statement that commits.
	untilFile string
	until     uint64

	conns  *connections
	syncer *replication.BinlogSyncer
	events *replication.BinlogStreamer
	inner  []*replication.BinlogEvent
	maps   map[uint64]*mapped

	place  logPlace // where it reads
	begin  uint64   // of the transaction that it is in
	search bool     // it looks for the place
	listed bool     // in all files
	found  []logPlace
	over   bool // the search is: newer files resolve what older ones may have
	inside bool // of the transaction that is wanted
}

func (r *logReader) close() {
	if r == nil {
		return
	}
	r.end()
}

func (r *logReader) end() {
	if r.syncer != nil {
		r.conns.end()
		r.syncer.Close()
		r.syncer, r.events = nil, nil
	}
}

// open reads from a place of a file on.
func (r *logReader) open(ctx context.Context, p logPlace) error {
	r.end()
	r.place, r.inner, r.inside = p, nil, false
	clear(r.maps)
	o := r.st.s.opt
	r.conns = &connections{dialer: r.st.conns.dialer}
	o.serverIDTo = 0 // the pipeline's own would cut off the stream
	r.syncer = replication.NewBinlogSyncer(r.st.s.syncerConfig(r.st.sv, newServerID(o), r.conns))
	stop := context.AfterFunc(ctx, r.conns.end)
	defer stop()
	var err error
	r.events, err = r.syncer.StartSync(gomysql.Position{Name: p.file, Pos: uint32(max(p.pos, firstEvent))})
	return err
}

// list finds the files of the log that may have the transaction, newest first.
func (r *logReader) list(ctx context.Context) error {
	db, err := r.st.s.pool()
	if err != nil {
		return err
	}
	names, err := r.st.s.logFiles(ctx, db)
	if err != nil {
		return err
	}
	for i := len(names) - 1; i >= 0; i-- {
		if fileNumber(names[i].name) <= fileNumber(r.untilFile) {
			r.files = append(r.files, logPlace{names[i].name, firstEvent})
		}
	}
	r.listed, r.search = true, true
	return nil
}

// replayed reads on in the rows of an XA transaction, and queues what it finds. It
// may be called again after ctx has ended.
func (st *stream) replayed(ctx context.Context) error {
	r := st.replay
	if r.events == nil {
		if len(r.files) == 0 && !r.listed {
			if err := r.list(ctx); err != nil {
				return err
			}
		}
		if len(r.files) == 0 || r.over || r.until > math.MaxUint32 && r.search {
			return st.replayLost()
		}
		next := r.files[0]
		if err := r.open(ctx, next); err != nil {
			return err
		}
		r.files = r.files[1:]
	}
	var e *replication.BinlogEvent
	if len(r.inner) > 0 {
		e, r.inner = r.inner[0], r.inner[1:]
	} else {
		var err error
		if e, err = r.events.GetEvent(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
	done, err := st.replayEvent(e)
	if err != nil || !done {
		return err
	}
	r.end()
	if r.inside { // all rows were queued
		return st.replayDone()
	}
	if n := len(r.found); n > 0 { // the last one in this file counts
		r.files, r.search, r.found = []logPlace{r.found[n-1]}, false, nil
	}
	return nil
}

// replayEvent handles an event of the second connection. It reports whether the
// file, or the transaction, is at its end.
func (st *stream) replayEvent(e *replication.BinlogEvent) (done bool, _ error) {
	r := st.replay
	h := e.Header
	if h.Flags&artificial == 0 && h.LogPos > 0 && r.search && r.place.file == r.untilFile && uint64(h.LogPos) > r.until {
		return true, nil
	}
	start := func() {
		if h.LogPos > 0 {
			r.begin = uint64(h.LogPos) - uint64(h.EventSize)
		}
	}
	switch x := e.Event.(type) {
	case *replication.RotateEvent:
		return string(x.NextLogName) != r.place.file, nil
	case *replication.MariadbGTIDEvent, *replication.GTIDEvent, *replication.GtidTaggedLogEvent:
		start()
		r.inside = !r.search
	case *replication.TransactionPayloadEvent:
		r.inner = append(x.Events, r.inner...)
	case *replication.QueryEvent:
		word, rest := firstWord(strings.TrimRight(string(x.Query), "\x00 \t\r\n"))
		if word != "XA" {
			return false, nil
		}
		if id := xidOf(rest); id != r.id {
			if r.inside {
				return false, errs.Corruptf("follow the binlog of %s: at %s:%d is the XA transaction %s, and not %s", st.s.Address(), r.place.file, r.place.pos, id, r.id)
			}
			return false, nil
		}
		switch w, _ := firstWord(rest); w {
		case "END":
			if r.search {
				r.found, r.over = append(r.found, logPlace{r.place.file, r.begin}), false
			}
		case "COMMIT", "ROLLBACK":
			if r.search {
				r.found, r.over = nil, true // an earlier one of the same name
			}
		}
	case *replication.TableMapEvent:
		if r.inside {
			st.tableMapInto(r.maps, x)
		}
	case *replication.RowsEvent:
		if r.inside {
			return false, st.rowsOf(h, x, r.maps)
		}
	case *replication.GenericEvent:
		if h.EventType == replication.XA_PREPARE_LOG_EVENT && r.inside {
			return true, nil
		}
	}
	return false, nil
}

// replayDone ends the transaction that commits.
func (st *stream) replayDone() error {
	st.replay.close()
	st.replay = nil
	h := st.commitHeader
	st.end(&h)
	return nil
}

// replayLost says that the rows of a committed XA transaction are not in the log any
// more. Which tables they are of is not known.
func (st *stream) replayLost() error {
	for i := range st.tables {
		if !st.stopped[i] && !st.before(i) {
			t := st.txn
			st.queue = append(st.queue, source.Event{Kind: source.RowsLostEvent, Table: i, Loss: source.LostTransaction, Txn: &t, Time: st.time,
				Reason: "the XA transaction " + st.replay.id + " was committed, and the log does not have its rows any more"})
		}
	}
	return st.replayDone()
}
