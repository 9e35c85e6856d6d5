package expr

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	digest := func(name, doc string, n int, f func(b []byte) []byte) {
		fn(spec{name: name, min: 1, max: 1, class: "encoding", usage: name + "(s)", doc: doc, kinds: "t", ret: retPlain(n),
			body: textOf(func(ev *evaluation, dst, s []byte) []byte {
				return hex.AppendEncode(dst, f(storedBytes(ev.c.args[0].Type(), s)))
			})})
	}
	digest("MD5", "The MD5 checksum in hexadecimal.", 32, func(b []byte) []byte { h := md5.Sum(b); return h[:] })
	digest("SHA1", "The SHA-1 checksum in hexadecimal.", 40, func(b []byte) []byte { h := sha1.Sum(b); return h[:] })
	alias("SHA", "SHA1")
	fn(spec{name: "SHA2", min: 2, max: 2, class: "encoding", usage: "SHA2(s, bits)", doc: "The SHA-2 checksum of 224, 256 (or 0), 384 or 512 bits in hexadecimal.", kinds: "ti", ret: retPlain(128), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s := storedBytes(ev.c.args[0].Type(), ev.args[0].Bytes(i))
				var h []byte
				switch intAt(ev.args[1], i) {
				case 224:
					x := sha256.Sum224(s)
					h = x[:]
				case 0, 256:
					x := sha256.Sum256(s)
					h = x[:]
				case 384:
					x := sha512.Sum384(s)
					h = x[:]
				case 512:
					x := sha512.Sum512(s)
					h = x[:]
				default:
					ev.ctx.warn("Warning", errs.WrongArguments, "Incorrect parameters in the call to native function 'sha2'")
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, hex.AppendEncode(nil, h))
				return nil
			}
		}})
	register(&function{name: "HEX", min: 1, max: 1, class: "encoding", usage: "HEX(x)", doc: "A number, or the bytes of a text, in hexadecimal.", resolve: hexOf})
	fn(spec{name: "UNHEX", min: 1, max: 1, class: "encoding", usage: "UNHEX(s)", doc: "The bytes that hexadecimal digits name; NULL for other text.", kinds: "t", ret: func(_ *Context, _ string, args []Expr) (Type, error) {
		return TBytes((args[0].Type().Length + 1) / 2), nil
	}, nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s := ev.args[0].Bytes(i)
				if len(s)%2 == 1 {
					s = append([]byte{'0'}, s...)
				}
				b, err := hex.AppendDecode(nil, s)
				if err != nil {
					ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect string value: ''%s'' for function unhex", shown(ev.args[0].Bytes(i)))
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "TO_BASE64", min: 1, max: 1, class: "encoding", usage: "TO_BASE64(s)", doc: "The bytes in base64, in lines of 76.", kinds: "t", ret: retPlain(1 << 24),
		body: textOf(func(ev *evaluation, dst, s []byte) []byte {
			e := base64.StdEncoding.AppendEncode(nil, storedBytes(ev.c.args[0].Type(), s))
			for len(e) > 76 {
				dst = append(append(dst, e[:76]...), '\n')
				e = e[76:]
			}
			return append(dst, e...)
		})})
	fn(spec{name: "FROM_BASE64", min: 1, max: 1, class: "encoding", usage: "FROM_BASE64(s)", doc: "The bytes of base64 text; NULL for other text.", kinds: "t", ret: returns(TBytes(1 << 24)), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s := bytes.Map(func(r rune) rune {
					if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
						return -1
					}
					return r
				}, ev.args[0].Bytes(i))
				b, err := base64.StdEncoding.AppendDecode(nil, s)
				if err != nil {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "COMPRESS", min: 1, max: 1, class: "encoding", usage: "COMPRESS(s)", doc: "The bytes, compressed by zlib, after their length.", kinds: "t", ret: returns(TBytes(1 << 24)),
		body: textOf(func(_ *evaluation, dst, s []byte) []byte {
			if len(s) == 0 {
				return dst
			}
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
			var b bytes.Buffer
			z := zlib.NewWriter(&b)
			_, _ = z.Write(s) // a bytes.Buffer takes everything
			_ = z.Close()
			dst = append(dst, b.Bytes()...)
			if dst[len(dst)-1] == ' ' {
				dst = append(dst, '.')
			}
			return dst
		})})
	fn(spec{name: "UNCOMPRESS", min: 1, max: 1, class: "encoding", usage: "UNCOMPRESS(s)", doc: "What COMPRESS compressed; NULL for anything else.", kinds: "t", ret: returns(TBytes(1 << 24)), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				s := ev.args[0].Bytes(i)
				if len(s) == 0 {
					return nil
				}
				if len(s) > 4 {
					n := int64(binary.LittleEndian.Uint32(s))
					if z, err := zlib.NewReader(bytes.NewReader(s[4:])); err == nil && n <= int64(ev.ctx.MaxAllowedPacket) {
						b, err := io.ReadAll(io.LimitReader(z, n+1))
						if err == nil && int64(len(b)) == n {
							out.SetBytes(i, b)
							return nil
						}
					}
				}
				out.SetNull(i)
				return nil
			}
		}})
	fn(spec{name: "UNCOMPRESSED_LENGTH", min: 1, max: 1, class: "encoding", usage: "UNCOMPRESSED_LENGTH(s)", doc: "The length before COMPRESS.", kinds: "t", ret: retInt,
		body: intOf(func(_ *evaluation, s []byte) int64 {
			if len(s) <= 4 {
				return 0
			}
			return int64(binary.LittleEndian.Uint32(s) & 0x3FFFFFFF)
		})})

	fn(spec{name: "IS_UUID", min: 1, max: 1, class: "misc", usage: "IS_UUID(s)", doc: "Whether s is a UUID in one of three spellings.", kinds: "t", ret: retBool,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				if _, ok := parseUUID(ev.args[0].Bytes(i)); ok {
					out.I8s[i] = 1
				}
				return nil
			}
		}})
	fn(spec{name: "UUID_TO_BIN", min: 1, max: 2, class: "misc", usage: "UUID_TO_BIN(s[, swap])", doc: "A UUID as 16 bytes, with swap the time's high part first.", kinds: "ti", ret: returns(TBytes(16)),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				u, ok := parseUUID(ev.args[0].Bytes(i))
				if !ok {
					return errs.Userf(errs.WrongValueForFunc, "Incorrect string value: '%s' for function uuid_to_bin", shown(ev.args[0].Bytes(i)))
				}
				b := u[:]
				if len(ev.args) > 1 && intAt(ev.args[1], i) != 0 {
					b = append(append(append(append([]byte(nil), u[6:8]...), u[4:6]...), u[0:4]...), u[8:]...)
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "BIN_TO_UUID", min: 1, max: 2, class: "misc", usage: "BIN_TO_UUID(b[, swap])", doc: "16 bytes as the text of a UUID.", kinds: "ti", ret: retPlain(36),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				b := ev.args[0].Bytes(i)
				if len(b) != 16 {
					return errs.Userf(errs.WrongValueForFunc, "Incorrect string value: '%s' for function bin_to_uuid", shown(b))
				}
				var u uuid.UUID
				copy(u[:], b)
				if len(ev.args) > 1 && intAt(ev.args[1], i) != 0 {
					copy(u[:], append(append(append([]byte(nil), b[4:8]...), b[2:4]...), b[0:2]...))
				}
				out.SetBytes(i, []byte(u.String()))
				return nil
			}
		}})
	fn(spec{name: "UUID", min: 0, max: 0, class: "misc", usage: "UUID()", doc: "A new UUID of version 1 for each row.", ret: func(ctx *Context, _ string, _ []Expr) (Type, error) {
		return TString(36, "utf8mb3_general_ci").NotNull(), nil
	}, volatile: true,
		body: func(*evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				u, err := uuid.NewUUID()
				if err != nil {
					return errs.Internalf("make a UUID: %w", err)
				}
				out.SetBytes(i, []byte(u.String()))
				return nil
			}
		}})
	fn(spec{name: "INET_ATON", min: 1, max: 1, class: "misc", usage: "INET_ATON(s)", doc: "An IPv4 address as a number.", kinds: "t", ret: retUint, nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				x, ok := inetAton(string(ev.args[0].Bytes(i)))
				if !ok {
					ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect string value: '%s' for function inet_aton", shown(ev.args[0].Bytes(i)))
					out.SetNull(i)
					return nil
				}
				out.I64s[i] = x
				return nil
			}
		}})
	fn(spec{name: "INET_NTOA", min: 1, max: 1, class: "misc", usage: "INET_NTOA(n)", doc: "A number as an IPv4 address.", kinds: "i", ret: retPlain(15), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				x := intAt(ev.args[0], i)
				if x < 0 || x > 1<<32-1 {
					ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect integer value: '%s' for function inet_ntoa", ev.c.args[0].String())
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, []byte(netip.AddrFrom4([4]byte{byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x)}).String()))
				return nil
			}
		}})
	fn(spec{name: "INET6_ATON", min: 1, max: 1, class: "misc", usage: "INET6_ATON(s)", doc: "An IPv4 or IPv6 address as 4 or 16 bytes.", kinds: "t", ret: returns(TBytes(16)), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				a, err := netip.ParseAddr(string(ev.args[0].Bytes(i)))
				if err != nil || a.Zone() != "" {
					ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect string value: '%s' for function inet6_aton", shown(ev.args[0].Bytes(i)))
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, a.AsSlice())
				return nil
			}
		}})
	fn(spec{name: "INET6_NTOA", min: 1, max: 1, class: "misc", usage: "INET6_NTOA(b)", doc: "4 or 16 bytes as an address.", kinds: "t", ret: retPlain(39), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				a, ok := netip.AddrFromSlice(ev.args[0].Bytes(i))
				if !ok {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, []byte(a.String()))
				return nil
			}
		}})

	register(&function{name: "RAND", min: 0, max: 1, class: "math", usage: "RAND([seed])", doc: "A random number from 0 to below 1; with a constant seed MySQL's sequence of it.", resolve: random})
	fn(spec{name: "SLEEP", min: 1, max: 1, class: "misc", usage: "SLEEP(n)", doc: "Waits n seconds a row; 0.", kinds: "d", ret: func(*Context, string, []Expr) (Type, error) { return TBigInt.NotNull(), nil }, volatile: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, _ *vector.Vec) error {
				s := floatAt(ev.args[0], i)
				if s < 0 {
					return errs.Userf(errs.WrongArguments, "Incorrect arguments to sleep.")
				}
				wait := time.NewTimer(time.Duration(min(s, 1e9) * float64(time.Second)))
				defer wait.Stop()
				select {
				case <-wait.C:
					return nil
				case <-ev.ctx.Done:
					return ev.ctx.Ended()
				}
			}
		}})

	info := func(name, doc string, get func(s Session) (string, bool)) {
		register(&function{name: name, min: 0, max: 0, class: "information", usage: name + "()", doc: doc,
			resolve: func(ctx *Context, _ []Expr) (Expr, error) {
				t := TString(288, "utf8mb3_general_ci")
				t.Coercibility = 3
				v := Value{Type: t, Vec: vector.NewNull(vector.Str, 1)}
				if ctx.Session != nil {
					if s, ok := get(ctx.Session); ok {
						v = StringValue(s, t.Collation)
						v.Type = t
					}
				}
				switch name {
				case "DATABASE":
					v.Type.Told.Length = 64
				case "VERSION", "ICU_VERSION":
					if v.Type.Told.Length = empty; !v.IsNull() {
						v.Type.Told.Length = len(v.Vec.Bytes(0))
						v.Type.Nullable = false
					}
				}
				l := Literal(v)
				l.text = lower(name) + "()"
				return l, nil
			}})
	}
	info("DATABASE", "The current database, NULL when there is none.", func(s Session) (string, bool) { return s.Database(), s.Database() != "" })
	alias("SCHEMA", "DATABASE")
	info("USER", "The client's user name and host.", func(s Session) (string, bool) { return s.User(), true })
	alias("SESSION_USER", "USER")
	alias("SYSTEM_USER", "USER")
	info("CURRENT_USER", "The account whose rights count.", func(s Session) (string, bool) { return s.CurrentUser(), true })
	info("VERSION", "The server's version.", func(s Session) (string, bool) { return s.Version(), true })
	info("CURRENT_ROLE", "The active roles: NONE.", func(Session) (string, bool) { return "NONE", true })
	info("ICU_VERSION", "The version of the regular expression library MySQL has; NULL, since there is none.", func(Session) (string, bool) { return "", false })
	number := func(name, doc string, get func(s Session) Value) {
		register(&function{name: name, min: 0, max: 0, class: "information", usage: name + "()", doc: doc,
			resolve: func(ctx *Context, _ []Expr) (Expr, error) {
				v := IntValue(0)
				if ctx.Session != nil {
					v = get(ctx.Session)
				}
				v.Type.Told.Length = 21
				l := Literal(v)
				l.text = lower(name) + "()"
				return l, nil
			}})
	}
	number("CONNECTION_ID", "The connection's number.", func(s Session) Value { return UintValue(s.ConnectionID()) })
	register(&function{name: "LAST_INSERT_ID", min: 0, max: 1, class: "information", usage: "LAST_INSERT_ID([x])", doc: "The x that it was last called with; 0 before, as there is no AUTO_INCREMENT.", resolve: lastInsertID})
	number("ROW_COUNT", "The rows that the last statement changed.", func(s Session) Value { return IntValue(s.RowCount()) })
	number("FOUND_ROWS", "The rows of the last SELECT without its LIMIT.", func(s Session) Value { return IntValue(int64(s.FoundRows())) })

	about := func(name, doc string, get func(ctx *Context, t Type) Value) {
		register(&function{name: name, min: 1, max: 1, class: "information", usage: name + "(x)", doc: doc,
			resolve: func(ctx *Context, args []Expr) (Expr, error) {
				t := args[0].Type()
				if !isString(t) && t.Class != JSON && t.Class != Nested {
					t = textType(ctx, t)
					if args[0].Type().IsNumber() || args[0].Type().IsTemporal() || args[0].Type().Class == Null {
						t.Collation = "binary"
					}
				}
				if t.Class == Bytes {
					t.Collation = "binary"
				}
				return Literal(get(ctx, t)), nil
			}})
	}
	name := func(s string) Value {
		v := StringValue(s, "utf8mb3_general_ci")
		v.Type.Coercibility = 3
		return v
	}
	about("COLLATION", "The collation of a text.", func(_ *Context, t Type) Value { return name(t.Collation) })
	about("CHARSET", "The character set of a text.", func(_ *Context, t Type) Value { return name(charsetOf(t.Collation)) })
	about("COERCIBILITY", "How strong a text's collation is: 0 explicit, 2 column, 4 literal, 5 number, 6 NULL.", func(_ *Context, t Type) Value {
		if t.Coercibility == 1 {
			return IntValue(7) // a text of two collations
		}
		return IntValue(int64(t.Coercibility))
	})
	fn(spec{name: "WEIGHT_STRING", min: 1, max: 1, class: "string", usage: "WEIGHT_STRING(s)", doc: "The bytes by which a text sorts in its collation.", kinds: "a", ret: returns(TBytes(1 << 16)), nullable: true,
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			t := ev.c.args[0].Type()
			c := collationOf(t).ready()
			return func(i int, out *vector.Vec) error {
				if !isString(t) {
					out.SetNull(i)
					return nil
				}
				s := ev.args[0].Bytes(i)
				if c.family == byBytes {
					if c.charset == "binary" || strings.HasSuffix(c.name, "0900_bin") || c.charset == "latin1" || c.charset == "ascii" {
						out.SetBytes(i, s)
						return nil
					}
					var dst []byte
					for _, r := range string(s) {
						if c.charset != "utf8mb3" && c.charset != "ucs2" {
							dst = append(dst, byte(r>>16))
						}
						dst = append(dst, byte(r>>8), byte(r))
					}
					out.SetBytes(i, dst)
					return nil
				}
				var dst []byte
				for _, w := range c.weigh(nil, s) {
					if c.charset != "latin1" && c.charset != "ascii" {
						dst = append(dst, byte(w>>8))
					}
					dst = append(dst, byte(w))
				}
				out.SetBytes(i, dst)
				return nil
			}
		}})
	register(&function{name: "@", min: 1, max: 1, resolve: userVariable})
	register(&function{name: ":=", min: 2, max: 2, resolve: assignVariable})
	register(&function{name: "FORMAT_BYTES", min: 1, max: 1, class: "misc", usage: "FORMAT_BYTES(n)", doc: "A number of bytes with a unit.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args...); err != nil {
				return nil, err
			}
			return newCall("FORMAT_BYTES", TString(11, ctx.collation()), func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.Str)
				ev.rows(func(i int) {
					x := floatAt(ev.args[0], i)
					u := 0
					for ; (x >= 1024 || x <= -1024) && u < 6; u++ {
						x /= 1024
					}
					s := strconv.FormatFloat(x, 'f', 2, 64) + [...]string{"", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}[u]
					if u == 0 {
						s = strconv.FormatFloat(x, 'f', 0, 64) + " bytes"
					}
					out.SetBytes(i, []byte(s))
				})
				return out, nil
			}, asDouble(ctx, args[0])), nil
		}})
}

