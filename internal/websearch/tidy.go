package websearch

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/idna"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

const (
	longestTitle   = 200 // bytes, as all of these
	longestSnippet = 500
	longestDate    = 40
	longestURL     = 2000
	longestText    = 20 << 10 // as an engine wrote it
)

// tidy brings results into one form: each page once, at most count of them.
func tidy(found []web.Hit, count int) []web.Hit {
	var hits []web.Hit
	seen := make(map[string]bool)
	for _, h := range found {
		link, same, ok := tidyURL(h.URL)
		if !ok || seen[same] || len(hits) >= count {
			continue
		}
		seen[same] = true
		date := plain(h.Date, longestDate)
		if day := dateIn(date); day != "" {
			date = day
		}
		hits = append(hits, web.Hit{URL: link, Title: plain(h.Title, longestTitle), Snippet: plain(h.Snippet, longestSnippet), Date: date})
	}
	return hits
}

// tidyURL returns a link without what tracks who follows it, and what is the
// same for all links to the page. It is not ok when no person should follow it.
func tidyURL(text string) (link, same string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > longestURL || strings.ContainsRune(text, utf8.RuneError) {
		return "", "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", false
	}
	host := strings.ToLower(u.Hostname())
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._:[]") != "" {
		if host, err = idna.Lookup.ToASCII(host); err != nil { // so that look-alikes are seen
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
	if link = u.String(); len(link) > longestURL {
		return "", "", false
	}
	same = strings.TrimPrefix(u.Host, "www.") + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
	return link, same, true
}

// untracked takes from a query what names the way by which somebody came.
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

// escaped encodes what no URL may hold, and leaves the rest as it is.
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
	return strings.HasPrefix(name, "utm_") || strings.HasPrefix(name, "mtm_") || strings.HasPrefix(name, "__hs") || slices.Contains([]string{
		"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "igshid",
		"igsh", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "hsctatracking", "vero_id", "oly_anon_id", "oly_enc_id", "_openstat", "srsltid",
		"rb_clickid", "s_cid", "wickedid", "_ga", "_gl", "epik", "ref_src",
	}, name)
}

// plain is a text in one line, without the tags that make letters bold and the
// like. What only looks like a tag, as in vector<int>, is kept.
func plain(text string, most int) string {
	if len(text) > longestText {
		text = text[:longestText]
	}
	text = strings.ToValidUTF8(text, "")
	if strings.ContainsAny(text, "<&") {
		text = withoutTags(text)
	}
	text, _ = tool.Clean(text)
	return cut(strings.Join(strings.Fields(text), " "), most)
}

func withoutTags(text string) string {
	var b strings.Builder
	var unread atom.Atom // whose text nobody reads
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			if unread == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			raw := string(z.Raw())
			name, _ := z.TagName()
			known := atom.Lookup(name)
			switch unread = 0; {
			case kind == html.StartTagToken && (known == atom.Script || known == atom.Style):
				unread = known
			case known == 0:
				b.WriteString(raw)
			case known == atom.Br || known == atom.P || known == atom.Li || known == atom.Div || known == atom.Td:
				b.WriteByte(' ')
			}
		}
	}
}

var day = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2})(T[0-9:.]+(Z|[+-]\d{2}:?\d{2})?)?(\s|$)`)

// dateIn finds the day in a text such as 2026-01-31T09:00:00.0000000.
func dateIn(text string) string {
	if found := day.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// cut shortens a text between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most -= len("…")
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.TrimRight(text[:most], " ") + "…"
}
