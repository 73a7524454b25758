// Package egress is the way out to hosts that strangers name: a model, a web
// page, a command in a sandbox. It lets them reach what is public and nothing
// inside: not this machine, its network, or the services of a cloud that answer
// whoever asks.
//
// It knows host names, addresses and what the operator allows, and it checks the
// address that is dialled, whatever a name said a moment before. It knows how to
// ask a host for something without telling others, and what an answer may cost.
// It does not know what answers mean, reads no setting from the environment, and
// knows nothing of sandboxes.
//
// Begin with [Rules] for what may be reached and [Dialer] for how. host.go says
// what counts as a name, address.go what as public. [Client] asks for URLs: link.go
// reads them, exchange.go sends one request and follows where it is redirected,
// pool.go keeps connections apart. [Proxy] is a Dialer for programs: HTTP and
// SOCKS5 on one socket.
package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Rules say what may be reached. The zero Rules let everything public through.
//
// A pattern is a host, or *.host for all beneath it, or *, each with a port or
// without: example.org, *.example.org:443, *:25, [2606:4700::1111]:443.
type Rules struct {
	Allow []string // patterns; when there are any, nothing else is reached
	Deny  []string // patterns; they come before all others
	// AllowPrivate lists host:port, exactly as they are asked for, that may be
	// at an address that is not public, and need not be in Allow.
	AllowPrivate []string
	// Benchmark lets 198.18.0.0/15 through, where proxies that make addresses
	// up put whole internets.
	Benchmark bool
	// Own are ports that this program listens on. They are not reached at any
	// address of this machine, whatever AllowPrivate says.
	Own []uint16
}

// rules are Rules that were read.
type rules struct {
	allow, deny []pattern
	private     []Target
	benchmark   bool
	own         []uint16
}

// A pattern matches targets.
type pattern struct {
	host       string // normalizeHost; "" for any
	subdomains bool   // what is beneath host, and not host
	port       uint16 // 0 for any
}

func (p pattern) matches(t Target) bool {
	switch {
	case p.port != 0 && p.port != t.Port:
		return false
	case p.host == "":
		return true
	case p.subdomains:
		return isSubdomain(t.Host, p.host)
	}
	return t.Host == p.host
}

func matchesAny(all []pattern, t Target) bool {
	return slices.ContainsFunc(all, func(p pattern) bool { return p.matches(t) })
}

func (r Rules) parse() (*rules, error) {
	out := &rules{benchmark: r.Benchmark, own: r.Own}
	for _, list := range []struct {
		name string
		from []string
		to   *[]pattern
	}{{"allow", r.Allow, &out.allow}, {"deny", r.Deny, &out.deny}} {
		for _, text := range list.from {
			p, err := parsePattern(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", list.name, text, err)
			}
			*list.to = append(*list.to, p)
		}
	}
	for _, text := range r.AllowPrivate {
		t, err := ParseTarget(text)
		if err != nil {
			return nil, fmt.Errorf("private hosts: %q: %s", text, tool.AsError(err).What)
		}
		if t.Addr.IsValid() && isForbidden(t.Addr) {
			return nil,
				fmt.Errorf("private hosts: %q is an address that gives away secrets of this machine, or no host's at all", text)
		}
		out.private = append(out.private, t)
	}
	return out, nil
}

// Check reports whether an address is public, or one that Benchmark lets through.
// It does not know the patterns, which are about what was asked for.
func (r Rules) Check(to netip.AddrPort) error {
	if to.Port() == 0 || !isPublic(to.Addr(), r.Benchmark) {
		return notPublicError(to.String())
	}
	return nil
}

// checkName reports whether a target may be reached by its name, before it is looked up.
func (r *rules) checkName(t Target) error {
	private := r.isPrivate(t)
	switch {
	case matchesAny(r.deny, t), !private && len(r.allow) > 0 && !matchesAny(r.allow, t):
		return deniedError(t.String())
	case t.Addr.IsValid():
		return r.checkAddress(t, t.Addr)
	case !private && isInternalName(t.Host):
		return notPublicError(t.String())
	}
	return nil
}