func hexOf(ctx *Context, args []Expr) (Expr, error) {
	x := args[0]
	if err := isNested(x); err != nil {
		return nil, err
	}
	t := x.Type()
	if t.IsNumber() && t.Class != Bit {
		if t.Class != Int || t.Width != 8 {
			x = convert(ctx, x, TUint64)
			if t.Class == Int || t.Class == Bool || t.Class == Double || t.Class == Float || t.Class == Decimal {
				x = convert(ctx, args[0], TBigInt)
			}
		}
		return newCall("HEX", TString(16, ctx.collation()), func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.Str)
			ev.rows(func(i int) {
				out.SetBytes(i, []byte(upper(strconv.FormatUint(uint64(intAt(ev.args[0], i)), 16))))
			})
			return out, nil
		}, x), nil
	}
	x = asText(ctx, x)
	return newCall("HEX", TString(2*4*x.Type().Length, ctx.collation()), func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.Str)
		ev.rows(func(i int) {
			out.SetBytes(i, bytes.ToUpper(hex.AppendEncode(nil, storedBytes(ev.c.args[0].Type(), ev.args[0].Bytes(i)))))
		})
		return out, nil
	}, x), nil
}

// parseUUID reads the three spellings that MySQL takes.
func parseUUID(s []byte) (uuid.UUID, bool) {
	if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) != 36 && len(s) != 32 {
		return uuid.UUID{}, false
	}
	u, err := uuid.ParseBytes(s)
	return u, err == nil
}

