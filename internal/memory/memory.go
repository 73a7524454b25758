// Package memory keeps what agents remember: it joins the rows of the store,
// the search index and Markdown. It knows which paths are memories, how a
// document is cut into pieces that can be found, and how what a search has found
// is put in order. It does not know the store's tables nor how the index is
// kept up to date.
//
// Whoever calls reads documents of their own and those shared by all users of
// their agent, and writes their own: who that is comes from the context.
//
// Begin with [New]. search.go is how things are found by words, and near.go how
// that is joined with what is found by meaning; files.go is what the file
// tools see, copy.go how memories come and go as files.
package memory

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Rows are the documents as the store has them. What has expired is not there.
type Rows interface {
	Memory(ctx context.Context, o memory.Owner, path string) (memory.Document, bool, error)
	MemoryByID(ctx context.Context, id string) (memory.Document, bool, error)
	MemoriesByID(ctx context.Context, o memory.Owner, ids []string) ([]memory.Document, error)
	MemoryIDs(ctx context.Context, after string, limit int) ([]string, error)
	Memories(ctx context.Context, o memory.Owner, limit int) ([]memory.Entry, error)
	MemoriesAlike(ctx context.Context, o memory.Owner, digest, other string) ([]string, error)
	PutMemory(ctx context.Context, c memory.Change) (d memory.Document, unchanged bool, err error)
	DropMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (memory.Document, bool, error)
	UndoMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (memory.Document, bool, error)
}

// A Finder finds the pieces that a [Shelf] gives out.
type Finder interface {
	Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error)
	// Glance searches without waiting for anything.
	SearchNow(ctx context.Context, q index.Query) (index.Result, error)
}

// Options say what a Memory works on.
type Options struct {
	Rows   Rows
	Finder Finder
	// Meaning finds what the words of a query do not; nil: nothing does.
	Meaning Meaning
	Log     *slog.Logger     // nil: silent
	Now     func() time.Time // nil: the machine's clock
}

// A Memory is what the tools and the file tools work on. It has no state of its
// own.
type Memory struct{ o Options }

// New makes a Memory.
func New(o Options) *Memory {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Memory{o}
}

// who is the owner of what the caller writes. Nobody in particular owns
// nothing.
func who(ctx context.Context) (memory.Owner, memory.Hand, error) {
	c := tool.CallerFrom(ctx)
	if c.Agent == "" && c.User == "" {
		return memory.Owner{}, memory.Hand{}, tool.Errorf(tool.Refused, "nobody has no memory").Try("call with an agent's or a user's identity")
	}
	o, by := memory.Whose(c)
	return o, by, nil
}

// Get returns the caller's document of a path or key, or else the shared one.
func (m *Memory) Get(ctx context.Context, path string) (memory.Document, error) {
	o, _, err := who(ctx)
	if err != nil {
		return memory.Document{}, err
	}
	clean, err := pathOf(path)
	if err != nil {
		return memory.Document{}, err
	}
	d, found, err := m.o.Rows.Memory(ctx, o, clean)
	if err == nil && !found {
		err = m.missing(ctx, o, clean)
	}
	return d, err
}

// missing names what could have been meant.
func (m *Memory) missing(ctx context.Context, o memory.Owner, path string) error {
	e := tool.Errorf(tool.NotFound, "there is no memory %q", path)
	list, err := m.o.Rows.Memories(ctx, o, mostNames)
	if err != nil || len(list) == 0 {
		return e.Try("use memory_search, or memory_store to add one")
	}
	paths := make([]string, len(list))
	for i, entry := range list {
		paths[i] = entry.Path
	}
	if near := tool.Nearest(path, paths); near != "" {
		return e.Try("did you mean %q?", near)
	}
	return e.Try("the latest are %s; or use memory_search", strings.Join(paths[:min(len(paths), 5)], ", "))
}

// mostNames is how many names are looked through for a near one.
const mostNames = 500

// Store writes a document of the caller's own.
func (m *Memory) Store(ctx context.Context, w memory.Write) (memory.Stored, error) {
	o, by, err := who(ctx)
	if err != nil {
		return memory.Stored{}, err
	}
	path, err := pathOf(w.Key)
	if err != nil {
		return memory.Stored{}, err
	}
	if err := checkText(path, w.Text); err != nil {
		return memory.Stored{}, err
	}
	tags, err := checkTags(w.Tags)
	if err != nil {
		return memory.Stored{}, err
	}
	c := memory.Change{Owner: o, Path: path, Text: w.Text, Digest: digest(w.Text), Category: w.Category, Tags: tags, Expires: w.Expires, By: by}
	d, unchanged, err := m.o.Rows.PutMemory(ctx, c)
	if err != nil {
		return memory.Stored{}, err
	}
	return memory.Stored{Document: d, Unchanged: unchanged, Alike: m.alike(ctx, o, d)}, nil
}

