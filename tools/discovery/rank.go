package discovery

import (
	"embed"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

//go:embed synonyms.txt
var files embed.FS

// synonyms returns, for the stem of a word, those of the words that mean the same.
var synonyms = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	text, err := files.ReadFile("synonyms.txt")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := stems(line)
		for _, word := range group {
			for _, other := range group {
				if other != word && !slices.Contains(all[word], other) {
					all[word] = append(all[word], other)
				}
			}
		}
	}
	return all
})

// Weights of the places of a word in a tool, and of words that only mean the same.
const (
	inName      = 3.0
	inTitle     = 1.5
	inKeywords  = 1.5
	inDoc       = 1.0
	inArguments = 0.4
	asSynonym   = 0.6
	asPart      = 0.5 // words that begin alike
	enough      = 3.0 // weight at which a word has half of its effect
)

// A ranking has the weights of words of tools.
type ranking struct {
	tools []tool.Tool
	words []map[string]float64 // of each tool, by stem
	seen  map[string]int       // in how many tools a stem is
}

func newRanking(all []tool.Tool) *ranking {
	r := &ranking{tools: all, words: make([]map[string]float64, len(all)), seen: make(map[string]int)}
	for i, t := range all {
		weights := make(map[string]float64)
		for _, place := range []struct {
			text   string
			weight float64
		}{
			{t.Spec.Name, inName}, {t.Spec.Title, inTitle}, {t.Spec.Keywords, inKeywords}, {t.Spec.Doc, inDoc},
			{t.SearchText(), inArguments},
		} {
			list := stems(place.text)
			slices.Sort(list)
			for _, word := range slices.Compact(list) {
				weights[word] += place.weight
			}
		}
		for word := range weights {
			r.seen[word]++
		}
		r.words[i] = weights
	}
	return r
}

// rarity returns how much a word says: those of few tools say more.
func (r *ranking) rarity(word string) float64 {
	n := float64(r.seen[word])
	return math.Log(1 + (float64(len(r.tools))-n+0.5)/(n+0.5))
}

// best returns the tools that match a request best.
func (r *ranking) best(request string, limit int) []tool.Tool {
	list := stems(request)
	scores := make([]float64, len(r.tools))
	for at, word := range list {
		if slices.Contains(list[:at], word) {
			continue
		}
		for i, weights := range r.words {
			if score := r.score(word, weights); score > 0 {
				scores[i] += score
			}
		}
	}
	order := make([]int, len(r.tools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	var found []tool.Tool
	for _, i := range order[:min(limit, len(order))] {
		if scores[i] > 0 {
			found = append(found, r.tools[i])
		}
	}
	return found
}

// score returns how well a word of the request matches a tool: as itself, as the beginning of
// another word, or by a word that means the same.
func (r *ranking) score(word string, weights map[string]float64) float64 {
	effect := func(word string, factor float64) float64 {
		w := weights[word]
		return factor * r.rarity(word) * w / (w + enough)
	}
	best := effect(word, 1)
	for _, other := range synonyms()[word] {
		best = max(best, effect(other, asSynonym))
	}
	if best == 0 && len(word) > 4 {
		for other := range weights {
			if len(other) > 4 && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)) {
				best = max(best, effect(other, asPart))
			}
		}
	}
	return best
}

// stems returns the words of a text without endings, in small letters, without words that say nothing.
// Names are split: getJiraIssue is three words.
func stems(text string) (all []string) {
	var word strings.Builder
	end := func() {
		if s := stem(word.String()); s != "" && !isFiller(s) {
			all = append(all, s)
		}
		word.Reset()
	}
	lower := false
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end()
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			end()
		}
		lower = unicode.IsLower(c)
		word.WriteRune(unicode.ToLower(c))
	}
	end()
	return all
}

// stem removes the endings of English words.
func stem(word string) string {
	for _, e := range [...]struct{ from, to string }{
		{"ies", "y"}, {"sses", "ss"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"ings", ""}, {"ing", ""},
		{"ed", ""},
		{"s", ""},
	} {
		cut, found := strings.CutSuffix(word, e.from)
		if !found || len(cut) < 3 || e.from == "s" && strings.HasSuffix(cut, "s") {
			continue
		}
		word = cut + e.to
		if e.to == "" && e.from != "s" && len(word) > 3 && word[len(word)-1] == word[len(word)-2] &&
			!strings.ContainsRune("sl", rune(word[len(word)-1])) {
			word = word[:len(word)-1] // running
		}
		break
	}
	if len(word) > 4 {
		word = strings.TrimSuffix(word, "e") // merge and merging
	}
	return word
}

// isFiller reports whether a word says nothing about a tool.
func isFiller(word string) bool {
	switch word {
	case "a", "an", "the", "to", "of", "in", "on", "at", "is", "are", "was", "were", "be", "been", "and", "or", "it",
		"its",
		"this", "that", "thes", "those", "i", "me", "my", "we", "our", "you", "your", "he", "she", "they", "do", "doe",
		"did",
		"doesn", "t", "with", "for", "from", "by", "as", "so", "into", "out", "can", "could", "would", "should",
		"pleas", "what",
		"how", "why", "when", "there", "has", "have", "had", "will", "if", "not", "no", "but", "about", "than", "them",
		"their",
		"let", "some", "any", "one", "now", "yet", "just", "called", "call", "us", "am", "s", "re", "must", "may",
		"who":
		return true
	}
	return false
}
