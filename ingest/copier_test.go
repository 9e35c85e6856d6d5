package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
)

// inChunks makes every table be copied in chunks of so many rows.
func inChunks(t *testing.T, rows int) {
	t.Helper()
	r, b, c := chunkedRows, chunkedBytes, testChunkRows
	chunkedRows, chunkedBytes, testChunkRows = 0, 0, rows
	t.Cleanup(func() { chunkedRows, chunkedBytes, testChunkRows = r, b, c })
}

// TestCopyInChunks copies tables with keys of many types while their rows
// change: every change is in, whether it came before or after its chunk was read.
func TestCopyInChunks(t *testing.T) {
	inChunks(t, 17)
	srv := newServer(t)
	srv.exec("CREATE DATABASE c")
	keys := map[string]string{
		"ints": "k INT", "big": "k BIGINT UNSIGNED", "far": "k BIGINT", "ci": "k VARCHAR(20) COLLATE utf8mb4_unicode_ci", "latin": "k VARCHAR(20) CHARACTER SET latin1", "bin": "k VARBINARY(20)",
		"dec": "k DECIMAL(30,6)", "dt": "k DATETIME(6)", "flt": "k DOUBLE", "pair": "k INT, k2 VARCHAR(10)", "uid": "k UUID", "en": "k ENUM('z','b','a','m','k')", "empty": "k INT",
	}
	value := map[string]string{"ci": "CONCAT(ELT(1 + seq % 5, 'a', 'B', 'ß', 'é', 'Zz'), seq)", "latin": "CONCAT('ö', seq)", "bin": "UNHEX(CONCAT('ff', HEX(seq), '00'))", "far": "IF(seq = 1, 9000000000000000000, CAST(seq AS SIGNED) * 3 - 100)",
		"big": "18446744073709551615 - seq * 7", "dec": "CAST(seq AS SIGNED) / 7 - 20", "dt": "'1000-01-01' + INTERVAL seq * 12345678 SECOND", "flt": "seq / 3.0e0 * POW(-10, seq % 30)", "uid": "UUID()", "pair": "seq % 5, CONCAT('k', seq)"}
	var names []string
	if srv.mysql {
		delete(keys, "uid")
	}
	for name, k := range keys {
		cols, rows := k, "seq_1_to_300"
		pk := "k"
		if name == "pair" {
			pk = "k, k2"
		}
		srv.exec(fmt.Sprintf("CREATE TABLE c.%s (%s, v INT, PRIMARY KEY (%s))", name, cols, pk))
		v := value[name]
		if v == "" {
			v = "seq"
		}
		switch name {
		case "en":
			rows = "seq_1_to_5"
		case "empty":
			rows = "seq_1_to_1 WHERE seq > 1"
		}
		srv.exec(fmt.Sprintf("INSERT INTO c.%s SELECT %s, seq FROM %s", name, v, rows))
		names = append(names, "c."+name)
	}
	l := newLake(t)
	ctx, stop := context.WithCancel(context.Background())
	changes := make(chan int)
	go func() {
		n := 0
		defer func() { changes <- n }()
		rnd := rand.New(rand.NewPCG(5, 6))
		for ctx.Err() == nil {
			name := names[rnd.IntN(len(names))]
			for _, q := range []string{fmt.Sprintf("UPDATE %s SET v = v + 1000 WHERE v %% 11 = %d", name, rnd.IntN(11)), fmt.Sprintf("DELETE FROM %s WHERE v %% 37 = %d", name, rnd.IntN(37))} {
				if _, err := srv.db.Exec(q); err != nil {
					t.Error(err)
					return
				}
				n++
			}
		}
	}()
	r := start(t, l.options(), srv.yaml(`c.\.*`, ""))
	eventually(t, func() string {
		for _, x := range names {
			if s := r.table(x); s.Phase != "stream" {
				return fmt.Sprintf("%+v", s)
			}
		}
		return ""
	})
	stop()
	if n := <-changes; n < 5 {
		t.Errorf("only %d changes", n)
	}
	for _, x := range names {
		switch x {
		case "c.bin", "c.dt", "c.flt":
			want := srv.rows("(SELECT v FROM " + x + ") x")
			eventually(t, func() string {
				var got []string
				for _, row := range l.rows(x) {
					got = append(got, row[strings.LastIndexByte(row, '|')+1:])
				}
				sortStrings(got)
				if strings.Join(got, " ") != strings.Join(want, " ") {
					return x + ": " + firstDiff(got, want)
				}
				return ""
			})
		default:
			srv.same(l, r, x)
		}
		db, name, _ := strings.Cut(x, ".")
		tb, err := l.catalog.Table(context.Background(), catalog.Identifier{Database: db, Table: name})
		if err != nil {
			t.Fatal(err)
		}
		if o := tb.Schema().Options[connector.CopyingOption]; o != "" {
			t.Errorf("%s is still marked as being copied", x)
		}
	}
	if st := r.Status()[0]; st.State != Streaming || st.Error != "" {
		t.Errorf("%+v", st)
	}
}

