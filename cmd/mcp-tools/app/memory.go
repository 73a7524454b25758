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

// openMemory joins what agents remember to the store and to the index. Neither
// is opened before somebody asks for it.
func (a *App) openMemory(context.Context) error {
	o, err := a.env.StoreOptions(a.loaded.Config, a.log)
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.DSN); err == nil {
		if password, has := u.User.Password(); has {
			if err := a.scrub.Set("store.dsn", password); err != nil {
				a.log.Warn("the password of the store is not masked: choose a longer one", "err", err)
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

// openMeaning has memories found by what they mean, when there is an endpoint
// that can tell. What it is sent is scrubbed like everything that leaves.
func (a *App) openMeaning() error {
	if a.loaded.Config.Memory.Embeddings.URL == "" {
		return nil
	}
	encoder, key, err := a.env.Encoder(a.loaded.Config)
	if err != nil { // the memory works without, and so does everything else
		a.log.Warn("memories are found by words alone, until this is mended and the server starts again", "err", err)
		return nil
	}
	if key != "" {
		if err := a.scrub.Set("memory.embeddings.key", key); err != nil {
			a.log.Warn("the key of the embeddings endpoint is not masked: choose a longer one", "err", err)
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

// Encoder reaches the endpoint of the settings, with the key that it returns.
func (e *Env) Encoder(all config.Config) (_ *embed.Client, key string, err error) {
	c := all.Memory.Embeddings
	if c.Key != "" {
		if key, err = c.Key.Fetch(e.Sources(all.Vault)); err != nil {
			return nil, "", fmt.Errorf("memory.embeddings.key: %w", err)
		}
	}
	encoder, err := embed.New(embed.Options{URL: c.URL, Model: c.Model, Key: key, Dimensions: c.Dimensions, Batch: maxEmbeddings})
	if err != nil {
		return nil, "", fmt.Errorf("memory.embeddings: %w", err)
	}
	return encoder, key, nil
}

// workOnMeaning makes what is remembered ready to be found by what it means. A
// store that nobody has ever used is not made for that.
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

// memoryRoute shows memories as files of the workspace, where it has none of
// these names itself.
func (a *App) memoryRoute() workspace.Route {
	files := a.memory.Files()
	return workspace.Route{Serves: a.unlessOnDisk(files.Serves), Source: memoryFiles{files, a.unused}}
}

// unlessOnDisk leaves names to the workspace's disk where it has them itself.
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

// entries are files of a source of ours in the workspace's words.
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

// memoryFiles are memories as the workspace has files.
type memoryFiles struct {
	memory.Files
	unused func() bool // NoUser has ever remembered anything
}

func (m memoryFiles) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	if m.unused() {
		return nil, nil
	}
	list, err := m.Files.List(ctx, dir)
	if ctx.Err() == nil {
		err = nil // the files of the disk are there still, and the store has told its log why
	}
	return entries(list), err
}

// How long is kept what was changed, so that it can be undone or caught up with.
const (
	feedAge    = 7 * 24 * time.Hour
	sweepEvery = time.Hour
)

// sweepStore forgets what is too old, once an hour, in a store that is in use.
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
			a.log.Warn("what is too old in the store could not be removed", "err", err)
		}
	}
}
