package mysql

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"sync"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

// authenticator checks passwords. It is safe for concurrent use.
type authenticator struct {
	accounts Accounts
	secret   [32]byte // of this process, for decoys

	mu   sync.Mutex
	fast map[fastKey][sha256.Size]byte // caching_sha2_password's cache

	// hashing bounds how many full checks run at once: each takes milliseconds
	// and anybody may ask for one.
	hashing chan struct{}

	keyOnce sync.Once
	key     *rsa.PrivateKey
	keyPEM  []byte
	keyErr  error
}

// fastKey names a password of an account. The stored hash is part of it, so a
// changed password finds nothing.
type fastKey struct {
	who  metadata.Identity
	hash string
}

const (
	maxFast = 10_000

	// The first bytes of packets of caching_sha2_password.
	sha2RequestKey = 2 // client to server
	sha2FastOK     = 3 // server to client, behind authMore
	sha2Full       = 4
	authMore       = 1
	authSwitch     = 0xfe
)

func newAuthenticator(a Accounts) *authenticator {
	x := &authenticator{accounts: a, fast: map[fastKey][sha256.Size]byte{}, hashing: make(chan struct{}, 4)}
	_, _ = rand.Read(x.secret[:])
	return x
}

// rsaKey returns the key with which clients without TLS encrypt passwords. It
// is made when it is needed first, since that takes a while.
func (a *authenticator) rsaKey() (*rsa.PrivateKey, []byte, error) {
	a.keyOnce.Do(func() {
		if a.key, a.keyErr = rsa.GenerateKey(rand.Reader, 2048); a.keyErr != nil {
			return
		}
		der, err := x509.MarshalPKIXPublicKey(&a.key.PublicKey)
		a.keyErr = err
		a.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	})
	return a.key, a.keyPEM, a.keyErr
}

// lookup returns the account of a login; known is false for a decoy, which goes
// through the same steps as an account. Which method a decoy has depends on the
// name and on a secret of the process, so asking twice tells nothing.
func (a *authenticator) lookup(user, host string) (acc metadata.Account, known bool) {
	acc, known = a.accounts.Lookup(user, host)
	if known && acc.Loopback && !metadata.Loopback(host) {
		known = false
	}
	if known && (acc.Plugin == methodSHA2 || acc.Plugin == methodNative) {
		return acc, true
	}
	mac := hmac.New(sha256.New, a.secret[:])
	mac.Write([]byte(user))
	acc = metadata.Account{Plugin: methodSHA2, Hash: "decoy"}
	if mac.Sum(nil)[0] < 64 {
		acc.Plugin = methodNative
	}
	return acc, false
}

// authenticate finds out whether the client knows the account's password. It
// talks to the client when the method asks for it, and returns the account or
// the error for the client. change is true for COM_CHANGE_USER.
func (c *conn) authenticate(ctx context.Context, l *login, change bool) (metadata.Account, error) {
	a := c.srv.auth
	acc, known := a.lookup(l.user, c.host)
	// Drivers differ in which scramble they use for COM_CHANGE_USER: libmysql
	// and MariaDB's the last one, even when they were sent a new one; node's
	// mysql2 the greeting's.
	scrambles := [][]byte{c.scramble}
	if change {
		scrambles = append(scrambles, c.greeting)
	}
	method := l.method
	if method == "" {
		method = methodNative
	}
	answer := l.answer
	ok := false
	switched := false
	if method != acc.Plugin {
		if c.caps&capPluginAuth == 0 {
			return acc, &sqlError{1251, "08004", "Client does not support authentication protocol requested by server; consider upgrading MySQL client"}
		}
		var err error
		if answer, scrambles, err = c.switchMethod(acc.Plugin, scrambles); err != nil {
			return acc, err
		}
		switched = true
	}
	empty := noPassword(answer)
	check := func() error {
		var err error
		switch {
		case noPassword(answer):
			ok = acc.Hash == ""
		case acc.Plugin == methodNative:
			ok = a.native(acc, scrambles, answer)
		default:
			ok, err = c.sha2(ctx, acc, known, scrambles, answer)
		}
		return err
	}
	if change && !switched && acc.Plugin == methodNative && known && !empty && !a.native(acc, scrambles, answer) && c.caps&capPluginAuth != 0 {
		// A scramble that we do not know of: ask with one of ours.
		var err error
		if answer, scrambles, err = c.switchMethod(acc.Plugin, scrambles); err != nil {
			return acc, err
		}
	}
	if err := check(); err != nil {
		return acc, err
	}
	if !ok || !known {
		using := "YES"
		if empty {
			using = "NO"
		}
		return acc, &sqlError{1045, "28000", "Access denied for user '" + l.user + "'@'" + c.host + "' (using password: " + using + ")"}
	}
	if acc.Locked {
		return acc, &sqlError{3118, "HY000", "Access denied for user '" + l.user + "'@'" + c.host + "'. Account is locked."}
	}
	if c.srv.cfg.RequireTLS && !c.secure() && !metadata.Loopback(c.host) {
		return acc, &sqlError{3159, "HY000", "Connections using insecure transport are prohibited while --require_secure_transport=ON."}
	}
	if h, isHook := a.accounts.(Authenticated); isHook {
		if err := h.Authenticated(ctx, acc, c.host); err != nil {
			return acc, err
		}
	}
	return acc, nil
}

