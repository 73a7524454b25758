package memory

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

const (
	maxHits        = 50
	maxAsked       = 200 // parts that the index is asked for
	maxPerDocument = 3   // parts of one document that are returned
	snippetSize    = 320 // bytes

	// Among equals, new documents rank before old ones: by freshness at most, and half of that after halfLife. The
	// caller's own rank before shared ones.
	freshness = 0.08
	halfLife  = 30 * 24 * time.Hour
)

// Search returns parts of documents that match a text, the best first.
func (m *Memory) Search(ctx context.Context, q Query) (Found, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return Found{}, err
	}
	q.Limit = max(min(q.Limit, maxHits), 1)
	s := &search{m: m, owner: o, q: q}
	if err := s.run(ctx); err != nil {
		return Found{}, err
	}
	if s.outdated {
		if err := s.run(ctx); err != nil {
			return Found{}, err
		}
	}
	if len(s.found.Hits) == 0 {
		return s.found, m.suggest(ctx, o, q, &s.found)
	}
	return s.found, nil
}

// A search is one search in progress.
type search struct {
	m        *Memory
	owner    tool.Owner
	q        Query
	found    Found
	outdated bool // the index returned versions that are no longer present
}

// A candidate is a part that may be returned.
type candidate struct {
	index.Hit
	part  part
	doc   Document
	chunk markdown.Chunk
	score float64 // from 0 to 1
	rank  float64
}

func (s *search) run(ctx context.Context) error {
	q := index.Query{
		Text: s.q.Text, Scopes: scopes(s.owner), PathPrefix: prefixOf(s.q.Path), Limit: min(3*s.q.Limit+10, maxAsked),
	}
	if s.q.Category != "" {
		q.Kinds = []string{s.q.Category}
	}
	if !s.q.Since.IsZero() {
		q.Since = s.q.Since.UnixMilli()
	}
	if !s.q.Until.IsZero() {
		q.Until = s.q.Until.UnixMilli()
	}
	s.found = Found{}
	near := s.near(ctx, q)
	result, fresh, err := s.m.o.Index.Search(ctx, q)
	similar := near()
	if err != nil {
		return err
	}
	candidates, err := s.candidates(ctx, result, similar)
	if err != nil {
		return err
	}
	s.found.Behind, s.found.More = !fresh || s.outdated, result.More
	return s.choose(ctx, candidates)
}

// prefixOf returns the prefix of paths for the path of a query.
func prefixOf(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(path), "./"), "/")
	path, _, _ = strings.Cut(path, "#")
	switch {
	case path == "" || path == ".":
		return ""
	case strings.TrimRight(path, "/") == "memory":
		return dir
	case IsPath(path), strings.HasPrefix(path, dir):
		return path
	}
	return dir + path
}

// near starts the search by embeddings. The function it returns waits for the result and has to be called.
func (s *search) near(ctx context.Context, q index.Query) func() embeddings.Nearby {
	if s.m.o.Embeddings == nil {
		return func() embeddings.Nearby { return embeddings.Nearby{} }
	}
	var found embeddings.Nearby
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, err = s.m.o.Embeddings.Near(ctx, embeddings.Query{
			Text: s.q.Text, Scopes: q.Scopes, Path: q.PathPrefix, Category: s.q.Category,
			Since: s.q.Since, Until: s.q.Until, Now: s.m.o.Now(), Limit: q.Limit,
		})
	}()
	return func() embeddings.Nearby {
		<-done
		s.found.WordsOnly = err != nil
		if err != nil && !errors.Is(err, context.Canceled) {
			s.m.o.Log.Debug("memories are searched by words only", "err", err)
		}
		return found
	}
}

// candidates reads the documents of hits, and ranks the parts.
func (s *search) candidates(ctx context.Context, result index.Result, similar embeddings.Nearby) ([]candidate, error) {
	ids := append(documentIDs(result.Hits), similar.Pending...)
	for _, n := range similar.List {
		if !slices.Contains(ids, n.Document) {
			ids = append(ids, n.Document)
		}
	}
	docs, err := s.m.o.Rows.Readable(ctx, s.owner, ids)
	if err != nil {
		return nil, err
	}
	byID := map[string]Document{}
	for _, d := range docs {
		byID[d.ID] = d
	}
	s.found.Unembedded = similar.Filling ||
		slices.ContainsFunc(similar.Pending, func(id string) bool { return byID[id].ID != "" })
	s.outdated = false
	var byWords, byMeaning []candidate
	for _, h := range result.Hits {
		p, ok := parsePart(h.ID)
		d, found := byID[p.document]
		if !ok || !found {
			continue
		}
		if d.Version != p.version {
			s.outdated = true
			continue
		}
		c := candidate{Hit: h, part: p, doc: d, score: h.Score / max(result.MaxScore, math.SmallestNonzeroFloat64)}
		c.rank = c.score * s.weight(d)
		byWords = append(byWords, c)
	}
	for _, n := range similar.List { // embeddings of former versions are normal, and no reason to search again
		if d, found := byID[n.Document]; found && d.Version == n.Version {
			c := candidate{part: part{n.Document, n.Version, n.N}, doc: d, score: n.Score}
			c.rank = math.Round(100*c.score) + s.weight(d) - 1 // own and new ones first among equals
			byMeaning = append(byMeaning, c)
		}
	}
	best := func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) }
	slices.SortStableFunc(byWords, best)
	slices.SortStableFunc(byMeaning, best)
	all := byWords
	if len(byMeaning) > 0 {
		all = fuse(byWords, byMeaning)
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return c.score < s.q.MinScore }), nil
}

