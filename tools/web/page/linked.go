package page

import (
	"encoding/json"
	"slices"
	"strings"
)

// linked is what the JSON-LD of a page says about what it is about.
type linked struct {
	title, author, site, description, published, modified string
}

const (
	maxLinkedDepth = 12
	maxLinkedNodes = 2000
)

// articles are the types of things that are what a page is about.
var articles = []string{"article", "newsarticle", "blogposting", "techarticle", "report", "scholarlyarticle", "recipe", "product", "qapage", "question",
	"discussionforumposting", "videoobject", "howto", "liveblogposting", "reportagenewsarticle", "webpage", "creativework", "book", "event", "softwareapplication"}

// readLinked reads the scripts with JSON-LD. The first thing of the best type in
// them counts; what is no JSON is passed over.
func readLinked(scripts []string) linked {
	var best linked
	rank := len(articles)
	for _, script := range scripts {
		var value any
		if json.Unmarshal([]byte(strings.TrimSpace(script)), &value) != nil {
			continue
		}
		left := maxLinkedNodes
		things(value, 0, &left, func(thing map[string]any) {
			if at := rankOf(thing["@type"]); at < rank {
				best, rank = linkedFrom(thing), at
			}
		})
	}
	return best
}

func rankOf(kind any) int {
	best := len(articles)
	for _, name := range namesIn(kind) {
		if i := slices.Index(articles, strings.ToLower(name)); i >= 0 {
			best = min(best, i)
		}
	}
	return best
}

// things calls found for every object in a value, the outer ones first.
func things(value any, depth int, left *int, found func(map[string]any)) {
	if *left--; depth > maxLinkedDepth || *left < 0 {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			things(one, depth+1, left, found)
		}
	case map[string]any:
		if v["@type"] != nil {
			found(v)
		}
		for _, key := range []string{"@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "item"} {
			if inner, ok := v[key]; ok {
				things(inner, depth+1, left, found)
			}
		}
	}
}

func linkedFrom(thing map[string]any) linked {
	l := linked{
		title:       word(thing, "headline", "name"),
		description: word(thing, "description"),
		published:   word(thing, "datePublished", "dateCreated", "uploadDate"),
		modified:    word(thing, "dateModified"),
	}
	if by := namesIn(thing["author"]); len(by) > 0 {
		l.author = strings.Join(by[:min(len(by), 5)], ", ")
	}
	if by := namesIn(thing["publisher"]); len(by) > 0 {
		l.site = by[0]
	}
	return l
}

// word is the first of some fields that is a text.
func word(thing map[string]any, keys ...string) string {
	for _, key := range keys {
		if text, ok := thing[key].(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// namesIn are the names in a value: a text, a thing with a name, or a list.
func namesIn(value any) []string {
	switch v := value.(type) {
	case string:
		if !strings.HasPrefix(v, "http") {
			return []string{v}
		}
	case map[string]any:
		if name := word(v, "name"); name != "" {
			return []string{name}
		}
	case []any:
		var all []string
		for _, one := range v[:min(len(v), 10)] {
			all = append(all, namesIn(one)...)
			if len(all) > 10 {
				break
			}
		}
		return all
	}
	return nil
}
