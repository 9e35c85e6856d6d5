package mysql

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan/expr"
)

// validResponse is a handshake response like a client's.
func validResponse() []byte {
	p := put32(nil, rawCaps|capConnectAttrs|capLenencAuth)
	p = put32(p, 1<<24)
	p = append(p, 45)
	p = append(p, make([]byte, 23)...)
	p = append(p, "nat\x00"...)
	p = putStr(p, "12345678901234567890")
	p = append(p, "shop\x00"...)
	p = append(append(p, methodNative...), 0)
	return putStr(p, putStr(putStr(putStr(putStr(nil, "_client_name"), "x"), "program_name"), "y"))
}

func mutate(r *rand.Rand, p []byte) []byte {
	p = append([]byte(nil), p...)
	for range 1 + r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			if len(p) > 0 {
				p[r.IntN(len(p))] = byte(r.IntN(256))
			}
		case 1:
			p = p[:r.IntN(len(p)+1)]
		case 2:
			at := r.IntN(len(p) + 1)
			p = append(p[:at:at], append([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, byte(r.IntN(256))}, p[at:]...)...)
		case 3:
			for i := range p {
				if r.IntN(8) == 0 {
					p[i] = 0xff
				}
			}
		}
	}
	return p
}

// Malformed handshakes end their connection and nothing else.
func TestMalformedHandshakes(t *testing.T) {
	_, _, addr := start(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	good := validResponse()
	var wg sync.WaitGroup
	work := make(chan []byte)
	for range 8 {
		wg.Go(func() {
			for p := range work {
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					continue
				}
				_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
				br := bufio.NewReader(nc)
				if _, err := io.ReadFull(br, make([]byte, 4)); err != nil {
					t.Error(err)
				}
				_, _ = nc.Write(p)
				if tc, ok := nc.(*net.TCPConn); ok {
					_ = tc.CloseWrite()
				}
				_, _ = io.Copy(io.Discard, br)
				_ = nc.Close()
			}
		})
	}
	for i := range 2000 {
		p := mutate(r, good)
		n := len(p)
		if i%7 == 0 {
			n = r.IntN(1 << 24) // a header that lies
		}
		frame := append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(1 + r.IntN(20)/19)}, p...)
		if i%11 == 0 {
			frame = append(put32([]byte{32, 0, 0, 1}, rawCaps|capSSL), p...) // an SSLRequest, then rubbish
		}
		work <- frame
	}
	close(work)
	wg.Wait()
	rawLogin(t, addr, 0).send(comQuit)
}

