// Package egress connects to hosts that untrusted parties name: a model, a web page, or
// a command in a sandbox. It reaches public addresses, and neither this machine nor its
// network nor the metadata services of clouds.
//
// It knows host names, addresses, and the operator's rules. It checks the address of every
// connection just before it is made, so that a name that changes its address gains nothing. It
// does not interpret responses, reads no settings from the environment, and knows nothing of
// sandboxes.
//
// Begin with [Rules] for the allowed hosts, and [Dialer] for connections. [Client] sends HTTP
// requests: link.go parses URLs, exchange.go sends a request and follows redirects, client.go
// owns the connections. [Proxy] makes a Dialer available to programs over HTTP.
package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Rules are the hosts and addresses that may be reached. The zero Rules allow all public
// addresses.
//
// A pattern is a host, *.host for its subdomains, or *, each with or without a port:
// example.org, *.example.org:443, *:25, [2606:4700::1111]:443.
type Rules struct {
	Allow []string // patterns; if there are any, only these are reached
	Deny  []string // patterns; they override Allow and AllowPrivate
	// AllowPrivate lists host:port, exactly as requested, that may have a private
	// address. They need not be in Allow.
	AllowPrivate []string
	// Own are the ports of this program. They are not reached at any address of this machine,
	// even if AllowPrivate lists them.
	Own []uint16
	// Setting is the name of the setting of AllowPrivate, for errors; "" if there is none.
	Setting string
}

// rules are parsed Rules.
type rules struct {
	allow, deny []pattern
	private     []Target
	own         []uint16
	setting     string
}

// A pattern matches targets.
type pattern struct {
	host       string // normalized; "" for any
	subdomains bool   // matches the subdomains of host instead of host
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

func parsePatterns(list []string) (all []pattern, err error) {
	for _, text := range list {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (r Rules) parse() (*rules, error) {
	out := &rules{own: r.Own, setting: r.Setting}
	var err error
	if out.allow, err = parsePatterns(r.Allow); err != nil {
		return nil, fmt.Errorf("allow: %w", err)
	}
	if out.deny, err = parsePatterns(r.Deny); err != nil {
		return nil, fmt.Errorf("deny: %w", err)
	}
	for _, text := range r.AllowPrivate {
		t, err := ParseTarget(text)
		if err != nil {
			return nil, fmt.Errorf("private hosts: %q: %s", text, tool.AsError(err).What)
		}
		if t.Addr.IsValid() && isForbidden(t.Addr) {
			return nil, fmt.Errorf("private hosts: %q is a metadata service or not the address of a host", text)
		}
		out.private = append(out.private, t)
	}
	return out, nil
}

// checkName returns an error if a target may not be reached because of its name.
func (r *rules) checkName(t Target) error {
	private := r.isPrivate(t)
	switch {
	case matchesAny(r.deny, t), !private && len(r.allow) > 0 && !matchesAny(r.allow, t):
		return deniedError(t.String())
	case t.Addr.IsValid():
		return r.checkAddress(t, t.Addr)
	case !private && isInternalName(t.Host):
		return r.notPublicError(t)
	}
	return nil
}

// checkAddress returns an error if a target may not be reached at an address.
func (r *rules) checkAddress(t Target, a netip.Addr) error {
	if a.Is4In6() {
		a = a.Unmap()
	}
	if matchesAny(r.deny, Target{Host: a.String(), Port: t.Port}) {
		return deniedError(t.String())
	}
	allowed := isPublic(a) && !isLocal(a)
	if r.isPrivate(t) {
		allowed = !isForbidden(a) && !(slices.Contains(r.own, t.Port) && (a.IsLoopback() || isLocal(a)))
	}
	if !allowed {
		return r.notPublicError(t)
	}
	return nil
}

func (r *rules) isPrivate(t Target) bool {
	return slices.ContainsFunc(r.private, func(p Target) bool { return p.Host == t.Host && p.Port == t.Port })
}

// notPublicError returns the error for private addresses. It is the same whether they
// exist or not, so that a caller cannot explore the network with it.
func (r *rules) notPublicError(to Target) error {
	err := tool.Errorf(tool.Refused, "%q is not on the public internet", to.String())
	if r.setting == "" {
		return err.Try("use a public host, such as a public mirror")
	}
	return err.Try("use a public host; the operator can allow this one with %s: [%q]", r.setting, to.String())
}

func deniedError(to string) error {
	return tool.Errorf(tool.Refused, "the operator does not allow %q", to).
		Try("use another host, or ask the user to have the operator allow it")
}

// Hosts is a list of patterns, as in [Rules]. The zero Hosts match nothing.
type Hosts struct{ patterns []pattern }

// ParseHosts parses a list of patterns.
func ParseHosts(list []string) (Hosts, error) {
	patterns, err := parsePatterns(list)
	return Hosts{patterns}, err
}

// HasPort reports whether a pattern with a port matches a target.
func (h Hosts) HasPort(t Target) bool {
	return slices.ContainsFunc(h.patterns, func(p pattern) bool { return p.port != 0 && p.matches(t) })
}

// Has reports whether a pattern matches a target.
func (h Hosts) Has(t Target) bool { return matchesAny(h.patterns, t) }

// reservedIPv4 returns the prefixes that IANA's registries do not list as public, and the
// address of Azure's service for virtual machines.
func reservedIPv4() []netip.Prefix {
	return parsePrefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24",
		"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32")
}

// reservedIPv6 returns the prefixes of 2000::/3 that are tunnels or not routed. Nothing
// outside 2000::/3 is public.
func reservedIPv6() []netip.Prefix {
	return parsePrefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

// metadataAddresses returns the prefixes of the metadata services of clouds.
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

// isPublic reports whether an address is the address of a host on the internet. IPv4 addresses
// in IPv6 notation, such as ::ffff:10.0.0.1, are not.
func isPublic(a netip.Addr) bool {
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return false
	case a.Is4():
		return !containedIn(a, reservedIPv4())
	}
	b := a.As16()
	return b[0]>>5 == 1 && !containedIn(a, reservedIPv6()) && !isISATAP(b)
}

// isISATAP reports whether an IPv6 address ends in 5efe and an IPv4 address. A router of
// this network may send packets for such an address to the IPv4 address.
func isISATAP(b [16]byte) bool {
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// isForbidden reports whether not even AllowPrivate may allow an address.
func isForbidden(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() ||
		a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || containedIn(a, metadataAddresses())
}

// isLocal reports whether an address belongs to this machine. A service that listens on
// a public address of this machine may rely on a firewall that does not apply to us.
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
