package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// eventQueue is how many binlog events wait between the network and decoding.
// The server writes events of at most binlog_row_event_max_size (8 KiB) plus
// one row, so the queue is bounded in bytes by the largest rows.
const eventQueue = 64

// stream follows the binlog. The library reads and frames events in a goroutine
// of its own; rows are decoded by who wants them (logRows).
type stream struct {
	s      *Source
	sv     *server
	syncer *replication.BinlogSyncer
	events *replication.BinlogStreamer
	conns  *connections

	tables  []*source.Table
	history *history
	tr      *transcoders
	columns [][]column
	byName  map[source.ID]int
	stopped []bool
	since   []source.Position // source.Table.Since, nil when the stream is past it

	pos    position // after the last transaction
	file   string   // the log file being read
	offset uint64   // in file, 64 bits although events carry 32

	txn    txn
	ending struct { // the transaction whose CommitEvent waits
		txn  txn
		file string
		pos  uint64
	}
	began   bool         // inside a transaction
	time    time.Time    // of its commit
	touched map[int]bool // captured tables with rows in it
	maps    map[uint64]*mapped

	xa           xaStart                 // of the XA transaction that is read
	placed       bool                    // txn.pos is where it begins
	xas          map[string]xaStart      // prepared ones by their XID
	replay       *logReader              // of the rows of one that was committed
	commitHeader replication.EventHeader // of its commit

	queue []source.Event             // to be delivered before reading on
	inner []*replication.BinlogEvent // of a compressed transaction
	ev    source.Event
	rows  logRows
}

// mapped is what a TABLE_MAP event said.
type mapped struct {
	table   int // -1: not captured, or stopped
	columns []column
	// what the table map said of the columns
	types, nulls []byte
	meta         []uint16
}

// Stream implements source.Source.
func (s *Source) Stream(ctx context.Context, from source.Position, tables []*source.Table) (source.Stream, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := from.(position)
	if !ok {
		return nil, errs.Internalf("follow %s: the position %s is not one of this source", s.Address(), from)
	}
	if err := s.checkPosition(ctx, sv, p); err != nil {
		return nil, err
	}
	st := &stream{s: s, sv: sv, tables: slices.Clone(tables), byName: map[source.ID]int{}, stopped: make([]bool, len(tables)),
		touched: map[int]bool{}, maps: map[uint64]*mapped{}, xas: map[string]xaStart{}, file: p.file, offset: p.pos}
	st.pos = p.clone()
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	tr := newTranscoders()
	st.tr = tr
	if st.history, err = s.newHistory(ctx, db, sv, st); err != nil {
		return nil, err
	}
	for i, t := range tables {
		t.Number() // kept by an earlier version
		st.since = append(st.since, t.Since)
		if err := s.loadCharsets(ctx, db, t, tr); err != nil {
			return nil, err
		}
		cols, err := newColumns(t, tr)
		if err != nil {
			return nil, err
		}
		st.columns = append(st.columns, cols)
		st.byName[t.ID] = i
	}
	if err := st.start(ctx, p); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

func (p position) clone() position {
	if p.maria != nil {
		p.maria = p.maria.clone()
	}
	if p.mysql != nil {
		p.mysql = p.mysql.Clone().(*gomysql.MysqlGTIDSet)
	}
	return p
}

// connections are the library's connections, so that they can be ended from
// here: its own Close would first dial the server again to kill the old one, and
// wait for reads.
type connections struct {
	mu     sync.Mutex
	open   []*connection
	ended  bool
	dialer net.Dialer
}

// connection reads nothing more once it is ended, whatever deadline is set.
type connection struct {
	net.Conn
	ended atomic.Bool
	set   atomic.Int64 // the deadline, in nanoseconds since the epoch
}

// deadlineStep is how much earlier than asked for a read may time out. The library
// sets the deadline for each packet, which costs a tenth of following the log when
// the runtime's timer is moved each time.
const deadlineStep = 500 * time.Millisecond

func (c *connection) SetReadDeadline(t time.Time) error {
	ended := c.ended.Load()
	switch ns := t.UnixNano(); {
	case ended:
		t = time.Unix(1, 0)
	case t.IsZero():
		c.set.Store(0)
	case ns >= c.set.Load() && ns-c.set.Load() < int64(deadlineStep):
		return nil
	default:
		c.set.Store(ns)
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return nil, net.ErrClosed
	}
	conn, err := c.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	x := &connection{Conn: conn}
	c.open = append(c.open, x)
	return x, nil
}

// end makes reads fail from now on, and dialing too. The library closes the
// connections.
func (c *connections) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, x := range c.open {
		x.ended.Store(true)
		if err := x.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, net.ErrClosed) {
			x.Close()
		}
	}
	c.open = nil
}

