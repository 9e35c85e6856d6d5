package expr

import (
	"crypto/aes"
	"crypto/rand"
	"fmt"
	"math"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	fn(spec{name: "AES_ENCRYPT", min: 2, max: 6, class: "misc", usage: "AES_ENCRYPT(s, key)", doc: "s encrypted by AES-128 in ECB mode, with the key folded to 16 bytes. Other modes, and IV and KDF arguments, are refused.",
		kinds: "t", ret: retAES(func(n int) int { return 16 * (n/16 + 1) }),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				c, err := aes.NewCipher(aesKey(ev.args[1].Bytes(i)))
				if err != nil {
					return errs.Internalf("encrypt: %w", err)
				}
				b := append([]byte(nil), ev.args[0].Bytes(i)...)
				for pad := 16 - len(b)%16; ; {
					b = append(b, byte(pad))
					if len(b)%16 == 0 {
						break
					}
				}
				for at := 0; at < len(b); at += 16 {
					c.Encrypt(b[at:at+16], b[at:at+16])
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "AES_DECRYPT", min: 2, max: 6, class: "misc", usage: "AES_DECRYPT(b, key)", doc: "What AES_ENCRYPT encrypted; NULL for what it did not.",
		kinds: "t", nullable: true, ret: retAES(func(n int) int { return n }),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				b := append([]byte(nil), ev.args[0].Bytes(i)...)
				if len(b) == 0 || len(b)%16 != 0 {
					out.SetNull(i)
					return nil
				}
				c, err := aes.NewCipher(aesKey(ev.args[1].Bytes(i)))
				if err != nil {
					return errs.Internalf("decrypt: %w", err)
				}
				for at := 0; at < len(b); at += 16 {
					c.Decrypt(b[at:at+16], b[at:at+16])
				}
				pad := int(b[len(b)-1])
				if pad < 1 || pad > 16 || strings.Trim(string(b[len(b)-pad:]), string(b[len(b)-1:])) != "" {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, b[:len(b)-pad])
				return nil
			}
		}})
	fn(spec{name: "RANDOM_BYTES", min: 1, max: 1, class: "misc", usage: "RANDOM_BYTES(n)", doc: "1 to 1024 random bytes.", kinds: "i", volatile: true, ret: returns(TBytes(1024)),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				n := intAt(ev.args[0], i)
				if n < 1 || n > 1024 {
					return errs.Userf(errs.OutOfRange, "length value is out of range in 'random_bytes'")
				}
				b := make([]byte, n)
				if _, err := rand.Read(b); err != nil {
					return errs.Internalf("make random bytes: %w", err)
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "FORMAT_PICO_TIME", min: 1, max: 1, class: "misc", usage: "FORMAT_PICO_TIME(n)", doc: "Picoseconds in a unit for people, such as 3.50 ns.", kinds: "d", ret: retPlain(17),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				out.SetBytes(i, []byte(picoTime(floatAt(ev.args[0], i))))
				return nil
			}
		}})
}

func retAES(length func(n int) int) retFunc {
	return func(ctx *Context, op string, args []Expr) (Type, error) {
		mode := ""
		if ctx.Session != nil {
			if v, err := ctx.Session.SystemVariable("", "block_encryption_mode"); err == nil && !v.IsNull() {
				mode = string(AppendText(nil, v.Type, v.Vec, 0, nil))
			}
		}
		if mode != "" && !strings.EqualFold(mode, "aes-128-ecb") || len(args) > 2 {
			return Type{}, errs.Unsupportedf(-1, "%s in other modes than aes-128-ecb", op)
		}
		return TBytes(length(min(4*args[0].Type().Length, 1<<30))), nil
	}
}

// aesKey folds a key of any length to 16 bytes.
func aesKey(key []byte) []byte {
	out := make([]byte, 16)
	for i, c := range key {
		out[i%16] ^= c
	}
	return out
}

func picoTime(x float64) string {
	units := []struct {
		size float64
		name string
	}{{24 * 3600e12, "d"}, {3600e12, "h"}, {60e12, "min"}, {1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}}
	for _, u := range units {
		if math.Abs(x) < u.size {
			continue
		}
		if y := x / u.size; math.Abs(y) < 100000 {
			return fmt.Sprintf("%4.2f %s", y, u.name)
		} else {
			return fmt.Sprintf("%4.2e %s", y, u.name)
		}
	}
	return fmt.Sprintf("%3d ps", int64(x))
}
