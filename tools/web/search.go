package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// webSearch searches the web.
type webSearch struct {
	searcher Searcher
	marks    tool.Marks
}

type webSearchArgs struct {
	Query     string   `json:"query" jsonschema:"what to look for" alias:"q,search_query" maxlen:"1000"`
	Count     int      `json:"count,omitempty" jsonschema:"results" alias:"max_results,num_results,limit" min:"1" max:"20" default:"5"`
	Provider  string   `json:"provider,omitempty" jsonschema:"only this engine" alias:"engine" maxlen:"40"`
	Freshness string   `json:"freshness,omitempty" jsonschema:"day, week, month, year or 2026-01-31..2026-02-28" alias:"time_range,recency" maxlen:"40"`
	Country   string   `json:"country,omitempty" jsonschema:"as in DE" maxlen:"20"`
	Language  string   `json:"language,omitempty" jsonschema:"as in de" alias:"search_lang,lang" maxlen:"20"`
	UILang    string   `json:"ui_lang,omitempty" jsonschema:"the language, when none is given" maxlen:"20" hidden:"true"`
	After     string   `json:"date_after,omitempty" jsonschema:"the first day" alias:"start_date" maxlen:"20" hidden:"true"`
	Before    string   `json:"date_before,omitempty" jsonschema:"the last day" alias:"end_date" maxlen:"20" hidden:"true"`
	Domains   []string `json:"domain_filter,omitempty" jsonschema:"sites, or with - before them sites to leave out" alias:"allowed_domains,include_domains" maxitems:"20" maxlen:"100" hidden:"true"`
	Without   []string `json:"blocked_domains,omitempty" jsonschema:"sites to leave out" alias:"exclude_domains" maxitems:"20" maxlen:"100" hidden:"true"`
}

func (webSearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "web_search", Group: group, Title: "Search the web", Risk: tool.Reads,
		Hints:    tool.Hints{Idempotent: true, OpenWorld: true},
		Doc:      "Searches the web: titles, URLs, snippets. Read a page with web_fetch.",
		Also:     []string{"WebSearch", "web_search_tool", "tool::web_search", "search_web", "google_search", "brave_web_search"},
		Timeout:  45 * time.Second,
		Keywords: "internet google find lookup news",
	}
}

func (t webSearch) Do(ctx context.Context, a webSearchArgs) (tool.Result, error) {
	q, err := a.query(time.Now())
	if err != nil {
		return tool.Result{}, err
	}
	hits, err := t.searcher.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(t.show(hits, q)), nil
}

// query is what is asked, in the one form that searchers know.
func (a webSearchArgs) query(now time.Time) (Query, error) {
	text, _ := tool.Clean(a.Query)
	q := Query{Text: strings.Join(strings.Fields(text), " "), Count: a.Count, Provider: strings.TrimSpace(a.Provider)}
	if q.Text == "" {
		return q, tool.Errorf(tool.Invalid, "the query is empty").Try("write what to look for")
	}
	sites, err := searchSites(a.Domains, a.Without)
	if err != nil {
		return q, err
	}
	q.Text += sites
	if q.Freshness, err = a.freshness(now); err != nil {
		return q, err
	}
	if q.Country, err = searchCountry(a.Country); err != nil {
		return q, err
	}
	if a.Language == "" {
		a.Language = a.UILang
	}
	q.Language, err = searchLanguage(a.Language)
	return q, err
}

// freshness reads the words for it, of other systems too.
func (a webSearchArgs) freshness(now time.Time) (string, error) {
	text := strings.ToLower(strings.TrimSpace(a.Freshness))
	words := map[string]string{"pd": "day", "d": "day", "pw": "week", "w": "week", "pm": "month", "m": "month", "py": "year", "y": "year", "24h": "day", "any": "", "all": ""}
	for _, word := range []string{"day", "week", "month", "year"} {
		words[word], words["past_"+word], words["past "+word] = word, word, word
	}
	word, known := words[text]
	if text == "" || known && word == "" {
		return searchRange(a.After, a.Before, now)
	}
	if known {
		return word, nil
	}
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		from, to, isRange = strings.Cut(text, "to")
	}
	if !isRange {
		return "", tool.Errorf(tool.Invalid, "freshness is %q", a.Freshness).Try("use day, week, month, year or two dates as in 2026-01-31..2026-02-28")
	}
	return searchRange(from, to, now)
}