// checkAddress reports whether a target may be reached at an address.
func (r *rules) checkAddress(t Target, a netip.Addr) error {
	if a.Is4In6() {
		a = a.Unmap()
	}
	if matchesAny(r.deny, Target{Host: a.String(), Port: t.Port}) {
		return deniedError(t.String())
	}
	allowed := isPublic(a, r.benchmark) && !isLocal(a)
	if r.isPrivate(t) {
		allowed = !isForbidden(a) && !(slices.Contains(r.own, t.Port) && (a.IsLoopback() || isLocal(a)))
	}
	if !allowed {
		return notPublicError(t.String())
	}
	return nil
}

func (r *rules) isPrivate(t Target) bool {
	return slices.ContainsFunc(r.private, func(p Target) bool { return p.Host == t.Host && p.Port == t.Port })
}

// notPublicError returns the one answer for all that is inside: which of it there is, is
// not told.
func notPublicError(to string) error {
	return tool.Errorf(tool.Refused, "%q is not on the public internet", to).
		Try("use a public host; the operator can allow single hosts that are not")
}

func deniedError(to string) error {
	return tool.Errorf(tool.Refused, "the operator does not let %q be reached", to).
		Try("do without it, or ask the person to have the operator allow it")
}

// Hosts are those that an operator has listed, as patterns like those of [Rules].
// The zero Hosts are none.
type Hosts struct{ patterns []pattern }

// ParseHosts reads a list of patterns.
func ParseHosts(list []string) (Hosts, error) {
	var out Hosts
	for _, text := range list {
		p, err := parsePattern(text)
		if err != nil {
			return Hosts{}, fmt.Errorf("%q: %w", text, err)
		}
		out.patterns = append(out.patterns, p)
	}
	return out, nil
}

// HasPort reports whether a target is on the list by a pattern that says its port.
func (h Hosts) HasPort(t Target) bool {
	return slices.ContainsFunc(h.patterns, func(p pattern) bool { return p.port != 0 && p.matches(t) })
}

// Has reports whether a target is on the list.
func (h Hosts) Has(t Target) bool { return matchesAny(h.patterns, t) }

// reservedIPv4 are addresses of IPv4 that are not hosts of the internet, by the
// registries of IANA.
func reservedIPv4() []netip.Prefix {
	return parsePrefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24",
		"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
		"240.0.0.0/4",
		"168.63.129.16/32")
}

// reservedIPv6 returns the parts of 2000::/3 that lead elsewhere, or nowhere. Nothing
// outside of 2000::/3 is public.
func reservedIPv6() []netip.Prefix {
	return parsePrefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

// metadataAddresses returns where clouds keep what a machine should know, secrets included.
func metadataAddresses() []netip.Prefix {
	return parsePrefixes("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fe80::/10",
		"fd00:ec2::/64", "fd20:ce::254/128")
}

func parsePrefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func containedIn(a netip.Addr, all []netip.Prefix) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isPublic tells addresses of hosts on the internet. One that stands for another,
// such as ::ffff:10.0.0.1, is none.
func isPublic(a netip.Addr, benchmark bool) bool {
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return false
	case a.Is4() && netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18}), 15).Contains(a):
		return benchmark
	case a.Is4():
		return !containedIn(a, reservedIPv4())
	}
	b := a.As16()
	return b[0]>>5 == 1 && !containedIn(a, reservedIPv6()) && !isISATAP(b)
}

// isISATAP tells addresses that a router of this network may turn into one
// of IPv4: those of ISATAP end in 5efe and the other address.
func isISATAP(b [16]byte) bool {
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// isForbidden tells addresses that are reached for nobody.
func isForbidden(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() ||
		a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || containedIn(a, metadataAddresses())
}

// isLocal tells addresses of this machine. What listens on one that is public
// may count on a wall that is not between us and it.
func isLocal(a netip.Addr) bool {
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
