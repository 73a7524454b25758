package egress

import (
	"fmt"
	"slices"
)

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
func (h Hosts) Has(t Target) bool { return anyMatches(h.patterns, t) }
