package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for memories. open returns the memory of a host. It needs
// no index: search reads all memories of one owner.
func Room(open func(*room.Host) (*Memory, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "memory", Title: "List, search, correct, import, export and purge memories",
		Open: func(h *room.Host) (err error) { o.Memory, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the memories of one agent and one user, the latest first", Risk: tool.Reads,
				Where: room.Operator, Owned: true,
				Doc: `list prints the memories of an agent about a user, and the memories that all users of the agent
share.`,
				Example: "  mcp-tools memory list\n  mcp-tools memory list --agent helper --user ann",
			}, o.list),
			room.Do(room.Verb{
				Name: "search", Title: "Search the memories of one agent and one user by words", Args: []string{"query"},
				Risk: tool.Reads, Where: room.Operator, Owned: true,
				Doc: `search prints the memories with most of the words, the best first. It compares words
only; agents search with memory_search by meaning too, if there are embeddings.`,
				Example: "  mcp-tools memory search 'deploy friday'",
			}, o.search),
			room.Do(room.Verb{
				Name: "show", Title: "Print a memory", Args: []string{"path"}, Risk: tool.Reads, Where: room.Operator, Owned: true,
				Example: "  mcp-tools memory show memory/deploy.md",
			}, o.show),
			room.Do(room.Verb{
				Name: "set", Title: "Write a memory from a file", Args: []string{"path", "file"}, Files: []string{"file"},
				Risk: tool.Writes, Where: room.Console, Owned: true,
				Doc: `set stores a text as a memory, or as the next version of one. - reads stdin. Category,
tags and expiry stay as they are. The former version can be restored with the tool
memory_forget and undo.`,
				Example: "  mcp-tools memory set deploy deploy.md\n  echo 'We deploy on Mondays.' | mcp-tools memory set deploy -",
			}, o.set),
			room.Do(room.Verb{
				Name: "forget", Title: "Remove a memory", Args: []string{"path"}, Risk: tool.Destroys, Where: room.Operator,
				Owned: true,
				Doc: `forget removes one memory. The tool memory_forget restores it with undo, and purge
removes also the former versions.`,
			}, o.forget),
			room.Do(room.Verb{
				Name: "import", Title: "Store the files of a directory as memories", Args: []string{"dir"}, Risk: tool.Writes,
				Owned: true,
				Doc: `import stores the files of a directory as memories of one agent and one user:
MEMORY.md, memory.md and the Markdown files in memory/, and other Markdown files as
memory/FILE. Documents such as PDF, Word and HTML files become memory/FILE.md.
Equal memories are not changed; different ones get a new version, and the old version
can be restored.`,
				Example: `  mcp-tools memory import notes
  mcp-tools memory import backup --agent helper --user ann
  mcp-tools memory import handbook --agent helper --user -    for all its users`,
			}, o.importDir),
			room.Do(room.Verb{
				Name: "export", Title: "Write memories as Markdown files", Args: []string{"dir"}, Risk: tool.Writes, Owned: true,
				Doc: `export writes the memories of one agent and one user to a directory, one file
each. Category, tags and expiry are in the front matter, so that import restores
them. Files of an earlier export are replaced; other files only with --force.`,
				Example: `  mcp-tools memory export backup`,
			}, o.export),
			room.Do(room.Verb{
				Name: "purge", Title: "Remove memories with their former versions, for good", Risk: tool.Destroys,
				Where: room.Operator, Owned: true,
				Doc: `purge removes the memories of one agent and one user that were last written in a
session, or all of them, with their former versions. Nothing can restore them but a
backup. Memories that all users of the agent share stay, unless --user is -.`,
				Example: `  mcp-tools memory purge --agent helper --user ann --all`,
			}, o.purge),
		},
	}
}

// operator has the verbs of memories.
type operator struct{ *Memory }

