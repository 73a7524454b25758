package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// nearly is how much of their words two texts share that say nearly the same.
const nearly = 0.8

// mostCompared is how much of a text is compared with others, in bytes.
const mostCompared = 64 << 10

// wordsOf are the words of a text, each once, without their endings.
func wordsOf(text string) map[string]bool {
	if len(text) > mostCompared {
		text = strings.ToValidUTF8(text[:mostCompared], "")
	}
	words := map[string]bool{}
	for _, t := range index.Analyze(text, "") {
		words[t.Term] = true
	}
	return words
}

// overlap is how much of all words of two texts both have.
func overlap(a, b map[string]bool) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	both := 0
	for word := range a {
		if b[word] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// digest is equal for texts of the same words, whatever their order, number,
// case and punctuation. Long texts and those without words are compared as they
// are.
func digest(text string) string {
	words := map[string]bool{}
	if len(text) <= mostCompared {
		words = wordsOf(text)
	}
	if len(words) == 0 {
		return sum(text)
	}
	list := make([]string, 0, len(words))
	for word := range words {
		list = append(list, word)
	}
	slices.Sort(list)
	return sum(strings.Join(list, "\n"))
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:16])
}

// hasAll reports whether a document has every word of a text, in its content,
// its name or its tags.
func hasAll(d memory.Document, text string) bool {
	lang := index.Language(d.Text)
	has := map[string]bool{}
	for _, part := range []string{d.Text, stem(d.Path), strings.Join(d.Tags, " ")} {
		for _, t := range index.Analyze(part, lang) {
			has[t.Term] = true
		}
	}
	asked := index.Analyze(text, lang)
	for _, t := range asked {
		if !has[t.Term] {
			return false
		}
	}
	return len(asked) > 0
}
