package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

const (
	mostHits    = 50
	mostAsked   = 200 // pieces that the index is asked for
	perDocument = 3   // pieces of one document that are shown
	snippetSize = 320 // bytes

	// What is new comes before what is as good and old: at most by freshest,
	// half of that after halfLife. What is one's own comes before what is
	// shared and as good.
	freshest = 0.08
	halfLife = 30 * 24 * time.Hour
)

// Search returns pieces of documents that are about a text, the best first.
func (m *Memory) Search(ctx context.Context, q memory.Query) (memory.Found, error) {
	o, _, err := who(ctx)
	if err != nil {
		return memory.Found{}, err
	}
	q.Limit = max(min(q.Limit, mostHits), 1)
	s := &searching{m: m, owner: o, q: q}
	if err := s.run(ctx); err != nil {
		return memory.Found{}, err
	}
	if s.torn { // documents changed between finding and reading them
		if err := s.run(ctx); err != nil {
			return memory.Found{}, err
		}
	}
	if len(s.found.Hits) == 0 {
		return s.found, m.hint(ctx, o, q, &s.found)
	}
	return s.found, nil
}

// searching is one search under way.
type searching struct {
	m     *Memory
	owner memory.Owner
	q     memory.Query
	found memory.Found
	torn  bool

	forming bool // something of the owner's cannot be found by meaning yet
	literal bool // nothing was found by meaning, though it should have been
}

// A candidate is a piece that may be shown.
type candidate struct {
	index.Hit
	piece piece
	doc   memory.Document
	chunk markdown.Chunk
	about float64 // from 0 to 1
	rank  float64
}

func (s *searching) run(ctx context.Context) error {
	asked := index.Query{
		Text: s.q.Text, Scopes: scopes(s.owner), PathPrefix: prefixOf(s.q.Path), Limit: min(3*s.q.Limit+10, mostAsked),
	}
	if s.q.Category != "" {
		asked.Kinds = []string{s.q.Category}
	}
	if !s.q.Since.IsZero() {
		asked.Since = s.q.Since.UnixMilli()
	}
	if !s.q.Until.IsZero() {
		asked.Until = s.q.Until.UnixMilli()
	}
	near := s.near(ctx, asked)
	result, fresh, err := s.m.o.Finder.Search(ctx, asked)
	meant := near()
	if err != nil {
		return err
	}
	list, err := s.candidates(ctx, result, meant)
	if err != nil {
		return err
	}
	s.found = memory.Found{Behind: !fresh || s.torn, More: result.More, Literal: s.literal, Forming: s.forming}
	return s.choose(ctx, list)
}

// prefixOf is what paths begin with that somebody narrows a search to.
func prefixOf(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(path), "./"), "/")
	path, _, _ = strings.Cut(path, "#")
	switch {
	case path == "" || path == ".":
		return ""
	case strings.TrimRight(path, "/") == "memory":
		return dir
	case IsPath(path):
		return path
	}
	return dir + path
}

// candidates reads the documents of what was found, and puts it in order.
func (s *searching) candidates(ctx context.Context, result index.Result, meant Nearby) ([]candidate, error) {
	ids := append(rowsOf(result.Hits), meant.Pending...)
	for _, n := range meant.List {
		if !slices.Contains(ids, n.Document) {
			ids = append(ids, n.Document)
		}
	}
	docs, err := s.m.o.Rows.MemoriesByID(ctx, s.owner, ids)
	if err != nil {
		return nil, err
	}
	byID := map[string]memory.Document{}
	for _, d := range docs {
		byID[d.ID] = d
	}
	s.forming = meant.Filling || slices.ContainsFunc(meant.Pending, func(id string) bool { return byID[id].ID != "" })
	s.torn = false
	var words, meaning []candidate
	for _, h := range result.Hits {
		p, ok := pieceOf(h.ID)
		d, there := byID[p.row]
		if !ok || !there {
			continue
		}
		if d.Version != p.version {
			s.torn = true
			continue
		}
		c := candidate{Hit: h, piece: p, doc: d, about: h.Score / max(result.MaxScore, math.SmallestNonzeroFloat64)}
		c.rank = c.about * s.weight(d)
		words = append(words, c)
	}
	for _, n := range meant.List { // which lags behind without being torn
		if d, there := byID[n.Document]; there && d.Version == n.Version {
			c := candidate{piece: piece{n.Document, n.Version, n.N}, doc: d, about: n.About}
			c.rank = math.Round(100*c.about) + s.weight(d) - 1 // own and new ones first among equals
			meaning = append(meaning, c)
		}
	}
	best := func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) }
	slices.SortStableFunc(words, best)
	slices.SortStableFunc(meaning, best)
	list := words
	if len(meaning) > 0 {
		list = join(words, meaning)
	}
	return slices.DeleteFunc(list, func(c candidate) bool { return c.about < s.q.MinScore }), nil
}

