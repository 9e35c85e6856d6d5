package expr

import (
	"net/netip"
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	address := func(name, usage, doc string, is func(b []byte) bool) {
		fn(spec{name: name, min: 1, max: 1, class: "misc", usage: usage, doc: doc, kinds: "t", ret: retBool,
			body: func(ev *evaluation) func(i int, out *vector.Vec) error {
				return func(i int, out *vector.Vec) error {
					out.I8s[i] = int8(b2i(is(ev.args[0].Bytes(i))))
					return nil
				}
			}})
	}
	address("IS_IPV4", "IS_IPV4(s)", "Whether s is an IPv4 address.", isIPv4)
	address("IS_IPV6", "IS_IPV6(s)", "Whether s is an IPv6 address.", func(b []byte) bool {
		a, err := netip.ParseAddr(string(b))
		return err == nil && a.Is6() && a.Zone() == ""
	})
	// Of the 16 bytes of INET6_ATON: 12 that say so, then an IPv4 address.
	address("IS_IPV4_COMPAT", "IS_IPV4_COMPAT(b)", "Whether the bytes of INET6_ATON are an IPv4-compatible address (::10.0.0.1).", func(b []byte) bool {
		return len(b) == 16 && strings.TrimLeft(string(b[:12]), "\x00") == "" && (b[12] != 0 || b[13] != 0 || b[14] != 0 || b[15] > 1)
	})
	address("IS_IPV4_MAPPED", "IS_IPV4_MAPPED(b)", "Whether the bytes of INET6_ATON are an IPv4-mapped address (::ffff:10.0.0.1).", func(b []byte) bool {
		return len(b) == 16 && string(b[:12]) == "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
	})
}

// isIPv4 reports whether b is four numbers of at most three digits, to 255.
func isIPv4(b []byte) bool {
	parts := strings.Split(string(b), ".")
	if len(parts) != 4 {
		return false
	}
	for _, p := range parts {
		n := 0
		if p == "" || len(p) > 3 {
			return false
		}
		for _, c := range []byte(p) {
			if c < '0' || c > '9' {
				return false
			}
			n = 10*n + int(c-'0')
		}
		if n > 255 {
			return false
		}
	}
	return true
}
