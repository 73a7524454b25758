package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A zipf makes text in which words are as unevenly spread as in real ones.
type zipf struct {
	random *rand.Rand
	words  []string
	dist   *rand.Zipf
}

func newZipf(seed uint64) *zipf {
	random := rand.New(rand.NewPCG(1, 7)) // the words are always the same
	z := &zipf{random: rand.New(rand.NewPCG(seed, 8))}
	z.dist = rand.NewZipf(z.random, 1.1, 4, 49_999)
	const consonants, vowels = "bcdfghklmnprstvwz", "aeiou"
	for len(z.words) < 50_000 {
		var w strings.Builder
		for range 2 + random.IntN(3) {
			w.WriteByte(consonants[random.IntN(len(consonants))])
			w.WriteByte(vowels[random.IntN(len(vowels))])
		}
		w.WriteByte(consonants[random.IntN(len(consonants))])
		z.words = append(z.words, w.String())
	}
	return z
}

func (z *zipf) word() string { return z.words[z.dist.Uint64()] }

func (z *zipf) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = z.word()
	}
	return strings.Join(words, " ")
}

func (z *zipf) document(n int) Document {
	return Document{
		ID:    fmt.Sprintf("doc-%07d", n),
		Scope: "owner",
		Kind:  "note",
		Path:  fmt.Sprintf("notes/%d.md", n/8),
		Lang:  "en",
		Body:  z.text(100 + z.random.IntN(100)),
		Time:  1_700_000_000_000 + int64(n)*60_000,
	}
}
