package egress

import (
	"net"
	"net/netip"
	"slices"
)

// special are addresses of IPv4 that are not hosts of the internet, by the
// registries of IANA.
func special() []netip.Prefix {
	return prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32")
}

// special6 are the parts of 2000::/3 that lead elsewhere, or nowhere. Nothing
// outside of 2000::/3 is public.
func special6() []netip.Prefix {
	return prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

// metadata is where clouds keep what a machine should know, secrets included.
func metadata() []netip.Prefix {
	return prefixes("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fe80::/10", "fd00:ec2::/64", "fd20:ce::254/128")
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func in(a netip.Addr, all []netip.Prefix) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// public tells addresses of hosts on the internet. One that stands for another,
// such as ::ffff:10.0.0.1, is none.
func public(a netip.Addr, benchmark bool) bool {
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return false
	case a.Is4() && netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18}), 15).Contains(a):
		return benchmark
	case a.Is4():
		return !in(a, special())
	}
	b := a.As16()
	return b[0]>>5 == 1 && !in(a, special6()) && !holdsAnother(b)
}

// holdsAnother tells addresses that a router of this network may turn into one
// of IPv4: those of ISATAP end in 5efe and the other address.
func holdsAnother(b [16]byte) bool {
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// never tells addresses that are reached for nobody.
func never(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || in(a, metadata())
}

// isOurs tells addresses of this machine. What listens on one that is public
// may count on a wall that is not between us and it.
func isOurs(a netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false // a is public, or the operator allowed it
	}
	return slices.ContainsFunc(all, func(of net.Addr) bool {
		n, ok := of.(*net.IPNet)
		if !ok {
			return false
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		return ok && ip.Unmap() == a
	})
}
