package contextfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// The methods below are for operators. They may change every copy.

// Stored lists the copies that the store has for an agent and all its users, or for all agents if agent is "".
func (f *Files) Stored(ctx context.Context, agent string) ([]memory.Entry, error) {
	const most = 100_000
	return f.rows.ContextEntries(ctx, agent, most)
}

// Directory returns the files in the operator's directory for an agent, or an error for the first that cannot
// be read.
func (f *Files) Directory(agent string) (list []File, err error) {
	a := f.agent(agent)
	if a.Dir == "" {
		return nil, nil
	}
	for _, name := range Names() {
		file, err := readDir(a.Dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, file)
	}
	return list, nil
}

// Set writes a user's copy of a file, or the agent's if the owner has no user.
func (f *Files) Set(ctx context.Context, o tool.Owner, by memory.Author, name, text string) error {
	if o.Agent == "" {
		return tool.Errorf(tool.Invalid, "the name of the agent is empty")
	}
	return f.put(ctx, o, by, name, text)
}

// Copy returns the text of one copy.
func (f *Files) Copy(ctx context.Context, o tool.Owner, name string) (text string, found bool, err error) {
	rows, err := f.rows.ContextFiles(ctx, o, []string{name})
	for _, d := range rows {
		if d.Owner == o {
			return d.Text, true, nil
		}
	}
	return "", false, err
}

// Drop removes a copy, and reports whether there was one.
func (f *Files) Drop(ctx context.Context, o tool.Owner, by memory.Author, name string) (bool, error) {
	if err := check(name, ""); err != nil {
		return false, err
	}
	_, found, err := f.rows.Drop(ctx, o, name, by)
	return found, err
}

// Undo makes the former version of a copy the present one, and reports whether there was one.
func (f *Files) Undo(ctx context.Context, o tool.Owner, by memory.Author, name string) (bool, error) {
	if err := check(name, ""); err != nil {
		return false, err
	}
	_, found, err := f.rows.Undo(ctx, o, name, by)
	return found, err
}
