package egress

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const maxURL = 8 << 10

// A link is a URL that may be requested: http or https, without user and fragment, with
// its host in normal form.
type link struct {
	url    *url.URL
	target Target
}

// parseLink parses and checks a URL. It does not look up the host.
func parseLink(text string) (link, error) {
	u, err := parseURL(text, url.Parse)
	if err != nil {
		return link{}, err
	}
	return newLink(u)
}

// resolve returns the link for the Location of a redirect from l.
func (l link) resolve(location string) (link, error) {
	u, err := parseURL(strings.Trim(location, " \t"), l.url.Parse)
	if err != nil {
		return link{}, err
	}
	return newLink(u)
}

// parseURL refuses URLs that programs parse in different ways.
func parseURL(text string, how func(string) (*url.URL, error)) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, tool.Errorf(tool.Invalid, "the URL has %d bytes, the maximum is %d", len(text),
			maxURL).Try("send long values in the request body")
	}
	for i := range len(text) {
		if b := text[i]; b < ' ' || b == 0x7f || b == '\\' {
			return nil, tool.Errorf(tool.Invalid, "the URL contains a control character or a backslash").
				Try("remove it, or escape it, such as %%5C")
		}
	}
	u, err := how(text)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "the URL is invalid").
			Try("use a URL such as https://example.org/path, with %%25 for a percent sign").Because(err)
	}
	return u, nil
}

func newLink(u *url.URL) (link, error) {
	switch {
	case u.Scheme == "" && u.Host == "":
		return link{}, tool.Errorf(tool.Invalid, "the URL does not begin with https://").
			Try("use a complete URL, such as https://example.org/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return link{}, tool.Errorf(tool.Invalid, "the scheme %q is not supported", short(u.Scheme)).
			Try("use https or http")
	case u.User != nil:
		return link{}, tool.Errorf(tool.Invalid, "the URL contains a user").
			Try("remove it, and set auth_profile to use a credential")
	case u.Opaque != "" || u.Host == "":
		return link{}, tool.Errorf(tool.Invalid, "the URL has no host").
			Try("use a URL such as https://example.org/path")
	}
	t, err := urlTarget(u)
	if err != nil {
		return link{}, err
	}
	out := &url.URL{Scheme: u.Scheme, Host: t.String(), Path: u.Path, RawPath: u.RawPath, ForceQuery: u.ForceQuery,
		RawQuery: escapeQuery(u.RawQuery)}
	if usual := defaultPort(u.Scheme); strconv.Itoa(int(t.Port)) == usual {
		out.Host = strings.TrimSuffix(out.Host, ":"+usual)
	}
	out.Path = cmp.Or(out.Path, "/")
	return link{out, t}, nil
}

// urlTarget returns host and port of a URL.
func urlTarget(u *url.URL) (Target, error) {
	host := u.Hostname()
	if strings.Contains(host, ":") != strings.HasPrefix(u.Host, "[") {
		return Target{}, invalidTarget(u.Host, "is not host:port")
	}
	return NewTarget(host, cmp.Or(u.Port(), defaultPort(u.Scheme)))
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func short(text string) string {
	const most = 40
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// escapeQuery escapes the characters that are invalid in a query. url.URL does not
// change them.
func escapeQuery(q string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(q) {
		if b := q[i]; b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>`{}|^", b) >= 0 {
			out.Write([]byte{'%', hex[b>>4], hex[b&15]})
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// origin returns scheme, host and port, the owner of credentials, cookies and headers.
func (l link) origin() string { return l.url.Scheme + "://" + l.target.String() }

// String returns the URL in normal form.
func (l link) String() string { return l.url.String() }

// site returns a link for errors, without path and query: these may contain secrets.
func (l link) site() string { return l.url.Scheme + "://" + l.url.Host }

// isNonHTTPPort reports whether a port is usual for another protocol. Its server may
// interpret an HTTP request as commands.
func isNonHTTPPort(port uint16) bool {
	_, is := slices.BinarySearch([]uint16{1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79,
		87, 95, 101, 102, 103, 104, 109, 110, 111,
		113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
		540, 548, 554, 556, 563, 587, 601, 636,
		989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
		6669, 6679, 6697, 10080}, port)
	return is
}

// checkLink returns an error if a link may not be requested because of its name or port.
func (r *rules) checkLink(l link) error {
	if err := r.checkName(l.target); err != nil {
		return err
	}
	named := func(p pattern) bool { return p.port != 0 && p.matches(l.target) }
	if isNonHTTPPort(l.target.Port) && !r.isPrivate(l.target) && !slices.ContainsFunc(r.allow, named) {
		return tool.Errorf(tool.Refused, "port %d is for another protocol", l.target.Port).
			Try("use port 443 or 80; the operator can allow a host with this port")
	}
	return nil
}
