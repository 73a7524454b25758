package memory

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Topic is the topic of changes of memories in the store's feed.
const Topic = "memory"

// A Shelf gives the pieces of all documents to the search index.
type Shelf struct{ rows Rows }

// NewShelf makes the Shelf of some rows.
func NewShelf(rows Rows) Shelf { return Shelf{rows} }

// Topic is [Topic].
func (Shelf) Topic() string { return Topic }

// Keys lists the ids of documents.
func (s Shelf) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	return s.rows.MemoryIDs(ctx, after, limit)
}

// Load cuts a document into pieces.
func (s Shelf) Load(ctx context.Context, key string) ([]index.Document, error) {
	d, found, err := s.rows.MemoryByID(ctx, key)
	if err != nil || !found {
		return nil, err
	}
	lang := index.Language(d.Text)
	var docs []index.Document
	for n, c := range chunksOf(d) {
		docs = append(docs, index.Document{
			ID: piece{d.ID, d.Version, n}.String(), Scope: scopeOf(d.Owner), Kind: d.Category, Path: d.Path,
			Title: stem(d.Path), Headings: strings.Join(headings(c), "\n"), Body: c.Text, Tags: d.Tags,
			Time: d.Updated.UnixMilli(), Lang: lang,
		})
	}
	return docs, nil
}

func chunksOf(d memory.Document) []markdown.Chunk {
	if strings.TrimSpace(d.Text) == "" { // still found by its name and tags
		return []markdown.Chunk{{From: 1, To: 1}}
	}
	return markdown.Chunks(d.Text, markdown.Options{})
}

func headings(c markdown.Chunk) []string {
	if c.Title == "" {
		return c.Headings
	}
	return append(c.Headings[:len(c.Headings):len(c.Headings)], c.Title)
}

// stem is what a path says about what is in it.
func stem(name string) string {
	if !strings.HasPrefix(name, dir) {
		return "" // MEMORY.md
	}
	name = strings.TrimPrefix(name, dir)
	return strings.TrimSuffix(name, path.Ext(name))
}

// scopeOf is the scope of the index that an owner's documents are in. Scopes of
// memories have nothing but memories, so what else is found does not change how
// rare a word is in them.
func scopeOf(o memory.Owner) string {
	return Topic + "\x00" + o.Agent + "\x00" + o.User
}

// scopes are those that an owner reads, the own one first.
func scopes(o memory.Owner) []string {
	if o.User == "" {
		return []string{scopeOf(o)}
	}
	return []string{scopeOf(o), scopeOf(o.Shared())}
}

// A piece is the n-th chunk of a version of a document.
type piece struct {
	row     string
	version int64
	n       int
}

func (p piece) String() string {
	return p.row + "#" + strconv.FormatInt(p.version, 10) + "#" + strconv.Itoa(p.n)
}

func pieceOf(id string) (p piece, ok bool) {
	parts := strings.Split(id, "#")
	if len(parts) != 3 {
		return p, false
	}
	var wrong [2]error
	p.row = parts[0]
	p.version, wrong[0] = strconv.ParseInt(parts[1], 10, 64)
	p.n, wrong[1] = strconv.Atoi(parts[2])
	return p, wrong[0] == nil && wrong[1] == nil && p.n >= 0
}

// rowsOf are the rows that hits are pieces of, each once.
func rowsOf(hits []index.Hit) (ids []string) {
	known := map[string]bool{}
	for _, h := range hits {
		if p, ok := pieceOf(h.ID); ok && !known[p.row] {
			known[p.row] = true
			ids = append(ids, p.row)
		}
	}
	return ids
}
