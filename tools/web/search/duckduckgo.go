package search

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// duckDuckGo uses the page of DuckDuckGo for browsers without JavaScript.
type duckDuckGo struct{}

const duckPage = "https://html.duckduckgo.com/html/"

// browserAgent is sent as User-Agent: the page does not respond to others.
const browserAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// regions are the regions of DuckDuckGo, country first. The first one of a country is
// for queries without a language.
const regions = "ar-es au-en at-de be-fr be-nl br-pt bg-bg ca-en ca-fr ct-ca cl-es cn-zh co-es hr-hr cz-cs dk-da " +
	"ee-et fi-fi fr-fr de-de " +
	"gr-el hk-tzh hu-hu in-en id-id id-en ie-en il-he it-it jp-jp kr-kr lv-lv lt-lt my-ms my-en mx-es nl-nl " +
	"nz-en no-no pe-es ph-en " +
	"ph-tl pl-pl pt-pt ro-ro ru-ru sg-en sk-sk sl-sl za-en es-es se-sv ch-de ch-fr ch-it tw-tzh th-th tr-tr " +
	"ua-uk uk-en us-en us-es vn-vi"

func (duckDuckGo) request(q Query) (r outbound.Request, ignored []string, err error) {
	values := url.Values{"q": {withoutBangs(q.Text)}}
	region, hasLanguage := regionOf(q.Country, q.Language)
	if region != "" {
		values.Set("kl", region)
	}
	if q.Country != "" && region == "" {
		ignored = append(ignored, "country")
	}
	if q.Language != "" && !hasLanguage {
		ignored = append(ignored, "language")
	}
	if when, known := map[string]string{"day": "d", "week": "w", "month": "m", "year": "y"}[q.Freshness]; known {
		values.Set("df", when)
	} else if q.Freshness != "" {
		values.Set("df", q.Freshness) // DuckDuckGo also writes ranges as from..to
	}
	language := "en-US,en;q=0.5"
	if q.Language != "" {
		language = q.Language + ",en;q=0.5"
	}
	return outbound.Request{
		URL:    duckPage + "?" + values.Encode(),
		Polite: true,
		Header: http.Header{
			"User-Agent": {browserAgent}, "Accept": {"text/html,application/xhtml+xml"}, "Accept-Language": {language},
		},
	}, ignored, nil
}

// withoutBangs quotes words that begin with !, which redirect to another site, and
// removes the backslash that redirects to the first result.
func withoutBangs(text string) string {
	words := strings.Fields(strings.TrimLeft(strings.TrimSpace(text), `\`))
	for i, word := range words {
		if strings.HasPrefix(word, "!") && len(word) > 1 {
			words[i] = `"` + strings.ReplaceAll(word, `"`, "") + `"`
		}
	}
	return strings.Join(words, " ")
}

// regionOf returns the region for a country, and whether it has the language.
func regionOf(country, language string) (region string, hasLanguage bool) {
	country = strings.ToLower(country)
	if country == "gb" {
		country = "uk"
	}
	language = strings.ToLower(language)
	if code, ok := map[string]string{"ja": "jp", "ko": "kr", "nb": "no", "nn": "no"}[language]; ok {
		language = code
	}
	for one := range strings.FieldsSeq(regions) {
		regionCountry, regionLanguage, _ := strings.Cut(one, "-")
		switch {
		case regionCountry != country:
		case language != "" && strings.TrimPrefix(regionLanguage, "t") == language:
			return one, true
		case region == "":
			region = one
		}
	}
	return region, false
}

// read reads the page. A page without results must say that nothing was found: else
// its layout has changed.
func (duckDuckGo) read(r rawResponse) ([]Result, *failure) {
	p := readDuckDuckGo(r.body)
	switch {
	case r.status == http.StatusAccepted, r.status == http.StatusForbidden, r.status == http.StatusTooManyRequests,
		r.status == http.StatusTeapot, p.challenge:
		return nil, blocked(r.status)
	case r.status != http.StatusOK:
		return nil, statusFailure(r.status, r.header, false)
	case len(p.results) == 0 && !p.nothingFound:
		return nil, unreadable("the page has neither results nor a message that nothing was found")
	}
	return p.results, nil
}

