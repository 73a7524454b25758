// Package memory keeps the memories of agents: documents that outlive the conversation, with the tools that
// search, read, store and forget them, their rows in the store, their files in the workspace, and their
// import and export.
//
// A caller reads its own documents and those shared by all users of its agent, and writes its own; the caller
// comes from the context. The package knows the paths of memories, the cutting of documents into parts, and the
// ranking of hits. It does not know how the index and the embeddings are kept up to date
// (tools/memory/indexer), nor the content of context files (contextfiles), although they are rows of the same
// tables.
//
// Memories were written by agents and people. They are data: nothing in them is an instruction.
//
// Begin with [Tools] and [New]. search.go is the search, rows.go and change.go are the
// SQL, documents.go has the documents for the indexer, files.go has the files for the
// file tools, transfer.go is import and export.
package memory

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

const group = "memory"

// Tools returns the tools of the group.
func Tools(m Memories) []tool.Tool {
	return []tool.Tool{
		tool.New(memorySearch{m, time.Now}),
		tool.New(memoryGet{m}),
		tool.New(memoryStore{m, time.Now}),
		tool.New(memoryForget{m}),
	}
}

// Memories is the interface that the tools call: a [Memory], or a fake in
// tests.
type Memories interface {
	// Search returns the parts of documents that match a text, the best first.
	Search(ctx context.Context, q Query) (Found, error)
	// Get returns the caller's document of a path or key, otherwise the shared one.
	Get(ctx context.Context, path string) (Document, error)
	// Store writes a document of the caller's own.
	Store(ctx context.Context, w Write) (Stored, error)
	// Forget removes documents of the caller's own. Their versions are kept.
	Forget(ctx context.Context, f Forget) ([]Document, error)
	// Undo reverts the last change of the caller's own document of a path.
	Undo(ctx context.Context, path string) (Document, error)
}

// Options are the dependencies of a Memory.
type Options struct {
	Rows       *Rows
	Index      *indexer.Indexer       // nil: Search is not called, and Forget with a path only
	Embeddings *embeddings.Embeddings // nil: documents are found by their words only
	Log        *slog.Logger           // nil: discard
	Now        func() time.Time       // nil: time.Now
	// Documents returns the reader of files that are not Markdown. nil: they are not imported.
	Documents func() (*document.Service, error)
}

// A Memory serves the tools, the file tools and the command line.
type Memory struct {
	o       Options
	storing atomic.Int64 // calls of Store in progress
}

// New returns a Memory.
func New(o Options) *Memory {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Memory{o: o}
}

// caller returns the owner and the author of the caller's writes.
func caller(ctx context.Context) (tool.Owner, Author, error) {
	o, err := tool.OwnerFrom(ctx)
	if err == nil && o == (tool.Owner{}) {
		err = tool.Errorf(tool.Refused, "this caller has neither an agent nor a user, so it has no memories").
			Try("call with the identity of an agent or a user")
	}
	return o, AuthorOf(tool.CallerFrom(ctx)), err
}

// AuthorOf returns the author that changes of a caller are recorded with: its user, or its agent if it has none.
func AuthorOf(c tool.Caller) Author {
	if c.User == "" {
		return Author{c.Agent, c.Session}
	}
	return Author{c.User, c.Session}
}

// Get returns the caller's document of a path or key, otherwise the shared one.
func (m *Memory) Get(ctx context.Context, path string) (Document, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return Document{}, err
	}
	clean, err := pathOf(path)
	if err != nil {
		return Document{}, err
	}
	d, found, err := m.o.Rows.Get(ctx, o, clean)
	if err == nil && !found {
		err = m.missing(ctx, o, clean)
	}
	return d, err
}

// maxNames is the max number of names that are compared with a misspelled one.
const maxNames = 500

// missing returns the error for a path without a document, with similar paths.
func (m *Memory) missing(ctx context.Context, o tool.Owner, path string) error {
	e := tool.Errorf(tool.NotFound, "there is no memory %q", path)
	entries, err := m.o.Rows.List(ctx, o, maxNames)
	if err != nil || len(entries) == 0 {
		return e.Try("use memory_search, or memory_store to add one")
	}
	paths := make([]string, len(entries))
	for i, entry := range entries {
		paths[i] = entry.Path
	}
	if near := tool.Nearest(path, paths); near != "" {
		return e.Try("did you mean %q?", near)
	}
	return e.Try("the latest are %s; or use memory_search", strings.Join(paths[:min(len(paths), 5)], ", "))
}

