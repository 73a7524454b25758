package main

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
func (h *house) openMemory(context.Context) error {
	o, err := h.app.storeOptions(h.loaded.Config, h.log)
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.DSN); err == nil {
		if password, has := u.User.Password(); has {
			if err := h.scrub.Set("store.dsn", password); err != nil {
				h.log.Warn("the password of the store is not masked: choose a longer one", "err", err)
			}
		}
	}
	if h.store, err = store.Later(o); err != nil {
		return err
	}
	h.onClose(h.store.Close)
	h.follower = indexer.NewFollower(h.store.Feed(), h.log)
	h.onClose(h.follower.Close)
	h.indexer = indexer.Open(indexer.Options{
		Dir: filepath.Join(h.data, "index"), Follower: h.follower, Log: h.log, Patience: h.app.patience,
		Sources: []indexer.Source{memory.NewShelf(h.store), knowledge.NewSource(h.store)},
	})
	h.onClose(h.indexer.Close)
	about := memory.Options{Rows: h.store, Finder: h.indexer, Log: h.log}
	if err := h.openMeaning(); err != nil {
		return err
	}
	if h.meaning != nil {
		about.Meaning = h.meaning
	}
	h.memory = memory.New(about)
	h.graph = knowledge.New(h.store, h.indexer)
	h.unused = neverUsed(h.store, o)
	h.openBriefing()
	return nil
}

// openMeaning has memories found by what they mean, when there is an endpoint
// that can tell. What it is sent is scrubbed like everything that leaves.
func (h *house) openMeaning() error {
	if h.loaded.Config.Memory.Embeddings.URL == "" {
		return nil
	}
	encoder, key, err := h.app.encoder(h.loaded.Config)
	if err != nil { // the memory works without, and so does everything else
		h.log.Warn("memories are found by words alone, until this is mended and the server starts again", "err", err)
		return nil
	}
	if key != "" {
		if err := h.scrub.Set("memory.embeddings.key", key); err != nil {
			h.log.Warn("the key of the embeddings endpoint is not masked: choose a longer one", "err", err)
		}
	}
	h.onClose(encoder.Close)
	h.meaning = meaning.New(meaning.Options{
		Encoder: encoder, Space: encoder.Space(), Rows: h.store.Vectors(encoder.Space()),
		Shelf: memory.NewShelf(h.store), Feed: h.store.Feed(), Scrub: h.scrub.Text, Log: h.log,
	})
	h.onClose(h.meaning.Close)
	return nil
}

// encoder reaches the endpoint of the settings, with the key that it returns.
func (a *app) encoder(all config.Config) (_ *embed.Client, key string, err error) {
	c := all.Memory.Embeddings
	if c.Key != "" {
		if key, err = c.Key.Fetch(a.sources(all.Vault)); err != nil {
			return nil, "", fmt.Errorf("memory.embeddings.key: %w", err)
		}
	}
	encoder, err := embed.New(embed.Options{URL: c.URL, Model: c.Model, Key: key, Dimensions: c.Dimensions, Batch: c.Batch})
	if err != nil {
		return nil, "", fmt.Errorf("memory.embeddings: %w", err)
	}
	return encoder, key, nil
}

// workOnMeaning makes what is remembered ready to be found by what it means. A
// store that nobody has ever used is not made for that.
func (h *house) workOnMeaning(ctx context.Context) {
	select {
	case <-time.After(startFirst):
	case <-ctx.Done():
		return
	}
	if h.unused() {
		select {
		case <-h.store.Opened():
		case <-ctx.Done():
			return
		}
	}
	h.meaning.Work(ctx)
}

// memoryRoute shows memories as files of the workspace, where it has none of
// these names itself.
func (h *house) memoryRoute() workspace.Route {
	files := h.memory.Files()
	return workspace.Route{Serves: h.unlessOnDisk(files.Serves), Source: memoryFiles{files, h.unused}}
}

// unlessOnDisk leaves names to the workspace's disk where it has them itself.
func (h *house) unlessOnDisk(serves func(context.Context, string) bool) func(context.Context, string) bool {
	return func(ctx context.Context, name string) bool {
		if !serves(ctx, name) {
			return false
		}
		dir, _, err := h.files.Dir(ctx, "")
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
	unused func() bool // nobody has ever remembered anything
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
func (h *house) sweepStore(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !h.store.InUse() {
			continue
		}
		_, expired := h.store.SweepMemory(ctx)
		undone := h.graph.Sweep(ctx)
		_, changes := h.store.Prune(ctx, feedAge)
		rates, asked := h.store.ForgetRates(ctx), h.desk.store.Sweep(ctx)
		if err := errors.Join(expired, undone, changes, rates, asked); err != nil && ctx.Err() == nil {
			h.log.Warn("what is too old in the store could not be removed", "err", err)
		}
	}
}
