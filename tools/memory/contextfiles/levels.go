package contextfiles

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A File is the copy of a context file that a caller reads.
type File struct {
	Name     string
	Text     string
	Level    Level
	User     string // the owner of the copy, at [UserLevel]
	Version  int64  // 0 at [DirectoryLevel]
	Modified time.Time
	Author   string
}

// A Level is the kind of owner of a copy.
type Level string

// The levels; the first copy in this order is the one that is read.
const (
	UserLevel      Level = "user"      // one user's of the agent
	AgentLevel     Level = "agent"     // shared by all its users
	DirectoryLevel Level = "directory" // the operator's, in the agent's directory
)

// perUser reports whether users have copies of their own.
func (a Agent) perUser(name string) bool {
	return !a.Predefined || name == User || name == Bootstrap
}

// target returns the owner of the copy that a caller changes: the caller itself, or the agent if the caller has
// no user or the agent may rewrite the file.
func (r reader) target(name string) (tool.Owner, error) {
	switch {
	case r.agent.perUser(name):
		return r.owner, nil
	case r.agent.Evolves && name == Soul:
		return r.owner.Shared(), nil
	}
	return tool.Owner{}, tool.Errorf(tool.Refused,
		"%q belongs to the operator of this agent and cannot be changed here", name).
		Try("keep what you learn about your user in %s, and other things in a memory", User)
}

// find returns the copies of some files that a caller reads.
func (f *Files) find(ctx context.Context, r reader, names ...string) (map[string]File, error) {
	rows, err := f.rows.ContextFiles(ctx, r.owner, names)
	if err != nil {
		return nil, err
	}
	found := map[string]File{}
	for _, d := range rows {
		next := fromRow(d)
		if next.Level == UserLevel && !r.agent.perUser(d.Path) {
			continue // written when the agent was open
		}
		if before, has := found[d.Path]; !has || before.Level == AgentLevel {
			found[d.Path] = next
		}
	}
	for _, name := range names {
		if _, has := found[name]; !has {
			file, has, err := f.fromDirs(r.agent, name)
			if err != nil {
				return nil, err
			}
			if has {
				found[name] = file
			}
		}
		if endsBootstrap(name, found[name].Text) {
			delete(found, name)
		}
	}
	return found, nil
}

func fromRow(d memory.Document) File {
	level := UserLevel
	if d.Owner.User == "" {
		level = AgentLevel
	}
	return File{
		Name: d.Path, Text: d.Text, Level: level, User: d.Owner.User, Version: d.Version, Modified: d.Updated,
		Author: d.Author.Name,
	}
}

// endsBootstrap reports whether a file marks the end of the first conversation: an empty
// BOOTSTRAP.md. It hides the files of lower levels.
func endsBootstrap(name, text string) bool { return name == Bootstrap && strings.TrimSpace(text) == "" }

// put writes an owner's copy of a file.
func (f *Files) put(ctx context.Context, o tool.Owner, by memory.Author, name, text string) error {
	if err := check(name, text); err != nil {
		return err
	}
	_, _, err := f.rows.Put(ctx, memory.Change{Owner: o, Path: name, Text: text, Category: memory.Context, By: by})
	return err
}

// endBootstrap ends the first conversation: it removes the owner's BOOTSTRAP.md, or empties it if one of a
// lower level would take its place.
func (f *Files) endBootstrap(ctx context.Context, r reader, o tool.Owner) error {
	_, behind, err := r.agent.fromDir(Bootstrap)
	if err == nil && o.User != "" {
		var shared map[string]File
		shared, err = f.find(ctx, reader{agent: r.agent, owner: o.Shared()}, Bootstrap)
		_, behind = shared[Bootstrap]
	}
	if err != nil {
		return err
	}
	if behind {
		return f.put(ctx, o, r.author, Bootstrap, "")
	}
	_, _, err = f.rows.Drop(ctx, o, Bootstrap, r.author)
	return err
}

// check returns an error for content that a context file cannot have.
func check(name, text string) error {
	switch n := utf8.RuneCountInString(text); {
	case !Is(name):
		return tool.Errorf(tool.Invalid, "%.100q is no context file", name).Try("use one of %s",
			strings.Join(Names(), ", "))
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return tool.Errorf(tool.Invalid, "the content of %q is not text", name).Try("write UTF-8 text")
	case n > MaxText:
		return tool.Errorf(tool.TooLarge, "%q would have %d characters; the limit is %d", name, n, MaxText).
			Try("keep the essence, and put the rest into memories")
	}
	return nil
}
