package web

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// titled is what stands above the text: what a reader would see first. A title
// that the text itself begins with is not said twice. What the page calls its own
// address is said where it is another than the one it was read from.
func titled(p page.Page, format string, from *url.URL) string {
	title, site := line(p.Title, 300), line(p.Site, 200)
	if rest, told := begins(p.Text, title, format); told {
		title = ""
		if !strings.EqualFold(rest, site) {
			site = strings.TrimPrefix(site+" · "+rest, " · ")
		}
	}
	var b strings.Builder
	if title != "" {
		if format == "markdown" {
			b.WriteString("# ")
		}
		b.WriteString(title + "\n\n")
	}
	about := []string{line(p.Author, 200), line(p.Published, 200), strings.TrimSuffix(site, " · "), canonical(p.Canonical, from)}
	if about = slices.DeleteFunc(about, func(fact string) bool { return fact == "" }); len(about) > 0 {
		b.WriteString(strings.Join(about, " · ") + "\n\n")
	}
	return b.String()
}

// canonical is what is said of the address that a page calls its own.
func canonical(own string, from *url.URL) string {
	u, err := url.Parse(own)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	if samePage(u, from) {
		return ""
	}
	return "canonical " + line(own, 500)
}

// samePage reports whether two addresses differ in nothing that makes another
// page of one.
func samePage(a, b *url.URL) bool {
	return strings.EqualFold(a.Host, b.Host) && a.RawQuery == b.RawQuery &&
		strings.TrimSuffix(a.EscapedPath(), "/") == strings.TrimSuffix(b.EscapedPath(), "/")
}

// topLines is how many lines of a text its heading is looked for in.
const topLines = 6

// begins reports whether a text begins with a title, and what else that says:
// many are a heading and the name of the site.
func begins(text, title, format string) (rest string, told bool) {
	for seen := 0; seen < topLines && text != ""; {
		var one string
		one, text, _ = strings.Cut(text, "\n")
		said := saying(one)
		switch {
		case said == "":
			continue
		case said == saying(title) && !strings.HasPrefix(one, "!"): // the words of a picture are no heading
			return "", true
		}
		if strings.HasPrefix(one, "#") || format != "markdown" && seen == 0 {
			if rest, told = besides(title, said); told {
				return rest, true
			}
		}
		seen++
	}
	return "", false
}

// besides is what a title says before or behind a heading.
func besides(title, heading string) (rest string, found bool) {
	for _, mark := range []string{" | ", " - ", " – ", " — ", " · ", " • ", " » ", " :: "} {
		for at := 0; ; at += len(mark) {
			next := strings.Index(title[at:], mark)
			if next < 0 {
				break
			}
			at += next
			before, behind := title[:at], title[at+len(mark):]
			switch heading {
			case saying(before):
				return behind, true
			case saying(behind):
				return before, true
			}
		}
	}
	return "", false
}

// saying is the letters and digits of a line of Markdown, or of plain text,
// without where its links lead.
func saying(line string) string {
	var b strings.Builder
	for line != "" {
		before, behind, found := strings.Cut(line, "](")
		for _, c := range before {
			if unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) {
				b.WriteRune(unicode.ToLower(c))
			}
		}
		if _, line, _ = strings.Cut(behind, ")"); !found {
			break
		}
	}
	return b.String()
}