// TestCopyResumes: a copy that was ended goes on with the chunks that are missing.
func TestCopyResumes(t *testing.T) {
	inChunks(t, 100)
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w VARCHAR(500)); INSERT INTO c.a SELECT seq, seq, REPEAT('x', 400) FROM seq_1_to_20000")
	l := newLake(t)
	yaml := srv.yaml("c.a", "")
	reads := int64(0)
	for n := 0; ; n++ {
		if n == 50 {
			t.Fatal("the copy does not come to its end")
		}
		r := start(t, l.options(), yaml)
		eventually(t, func() string {
			if st := r.Status()[0]; st.RowsRead < 4000 && st.State != Streaming {
				return fmt.Sprintf("%+v", st)
			}
			return ""
		})
		end(t, r) // commits what it has
		st := r.Status()[0]
		reads += st.RowsRead
		srv.exec(fmt.Sprintf("UPDATE c.a SET v = v + 1 WHERE id %% 10 = %d", n%10), fmt.Sprintf("DELETE FROM c.a WHERE id %% 101 = %d", n))
		if st.Tables[0].Phase == "stream" {
			if n < 2 {
				t.Errorf("the copy was never cut: %+v", st)
			}
			break
		}
	}
	r := start(t, l.options(), yaml)
	srv.same(l, r, "c.a")
	if reads > 60000 {
		t.Errorf("%d rows were read for 20000", reads)
	}
}

// TestCopyAndSnapshotMode: a bounded pipeline ends when its chunks are there.
func TestCopyAndSnapshotMode(t *testing.T) {
	inChunks(t, 50)
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a SELECT seq, seq FROM seq_1_to_1000")
	l := newLake(t)
	r := start(t, l.options(), strings.Replace(srv.yaml("c.a", ""), "heartbeat.interval: 1s", "scan.startup.mode: snapshot", 1))
	eventually(t, func() string {
		if st := r.Status()[0]; st.State != Stopped || st.Error != "" {
			return fmt.Sprintf("%+v", st)
		}
		return ""
	})
	srv.same(l, r, "c.a")
}

// TestAlteredWhileCopied: a table that is altered while its chunks are read follows
// at the statement; chunks that were read by the old definition are read again.
func TestAlteredWhileCopied(t *testing.T) {
	inChunks(t, 5)
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a SELECT seq, seq FROM seq_1_to_2000; CREATE TABLE c.b (id INT PRIMARY KEY)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, "  schema.change.behavior: evolve\n"))
	eventually(t, func() string {
		if r.Status()[0].RowsRead < 50 {
			return "nothing is read"
		}
		return ""
	})
	srv.exec("ALTER TABLE c.a ADD COLUMN w INT", "INSERT INTO c.b VALUES (1)", "UPDATE c.a SET w = id WHERE id % 3 = 0", "ALTER TABLE c.a DROP COLUMN v", "DELETE FROM c.a WHERE id % 5 = 0")
	srv.same(l, r, "c.b", "c.a")
}
