// Package workspace decides which files a caller sees, and reaches them.
//
// It knows whose directory is whose, what the operator keeps from tools, where
// links lead and which files are not on a disk at all. It does not know what
// tools do with files, nor how a name is opened without following a link: the
// package root below it does that. Every path that a model writes goes through
// one function, [Workspace.resolve], and comes out as a place: a directory handle
// and a name beneath it with no link on the way.
//
// Begin with find.go for the forms that a path can have, then walk.go for how
// links are followed, deny.go for what is hidden, and hardlinks.go for files
// with several names. [Workspace] implements the interface that tools see.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// PerCaller says whether callers with the same workspace see the same files.
type PerCaller string

// The choices. With Agent or User each has a directory of its own within the
// workspace, made when it is first needed.
const (
	None  PerCaller = "none"
	Agent PerCaller = "agent"
	User  PerCaller = "user" // get an agent
)

// HardLinks says what becomes of files that have several names.
type HardLinks string

// The choices.
const (
	Inside HardLinks = "inside" // they are served when all their names are in the workspace
	Allow  HardLinks = "allow"  // they are files like others
)

// An ExtraRoot is a directory beside the workspace that all callers see.
type ExtraRoot struct {
	Name  string // what they call it: Name/file; "" for a directory known by its path only
	Path  string // absolutePath
	Write bool
}

// Options say what there is. The zero value of each is the strict choice.
type Options struct {
	Data      string // the data directory, which no path reaches; holds history, caches and state
	Home      string // what ~ stands for; "" for nothing
	PerCaller PerCaller
	Roots     []ExtraRoot
	Deny      []string // patterns as in .gitignore: what callers do not see
	Protect   []string // likewise: what they see and do not change
	HardLinks HardLinks
	History   history.Limits // how much can be undone
	Routes    []Route        // files that are not on the disk
	// Elsewhere gives the file system that serves the whole workspace of a
	// caller instead of the disk, or nil.
	Elsewhere func(ctx context.Context, c tool.Caller) Source
	// IndexMemory bounds the indexes that make searches fast; 0: there are none.
	IndexMemory int64
	Log         *slog.Logger // nil: silent
}

// A Workspace is all files that callers see. Its methods may be called from
// many goroutines.
type Workspace struct {
	o             Options
	deny, protect patterns
	locks         commandLocks // what is protected from commands
	indexes       *indexes
	history       *history.Store
	mu            sync.Mutex
	mounts        map[mountKey]*mount
	clock         int64 // counts uses of mounts, to let go of the one that was used least lately
	closed        bool
}

// New checks o and opens nothing.
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
		return nil, fmt.Errorf("a workspace per %q: it is none, agent or user", o.PerCaller)
	}
	switch o.HardLinks {
	case "", Inside, Allow:
	default:
		return nil, fmt.Errorf("hard links %q: it is inside or allow", o.HardLinks)
	}
	w := &Workspace{o: o, mounts: map[mountKey]*mount{}}
	var err error
	if w.deny, err = newPatterns(o.Deny, o.Home); err != nil {
		return nil, fmt.Errorf("files to deny: %w", err)
	}
	if w.protect, err = newPatterns(o.Protect, o.Home); err != nil {
		return nil, fmt.Errorf("files to protect: %w", err)
	}
	if w.locks, err = newCommandLocks(o.Protect, o.Home); err != nil {
		return nil, fmt.Errorf("files to protect: %w", err)
	}
	w.indexes = newIndexes(w)
	w.history = history.New(filepath.Join(o.Data, "files"), o.History, o.Log)
	return w, nil
}

func checkRoots(roots []ExtraRoot) error {
	seen := map[string]bool{workspaceAlias: true, cacheAlias: true, stateAlias: true}
	for _, r := range roots {
		switch {
		case !filepath.IsAbs(r.Path):
			return fmt.Errorf("root %q: %q is not an absolute path", r.Name, r.Path)
		case r.Name == "":
		case strings.ContainsAny(r.Name, "/\\\x00") || r.Name == "." || r.Name == ".." || strings.ContainsAny(r.Name[:1], "~@"):
			return fmt.Errorf("root %q: a name is one step of a path and begins with neither ~ nor @", r.Name)
		case seen[r.Name]:
			return fmt.Errorf("root %q: the name is taken", r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

// Close lets go of all directories. No call may be running.
func (w *Workspace) Close() error {
	errs := []error{w.indexes.close()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for key, m := range w.mounts {
		errs = append(errs, m.root.Close())
		delete(w.mounts, key)
	}
	return errors.Join(errs...)
}
