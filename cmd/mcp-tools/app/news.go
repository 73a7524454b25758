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
	newsAgain  = 5 * time.Second // after an error of the store
)

// tellNews notifies clients of changes to their memories, skills and context
// files, by any process, from the time the store is first used.
func (a *App) tellNews(ctx context.Context) {
	select {
	case <-a.store.Opened():
	case <-ctx.Done():
		return
	}
	feed, place := a.store, ""
	for ctx.Err() == nil {
		memories, contexts := a.store.Wait(store.MemoryTopic), a.store.Wait(store.ContextTopic)
		published := a.store.Wait(skills.Topic)
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
			a.log.Debug("clients get no notifications of changes at the moment", "err", err)
			select {
			case <-time.After(newsAgain):
			case <-ctx.Done():
			}
			continue
		}
		if lost && place != "" { // the store was restored, or this machine was suspended for days
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
		case <-contexts:
		case <-published:
		case <-ctx.Done():
		}
	}
}

// watchSkills notifies clients of skills in directories: those of the settings and
// of the local caller's workspace. The workspaces of remote callers are not
// watched, since there can be too many.
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
		a.log.Debug("clients get no notifications of skills in directories", "err", err)
	}
}

// memoryNews and skillNews return the notification of a change, addressed to the
// owner of what has changed.
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
