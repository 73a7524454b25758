package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHost  = 253
	maxLabel = 63
)

// A Target is a host and a port in normal form.
type Target struct {
	Host string // lower case, ASCII, without a dot at the end; an address as netip writes it
	Port uint16
	Addr netip.Addr // when Host is an address
}

// String returns host:port, with an IPv6 address in brackets.
func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// ParseTarget parses host:port.
func ParseTarget(text string) (Target, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Target{}, invalidTarget(text, "is not host:port")
	}
	bracketed := strings.HasPrefix(text, "[")
	if bracketed != strings.Contains(host, ":") {
		return Target{}, invalidTarget(text, "has misplaced brackets")
	}
	return NewTarget(host, port)
}

// NewTarget parses a host, without brackets, and a port.
func NewTarget(host, port string) (Target, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return Target{}, invalidTarget(port, "is not a port")
	}
	name, addr, err := normalizeHost(host)
	if err != nil {
		return Target{}, invalidTarget(host, err.Error())
	}
	return Target{Host: name, Port: uint16(n), Addr: addr}, nil
}

func invalidTarget(text, what string) error {
	if len(text) > maxHost {
		text = text[:maxHost] + "..."
	}
	return tool.Errorf(tool.Invalid, "%q %s", text,
		what).Try("use a host such as example.org or 192.0.2.1, and a port from 1 to 65535")
}

// The reasons why a text is not a host.
var (
	errCharacters = errors.New("contains characters that are invalid in a host")
	errShape      = errors.New("is not a host")
	errNotation   = errors.New("is an address in an ambiguous notation")
)

// normalizeHost returns a host in normal form. It refuses addresses in other notations
// (octal, hexadecimal, a single number, missing parts): a resolver would treat them as
// names, but other programs as addresses.
func normalizeHost(host string) (string, netip.Addr, error) {
	if len(host) > 4*maxHost || !utf8.ValidString(host) ||
		strings.ContainsAny(host, "/\\@?#%[]<>\"'`{}|^*!$&()+,;=~ ") {
		return "", netip.Addr{}, errCharacters
	}
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Is4In6() {
			return "", netip.Addr{}, errNotation
		}
		return a.String(), a, nil
	}
	name, err := toASCII(host)
	if err != nil {
		return "", netip.Addr{}, err
	}
	name = strings.TrimSuffix(name, ".")
	if a, err := netip.ParseAddr(name); err == nil {
		if name != strings.TrimSuffix(host, ".") {
			return "", netip.Addr{}, errNotation
		}
		return name, a, nil
	}
	if isNumeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return "", netip.Addr{}, errNotation
	}
	return name, netip.Addr{}, checkLabels(name)
}

// toASCII returns a name as a resolver gets it.
func toASCII(host string) (string, error) {
	plain := true
	for i := range len(host) {
		if host[i] <= ' ' || host[i] == 0x7f {
			return "", errCharacters
		}
		plain = plain && host[i] < utf8.RuneSelf
	}
	if plain {
		return strings.ToLower(host), nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", errCharacters
	}
	return name, nil
}

// isNumeric reports whether a name with this last label is an address for some programs.
func isNumeric(label string) bool {
	if hex, is := strings.CutPrefix(label, "0x"); is {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func checkLabels(name string) error {
	if len(name) > maxHost {
		return errShape
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return errShape
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errCharacters
		}
	}
	return nil
}

// isInternalName reports whether a name is one of a local network.
func isInternalName(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, top := range []string{"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home",
		"lan", "home.arpa", "test"} {
		if host == top || isSubdomain(host, top) {
			return true
		}
	}
	return false
}

func isSubdomain(host, top string) bool {
	rest, ok := strings.CutSuffix(host, top)
	return ok && len(rest) > 1 && rest[len(rest)-1] == '.'
}

// parsePattern parses a pattern of the operator.
func parsePattern(text string) (pattern, error) {
	p := pattern{}
	host, err := p.cutPort(text)
	if err != nil {
		return p, err
	}
	if host == "*" {
		return p, nil
	}
	host, p.subdomains = strings.CutPrefix(host, "*.")
	name, addr, err := normalizeHost(host)
	if err != nil || p.subdomains && addr.IsValid() {
		return p, errPattern
	}
	p.host = name
	return p, nil
}

var errPattern = errors.New("use example.org, *.example.org or *, with or without :port")

// cutPort sets the port of a pattern, and returns its host without brackets.
func (p *pattern) cutPort(text string) (host string, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	} else if !ok && strings.Count(text, ":") != 1 {
		return text, nil
	} else {
		var port string
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", errPattern
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", errors.New("the port is a number from 1 to 65535")
		}
		p.port = uint16(n)
	}
	if strings.HasPrefix(text, "[") != strings.Contains(host, ":") {
		return "", errPattern
	}
	return host, nil
}
