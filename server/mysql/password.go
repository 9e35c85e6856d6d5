package mysql

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The password methods.
const (
	methodNative = "mysql_native_password"
	methodSHA2   = "caching_sha2_password"
)

// maxPassword is the most bytes of a password, as in MySQL.
const maxPassword = 256

// storedNative decodes "*<40 hex digits>", SHA1(SHA1(password)).
func storedNative(hash string) ([]byte, bool) {
	h, ok := strings.CutPrefix(hash, "*")
	if !ok || len(h) != 2*sha1.Size {
		return nil, false
	}
	b, err := hex.DecodeString(h)
	return b, err == nil
}

// checkNative verifies an answer of mysql_native_password:
// SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password))).
func checkNative(stored, scramble, answer []byte) bool {
	if len(answer) != sha1.Size || len(stored) != sha1.Size {
		return false
	}
	h := sha1.New()
	h.Write(scramble)
	h.Write(stored)
	stage1 := h.Sum(nil)
	subtle.XORBytes(stage1, stage1, answer)
	again := sha1.Sum(stage1)
	return subtle.ConstantTimeCompare(again[:], stored) == 1
}

// checkFast verifies an answer of caching_sha2_password's short path:
// SHA256(password) XOR SHA256(fast + scramble), fast = SHA256(SHA256(password)).
func checkFast(fast [sha256.Size]byte, scramble, answer []byte) bool {
	if len(answer) != sha256.Size {
		return false
	}
	h := sha256.New()
	h.Write(fast[:])
	h.Write(scramble)
	stage1 := h.Sum(nil)
	subtle.XORBytes(stage1, stage1, answer)
	again := sha256.Sum256(stage1)
	return subtle.ConstantTimeCompare(again[:], fast[:]) == 1
}

// fastHash is what the cache keeps of a password.
func fastHash(password []byte) [sha256.Size]byte {
	once := sha256.Sum256(password)
	return sha256.Sum256(once[:])
}

// checkSHA2 verifies a password against the stored form "$A$005$", 20 bytes of
// salt, 43 characters of digest: SHA-crypt with SHA-256 and a thousand times 5
// rounds. It costs milliseconds, for a malformed hash as well.
func checkSHA2(hash string, password []byte) bool {
	rounds, salt, digest, ok := splitSHA2(hash)
	if !ok {
		rounds, salt, digest = 5000, decoySalt, strings.Repeat(".", 43)
	}
	same := subtle.ConstantTimeCompare([]byte(shaCrypt(password, []byte(salt), rounds)), []byte(digest)) == 1
	return same && ok
}

// decoySalt stands in for the salt of an account that does not exist.
const decoySalt = "thermocline-decoy-01"

func splitSHA2(hash string) (rounds int, salt, digest string, ok bool) {
	rest, ok := strings.CutPrefix(hash, "$A$")
	if !ok || len(rest) != 4+20+43 || rest[3] != '$' {
		return 0, "", "", false
	}
	n, err := strconv.ParseUint(rest[:3], 16, 16)
	if err != nil || n == 0 || n > 0xfff {
		return 0, "", "", false
	}
	return int(n) * 1000, rest[4:24], rest[24:], true
}

// HashSHA2 returns the stored form of a password for caching_sha2_password.
// salt has 20 bytes without NUL and '$'.
func HashSHA2(password string, salt []byte) string {
	return fmt.Sprintf("$A$005$%s%s", salt, shaCrypt([]byte(password), salt, 5000))
}

// HashNative returns the stored form of a password for mysql_native_password.
func HashNative(password string) string {
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	return "*" + strings.ToUpper(hex.EncodeToString(twice[:]))
}

// shaCrypt is the digest part of Ulrich Drepper's SHA-crypt ("Unix crypt using
// SHA-256 and SHA-512", version 0.6) with SHA-256. MySQL uses the salt's 20
// bytes, the original at most 16.
func shaCrypt(password, salt []byte, rounds int) string {
	h := sha256.New()
	sum := func(parts ...[]byte) []byte {
		h.Reset()
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	stretch := func(digest []byte, n int) []byte {
		return bytes.Repeat(digest, n/sha256.Size+1)[:n]
	}
	b := sum(password, salt, password)
	mix := [][]byte{password, salt, stretch(b, len(password))}
	for n := len(password); n > 0; n >>= 1 {
		if n&1 != 0 {
			mix = append(mix, b)
		} else {
			mix = append(mix, password)
		}
	}
	a := sum(mix...)
	h.Reset()
	for range password {
		h.Write(password)
	}
	p := stretch(h.Sum(nil), len(password))
	h.Reset()
	for range 16 + int(a[0]) {
		h.Write(salt)
	}
	s := stretch(h.Sum(nil), len(salt))
	for i := range rounds {
		h.Reset()
		if i&1 != 0 {
			h.Write(p)
		} else {
			h.Write(a)
		}
		if i%3 != 0 {
			h.Write(s)
		}
		if i%7 != 0 {
			h.Write(p)
		}
		if i&1 != 0 {
			h.Write(a)
		} else {
			h.Write(p)
		}
		a = h.Sum(a[:0])
	}
	const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 0, 43)
	put := func(w uint32, n int) {
		for range n {
			out = append(out, alphabet[w&63])
			w >>= 6
		}
	}
	for i, j, k, n := 0, 10, 20, 0; n < 10; n++ {
		put(uint32(a[i])<<16|uint32(a[j])<<8|uint32(a[k]), 4)
		i, j, k = (k+1)%30, (i+1)%30, (j+1)%30
	}
	put(uint32(a[31])<<8|uint32(a[30]), 3)
	return string(out)
}