// target returns the page that a link of DuckDuckGo leads to; "" for advertising and
// links within DuckDuckGo.
func target(href string) string {
	base, err := url.Parse(duckPage)
	if err != nil {
		return ""
	}
	for range 3 { // a link may wrap a link
		u, err := base.Parse(strings.TrimSpace(href))
		if err != nil {
			return ""
		}
		host := strings.ToLower(u.Hostname())
		if host != "duckduckgo.com" && !strings.HasSuffix(host, ".duckduckgo.com") {
			return u.String()
		}
		inner := u.Query().Get("uddg")
		if inner == "" || !strings.HasPrefix(u.Path, "/l/") {
			return ""
		}
		// A relative address would lead back to DuckDuckGo.
		if href = inner; !strings.Contains(href, "://") {
			return ""
		}
		if again, err := url.Parse(href); err == nil && isAboutDuckDuckGo(again) {
			return href
		}
	}
	return ""
}

// isAboutDuckDuckGo reports whether an address is a page of DuckDuckGo that can be a
// result, and not a redirect or an advertisement.
func isAboutDuckDuckGo(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	isOwn := host == "duckduckgo.com" || strings.HasSuffix(host, ".duckduckgo.com")
	return isOwn && !strings.HasPrefix(u.Path, "/l/") && !strings.HasSuffix(u.Path, ".js") &&
		!u.Query().Has("ad_domain")
}

// duckDuckGoPage is a result page, and the state of reading it.
type duckDuckGoPage struct {
	results      []Result
	nothingFound bool
	challenge    bool // a captcha

	ad      bool // the current result is an advertisement
	field   field
	element atom.Atom // that contains the field
	depth   int       // of elements with the same name
	text    strings.Builder
}

// field is a field of a result that is being read.
type field int

const (
	noField field = iota
	title
	snippet
	extras // may contain a date
)

// readDuckDuckGo reads a page from its tokens, without a tree: time and memory are
// linear in the size of the page.
func readDuckDuckGo(body []byte) *duckDuckGoPage {
	p := &duckDuckGoPage{}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			p.finish()
			return p
		case html.TextToken:
			if p.field != noField && p.text.Len() < maxText {
				p.text.Write(z.Raw()) // decoded by tidy
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z.Token())
		case html.EndTagToken:
			p.end(z.Token())
		}
		if len(p.results) >= maxItems && p.field == noField {
			return p
		}
	}
}

func (p *duckDuckGoPage) start(t html.Token) {
	classes := strings.Fields(attribute(t, "class"))
	has := func(class string) bool { return slices.Contains(classes, class) }
	if attribute(t, "id") == "challenge-form" ||
		slices.ContainsFunc(classes, func(c string) bool { return strings.HasPrefix(c, "anomaly-modal") }) ||
		strings.Contains(attribute(t, "action"), "/anomaly.js") {
		p.challenge = true
	}
	if p.field != noField {
		if t.DataAtom == p.element && t.DataAtom != 0 {
			p.depth++
		}
		if t.DataAtom == atom.Br || t.DataAtom == atom.Span {
			p.text.WriteByte(' ')
		}
		if !has("result") && !has("result__a") { // else the end tag of the field is missing
			return
		}
		p.finish()
	}
	switch {
	case has("no-results"), has("result--no-result"):
		p.nothingFound, p.ad = true, true // it looks like a result
	case has("result"):
		p.ad = has("result--ad") || has("result--sponsored")
	case has("result__a") && t.DataAtom == atom.A && !p.ad:
		p.link(attribute(t, "href"))
		p.take(title, t)
	case has("result__snippet"):
		p.take(snippet, t)
	case has("result__extras__url"), has("result__extras"):
		p.take(extras, t)
	}
}

// link begins a result, unless the link leads to an advertisement.
func (p *duckDuckGoPage) link(href string) {
	to := target(href)
	if to == "" {
		p.ad = true
		return
	}
	p.results = append(p.results, Result{URL: to})
}

func (p *duckDuckGoPage) take(f field, t html.Token) {
	if p.ad || len(p.results) == 0 || t.Type == html.SelfClosingTagToken || t.DataAtom == 0 {
		return
	}
	p.field, p.element, p.depth = f, t.DataAtom, 1
	p.text.Reset()
}

func (p *duckDuckGoPage) end(t html.Token) {
	if p.field == noField || t.DataAtom != p.element {
		return
	}
	if p.depth--; p.depth == 0 {
		p.finish()
	}
}

// finish sets the field of the result.
func (p *duckDuckGoPage) finish() {
	if p.field == noField || len(p.results) == 0 {
		return
	}
	text := strings.Join(strings.Fields(p.text.String()), " ")
	result := &p.results[len(p.results)-1]
	switch {
	case p.field == title:
		result.Title = text
	case p.field == snippet && result.Snippet == "":
		result.Snippet = text
	case p.field == extras && result.Date == "":
		result.Date = dateIn(text)
	}
	p.field = noField
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
