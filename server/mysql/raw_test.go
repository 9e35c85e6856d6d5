package mysql

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// rawClient speaks packets, to test what drivers hide.
type rawClient struct {
	t        testing.TB
	nc       net.Conn
	seq      byte
	caps     uint32
	scramble []byte
	greeting []byte
}

const rawCaps = capLongPassword | capProtocol41 | capSecure | capPluginAuth | capConnectWithDB | capMultiStmts | capMultiResults | capPSMultiResults | capTransactions

func (r *rawClient) tryRead() ([]byte, error) {
	var out []byte
	for {
		var h [4]byte
		if _, err := io.ReadFull(r.nc, h[:]); err != nil {
			return nil, err
		}
		n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		if h[3] != r.seq {
			r.t.Fatalf("sequence %d, want %d", h[3], r.seq)
		}
		r.seq++
		b := make([]byte, n)
		if _, err := io.ReadFull(r.nc, b); err != nil {
			return nil, err
		}
		if out = append(out, b...); n < maxPayload {
			return out, nil
		}
	}
}

func (r *rawClient) read() []byte {
	r.t.Helper()
	b, err := r.tryRead()
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *rawClient) write(p []byte) {
	r.t.Helper()
	if _, err := r.nc.Write(append([]byte{byte(len(p)), byte(len(p) >> 8), byte(len(p) >> 16), r.seq}, p...)); err != nil {
		r.t.Fatal(err)
	}
	r.seq++
}

// send starts a command.
func (r *rawClient) send(cmd byte, parts ...[]byte) {
	r.t.Helper()
	r.seq = 0
	r.write(append([]byte{cmd}, bytes.Join(parts, nil)...))
}

// do sends a command and returns the first packet of the answer.
func (r *rawClient) do(cmd byte, parts ...[]byte) []byte {
	r.t.Helper()
	r.send(cmd, parts...)
	return r.read()
}

func (r *rawClient) wantOK(p []byte) {
	r.t.Helper()
	if len(p) == 0 || p[0] != 0 {
		r.t.Fatalf("got %q, want OK", p)
	}
}

func (r *rawClient) wantError(p []byte, code int) {
	r.t.Helper()
	if len(p) < 9 || p[0] != 0xff || int(binary.LittleEndian.Uint16(p[1:])) != code || p[3] != '#' {
		r.t.Fatalf("got %q, want error %d", p, code)
	}
}

