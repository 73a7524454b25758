package search

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An Endpoint describes an engine that responds with JSON.
//
// Its templates may contain the placeholders {query}, {count}, {language} (de),
// {country} (DE), {freshness}, and {from} and {to} (2026-01-31). Their values are
// encoded for the place where they are put. A parameter of the URL, or a member of the
// body, that contains a placeholder without a value is left out.
type Endpoint struct {
	// URL with placeholders in its query, and {query} and {count} in its path.
	URL string
	// Header is sent as it is. The value with {key} is sent to the engine only.
	Header map[string]string
	// Body is a JSON value with placeholders in its strings. The string "{count}"
	// becomes a number.
	Body any
	// List is the path to the results: names, or indexes of lists, separated by dots,
	// such as data.webPages.value. "" is the whole response.
	List string
	// Marker is a path that is in every response. A response with it, but without
	// List, has no results; without it, it cannot be read.
	Marker string
	// Title, Link, Snippet and Date are paths in a result. Of alternatives separated by
	// | the first one with text is used.
	Title, Link, Snippet, Date string
	// Freshness, Country and Language translate values: day, week, month and year, countries
	// (DE) and languages (de). range in Freshness is a template with {from} and {to}. The
	// engine ignores values that a table does not contain. Nil translates nothing, and there
	// are no ranges.
	Freshness, Country, Language map[string]string

	forbidden    string // explains status 403
	unresponsive string // path to the list of engines behind this one that did not respond
}

var placeholder = text.Pattern(`\{[a-z]{1,20}\}`)

func (e *Endpoint) address() (page, header, format string) {
	for name, value := range e.Header {
		if strings.Contains(value, "{key}") {
			return e.URL, name, value
		}
	}
	return e.URL, "", ""
}

// request fills in the templates.
func (e *Endpoint) request(q Query) (r outbound.Request, ignored []string, err error) {
	values := e.values(q, time.Now())
	where, query, _ := strings.Cut(e.URL, "?")
	r = outbound.Request{URL: fill(where, values, segment),
		Header: http.Header{"Accept": {"application/json"}}}
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
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/json")
	}
	for _, filter := range []struct {
		name, value  string
		placeholders []string
	}{
		{"freshness", q.Freshness, []string{"freshness", "from", "to"}},
		{"country", q.Country, []string{"country"}},
		{"language", q.Language, []string{"language"}},
	} {
		applied := slices.ContainsFunc(filter.placeholders, func(name string) bool {
			return values[name] != "" && e.uses(name)
		})
		if filter.value != "" && !applied {
			ignored = append(ignored, filter.name)
		}
	}
	return r, ignored, nil
}

// uses reports whether a placeholder is in the URL or the body.
func (e *Endpoint) uses(name string) bool {
	body, err := json.Marshal(e.Body) // the body has only strings, booleans and maps
	return err == nil && strings.Contains(e.URL+string(body), "{"+name+"}")
}

// values returns the values of the placeholders.
func (e *Endpoint) values(q Query, now time.Time) map[string]string {
	v := map[string]string{
		"query": q.Text, "count": strconv.Itoa(q.Count),
		"country": translate(e.Country, q.Country), "language": translate(e.Language, q.Language),
		"freshness": "", "from": "", "to": "",
	}
	from, to, isRange := strings.Cut(q.Freshness, "..")
	switch {
	case isRange:
		v["from"], v["to"] = from, to
		v["freshness"] = strings.NewReplacer("{from}", from, "{to}", to).Replace(e.Freshness["range"])
	case e.uses("freshness"):
		v["freshness"] = translate(e.Freshness, q.Freshness)
	case q.Freshness != "":
		back := map[string][3]int{"day": {0, 0, -1}, "week": {0, 0, -7}, "month": {0, -1, 0},
			"year": {-1, 0, 0}}[q.Freshness]
		v["from"] = now.AddDate(back[0], back[1], back[2]).Format(time.DateOnly)
		v["to"] = now.Format(time.DateOnly)
	}
	return v
}

// translate looks up a word; without a table it returns the word.
func translate(table map[string]string, word string) string {
	if table == nil {
		return word
	}
	return table[word]
}

// fill puts encoded values into a template. Placeholders in values are not replaced.
func fill(template string, values map[string]string, encode func(string) string) string {
	return placeholder().ReplaceAllStringFunc(template, func(name string) string {
		return encode(values[strings.Trim(name, "{}")])
	})
}

// lacks reports whether a template has a placeholder without a value.
func lacks(template string, values map[string]string) bool {
	return slices.ContainsFunc(placeholder().FindAllString(template, -1), func(name string) bool {
		return values[strings.Trim(name, "{}")] == ""
	})
}

// segment encodes a value for a path, so that it stays one segment.
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

// fillBody fills in a JSON value; kept is false if it lacks the value of a placeholder.
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
		return out, len(out) > 0 || len(t) == 0
	}
	return template, true
}

// maxItems limits the results that are read; a model gets at most 20.
const maxItems = 200

// read reads a response.
func (e *Endpoint) read(r rawResponse) (engineReply, *failure) {
	if r.status == http.StatusForbidden && e.forbidden != "" {
		f := statusFailure(r.status, r.header, r.hasKey)
		f.what = e.forbidden
		return engineReply{}, f
	}
	if r.status != http.StatusOK {
		return engineReply{}, statusFailure(r.status, r.header, r.hasKey)
	}
	trimmed := bytes.TrimSpace(r.body)
	if len(trimmed) > 0 && trimmed[0] == '<' {
		return engineReply{}, unreadable("it is a web page instead of JSON")
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	d.UseNumber()
	var whole any
	if err := d.Decode(&whole); err != nil {
		f := unreadable("it is not valid JSON")
		f.cause = err
		return engineReply{}, f
	}
	return e.results(whole)
}

func (e *Endpoint) results(whole any) (engineReply, *failure) {
	found, exists := valueAt(whole, e.List)
	list, ok := found.([]any)
	switch _, hasMarker := valueAt(whole, e.Marker); {
	case ok:
	case exists && found == nil, !exists && e.Marker != "" && hasMarker: // nothing was found
	default:
		return engineReply{}, unreadable("the list of results is missing")
	}
	if silent, _ := valueAt(whole, e.unresponsive); len(list) == 0 && e.unresponsive != "" {
		if engines, _ := silent.([]any); len(engines) > 0 {
			return engineReply{}, fail(
				tool.Unavailable, 0, "found nothing, and some of the engines behind it did not respond")
		}
	}
	var results []Result
	for _, item := range list[:min(len(list), maxItems)] {
		results = append(results, Result{
			Title: textAt(item, e.Title), URL: textAt(item, e.Link), Snippet: textAt(item, e.Snippet),
			Date: textAt(item, e.Date),
		})
	}
	return engineReply{results: results}, nil
}

// valueAt follows a path: names in objects, indexes in lists.
func valueAt(value any, path string) (found any, ok bool) {
	if path == "" {
		return value, true
	}
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			if value, ok = v[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// textAt returns the text at the first of several paths that has one.
func textAt(item any, paths string) string {
	for path := range strings.SplitSeq(paths, "|") {
		if path == "" {
			continue
		}
		found, _ := valueAt(item, path)
		switch v := found.(type) {
		case string:
			if strings.TrimSpace(v) != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}
