package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/embed"
	"github.com/mcp-tools/mcp-tools/internal/indexer"
	"github.com/mcp-tools/mcp-tools/internal/memory"
	"github.com/mcp-tools/mcp-tools/internal/memory/meaning"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
)

// openMemory joins the memory to the store and to the index. Neither is opened
// before it is needed.
func (a *App) openMemory(context.Context) error {
	o, err := a.env.StoreOptions(a.loaded.Config, a.log)
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.DSN); err == nil {
		if password, has := u.User.Password(); has {
			if err := a.scrub.Set("store.dsn", password); err != nil {
				a.log.Warn("the password of the store is not masked; choose a longer one", "err", err)
			}
		}
	}
	if a.store, err = store.OpenLazy(o); err != nil {
		return err
	}
	a.onClose(a.store.Close)
	a.follower = indexer.NewFollower(a.store, a.log)
	a.onClose(a.follower.Close)
	a.index = indexer.Open(indexer.Options{
		Dir: filepath.Join(a.data, "index"), Follower: a.follower, Log: a.log, Patience: a.env.IndexPatience,
		Sources: []indexer.Source{memory.NewShelf(a.store), knowledge.NewSource(a.store)},
	})
	a.onClose(a.index.Close)
	about := memory.Options{Rows: a.store, Finder: a.index, Log: a.log}
	if err := a.openMeaning(); err != nil {
		return err
	}
	if a.meaning != nil {
		about.Meaning = a.meaning
	}
	a.memory = memory.New(about)
	a.graph = knowledge.New(a.store, a.index)
	a.unused = neverUsed(a.store, o)
	a.openBriefing()
	return nil
}

// openMeaning opens the search of memories by meaning, if the settings have an
// embeddings endpoint. What is sent to it is scrubbed.
func (a *App) openMeaning() error {
	if a.loaded.Config.Memory.Embeddings.URL == "" {
		return nil
	}
	encoder, key, err := a.env.Encoder(a.loaded.Config)
	if err != nil { // everything else works without
		a.log.Warn("memories are found by words only, until this is fixed and the server restarted", "err", err)
		return nil
	}
	if key != "" {
		if err := a.scrub.Set("memory.embeddings.key", key); err != nil {
			a.log.Warn("the key of the embeddings endpoint is not masked; choose a longer one", "err", err)
		}
	}
	a.onClose(encoder.Close)
	a.meaning = meaning.New(meaning.Options{
		Encoder: encoder, Space: encoder.Space(), Rows: a.store.Vectors(encoder.Space()),
		Shelf: memory.NewShelf(a.store), Feed: a.store, Scrub: a.scrub.Text, Log: a.log,
	})
	a.onClose(a.meaning.Close)
	return nil
}

// Encoder returns the client of the embeddings endpoint, and the endpoint's key.
func (e *Env) Encoder(all config.Config) (_ *embed.Client, key string, err error) {
	c := all.Memory.Embeddings
	if c.Key != "" {
		if key, err = c.Key.Fetch(e.Sources(all.Vault)); err != nil {
			return nil, "", fmt.Errorf("memory.embeddings.key: %w", err)
		}
	}
	encoder, err := embed.New(embed.Options{
		URL: c.URL, Model: c.Model, Key: key, Dimensions: c.Dimensions, Batch: maxEmbeddings,
	})
	if err != nil {
		return nil, "", fmt.Errorf("memory.embeddings: %w", err)
	}
	return encoder, key, nil
}

// workOnMeaning computes embeddings of memories until ctx ends. It waits until the
// store is used by a process, so that it does not create one.
func (a *App) workOnMeaning(ctx context.Context) {
	select {
	case <-time.After(startFirst):
	case <-ctx.Done():
		return
	}
	if a.unused() {
		select {
		case <-a.store.Opened():
		case <-ctx.Done():
			return
		}
	}
	a.meaning.Work(ctx)
}

// memoryRoute shows memories in the workspace, except where the workspace has
// files of these names.
func (a *App) memoryRoute() workspace.Route {
	files := a.memory.Files()
	return workspace.Route{Serves: a.unlessOnDisk(files.Serves), Source: memoryFiles{files, a.unused}}
}

// unlessOnDisk excludes names that exist in the workspace on disk.
func (a *App) unlessOnDisk(serves func(context.Context, string) bool) func(context.Context, string) bool {
	return func(ctx context.Context, name string) bool {
		if !serves(ctx, name) {
			return false
		}
		dir, _, err := a.files.Dir(ctx, "")
		if err != nil {
			return true
		}
		first, _, _ := strings.Cut(name, "/")
		_, err = os.Lstat(filepath.Join(dir, first))
		return errors.Is(err, os.ErrNotExist)
	}
}

// entries converts a list of files to the workspace's type.
func entries[E interface {
	~struct {
		Name     string
		Size     int64
		Modified time.Time
	}
}](list []E) []workspace.SourceEntry {
	out := make([]workspace.SourceEntry, len(list))
	for i, e := range list {
		out[i] = workspace.SourceEntry(e)
	}
	return out
}

// memoryFiles adapts memories to the workspace.
type memoryFiles struct {
	memory.Files
	unused func() bool // no process has ever stored a memory
}

func (m memoryFiles) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	if m.unused() {
		return nil, nil
	}
	list, err := m.Files.List(ctx, dir)
	if ctx.Err() == nil {
		err = nil // the files on disk can still be listed, and the store has logged the error
	}
	return entries(list), err
}

// How long changes are kept, and how often old ones are removed.
const (
	feedAge    = 7 * 24 * time.Hour
	sweepEvery = time.Hour
)

// sweepStore removes what has expired once an hour, if the store is in use.
func (a *App) sweepStore(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !a.store.InUse() {
			continue
		}
		_, expired := a.store.SweepMemory(ctx)
		undone := a.graph.Sweep(ctx)
		_, changes := a.store.PruneChanges(ctx, feedAge)
		rates, asked := a.store.PruneRates(ctx), a.approvals.Sweep(ctx)
		if err := errors.Join(expired, undone, changes, rates, asked); err != nil && ctx.Err() == nil {
			a.log.Warn("expired rows of the store could not be removed", "err", err)
		}
	}
}
