package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// ContextTopic is the topic of changes of context files. Keys are their ids.
//
// Context files are rows of the memories' tables under the category
// [memory.Context], changed by the same functions and kept in as many versions.
// No list, search or index of memories has them.
const ContextTopic = "context"

// notContext keeps context files out of what is about memories.
const notContext = "category <> '" + memory.Context + "'"

// topic is the topic that a change of the document is told under.
func (r *memoryRow) topic() string {
	if r.Category == memory.Context {
		return ContextTopic
	}
	return MemoryTopic
}

// ContextFiles returns those of some files that are an owner's or shared by all
// users of the agent, in no order: of one name there may be both.
func (s *Store) ContextFiles(ctx context.Context, o memory.Owner, names []string) ([]memory.Document, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args, marks := []any{o.Agent, o.User}, make([]string, len(names))
	for i, name := range names {
		args = append(args, name)
		marks[i] = fmt.Sprintf("$%d", i+3)
	}
	return s.memoryWhere(ctx, "category = '"+memory.Context+"' AND agent = $1 AND usr IN ($2, '') AND path IN ("+strings.Join(marks, ", ")+")", args...)
}

// AgentContext lists the context files of an agent and of all its users, or of
// all agents when it is "". It is for operators.
func (s *Store) AgentContext(ctx context.Context, agent string, limit int) ([]memory.Entry, error) {
	return s.memoryEntries(ctx, "WHERE category = '"+memory.Context+"' AND ($1 = '' OR agent = $1) ORDER BY agent, usr, path LIMIT $2", agent, limit)
}

// MemoryPlace tells whose the document of an id is or was, a memory or a context
// file, and what its path is.
func (s *Store) MemoryPlace(ctx context.Context, id string) (o memory.Owner, path string, found bool, err error) {
	err = s.View(ctx, func(t *Tx) error {
		return t.Row("SELECT agent, usr, path FROM memory WHERE id = $1 UNION ALL SELECT agent, usr, path FROM memory_past WHERE id = $1 LIMIT 1",
			[]any{id}, &o.Agent, &o.User, &path)
	})
	if errors.Is(err, ErrNotFound) {
		return o, path, false, nil
	}
	return o, path, err == nil, err
}
