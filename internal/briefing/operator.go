package briefing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// mostKept bounds a list of copies.
const mostKept = 100_000

// Kept lists the copies that the store has of an agent and all its users, or of
// all agents when it is "". This and what follows is for operators, who change
// what they like.
func (b *Briefing) Kept(ctx context.Context, agent string) ([]memory.Entry, error) {
	o, _ := memory.Whose(tool.Caller{Agent: agent})
	return b.rows.AgentContext(ctx, o.Agent, mostKept)
}

// Directory lists what the operator's directory has for an agent, or tells which
// of it cannot be read and why.
func (b *Briefing) Directory(agent string) (list []Document, err error) {
	a := b.agent(agent)
	if a.Dir == "" {
		return nil, nil
	}
	for _, name := range Names() {
		d, err := readDir(a.Dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// Set makes a user's copy of a document, or the agent's when there is no user,
// what a text says.
func (b *Briefing) Set(ctx context.Context, o memory.Owner, by memory.Hand, name, text string) error {
	return b.put(ctx, o, by, name, text)
}

// Copy returns the text of one copy.
func (b *Briefing) Copy(ctx context.Context, o memory.Owner, name string) (text string, found bool, err error) {
	rows, err := b.rows.ContextFiles(ctx, o, []string{name})
	for _, d := range rows {
		if d.Owner == o {
			return d.Text, true, nil
		}
	}
	return "", false, err
}

// Drop removes a copy, and reports whether there was one.
func (b *Briefing) Drop(ctx context.Context, o memory.Owner, by memory.Hand, name string) (bool, error) {
	if err := check(name, ""); err != nil {
		return false, err
	}
	_, found, err := b.rows.DropMemory(ctx, o, name, by)
	return found, err
}

// Undo makes the former version of a copy the present one, and reports whether
// there was one.
func (b *Briefing) Undo(ctx context.Context, o memory.Owner, by memory.Hand, name string) (bool, error) {
	if err := check(name, ""); err != nil {
		return false, err
	}
	_, found, err := b.rows.UndoMemory(ctx, o, name, by)
	return found, err
}
