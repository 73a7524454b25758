package websearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// An Endpoint describes an engine that answers in JSON.
//
// Its templates may hold {query}, {count}, {language} (de), {country} (DE),
// {freshness}, and {from} and {to} (2026-01-31). What stands for them is encoded
// for the place where it stands. A parameter of the URL, or a member of the
// body, that holds one for which there is nothing is left out.
type Endpoint struct {
	Method string // GET or POST; "" is POST with a body and GET without
	// URL with placeholders in its query, and {query} and {count} in its path.
	URL string
	// Header goes along as it is. The one with {key} in it is kept from everybody
	// but the engine.
	Header map[string]string
	// Body is a JSON value, with placeholders in its strings. A string
	// that is {count} and nothing else becomes a number.
	Body any
	// List is the path to the results: names with dots between them, or numbers
	// in lists, as in data.webPages.value. "" is the whole answer.
	List string
	// Sign is a path that is in every answer, also in one without a List because
	// nothing was found; "": answers without a List are unreadable.
	Sign string
	// Title, Link, Snippet and Date are paths in a result; of several with |
	// between them the first counts that leads to text.
	Title, Link, Snippet, Date string
	// Freshness, Country and Language translate: what day, week, month and year
	// are called here, and range is a template with {from} and {to}; the names of
	// countries (DE) and languages (de). What a table lacks, the engine does not
	// know. Nil: everything is called what it is, and there is no range.
	Freshness, Country, Language map[string]string

	longest   int    // characters of a search; 0: any
	forbidden string // what 403 means
	// idle is the path to a list of what did not answer, in an answer without results.
	idle string
}

var placeholder = regexp.MustCompile(`\{[a-z]{1,20}\}`)

// check finds what is wrong with a description, and returns where it leads.
func (e *Endpoint) check() (*url.URL, error) {
	where, query, _ := strings.Cut(e.URL, "?")
	at, err := url.Parse(where)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || strings.Contains(e.URL, "#") {
		return nil, errors.New("its URL must begin with http:// or https:// and a host, without a user and without #")
	}
	if e.Method != "" && e.Method != http.MethodGet && e.Method != http.MethodPost {
		return nil, fmt.Errorf("its method is %q; it must be GET or POST", e.Method)
	}
	if e.Body != nil && e.Method == http.MethodGet {
		return nil, errors.New("it has a body; its method must be POST")
	}
	if e.Link == "" {
		return nil, errors.New("it does not say where in a result its URL is")
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, fmt.Errorf("its body is no JSON: %w", err)
	}
	if !strings.Contains(e.URL+string(body), "{query}") {
		return nil, errors.New("neither its URL nor its body holds {query}")
	}
	return at, errors.Join(
		allowed("its URL's path", where, "query", "count"),
		allowed("its URL", query, "query", "count", "language", "country", "freshness", "from", "to"),
		allowed("its body", string(body), "query", "count", "language", "country", "freshness", "from", "to"),
		allowed("its range of freshness", e.Freshness["range"], "from", "to"),
		e.checkHeader())
}

// allowed finds placeholders that do not belong where they are.
func allowed(place, template string, names ...string) error {
	for _, found := range placeholder.FindAllString(template, -1) {
		if !slices.Contains(names, strings.Trim(found, "{}")) {
			return fmt.Errorf("%s holds %s; it may hold {%s}, and a key goes into a header", place, found, strings.Join(names, "}, {"))
		}
	}
	return nil
}

func (e *Endpoint) checkHeader() error {
	keys := 0
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		value := e.Header[name]
		if err := allowed("its header "+name, value, "key"); err != nil {
			return err
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("%q is no header, or its value is none", name)
		}
		if strings.Contains(value, "{key}") {
			keys++
		} else if slices.Contains([]string{"authorization", "cookie"}, strings.ToLower(name)) {
			return fmt.Errorf("its header %s holds a secret; write {key} there, and keep the secret as its key", name)
		}
	}
	if keys > 1 {
		return errors.New("two of its headers hold {key}; one may")
	}
	return nil
}

// keyHeader is the header that the key goes into, and the form of its value.
func (e *Endpoint) keyHeader() (name, form string) {
	for name, value := range e.Header {
		if strings.Contains(value, "{key}") {
			return name, value
		}
	}
	return "", ""
}

