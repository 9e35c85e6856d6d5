package mysql

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

const (
	// loginPacket is the most bytes of a packet before login.
	loginPacket = 16 << 10
	// flushAt is the number of bytes from which finished packets are sent.
	flushAt = 64 << 10
	// keepIdle is the most bytes of a buffer that an idle connection keeps.
	keepIdle = 4 << 10
	// freeBytes of a buffer are not charged to the memory budget.
	freeBytes = 128 << 10
	// bodyTimeout bounds the wait for the rest of a packet whose header came.
	bodyTimeout = 60 * time.Second
)

var (
	errTooLarge   = errs.New(errs.User, errs.PacketTooLarge, "Got a packet bigger than 'max_allowed_packet' bytes")
	errOutOfOrder = errors.New("packets out of order")
)

// wire reads and writes packets: payloads behind 4-byte headers, in parts of
// maxPayload bytes. It belongs to one goroutine.
//
// Writing is begin, append to out, end. Errors of writing stick in werr, so
// that callers check once per batch of packets.
type wire struct {
	nc  net.Conn // *tls.Conn, or the socket itself
	raw net.Conn // the socket: deadlines, disconnect watcher
	// src is the socket itself until login is done, since bytes of a TLS
	// handshake may follow an SSLRequest in one segment; buffered afterwards.
	src io.Reader
	dst io.Writer

	seq   byte
	loose bool   // inside compressed frames, which have numbers of their own
	in    []byte // the last payload read
	maxIn int
	out   []byte // finished packets, and the open one
	mark  int    // where the open packet starts, -1 when none is open
	big   bool   // out comes from outBuffers
	werr  error

	timed    bool // after login: bodyTimeout and writeTimeout apply
	writeTO  time.Duration
	deadline time.Time // the write deadline that is set

	budget        *memory.Budget
	inPaid, outPd int64
}

var outBuffers = sync.Pool{New: func() any { b := make([]byte, 0, flushAt+flushAt/2); return &b }}

// read returns the next payload, valid until the next call. The buffer grows
// with what arrives: a header alone costs nothing.
func (w *wire) read() ([]byte, error) {
	w.in = w.in[:0]
	for {
		var h [4]byte
		if _, err := io.ReadFull(w.src, h[:]); err != nil {
			return nil, err
		}
		n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		if h[3] != w.seq && !w.loose {
			return nil, errOutOfOrder
		}
		w.seq++
		if n > w.maxIn-len(w.in) {
			return nil, errTooLarge
		}
		if err := w.readBody(n); err != nil {
			return nil, err
		}
		if n < maxPayload {
			return w.in, nil
		}
	}
}

func (w *wire) readBody(n int) error {
	for n > 0 {
		if cap(w.in) == len(w.in) {
			size := min(max(2*cap(w.in), 2048), len(w.in)+max(n, 2048))
			if size > freeBytes {
				more := int64(size) - w.inPaid
				if err := w.budget.Reserve(more); err != nil {
					return err
				}
				w.inPaid += more
			}
			in := make([]byte, len(w.in), size)
			copy(in, w.in)
			w.in = in
		}
		at := len(w.in)
		k := min(n, cap(w.in)-at)
		if w.timed && k > keepIdle {
			_ = w.raw.SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		w.in = w.in[:at+k]
		if _, err := io.ReadFull(w.src, w.in[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		n -= k
	}
	return nil
}

// begin opens a packet: what is appended to out until end is its payload.
func (w *wire) begin() {
	w.mark = len(w.out)
	w.out = append(w.out, 0, 0, 0, 0)
}

// end closes the open packet, and sends what is finished when it is much.
func (w *wire) end() {
	n := len(w.out) - w.mark - 4
	if n >= maxPayload {
		w.endLarge()
		return
	}
	h := w.out[w.mark : w.mark+4]
	h[0], h[1], h[2], h[3] = byte(n), byte(n>>8), byte(n>>16), w.seq
	w.seq++
	w.mark = -1
	if len(w.out) >= flushAt {
		w.flush()
	}
}

// endLarge sends a payload of several parts.
func (w *wire) endLarge() {
	payload := w.out[w.mark+4:]
	w.send(w.out[:w.mark])
	for {
		k := min(len(payload), maxPayload)
		w.send([]byte{byte(k), byte(k >> 8), byte(k >> 16), w.seq})
		w.seq++
		w.send(payload[:k])
		payload = payload[k:]
		if k < maxPayload {
			break
		}
	}
	w.mark = -1
	w.out = w.out[:0]
	w.shrink(flushAt * 2)
}

// abandon drops the open packet, if any.
func (w *wire) abandon() {
	if w.mark >= 0 {
		w.out = w.out[:w.mark]
		w.mark = -1
	}
}

// flush sends the finished packets.
func (w *wire) flush() {
	if len(w.out) == 0 {
		return
	}
	w.send(w.out)
	w.out = w.out[:0]
}

func (w *wire) send(b []byte) {
	if w.werr != nil || len(b) == 0 {
		return
	}
	if w.timed && w.writeTO > 0 {
		// Moving the deadline for every packet is not worth its cost.
		if now := time.Now(); w.deadline.Sub(now) < w.writeTO-w.writeTO/8 {
			w.deadline = now.Add(w.writeTO)
			_ = w.raw.SetWriteDeadline(w.deadline)
		}
	}
	if _, w.werr = w.dst.Write(b); errors.Is(w.werr, os.ErrDeadlineExceeded) {
		w.werr = errs.New(errs.Resource, errs.Timeout, "send result: the client took no data for %s", w.writeTO)
	}
}

// large gets a large output buffer for a result of rows.
func (w *wire) large() {
	if w.big || cap(w.out) >= flushAt {
		return
	}
	b := *outBuffers.Get().(*[]byte)
	w.out = append(b[:0], w.out...)
	w.big = true
}

// pay charges an output buffer that a large value made grow.
func (w *wire) pay() error {
	if n := int64(cap(w.out)); n > freeBytes && n > w.outPd {
		if err := w.budget.Reserve(n - w.outPd); err != nil {
			return err
		}
		w.outPd = n
	}
	return nil
}

// shrink drops an output buffer above limit bytes.
func (w *wire) shrink(limit int) {
	if cap(w.out) > limit {
		w.out, w.big = nil, false
		w.budget.Release(w.outPd)
		w.outPd = 0
	}
}

// rest gives large buffers back while the connection waits for a command.
func (w *wire) rest() {
	if cap(w.in) > keepIdle {
		w.in = nil
		w.budget.Release(w.inPaid)
		w.inPaid = 0
	}
	w.shrink(flushAt * 2)
	if w.big {
		b := w.out[:0]
		outBuffers.Put(&b)
		w.out, w.big = nil, false
	}
	if cap(w.out) > keepIdle {
		w.out = nil
	}
}