// A header alone costs no memory.
func TestLyingHeaders(t *testing.T) {
	_, _, addr := start(t, nil)
	before := heap()
	var conns []net.Conn
	for range 300 {
		nc := dial(t, addr)
		if _, err := nc.Write([]byte{0xff, 0xff, 0xff, 1, 0}); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, nc)
	}
	// The same after login, where packets may be large.
	for range 30 {
		r := rawLogin(t, addr, 0)
		if _, err := r.nc.Write([]byte{0xff, 0xff, 0xff, 0, comQuery}); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, r.nc)
	}
	time.Sleep(100 * time.Millisecond)
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	for _, nc := range conns {
		_ = nc.Close()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestLoginTimeout(t *testing.T) {
	_, _, addr := start(t, func(c *Config) { c.LoginTimeout = 100 * time.Millisecond })
	nc := dial(t, addr)
	if _, err := io.Copy(io.Discard, nc); err != nil {
		t.Error(err)
	}
}

func TestIdleTimeout(t *testing.T) {
	_, _, addr := start(t, func(c *Config) { c.IdleTimeout = 100 * time.Millisecond })
	r := rawLogin(t, addr, 0)
	r.seq = 0
	r.wantError(r.read(), 4031)
}

// A client that takes no data does not hold its statement for ever.
func TestWriteTimeout(t *testing.T) {
	_, f, addr := start(t, func(c *Config) { c.WriteTimeout = 200 * time.Millisecond })
	r := rawLogin(t, addr, 0)
	r.send(comQuery, []byte("SELECT NUMBERS 5000000"))
	for f.open.Load() != 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

// Packets and parameters are paid for; what is too much is refused and given
// back.
func TestBudget(t *testing.T) {
	b := memory.New("clients", 4<<20)
	_, _, addr := start(t, func(c *Config) { c.Budget = b })
	r := rawLogin(t, addr, 0)
	r.wantOK(r.do(comStmtPrepare, []byte("SELECT ?")))
	r.read()
	r.read()
	for range 6 {
		r.send(comStmtSendLong, le32(1), le16(0), bytes.Repeat([]byte("x"), 1<<20))
	}
	r.wantError(r.do(comStmtExecute, le32(1), []byte{0, 1, 0, 0, 0, 0, 1, typeVarString, 0}), 1041)
	r.wantOK(r.do(comPing))
	if used := b.Used(); used > 64<<10 {
		t.Errorf("%d bytes are still reserved", used)
	}
	r.send(comQuery, bytes.Repeat([]byte("x"), 6<<20))
	r.seq = 1
	r.wantError(r.read(), 1041)
	for b.Used() != 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestDrain(t *testing.T) {
	f := &fakeFactory{}
	s, err := NewServer(Config{Accounts: testAccounts(), Sessions: f, DrainTimeout: 100 * time.Millisecond, NoTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), l.Addr().String()); err == nil {
		t.Error("the port is in use and nobody says so")
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	idle, busy := rawLogin(t, l.Addr().String(), 0), rawLogin(t, l.Addr().String(), 0)
	half := dial(t, l.Addr().String())
	busy.send(comQuery, []byte("SELECT SLEEP(1000)"))
	time.Sleep(20 * time.Millisecond)
	stop()
	idle.seq = 0
	idle.wantError(idle.read(), 1053)
	busy.wantError(busy.read(), 1053)
	if err := <-done; err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, half)
	if n := f.open.Load(); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add(validResponse())
	f.Add(validResponse()[:32])
	f.Fuzz(func(t *testing.T, p []byte) {
		if l, ok := parseHandshakeResponse(p); ok && len(l.user)+len(l.answer)+len(l.database)+len(l.method) > len(p) {
			t.Errorf("more came out than went in: %+v", l)
		}
		parseChangeUser(p, rawCaps|capConnectAttrs)
	})
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 14}, false)
	f.Add([]byte{0xff, 0xff, 0xff, 0, 14}, false)
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	_, _ = zw.Write(append([]byte{200, 0, 0, 0}, make([]byte, 200)...))
	_ = zw.Close()
	f.Add(append([]byte{byte(z.Len()), 0, 0, 0, 204, 0, 0}, z.Bytes()...), true)
	f.Fuzz(func(t *testing.T, b []byte, compressed bool) {
		w := wire{maxIn: 1 << 20, mark: -1, src: bytes.NewReader(b), loose: compressed}
		if compressed {
			w.src = &zlibFrames{src: bytes.NewReader(b)}
		}
		for {
			p, err := w.read()
			if err != nil {
				return
			}
			if len(p) > w.maxIn || !compressed && len(p) > len(b) {
				t.Fatalf("a payload of %d bytes from %d", len(p), len(b))
			}
			if compressed {
				w.src.(*zlibFrames).seq = 0
			}
			w.seq = 0
		}
	})
}

func FuzzExecute(f *testing.F) {
	f.Add([]byte("\x00\x01\xfd\x00\x05hello"), byte(1), false)
	f.Add([]byte("\x00\x01\x0c\x00\x08\x00\x0b\x00\x0b\xe8\x07\x02\x1d\x17\x3b\x3b\x40\xe2\x01\x00\x02\x2b\x01\x08\x01\x00\x00\x00\x00\x01\x02\x03"), byte(3), false)
	f.Add([]byte("\x00\x01\xf6\x00\x00\x08\x80\x01n\x05-1.50\xff\xff\xff\xff\xff\xff\xff\xff"), byte(2), true)
	f.Fuzz(func(t *testing.T, p []byte, n byte, named bool) {
		values, types, err := readParams(&fields{b: p}, int(n), nil, map[int][]byte{3: []byte("long")}, named, &transcoder{})
		if err != nil {
			return
		}
		if len(values) != int(n) || len(types) != int(n) {
			t.Fatalf("%d values, %d types of %d", len(values), len(types), n)
		}
		for i, v := range values {
			if v.Type.Class != expr.Null && v.Vec.Kind != v.Type.Physical() {
				t.Fatalf("value %d: %s for %+v", i, v.Vec.Kind, v.Type)
			}
		}
	})
}

// FuzzConnection sends bytes to a connection that is logged in.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("\x09\x00\x00\x00\x03SELECT 1"))
	f.Add([]byte("\x05\x00\x00\x00\x1c\x01\x00\x00\x00"))
	ex := append([]byte{17, 0, 0, 0, comStmtExecute}, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 3, 0, 1, 0, 0)
	f.Add(append([]byte("\x09\x00\x00\x00\x16SELECT ?"), ex...))
	f.Fuzz(func(t *testing.T, b []byte) {
		srv, err := NewServer(Config{Accounts: testAccounts(), Sessions: &fakeFactory{}, NoTLS: true, MaxPacket: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		a, z := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, z); _ = z.Close() }()
		c := srv.newConn(a)
		c.sess, _ = srv.cfg.Sessions.Open(t.Context(), c.options(testAccounts().m["nat"], &login{}))
		c.src, c.caps, c.maxIn = bytes.NewReader(b), rawCaps, 1<<20
		if bytes.Contains(bytes.ToLower(b), []byte("sleep")) {
			t.Skip()
		}
		_ = c.serve(t.Context())
		c.closeAll()
		_ = a.Close()
		if used := c.budget.Used(); used != 0 {
			t.Errorf("%d bytes are still reserved", used)
		}
	})
}

func TestFieldsNeverPanic(t *testing.T) {
	for _, b := range [][]byte{nil, {0xfc}, {0xfe, 1, 2}, binary.LittleEndian.AppendUint64([]byte{0xfe}, 1<<63), {0xff}, {0xfb}} {
		f := fields{b: b}
		if f.str(); !f.bad {
			t.Errorf("%v is accepted", b)
		}
		f.nul()
		f.take(-1)
		if f.uint(8) != 0 {
			t.Error("a failed reader gives something")
		}
	}
}
