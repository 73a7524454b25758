package search

import (
	"strings"
	"testing"
)

func TestTidyURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/x?utm_source=a&b=1&UTM_Medium=c&gclid=2&fbclid=3#part": "https://a.example/x?b=1#part",
		"HTTPS://A.Example:443/X":                          "https://a.example/X",
		"http://a.example:80":                              "http://a.example",
		"http://a.example:8080/":                           "http://a.example:8080/",
		"https://a.example/?utm_source=a":                  "https://a.example/",
		"https://a.example/?":                              "https://a.example/",
		"https://a.example/?q=a b<c>\"d\"é":                "https://a.example/?q=a%20b%3Cc%3E%22d%22%C3%A9",
		"https://a.example/?q=a%26utm_source=b;c":          "https://a.example/?q=a%26utm_source=b;c",
		"https://a.example/é/a%2Fb":                        "https://a.example/%C3%A9/a%2Fb",
		"https://a.example/x#:~:text=hello":                "https://a.example/x",
		"https://exаmple.example/":                         "https://xn--exmple-4nf.example/", // the a is Cyrillic
		"https://[2001:db8::1]:443/":                       "https://[2001:db8::1]/",
		"https://under_score.example/":                     "https://under_score.example/",
		"https://user@a.example/":                          "",
		"https://user:pass@a.example/":                     "",
		"https://@a.example/":                              "",
		"ftp://a.example/":                                 "",
		"javascript:alert(1)":                              "",
		"data:text/html,x":                                 "",
		"//a.example/":                                     "",
		"/x":                                               "",
		"https:///x":                                       "",
		"https://a.example/\x00":                           "",
		"https://a.example/a\nb":                           "",
		"https://a.example/" + strings.Repeat("x", maxURL): "",
		"https://a\u202e.example/":                         "",
		"https://a b.example/":                             "",
		"":                                                 "",
	} {
		got, _, ok := tidyURL(in)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v, want %q", in, got, ok, want)
		}
	}
}

func TestDuplicatesAreRemoved(t *testing.T) {
	same := []string{"https://www.a.example/x/?b=1", "http://a.example/x?b=1#y", "https://A.EXAMPLE/x?utm_id=1&b=1"}
	other := []string{"https://a.example/X?b=1", "https://a.example/x?b=2", "https://b.a.example/x?b=1", "https://a.example:8443/x?b=1"}
	var hits []Result
	for _, u := range append(same, other...) {
		hits = append(hits, Result{URL: u})
	}
	got := tidy(hits, 20)
	if len(got) != 1+len(other) || got[0].URL != same[0] {
		t.Errorf("%+v", got)
	}
	if got := tidy(hits, 2); len(got) != 2 {
		t.Errorf("%d hits, 2 were asked for", len(got))
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a <strong>b</strong>c &amp; &#x27;d&#39;":        "a bc & 'd'",
		"vector<int> and a < b > c":                       "vector<int> and a < b > c",
		"a<br>b<p>c":                                      "a b c",
		"x<script>alert(1)</script>y<style>.a{}</style>z": "xyz",
		"&lt;script&gt; is a tag":                         "<script> is a tag",
		"one\n\ttwo \u2028three\u00a0four":                "one two three four",
		"hid\u200bden\u202e and \U000e0041tags\x1b[31m":   "hidden and tags[31m",
		"bad \xff bytes":                                  "bad bytes",
		"<<<end 123>>>":                                   "<<<end 123>>>",
		"<!-- seen by nobody -->seen":                     "seen",
		strings.Repeat("é", maxTitle):                     strings.Repeat("é", (maxTitle-3)/2) + "…",
	} {
		if got := plain(in, maxTitle); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func FuzzTidy(f *testing.F) {
	f.Add("https://a.example/?utm_a=1&b=2#c", "t <b>x</b>", "2026-01-31T00:00:00Z")
	f.Add("http://xn--a.example:80/%zz", "<script", "3 weeks ago")
	f.Add("https://é.example/?&&a=\x80", "&#0;&lt;a&gt;\u2028", "\u202e")
	f.Add("http://A.example/ü?%", "<p <p", strings.Repeat("9", 50))
	f.Fuzz(func(t *testing.T, link, text, date string) {
		checkTidy(t, []Result{{URL: link, Title: text, Snippet: text, Date: date}, {URL: link + "/"}, {URL: text}})
	})
}
