package knowledge

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const (
	maxNames    = 20_000 // of an owner, that are compared with a query
	minNear     = 3      // letters of a word that is compared with others
	maxSubjects = 3      // entities whose relations a question may ask for
	maxAnswers  = 10     // other ends of the relations of one entity
)

// missingWords returns the words of a query, and the words without a hit.
func missingWords(text string, hits []index.Hit) (words, missing []string) {
	known := map[string]bool{}
	for _, hit := range hits {
		for _, term := range hit.Terms {
			known[term] = true
		}
	}
	for word := range strings.SplitSeq(graph.Slug(text), "-") {
		if utf8.RuneCountInString(word) < minNear {
			continue
		}
		words = append(words, word)
		if !slices.ContainsFunc(index.Analyze(word, "en"), func(t index.Token) bool { return known[t.Term] }) {
			missing = append(missing, word)
		}
	}
	return words, missing
}

// nearNames returns the ids of entities that have a name with a word like one that is missing: mistyped, or longer.
// The value is the share of the query's words that the name has.
func (r rows) nearNames(o tool.Owner, words, missing []string) (map[string]float64, error) {
	names, err := r.names(o, maxNames)
	if err != nil {
		return nil, err
	}
	near := map[string]float64{}
	for _, name := range names {
		parts := strings.Split(name.slug, "-")
		same, like := 0, 0
		for _, word := range words {
			switch {
			case slices.Contains(parts, word):
				same++
			case slices.Contains(missing, word) && slices.ContainsFunc(parts, func(part string) bool {
				return strings.HasPrefix(part, word) || graph.Similar(word, part)
			}):
				like++
			}
		}
		if like > 0 {
			near[name.entity] = max(near[name.entity], float64(same+like)/float64(len(words)))
		}
	}
	return near, nil
}

// answer looks for relations that a query asks about, as in "who leads Heron". It returns the entities, each
// followed by the other ends of the wanted relations, and these relations by slug of the entity.
func (v visible) answer(
	ctx context.Context, text string, list []graph.Entity,
) (all []graph.Entity, asked map[string][]graph.Relation, err error) {
	asked = map[string][]graph.Relation{}
	subjects := slugsOf(list[:min(len(list), maxSubjects)])
	if len(subjects) == 0 {
		return list, asked, nil
	}
	relations, _, err := v.Relations(ctx, subjects, graph.MaxRelations)
	if err != nil {
		return nil, nil, err
	}
	terms := map[string]bool{}
	for _, t := range index.Analyze(text, "en") {
		terms[t.Term] = true
	}
	relations = slices.DeleteFunc(relations, func(r graph.Relation) bool { return !isAsked(r.Type, terms) })
	var ends []string
	for _, r := range relations {
		ends = append(ends, r.Source, r.Target)
	}
	existing, err := v.Entities(ctx, ends)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	add := func(e graph.Entity) {
		if !known[e.Slug] {
			known[e.Slug] = true
			all = append(all, e)
		}
	}
	for _, subject := range list {
		add(subject)
		for _, r := range relations {
			other := r.Target
			if other == subject.Slug {
				other = r.Source
			} else if r.Source != subject.Slug {
				continue
			}
			if e, exists := existing[other]; exists && len(asked[subject.Slug]) < maxAnswers {
				asked[subject.Slug] = append(asked[subject.Slug], r)
				add(e)
			}
		}
	}
	return all, asked, nil
}

// isAsked reports whether a query has all words of a type of relations, but those like "on" and "with".
func isAsked(kind string, terms map[string]bool) bool {
	found := false
	for word := range strings.SplitSeq(kind, "_") {
		if len(word) < minNear+1 || word == "with" || word == "from" {
			continue
		}
		if !slices.ContainsFunc(index.Analyze(word, "en"), func(t index.Token) bool { return terms[t.Term] }) {
			return false
		}
		found = true
	}
	return found
}
