// Package workspace controls the access of callers to files, and opens the files.
//
// It knows the directories of each caller, the names that the operator denies, the targets of
// links, and the files that are not on disk. It does not know how to open a name without
// following a link (package root does that), nor how tools use files. Every path that a model
// writes goes through [Workspace.resolve]. The result is a location: a directory handle, and a
// name relative to it that has no link in it.
//
// Begin with files.go for the view of tools, then resolve.go for the forms of a path and for
// links, deny.go for hidden names, and hardlinks.go for files with several names.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/managed"
)

// PerCaller selects whether callers with the same workspace share its files.
type PerCaller string

// The choices. With Agent or User, each agent or user has a subdirectory of the workspace,
// created at its first use.
const (
	None  PerCaller = "none"
	Agent PerCaller = "agent"
	User  PerCaller = "user" // get an agent
)

// HardLinks selects how files with several hard links are treated.
type HardLinks string

// The choices.
const (
	Inside HardLinks = "inside" // allowed if all of the links are in the workspace
	Allow  HardLinks = "allow"  // treated like other files
)

// An ExtraRoot is a directory beside the workspace that all callers see.
type ExtraRoot struct {
	Name  string // callers write Name/file; "" for a directory that is known by its path only
	Path  string // absolute
	Write bool
}

// Options configure a Workspace. Zero values are the strictest choice.
type Options struct {
	Data      string // the data directory, with history, caches and state; no path of a caller reaches it
	Home      string // the directory that ~ stands for; "" for none
	PerCaller PerCaller
	Roots     []ExtraRoot
	Deny      []string // patterns in .gitignore syntax, for files that callers must not see
	Protect   []string // likewise, for files that callers must not change
	Private   []string // absolute paths of files that callers must never see, even if Deny excepts them
	HardLinks HardLinks
	History   history.Limits
	Shared    *history.Shared // the history of all servers on the store; nil: this data directory has its own
	Routes    []Route         // files that are not on disk
	Managed   *managed.Trees  // workspaces whose files are in the store; nil: none are
	// IndexMemory is the memory in bytes for search indexes; 0 disables them.
	IndexMemory int64
	Log         *slog.Logger // nil discards
}

// A Workspace gives callers access to their files. It is safe for concurrent use.
type Workspace struct {
	o        Options
	rules    atomic.Pointer[nameRules]
	indexes  *indexes
	history  *history.Store
	mu       sync.Mutex
	mounts   map[mountKey]*mount
	trackers map[inode]*tracker
	clock    int64 // incremented by each use of a mount, to find the least recently used
	closed   bool
	watched  atomic.Int32 // mounts whose directories a survey watches

	closing   context.Context // ends with Close
	stop      context.CancelFunc
	preparing sync.WaitGroup
}

// New returns a workspace. It checks o and opens nothing.
func New(o Options) (*Workspace, error) {
	if !filepath.IsAbs(o.Data) {
		return nil, fmt.Errorf("the data directory %q is not an absolute path", o.Data)
	}
	o.Data = filepath.Clean(o.Data)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkRoots(o.Roots); err != nil {
		return nil, err
	}
	switch o.PerCaller {
	case "", None, Agent, User:
	default:
		return nil, fmt.Errorf("per-caller mode %q is not none, agent or user", o.PerCaller)
	}
	switch o.HardLinks {
	case "", Inside, Allow:
	default:
		return nil, fmt.Errorf("hard-link mode %q is not inside or allow", o.HardLinks)
	}
	w := &Workspace{o: o, mounts: map[mountKey]*mount{}, trackers: map[inode]*tracker{}}
	w.closing, w.stop = context.WithCancel(context.Background())
	if err := w.SetNames(o.Deny, o.Protect); err != nil {
		return nil, err
	}
	w.indexes = newIndexes(w)
	w.history = history.New(filepath.Join(o.Data, "files"), o.History, o.Log)
	w.history.Share(o.Shared)
	return w, nil
}

func checkRoots(roots []ExtraRoot) error {
	seen := map[string]bool{workspaceAlias: true, cacheAlias: true, stateAlias: true}
	for _, r := range roots {
		switch {
		case !filepath.IsAbs(r.Path):
			return fmt.Errorf("root %q: %q is not an absolute path", r.Name, r.Path)
		case r.Name == "":
		case strings.ContainsAny(r.Name, "/\\\x00") || r.Name == "." || r.Name == ".." ||
			strings.ContainsAny(r.Name[:1], "~@"):
			return fmt.Errorf("root %q: a name has no slash and does not begin with ~ or @", r.Name)
		case seen[r.Name]:
			return fmt.Errorf("root %q: the name is already used", r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

// Home returns the path of a caller's workspace, or "". The workspace may not exist.
func (w *Workspace) Home(c tool.Caller) string {
	if !filepath.IsAbs(c.Workspace) {
		return ""
	}
	dir := filepath.Clean(c.Workspace)
	switch w.o.PerCaller {
	case Agent:
		return filepath.Join(dir, callerDirName(c.Agent))
	case User:
		return filepath.Join(dir, callerDirName(c.Agent), callerDirName(c.User))
	}
	return dir
}

// Starting is called before each command of the running call. The command may change any file of the caller's
// workspace.
func (w *Workspace) Starting(ctx context.Context) error {
	home := w.Home(tool.CallerFrom(ctx))
	if home == "" {
		return nil
	}
	err := w.o.Managed.Use(ctx, home)
	if err == nil {
		w.o.Managed.Commands(ctx, home)
	}
	return err
}

// StoreEnded makes the running call wait, before it ends, until the changes of ended commands in the caller's
// workspace are stored.
func (w *Workspace) StoreEnded(ctx context.Context) {
	if home := w.Home(tool.CallerFrom(ctx)); home != "" {
		w.o.Managed.Settle(ctx, home)
	}
}

// pastLinks returns a path without symbolic links, also if the file does not exist.
func pastLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(pastLinks(dir), filepath.Base(path))
}

// Close closes all directories. No call may be running.
func (w *Workspace) Close() error {
	w.stop()
	w.preparing.Wait()
	errs := []error{w.indexes.close()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, t := range w.trackers {
		t.close()
	}
	for key, m := range w.mounts {
		m.survey.close()
		errs = append(errs, m.root.Close())
		delete(w.mounts, key)
	}
	return errors.Join(errs...)
}
