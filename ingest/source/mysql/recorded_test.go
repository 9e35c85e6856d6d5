package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/thermocline/thermocline/ingest/source"
)

// recording is a binlog that a MySQL wrote (file.binlog) and what it is of
// (file.json).
type recording struct {
	Made         string              `json:"made"`
	Server       string              `json:"server"`
	Statements   []string            `json:"statements"`
	Tables       []*source.Table     `json:"tables"` // as they were at From
	From         int64               `json:"from"`   // offset in the binlog
	Position     string              `json:"position"`
	Transactions int                 `json:"transactions"`
	Rows         map[string][]string `json:"rows"` // of the table in the end, as the server had them
	Executed     string              `json:"executed"`
}

// recorded is what a recording does after From: what MariaDB does not write.
var recorded = []string{
	"INSERT INTO r.t VALUES (1,1.5,'plain','{\"a\": [1, 2.5, null]}','2026-01-02 03:04:05.678',X'00ff','x'),(2,NULL,NULL,NULL,NULL,NULL,NULL)",
	"SET binlog_transaction_compression=ON",
	"BEGIN; INSERT INTO r.t SELECT seq + 10, seq / 7, REPEAT('long text ', 8), JSON_OBJECT('k', seq), '2026-01-01', NULL, 'y' FROM (WITH RECURSIVE q AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM q WHERE seq < 60) SELECT seq FROM q) AS s; UPDATE r.t SET v = -1 WHERE id % 3 = 0; DELETE FROM r.t WHERE id % 5 = 0; UPDATE r.t SET id = id + 1000 WHERE id IN (11, 12); COMMIT",
	"SET binlog_transaction_compression=OFF", "SET gtid_next='AUTOMATIC:Blue_tag'", "UPDATE r.t SET s = 'tagged' WHERE id = 1", "SET gtid_next='AUTOMATIC'",
	"ALTER TABLE r.t ADD COLUMN n BIGINT UNSIGNED FIRST, RENAME COLUMN v TO w", "SET binlog_transaction_compression=ON", "SET gtid_next='AUTOMATIC:Blue_tag'",
	"BEGIN; UPDATE r.t SET n = 18446744073709551615 WHERE id > 50; INSERT INTO r.t VALUES (7, 5000, 0.001, 'ü😀', '[]', '9999-12-31 23:59:59.999', X'', 'y'); COMMIT",
	"SET gtid_next='AUTOMATIC'", "BEGIN; DELETE FROM r.t WHERE id = 2; ROLLBACK", "DELETE FROM r.t WHERE id = 13", "SET binlog_transaction_compression=OFF",
	"SET binlog_row_image=FULL", "UPDATE r.t SET e = 'x', j = JSON_SET(j, '$.k', 'changed') WHERE id = 14",
}

const recordedFile = "testdata/mysql-9.7"

