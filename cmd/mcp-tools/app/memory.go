package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/extract"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
	"github.com/mcp-tools/mcp-tools/tools/memory/vectors"
)

// openStore prepares the store and its vault, and has the secrets of the settings masked. The store is opened when it
// is needed: at once if one of these secrets is in the vault.
func (a *App) openStore(context.Context) error {
	o, err := a.env.StoreOptions(a.loaded.Config, a.log)
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.DSN); err == nil {
		if password, has := u.User.Password(); has {
			a.mask("store.dsn", password)
		}
	}
	if a.store, err = store.OpenLazy(o); err != nil {
		return err
	}
	a.onClose(a.store.Close)
	a.env.store, a.lacking = a.store, new(lacking)
	if a.vault, err = a.env.Vault(a.loaded.Config); err != nil {
		return err
	}
	return setSecrets(a.scrub, a.loaded.Config.Scrub, a.env.Sources(a.loaded.Config), a.notMasked)
}

// lacking has the missing parts, and the time of the last look.
type lacking struct {
	sync.Mutex
	asked time.Time
	what  string
}

// lacks returns the missing parts of this server, for /readyz. It looks at most every ten seconds.
func (a *App) lacks() string {
	a.lacking.Lock()
	defer a.lacking.Unlock()
	if time.Since(a.lacking.asked) < 10*time.Second || !a.store.InUse() {
		return a.lacking.what
	}
	a.lacking.asked, a.lacking.what = time.Now(), ""
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.vault.Available(ctx); errors.Is(err, vault.ErrLocked) {
		a.log.Warn("this server works without secrets", "err", err)
		a.lacking.what = "the key of the vault: secrets cannot be read; mcp-tools doctor says why"
	}
	return a.lacking.what
}

// sharedSeen returns the files that sessions have read through all replicas, nil without replicas.
func (a *App) sharedSeen() *fs.SharedSeen {
	if !a.replicated() {
		return nil
	}
	return &fs.SharedSeen{Store: a.store}
}

// replicated reports whether other machines may use the same store.
func (a *App) replicated() bool { return a.store.Engine() == "postgres" }

// notMasked logs that a secret of the settings cannot be masked because the key of the vault is missing.
func (a *App) notMasked(setting string, err error) {
	a.log.Warn("a secret of the settings cannot be read, so it is not masked", "setting", setting, "err", err)
}

// openMemory joins the memory to the store and to the index. Neither is opened
// before it is needed.
func (a *App) openMemory(context.Context) error {
	a.jobs = jobs.NewLoop(a.store, a.log)
	a.follower = indexer.NewFollower(a.store, a.log)
	a.onClose(a.follower.Close)
	if err := a.openExtractor(); err != nil {
		return err
	}
	a.index = indexer.Open(indexer.Options{
		Dir: filepath.Join(a.data, "index"), Follower: a.follower, Log: a.log, Patience: a.env.IndexPatience,
		Sources: []indexer.Source{a.memories, knowledge.NewSource(a.store)},
	})
	a.onClose(a.index.Close)
	if err := a.openEmbeddings(); err != nil {
		return err
	}
	a.memory = memory.New(memory.Options{Rows: a.memories, Index: a.index, Embeddings: a.embeddings, Log: a.log})
	a.graph = knowledge.New(a.store, a.index)
	a.unused = a.store.Unused
	a.openContextFiles()
	a.inbox = inbox.New(inbox.Options{Store: a.store, Log: a.log})
	a.openTeams()
	return nil
}

// MemoryRows returns the memories and context files of a store. When a memory changes, its facts leave the knowledge
// graph, and a server reads the memory again if the settings say so.
func MemoryRows(s *store.Store, c Settings) *memory.Rows {
	rows := memory.NewRows(s, memory.Limits{Documents: maxMemories, Bytes: maxMemoriesBytes})
	rows.Observe = extract.New(extract.Options{Store: s, On: c.Memory.Knowledge.Model != ""}).Observe
	return rows
}

// openExtractor makes the reader of memories. It works while the server runs.
func (a *App) openExtractor() error {
	c := a.loaded.Config.Memory.Knowledge
	budget, err := llm.ParseAmount(c.Budget)
	if err != nil {
		return fmt.Errorf("memory.knowledge.budget: %w", err)
	}
	model := c.Model
	if model == llm.DefaultModel {
		model = ""
	}
	a.memories = MemoryRows(a.store, a.loaded.Config)
	a.extractor = extract.New(extract.Options{
		Store: a.store, Jobs: a.jobs, Memories: a.memories, On: c.Model != "", Model: model, Budget: budget, Scrub: a.scrub.Text,
		Complete: func(ctx context.Context, r llm.Request) (llm.Reply, error) { return a.models.Complete(ctx, r) },
		Record:   a.recordExtraction, Log: a.log,
	})
	return nil
}

