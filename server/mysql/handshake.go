package mysql

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"time"
)

// login is what a client tells when it connects or changes its user.
type login struct {
	caps      uint32
	maxPacket uint32
	collation uint16
	user      string
	database  string
	method    string // the password method that answer is for; "" is native
	answer    []byte
	attrs     map[string]string
}

const (
	maxAttrs = 128
	// sslRequestBytes is the length of a handshake response that only asks for
	// TLS.
	sslRequestBytes = 32
)

var errBadHandshake = errors.New("malformed handshake")

// newScramble returns 20 random printable bytes without NUL and '$'.
func newScramble() []byte {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		if b[i] = b[i]%90 + 33; b[i] == '$' {
			b[i] = '~'
		}
	}
	return b
}

// greet writes the initial handshake packet, protocol version 10.
func (c *conn) greet() {
	caps := uint32(serverCaps)
	if c.srv.tls != nil {
		caps |= capSSL
	}
	c.scramble = newScramble()
	c.greeting = c.scramble
	c.begin()
	o := append(c.out, 10)
	o = append(append(o, c.srv.cfg.Version...), 0)
	o = put32(o, c.id)
	o = append(append(o, c.scramble[:8]...), 0)
	o = put16(o, uint16(caps))
	o = append(o, defaultCollation)
	o = put16(o, statusAutocommit)
	o = put16(o, uint16(caps>>16))
	o = append(o, byte(len(c.scramble)+1))
	o = append(o, make([]byte, 10)...)
	o = append(append(o, c.scramble[8:]...), 0)
	// MySQL 9 clients answer with an empty password when native is offered.
	c.out = append(append(o, methodSHA2...), 0)
	c.end()
	c.flush()
}

// handshake greets and reads the client's answer, over TLS when it asks for it.
// The reader is exact: what follows an SSLRequest belongs to TLS.
func (c *conn) handshake(ctx context.Context) (*login, error) {
	c.greet()
	if c.werr != nil {
		return nil, c.werr
	}
	p, err := c.read()
	if err != nil {
		return nil, err
	}
	if len(p) == sslRequestBytes {
		f := fields{b: p}
		if caps := uint32(f.uint(4)); caps&capSSL == 0 || c.srv.tls == nil {
			return nil, errBadHandshake
		}
		t := tls.Server(c.nc, c.srv.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c.nc, c.src, c.dst = t, t, t
		if p, err = c.read(); err != nil {
			return nil, err
		}
	}
	l, ok := parseHandshakeResponse(p)
	if !ok {
		return nil, errBadHandshake
	}
	return l, nil
}

// parseHandshakeResponse reads a HandshakeResponse41 packet.
func parseHandshakeResponse(p []byte) (*login, bool) {
	f := fields{b: p}
	// Capabilities that the server did not offer do not count, however the
	// client sets them.
	l := &login{caps: uint32(f.uint(4)) & (serverCaps | capSSL)}
	l.maxPacket = uint32(f.uint(4))
	l.collation = uint16(f.uint(1))
	f.take(23)
	if l.caps&capProtocol41 == 0 || l.caps&capSecure == 0 {
		return nil, false
	}
	l.user = string(f.nul())
	if l.caps&capLenencAuth != 0 {
		l.answer = f.str()
	} else {
		l.answer = f.take(int(f.uint(1)))
	}
	l.answer = append([]byte(nil), l.answer...)
	if l.caps&capConnectWithDB != 0 {
		// Some clients set the flag and send nothing behind the password.
		if len(f.b) > 0 {
			l.database = string(f.nul())
		}
	}
	if l.caps&capPluginAuth != 0 && len(f.b) > 0 {
		l.method = string(f.nulOrRest())
	}
	if l.caps&capConnectAttrs != 0 && len(f.b) > 0 {
		l.attrs = readAttrs(&f)
	}
	return l, !f.bad
}

// readAttrs reads connection attributes.
func readAttrs(f *fields) map[string]string {
	all := fields{b: f.str()}
	attrs := map[string]string{}
	for len(all.b) > 0 && len(attrs) < maxAttrs {
		k := string(all.str())
		v := string(all.str())
		if all.bad {
			f.fail()
			return nil
		}
		attrs[k] = v
	}
	return attrs
}

// quiet reports whether an error of the handshake is not worth a log line: the
// client left, or a port scanner looked in.
func quiet(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// loginDeadline starts the time that a login may take.
func (c *conn) loginDeadline() {
	_ = c.raw.SetDeadline(time.Now().Add(c.srv.cfg.LoginTimeout))
}