func (st *stream) start(ctx context.Context, p position) error {
	o := st.s.opt
	st.conns = &connections{dialer: net.Dialer{Timeout: o.connectTimeout}}
	st.syncer = replication.NewBinlogSyncer(st.s.syncerConfig(st.sv, newServerID(o), st.conns))
	stop := context.AfterFunc(ctx, st.conns.end)
	defer stop()
	var err error
	switch p.flavor {
	case mariadbGTID:
		var set gomysql.GTIDSet
		if set, err = gomysql.ParseMariadbGTIDSet(p.maria.String()); err == nil {
			st.events, err = st.syncer.StartSyncGTID(set)
		}
	case mysqlGTID:
		st.events, err = st.syncer.StartSyncGTID(p.mysql.Clone())
	default:
		st.events, err = st.syncer.StartSync(gomysql.Position{Name: p.file, Pos: uint32(p.pos)})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return st.fault(err)
}

// syncerConfig is how the library reads the binlog.
func (s *Source) syncerConfig(sv *server, serverID uint32, conns *connections) replication.BinlogSyncerConfig {
	o := s.opt
	cfg := replication.BinlogSyncerConfig{
		ServerID: serverID, Flavor: gomysql.MySQLFlavor,
		Host: o.host, Port: uint16(o.port), User: o.user, Password: o.password,
		TLSConfig: o.tls, Charset: "utf8mb4", Localhost: "thermocline",
		HeartbeatPeriod: o.heartbeat, ReadTimeout: max(3*o.heartbeat, 5*time.Second),
		DisableRetrySync: true, DiscardGTIDSet: true, VerifyChecksum: true,
		EventCacheCount: eventQueue, Dialer: conns.dial,
		Logger: slog.New(quietHandler{}),
		// Only the header is read there: rows wait undecoded until their table
		// is known to be wanted.
		RowsEventDecodeFunc: func(e *replication.RowsEvent, data []byte) error {
			at, err := e.DecodeHeader(data)
			if err != nil {
				return err
			}
			e.NdbData = data[at:]
			return nil
		},
	}
	if sv.mariadb {
		cfg.Flavor = gomysql.MariaDBFlavor
	}
	return cfg
}

// quietHandler drops the library's log: every fault comes as an error too.
type quietHandler struct{}

func (quietHandler) Enabled(context.Context, slog.Level) bool  { return false }
func (quietHandler) Handle(context.Context, slog.Record) error { return nil }
func (quietHandler) WithAttrs([]slog.Attr) slog.Handler        { return quietHandler{} }
func (quietHandler) WithGroup(string) slog.Handler             { return quietHandler{} }

func (st *stream) fault(err error) error {
	if err == nil {
		return nil
	}
	const doing = "follow the binlog"
	var oe *errs.Error
	if errors.As(err, &oe) {
		return err
	}
	var me *gomysql.MyError
	if errors.As(err, &me) {
		return serverFault(doing, st.s.Address(), me.Code, me.Message)
	}
	var ee *replication.EventError
	if errors.As(err, &ee) {
		return errs.New(errs.Corruption, errs.KindNone, "%s of %s: decode an event of type %s: %s", doing, st.s.Address(), ee.Header.EventType, ee.Err)
	}
	if strings.HasPrefix(err.Error(), "panic ") {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return errs.New(errs.Corruption, errs.KindNone, "%s of %s: decode an event: %s", doing, st.s.Address(), line)
	}
	return st.s.fault(doing, err)
}

// Position implements source.Stream.
func (st *stream) Position() source.Position { return st.pos.clone() }

// Close implements source.Stream.
func (st *stream) Close() error {
	st.replay.close()
	st.conns.end()
	if st.syncer != nil {
		st.syncer.Close()
	}
	return nil
}

// Next implements source.Stream.
func (st *stream) Next(ctx context.Context) (*source.Event, error) {
	for {
		if len(st.queue) > 0 {
			st.ev = st.queue[0]
			st.queue = st.queue[1:]
			if st.ev.Kind == source.CommitEvent {
				st.advance()
			}
			return &st.ev, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if st.replay != nil {
			if err := st.replayed(ctx); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return nil, st.fault(err)
			}
			continue
		}
		var e *replication.BinlogEvent
		if len(st.inner) > 0 {
			e, st.inner = st.inner[0], st.inner[1:]
		} else {
			var err error
			if e, err = st.events.GetEvent(ctx); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return nil, st.fault(err)
			}
		}
		if err := st.take(e); err != nil {
			return nil, st.fault(err)
		}
	}
}