// recordExtraction records in the audit log that a memory was read.
func (a *App) recordExtraction(ctx context.Context, d extract.Done) {
	if d.Err != nil {
		a.log.Warn("a memory was not read for the knowledge graph", "memory", d.Memory, "err", d.Err)
	}
	a.record(ctx, audit.Record{
		Call: d.Job, Kind: "job", Tool: extract.Purpose, Agent: d.Owner.Agent, User: d.Owner.User,
	}, d.Began, d.Err)
}

// readMemories reads changed memories into the knowledge graph, from when there is a store.
func (a *App) readMemories(ctx context.Context) {
	if a.loaded.Config.Memory.Knowledge.Model != "" && a.due(ctx) {
		a.extractor.Run(ctx)
	}
}

// openEmbeddings opens the search for memories by their meaning, if the settings name an endpoint for embeddings. Texts
// for the endpoint are scrubbed like everything that leaves.
func (a *App) openEmbeddings() error {
	if a.loaded.Config.Memory.Embeddings.URL == "" {
		return nil
	}
	client, err := ServiceClient(a.loaded.Config, embed.Limits(), a.loaded.Config.Memory.Embeddings.URL)
	if err != nil {
		return err
	}
	a.onClose(client.Close)
	encoder, key, err := a.env.Encoder(a.loaded.Config, client)
	if err != nil { // the memory works without
		a.log.Warn("memories are found by their words only: correct memory.embeddings and restart the server", "err",
			err)
		return nil
	}
	a.mask("memory.embeddings.key", key)
	a.encoder = encoder
	a.embeddings = embeddings.New(embeddings.Options{
		Encoder: encoder, Space: encoder.Space(), Rows: vectors.New(a.store, a.memories, encoder.Space()),
		Feed: a.store, Scrub: a.scrub.Text, Log: a.log,
	})
	a.onClose(a.embeddings.Close)
	return nil
}

// Encoder returns the client of the embeddings endpoint and the endpoint's key. The client uses http.
func (e *Env) Encoder(all Settings, http outbound.Client) (_ *embed.Client, key string, err error) {
	c := all.Memory.Embeddings
	if key, err = e.key(all, "memory.embeddings", c.Key); err != nil {
		return nil, "", err
	}
	encoder, err := embed.New(embed.Options{
		URL: c.URL, HTTP: http, Model: c.Model, Key: key, Batch: maxEmbeddings,
	})
	if err != nil {
		return nil, "", fmt.Errorf("memory.embeddings: %w", err)
	}
	return encoder, key, nil
}

// makeEmbeddings makes the embeddings of memories in the background. It does not create a store.
func (a *App) makeEmbeddings(ctx context.Context) {
	if a.due(ctx) {
		a.embeddings.Work(ctx)
	}
}

// memoryRoute shows memories in the workspace to callers with an agent, except where
// the workspace has files of these names.
func (a *App) memoryRoute() workspace.Route {
	files := a.memory.Files()
	return workspace.Route{Serves: a.unlessOnDisk(files.Serves), Source: files}
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
		_, err = os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		return errors.Is(err, os.ErrNotExist)
	}
}

// How long the change feed goes back, and how often old rows are removed.
const (
	feedAge    = 7 * 24 * time.Hour
	sweepEvery = time.Hour
)

// sweepStore removes expired rows once an hour, if the store is in use.
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
		_, expired := a.memories.Sweep(ctx)
		unneeded := vectors.Sweep(ctx, a.store)
		undone := a.graph.Sweep(ctx)
		_, changes := a.store.PruneChanges(ctx, feedAge)
		rates, asked, used := a.store.PruneRates(ctx), a.approvals.Sweep(ctx), llm.Sweep(ctx, a.store)
		told, left := a.inbox.Sweep(ctx), a.sessions.Sweep(ctx)
		if err := errors.Join(told, left, expired, unneeded, undone, changes, rates, asked, used); err != nil &&
			ctx.Err() == nil {
			a.log.Warn("expired rows of the store could not be removed", "err", err)
		}
	}
}
