package memory

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

// Topic returns the topic of memories in the change feed. With Keys and Load it makes Rows a source of the indexer.
func (r *Rows) Topic() string { return Topic }

// Keys lists the ids of the memories of a scope.
func (r *Rows) Keys(ctx context.Context, scope, after string, limit int) ([]string, error) {
	if !strings.HasPrefix(scope, Topic+"\x00") {
		return nil, nil
	}
	o := OwnerOf(scope)
	return store.Select(ctx, r.store, "SELECT id FROM memory WHERE agent = $1 AND usr = $2 AND id > $3 AND "+isMemory+
		" ORDER BY id LIMIT $4", []any{o.Agent, o.User, after, limit}, store.One[string])
}

// Load returns the parts of memories of the wanted scopes for the search index, by id.
func (r *Rows) Load(ctx context.Context, ids []string, wanted func(string) bool) (map[string][]index.Document, error) {
	var args []any
	docs, err := r.where(ctx, isMemory+" AND id IN ("+store.In(&args, ids)+")", args...)
	parts := map[string][]index.Document{}
	for _, d := range docs {
		if !wanted(Scope(d.Owner)) {
			continue
		}
		lang := index.Language(d.Text)
		for n, c := range chunksOf(d) {
			parts[d.ID] = append(parts[d.ID], index.Document{
				ID: part{d.ID, d.Version, n}.String(), Scope: Scope(d.Owner), Kind: d.Category, Path: d.Path,
				Title: stem(d.Path), Headings: strings.Join(headings(c), "\n"), Body: c.Text, Tags: d.Tags,
				Time: d.Updated.UnixMilli(), Lang: lang,
			})
		}
	}
	return parts, err
}

// Texts returns the parts of a memory for embeddings, each with the name and the headings above it.
func (r *Rows) Texts(ctx context.Context, id string) (t embeddings.Texts, err error) {
	d, found, err := r.ByID(ctx, id)
	if err != nil || !found {
		return t, err
	}
	t.Scope, t.Version = Scope(d.Owner), d.Version
	for _, c := range chunksOf(d) {
		lines := append([]string{stem(d.Path)}, headings(c)...)
		lines = slices.DeleteFunc(append(lines, c.Text),
			func(line string) bool { return strings.TrimSpace(line) == "" })
		t.Parts = append(t.Parts, strings.Join(lines, "\n"))
	}
	return t, nil
}

func chunksOf(d Document) []markdown.Chunk {
	if strings.TrimSpace(d.Text) == "" { // it is still found by its name and tags
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

// stem returns the part of a path that describes its content: the name without
// directory memory/ and extension.
func stem(name string) string {
	if !strings.HasPrefix(name, dir) {
		return "" // MEMORY.md
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, dir), extension)
}

// Scope returns the scope of an owner's memories in the index and among embeddings. It has nothing but memories, so
// other documents do not change how rare a word is.
func Scope(o tool.Owner) string { return Topic + "\x00" + o.Agent + "\x00" + o.User }

// OwnerOf returns the owner of a scope.
func OwnerOf(scope string) tool.Owner {
	parts := strings.SplitN(scope, "\x00", 3)
	return tool.Owner{Agent: parts[1], User: parts[2]}
}

// scopes returns the scopes that an owner reads, its own first.
func scopes(o tool.Owner) []string {
	if o.User == "" {
		return []string{Scope(o)}
	}
	return []string{Scope(o), Scope(o.Shared())}
}

// A part is the n-th chunk of a version of a document.
type part struct {
	document string
	version  int64
	n        int
}

func (p part) String() string {
	return p.document + "#" + strconv.FormatInt(p.version, 10) + "#" + strconv.Itoa(p.n)
}

// parsePart reads the ID of a document in the index.
func parsePart(id string) (p part, ok bool) {
	parts := strings.Split(id, "#")
	if len(parts) != 3 {
		return p, false
	}
	version, err := strconv.ParseInt(parts[1], 10, 64)
	n, err2 := strconv.Atoi(parts[2])
	return part{parts[0], version, n}, err == nil && err2 == nil && n >= 0
}

// documentIDs returns the documents that hits are parts of, each once.
func documentIDs(hits []index.Hit) (ids []string) {
	for _, h := range hits {
		if p, ok := parsePart(h.ID); ok && !slices.Contains(ids, p.document) {
			ids = append(ids, p.document)
		}
	}
	return ids
}
