package web

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

// webSearch searches the web.
type webSearch struct {
	searcher Searcher
	marks    tool.Marks
}

type webSearchArgs struct {
	Query     string   `json:"query" jsonschema:"words to search for" alias:"q,search_query" maxlen:"1000"`
	Count     int      `json:"count,omitempty" jsonschema:"number of results, 1 to 20" alias:"max_results,num_results,limit" default:"5"`
	Provider  string   `json:"provider,omitempty" jsonschema:"search engine to use" alias:"engine" maxlen:"40"`
	Freshness string   `json:"freshness,omitempty" jsonschema:"day, week, month, year, or YYYY-MM-DD..YYYY-MM-DD" alias:"time_range,recency" maxlen:"40"`
	Country   string   `json:"country,omitempty" jsonschema:"two-letter country code" maxlen:"20"`
	Language  string   `json:"language,omitempty" jsonschema:"two-letter language code" alias:"search_lang,lang" maxlen:"20"`
	UILang    string   `json:"ui_lang,omitempty" jsonschema:"language code, if language is missing" maxlen:"20" hidden:"true"`
	After     string   `json:"date_after,omitempty" jsonschema:"only pages from this day on" alias:"start_date" maxlen:"20" hidden:"true"`
	Before    string   `json:"date_before,omitempty" jsonschema:"only pages up to this day" alias:"end_date" maxlen:"20" hidden:"true"`
	Domains   []string `json:"domain_filter,omitempty" jsonschema:"only these sites; with - before a name, without this site" alias:"allowed_domains,include_domains" maxitems:"20" maxlen:"100" hidden:"true"`
	Without   []string `json:"blocked_domains,omitempty" jsonschema:"without these sites" alias:"exclude_domains" maxitems:"20" maxlen:"100" hidden:"true"`
}

func (webSearch) Spec() tool.Spec {
	return tool.Spec{
		Name: "web_search", Group: group, Title: "Search the web", Risk: tool.Reads,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true},
		Doc:   "Searches the web. Returns titles, URLs and snippets. To read a page use web_fetch.",
		Also: []string{"WebSearch", "web_search_tool", "tool::web_search", "search_web", "google_search",
			"brave_web_search"},
		Timeout: 45 * time.Second,
		Keywords: "internet google bing find out lookup look up online news latest current recent papers tutorials " +
			"who what when price weather", Output: searchOutput{},
	}
}

func (t webSearch) Do(ctx context.Context, a webSearchArgs) (tool.Result, error) {
	q, err := a.query(time.Now())
	if err != nil {
		return tool.Result{}, err
	}
	found, err := t.searcher.Search(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	data := searchOutput{found.Provider, found.Answer, append([]search.Result{}, found.Results...)}
	return tool.Text(t.show(found, q)).With(data), nil
}

// searchOutput is the result of the tool for programs.
type searchOutput struct {
	Provider string          `json:"provider"`
	Answer   string          `json:"answer,omitempty"`
	Results  []search.Result `json:"results"`
}

const (
	defaultResults = 5 // also for a count that is out of range
	maxResults     = 20
)

// query returns the query in the form of package search.
func (a webSearchArgs) query(now time.Time) (search.Query, error) {
	text, _ := tool.Clean(a.Query)
	if a.Count < 1 || a.Count > maxResults {
		a.Count = defaultResults
	}
	q := search.Query{Text: strings.Join(strings.Fields(text), " "), Count: a.Count,
		Provider: strings.TrimSpace(a.Provider)}
	if q.Text == "" {
		return q, tool.Errorf(tool.Invalid, "query is empty").Try("set query to what to search for")
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
	a.Language = cmp.Or(a.Language, a.UILang)
	q.Language, err = searchLanguage(a.Language)
	return q, err
}

// freshness parses the value of freshness, and the names that other tools use.
func (a webSearchArgs) freshness(now time.Time) (string, error) {
	text := strings.ToLower(strings.TrimSpace(a.Freshness))
	words := map[string]string{
		"pd": "day", "d": "day", "pw": "week", "w": "week", "pm": "month", "m": "month", "py": "year", "y": "year",
		"24h": "day", "any": "", "all": "",
	}
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
		return "", tool.Errorf(tool.Invalid, "freshness has the unknown value %q", a.Freshness).
			Try("use day, week, month, year, or two dates such as 2026-01-31..2026-02-28")
	}
	return searchRange(from, to, now)
}

// searchRange returns a range of days; "" without any. One of the days may be missing.
func searchRange(from, to string, now time.Time) (string, error) {
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == "" && to == "" {
		return "", nil
	}
	if from == "" {
		from = "1990-01-01" // before the first web page
	}
	to = cmp.Or(to, now.UTC().Format(time.DateOnly))
	for _, date := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return "", tool.Errorf(tool.Invalid, "%q is not a date", date).Try("write dates such as 2026-01-31")
		}
	}
	if from > to {
		return "", tool.Errorf(tool.Invalid, "the range of dates ends on %s, before it begins on %s", to, from).
			Try("swap the dates")
	}
	return from + ".." + to, nil
}