// of names the agent and the user whose memories a verb is about.
type of struct {
	Agent string `json:"agent,omitempty" jsonschema:"the agent that remembers"`
	User  string `json:"user,omitempty" jsonschema:"the user it is about; none: memories that all users of the agent share"`
}

// caller returns a context for calls in the name of the agent and user.
func (w of) caller(ctx context.Context) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: w.Agent, User: w.User, Channel: "cli"}, Tool: "memory"})
}

func (o *operator) list(ctx context.Context, a of) (tool.Result, error) {
	list, err := o.List(a.caller(ctx))
	head := []string{"PATH", "SIZE", "UPDATED", "CATEGORY", "TAGS", ""}
	return room.Rows(list, "There are no memories.", head, func(d Listed) []string {
		shared := ""
		if d.Shared {
			shared = "shared"
		}
		return []string{d.Path, terminal.FileSize(d.Size), terminal.Date(d.Updated), d.Category,
			strings.Join(d.Tags, " "), shared}
	}), err
}

// A Match is a memory that a search has found.
type Match struct {
	Listed
	Score   float64 `json:"score"` // how much of the query it matches, from 0 to 1
	Snippet string  `json:"snippet"`
}

type searchArgs struct {
	Query string `json:"query" jsonschema:"the words"`
	Limit int    `json:"limit,omitempty" jsonschema:"memories to return" default:"10" min:"1" max:"200"`
	of
}

func (o *operator) search(ctx context.Context, a searchArgs) (tool.Result, error) {
	list, err := o.matches(a.caller(ctx), a.Query, a.Limit)
	var lines strings.Builder
	for _, m := range list {
		fmt.Fprintf(&lines, "%s  %s\n  %s\n", tool.Visible(m.Path), terminal.Date(m.Updated), oneLine(m.Snippet))
	}
	if len(list) == 0 {
		lines.WriteString("No memory has these words.")
	}
	return room.Said(append([]Match{}, list...), "%s", lines.String()), err
}

// matches returns the memories that have words of a query, the best first.
func (m *Memory) matches(ctx context.Context, query string, limit int) (list []Match, err error) {
	o, _, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := m.o.Rows.List(ctx, o, maxFiles)
	if err != nil {
		return nil, err
	}
	byID := map[string]Document{}
	var documents []index.Document
	for some := range slices.Chunk(entries, 500) {
		ids := make([]string, len(some))
		for i, e := range some {
			ids[i] = e.ID
		}
		docs, err := m.o.Rows.Readable(ctx, o, ids)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			byID[d.ID] = d
			documents = append(documents, index.Document{
				ID: d.ID, Title: strings.TrimSuffix(d.Path, ".md"), Body: d.Text, Tags: d.Tags, Time: d.Updated.UnixMilli(),
			})
		}
	}
	found := index.NewCollection(documents).Search(query, limit)
	for _, hit := range found.Hits {
		d := byID[hit.ID]
		list = append(list, Match{
			Listed:  Listed{d.Path, int64(len(d.Text)), d.Category, append([]string{}, d.Tags...), d.Updated, d.Owner.User == ""},
			Score:   hit.Score / found.MaxScore,
			Snippet: index.Snippet(d.Text, hit.Terms, snippetSize),
		})
	}
	return list, nil
}

type pathArgs struct {
	Path string `json:"path" jsonschema:"the memory, as in list"`
	of
}