// inetAton reads a, a.b, a.b.c and a.b.c.d, whose last part fills the rest with
// zeros before it.
func inetAton(s string) (int64, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 || s == "" {
		return 0, false
	}
	var x int64
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n > 255 {
			return 0, false
		}
		x = x<<8 | int64(n)
	}
	// 127.1 is 127.0.0.1.
	if k := len(parts); k < 4 && k > 1 {
		last := x & 0xFF
		x = (x>>8)<<(8*(4-k+1)) | last
	}
	return x, true
}

// randState is MySQL's generator (my_rnd): two linear congruential sequences.
type randState struct {
	mu   sync.Mutex
	a, b uint64
}

const randMax = 0x3FFFFFFF

func (r *randState) next() float64 {
	r.a = (r.a*3 + r.b) % randMax
	r.b = (r.a + r.b + 33) % randMax
	return float64(r.a) / float64(randMax)
}

func random(ctx *Context, args []Expr) (Expr, error) {
	t := TDouble.NotNull()
	if len(args) == 0 {
		return &call{name: "RAND", typ: t, traits: Volatile, perRow: true, kern: func(ev *evaluation) (*vector.Vec, error) {
			out := ev.out(vector.F64)
			ev.rows(func(i int) { out.F64s[i] = rand.Float64() })
			return out, nil
		}}, nil
	}
	if err := isNested(args...); err != nil {
		return nil, err
	}
	seeded := func(seed int64) *randState {
		x := uint32(seed)
		return &randState{a: uint64(x*0x10001+55555555) % randMax, b: uint64(x*0x10000001) % randMax}
	}
	c := &call{name: "RAND", args: []Expr{asSigned(ctx, args[0])}, typ: t, traits: Volatile, perRow: true, nulls: true}
	constant := IsConst(args[0])
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.F64)
		seed := func(i int) int64 {
			if ev.args[0].IsNull(i) {
				return 0
			}
			return intAt(ev.args[0], i)
		}
		if !constant {
			ev.rows(func(i int) { out.F64s[i] = seeded(seed(i)).next() })
			return out, nil
		}
		if ev.n == 0 {
			return out, nil
		}
		r := seeded(seed(0))
		if ev.ctx.state != nil {
			st, _ := ev.ctx.state.LoadOrStore(c, r)
			r = st.(*randState)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		ev.rows(func(i int) { out.F64s[i] = r.next() })
		return out, nil
	}
	return c, nil
}