func nativeAnswer(password string, scramble []byte) []byte {
	if password == "" {
		return nil
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	mix := sha1.Sum(append(append([]byte{}, scramble...), twice[:]...))
	for i := range mix {
		mix[i] ^= once[i]
	}
	return mix[:]
}

func readGreeting(t testing.TB, p []byte) (caps uint32, scramble []byte, f fields) {
	f = fields{b: p}
	if f.uint(1) != 10 {
		t.Fatalf("greeting %q", p)
	}
	f.nul()
	f.uint(4)
	scramble = append(scramble, f.take(8)...)
	f.uint(1)
	caps = uint32(f.uint(2))
	f.take(3)
	caps |= uint32(f.uint(2)) << 16
	f.take(11)
	return caps, append(scramble, f.take(12)...), f
}

// rawLogin connects as nat with native passwords, which needs an auth switch
// only when the method is told as another one.
func rawLogin(t testing.TB, addr string, extra uint32) *rawClient {
	t.Helper()
	r := &rawClient{t: t, nc: dial(t, addr), caps: rawCaps | extra}
	_, r.scramble, _ = readGreeting(t, r.read())
	r.greeting = r.scramble
	p := put32(nil, r.caps)
	p = put32(p, 1<<24)
	p = append(p, 45)
	p = append(p, make([]byte, 23)...)
	p = append(p, "nat\x00"...)
	a := nativeAnswer("secret", r.scramble)
	p = append(append(p, byte(len(a))), a...)
	p = append(p, "shop\x00"...)
	p = append(append(p, methodNative...), 0)
	if extra&capConnectAttrs != 0 {
		p = putStr(p, putStr(putStr(nil, "program_name"), "raw"))
	}
	r.write(p)
	r.wantOK(r.read())
	return r
}

func le16(n uint16) []byte { return put16(nil, n) }
func le32(n uint32) []byte { return put32(nil, n) }

func TestGreeting(t *testing.T) {
	_, _, addr := start(t, nil)
	r := &rawClient{t: t, nc: dial(t, addr)}
	p := r.read()
	caps, scramble, f := readGreeting(t, p)
	if want := uint32(serverCaps | capSSL); caps != want {
		t.Errorf("capabilities %#x, want %#x", caps, want)
	}
	if len(scramble) != 20 || bytes.ContainsAny(scramble, "\x00$") {
		t.Errorf("scramble %q", scramble)
	}
	if got := string(f.b); got != "\x00"+methodSHA2+"\x00" {
		t.Errorf("greeting ends with %q", got)
	}
	if !bytes.HasPrefix(p[1:], []byte("8.0.")) {
		t.Errorf("version %q", p[1:20])
	}
}

func TestCommands(t *testing.T) {
	_, f, addr := start(t, nil)
	r := rawLogin(t, addr, 0)
	r.wantOK(r.do(comPing))
	r.wantOK(r.do(comInitDB, []byte("other")))
	r.wantError(r.do(comInitDB, []byte("nope")), 1049)
	if p := r.do(comStatistics); !bytes.HasPrefix(p, []byte("Uptime: ")) || !bytes.Contains(p, []byte("Questions: ")) {
		t.Errorf("statistics: %q", p)
	}
	for _, cmd := range []byte{comSleep, comProcessInfo, 0x05, 0x06, 0x0b, 0x0f, 0x10, 0x14, 0x1d, 0x20, 0x63, 0xff} {
		r.wantError(r.do(cmd, []byte("x")), 1047)
	}
	for cmd := range refusedCommands {
		r.wantError(r.do(cmd, []byte("x")), 1235)
	}
	if p := r.do(comSetOption, le16(1)); p[0] != 0xfe || len(p) != 5 {
		t.Errorf("set option: %q", p)
	}
	r.wantError(r.do(comQuery, []byte("SET a = 1; SET b = 2")), 1064)
	r.do(comSetOption, le16(0))
	r.wantOK(r.do(comQuery, []byte("SET a = 1; SET b = 2")))
	r.wantOK(r.read())
	r.wantError(r.do(comSetOption, le16(7)), 1047)
	r.wantError(r.do(comSetOption), 1047)
	r.wantError(r.do(comProcessKill, le32(9999)), 1094)
	r.wantOK(r.do(comResetConnection))
	f.mu.Lock()
	resets := f.all[1].resets
	f.mu.Unlock()
	if resets != 1 {
		t.Error("the session was not reset")
	}
	r.send(comQuit)
	if _, err := r.tryRead(); err == nil {
		t.Error("the connection is still open")
	}
}

func TestOKPacket(t *testing.T) {
	_, _, addr := start(t, nil)
	r := rawLogin(t, addr, 0)
	p := r.do(comQuery, []byte("INSERT x"))
	want := append([]byte{0, 3, 77, 2, 0, 2, 0}, putStr(nil, "Records: 3  Duplicates: 0  Warnings: 2")...)
	if !bytes.Equal(p, want) {
		t.Errorf("got %q, want %q", p, want)
	}
	r = rawLogin(t, addr, capSessionTrack)
	if p := r.do(comQuery, []byte("INSERT x")); !bytes.Equal(p, want) {
		t.Errorf("got %q, want %q", p, want)
	}
	for _, cmd := range []byte{comInitDB, comQuery} {
		name := fmt.Sprintf("db%d", cmd)
		text := name
		if cmd == comQuery {
			text = "USE " + name
		}
		// 01 06 05 "db..": the schema is now db..
		want = append([]byte{0, 0, 0, 2, 0x40, 0, 0, 0, 6, 1, 4, 3}, name...)
		if p := r.do(cmd, []byte(text)); !bytes.Equal(p, want) {
			t.Errorf("got %q, want %q", p, want)
		}
		if p := r.do(cmd, []byte(text)); !bytes.Equal(p, []byte{0, 0, 0, 2, 0, 0, 0}) {
			t.Errorf("again: %q", p)
		}
	}
}

func TestResultLayouts(t *testing.T) {
	_, _, addr := start(t, nil)
	column := []byte("\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x15\x00\x00\x00\x08\x81\x00\x00\x00\x00")
	old := [][]byte{{1}, column, {0xfe, 0, 0, 2, 0}, []byte("\x011"), {0xfe, 0, 0, 2, 0}}
	deprecated := [][]byte{{1}, column, []byte("\x011"), {0xfe, 0, 0, 2, 0, 0, 0}}
	for extra, want := range map[uint32][][]byte{0: old, capDeprecateEOF: deprecated, capDeprecateEOF | capSessionTrack: deprecated} {
		r := rawLogin(t, addr, extra)
		r.send(comQuery, []byte("SELECT 1"))
		for i, w := range want {
			if p := r.read(); !bytes.Equal(p, w) {
				t.Errorf("%#x: packet %d is %q, want %q", extra, i, p, w)
			}
		}
		r.send(comQuery, []byte("SELECT 1;SELECT 1"))
		for i, w := range append(append([][]byte{}, want...), want...) {
			w = append([]byte{}, w...)
			if i == len(want)-1 { // more results
				w[3] |= 8
			}
			p := r.read()
			if w[0] == 0xfe && len(w) == 5 && i == 2 {
				w[3] = 2
			}
			if !bytes.Equal(p, w) {
				t.Errorf("%#x: packet %d is %q, want %q", extra, i, p, w)
			}
		}
	}
}

func TestQueryAttributes(t *testing.T) {
	_, _, addr := start(t, nil)
	r := rawLogin(t, addr, capQueryAttrs|capDeprecateEOF)
	r.wantOK(r.do(comQuery, []byte{0, 1}, []byte("SET a = 1")))
	attrs := append([]byte{2, 1, 0b10, 1}, putStr([]byte{typeVarString, 0}, "traceparent")...)
	attrs = append(attrs, putStr([]byte{typeLongLong, 0}, "n")...)
	attrs = putStr(attrs, "some trace")
	r.wantOK(r.do(comQuery, attrs, []byte("SET a = 1")))
	for _, bad := range [][]byte{{}, {1}, {1, 1}, {1, 1, 0, 1}, {0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1}, {1, 2, 0, 0}, {0, 0}, attrs[:12]} {
		r.wantError(r.do(comQuery, bad), 1210)
	}
	// In an execution: one placeholder, one attribute.
	p := r.do(comStmtPrepare, []byte("SELECT ?"))
	r.wantOK(p)
	r.read()
	ex := append(append([]byte{}, p[1:5]...), paramCountAvailable, 1, 0, 0, 0, 2, 0, 1)
	ex = append(ex, typeLongLong, 0, 0)
	ex = append(ex, putStr([]byte{typeVarString, 0}, "name")...)
	ex = putStr(put64(ex, 42), "value")
	if p := r.do(comStmtExecute, ex); len(p) != 1 || p[0] != 1 {
		t.Fatalf("got %q", p)
	}
	r.read()
	if p := r.read(); !bytes.Equal(p, put64([]byte{0, 0}, 42)) {
		t.Errorf("row %q", p)
	}
	r.read()
}

func TestStatements(t *testing.T) {
	_, f, addr := start(t, func(c *Config) { c.MaxStatements, c.MaxPacket = 3, 1<<20 })
	f.prepare = map[string]session.Prepared{"SELECT a, ? FROM t": {Params: 1, Columns: []session.Column{
		{Name: "a", Type: expr.Type{Class: expr.Int, Width: 8, Nullable: true}, Table: "t", OrgTable: "t", OrgName: "a", Database: "shop"}, {Name: "?", Type: expr.TString(10, "")}}}}
	r := rawLogin(t, addr, 0)
	p := r.do(comStmtPrepare, []byte("SELECT a, ? FROM t"))
	if want := []byte{0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0}; !bytes.Equal(p, want) {
		t.Errorf("got %v, want %v", p, want)
	}
	if p := r.read(); !bytes.HasPrefix(p, []byte("\x03def\x00\x00\x00\x01?\x00\x0c\xff\x00\xfc\xff\x00\x00\xfd")) {
		t.Errorf("parameter: %q", p)
	}
	if p := r.read(); len(p) != 5 || p[0] != 0xfe {
		t.Errorf("EOF: %q", p)
	}
	if p := r.read(); !bytes.HasPrefix(p, []byte("\x03def\x04shop\x01t\x01t\x01a\x01a\x0c\x3f\x00\x14\x00\x00\x00\x08")) {
		t.Errorf("column: %q", p)
	}
	r.read()
	r.read()
	for range 2 {
		r.wantOK(r.do(comStmtPrepare, []byte("SELECT ?")))
		r.read()
		r.read()
	}
	r.wantError(r.do(comStmtPrepare, []byte("SELECT ?")), 1461)
	r.send(comStmtClose, le32(1))
	r.send(comStmtClose, le32(1))
	r.wantError(r.do(comStmtPrepare, []byte("SELEC ?")), 1064)
	for _, cmd := range []byte{comStmtExecute, comStmtReset, comStmtFetch} {
		r.wantError(r.do(cmd, le32(9999), make([]byte, 5)), 1243)
	}
	ok := func(ex []byte, want string) {
		t.Helper()
		if p := r.do(comStmtExecute, le32(2), []byte{0, 1, 0, 0, 0}, ex); len(p) != 1 {
			t.Fatalf("got %q", p)
		}
		r.read()
		r.read()
		if p := r.read(); !bytes.HasSuffix(p, []byte(want)) {
			t.Errorf("row %q, want ...%q", p, want)
		}
		r.read()
	}
	ok([]byte("\x00\x01\xfd\x00\x05hello"), "\x05hello")
	ok([]byte("\x00\x00\x05again"), "\x05again") // the types are kept
	ok([]byte("\x01\x00"), "\x00\x04")           // NULL
	for _, bad := range []string{"", "\x00", "\x00\x01", "\x00\x01\xfd", "\x00\x01\xfd\x00", "\x00\x01\xfd\x00\x05hell",
		"\x00\x01\xfd\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x01\x0c\x00\x03abc", "\x00\x01\x0b\x00\x05abcde", "\x00\x01\x08\x00\x01"} {
		r.wantError(r.do(comStmtExecute, le32(2), []byte{0, 1, 0, 0, 0}, []byte(bad)), 1210)
	}
	r.wantError(r.do(comStmtExecute, le32(2), []byte{0, 1, 0, 0, 0}, []byte("\x00\x01\xf3\x00\x01")), 1235)
	// Long data: pieces, then nothing in the packet.
	r.send(comStmtSendLong, le32(2), le16(0), []byte("long "))
	r.send(comStmtSendLong, le32(2), le16(0), []byte("data"))
	ok([]byte("\x00\x01\xfd\x00"), "\x09long data")
	ok([]byte("\x00\x00\x05short"), "\x05short") // it is forgotten after execution
	r.send(comStmtSendLong, le32(2), le16(0), []byte("long "))
	r.wantOK(r.do(comStmtReset, le32(2)))
	ok([]byte("\x00\x00\x05short"), "\x05short")
	r.send(comStmtSendLong, le32(2), le16(1), []byte("beyond"))
	r.wantError(r.do(comStmtExecute, le32(2), []byte{0, 1, 0, 0, 0, 0, 0}), 1210)
	piece := bytes.Repeat([]byte("x"), 1<<19)
	for range 3 {
		r.send(comStmtSendLong, le32(2), le16(0), piece)
	}
	r.wantError(r.do(comStmtExecute, le32(2), []byte{0, 1, 0, 0, 0, 0, 0}), 1153)
	ok([]byte("\x00\x00\x05short"), "\x05short")
	r.wantError(r.do(comStmtFetch, le32(2), le32(1)), 1421)
}

func TestFieldList(t *testing.T) {
	_, f, addr := start(t, nil)
	f.prepare = map[string]session.Prepared{"SELECT * FROM `pl``ain`": {Columns: []session.Column{
		{Name: "k", Type: expr.Type{Class: expr.Int, Width: 8}, Database: "shop", Table: "plain", OrgTable: "plain", OrgName: "k", Key: true},
		{Name: "v", Type: expr.TString(20, ""), Database: "shop", Table: "plain", OrgTable: "plain", OrgName: "v"}}}}
	r := rawLogin(t, addr, 0)
	p := r.do(comFieldList, []byte("pl`ain\x00%"))
	if want := []byte("\x03def\x04shop\x05plain\x05plain\x01k\x01k\x0c\x3f\x00\x14\x00\x00\x00\x08\x03\x40\x00\x00\x00\xfb"); !bytes.Equal(p, want) {
		t.Errorf("got %q, want %q", p, want)
	}
	r.read()
	if p := r.read(); p[0] != 0xfe {
		t.Errorf("got %q", p)
	}
}

// cursorFetch opens a cursor over SELECT NUMBERS and fetches with other
// commands in between.
func TestCursors(t *testing.T) {
	for _, extra := range []uint32{0, capDeprecateEOF} {
		_, f, addr := start(t, nil)
		r := rawLogin(t, addr, extra)
		prepare := func(q string) []byte {
			p := r.do(comStmtPrepare, []byte(q))
			r.wantOK(p)
			return p[1:5]
		}
		open := func(id []byte) {
			t.Helper()
			if p := r.do(comStmtExecute, id, []byte{cursorReadOnly, 1, 0, 0, 0}); len(p) != 1 {
				t.Fatalf("got %q", p)
			}
			r.read()
			p := r.read()
			at := 3
			if p[0] != 0xfe || p[at]&statusCursorExists == 0 {
				t.Fatalf("end of definitions: %q", p)
			}
		}
		fetch := func(id []byte, n int) (rows []int64, last bool) {
			t.Helper()
			r.send(comStmtFetch, id, le32(uint32(n)))
			for {
				p := r.read()
				switch {
				case p[0] == 0xfe && len(p) < 9:
					return rows, p[3]&statusLastRowSent != 0
				case p[0] != 0:
					t.Fatalf("got %q", p)
				}
				rows = append(rows, int64(binary.LittleEndian.Uint64(p[2:])))
			}
		}
		session := f.all[1]
		a, b := prepare("SELECT NUMBERS 2500"), prepare("SELECT NUMBERS 3")
		open(a)
		count := int64(0)
		take := func(n int) bool {
			t.Helper()
			rows, last := fetch(a, n)
			for _, x := range rows {
				if x != count {
					t.Fatalf("row %d, want %d", x, count)
				}
				count++
			}
			return last
		}
		for range 3 {
			if take(400) {
				t.Fatal("ended early")
			}
		}
		if session.openRows.Load() != 1 {
			t.Error("the rows are not streamed")
		}
		// Other statements, and a second cursor, while it is open.
		r.wantOK(r.do(comQuery, []byte("SET x = 1")))
		if session.openRows.Load() != 0 {
			t.Error("the rows are still open while another statement runs")
		}
		open(b)
		if take(300) {
			t.Fatal("ended early")
		}
		if rows, last := fetch(b, 3); len(rows) != 3 || !last {
			t.Error(rows, last)
		}
		r.wantError(r.do(comStmtFetch, b, le32(1)), 1421)
		for !take(350) {
		}
		if count != 2500 {
			t.Errorf("%d rows", count)
		}
		// No rows; reset; closing; an error in the middle.
		c := prepare("SELECT NUMBERS 0")
		open(c)
		if rows, last := fetch(c, 10); len(rows) != 0 || !last {
			t.Error(rows, last)
		}
		open(a)
		r.wantOK(r.do(comStmtReset, a))
		r.wantError(r.do(comStmtFetch, a, le32(1)), 1421)
		open(a)
		open(a)
		r.send(comStmtClose, a)
		d := prepare("SELECT LATE ERROR")
		open(d)
		r.send(comStmtFetch, d, le32(10))
		r.read()
		r.read()
		r.wantError(r.read(), 1242)
		e := prepare("INSERT x")
		r.wantOK(r.do(comStmtExecute, e, []byte{cursorReadOnly, 1, 0, 0, 0}))
		if session.openRows.Load() != 0 {
			t.Error("rows are still open")
		}
		open(b)
		r.wantOK(r.do(comResetConnection))
		r.wantError(r.do(comStmtFetch, b, le32(1)), 1243)
	}
}

func TestChangeUser(t *testing.T) {
	_, f, addr := start(t, nil)
	payload := func(user, password string, scramble []byte, db, method string) []byte {
		a := nativeAnswer(password, scramble)
		p := append([]byte(user), 0, byte(len(a)))
		p = append(append(append(p, a...), db...), 0)
		return append(append(append(p, 45, 0), method...), 0)
	}
	// With the last scramble, as libmysql does.
	r := rawLogin(t, addr, 0)
	r.wantOK(r.do(comStmtPrepare, []byte("SELECT NUMBERS 2")))
	r.wantOK(r.do(comChangeUser, payload("nat", "secret", r.scramble, "second", methodNative)))
	if s := f.all[1]; s.db != "second" || s.o.User != "nat" {
		t.Errorf("session: %+v", s.o)
	}
	r.wantError(r.do(comStmtExecute, le32(1), make([]byte, 5)), 1243)
	// With another method: a switch to native.
	p := r.do(comChangeUser, payload("nat", "secret", r.scramble, "third", methodSHA2))
	if p[0] != authSwitch || !bytes.HasPrefix(p[1:], []byte(methodNative+"\x00")) {
		t.Fatalf("got %q", p)
	}
	fresh := p[2+len(methodNative):][:20]
	r.write(nativeAnswer("secret", fresh))
	r.wantOK(r.read())
	// Now with the greeting's scramble, as node's mysql2 does.
	r.wantOK(r.do(comChangeUser, payload("nat", "secret", r.greeting, "fourth", methodNative)))
	// An answer that fits nothing: asked again with a new scramble.
	p = r.do(comChangeUser, payload("nat", "secret", []byte("12345678901234567890"), "", methodNative))
	if p[0] != authSwitch {
		t.Fatalf("got %q", p)
	}
	r.write(nativeAnswer("secret", fresh)) // libmysql answers with the scramble before
	r.wantOK(r.read())
	// A wrong password ends the connection.
	p = r.do(comChangeUser, payload("nat", "wrong", r.greeting, "", methodNative))
	if p[0] != authSwitch {
		t.Fatalf("got %q", p)
	}
	r.write(nativeAnswer("wrong", p[2+len(methodNative):][:20]))
	r.wantError(r.read(), 1045)
	if _, err := r.tryRead(); err == nil {
		t.Error("the connection is still open")
	}
	r = rawLogin(t, addr, 0)
	r.wantError(r.do(comChangeUser, payload("nat", "secret", r.greeting, "nope", methodNative)), 1049)
	r = rawLogin(t, addr, 0)
	r.wantError(r.do(comChangeUser, []byte("nat")), 1043)
	r = rawLogin(t, addr, 0)
	p = r.do(comChangeUser, payload("nobody", "", r.greeting, "", methodSHA2))
	if p[0] == authSwitch { // a decoy with native passwords
		r.write(nil)
		p = r.read()
	}
	r.wantError(p, 1045)
}

func TestPacketLimits(t *testing.T) {
	_, _, addr := start(t, func(c *Config) { c.MaxPacket = 1 << 20 })
	r := rawLogin(t, addr, 0)
	r.send(comQuery, bytes.Repeat([]byte("x"), 1<<20))
	r.wantError(func() []byte { r.seq = 1; return r.read() }(), 1153)
	// Out of order.
	r = rawLogin(t, addr, 0)
	r.seq = 5
	r.write([]byte{comPing})
	if _, err := r.tryRead(); err == nil {
		t.Error("a packet out of order is accepted")
	}
	// An empty packet is no command.
	r = rawLogin(t, addr, 0)
	r.seq = 0
	r.write(nil)
	if _, err := r.tryRead(); err == nil {
		t.Error("an empty packet is accepted")
	}
}

func TestCharacterSets(t *testing.T) {
	_, f, addr := start(t, nil)
	_ = f
	r := rawLogin(t, addr, 0)
	echo := func(text string) (charset uint16, row string) {
		t.Helper()
		p := r.do(comStmtPrepare, []byte("SELECT ?"))
		r.wantOK(p)
		r.read()
		r.read()
		r.do(comStmtExecute, p[1:5], []byte{0, 1, 0, 0, 0, 0, 1, typeVarString, 0}, putStr(nil, text))
		d := fields{b: r.read()}
		for range 6 {
			d.str()
		}
		d.uint(1)
		charset = uint16(d.uint(2))
		r.read()
		row = string(r.read()[2:])
		r.read()
		return charset, row
	}
	if cs, row := echo("h\u00e9\u4e2d"); cs != 45 || row != "\x06h\u00e9\u4e2d" {
		t.Errorf("%d %q", cs, row)
	}
	r.wantOK(r.do(comQuery, []byte("SET NAMES latin1")))
	if cs, row := echo("h\xe9"); cs != 8 || row != "\x02h\xe9" {
		t.Errorf("%d %q", cs, row)
	}
	r.wantOK(r.do(comQuery, []byte("SET NAMES gbk")))
	if cs, row := echo("\xd6\xd0"); cs != 28 || row != "\x02\xd6\xd0" {
		t.Errorf("%d %q", cs, row)
	}
	r.wantOK(r.do(comQuery, []byte("SET NAMES ascii")))
	f.all[1].client = "utf8mb4_0900_ai_ci"
	if cs, row := echo("h\u00e9\u4e2d"); cs != 11 || row != "\x03h??" {
		t.Errorf("%d %q", cs, row)
	}
	f.all[1].results = "latin1_swedish_ci"
	if cs, row := echo("h\u00e9\u4e2d"); cs != 8 || row != "\x03h\xe9?" {
		t.Errorf("%d %q", cs, row)
	}
	f.all[1].results = "utf32_general_ci"
	r.wantError(r.do(comQuery, []byte("SELECT 1")), 1235)
	f.all[1].results = "" // NULL: as they are
	if cs, row := echo("h\u00e9"); cs != 255 || row != "\x03h\u00e9" {
		t.Errorf("%d %q", cs, row)
	}
}

// Every form of vector gives the same rows.
func TestVectorForms(t *testing.T) {
	dict := vector.New(vector.Str, 2)
	dict.AppendString("a long value beyond inline")
	dict.AppendString("b")
	coded := &vector.Vec{Kind: vector.Str, Form: vector.Dict, Len: 4, Dict: dict, Codes: []uint32{0, 1, 0, 1}}
	coded.SetNull(2)
	constant := strs("const").AsConst(4)
	null := vector.NewNull(vector.Str, 4)
	flat := ints(1, 2, 3, 4)
	flat.SetNull(1)
	cols := []session.Column{{Type: expr.TBigInt}, {Type: expr.TString(30, "")}, {Type: expr.TString(9, "")}, {Type: expr.TNull}, {Type: expr.TString(9, "")}}
	b := &vector.Batch{Len: 4, Cols: []*vector.Vec{flat, coded, constant, null, null}}
	want := []string{"\x011\x1aa long value beyond inline\x05const\xfb\xfb", "\xfb\x01b\x05const\xfb\xfb", "\x013\xfb\x05const\xfb\xfb", "\x014\x01b\x05const\xfb\xfb"}
	for _, sel := range [][]uint16{nil, {1, 3}, {}} {
		b.Sel = sel
		w := wire{mark: -1}
		e := newRowEncoder(cols, false, nil, &transcoder{})
		if err := e.rows(&w, b, 0, b.Rows()); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for p := w.out; len(p) > 0; {
			n := int(p[0]) | int(p[1])<<8
			rows = append(rows, string(p[4:4+n]))
			p = p[4+n:]
		}
		if len(rows) != b.Rows() {
			t.Fatalf("%d rows", len(rows))
		}
		for i, r := range rows {
			if r != want[b.Row(i)] {
				t.Errorf("row %d: %q, want %q", i, r, want[b.Row(i)])
			}
		}
	}
	if err := newRowEncoder(cols, false, nil, &transcoder{}).rows(&wire{mark: -1}, vecBatch(flat), 0, 4); err == nil {
		t.Error("a batch with too few columns is accepted")
	}
	cols[0].Type = expr.TDouble
	if err := newRowEncoder(cols, false, nil, &transcoder{}).rows(&wire{mark: -1}, b, 0, 0); err == nil {
		t.Error("a vector of another kind is accepted")
	}
}

func TestErrorTexts(t *testing.T) {
	_, _, addr := start(t, nil)
	r := rawLogin(t, addr, 0)
	p := r.do(comQuery, []byte("SELECT error"))
	if string(p) != "\xff\x1e\x04#42S22Unknown column 'error' in 'field list'" {
		t.Errorf("got %q", p)
	}
	if p := r.do(comQuery, nil); !strings.HasPrefix(string(p), "\xff\x29\x04#42000") {
		t.Errorf("got %q", p)
	}
}