const (
	artificial = 0x20 // LOG_EVENT_ARTIFICIAL_F: made up by the dump, not in the log
	ignorable  = 0x80 // LOG_EVENT_IGNORABLE_F
)

// take handles one binlog event and queues what it means.
func (st *stream) take(e *replication.BinlogEvent) error {
	h := e.Header
	if h.Flags&artificial == 0 && h.LogPos > 0 {
		high := st.offset >> 32
		if st.offset&0xFFFFFFFF >= 3<<30 && h.LogPos < 1<<30 {
			high++ // the event's 32 bits wrapped: a huge transaction
		}
		st.offset = high<<32 | uint64(h.LogPos)
	}
	switch x := e.Event.(type) {
	case *replication.RotateEvent:
		st.file, st.offset = string(x.NextLogName), x.Position
		st.maps = map[uint64]*mapped{}
		if st.pos.flavor == filePos && h.Flags&artificial == 0 && !st.began {
			st.pos.file, st.pos.pos = st.file, st.offset
		}
	case *replication.HeartbeatEvent:
		if st.pos.flavor == filePos && !st.began && h.LogPos > 0 && compareFiles(st.file, uint64(h.LogPos), st.pos.file, st.pos.pos) > 0 {
			st.pos.file, st.pos.pos = st.file, uint64(h.LogPos)
		}
		st.queue = append(st.queue, source.Event{Kind: source.HeartbeatEvent})
	case *replication.MariadbGTIDEvent:
		st.begin(h, txn{flavor: mariadbGTID, domain: x.GTID.DomainID, gtid: mariaGTID{x.GTID.ServerID, x.GTID.SequenceNumber}}, time.Unix(int64(h.Timestamp), 0))
		st.began = !x.IsStandalone()
		if x.Flags&preparedXA != 0 {
			st.xa = st.xaHere("")
		}
	case *replication.GTIDEvent:
		return st.beginGTID(h, x)
	case *replication.GtidTaggedLogEvent:
		return st.beginGTID(h, &x.GTIDEvent)
	case *replication.TransactionPayloadEvent:
		st.inner = append(x.Events, st.inner...)
	case *replication.QueryEvent:
		return st.query(h, x)
	case *replication.XIDEvent:
		st.commit(h)
	case *replication.TableMapEvent:
		st.tableMap(x)
	case *replication.RowsEvent:
		return st.rowsEvent(h, x)
	case *replication.ExecuteLoadQueryEvent:
		st.stopTouchedBy("the binlog has a LOAD DATA as a statement, not as rows (binlog_format of a session)")
	case *replication.GenericEvent:
		return st.generic(h, x)
	}
	return nil
}

