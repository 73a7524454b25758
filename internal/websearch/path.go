package websearch

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// mostItems bounds the results that are looked at: a model sees 20 at most.
const mostItems = 200

// read reads an answer in JSON.
func (e *Endpoint) read(a answer) ([]web.Hit, *failure) {
	if a.status == http.StatusForbidden && e.forbidden != "" {
		f := statusFailure(a.status, a.header, a.keyed)
		f.what = e.forbidden
		return nil, f
	}
	if a.status != http.StatusOK {
		return nil, statusFailure(a.status, a.header, a.keyed)
	}
	trimmed := bytes.TrimSpace(a.body)
	if len(trimmed) > 0 && trimmed[0] == '<' {
		return nil, unreadable("it answers with a web page in place of JSON")
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	d.UseNumber()
	var whole any
	if err := d.Decode(&whole); err != nil {
		f := unreadable("it answers with broken JSON")
		f.cause = err
		return nil, f
	}
	return e.hits(whole)
}

func (e *Endpoint) hits(whole any) ([]web.Hit, *failure) {
	found, there := at(whole, e.List)
	list, ok := found.([]any)
	switch _, sign := at(whole, e.Sign); {
	case ok:
	case there && found == nil, !there && e.Sign != "" && sign: // nothing was found
	default:
		return nil, unreadable("there is no list of results where it should be")
	}
	if silent, _ := at(whole, e.idle); len(list) == 0 && e.idle != "" {
		if engines, _ := silent.([]any); len(engines) > 0 {
			return nil, failed(tool.Unavailable, 0, "has found nothing, and not all engines behind it have answered")
		}
	}
	var hits []web.Hit
	for _, item := range list[:min(len(list), mostItems)] {
		hits = append(hits, web.Hit{Title: text(item, e.Title), URL: text(item, e.Link), Snippet: text(item, e.Snippet), Date: text(item, e.Date)})
	}
	return hits, nil
}

// at follows a path: names in objects, numbers in lists.
func at(value any, path string) (found any, ok bool) {
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

// text is what the first of several paths leads to that leads to text.
func text(item any, paths string) string {
	for path := range strings.SplitSeq(paths, "|") {
		if path == "" {
			continue
		}
		found, _ := at(item, path)
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
