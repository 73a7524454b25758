package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/knowledge"
	"github.com/mcp-tools/mcp-tools/internal/memory"
	"github.com/mcp-tools/mcp-tools/internal/recall"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
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
	h.recall = recall.Open(recall.Options{
		Dir: filepath.Join(h.data, "index"), Feed: h.store.Feed(), Log: h.log,
		Shelves: []recall.Shelf{memory.NewShelf(h.store), knowledge.NewShelf(h.store.Knowledge())},
	})
	h.onClose(h.recall.Close)
	h.memory = memory.New(memory.Options{Rows: h.store, Finder: h.recall, Log: h.log})
	h.graph = knowledge.New(h.store.Knowledge(), h.recall)
	h.unused = neverUsed(h.store, o)
	return nil
}

// memoryRoute shows memories as files of the workspace, where it has none of
// these names itself.
func (h *house) memoryRoute() workspace.Route {
	files := h.memory.Files()
	return workspace.Route{
		Serves: func(ctx context.Context, name string) bool {
			if !files.Serves(ctx, name) {
				return false
			}
			dir, _, err := h.files.Dir(ctx, "")
			if err != nil {
				return true
			}
			first, _, _ := strings.Cut(name, "/")
			_, err = os.Lstat(filepath.Join(dir, first))
			return errors.Is(err, os.ErrNotExist)
		},
		Source: memoryFiles{files, h.unused},
	}
}

// memoryFiles are memories as the workspace has files.
type memoryFiles struct {
	memory.Files
	unused func() bool // nobody has ever remembered anything
}

func (m memoryFiles) List(ctx context.Context) ([]workspace.SourceEntry, error) {
	if m.unused() {
		return nil, nil
	}
	list, err := m.Files.List(ctx)
	if ctx.Err() == nil {
		err = nil // the files of the disk are there still, and the store has told its log why
	}
	entries := make([]workspace.SourceEntry, len(list))
	for i, f := range list {
		entries[i] = workspace.SourceEntry(f)
	}
	return entries, err
}

// How long is kept what was changed, so that it can be undone or caught up with.
const (
	feedAge      = 7 * 24 * time.Hour
	knowledgeAge = 90 * 24 * time.Hour
	sweepEvery   = time.Hour
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
		_, undone := h.store.Knowledge().Sweep(ctx, knowledgeAge)
		_, changes := h.store.Prune(ctx, feedAge)
		rates, asked := h.store.ForgetRates(ctx), h.desk.store.Sweep(ctx)
		if err := errors.Join(expired, undone, changes, rates, asked); err != nil && ctx.Err() == nil {
			h.log.Warn("what is too old in the store could not be removed", "err", err)
		}
	}
}