// begin starts a transaction. Without GTIDs it is named by where it begins.
func (st *stream) begin(h *replication.EventHeader, t txn, at time.Time) {
	t.file, t.pos = st.file, st.offset-uint64(h.EventSize)
	st.txn, st.time, st.xa, st.placed = t, at, xaStart{}, h.LogPos > 0
	clear(st.touched)
}

func (st *stream) beginGTID(h *replication.EventHeader, x *replication.GTIDEvent) error {
	at := time.Unix(int64(h.Timestamp), 0)
	if x.ImmediateCommitTimestamp > 0 {
		at = time.UnixMicro(int64(x.ImmediateCommitTimestamp))
	}
	anonymous := h.EventType == replication.ANONYMOUS_GTID_EVENT
	if anonymous != (st.pos.flavor == filePos) {
		return errs.New(errs.User, errs.SourceGone, "follow the binlog of %s: gtid_mode was changed while the pipeline followed; "+
			"drop the lake tables and the pipeline's state to copy them again", st.s.Address())
	}
	t := txn{flavor: st.pos.flavor}
	if !anonymous {
		sid, err := uuid.FromBytes(x.SID)
		if err != nil {
			return errs.Corruptf("follow the binlog of %s: a GTID without a source id", st.s.Address())
		}
		t.sid, t.tag, t.gno = sid, x.Tag, x.GNO
	}
	st.begin(h, t, at)
	st.began = false
	return nil
}

// before reports whether the transaction lies before the place where the table's
// definition is known.
func (st *stream) before(i int) bool {
	return st.since[i] != nil && st.since[i].Includes(&st.txn)
}

// commit ends the transaction: once the event is handed out it belongs to the
// position.
func (st *stream) commit(h *replication.EventHeader) {
	st.ending.txn, st.ending.file, st.ending.pos = st.txn, st.file, st.offset
	if h.LogPos == 0 { // MariaDB 11.4 and later leave it out
		st.ending.pos = 0
	}
	st.began = false
	t := st.txn
	st.queue = append(st.queue, source.Event{Kind: source.CommitEvent, Txn: &t, Time: st.time})
}

// advance moves the position behind the transaction whose CommitEvent is handed
// out: not before, as events of it may still wait in the queue.
func (st *stream) advance() {
	e := &st.ending
	switch st.pos.flavor {
	case mariadbGTID:
		st.pos.maria[e.txn.domain] = e.txn.gtid
	case mysqlGTID:
		if e.txn.gno > 0 {
			st.pos.mysql.AddGTIDWithTag(e.txn.sid, e.txn.tag, e.txn.gno)
		}
	}
	st.pos.file, st.pos.pos = e.file, e.pos
	for i, p := range st.since {
		if p != nil && st.pos.Covers(p) {
			st.since[i] = nil
		}
	}
}

// stop stops a table once.
func (st *stream) stop(i int, format string, args ...any) {
	if st.stopped[i] {
		return
	}
	st.stopped[i] = true
	t := st.txn
	st.queue = append(st.queue, source.Event{Kind: source.StopEvent, Table: i, Txn: &t, Time: st.time, Reason: fmt.Sprintf(format, args...)})
}

// stopTouchedBy stops the tables that have rows in this transaction.
func (st *stream) stopTouchedBy(format string, args ...any) {
	for i := range st.tables {
		if st.touched[i] {
			st.stop(i, format, args...)
		}
	}
}

