package page

import (
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxURL is how long an address may be, in bytes.
const maxURL = 2048

// inBrackets encodes what would end an address in Markdown.
var inBrackets = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "|", "%7C", "\"", "%22", "`", "%60", "\\", "%5C")

// breaks takes out what browsers leave out of addresses.
var breaks = strings.NewReplacer("\n", "", "\t", "")

// baseURL is what relative addresses of a page are relative to.
func baseURL(href string, page *url.URL) *url.URL {
	if base, err := url.Parse(address(page, href)); err == nil && base.IsAbs() {
		return base
	}
	return page
}

// address is the absolute form of a link that a reader can follow; "" is none.
// Links that run or carry something instead of leading somewhere are none.
func address(base *url.URL, href string) string {
	if strings.Contains(href, "\n") && strings.Contains(href, "<") { // a quote that was left open
		return ""
	}
	if href = strings.TrimSpace(href); !tidy(href) {
		href, _ = tool.Clean(href)
		href = breaks.Replace(strings.TrimSpace(href))
	}
	if href == "" || len(href) > maxURL {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		if u, err = url.Parse(strings.NewReplacer("%", "%25", " ", "%20").Replace(href)); err != nil {
			return ""
		}
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch strings.ToLower(u.Scheme) {
	case "", "http", "https", "mailto", "tel", "ftp":
	default:
		return ""
	}
	if u.User != nil { // what looks like a host and is a name
		u.User = nil
	}
	text := u.String()
	if len(text) > maxURL {
		return ""
	}
	return inBrackets.Replace(text)
}