// TestRecordMySQL makes the recording anew.
func TestRecordMySQL(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv("THERMOCLINE_MYSQL_PORT"))
	if err != nil || os.Getenv("THERMOCLINE_RECORD") == "" {
		t.Skip("records a stream anew: set THERMOCLINE_RECORD=1 and THERMOCLINE_MYSQL_PORT (account t, password t, on this machine)")
	}
	srv := connectServer(t, port, "t", "t")
	srv.db.SetMaxOpenConns(1)
	srv.exec("DROP DATABASE IF EXISTS r; RESET BINARY LOGS AND GTIDS; CREATE DATABASE r; CREATE TABLE r.t (id INT PRIMARY KEY, v DECIMAL(12,3), s VARCHAR(100), j JSON, d DATETIME(3), b VARBINARY(20), e ENUM('x','y'))")
	x := recording{Made: "go test -run TestRecordMySQL with THERMOCLINE_RECORD=1 against a private MySQL", Statements: recorded}
	var file, do, ignore string
	if err := srv.db.QueryRow("SELECT CONCAT(@@version_comment, ' ', VERSION())").Scan(&x.Server); err != nil {
		t.Fatal(err)
	}
	if err := srv.db.QueryRow("SHOW BINARY LOG STATUS").Scan(&file, &x.From, &do, &ignore, new(string)); err != nil {
		t.Fatal(err)
	}
	st, tables := session(t, srv, "r.t")
	x.Position = st.Position().String()
	for _, tb := range tables {
		x.Tables = append(x.Tables, tb.Clone())
	}
	srv.exec(recorded...)
	if err := srv.db.QueryRow("SHOW BINARY LOG STATUS").Scan(&file, new(int64), &do, &ignore, &x.Executed); err != nil {
		t.Fatal(err)
	}
	sn, err := srv.source().Snapshot(context.Background(), ids("r.t"))
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	x.Rows = byKey(readRows(t, sn), sn.Tables()[0].Column("id"))
	want, err := srv.source().ParsePosition(sn.Position().String())
	if err != nil {
		t.Fatal(err)
	}
	for !st.Position().Covers(want) {
		follow(t, st, tables, 1)
		x.Transactions++
	}
	srv.exec("FLUSH BINARY LOGS") // the file is closed: its head says so, under a checksum that says the same
	var base string
	if err := srv.db.QueryRow("SELECT @@log_bin_basename").Scan(&base); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(base + file[len(file)-len(".000001"):])
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordedFile+".binlog", b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordedFile+".json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readRows reads the first table of a snapshot.
func readRows(t *testing.T, sn source.Snapshot) (out [][]string) {
	t.Helper()
	rows, err := sn.Read(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tb := sn.Tables()[0]
	b := tb.NewBatch(1 << 10)
	if err := rows.AppendTo(b, 1<<10, 1<<20); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for i := range b.Len {
		out = append(out, rowText(tb, b, i))
	}
	return out
}

// byKey are rows by the column at k.
func byKey(rows [][]string, k int) map[string][]string {
	out := map[string][]string{}
	for _, r := range rows {
		out[r[k]] = r
	}
	return out
}

// TestRecordedMySQL follows the binlog that a MySQL wrote: compressed transactions,
// tagged GTIDs, definitions that change between them. The rows are the server's in
// the end, and the position is what it has executed.
func TestRecordedMySQL(t *testing.T) {
	var x recording
	b, err := os.ReadFile(recordedFile + ".json")
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{}
	defer s.Close()
	sv := &server{gtid: true}
	start, err := s.ParsePosition(x.Position)
	if err != nil {
		t.Fatal(err)
	}
	p := start.(position)
	tables := slices.Clone(x.Tables)
	st := &stream{s: s, sv: sv, tables: slices.Clone(tables), byName: map[source.ID]int{}, stopped: make([]bool, len(tables)), since: make([]source.Position, len(tables)),
		touched: map[int]bool{}, maps: map[uint64]*mapped{}, xas: map[string]xaStart{}, file: p.file, offset: p.pos, pos: p.clone(), tr: newTranscoders(), conns: &connections{}}
	st.history = &history{definer: definer{collations: map[string]string{"utf8mb4": "utf8mb4_0900_ai_ci"}}, same: st.same, skip: st.before, tables: slices.Clone(tables), absent: make([]bool, len(tables)), shadow: map[source.ID]*shadow{}}
	for i, tb := range tables {
		tb.Number()
		cols, err := newColumns(tb, st.tr)
		if err != nil {
			t.Fatal(err)
		}
		st.columns = append(st.columns, cols)
		st.byName[tb.ID] = i
	}
	cfg := s.syncerConfig(sv, 1, st.conns)
	parser := replication.NewBinlogParser()
	parser.SetFlavor(cfg.Flavor)
	parser.SetVerifyChecksum(cfg.VerifyChecksum)
	parser.SetRowsEventDecodeFunc(cfg.RowsEventDecodeFunc)
	st.events = replication.NewBinlogStreamerWithChanSize(10_000)
	compressed := 0
	if err := parser.ParseFile(recordedFile+".binlog", x.From, func(e *replication.BinlogEvent) error {
		if e.Header.EventType == replication.TRANSACTION_PAYLOAD_EVENT {
			compressed++
		}
		return st.events.AddEventToStreamer(e)
	}); err != nil {
		t.Fatal(err)
	}
	if compressed != 3 {
		t.Errorf("%d compressed transactions", compressed)
	}
	got := map[string][]string{}
	key := func() int { return tables[0].Column("id") }
	for range x.Transactions {
		changes, stops := follow(t, st, tables, 1)
		if len(stops) > 0 && stops[0] != "r.t: altered: ALTER TABLE r.t ADD COLUMN n BIGINT UNSIGNED FIRST, RENAME COLUMN v TO w" {
			t.Fatalf("%q", stops)
		}
		if len(stops) > 0 { // the rows so far get the new column
			for k, r := range got {
				got[k] = append([]string{"NULL"}, r...)
			}
		}
		for _, c := range changes {
			switch c.kind {
			case "-D":
				delete(got, c.row[key()])
			case "+I", "+U":
				got[c.row[key()]] = c.row
			}
		}
	}
	if !reflect.DeepEqual(got, x.Rows) {
		t.Errorf("rows\n%v\nwant\n%v", got, x.Rows)
	}
	end, err := parseMySQLSet(x.Executed)
	if err != nil {
		t.Fatal(err)
	}
	if now := st.Position().(position).mysql; !now.Equal(end) {
		t.Errorf("at %s, executed %s", now, end)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