// A Shown is a memory with its text.
type Shown struct {
	Listed
	Version int64     `json:"version"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	By      string    `json:"by,omitempty"`      // the author of this version
	Session string    `json:"session,omitempty"` // of the author
	Text    string    `json:"content"`
}

// Correct returns the text.
func (s Shown) Correct() string { return s.Text }

func (o *operator) show(ctx context.Context, a pathArgs) (none tool.Result, err error) {
	d, err := o.Get(a.caller(ctx), a.Path)
	if err != nil {
		return none, err
	}
	return room.Said(Shown{
		Listed:  Listed{d.Path, int64(len(d.Text)), d.Category, append([]string{}, d.Tags...), d.Updated, d.Owner.User == ""},
		Version: d.Version, Created: d.Created, Expires: d.Expires, By: d.Author.Name, Session: d.Author.Session, Text: d.Text,
	}, "%s]\n%s", describe(d), tool.Visible(d.Text)), nil
}

type setArgs struct {
	Path string `json:"path" jsonschema:"path or key of the memory"`
	File string `json:"file" jsonschema:"its text"`
	of
}

func (o *operator) set(ctx context.Context, a setArgs) (tool.Result, error) {
	s, err := o.Store(a.caller(ctx), Write{Key: a.Path, Text: a.File})
	if err != nil {
		return tool.Result{}, err
	}
	return room.Said(map[string]any{"path": s.Path, "version": s.Version, "unchanged": s.Unchanged}, "%s", showStored(s)), nil
}

func (o *operator) forget(ctx context.Context, a pathArgs) (tool.Result, error) {
	docs, err := o.Forget(a.caller(ctx), Forget{Path: a.Path})
	if err != nil {
		return tool.Result{}, err
	}
	var paths []string
	for _, d := range docs {
		paths = append(paths, d.Path)
	}
	return room.Said(map[string][]string{"removed": append([]string{}, paths...)}, "%s removed", strings.Join(paths, ", ")), nil
}

type importArgs struct {
	Dir string `json:"dir" jsonschema:"the directory"`
	of
}

func (o *operator) importDir(ctx context.Context, a importArgs) (tool.Result, error) {
	if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
		return tool.Result{}, room.Mistake("%s is not a directory", a.Dir)
	}
	r, err := o.Import(a.caller(ctx), os.DirFS(a.Dir))
	skipped := ""
	for _, s := range r.Skipped {
		skipped += "left out: " + s + "\n"
	}
	return room.Said(r, "%s%d stored, %d unchanged", skipped, r.Written, r.Unchanged), err
}

type exportArgs struct {
	Dir   string `json:"dir" jsonschema:"the directory"`
	Force bool   `json:"force,omitempty" jsonschema:"replace files that are not from an earlier export"`
	of
}

func (o *operator) export(ctx context.Context, a exportArgs) (tool.Result, error) {
	n, err := o.Export(a.caller(ctx), Dir{Path: a.Dir, Force: a.Force, Ours: Exported})
	return room.Said(map[string]int{"written": n}, "%s written to %s", text.Plural(n, "file"), a.Dir), err
}

type purgeArgs struct {
	Session string `json:"session,omitempty" jsonschema:"only memories that were last written in this session"`
	All     bool   `json:"all,omitempty" jsonschema:"all memories"`
	of
}

func (o *operator) purge(ctx context.Context, a purgeArgs) (tool.Result, error) {
	if (a.Session != "") == a.All {
		return tool.Result{}, room.Mistake("mcp-tools memory purge needs --session or --all")
	}
	n, err := o.Purge(a.caller(ctx), a.Session)
	return room.Said(map[string]int{"removed": n}, "%d removed", n), err
}

// A Dir is the Writer of a directory.
type Dir struct {
	Path  string
	Force bool                      // replace any file
	Ours  func(content []byte) bool // whether a file is an earlier export; nil: none is
}

// Write writes a file, unless that would lose another one.
func (d Dir) Write(name string, content []byte, modified time.Time) error {
	path := filepath.Join(d.Path, filepath.FromSlash(name))
	if !d.Force && !d.free(path, content) {
		return room.Mistake("%s exists and has different content; choose an empty directory, or add --force", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := private.Replace(path, content); err != nil {
		return err
	}
	return os.Chtimes(path, modified, modified)
}

// free reports whether writing a file loses nothing that is not an export.
func (d Dir) free(path string, content []byte) bool {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() { // reading a pipe would block
		return false
	}
	there, err := os.ReadFile(path)
	return err == nil && (bytes.Equal(there, content) || d.Ours != nil && d.Ours(there))
}
