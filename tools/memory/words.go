package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
)

// similarity is the min share of common words of two texts that count as nearly
// the same.
const similarity = 0.8

// maxCompared is the size of the part of a text that is compared with others,
// in bytes.
const maxCompared = 64 << 10

// wordsOf returns the words of a text without their endings, each once.
func wordsOf(text string) map[string]bool {
	if len(text) > maxCompared {
		text = strings.ToValidUTF8(text[:maxCompared], "")
	}
	words := map[string]bool{}
	for _, t := range index.Analyze(text, "") {
		words[t.Term] = true
	}
	return words
}

// overlap returns how many of all words of two texts are in both, from 0 to 1.
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

// digestOfWords is equal for texts of the same words in any order, number, case and punctuation. Long texts
// and texts without words have to be the same.
func digestOfWords(text string) string {
	words := map[string]bool{}
	if len(text) <= maxCompared {
		words = wordsOf(text)
	}
	if len(words) > 0 {
		text = strings.Join(slices.Sorted(maps.Keys(words)), "\n")
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// hasAll reports whether a document has every word of a text in its content, its name or its tags.
func hasAll(d Document, text string) bool {
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