// alike names documents that say nearly the same: those with the same digest,
// and of the ones that the index finds at a glance, those that share most of
// their words. It is advice, so a failure of it is no failure.
func (m *Memory) alike(ctx context.Context, o memory.Owner, d memory.Document) []string {
	paths, err := m.o.Rows.MemoriesAlike(ctx, o, d.Digest, d.Path)
	if err != nil {
		m.o.Log.Debug("no documents alike are looked for", "err", err)
		return nil
	}
	const most, longest = 3, 4 << 10
	if len(d.Text) > longest {
		return paths
	}
	found, err := m.o.Finder.SearchNow(ctx, index.Query{Text: d.Text, Scopes: scopes(o), Limit: 2 * most})
	if err != nil || len(found.Hits) == 0 {
		return paths
	}
	words := wordsOf(d.Text)
	others, err := m.o.Rows.MemoriesByID(ctx, o, rowsOf(found.Hits))
	if err != nil {
		return paths
	}
	for _, other := range others {
		if len(paths) < most && other.Path != d.Path && !slices.Contains(paths, other.Path) && overlap(words, wordsOf(other.Text)) >= nearly {
			paths = append(paths, other.Path)
		}
	}
	return paths
}

// Forget removes documents of the caller's own.
func (m *Memory) Forget(ctx context.Context, f memory.Forget) ([]memory.Document, error) {
	o, by, err := who(ctx)
	if err != nil {
		return nil, err
	}
	var gone []memory.Document
	if f.Path == "" {
		gone, err = m.having(ctx, o, f.Query)
	} else {
		gone, err = m.own(ctx, o, f.Path)
	}
	if err != nil || f.Try {
		return gone, err
	}
	left := gone[:0]
	for _, d := range gone {
		d, found, err := m.o.Rows.DropMemory(ctx, o, d.Path, by)
		if err != nil {
			return left, err
		}
		if found { // else somebody was faster
			left = append(left, d)
		}
	}
	return left, nil
}

// own is the one document of a path, if it is the caller's own.
func (m *Memory) own(ctx context.Context, o memory.Owner, path string) ([]memory.Document, error) {
	path, err := pathOf(path)
	if err != nil {
		return nil, err
	}
	d, found, err := m.o.Rows.Memory(ctx, o, path)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, m.missing(ctx, o, path)
	case d.Owner != o:
		return nil, tool.Errorf(tool.Refused, "%q is shared by all users of the agent", path).Try("store a memory of your own under this key, which then counts for you")
	}
	return []memory.Document{d}, nil
}

// mostForgotten is how many documents one query forgets.
const mostForgotten = 20

// having are the caller's own documents that have every word of a text.
func (m *Memory) having(ctx context.Context, o memory.Owner, text string) ([]memory.Document, error) {
	found, _, err := m.o.Finder.Search(ctx, index.Query{Text: text, Scopes: scopes(o)[:1], Limit: 200})
	if err != nil {
		return nil, err
	}
	docs, err := m.o.Rows.MemoriesByID(ctx, o, rowsOf(found.Hits))
	if err != nil {
		return nil, err
	}
	var list []memory.Document
	for _, d := range docs {
		if d.Owner == o && hasAll(d, text) {
			list = append(list, d)
		}
	}
	if len(list) > mostForgotten {
		return nil, tool.Errorf(tool.TooLarge, "%d memories have these words, the most that are forgotten at once are %d", len(list), mostForgotten).
			Try("use more words, or forget one key after the other")
	}
	slices.SortFunc(list, func(a, b memory.Document) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// Undo takes back the last change of the caller's own document of a path.
func (m *Memory) Undo(ctx context.Context, path string) (memory.Document, error) {
	o, by, err := who(ctx)
	if err != nil {
		return memory.Document{}, err
	}
	path, err = pathOf(path)
	if err != nil {
		return memory.Document{}, err
	}
	d, found, err := m.o.Rows.UndoMemory(ctx, o, path, by)
	if err != nil || found {
		return d, err
	}
	if _, there, err := m.o.Rows.Memory(ctx, o, path); err != nil || !there {
		return d, cmp.Or(err, m.missing(ctx, o, path))
	}
	return d, tool.Errorf(tool.NotFound, "no former version of %q is kept", path).Try("memory_forget without undo removes it")
}
