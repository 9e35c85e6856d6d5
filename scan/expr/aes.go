package expr

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/sha512"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// AES_ENCRYPT and AES_DECRYPT in the modes that block_encryption_mode names. Keys
// are folded to the mode's size by exclusive or, or derived by HKDF or PBKDF2,
// both with SHA-512.

// EncryptionModes are the values of block_encryption_mode, in MySQL's order.
var EncryptionModes = func() (out []string) {
	for _, chain := range []string{"ecb", "cbc", "cfb1", "cfb8", "cfb128", "ofb"} {
		for _, bits := range []string{"128", "192", "256"} {
			out = append(out, "aes-"+bits+"-"+chain)
		}
	}
	return out
}()

func init() {
	about := "in the mode that block_encryption_mode names; the initialization vector is for modes other than ECB, kdf is hkdf or pbkdf2_hmac."
	register(&function{name: "AES_ENCRYPT", min: 2, max: 6, class: "misc", usage: "AES_ENCRYPT(s, key[, iv[, kdf[, salt[, info or iterations]]]])", doc: "s encrypted " + about,
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return aesCall(ctx, "AES_ENCRYPT", args, encryptAES) }})
	register(&function{name: "AES_DECRYPT", min: 2, max: 6, class: "misc", usage: "AES_DECRYPT(b, key[, iv[, kdf[, salt[, info or iterations]]]])", doc: "What AES_ENCRYPT encrypted; NULL for what it did not.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return aesCall(ctx, "AES_DECRYPT", args, decryptAES) }})
}

// aesMode is a value of block_encryption_mode.
type aesMode struct {
	key   int // bytes
	chain string
}

func encryptionMode(ctx *Context) (aesMode, error) {
	m := aesMode{16, "ecb"}
	if ctx.Session == nil {
		return m, nil
	}
	v, err := ctx.Session.SystemVariable("", "block_encryption_mode")
	if err != nil || v.IsNull() {
		return m, err
	}
	name := string(AppendText(nil, v.Type, v.Vec, 0, nil))
	parts := strings.Split(strings.ToLower(name), "-")
	if len(parts) != 3 {
		return m, errs.Internalf("read block_encryption_mode: '%s'", name)
	}
	bits, err := strconv.Atoi(parts[1])
	if err != nil {
		return m, errs.Internalf("read block_encryption_mode: '%s'", name)
	}
	return aesMode{bits / 8, parts[2]}, nil
}

// aesCall makes the call; run gives nil for what cannot be decrypted.
func aesCall(ctx *Context, name string, args []Expr, run func(m aesMode, b cipher.Block, iv, data []byte) []byte) (Expr, error) {
	m, err := encryptionMode(ctx)
	if err != nil {
		return nil, err
	}
	if m.chain != "ecb" && len(args) < 3 {
		return nil, wrongCount(lower(name))
	}
	s := spec{name: name, kinds: "t", nulls: true, nullable: true,
		ret: func(_ *Context, _ string, args []Expr) (Type, error) {
			n := min(4*args[0].Type().Length, 1<<30)
			if name == "AES_ENCRYPT" {
				n = 16 * (n/16 + 1)
			}
			return TBytes(n), nil
		},
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				if ev.args[0].IsNull(i) || ev.args[1].IsNull(i) {
					out.SetNull(i)
					return nil
				}
				key, err := aesKey(ev, i, m)
				if err != nil {
					return err
				}
				var iv []byte
				if m.chain != "ecb" {
					if !ev.args[2].IsNull(i) {
						iv = ev.args[2].Bytes(i)
					}
					if len(iv) < aes.BlockSize {
						return errs.Userf(errs.ShortIV, "The initialization vector supplied to %s is too short. Must be at least %d bytes long", lower(name), aes.BlockSize)
					}
					iv = iv[:aes.BlockSize]
				} else if len(ev.args) == 3 {
					ev.ctx.warn("Warning", errs.OptionIgnored, "<IV> option ignored")
				}
				b, err := aes.NewCipher(key)
				if err != nil {
					return errs.Internalf("make a cipher: %w", err)
				}
				r := run(m, b, iv, ev.args[0].Bytes(i))
				if r == nil {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, r)
				return nil
			}
		}}
	return s.call(ctx, args)
}

