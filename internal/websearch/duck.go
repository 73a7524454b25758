package websearch

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// duck asks DuckDuckGo by the page it has for browsers without scripts.
type duck struct{}

const duckPage = "https://html.duckduckgo.com/html/"

// browser is what the page is asked as: it answers nobody else.
const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// regions are DuckDuckGo's, country first. Of several for a country the first is
// for those who ask for no language.
const regions = "ar-es au-en at-de be-fr be-nl br-pt bg-bg ca-en ca-fr ct-ca cl-es cn-zh co-es hr-hr cz-cs dk-da ee-et fi-fi fr-fr de-de " +
	"gr-el hk-tzh hu-hu in-en id-id id-en ie-en il-he it-it jp-jp kr-kr lv-lv lt-lt my-ms my-en mx-es nl-nl nz-en no-no pe-es ph-en " +
	"ph-tl pl-pl pt-pt ro-ro ru-ru sg-en sk-sk sl-sl za-en es-es se-sv ch-de ch-fr ch-it tw-tzh th-th tr-tr ua-uk uk-en us-en us-es vn-vi"

func (duck) request(q web.Query) (r outbound.Request, unheeded []string, err error) {
	values := url.Values{"q": {unbanged(q.Text)}}
	region, spoken := regionOf(q.Country, q.Language)
	if region != "" {
		values.Set("kl", region)
	}
	if q.Country != "" && region == "" {
		unheeded = append(unheeded, "country")
	}
	if q.Language != "" && !spoken {
		unheeded = append(unheeded, "language")
	}
	if when, known := map[string]string{"day": "d", "week": "w", "month": "m", "year": "y"}[q.Freshness]; known {
		values.Set("df", when)
	} else if q.Freshness != "" {
		values.Set("df", q.Freshness) // from..to is how it is written here too
	}
	language := "en-US,en;q=0.5"
	if q.Language != "" {
		language = q.Language + ",en;q=0.5"
	}
	return outbound.Request{
		URL:    duckPage + "?" + values.Encode(),
		Polite: true,
		Header: http.Header{"User-Agent": {browser}, "Accept": {"text/html,application/xhtml+xml"}, "Accept-Language": {language}},
	}, unheeded, nil
}

// unbanged takes from a search what sends it to another site: words with ! before
// them, and the backslash that asks for the first result.
func unbanged(text string) string {
	words := strings.Fields(strings.TrimLeft(strings.TrimSpace(text), `\`))
	for i, word := range words {
		if strings.HasPrefix(word, "!") && len(word) > 1 {
			words[i] = `"` + strings.ReplaceAll(word, `"`, "") + `"`
		}
	}
	return strings.Join(words, " ")
}

// regionOf returns the region of a country, and whether it is of the language.
func regionOf(country, language string) (region string, spoken bool) {
	country = strings.ToLower(country)
	if country == "gb" {
		country = "uk"
	}
	language = strings.ToLower(language)
	if own, ok := map[string]string{"ja": "jp", "ko": "kr", "nb": "no", "nn": "no"}[language]; ok {
		language = own
	}
	for one := range strings.FieldsSeq(regions) {
		of, speaks, _ := strings.Cut(one, "-")
		switch {
		case of != country:
		case language != "" && strings.TrimPrefix(speaks, "t") == language:
			return one, true
		case region == "":
			region = one
		}
	}
	return region, false
}

// read reads the page. A page without results must say that there are none: else
// it is another page than we know.
func (duck) read(a answer) ([]web.Hit, *failure) {
	p := readDuck(a.body)
	switch {
	case a.status == http.StatusAccepted, a.status == http.StatusForbidden, a.status == http.StatusTooManyRequests, a.status == http.StatusTeapot, p.challenge:
		return nil, blocked(a.status)
	case a.status != http.StatusOK:
		return nil, statusFailure(a.status, a.header, false)
	case len(p.hits) == 0 && !p.none:
		return nil, unreadable("its page has neither results nor a word that there are none")
	}
	return p.hits, nil
}

// target is the page that a link of DuckDuckGo leads to; "" for advertising and
// for what stays there.
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
		// What is within is whole: anything else would lead back here.
		if href = inner; !strings.Contains(href, "://") {
			return ""
		}
		if again, err := url.Parse(href); err == nil && isDuckItself(again) {
			return href
		}
	}
	return ""
}

// isDuckItself tells a page about DuckDuckGo, which may be a result, from the
// links that lead through it.
func isDuckItself(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	ours := host == "duckduckgo.com" || strings.HasSuffix(host, ".duckduckgo.com")
	return ours && !strings.HasPrefix(u.Path, "/l/") && !strings.HasSuffix(u.Path, ".js") && !u.Query().Has("ad_domain")
}