// request fills the templates in.
func (e *Endpoint) request(q web.Query) (r outbound.Request, unheeded []string, err error) {
	values := e.values(q, time.Now())
	where, query, _ := strings.Cut(e.URL, "?")
	r = outbound.Request{Method: e.Method, URL: fill(where, values, segment), Header: http.Header{"Accept": {"application/json"}}}
	if query = fillQuery(query, values); query != "" {
		r.URL += "?" + query
	}
	for name, value := range e.Header {
		if !strings.Contains(value, "{key}") {
			r.Header.Set(name, value)
		}
	}
	if e.Body != nil {
		body, _ := fillBody(e.Body, values)
		if r.Body, err = json.Marshal(body); err != nil {
			return r, nil, err
		}
		if r.Method == "" {
			r.Method = http.MethodPost
		}
		r.Header.Set("Content-Type", "application/json")
	}
	for _, filter := range []struct {
		name, asked string
		ways        []string
	}{{"freshness", q.Freshness, []string{"freshness", "from", "to"}}, {"country", q.Country, []string{"country"}}, {"language", q.Language, []string{"language"}}} {
		heeded := slices.ContainsFunc(filter.ways, func(way string) bool { return values[way] != "" && e.holds(way) })
		if filter.asked != "" && !heeded {
			unheeded = append(unheeded, filter.name)
		}
	}
	return r, unheeded, nil
}

// holds reports whether a placeholder is in the URL or the body.
func (e *Endpoint) holds(name string) bool {
	body, err := json.Marshal(e.Body) // check did it before
	return err == nil && strings.Contains(e.URL+string(body), "{"+name+"}")
}

// values are what placeholders stand for.
func (e *Endpoint) values(q web.Query, now time.Time) map[string]string {
	v := map[string]string{
		"query": q.Text, "count": strconv.Itoa(q.Count),
		"country": named(e.Country, q.Country), "language": named(e.Language, q.Language),
		"freshness": "", "from": "", "to": "",
	}
	from, to, isRange := strings.Cut(q.Freshness, "..")
	switch {
	case isRange:
		v["from"], v["to"] = from, to
		v["freshness"] = strings.NewReplacer("{from}", from, "{to}", to).Replace(e.Freshness["range"])
	case e.holds("freshness"):
		v["freshness"] = named(e.Freshness, q.Freshness)
	case q.Freshness != "":
		back := map[string][3]int{"day": {0, 0, -1}, "week": {0, 0, -7}, "month": {0, -1, 0}, "year": {-1, 0, 0}}[q.Freshness]
		v["from"], v["to"] = now.AddDate(back[0], back[1], back[2]).Format(time.DateOnly), now.Format(time.DateOnly)
	}
	return v
}

// named translates a word; without a table it is what it is.
func named(table map[string]string, word string) string {
	if table == nil {
		return word
	}
	return table[word]
}

// fill puts values into a template, each of them encoded. What a value holds is
// never taken for a placeholder.
func fill(template string, values map[string]string, encode func(string) string) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string {
		return encode(values[strings.Trim(name, "{}")])
	})
}

// lacks reports whether a template has a placeholder that stands for nothing.
func lacks(template string, values map[string]string) bool {
	return slices.ContainsFunc(placeholder.FindAllString(template, -1), func(name string) bool {
		return values[strings.Trim(name, "{}")] == ""
	})
}

// segment encodes a value for a path, out of which it cannot step.
func segment(value string) string {
	encoded := url.PathEscape(value)
	if strings.Trim(encoded, ".") == "" {
		encoded += "%20"
	}
	return encoded
}

func fillQuery(template string, values map[string]string) string {
	var kept []string
	for pair := range strings.SplitSeq(template, "&") {
		if pair != "" && !lacks(pair, values) {
			kept = append(kept, fill(pair, values, url.QueryEscape))
		}
	}
	return strings.Join(kept, "&")
}

// fillBody fills a JSON value in. Not kept is what holds a placeholder that
// stands for nothing.
func fillBody(template any, values map[string]string) (filled any, kept bool) {
	switch t := template.(type) {
	case string:
		if n, err := strconv.Atoi(values["count"]); t == "{count}" && err == nil {
			return n, true
		}
		return fill(t, values, func(s string) string { return s }), !lacks(t, values)
	case map[string]any:
		out := make(map[string]any, len(t))
		for name, inner := range t {
			if value, ok := fillBody(inner, values); ok {
				out[name] = value
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(t))
		for _, inner := range t {
			if value, ok := fillBody(inner, values); ok {
				out = append(out, value)
			}
		}
		return out, true
	}
	return template, true
}
