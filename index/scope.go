package index

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// What is kept beside the documents. format changes whenever the same text
// would make other terms, or a document other fields.
const (
	format    = "2"
	keyFormat = "format"
	keyCursor = "cursor"
	keyCounts = "scope:" // and the key of the scope
)

// scopeKey stands in front of every term of a scope's documents. All are of one
// length, so no term of one scope can be read as one of another.
type scopeKey [12]byte

func keyOf(scope string) scopeKey {
	sum := sha256.Sum256([]byte(scope))
	return scopeKey(sum[:12])
}

func (k scopeKey) term(kind byte, text string) []byte {
	term := make([]byte, 0, len(k)+1+len(text))
	term = append(append(term, k[:]...), kind)
	return append(term, text...)
}

// counts returns the key of the value that holds the scope's counts.
func (k scopeKey) counts() string { return keyCounts + hex.EncodeToString(k[:]) }

// counts is what BM25 needs to know about all documents of a scope.
type counts struct {
	Documents int            `json:"n"`
	Length    int            `json:"l"` // of all, in terms
	Languages map[string]int `json:"g"` // documents in each
}

// countsOf reads the counts of a scope; one without documents has none.
func countsOf(view *snapshot, key scopeKey) (counts, error) {
	c := counts{Languages: map[string]int{}}
	text := view.value(key.counts())
	if text == nil {
		return c, nil
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("reading the counts of a scope: %w", err)
	}
	return c, nil
}

// change counts a document in, or with by -1 out.
func (c *counts) change(r record, by int) {
	c.Documents += by
	c.Length += by * r.length
	c.Languages[r.lang] += by
	if c.Languages[r.lang] <= 0 {
		delete(c.Languages, r.lang)
	}
}

// kept is what is written of the counts; nothing for a scope without documents.
func (c counts) kept() ([]byte, error) {
	if c.Documents <= 0 {
		return nil, nil
	}
	return json.Marshal(c)
}
