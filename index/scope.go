package index

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	api "github.com/blevesearch/bleve_index_api"
)

// The keys of values beside the documents. format changes whenever the same text
// would give other terms, or documents have other fields.
const (
	format    = "3"
	keyFormat = "format"
	keyCursor = "cursor"
	keyCounts = "scope:" // followed by the scope's key in hexadecimal
	keyMark   = "mark:"  // the same
)

// A scopeKey is the prefix of every term of a scope's documents. All keys have
// the same length, so that no term can be read as one of another scope.
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
func (k scopeKey) counts() []byte { return hex.AppendEncode([]byte(keyCounts), k[:]) }

// mark returns the key of the value that the index keeps for the owner of the scope.
func (k scopeKey) mark() []byte { return hex.AppendEncode([]byte(keyMark), k[:]) }

// counts are the numbers of BM25 about all documents of a scope.
type counts struct {
	Documents int            `json:"n"`
	Length    int            `json:"l"` // of all documents, in terms
	Languages map[string]int `json:"g"` // documents in each language
}

// countsOf reads the counts of a scope. They are zero if it has no documents.
func countsOf(view api.IndexReader, key scopeKey) (counts, error) {
	c := counts{Languages: map[string]int{}}
	text, err := view.GetInternal(key.counts())
	if err != nil || text == nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("reading the counts of a scope: %w", err)
	}
	return c, nil
}

// add adds a document to the counts, or subtracts it if by is -1.
func (c *counts) add(r record, by int) {
	c.Documents += by
	c.Length += by * r.length
	c.Languages[r.lang] += by
	if c.Languages[r.lang] <= 0 {
		delete(c.Languages, r.lang)
	}
}

// encode returns the stored form of the counts, nil if there are no documents.
func (c counts) encode() ([]byte, error) {
	if c.Documents <= 0 {
		return nil, nil
	}
	return json.Marshal(c)
}
