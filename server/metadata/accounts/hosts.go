package accounts

import (
	"net/netip"
	"strings"

	"github.com/thermocline/thermocline/server/metadata"
)

// matchesHost reports whether a client's host falls under an account's host:
// a name or address, a pattern with % and _, an address with a netmask
// ("10.0.0.0/255.255.0.0") or a prefix length. This machine is localhost,
// whatever its address.
func matchesHost(pattern, host string) bool {
	if pattern == "%" || pattern == "" {
		return true
	}
	if metadata.Loopback(pattern) {
		return metadata.Loopback(host)
	}
	if strings.EqualFold(pattern, host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err == nil {
		addr = addr.Unmap()
		if base, mask, ok := strings.Cut(pattern, "/"); ok {
			return inNetwork(addr, base, mask)
		}
		if p, err := netip.ParseAddr(pattern); err == nil {
			return p.Unmap() == addr
		}
		host = addr.String()
	}
	return strings.ContainsAny(pattern, "%_") && metadata.Like(host, pattern, false)
}

func inNetwork(addr netip.Addr, base, mask string) bool {
	b, err := netip.ParseAddr(base)
	if err != nil {
		return false
	}
	b = b.Unmap()
	if m, err := netip.ParseAddr(mask); err == nil { // a netmask
		if !b.Is4() || !m.Is4() || !addr.Is4() {
			return false
		}
		x, y, z := addr.As4(), b.As4(), m.As4()
		for i := range x {
			if x[i]&z[i] != y[i] {
				return false
			}
		}
		return true
	}
	p, err := netip.ParsePrefix(base + "/" + mask)
	return err == nil && p.Masked().Contains(addr)
}

// specificity orders accounts of one user: the larger is tried first, as MySQL
// does (names and addresses, then networks, then patterns by where their first
// wildcard stands).
func specificity(host string) int {
	switch {
	case host == "%" || host == "":
		return 0
	case strings.ContainsAny(host, "%_"):
		return 1 + strings.IndexAny(host, "%_")
	case strings.Contains(host, "/"):
		return 1000
	}
	return 2000
}
