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
	host    string // normal; "" for any
	beneath bool   // what is beneath host, and not host
	port    uint16 // 0 for any
}

func (p pattern) matches(t Target) bool {
	switch {
	case p.port != 0 && p.port != t.Port:
		return false
	case p.host == "":
		return true
	case p.beneath:
		return isBeneath(t.Host, p.host)
	}
	return t.Host == p.host
}

func anyMatches(all []pattern, t Target) bool {
	return slices.ContainsFunc(all, func(p pattern) bool { return p.matches(t) })
}

func (r Rules) read() (*rules, error) {
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
		if t.Addr.IsValid() && never(t.Addr) {
			return nil, fmt.Errorf("private hosts: %q is an address that gives away secrets of this machine, or no host's at all", text)
		}
		out.private = append(out.private, t)
	}
	return out, nil
}

// Check says whether an address is public, or one that Benchmark lets through.
// It does not know the patterns, which are about what was asked for.
func (r Rules) Check(to netip.AddrPort) error {
	if to.Port() == 0 || !public(to.Addr(), r.Benchmark) {
		return refused(to.String())
	}
	return nil
}

// named says whether a target may be reached by its name, before it is looked up.
func (r *rules) named(t Target) error {
	private := r.isPrivate(t)
	switch {
	case anyMatches(r.deny, t), !private && len(r.allow) > 0 && !anyMatches(r.allow, t):
		return denied(t.String())
	case t.Addr.IsValid():
		return r.at(t, t.Addr)
	case !private && inside(t.Host):
		return refused(t.String())
	}
	return nil
}

// at says whether a target may be reached at an address.
func (r *rules) at(t Target, a netip.Addr) error {
	if a.Is4In6() {
		a = a.Unmap()
	}
	if anyMatches(r.deny, Target{Host: a.String(), Port: t.Port}) {
		return denied(t.String())
	}
	allowed := public(a, r.benchmark) && !isOurs(a)
	if r.isPrivate(t) {
		allowed = !never(a) && !(slices.Contains(r.own, t.Port) && (a.IsLoopback() || isOurs(a)))
	}
	if !allowed {
		return refused(t.String())
	}
	return nil
}

func (r *rules) isPrivate(t Target) bool {
	return slices.ContainsFunc(r.private, func(p Target) bool { return p.Host == t.Host && p.Port == t.Port })
}

// refused is the one answer for all that is inside: which of it there is, is
// not told.
func refused(to string) error {
	return tool.Errorf(tool.Refused, "%q is not on the public internet", to).
		Try("use a public host; the operator can allow single hosts that are not")
}

func denied(to string) error {
	return tool.Errorf(tool.Refused, "the operator does not let %q be reached", to).
		Try("do without it, or ask the person to have the operator allow it")
}
