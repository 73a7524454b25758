package browser

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxURL is the maximum length of a URL in bytes.
const maxURL = 8 << 10

// checkURL returns the complete URL for the URL of a request. It refuses schemes that do not
// use the proxy, such as file: and chrome:. The proxy decides about the hosts.
func checkURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "about:blank" {
		return text, nil
	}
	if clean, hidden := tool.Clean(text); hidden > 0 || strings.ContainsAny(clean, "\n\t\\") || len(text) > maxURL {
		return "",
			tool.Errorf(tool.Invalid,
				"the URL contains invalid characters or is too long").Try("send it as in the address bar of a browser")
	}
	if !strings.Contains(text, ":") || !strings.Contains(text, "://") && hostPort(text) {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", tool.Errorf(tool.Invalid, "%.200q is not a URL",
			text).Try("send a URL such as https://example.org/path")
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme != "http" && scheme != "https":
		return "", tool.Errorf(tool.Refused, "URLs of the scheme %.40q are not allowed", scheme+
			":").Try("use https or http; read_file reads files")
	case u.User != nil:
		return "", tool.Errorf(tool.Refused, "the URL contains a user name").Try("omit it, and log in on the page")
	case u.Hostname() == "":
		return "", tool.Errorf(tool.Invalid, "%.200q has no host",
			text).Try("send a URL such as https://example.org/path")
	}
	return text, nil
}

// hostPort reports whether text begins with host:port, so that the colon does not end a
// scheme.
func hostPort(text string) bool {
	_, rest, _ := strings.Cut(text, ":")
	port, _, _ := strings.Cut(rest, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

// siteOf returns the site of a URL. Approvals depend on it. A page without a host has its own
// site, so that an approval for it is not valid for another site.
func siteOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return cmp.Or(short(address, 100), "about:blank")
}

// forbiddenURL reports whether a page has a URL that is not from the web. Chromium does
// not let pages navigate there: this is a second check.
func forbidden(address string) bool {
	scheme, _, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "", "http", "https", "about", "blob", "data", "chrome-error":
		return false
	}
	return true
}

// documents returns the pattern of the requests for documents. In a browser for pages of the
// caller's own, ownDocument decides about them.
func documents() *fetch.RequestPattern {
	return &fetch.RequestPattern{URLPattern: "*", ResourceType: network.ResourceTypeDocument}
}

// ownDocument reports whether a browser for pages of the caller's own may load a document.
// Other documents could send requests to servers of the caller's commands.
func ownDocument(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return netaddr.IsThisMachine(u.Hostname())
	case "about", "blob", "data":
		return true
	}
	return false
}

// refusedSchemes returns patterns of the requests that are refused in the browser.
func refusedSchemes() []*fetch.RequestPattern {
	var all []*fetch.RequestPattern
	for _, scheme := range []string{"file", "chrome", "chrome-extension", "chrome-untrusted", "devtools", "view-source",
		"ftp", "filesystem", "isolated-app"} {
		all = append(all, &fetch.RequestPattern{URLPattern: scheme + ":*"})
	}
	return all
}
