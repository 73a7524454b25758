package main

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
)

const (
	newsAtOnce = 200
	newsAgain  = 5 * time.Second // after the store could not be asked
)

// tellNews lets clients know which of their memories and skills have changed,
// whoever changed them, from the time on that the store is used.
func (h *house) tellNews(ctx context.Context) {
	select {
	case <-h.store.Opened():
	case <-ctx.Done():
		return
	}
	feed, place := h.store.Feed(), ""
	for ctx.Err() == nil {
		memories, published := h.store.Wait(store.MemoryTopic), h.store.Wait(store.SkillTopic)
		var changed []func(context.Context) []server.Change
		next, lost, more, err := feed.Follow(ctx, place, newsAtOnce, []string{store.MemoryTopic, store.SkillTopic}, func(topic, key string) {
			if topic == store.MemoryTopic {
				changed = append(changed, h.memoryNews(key))
			} else {
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
		case <-published:
		case <-ctx.Done():
		}
	}
}

// memoryNews and skillNews find out whose it is that has changed: nobody else
// hears that anything has.
func (h *house) memoryNews(id string) func(context.Context) []server.Change {
	return func(ctx context.Context) []server.Change {
		d, found, err := h.store.MemoryByID(ctx, id)
		if err != nil || !found {
			return nil
		}
		return []server.Change{{Agent: d.Owner.Agent, User: d.Owner.User, Ref: server.Ref{URI: memoryURI(d.Path)}, Listed: true}}
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
