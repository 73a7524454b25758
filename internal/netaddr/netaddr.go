// Package netaddr knows the names and addresses of this machine. It does not resolve names;
// package egress decides whether an address may be dialled.
package netaddr

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// IsLoopback reports whether host, a name or an address without a port, is
// localhost, a name below it, or a loopback address. Brackets are accepted.
func IsLoopback(host string) bool {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// IsThisMachine reports whether a client that connects to host reaches the machine that it
// runs on: host is a loopback name or address, or the unspecified address.
func IsThisMachine(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return IsLoopback(host) || err == nil && addr.Unmap().IsUnspecified()
}

// IsLoopbackAddress reports whether address, with a port, is on this machine.
func IsLoopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && IsLoopback(host)
}

// OfURL returns the host and the port of a URL, or "".
func OfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