func (st *stream) query(h *replication.EventHeader, x *replication.QueryEvent) error {
	text := strings.TrimRight(string(x.Query), "\x00 \t\r\n")
	if st.pos.flavor == filePos && !st.began && st.txn.pos == 0 { // before 5.7: no event announces a transaction
		st.begin(h, txn{flavor: filePos}, time.Unix(int64(h.Timestamp), 0))
	}
	switch word, rest := firstWord(text); word {
	case "BEGIN":
		st.began = true
		return nil
	case "COMMIT":
		st.end(h)
		return nil
	case "ROLLBACK":
		if w, _ := firstWord(rest); w == "TO" {
			st.stopTouchedBy("a transaction rolled back to a savepoint after its rows were logged")
			return nil
		}
		st.stopTouchedBy("a transaction over transactional and other tables was rolled back after its rows were logged")
		st.end(h)
		return nil
	case "SAVEPOINT", "RELEASE":
		return nil
	case "XA":
		return st.xaStatement(h, rest)
	}
	effects := st.history.apply(text, string(x.Schema), x.StatusVars)
	if err := st.history.unanswered; err != nil {
		return err
	}
	for _, ef := range effects {
		if err := st.effect(ef); err != nil {
			return err
		}
	}
	if !st.began {
		st.end(h)
	}
	return nil
}

// end is commit, and without announcing events gets ready for the next begin.
func (st *stream) end(h *replication.EventHeader) {
	st.commit(h)
	if st.pos.flavor == filePos {
		st.txn = txn{}
	}
}

// same compares names as the server does (lower_case_table_names).
func (st *stream) same(a, b string) bool {
	return a == b || st.sv.fold && strings.EqualFold(a, b)
}

// effect queues what a statement does to a captured table.
func (st *stream) effect(ef effect) error {
	if ef.kind == source.NewTableEvent {
		t := st.txn
		st.queue = append(st.queue, source.Event{Kind: ef.kind, ID: ef.id, Loss: ef.loss, Txn: &t, Time: st.time, Reason: ef.reason})
		return nil
	}
	if st.stopped[ef.table] {
		return nil
	}
	if ef.kind == source.StopEvent {
		st.stop(ef.table, "%s", ef.reason)
		return nil
	}
	if ef.kind == source.AlterEvent {
		ctx, cancel := context.WithTimeout(context.Background(), st.s.opt.connectTimeout)
		defer cancel()
		db, err := st.s.pool()
		if err != nil {
			return err
		}
		if err := st.s.loadCharsets(ctx, db, ef.def, st.tr); err != nil {
			return err
		}
		cols, err := newColumns(ef.def, st.tr)
		if err != nil {
			st.stop(ef.table, "its new definition cannot be followed (%v): %s", err, ef.reason)
			return nil
		}
		st.tables[ef.table], st.columns[ef.table] = ef.def, cols
		st.maps = map[uint64]*mapped{}
	}
	t := st.txn
	st.queue = append(st.queue, source.Event{Kind: ef.kind, Table: ef.table, Definition: ef.def, Loss: ef.loss, Txn: &t, Time: st.time, Reason: ef.reason})
	return nil
}

// firstWord returns the first word in upper case and the rest.
func firstWord(s string) (string, string) {
	s = strings.TrimLeft(s, " \t\r\n")
	i := strings.IndexAny(s, " \t\r\n;(")
	if i < 0 {
		return strings.ToUpper(s), ""
	}
	return strings.ToUpper(s[:i]), s[i:]
}

func (st *stream) generic(h *replication.EventHeader, x *replication.GenericEvent) error {
	switch h.EventType {
	case replication.XA_PREPARE_LOG_EVENT:
		return st.xaPrepared(h, len(x.Data) > 0 && x.Data[0] != 0)
	case replication.INCIDENT_EVENT:
		return errs.New(errs.Corruption, errs.SourceGone, "follow the binlog of %s: the server reports that its binlog lost events (incident); "+
			"drop the lake tables and the pipeline's state to copy them again", st.s.Address())
	case replication.STOP_EVENT, replication.IGNORABLE_EVENT, replication.TRANSACTION_CONTEXT_EVENT, replication.VIEW_CHANGE_EVENT,
		replication.RAND_EVENT, replication.USER_VAR_EVENT, replication.MARIADB_START_ENCRYPTION_EVENT:
	default:
		if h.Flags&ignorable == 0 {
			return errs.Unsupportedf(-1, "the binlog event type %d that %s sent", byte(h.EventType), st.s.Address())
		}
	}
	return nil
}