func (s *searching) weight(d memory.Document) float64 {
	age := max(s.m.o.Now().Sub(d.Updated), 0)
	w := 1 + freshest*math.Exp2(-age.Hours()/halfLife.Hours())
	if d.Owner == s.owner {
		w *= 1 + freshest
	}
	return w
}

// choose takes the best that say something new.
func (s *searching) choose(ctx context.Context, list []candidate) error {
	var said []map[string]bool
	pieces := map[string]int{}
	chunks := map[string][]markdown.Chunk{} // of documents
	covered := map[string]bool{}            // shared documents whose path is the caller's
	for _, c := range list {
		hidden, err := s.hidden(ctx, c.doc, covered)
		if err != nil {
			return err
		}
		if hidden {
			continue
		}
		if len(s.found.Hits) == s.q.Limit {
			s.found.More = true
			return nil
		}
		if chunks[c.doc.ID] == nil {
			chunks[c.doc.ID] = chunksOf(c.doc)
		}
		if c.piece.n >= len(chunks[c.doc.ID]) { // cut by another version of the program
			continue
		}
		c.chunk = chunks[c.doc.ID][c.piece.n]
		words := plainWords(c.chunk.Text)
		switch {
		case slices.ContainsFunc(said, func(other map[string]bool) bool { return overlap(words, other) >= nearly }):
			s.found.Alike++
			continue
		case s.q.Path == "" && pieces[c.doc.ID] == perDocument:
			s.found.More = true
			continue
		}
		said = append(said, words)
		pieces[c.doc.ID]++
		s.found.Hits = append(s.found.Hits, c.hit())
	}
	return nil
}

// hidden reports whether the caller has a document of the path of a shared one.
func (s *searching) hidden(ctx context.Context, d memory.Document, known map[string]bool) (bool, error) {
	if d.Owner == s.owner {
		return false, nil
	}
	if hidden, ok := known[d.Path]; ok {
		return hidden, nil
	}
	first, found, err := s.m.o.Rows.Memory(ctx, s.owner, d.Path)
	known[d.Path] = found && first.Owner != d.Owner
	return known[d.Path], err
}

func (c candidate) hit() memory.Hit {
	text := c.chunk.Text
	if !c.chunk.Code && !c.chunk.Meta {
		if plain := markdown.Plain(text); strings.TrimSpace(plain) != "" {
			text = plain
		}
	}
	snippet, _ := index.Snippet(text, "", c.Terms, snippetSize)
	return memory.Hit{
		Path: c.doc.Path, From: c.chunk.From, To: c.chunk.To, Shared: c.doc.Owner.User == "", Category: c.doc.Category,
		Score: c.about, Headings: headings(c.chunk), Snippet: snippet, Updated: c.doc.Updated,
	}
}

const (
	mostHints     = 5
	hintDocuments = 30   // the latest ones, whose words are looked through
	hintWords     = 5000 // of them
)

// hint looks for words that the caller may have meant.
func (m *Memory) hint(ctx context.Context, o memory.Owner, q memory.Query, found *memory.Found) error {
	list, err := m.o.Rows.Memories(ctx, o, mostNames)
	if err != nil {
		return err
	}
	found.Total = len(list)
	var ids []string
	known := map[string]bool{}
	var words []string
	add := func(text string) {
		for _, word := range split(text) {
			if len(words) < hintWords && len(word) > 2 && !known[word] {
				known[word] = true
				words = append(words, word)
			}
		}
	}
	for _, e := range list {
		add(stem(e.Path) + " " + strings.Join(e.Tags, " "))
		if len(ids) < hintDocuments && e.Size < mostCompared {
			ids = append(ids, e.ID)
		}
	}
	docs, err := m.o.Rows.MemoriesByID(ctx, o, ids)
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
		if near != "" && near != word && !slices.Contains(found.Words, near) && len(found.Words) < mostHints {
			found.Words = append(found.Words, near)
		}
	}
	return nil
}

// plainWords are the words of a text as they are written, each once.
func plainWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range split(text) {
		words[word] = true
	}
	return words
}

func split(text string) []string {
	const most = 20_000
	return strings.FieldsFunc(strings.ToLower(text[:min(len(text), most)]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
