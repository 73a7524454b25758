package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/custom"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// notifyClients notifies clients of changed memories, skills and context files, whichever process has changed
// them, until ctx ends. It begins when the store is used.
func (a *App) notifyClients(ctx context.Context) {
	a.follow(ctx, "notifications of clients", &notifier{app: a})
}

// follow passes changes of the store to a subscriber until ctx ends. It begins when the store is used.
func (a *App) follow(ctx context.Context, name string, s indexer.Subscriber) {
	if a.opened(ctx) {
		sub := a.follower.Subscribe(name, s)
		defer sub.Close()
		<-ctx.Done()
	}
}

// opened waits until this process has opened the store, and reports whether it has before ctx ends.
func (a *App) opened(ctx context.Context) bool {
	select {
	case <-a.store.Opened():
		return true
	case <-ctx.Done():
		return false
	}
}

// due waits until work in the background may begin: a while after the start, and once a store exists. It reports
// whether it may before ctx ends.
func (a *App) due(ctx context.Context) bool {
	return clock.Sleep(ctx, startFirst) == nil && (!a.unused() || a.opened(ctx))
}

// A notifier is the subscriber that notifies clients.
type notifier struct {
	app    *App
	cursor string
}

// Topics returns the topics whose changes clients are notified of.
func (n *notifier) Topics() []string {
	return []string{memory.Topic, memory.ContextTopic, skills.Topic, teams.Topic, bridge.Topic,
		custom.Topic}
}

// Cursor returns how far clients were notified.
func (n *notifier) Cursor(context.Context) (string, error) { return n.cursor, nil }

// Apply notifies the clients that may see the changed resource.
func (n *notifier) Apply(ctx context.Context, c indexer.Changes) (more bool, err error) {
	if c.Lost && n.cursor != "" { // the store was restored, or the process was suspended for days
		n.app.Server.Changed(server.Change{})
	}
	if c.Lost || slices.ContainsFunc(c.Keys, func(k indexer.Key) bool { return k.Topic == teams.Topic }) {
		n.app.teams.Forget()
		if n.cursor != "" {
			n.app.Server.ToolsChanged()
		}
	}
	if c.Lost || slices.ContainsFunc(c.Keys, func(k indexer.Key) bool { return k.Topic == bridge.Topic }) {
		if err := n.app.bridge.Reload(ctx); err != nil {
			return false, err
		}
		if n.cursor != "" {
			n.app.Server.ToolsChanged() // grants may have changed without a change of the tools
		}
	}
	if c.Lost || slices.ContainsFunc(c.Keys, func(k indexer.Key) bool { return k.Topic == custom.Topic }) {
		n.app.loadCustom(ctx, true)
	}
	for _, key := range c.Keys {
		for _, change := range n.app.changesOf(ctx, key) {
			n.app.Server.Changed(change)
		}
	}
	n.cursor = c.Next
	return false, nil
}

// changesOf returns the resources and prompts that changed with a key, for the owner of its row or former row.
// Changes of unknown rows are not notified.
func (a *App) changesOf(ctx context.Context, k indexer.Key) []server.Change {
	switch k.Topic {
	case teams.Topic, bridge.Topic, custom.Topic:
		return nil
	case skills.Topic:
		o, slug, err := a.skills.Owner(ctx, k.Name)
		if err != nil {
			return nil
		}
		prompt := server.Change{Agent: o.Agent, User: o.User, Ref: server.Ref{Prompt: slug}, Listed: true}
		file := prompt
		file.Ref = server.Ref{URI: skills.URI(slug)}
		return []server.Change{prompt, file}
	}
	o, path, found, err := a.memories.Locate(ctx, k.Name)
	if err != nil || !found {
		return nil
	}
	uri := memory.URI(path)
	if k.Topic == memory.ContextTopic {
		uri = contextfiles.URI(path)
	}
	return []server.Change{{Agent: o.Agent, User: o.User, Ref: server.Ref{URI: uri}, Listed: true}}
}

// watchSkills notifies clients of changed skills in directories: the directories of the operator, and the workspace of
// the stdio client. Workspaces of remote callers are not watched, because there may be very many.
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
		a.Server.Changed(server.Change{Ref: server.Ref{URI: skills.URI(slug)}, Listed: true})
	})
	if err != nil {
		a.log.Debug("clients are not notified of skills in directories", "err", err)
	}
}

// startFirst is the delay of work that can wait, so that the client that
// started the program gets its first response sooner.
const startFirst = time.Second

// startBackground starts the work that lasts as long as the server, and the work that the start put off: collecting
// garbage, and finishing or reverting changes that a crash has interrupted. stop ends it and waits.
func (a *App) startBackground(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { a.notifyClients(ctx) })
	working.Go(func() { a.teams.Run(ctx) })
	working.Go(func() { a.watchCustom(ctx) })
	working.Go(func() {
		if a.due(ctx) {
			a.questions.Run(ctx)
		}
	})
	working.Go(func() { a.notifyInboxes(ctx) })
	working.Go(func() { a.sessions.Run(ctx) })
	if a.embeddings != nil {
		working.Go(func() { a.makeEmbeddings(ctx) })
	}
	working.Go(func() { a.startJobs(ctx) })
	working.Go(func() { a.receiveMessages(ctx) })
	working.Go(func() { a.readMemories(ctx) })
	working.Go(func() { a.files.Work(ctx) })
	working.Go(func() {
		if clock.Sleep(ctx, startFirst) == nil {
			a.watchSkills(ctx)
		}
	})
	working.Go(func() {
		if clock.Sleep(ctx, startFirst) != nil {
			return
		}
		a.commands.Sweep()
		a.web.Browsers.Sweep()
		if err := a.results.Sweep(); err != nil {
			a.log.Warn("the results of an earlier version could not be removed", "err", err)
		}
		if err := a.files.Recover(ctx); err != nil && !errors.Is(err, context.Canceled) {
			a.log.Warn("some file changes that a crash interrupted could not be finished or reverted", "err", err)
		}
		a.audit.Recover(ctx)
		if err := a.documents.Renew(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the reader of PDF could not be compiled; the first document tries again", "err", err)
		}
		a.sweepStore(ctx)
	})
	return func() { cancel(); working.Wait() }
}
