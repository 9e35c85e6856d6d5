// Package wireclient is a client of the MySQL protocol for benchmarks: it does so
// little itself that what it measures is the server. It logs in as root with an
// empty password, without TLS and compression.
//
// Invariants: a Conn belongs to one goroutine. An error of a statement is a
// *ServerError and leaves the connection usable; any other error ends it.
//
// Start reading at Dial.
package wireclient

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Conn is a connection.
type Conn struct {
	nc  net.Conn
	r   *bufio.Reader
	out []byte
	seq byte
}

// ServerError is an error that the server answered with.
type ServerError struct {
	Code    int
	Message string
}

func (e *ServerError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// Capabilities that the client asks for: protocol 4.1, a database at login,
// transactions, plugins, and EOF packets as they always were.
const capabilities = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x80000

// Dial connects to an address, with a database or none. It waits up to patience for
// the server to listen.
func Dial(address, database string, patience time.Duration) (*Conn, error) {
	var nc net.Conn
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if nc, err = net.Dial("tcp", address); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
	c := &Conn{nc: nc, r: bufio.NewReaderSize(nc, 256<<10)}
	if err := c.login(database); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }

func (c *Conn) login(database string) error {
	if _, err := c.packet(); err != nil { // the greeting; nothing of it matters
		return err
	}
	caps := uint32(capabilities)
	p := binary.LittleEndian.AppendUint32(nil, caps)
	p = binary.LittleEndian.AppendUint32(p, 1<<24-1)
	p = append(p, 255) // utf8mb4_0900_ai_ci
	p = append(p, make([]byte, 23)...)
	p = append(append(p, "root"...), 0, 0) // and an empty answer
	p = append(append(p, database...), 0)
	p = append(append(p, "caching_sha2_password"...), 0)
	if err := c.send(p); err != nil {
		return err
	}
	for {
		p, err := c.packet()
		switch {
		case err != nil:
			return err
		case p[0] == 0:
			return nil
		case p[0] == 0xfe: // another method: the answer is empty all the same
			if err := c.send(nil); err != nil {
				return err
			}
		}
	}
}

// packet reads a packet; an error packet is an error.
func (c *Conn) packet() ([]byte, error) {
	n, err := c.header()
	if err != nil {
		return nil, err
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(c.r, p); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("an empty packet")
	}
	if p[0] == 0xff {
		return nil, failure(p)
	}
	return p, nil
}

func (c *Conn) header() (int, error) {
	h, err := c.r.Peek(4)
	if err != nil {
		return 0, err
	}
	n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	c.seq = h[3] + 1
	_, _ = c.r.Discard(4)
	return n, nil
}

func failure(p []byte) error {
	e := &ServerError{}
	if len(p) >= 3 {
		e.Code, e.Message = int(binary.LittleEndian.Uint16(p[1:])), string(p[3:])
	}
	if len(e.Message) > 6 && e.Message[0] == '#' {
		e.Message = e.Message[6:]
	}
	return e
}

func (c *Conn) send(p []byte) error {
	c.out = append(c.out[:0], byte(len(p)), byte(len(p)>>8), byte(len(p)>>16), c.seq)
	c.out = append(c.out, p...)
	_, err := c.nc.Write(c.out)
	return err
}

func (c *Conn) command(code byte, body string) error {
	c.seq = 0
	n := len(body) + 1
	c.out = append(c.out[:0], byte(n), byte(n>>8), byte(n>>16), 0, code)
	c.out = append(c.out, body...)
	_, err := c.nc.Write(c.out)
	return err
}

// columns reads the beginning of an answer and returns the number of columns, 0
// for an answer without rows.
func (c *Conn) columns() (int, error) {
	p, err := c.packet()
	if err != nil {
		return 0, err
	}
	n, _ := lenenc(p)
	if n == 0 {
		return 0, nil
	}
	for range n + 1 { // and an EOF
		if _, err := c.packet(); err != nil {
			return 0, err
		}
	}
	return int(n), nil
}

// Query runs a statement, drops its rows and returns their number and bytes.
func (c *Conn) Query(text string) (rows, bytes int64, err error) {
	if err := c.command(3, text); err != nil {
		return 0, 0, err
	}
	return c.drain()
}

func (c *Conn) drain() (rows, bytes int64, err error) {
	n, err := c.columns()
	if n == 0 || err != nil {
		return 0, 0, err
	}
	for {
		h, err := c.r.Peek(5)
		if err != nil {
			return rows, bytes, err
		}
		n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		if h[4] == 0xff || h[4] == 0xfe && n < 9 {
			_, err := c.packet()
			return rows, bytes, err
		}
		rows++
		bytes += int64(n)
		if _, err := c.r.Discard(4 + n); err != nil {
			return rows, bytes, err
		}
	}
}

// Rows runs a statement and returns its rows as texts, NULL as nil.
func (c *Conn) Rows(text string) (out [][]*string, err error) {
	if err := c.command(3, text); err != nil {
		return nil, err
	}
	n, err := c.columns()
	if n == 0 || err != nil {
		return nil, err
	}
	for {
		p, err := c.packet()
		if err != nil || p[0] == 0xfe && len(p) < 9 {
			return out, err
		}
		row := make([]*string, n)
		for i := range row {
			if p[0] == 0xfb {
				p = p[1:]
				continue
			}
			size, used := lenenc(p)
			s := string(p[used : used+int(size)])
			row[i], p = &s, p[used+int(size):]
		}
		out = append(out, row)
	}
}

// Prepared is a prepared statement.
type Prepared struct {
	c      *Conn
	id     uint32
	params int
}

// Prepare prepares a statement.
func (c *Conn) Prepare(text string) (*Prepared, error) {
	if err := c.command(0x16, text); err != nil {
		return nil, err
	}
	p, err := c.packet()
	if err != nil {
		return nil, err
	}
	s := &Prepared{c: c, id: binary.LittleEndian.Uint32(p[1:]), params: int(binary.LittleEndian.Uint16(p[7:]))}
	for _, n := range []int{s.params, int(binary.LittleEndian.Uint16(p[5:]))} {
		if n == 0 {
			continue
		}
		for range n + 1 {
			if _, err := c.packet(); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// Query runs the statement with whole numbers for its placeholders, drops its rows
// and returns their number and bytes.
func (s *Prepared) Query(args ...int64) (rows, bytes int64, err error) {
	if len(args) != s.params {
		return 0, 0, fmt.Errorf("%d values for %d placeholders", len(args), s.params)
	}
	b := binary.LittleEndian.AppendUint32(nil, s.id)
	b = append(b, 0, 1, 0, 0, 0)
	if len(args) > 0 {
		b = append(b, make([]byte, (len(args)+7)/8)...)
		b = append(b, 1)
		for range args {
			b = append(b, 8, 0)
		}
		for _, a := range args {
			b = binary.LittleEndian.AppendUint64(b, uint64(a))
		}
	}
	if err := s.c.command(0x17, string(b)); err != nil {
		return 0, 0, err
	}
	return s.c.drain()
}

// lenenc reads a length-encoded number and returns the bytes it takes.
func lenenc(p []byte) (n uint64, used int) {
	switch p[0] {
	case 0xfc:
		return uint64(p[1]) | uint64(p[2])<<8, 3
	case 0xfd:
		return uint64(p[1]) | uint64(p[2])<<8 | uint64(p[3])<<16, 4
	case 0xfe:
		return binary.LittleEndian.Uint64(p[1:]), 9
	}
	return uint64(p[0]), 1
}
