package egress

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const maxURL = 8 << 10

// A link is a URL that can be asked: of http or https, without a user or a
// fragment, its host written in the one way that there is.
type link struct {
	url    *url.URL
	target Target
}

// parseLink reads a URL as a stranger wrote it. Nothing is looked up.
func parseLink(text string) (link, error) {
	u, err := parseURL(text, url.Parse)
	if err != nil {
		return link{}, err
	}
	return newLink(u)
}

// resolve reads where an answer from l redirects to.
func (l link) resolve(location string) (link, error) {
	u, err := parseURL(strings.Trim(location, " \t"), l.url.Parse)
	if err != nil {
		return link{}, err
	}
	return newLink(u)
}

// parseURL refuses what programs read in more ways than one.
func parseURL(text string, how func(string) (*url.URL, error)) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, tool.Errorf(tool.Invalid, "the URL has %d bytes, and the most is %d", len(text),
			maxURL).Try("send what is long in the body of a request")
	}
	for i := range len(text) {
		if b := text[i]; b < ' ' || b == 0x7f || b == '\\' {
			return nil,
				tool.Errorf(tool.Invalid,
					"the URL holds a control character or a backslash").Try("leave it out, or write it with a percent sign, as %%5C")
		}
	}
	u, err := how(text)
	if err != nil {
		return nil,
			tool.Errorf(tool.Invalid,
				"this is not a URL").Try("write it as https://example.org/path, with %%25 for a percent sign").Because(err)
	}
	return u, nil
}

func newLink(u *url.URL) (link, error) {
	switch {
	case u.Scheme == "" && u.Host == "":
		return link{},
			tool.Errorf(tool.Invalid,
				"the URL does not begin with https://").Try("write it whole, as https://example.org/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return link{}, tool.Errorf(tool.Invalid, "URLs of %q are not asked",
			short(u.Scheme)).Try("use one of https or http")
	case u.User != nil:
		return link{},
			tool.Errorf(tool.Invalid, "the URL holds a user").Try("leave it out; credentials come from an auth profile")
	case u.Opaque != "" || u.Host == "":
		return link{}, tool.Errorf(tool.Invalid, "the URL has no host").Try("write it as https://example.org/path")
	}
	port, usual := u.Port(), defaultPort(u.Scheme)
	if port == "" {
		port = usual
	}
	host := u.Hostname()
	if strings.Contains(host, ":") != strings.HasPrefix(u.Host, "[") {
		return link{}, invalidTarget(u.Host, "is not host:port")
	}
	t, err := NewTarget(host, port)
	if err != nil {
		return link{}, err
	}
	out := &url.URL{Scheme: u.Scheme, Host: t.String(), Path: u.Path, RawPath: u.RawPath, ForceQuery: u.ForceQuery,
		RawQuery: escapeQuery(u.RawQuery)}
	if strconv.Itoa(int(t.Port)) == usual {
		out.Host = strings.TrimSuffix(out.Host, ":"+usual)
	}
	if out.Path == "" {
		out.Path = "/"
	}
	return link{out, t}, nil
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

// escapeQuery writes what is in no request as it is. url.URL keeps a query as it
// came.
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

// origin returns what credentials, cookies and headers belong to.
func (l link) origin() string { return l.url.Scheme + "://" + l.target.String() }

// String returns the URL as it is asked.
func (l link) String() string { return l.url.String() }

// site names a link in an error: its query may hold what nobody should see.
func (l link) site() string { return l.url.Scheme + "://" + l.url.Host }

// isNonHTTPPort reports whether something else than HTTP is usual at a port. A request
// may be read as a command there.
func isNonHTTPPort(port uint16) bool {
	_, is := slices.BinarySearch([]uint16{1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79,
		87, 95, 101, 102, 103, 104, 109, 110, 111,
		113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
		540, 548, 554, 556, 563, 587, 601, 636,
		989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
		6669, 6679, 6697, 10080}, port)
	return is
}

// checkLink reports whether a link may be asked for under rules, before it is looked up.
func (r *rules) checkLink(l link) error {
	if err := r.checkName(l.target); err != nil {
		return err
	}
	named := func(p pattern) bool { return p.port != 0 && p.matches(l.target) }
	if isNonHTTPPort(l.target.Port) && !r.isPrivate(l.target) && !slices.ContainsFunc(r.allow, named) {
		return tool.Errorf(tool.Refused, "port %d is not one of the web",
			l.target.Port).Try("use port 443 or 80; the operator can allow a host with this port")
	}
	return nil
}
