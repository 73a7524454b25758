package search

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

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

func (duckDuckGo) address() (page, header, format string) { return duckPage, "", "" }

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

// withoutBangs quotes words that begin with !, because they redirect to another site, and
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
func (duckDuckGo) read(r rawResponse) (engineReply, *failure) {
	p := readDuckDuckGo(r.body)
	switch {
	case r.status == http.StatusAccepted, r.status == http.StatusForbidden, r.status == http.StatusTooManyRequests,
		r.status == http.StatusTeapot, p.challenge:
		return engineReply{}, blocked(r.status)
	case r.status != http.StatusOK:
		return engineReply{}, statusFailure(r.status, r.header, false)
	case len(p.results) == 0 && !p.nothingFound:
		return engineReply{}, unreadable("the page has neither results nor a message that nothing was found")
	}
	return engineReply{results: p.results}, nil
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

// A duckDuckGoPage is a page of results.
type duckDuckGoPage struct {
	results      []Result
	nothingFound bool
	challenge    bool // a captcha
}

func readDuckDuckGo(body []byte) duckDuckGoPage {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil { // nested too deep: no page of DuckDuckGo is
		return duckDuckGoPage{}
	}
	p := duckDuckGoPage{
		nothingFound: doc.Find(".no-results, .result--no-result").Length() > 0,
		challenge:    doc.Find("#challenge-form, [class^=anomaly-modal], [action*='/anomaly.js']").Length() > 0,
	}
	doc.Find(".result").Not(".result--ad, .result--sponsored, .result--no-result").
		EachWithBreak(func(_ int, one *goquery.Selection) bool {
			link := one.Find("a.result__a").First()
			if to := target(link.AttrOr("href", "")); to != "" {
				p.results = append(p.results, Result{
					URL: to, Title: textOf(link), Snippet: textOf(one.Find(".result__snippet").First()),
					Date: dateIn(textOf(one.Find(".result__extras"))),
				})
			}
			return len(p.results) < maxItems
		})
	return p
}

// textOf returns the text of elements on one line. It is escaped, because tidy expects
// HTML.
func textOf(s *goquery.Selection) string {
	return html.EscapeString(strings.Join(strings.Fields(s.Text()), " "))
}
