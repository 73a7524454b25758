package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A Meaning finds pieces by what they mean. It need not be there, nor answer: a
// search then has what it finds by words.
type Meaning interface {
	Near(ctx context.Context, q NearQuery) (Nearby, error)
}

// Nearby is what was found by meaning. Documents that were changed last may not
// be among what was looked through: Pending are some of them, whoever's they are.
// Where there are too many to tell, Filling is true.
type Nearby struct {
	List    []Near
	Pending []string
	Filling bool
}

// A NearQuery says what pieces shall mean, and whose they are.
type NearQuery struct {
	Text     string
	Owners   []memory.Owner
	Path     string // what paths begin with
	Category string // "": all
	Since    time.Time
	Until    time.Time // zero: now
	Now      time.Time // what has expired by then is not found
	Limit    int
}

// A Near is a piece that means nearly what was asked for: the n-th of a version
// of a document. About is 1 for what means the same, and 0 for what is no nearer
// than the rest.
type Near struct {
	Document string
	Version  int64
	N        int
	About    float64
}

// Texts returns what the pieces of a document say, with the names and headings
// that they stand under. Without texts there is no such document.
func (s Shelf) Texts(ctx context.Context, id string) (o memory.Owner, version int64, texts []string, err error) {
	d, found, err := s.rows.MemoryByID(ctx, id)
	if err != nil || !found {
		return o, 0, nil, err
	}
	for _, c := range chunksOf(d) {
		parts := append([]string{stem(d.Path)}, headings(c)...)
		parts = append(parts, c.Text)
		parts = slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
		texts = append(texts, strings.Join(parts, "\n"))
	}
	return d.Owner, d.Version, texts, nil
}

// near begins to look for what means nearly the same. What it returns waits for
// that, and has to be called.
func (s *searching) near(ctx context.Context, asked index.Query) func() Nearby {
	if s.m.o.Meaning == nil {
		return func() Nearby { return Nearby{} }
	}
	q := NearQuery{
		Text: s.q.Text, Owners: []memory.Owner{s.owner}, Path: asked.PathPrefix, Category: s.q.Category,
		Since: s.q.Since, Until: s.q.Until, Now: s.m.o.Now(), Limit: asked.Limit,
	}
	if s.owner.User != "" {
		q.Owners = append(q.Owners, s.owner.Shared())
	}
	var found Nearby
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err = s.m.o.Meaning.Near(ctx, q)
	}()
	return func() Nearby {
		<-done
		s.literal = err != nil
		if err != nil && !errors.Is(err, context.Canceled) {
			s.m.o.Log.Debug("memories are looked for by their words only", "err", err)
		}
		return found
	}
}

// Ranks of both lists are joined by how high a piece stands in each. What has
// most of the words of a query comes before what only means the same; what has
// few of them, after it.
const (
	ranksFlat  = 60  // how little the first places differ
	fewWords   = 0.5 // what standing in the list of words is worth at least
	allWords   = 0.4 // how much about a query a piece is that has its words once
	wordsWorth = fewWords + 1
)

// join puts what was found by words, best first, together with what was found
// by meaning, nearest first.
func join(words, meaning []candidate) []candidate {
	place := map[piece]int{}
	list := make([]candidate, 0, len(words)+len(meaning))
	for i, c := range words {
		c.rank = min(fewWords+c.about/allWords, wordsWorth) / float64(ranksFlat+i+1)
		place[c.piece] = len(list)
		list = append(list, c)
	}
	for i, c := range meaning {
		rank := 1 / float64(ranksFlat+i+1)
		if at, both := place[c.piece]; both {
			list[at].rank += rank
			list[at].about = max(list[at].about, c.about)
			continue
		}
		c.rank = rank
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
	return list
}