func (s *search) weight(d Document) float64 {
	age := max(s.m.o.Now().Sub(d.Updated), 0)
	w := 1 + freshness*math.Exp2(-age.Hours()/halfLife.Hours())
	if d.Owner == s.owner {
		w *= 1 + freshness
	}
	return w
}

// Both lists are joined by reciprocal rank fusion. A part with most words of the query comes before parts that
// are only similar in meaning; a part with few of its words comes after them.
const (
	fusionOffset = 60  // how little the first ranks differ
	minWords     = 0.5 // weight of the list of words for a part with few of them
	allWords     = 0.4 // score of a part that has all words once
	maxWords     = minWords + 1
)

// fuse joins the lists of parts found by words and by meaning, each the best first.
func fuse(byWords, byMeaning []candidate) []candidate {
	at := map[part]int{}
	all := make([]candidate, 0, len(byWords)+len(byMeaning))
	for i, c := range byWords {
		c.rank = min(minWords+c.score/allWords, maxWords) / float64(fusionOffset+i+1)
		at[c.part] = len(all)
		all = append(all, c)
	}
	for i, c := range byMeaning {
		rank := 1 / float64(fusionOffset+i+1)
		if n, both := at[c.part]; both {
			all[n].rank += rank
			all[n].score = max(all[n].score, c.score)
			continue
		}
		c.rank = rank
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
	return all
}

// choose returns the best candidates, without repetitions of better ones.
func (s *search) choose(ctx context.Context, candidates []candidate) error {
	var chosen []map[string]bool // the words of each
	parts := map[string]int{}
	chunks := map[string][]markdown.Chunk{} // by document
	hidden := map[string]bool{}             // shared documents, by path
	for _, c := range candidates {
		hide, err := s.hidden(ctx, c.doc, hidden)
		if err != nil {
			return err
		}
		if hide {
			continue
		}
		if len(s.found.Hits) == s.q.Limit {
			s.found.More = true
			return nil
		}
		if chunks[c.doc.ID] == nil {
			chunks[c.doc.ID] = chunksOf(c.doc)
		}
		if c.part.n >= len(chunks[c.doc.ID]) { // another version of the program has cut it
			continue
		}
		c.chunk = chunks[c.doc.ID][c.part.n]
		words := plainWords(c.chunk.Text)
		switch {
		case slices.ContainsFunc(chosen, func(other map[string]bool) bool {
			return overlap(words,
				other) >= similarity
		}):
			if !slices.Contains(s.found.Duplicates, c.doc.Path) {
				s.found.Duplicates = append(s.found.Duplicates, c.doc.Path)
			}
			continue
		case s.q.Path == "" && parts[c.doc.ID] == maxPerDocument:
			s.found.More = true
			continue
		}
		chosen = append(chosen, words)
		parts[c.doc.ID]++
		s.found.Hits = append(s.found.Hits, c.hit())
	}
	return nil
}

// hidden reports whether the caller has a document with the path of a shared one.
func (s *search) hidden(ctx context.Context, d Document, known map[string]bool) (bool, error) {
	if d.Owner == s.owner {
		return false, nil
	}
	if hidden, ok := known[d.Path]; ok {
		return hidden, nil
	}
	visible, found, err := s.m.o.Rows.Get(ctx, s.owner, d.Path)
	known[d.Path] = found && visible.Owner != d.Owner
	return known[d.Path], err
}

func (c candidate) hit() Hit {
	text := c.chunk.Text
	if !c.chunk.Code && !c.chunk.Meta {
		if plain := markdown.Plain(text); strings.TrimSpace(plain) != "" {
			text = plain
		}
		if body := strings.TrimPrefix(strings.TrimSpace(text), c.chunk.Title); strings.TrimSpace(body) != "" {
			text = body // the headings are shown beside it
		}
	}
	return Hit{
		Path: c.doc.Path, From: c.chunk.From, To: c.chunk.To, Shared: c.doc.Owner.User == "", Category: c.doc.Category,
		Score: c.score, Headings: headings(c.chunk), Snippet: index.Snippet(text, c.Terms, snippetSize),
		Updated: c.doc.Updated,
	}
}

const (
	maxSuggestions   = 5
	suggestDocuments = 30   // the latest ones, for their words
	suggestWords     = 5000 // of them
)

// suggest looks for words in the caller's documents that may have been meant.
func (m *Memory) suggest(ctx context.Context, o tool.Owner, q Query, found *Found) error {
	entries, err := m.o.Rows.List(ctx, o, maxNames)
	if err != nil {
		return err
	}
	found.Total = len(entries)
	var ids []string
	known := map[string]bool{}
	var words []string
	add := func(text string) {
		for _, word := range split(text) {
			if len(words) < suggestWords && len(word) > 2 && !known[word] {
				known[word] = true
				words = append(words, word)
			}
		}
	}
	for _, e := range entries {
		add(stem(e.Path) + " " + strings.Join(e.Tags, " "))
		if len(ids) < suggestDocuments && e.Size < maxCompared {
			ids = append(ids, e.ID)
		}
	}
	docs, err := m.o.Rows.Readable(ctx, o, ids)
	if err != nil {
		return err
	}
	for _, d := range docs {
		add(d.Text)
	}
	for _, word := range split(q.Text) {
		near := ""
		if len(word) > 2 && len(word) < 40 {
			near = tool.Nearest(word, words)
		}
		if near != "" && near != word && !slices.Contains(found.Suggestions, near) &&
			len(found.Suggestions) < maxSuggestions {
			found.Suggestions = append(found.Suggestions, near)
		}
	}
	return nil
}

// plainWords returns the words of a text as they are written, each once.
func plainWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range split(text) {
		words[word] = true
	}
	return words
}

func split(text string) []string {
	const most = 20_000
	return strings.FieldsFunc(strings.ToLower(text[:min(len(text), most)]),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
