package briefing

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A Document is the copy of one that counts for somebody.
type Document struct {
	Name     string
	Text     string
	Level    Level
	User     string // whose copy it is, at [OfUser]
	Version  int64  // 0 for one in the operator's directory
	Modified time.Time
	Author   string
}

// A Level says whose copy a document is.
type Level string

// The levels, in the order in which they count.
const (
	OfUser      Level = "user"      // one user's of the agent
	OfAgent     Level = "agent"     // shared by all its users
	OfDirectory Level = "directory" // the operator's, in the agent's directory
)

// ownReads reports whether users have copies of their own that they read.
func (a Agent) ownReads(name string) bool {
	return !a.Predefined || name == User || name == Bootstrap
}

// target is whose copy a caller changes: their own, or the agent's when there is
// no user, or when the agent may rewrite what it is.
func (r reader) target(name string) (memory.Owner, error) {
	switch {
	case r.agent.ownReads(name):
		return r.owner, nil
	case r.agent.Evolves && name == Soul:
		return r.owner.Shared(), nil
	}
	return memory.Owner{}, tool.Errorf(tool.Refused, "%q is laid down by the operator of this agent and is not changed from here", name).
		Try("keep what you learn about your user in %s, and other things in a memory", User)
}

// look finds the documents of some names that count for a reader.
func (b *Briefing) look(ctx context.Context, r reader, names ...string) (map[string]Document, error) {
	rows, err := b.rows.ContextFiles(ctx, r.owner, names)
	if err != nil {
		return nil, err
	}
	found := map[string]Document{}
	for _, d := range rows {
		next := ofRow(d)
		if next.Level == OfUser && !r.agent.ownReads(d.Path) {
			continue // from a time when the agent was open
		}
		if before, has := found[d.Path]; !has || before.Level == OfAgent {
			found[d.Path] = next
		}
	}
	for _, name := range names {
		if _, has := found[name]; !has {
			d, has, err := r.agent.fromDir(name)
			if err != nil {
				return nil, err
			}
			if has {
				found[name] = d
			}
		}
		if over(name, found[name].Text) {
			delete(found, name)
		}
	}
	return found, nil
}

func ofRow(d memory.Document) Document {
	level := OfUser
	if d.Owner.User == "" {
		level = OfAgent
	}
	return Document{Name: d.Path, Text: d.Text, Level: level, User: d.Owner.User, Version: d.Version, Modified: d.Updated, Author: d.Author}
}

// over reports whether a document is the sign that the first conversation is
// over: an empty BOOTSTRAP.md is as good as none.
func over(name, text string) bool { return name == Bootstrap && strings.TrimSpace(text) == "" }

// put makes an owner's copy of a document what a text says.
func (b *Briefing) put(ctx context.Context, o memory.Owner, by memory.Hand, name, text string) error {
	if err := check(name, text); err != nil {
		return err
	}
	_, _, err := b.rows.PutMemory(ctx, memory.Change{Owner: o, Path: name, Text: text, Category: memory.Context, By: by})
	return err
}

// finish ends the first conversation: the owner's BOOTSTRAP.md goes, and where
// another would take its place, an empty one stays.
func (b *Briefing) finish(ctx context.Context, r reader, o memory.Owner) error {
	_, behind, err := r.agent.fromDir(Bootstrap)
	if err == nil && o.User != "" {
		var shared map[string]Document
		shared, err = b.look(ctx, reader{agent: r.agent, owner: o.Shared()}, Bootstrap)
		_, behind = shared[Bootstrap]
	}
	if err != nil {
		return err
	}
	if behind {
		return b.put(ctx, o, r.hand, Bootstrap, "")
	}
	_, _, err = b.rows.DropMemory(ctx, o, Bootstrap, r.hand)
	return err
}

// check refuses what cannot be a document.
func check(name, text string) error {
	switch n := utf8.RuneCountInString(text); {
	case !Is(name):
		return tool.Errorf(tool.Invalid, "%.100q is no context file", name).Try("choose one of %s", strings.Join(Names(), ", "))
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return tool.Errorf(tool.Invalid, "what is to be in %q is not text", name).Try("write UTF-8 text")
	case n > MostText:
		return tool.Errorf(tool.TooLarge, "%d characters are too many for %q, the most is %d", n, name, MostText).
			Try("keep the essence, and put the rest into memories")
	}
	return nil
}