// searchCountry returns a country code in upper case; "" for all countries.
func searchCountry(text string) (string, error) {
	country := strings.ToUpper(strings.TrimSpace(text))
	switch country {
	case "", "ALL", "WT":
		return "", nil
	case "UK":
		return "GB", nil
	}
	if !searchLetters(country) {
		return "", tool.Errorf(tool.Invalid, "country is %q", text).Try("use a code of two letters, such as DE or US")
	}
	return country, nil
}

// searchLanguage returns a language code of two letters, without country or script.
func searchLanguage(text string) (string, error) {
	language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "-")
	language, _, _ = strings.Cut(language, "_")
	if language == "" || language == "all" {
		return "", nil
	}
	if !searchLetters(strings.ToUpper(language)) {
		return "", tool.Errorf(tool.Invalid, "language is %q", text).Try("use a code of two letters, such as de or en")
	}
	return language, nil
}

func searchLetters(text string) bool {
	return len(text) == 2 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// searchSites returns the operators for sites. All engines understand them.
func searchSites(within, without []string) (string, error) {
	var only []string
	text := ""
	for i, site := range append(within[:len(within):len(within)], without...) {
		site = strings.TrimSpace(site)
		name, minus := strings.CutPrefix(site, "-")
		if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_/") != "" ||
			!strings.Contains(name, ".") {
			return "", tool.Errorf(tool.Invalid, "%q is not a site", site).Try("write sites such as example.org")
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

// show returns the results as text. Texts of the engine are quoted.
func (t webSearch) show(r search.Response, q search.Query) string {
	var notes strings.Builder
	for _, note := range r.Notes {
		notes.WriteString("\n[" + note + "]")
	}
	if len(r.Results) == 0 && r.Answer == "" {
		return fmt.Sprintf("%s found nothing for %q; use fewer or other words",
			r.Provider, tool.Visible(short(q.Text, 200))) + notes.String()
	}
	age := ""
	if r.Age >= time.Minute {
		age = fmt.Sprintf(", from the cache, %d min old", int(r.Age.Minutes()))
	}
	var b strings.Builder
	if r.Answer != "" {
		b.WriteString(strings.TrimSpace(r.Answer))
	}
	if r.Answer != "" && len(r.Results) > 0 {
		b.WriteString("\n\nSources:\n")
	}
	for i, result := range r.Results {
		if i > 0 {
			b.WriteString("\n\n")
		}
		title := cmp.Or(line(result.Title, 300), "(no title)")
		fmt.Fprintf(&b, "%d. %s", i+1, title)
		if date := line(result.Date, 60); date != "" {
			b.WriteString(" (" + date + ")")
		}
		b.WriteString("\n" + line(result.URL, 2000))
		if snippet := line(result.Snippet, 800); snippet != "" {
			b.WriteString("\n" + snippet)
		}
	}
	return t.marks.Quote("results of "+r.Provider+age, b.String()) + notes.String()
}