// searchRange reads two days, of which one may be missing; both: "".
func searchRange(from, to string, now time.Time) (string, error) {
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == "" && to == "" {
		return "", nil
	}
	if from == "" {
		from = "1990-01-01" // before there was a web
	}
	if to == "" {
		to = now.UTC().Format(time.DateOnly)
	}
	for _, date := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return "", tool.Errorf(tool.Invalid, "%q is not a date", date).Try("write the dates as in 2026-01-31..2026-02-28")
		}
	}
	if from > to {
		return "", tool.Errorf(tool.Invalid, "the range of freshness ends on %s, before it begins on %s", to, from).Try("swap the dates")
	}
	return from + ".." + to, nil
}

// searchCountry reads two letters, in any case.
func searchCountry(text string) (string, error) {
	country := strings.ToUpper(strings.TrimSpace(text))
	switch country {
	case "", "ALL", "WT":
		return "", nil
	case "UK":
		return "GB", nil
	}
	if !searchLetters(country) {
		return "", tool.Errorf(tool.Invalid, "country is %q", text).Try("write its two letters, as in DE or US")
	}
	return country, nil
}

// searchLanguage reads two letters, alone or before a country or a script.
func searchLanguage(text string) (string, error) {
	language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "-")
	language, _, _ = strings.Cut(language, "_")
	if language == "" || language == "all" {
		return "", nil
	}
	if !searchLetters(strings.ToUpper(language)) {
		return "", tool.Errorf(tool.Invalid, "language is %q", text).Try("write its two letters, as in de or en")
	}
	return language, nil
}

func searchLetters(text string) bool {
	return len(text) == 2 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// searchSites is what keeps a search to sites, as all engines understand it.
func searchSites(within, without []string) (string, error) {
	var only []string
	text := ""
	for i, site := range append(within[:len(within):len(within)], without...) {
		site = strings.TrimSpace(site)
		name, minus := strings.CutPrefix(site, "-")
		if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_/") != "" || !strings.Contains(name, ".") {
			return "", tool.Errorf(tool.Invalid, "%q is not a site", site).Try("write it as in example.org")
		}
		if minus || i >= len(within) {
			text += " -site:" + name
		} else {
			only = append(only, "site:"+name)
		}
	}
	switch {
	case len(only) == 1:
		text = " " + only[0] + text
	case len(only) > 1:
		text = " (" + strings.Join(only, " OR ") + ")" + text
	}
	return text, nil
}

// show writes results as a model reads them. What strangers wrote is between
// marks; the rest is ours.
func (t webSearch) show(h Hits, q Query) string {
	var notes strings.Builder
	for _, note := range h.Notes {
		notes.WriteString("\n[" + note + "]")
	}
	if len(h.Hits) == 0 {
		return fmt.Sprintf("%s found nothing for %q; try fewer or other words", h.Provider, tool.Visible(short(q.Text, 200))) + notes.String()
	}
	age := ""
	if h.Age >= time.Minute {
		age = fmt.Sprintf(", found %d min ago", int(h.Age.Minutes()))
	}
	var b strings.Builder
	for i, hit := range h.Hits {
		if i > 0 {
			b.WriteString("\n\n")
		}
		title := line(hit.Title, 300)
		if title == "" {
			title = "(no title)"
		}
		fmt.Fprintf(&b, "%d. %s", i+1, title)
		if date := line(hit.Date, 60); date != "" {
			b.WriteString(" (" + date + ")")
		}
		b.WriteString("\n" + line(hit.URL, 2000))
		if snippet := line(hit.Snippet, 800); snippet != "" {
			b.WriteString("\n" + snippet)
		}
	}
	return t.marks.Quote("results of "+h.Provider+age, b.String()) + notes.String()
}
