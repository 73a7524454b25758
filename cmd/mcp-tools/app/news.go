package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

const (
	newsAtOnce = 200
	newsAgain  = 5 * time.Second // after the store could not be asked
)

// tellNews lets clients know which of their memories and skills have changed, and
// what their agents are told,
// whoever changed them, from the time on that the store is used.
func (a *App) tellNews(ctx context.Context) {
	select {
	case <-a.store.Opened():
	case <-ctx.Done():
		return
	}
	feed, place := a.store, ""
	for ctx.Err() == nil {
		memories, told, published := a.store.Wait(store.MemoryTopic), a.store.Wait(store.ContextTopic), a.store.Wait(skills.Topic)
		var changed []func(context.Context) []server.Change
		topics := []string{store.MemoryTopic, store.ContextTopic, skills.Topic}
		next, lost, more, err := feed.Follow(ctx, place, newsAtOnce, topics, func(topic, key string) {
			switch topic {
			case store.MemoryTopic:
				changed = append(changed, a.memoryNews(key, memoryURI))
			case store.ContextTopic:
				changed = append(changed, a.memoryNews(key, contextURI))
			default:
				changed = append(changed, a.skillNews(key))
			}
		})
		if err != nil {
			a.log.Debug("clients do not hear of changes at the moment", "err", err)
			select {
			case <-time.After(newsAgain):
			case <-ctx.Done():
			}
			continue
		}
		if lost && place != "" { // the store was restored, or we slept for days
			a.Server.Changed(server.Change{})
		}
		for _, find := range changed {
			for _, change := range find(ctx) {
				a.Server.Changed(change)
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
func (a *App) watchSkills(ctx context.Context) {
	var dirs []string
	for _, d := range a.skillDirs {
		dirs = append(dirs, d.Path)
	}
	if dir, err := WorkspaceDir(a.loaded.Config.Connections.Stdio.Workspace); err == nil && dir != "" {
		dirs = append(dirs, filepath.Join(dir, "skills"), filepath.Join(dir, ".agents", "skills"))
	}
	err := skills.Watch(ctx, dirs, func(slug string) {
		a.Server.Changed(server.Change{Ref: server.Ref{Prompt: slug}, Listed: true})
		a.Server.Changed(server.Change{Ref: server.Ref{URI: skillScheme + slug + "/SKILL.md"}, Listed: true})
	})
	if err != nil {
		a.log.Debug("clients do not hear of new skills in directories", "err", err)
	}
}

// memoryNews and skillNews find out whose it is that has changed, or was: nobody
// else hears that anything has.
func (a *App) memoryNews(id string, uri func(path string) string) func(context.Context) []server.Change {
	return func(ctx context.Context) []server.Change {
		o, path, found, err := a.store.MemoryPlace(ctx, id)
		if err != nil || !found {
			return nil
		}
		return []server.Change{{Agent: o.Agent, User: o.User, Ref: server.Ref{URI: uri(path)}, Listed: true}}
	}
}

func (a *App) skillNews(id string) func(context.Context) []server.Change {
	return func(ctx context.Context) []server.Change {
		o, slug, err := a.skills.Owner(ctx, id)
		if err != nil {
			return nil
		}
		change := server.Change{Agent: o.Agent, User: o.User, Ref: server.Ref{Prompt: slug}, Listed: true}
		file := change
		file.Ref = server.Ref{URI: skillScheme + slug + "/SKILL.md"}
		return []server.Change{change, file}
	}
}
