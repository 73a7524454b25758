package search

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/idna"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxTitle   = 200 // bytes, as all of these
	maxSnippet = 500
	maxDate    = 40
	maxURL     = 2000
	maxText    = 20 << 10 // as an engine wrote it
)

// tidy returns at most count results in one form, each page once.
func tidy(found []Result, count int) []Result {
	var results []Result
	seen := make(map[string]bool)
	for _, r := range found {
		link, page, ok := tidyURL(r.URL)
		if !ok || seen[page] || len(results) >= count {
			continue
		}
		seen[page] = true
		date := plain(r.Date, maxDate)
		if day := dateIn(date); day != "" {
			date = day
		}
		results = append(results, Result{
			URL: link, Title: plain(r.Title, maxTitle), Snippet: plain(r.Snippet, maxSnippet), Date: date,
		})
	}
	return results
}

// tidyURL returns a link without tracking parameters, and a key that is the same for
// all links to the page. It reports false for links that should not be followed.
func tidyURL(text string) (link, page string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL || strings.ContainsRune(text, utf8.RuneError) {
		return "", "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", false
	}
	host := strings.ToLower(u.Hostname())
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._:[]") != "" {
		if host, err = idna.Lookup.ToASCII(host); err != nil { // shows look-alike characters
			return "", "", false
		}
	}
	port := u.Port()
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = ""
	}
	u.Host = host
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if port != "" {
		u.Host += ":" + port
	}
	u.RawQuery, u.RawPath = untracked(u.RawQuery), escaped(u.RawPath)
	u.ForceQuery = false
	if strings.HasPrefix(u.Fragment, ":~:") {
		u.Fragment, u.RawFragment = "", ""
	}
	if link = u.String(); len(link) > maxURL {
		return "", "", false
	}
	page = strings.TrimPrefix(u.Host, "www.") + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
	return link, page, true
}

// untracked removes tracking parameters from a query.
func untracked(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if pair != "" && !tracks(strings.ToLower(name)) {
			kept = append(kept, pair)
		}
	}
	return escaped(strings.Join(kept, "&"))
}

// escaped encodes the characters that are not allowed in a URL.
func escaped(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func tracks(name string) bool {
	return strings.HasPrefix(name, "utm_") || strings.HasPrefix(name, "mtm_") || strings.HasPrefix(name, "__hs") ||
		slices.Contains([]string{
			"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "ysclid", "twclid", "ttclid",
			"li_fat_id", "igshid",
			"igsh", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "hsctatracking", "vero_id", "oly_anon_id", "oly_enc_id",
			"_openstat", "srsltid",
			"rb_clickid", "s_cid", "wickedid", "_ga", "_gl", "epik", "ref_src",
		}, name)
}

// plain returns a text on one line without HTML tags. A text that only looks like a tag, as in
// vector<int>, stays.
func plain(s string, limit int) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	s = strings.ToValidUTF8(s, "")
	if strings.ContainsAny(s, "<&") {
		s = withoutTags(s)
	}
	s, _ = tool.Clean(s)
	return text.Clip(strings.Join(strings.Fields(s), " "), limit)
}

var (
	notShown  = text.Pattern(`(?is)<!--.*?-->|<script\b.*?</script>|<style\b.*?</style>`)
	blockTag  = text.Pattern(`(?i)</?(?:br|p|li|div|td|tr|ul|ol|h[1-6])\b[^<>]*>`)
	inlineTag = text.Pattern(`(?i)</?(?:a|abbr|b|code|em|font|i|img|mark|small|span|strong|su[bp]|u)\b[^<>]*>`)
)

func withoutTags(text string) string {
	text = blockTag().ReplaceAllString(notShown().ReplaceAllString(text, ""), " ")
	return html.UnescapeString(inlineTag().ReplaceAllString(text, ""))
}

var day = text.Pattern(`\b(\d{4}-\d{2}-\d{2})(T[0-9:.]+(Z|[+-]\d{2}:?\d{2})?)?(\s|$)`)

// dateIn returns the day in a text such as 2026-01-31T09:00:00.0000000.
func dateIn(text string) string {
	if found := day().FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