// tableMap binds a table id of the log to a captured table.
func (st *stream) tableMap(e *replication.TableMapEvent) { st.tableMapInto(st.maps, e) }

func (st *stream) tableMapInto(maps map[uint64]*mapped, e *replication.TableMapEvent) {
	i, ok := st.byName[source.ID{Database: string(e.Schema), Name: string(e.Table)}]
	wanted := ok && !st.stopped[i] && !st.before(i)
	m := maps[e.TableID]
	if wanted && m != nil && m.table == i && m.same(e) {
		return // as in the transaction before
	}
	m = &mapped{table: -1}
	maps[e.TableID] = m
	if !wanted {
		return
	}
	cols, err := bindColumns(st.columns[i], e)
	if err != nil {
		st.stop(i, "its definition was changed: %s", err)
		return
	}
	m.table, m.columns = i, cols
	m.types, m.meta, m.nulls = bytes.Clone(e.ColumnType), e.ColumnMeta, bytes.Clone(e.NullBitmap)
}

// same reports whether a table map of the same id says the same of the columns. The
// server gives a changed table another id, so what is compared here is beyond need.
func (m *mapped) same(e *replication.TableMapEvent) bool {
	return bytes.Equal(m.types, e.ColumnType) && slices.Equal(m.meta, e.ColumnMeta) && bytes.Equal(m.nulls, e.NullBitmap)
}

func (st *stream) rowsEvent(h *replication.EventHeader, e *replication.RowsEvent) error {
	return st.rowsOf(h, e, st.maps)
}

func (st *stream) rowsOf(h *replication.EventHeader, e *replication.RowsEvent, maps map[uint64]*mapped) error {
	m := maps[e.TableID]
	if m == nil {
		return errs.Corruptf("follow the binlog of %s: rows of table id %d without its table map", st.s.Address(), e.TableID)
	}
	if m.table < 0 || st.stopped[m.table] {
		return nil
	}
	st.touched[m.table] = true
	if st.xa.on { // its rows count when it is committed
		return nil
	}
	if h.EventType == replication.PARTIAL_UPDATE_ROWS_EVENT {
		st.stop(m.table, "the binlog has partial JSON updates; set binlog_row_value_options = ''")
		return nil
	}
	if int(e.ColumnCount) != len(m.columns) || !allBits(e.ColumnBitmap1, len(m.columns)) || e.ColumnBitmap2 != nil && !allBits(e.ColumnBitmap2, len(m.columns)) {
		st.stop(m.table, "the binlog has rows without all columns (binlog_row_image of a session is not FULL)")
		return nil
	}
	data := e.NdbData
	switch h.EventType {
	case replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
		var err error
		if data, err = gomysql.DecompressMariadbData(data); err != nil {
			return errs.Corruptf("follow the binlog of %s: decompress rows of %s: %w", st.s.Address(), st.tables[m.table].ID, err)
		}
	}
	if len(data) == 0 {
		return nil
	}
	st.rows = logRows{table: st.tables[m.table], cols: m.columns, data: data, kind: e.Type(), before: st.rows.before[:0], after: st.rows.after[:0]}
	t := st.txn
	st.queue = append(st.queue, source.Event{Kind: source.RowsEvent, Table: m.table, Txn: &t, Rows: &st.rows, Time: st.time})
	return nil
}

func allBits(bitmap []byte, n int) bool {
	for i := range n {
		if bitmap[i>>3]&(1<<(i&7)) == 0 {
			return false
		}
	}
	return true
}