func noPassword(answer []byte) bool {
	return len(answer) == 0 || len(answer) == 1 && answer[0] == 0
}

// switchMethod asks the client to answer a new scramble with another method. It
// returns the scrambles that the answer may be for, the new one first.
func (c *conn) switchMethod(method string, old [][]byte) (answer []byte, scrambles [][]byte, err error) {
	s := newScramble()
	c.begin()
	c.out = append(append(append(c.out, authSwitch), method...), 0)
	c.out = append(append(c.out, s...), 0)
	c.end()
	c.scramble = s
	answer, err = c.ask()
	if len(old) > 1 { // COM_CHANGE_USER
		return answer, append([][]byte{s}, old...), err
	}
	return answer, [][]byte{s}, err
}

// ask sends what is written and returns a copy of the client's answer.
func (c *conn) ask() ([]byte, error) {
	c.flush()
	if c.werr != nil {
		return nil, c.werr
	}
	p, err := c.read()
	return append([]byte(nil), p...), err
}

func (a *authenticator) native(acc metadata.Account, scrambles [][]byte, answer []byte) bool {
	stored, ok := storedNative(acc.Hash)
	if !ok {
		stored = make([]byte, sha1.Size)
	}
	fits := false
	for _, s := range scrambles {
		fits = checkNative(stored, s, answer) || fits
	}
	return fits && ok
}

// secure reports whether nobody can listen: TLS, or a socket on this machine.
func (c *conn) secure() bool {
	_, isTLS := c.nc.(*tls.Conn)
	return isTLS || c.raw.RemoteAddr().Network() == "unix"
}

// sha2 runs caching_sha2_password: the short path when the cache knows the
// password, else the client sends it, over TLS or encrypted with our RSA key.
func (c *conn) sha2(ctx context.Context, acc metadata.Account, known bool, scrambles [][]byte, answer []byte) (bool, error) {
	a := c.srv.auth
	key := fastKey{acc.Identity, acc.Hash}
	if known {
		a.mu.Lock()
		fast, hit := a.fast[key]
		a.mu.Unlock()
		for _, s := range scrambles {
			if hit && checkFast(fast, s, answer) {
				c.begin()
				c.out = append(c.out, authMore, sha2FastOK)
				c.end()
				return true, nil
			}
		}
	}
	c.begin()
	c.out = append(c.out, authMore, sha2Full)
	c.end()
	sent, err := c.ask()
	if err != nil {
		return false, err
	}
	var candidates [][]byte
	if c.secure() {
		candidates = [][]byte{sent}
	} else {
		priv, pub, err := a.rsaKey()
		if err != nil {
			return false, errs.New(errs.Internal, errs.KindNone, "make RSA key for passwords: %w", err)
		}
		if len(sent) == 1 && sent[0] == sha2RequestKey {
			c.begin()
			c.out = append(append(c.out, authMore), pub...)
			c.end()
			if sent, err = c.ask(); err != nil {
				return false, err
			}
		}
		plain, err := rsa.DecryptOAEP(sha1.New(), nil, priv, sent, nil)
		if err != nil {
			plain = []byte{1} // no password ends like this
		}
		for _, s := range scrambles {
			p := make([]byte, len(plain))
			for i := range p {
				p[i] = plain[i] ^ s[i%len(s)]
			}
			candidates = append(candidates, p)
		}
	}
	select {
	case a.hashing <- struct{}{}:
		defer func() { <-a.hashing }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	for i, p := range candidates {
		n := len(p)
		if n == 0 || n > maxPassword+1 || p[n-1] != 0 {
			if i < len(candidates)-1 {
				continue
			}
			p, n = []byte("?\x00"), 2 // costs the same
			known = false
		}
		p = p[:n-1]
		if checkSHA2(acc.Hash, p) && known {
			a.mu.Lock()
			if len(a.fast) >= maxFast {
				clear(a.fast)
			}
			a.fast[key] = fastHash(p)
			a.mu.Unlock()
			return true, nil
		}
	}
	return false, nil
}

// errDenied reports whether an error is a refused login.
func errDenied(err error) bool {
	var e *sqlError
	return errors.As(err, &e)
}
