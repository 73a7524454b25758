package discovery

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Weights of the places of a word in a tool.
const (
	inName      = 4.5
	inTitle     = 1.5
	inFirst     = 1.2 // the first sentence of the description
	inDoc       = 0.8
	inKeywords  = 1.0
	inAliases   = 1.0
	inArguments = 0.4
	enough      = 3.0 // weight of a word for half of its effect
)

// Factors of the score of a tool.
const (
	asEqual    = 0.95 // for a word that is equal to a word of the request
	asSynonym  = 0.7  // for a word that means about the same
	asPart     = 0.5  // for a word that begins alike
	asVerb     = 0.5  // for verbs: they are compared as actions of request and tool
	second     = 0.25 // for the second word of a tool that matches the same word
	sameAct    = 1.5
	otherAct   = 0.7
	ofServer   = 1.5 // for a tool whose server the request names
	incomplete = 0.4 // for a tool that matches nothing of the request; 1 for one that matches all
	farBehind  = 0.3 // of the best score; tools below it are not returned, because each costs the caller tokens
)

// maxDoc is the most bytes that are read of a description.
const maxDoc = 2000

// A ranking finds tools by words.
type ranking struct {
	tools   []tool.Tool
	acts    []acts   // of each tool
	servers []string // of each tool; empty for ours
	words   map[string][]weighted
	spelled map[string]bool // all words that are spelled right: words of tools, words of users, fillers
	known   vocabulary
}

// weighted is the weight that a word has in a tool.
type weighted struct {
	tool   int
	weight float64
}

func newRanking(all []tool.Tool) *ranking {
	r := &ranking{
		tools: all, acts: make([]acts, len(all)), servers: make([]string, len(all)), words: make(map[string][]weighted),
		known: known(),
	}
	names := make(map[string]bool, len(all))
	for _, t := range all {
		names[t.Spec.Name] = true
	}
	for i, t := range all {
		own := t.Spec.Name
		if server, rest, ok := strings.Cut(own, "__"); ok {
			r.servers[i], own = strings.ToLower(server), rest
		}
		r.acts[i] = r.known.actsOfName(own)
		for word, weight := range r.weights(t, names) {
			r.words[word] = append(r.words[word], weighted{i, weight})
		}
	}
	r.spelled = make(map[string]bool, len(r.words)+len(r.known.same)+len(r.known.acts)+len(fillers))
	for word := range r.words {
		r.spelled[word] = true
	}
	for word := range r.known.same {
		r.spelled[word] = true
	}
	for word := range r.known.acts {
		r.spelled[word] = true
	}
	for _, word := range fillers {
		r.spelled[word] = true
	}
	return r
}

// weights returns the words of a tool.
func (r *ranking) weights(t tool.Tool, names map[string]bool) map[string]float64 {
	weights := make(map[string]float64)
	name := stems(t.Spec.Name)
	named := func(word string) bool { return slices.Contains(name, word) }
	first, rest, _ := strings.Cut(withoutOthers(t.Spec.Doc, names), ". ")
	for _, place := range []struct {
		words  []string
		weight float64
	}{
		{name, inName},
		{slices.DeleteFunc(stems(t.Spec.Title), named), inTitle},
		{stems(t.Spec.Keywords + " " + r.known.words[t.Spec.Name]), inKeywords},
		{stems(strings.Join(t.Spec.Also, " ")), inAliases},
		{stems(first), inFirst}, {stems(rest), inDoc}, {stems(t.ParameterText()), inArguments},
	} {
		slices.Sort(place.words)
		for _, word := range slices.Compact(place.words) {
			weights[word] += place.weight
		}
	}
	return weights
}

// withoutOthers returns the sentences of a description that do not recommend another tool.
func withoutOthers(doc string, names map[string]bool) string {
	doc = doc[:min(len(doc), maxDoc)]
	sentences := strings.FieldsFunc(strings.NewReplacer(". ", ".\n", "; ", ".\n", ": ", ".\n").Replace(doc),
		func(c rune) bool { return c == '\n' })
	return strings.Join(slices.DeleteFunc(sentences, func(sentence string) bool {
		words := strings.Fields(sentence)
		for i, word := range words {
			if word == "use" && i+1 < len(words) && names[strings.Trim(words[i+1], ".,")] {
				return true
			}
		}
		return false
	}), " ")
}

// rarity returns the weight of a word: words of few tools weigh more.
func (r *ranking) rarity(word string) float64 {
	n := float64(len(r.words[word]))
	return math.Log(1 + (float64(len(r.tools))-n+0.5)/(n+0.5))
}

// best returns the tools that match a request best.
func (r *ranking) best(request string, limit int) []tool.Tool {
	scores, most := make([]float64, len(r.tools)), 0.0
	for _, one := range terms(request) {
		if _, verb := r.known.acts[one.word]; verb {
			one.share *= asVerb
		}
		most += r.add(scores, one)
	}
	wanted, said := r.known.actsOfRequest(r.respelled(words(request))), words(request)
	var order []int
	for i, score := range scores {
		if score == 0 {
			continue
		}
		order = append(order, i)
		scores[i] *= incomplete + (1-incomplete)*score/most
		if does := r.acts[i]; wanted != 0 && does != 0 {
			switch {
			case wanted&does != 0:
				scores[i] *= sameAct
			case wanted&^reading != 0 || does&^reading != 0:
				scores[i] *= otherAct
			}
		}
		if slices.Contains(said, r.servers[i]) {
			scores[i] *= ofServer
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var found []tool.Tool
	for _, i := range order[:min(limit, len(order))] {
		if scores[i] < farBehind*scores[order[0]] {
			break
		}
		found = append(found, r.tools[i])
	}
	return found
}

// add adds how well a term of a request matches each tool, and returns the best match.
func (r *ranking) add(scores []float64, of term) (most float64) {
	best, next := make([]float64, len(r.tools)), make([]float64, len(r.tools))
	for other, factor := range r.likely(of.word) {
		factor *= of.share * r.rarity(other)
		for _, in := range r.words[other] {
			switch score := factor * in.weight / (in.weight + enough); {
			case score > best[in.tool]:
				best[in.tool], next[in.tool] = score, best[in.tool]
			case score > next[in.tool]:
				next[in.tool] = score
			}
		}
	}
	for i := range best {
		score := best[i] + second*next[i]
		scores[i] += score
		most = max(most, score)
	}
	return most
}

// likely returns the words of tools that a word of a request can mean, and how likely each is.
func (r *ranking) likely(word string) map[string]float64 {
	found := make(map[string]float64)
	r.mean(word, 1, found)
	if !r.spelled[word] {
		for other, factor := range r.spellings(word) {
			r.mean(other, factor, found)
		}
	}
	if len(found) > 0 || len(word) <= 4 {
		return found
	}
	for other := range r.words {
		if len(other) > 4 && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)) {
			found[other] = asPart
		}
	}
	return found
}

// mean adds a word and words of about the same meaning, as far as tools have them.
func (r *ranking) mean(word string, factor float64, found map[string]float64) {
	if isFiller(word) {
		return
	}
	if r.words[word] != nil {
		found[word] = max(found[word], factor)
	}
	for other, same := range r.known.same[word] {
		if r.words[other] != nil {
			found[other] = max(found[other], factor*same)
		}
	}
}
