package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/skills"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
)

const (
	newsAtOnce = 200
	newsAgain  = 5 * time.Second // after the store could not be asked
)

// tellNews lets clients know which of their memories and skills have changed, and
// what their agents are told,
// whoever changed them, from the time on that the store is used.
func (h *house) tellNews(ctx context.Context) {
	select {
	case <-h.store.Opened():
	case <-ctx.Done():
		return
	}
	feed, place := h.store.Feed(), ""
	for ctx.Err() == nil {
		memories, told, published := h.store.Wait(store.MemoryTopic), h.store.Wait(store.ContextTopic), h.store.Wait(store.SkillTopic)
		var changed []func(context.Context) []server.Change
		topics := []string{store.MemoryTopic, store.ContextTopic, store.SkillTopic}
		next, lost, more, err := feed.Follow(ctx, place, newsAtOnce, topics, func(topic, key string) {
			switch topic {
			case store.MemoryTopic:
				changed = append(changed, h.memoryNews(key, memoryURI))
			case store.ContextTopic:
				changed = append(changed, h.memoryNews(key, contextURI))
			default:
				changed = append(changed, h.skillNews(key))
			}
		})
		if err != nil {
			h.log.Debug("clients do not hear of changes at the moment", "err", err)
			select {
			case <-time.After(newsAgain):
			case <-ctx.Done():
			}
			continue
		}
		if lost && place != "" { // the store was restored, or we slept for days
			h.server.Changed(server.Change{})
		}
		for _, find := range changed {
			for _, change := range find(ctx) {
				h.server.Changed(change)
			}
		}
		place = next
		if more {
			continue
		}
		select {
		case <-memories:
		case <-told:
		case <-published:
		case <-ctx.Done():
		}
	}
}

// watchSkills lets clients know of skills in directories: those of the operator,
// and of the workspace of whoever started us. Workspaces of remote callers are
// not watched: there are too many of them.
func (h *house) watchSkills(ctx context.Context) {
	var dirs []string
	for _, d := range h.skillsIn {
		dirs = append(dirs, d.Path)
	}
	if dir, err := workspaceDir(h.loaded.Config.Connections.Stdio.Workspace); err == nil && dir != "" {
		dirs = append(dirs, filepath.Join(dir, "skills"), filepath.Join(dir, ".agents", "skills"))
	}
	err := skills.Watch(ctx, dirs, func(slug string) {
		h.server.Changed(server.Change{Ref: server.Ref{Prompt: slug}, Listed: true})
		h.server.Changed(server.Change{Ref: server.Ref{URI: skillScheme + slug + "/SKILL.md"}, Listed: true})
	})
	if err != nil {
		h.log.Debug("clients do not hear of new skills in directories", "err", err)
	}
}

// memoryNews and skillNews find out whose it is that has changed, or was: nobody
// else hears that anything has.
func (h *house) memoryNews(id string, uri func(path string) string) func(context.Context) []server.Change {
	return func(ctx context.Context) []server.Change {
		o, path, found, err := h.store.MemoryPlace(ctx, id)
		if err != nil || !found {
			return nil
		}
		return []server.Change{{Agent: o.Agent, User: o.User, Ref: server.Ref{URI: uri(path)}, Listed: true}}
	}
}

func (h *house) skillNews(id string) func(context.Context) []server.Change {
	return func(ctx context.Context) []server.Change {
		o, slug, err := h.store.Skills().Owner(ctx, id)
		if err != nil {
			return nil
		}
		change := server.Change{Agent: o.Agent, User: o.User, Ref: server.Ref{Prompt: slug}, Listed: true}
		file := change
		file.Ref = server.Ref{URI: skillScheme + slug + "/SKILL.md"}
		return []server.Change{change, file}
	}
}
