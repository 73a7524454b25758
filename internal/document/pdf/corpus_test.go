package pdf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	divided = regexp.MustCompile(`[-‐\x{ad}]\s*\n\s*`)
	word    = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// words counts the words of a text. Words that are divided at the end of a line are joined.
func words(text string) map[string]int {
	text = divided.ReplaceAllString(text, "")
	text = strings.NewReplacer("-", "", "ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl").Replace(text)
	count := map[string]int{}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		count[w]++
	}
	return count
}

// recall returns the share of the wanted words that are there, their number, and the lost ones.
func recall(want, got map[string]int) (share float64, total int, lost []string) {
	found := 0
	for w, n := range want {
		total += n
		found += min(n, got[w])
		if got[w] < n {
			lost = append(lost, fmt.Sprintf("%s (%d)", w, n-got[w]))
		}
	}
	slices.Sort(lost)
	return float64(found) / float64(max(1, total)), total, lost
}
