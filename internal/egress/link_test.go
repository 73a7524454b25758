package egress

import (
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"http://example.org":                       "http://example.org/",
		"HTTPS://Example.ORG.:443/A?b#c":           "https://example.org/A?b",
		"https://example.org:80/":                  "https://example.org:80/",
		"http://example.org:0443/":                 "http://example.org:443/",
		"http://example.org:/x":                    "http://example.org/x",
		"http://[2606:4700:0::1111]/":              "http://[2606:4700::1111]/",
		"http://[2606:4700::1111]:443/":            "http://[2606:4700::1111]:443/",
		"http://8.8.8.8./":                         "http://8.8.8.8/",
		"http://b\u00fccher.example/\u00fc?\u00fc": "http://xn--bcher-kva.example/%C3%BC?%C3%BC",
		"http://example.org/a%2Fb/%61?x=%61":       "http://example.org/a%2Fb/%61?x=%61",
		"http://example.org?":                      "http://example.org/?",
		"http://example.org/?a b\"<>":              "http://example.org/?a%20b%22%3C%3E",
		"http://example.org/@me:x/http://y":        "http://example.org/@me:x/http://y",
		"http://under_score.example.org/":          "http://under_score.example.org/",
	} {
		if l, err := parseLink(text); err != nil || l.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, l, err, want)
		}
	}
}

func TestNextLinks(t *testing.T) {
	base := mustLink(t, "http://example.org/a/b?c=d")
	for location, want := range map[string]string{
		"e": "http://example.org/a/e", "/e": "http://example.org/e", "?e": "http://example.org/a/b?e",
		"//other.org": "http://other.org/", "../../../x": "http://example.org/x",
		" https://x.org/ ": "https://x.org/", "#x": "http://example.org/a/b?c=d", "http://x.org:80": "http://x.org/",
		"./": "http://example.org/a/",
	} {
		if l, err := base.resolve(location); err != nil || l.String() != want {
			t.Errorf("%q: %q, %v; want %q", location, l, err, want)
		}
	}
}

// checkLink checks what must be true for all links.
func checkLink(t *testing.T, text string, l link) {
	s := l.String()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatalf("%q: %q: %v", text, s, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Hostname() != l.target.Host {
		t.Errorf("%q: %q", text, s)
	}
	if strings.ContainsAny(s, "\r\n\t\x00 \\") || strings.ContainsAny(u.Host, "@%/?#") {
		t.Errorf("%q: %q", text, s)
	}
	again, err := parseLink(s)
	if len(s) <= maxURL && (err != nil || again.String() != s || again.target != l.target) {
		t.Errorf("%q: %q, then %q, %v", text, s, again, err)
	}
	if (&rules{}).checkLink(l) == nil && l.target.Addr.IsValid() && !isPublic(l.target.Addr) {
		t.Errorf("%q: %v may be asked", text, l.target)
	}
}

func seeds(f *testing.F) {
	all, _ := tricktest.URLs("80")
	for _, text := range all {
		f.Add(text)
	}
	for _, text := range []string{"http://example.org/a?b#c", "//x", "?", "#", "/%", "http://[::1]/",
		"http://\u00fc.example/", "a:b@c", "http://xn--a/"} {
		f.Add(text)
	}
}

func FuzzLink(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLink(text)
		if err == nil {
			checkLink(t, text, l)
		} else if kindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzLocation(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := mustLink(t, "https://example.org/a/b?c").resolve(text)
		if err == nil {
			checkLink(t, text, l)
		} else if kindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}