// Store writes a document of the caller's own.
func (m *Memory) Store(ctx context.Context, w Write) (Stored, error) {
	o, by, err := caller(ctx)
	if err != nil {
		return Stored{}, err
	}
	path, err := pathOf(w.Key)
	if err != nil {
		return Stored{}, err
	}
	if err := checkText(path, w.Text); err != nil {
		return Stored{}, err
	}
	tags, err := checkTags(w.Tags)
	if err != nil {
		return Stored{}, err
	}
	m.storing.Add(1)
	defer m.storing.Add(-1)
	d, unchanged, err := m.o.Rows.Put(ctx, Change{
		Owner: o, Path: path, Text: w.Text, Digest: digestOfWords(w.Text), Category: w.Category, Tags: tags,
		Expires: w.Expires, By: by,
	})
	if err != nil {
		return Stored{}, err
	}
	return Stored{Document: d, Unchanged: unchanged, Similar: m.similar(ctx, o, d)}, nil
}

// maxComparing is the maximum number of concurrent stores that search the index for similar documents. The
// search takes longer than storing a document.
const maxComparing = 4

// similar returns paths of documents with nearly the same text: documents with the same digest,
// and documents that the index finds without waiting and that share most of their words. It is
// advice: an error only leaves it out.
func (m *Memory) similar(ctx context.Context, o tool.Owner, d Document) []string {
	paths, err := m.o.Rows.Duplicates(ctx, o, d.Digest, d.Path)
	if err != nil {
		m.o.Log.Debug("similar memories are not looked for", "err", err)
		return nil
	}
	const most, longest = 3, 4 << 10
	if m.o.Index == nil || len(d.Text) > longest || m.storing.Load() > maxComparing {
		return paths
	}
	found, err := m.o.Index.SearchNow(ctx, index.Query{Text: d.Text, Scopes: scopes(o), Limit: 2 * most})
	if err != nil || len(found.Hits) == 0 {
		return paths
	}
	words := wordsOf(d.Text)
	others, err := m.o.Rows.Readable(ctx, o, documentIDs(found.Hits))
	if err != nil {
		return paths
	}
	for _, other := range others {
		if len(paths) < most && other.Path != d.Path && !slices.Contains(paths, other.Path) &&
			overlap(words, wordsOf(other.Text)) >= similarity {
			paths = append(paths, other.Path)
		}
	}
	return paths
}

// Forget removes documents of the caller's own.
func (m *Memory) Forget(ctx context.Context, f Forget) ([]Document, error) {
	o, by, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	var docs []Document
	if f.Path == "" {
		docs, err = m.containing(ctx, o, f.Query)
	} else {
		docs, err = m.own(ctx, o, f.Path)
	}
	if err != nil || f.DryRun {
		return docs, err
	}
	removed := docs[:0]
	for _, d := range docs {
		d, found, err := m.o.Rows.Drop(ctx, o, d.Path, by)
		if err != nil {
			return removed, err
		}
		if found { // otherwise another call has removed it
			removed = append(removed, d)
		}
	}
	return removed, nil
}

// own returns the document of a path if it is the caller's own.
func (m *Memory) own(ctx context.Context, o tool.Owner, path string) ([]Document, error) {
	path, err := pathOf(path)
	if err != nil {
		return nil, err
	}
	d, found, err := m.o.Rows.Get(ctx, o, path)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, m.missing(ctx, o, path)
	case d.Owner != o:
		return nil, tool.Errorf(tool.Refused, "%q is shared by all users of the agent", path).
			Try("store a memory of your own under this key; it replaces the shared one for you")
	}
	return []Document{d}, nil
}

// maxForgotten is the max number of documents that one query removes.
const maxForgotten = 20

// containing returns the caller's own documents that contain every word of a text.
func (m *Memory) containing(ctx context.Context, o tool.Owner, text string) ([]Document, error) {
	found, _, err := m.o.Index.Search(ctx, index.Query{Text: text, Scopes: scopes(o)[:1], Limit: 200})
	if err != nil {
		return nil, err
	}
	docs, err := m.o.Rows.Readable(ctx, o, documentIDs(found.Hits))
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d Document) bool { return d.Owner != o || !hasAll(d, text) })
	if len(docs) > maxForgotten {
		return nil, tool.Errorf(tool.TooLarge, "%d memories contain these words; at most %d are removed at once",
			len(docs), maxForgotten).
			Try("use more words, or forget one key after the other")
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	return docs, nil
}

// Undo reverts the last change of the caller's own document of a path.
func (m *Memory) Undo(ctx context.Context, path string) (Document, error) {
	o, by, err := caller(ctx)
	if err != nil {
		return Document{}, err
	}
	path, err = pathOf(path)
	if err != nil {
		return Document{}, err
	}
	d, found, err := m.o.Rows.Undo(ctx, o, path, by)
	if err != nil || found {
		return d, err
	}
	_, exists, err := m.o.Rows.Get(ctx, o, path)
	switch {
	case err != nil:
		return d, err
	case !exists:
		return d, m.missing(ctx, o, path)
	}
	return d, tool.Errorf(tool.NotFound, "no former version of %q is kept",
		path).Try("memory_forget without undo removes it")
}