// aesKey is the key of row i for a mode.
func aesKey(ev *evaluation, i int, m aesMode) ([]byte, error) {
	key := ev.args[1].Bytes(i)
	if len(ev.args) < 4 {
		if len(key) > m.key {
			ev.ctx.warn("Warning", errs.AESKeySize, "AES key size should be %d bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please provide exact AES key size or use KDF methods for better security.", m.key)
		}
		out := make([]byte, m.key)
		for k, c := range key {
			out[k%m.key] ^= c
		}
		return out, nil
	}
	option := func(k, below int) ([]byte, error) {
		if k >= len(ev.args) {
			return nil, nil
		}
		if ev.args[k].IsNull(i) || len(ev.args[k].Bytes(i)) >= below {
			return nil, errs.Userf(errs.KDFOption, "KDF option size is invalid, please provide valid size < %d bytes and not NULL", below)
		}
		return ev.args[k].Bytes(i), nil
	}
	method, err := option(3, 256)
	if err != nil {
		return nil, err
	}
	if string(method) != "hkdf" && string(method) != "pbkdf2_hmac" {
		return nil, errs.Userf(errs.KDFName, "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name")
	}
	salt, err := option(4, 256)
	if err != nil {
		return nil, err
	}
	var out []byte
	if string(method) == "hkdf" {
		info, err := option(5, 256)
		if err != nil {
			return nil, err
		}
		out, err = hkdf.Key(sha512.New, key, salt, string(info), m.key)
		if err != nil {
			return nil, errs.Internalf("derive a key: %w", err)
		}
		return out, nil
	}
	rounds := 1000
	if len(ev.args) > 5 {
		text, err := option(5, 6)
		if err != nil {
			return nil, err
		}
		if rounds = leadingInt(string(text)); rounds < 1000 || rounds > 65535 {
			return nil, errs.Userf(errs.KDFIterations, "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security reasons. Please provide iterations >= 1000 and iterations < 65535")
		}
	}
	if out, err = pbkdf2.Key(sha512.New, string(key), salt, rounds, m.key); err != nil {
		return nil, errs.Internalf("derive a key: %w", err)
	}
	return out, nil
}

// leadingInt is the number that a text begins with, as C's atoi reads it.
func leadingInt(s string) int {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || n == 0 && (s[0] == '-' || s[0] == '+')) {
		n++
	}
	x, _ := strconv.Atoi(strings.TrimPrefix(s[:n], "+"))
	return x
}

func encryptAES(m aesMode, c cipher.Block, iv, data []byte) []byte {
	if m.chain != "ecb" && m.chain != "cbc" {
		return streamAES(m, c, iv, data, false)
	}
	pad := aes.BlockSize - len(data)%aes.BlockSize
	b := append(bytes.Clone(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
	if m.chain == "cbc" {
		cipher.NewCBCEncrypter(c, iv).CryptBlocks(b, b)
		return b
	}
	for at := 0; at < len(b); at += aes.BlockSize {
		c.Encrypt(b[at:at+aes.BlockSize], b[at:at+aes.BlockSize])
	}
	return b
}

func decryptAES(m aesMode, c cipher.Block, iv, data []byte) []byte {
	if m.chain != "ecb" && m.chain != "cbc" {
		return streamAES(m, c, iv, data, true)
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil
	}
	b := bytes.Clone(data)
	if m.chain == "cbc" {
		cipher.NewCBCDecrypter(c, iv).CryptBlocks(b, b)
	} else {
		for at := 0; at < len(b); at += aes.BlockSize {
			c.Decrypt(b[at:at+aes.BlockSize], b[at:at+aes.BlockSize])
		}
	}
	pad := int(b[len(b)-1])
	if pad < 1 || pad > aes.BlockSize || len(bytes.Trim(b[len(b)-pad:], string(b[len(b)-1:]))) > 0 {
		return nil
	}
	return b[:len(b)-pad]
}

// streamAES is CFB with feedback of one bit, one byte or a block, and OFB (NIST SP 800-38A).
// It does both ways: only what is fed back differs.
func streamAES(m aesMode, c cipher.Block, iv, data []byte, decrypt bool) []byte {
	out := make([]byte, len(data))
	state, pad := bytes.Clone(iv), make([]byte, aes.BlockSize)
	// fed is what CFB feeds back of an input and an output: the ciphertext.
	fed := func(in, out byte) byte {
		if decrypt {
			return in
		}
		return out
	}
	switch m.chain {
	case "cfb8":
		for i, x := range data {
			c.Encrypt(pad, state)
			out[i] = x ^ pad[0]
			copy(state, state[1:])
			state[aes.BlockSize-1] = fed(x, out[i])
		}
	case "cfb1":
		for i := range 8 * len(data) {
			shift := 7 - i%8
			c.Encrypt(pad, state)
			x := data[i/8] >> shift & 1
			y := x ^ pad[0]>>7
			out[i/8] |= y << shift
			carry := fed(x, y)
			for k := aes.BlockSize - 1; k >= 0; k-- {
				state[k], carry = state[k]<<1|carry, state[k]>>7
			}
		}
	default:
		for i, x := range data {
			k := i % aes.BlockSize
			if k == 0 {
				c.Encrypt(pad, state)
			}
			out[i] = x ^ pad[k]
			if m.chain == "ofb" {
				state[k] = pad[k]
			} else {
				state[k] = fed(x, out[i])
			}
		}
	}
	return out
}
