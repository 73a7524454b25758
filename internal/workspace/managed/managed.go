// Package managed keeps the files of workspaces in the store, so that every replica can work on them without a directory
// that all mount.
//
// A managed workspace is a tree: rows with the names, modes and digests of its files, whose contents are blobs. The
// replica that works on it holds a lease, has the files in a directory of its machine, and stores the changes of
// calls and commands there before it acknowledges them. The next holder gets the differences from its own copy, by
// digest.
//
// A lease ends by the clock of the database. A holder that lost it without noticing changes nothing: each change of
// the tree names the number of the lease (the fence). Changes that only that machine has are then put aside in a
// directory of the workspace, when its replica holds the workspace again.
//
// Pipes, sockets, devices and files that the server cannot read have no content to store: they stay on the machine.
// Permissions, times of files and links are kept; owners and hard links are not.
//
// The package knows nothing of callers but their name, and does not decide about the use of a workspace. Begin with
// [Trees.Use], then pull in pull.go and commit in commit.go.
package managed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	lease = 20 * time.Second
	beat  = 4 * time.Second
	// hold is how long an unused workspace stays with its holder.
	hold = 30 * time.Second
	// patience is how long a call waits for a workspace of another replica, and poll the time between two attempts.
	patience, poll = lease + 15*time.Second, 200 * time.Millisecond
	// rowTimeout is how long a statement about a lease may take.
	rowTimeout = 5 * time.Second
	// scanEvery is the time between two looks at the files while commands run in the background, and scanShare the
	// part of the time that looking may take.
	scanEvery, scanShare = 10 * time.Second, 20
	// maxIdle is the number of workspaces whose files this process remembers.
	maxIdle = 64
)

// Limits are the maximum bytes of files.
type Limits struct {
	User int64 // in all workspaces of the user whose call made them
	Team int64 // in all workspaces
}

// Options are the dependencies of Trees.
type Options struct {
	Store    *store.Store
	Blobs    *blob.Blobs
	Base     string                                         // the directory of this machine whose workspaces are managed
	Dir      string                                         // for the remembered state of this process's copies; in the data directory
	ID       string                                         // of this run of a replica
	Name     string                                         // of this machine, for people
	Limits   Limits                                         // 0 for none
	Skip     func(string) bool                              // base names that are left out; nil: none
	Busy     func(string) bool                              // commands run that may change the workspace; nil: none do
	Held     func(string)                                   // called when this replica has got a workspace, and Released when it has it no more
	Released func(string)                                   // nil: nothing
	Ask      func(ctx context.Context, holder, name string) // asks another replica to give a workspace up; nil: nobody
	Log      *slog.Logger
}

// Trees are the managed workspaces of a store, as one replica works on them. A nil *Trees manages nothing.
type Trees struct {
	o    Options
	boot string // changes when the machine starts
	part int64  // maximum size of a part of a file

	mu      sync.Mutex
	all     map[string]*workspace // by name
	beating bool
	closed  bool
	ctx     context.Context
	stop    context.CancelFunc
	working sync.WaitGroup
}

// New returns the managed workspaces of a store. It reads and writes nothing.
func New(o Options) *Trees {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ID == "" {
		o.ID = rand.Text()
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	t := &Trees{o: o, part: maxPart, all: make(map[string]*workspace)}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		t.boot = strings.TrimSpace(string(id))
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// A workspace is one tree, and the copy of this machine.
type workspace struct {
	t    *Trees
	name string // the path of its directory in the base, with slashes
	dir  string // of this machine

	turn chan struct{} // a semaphore for copied
	copied

	mu      sync.Mutex
	held    bool
	fence   int64
	until   time.Time   // when the lease may end
	ready   bool        // the files here are the files of the tree, or later
	place   fs.FileInfo // the directory with these files
	uses    int
	used    time.Time
	dirty   map[string]bool // names that have changed since they were stored
	scan    bool            // any name may have changed
	scanned time.Time       // when all names were looked at
	took    time.Duration   // of that
	behind  bool            // the lease was lost with changes that were not stored
	storing bool            // in the background
}

// Name returns the name of the workspace that has a directory of this machine, and whether it is managed.
func (t *Trees) Name(dir string) (name string, managed bool) {
	if t == nil {
		return "", false
	}
	name, err := filepath.Rel(t.o.Base, dir)
	name = filepath.ToSlash(name)
	return name, err == nil && name != ".." && !strings.HasPrefix(name, "../")
}

// Dir returns the directory of this machine for a workspace.
func (t *Trees) Dir(name string) string { return filepath.Join(t.o.Base, filepath.FromSlash(name)) }

// of returns the workspace that has a directory, in use, or nil if it is not managed.
func (t *Trees) of(dir string) (*workspace, error) {
	name, managed := t.Name(dir)
	if !managed {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.Errorf(tool.Unavailable, "the server is shutting down")
	}
	w := t.all[name]
	if w == nil {
		w = &workspace{t: t, name: name, dir: t.Dir(name), turn: make(chan struct{}, 1)}
		t.all[name] = w
	}
	w.mu.Lock() // a workspace that is in use is not forgotten
	w.uses++
	w.used = time.Now()
	w.mu.Unlock()
	return w, nil
}

func (w *workspace) unuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uses--
	w.used = time.Now()
}

// Use makes the directory have the files of its workspace, and keeps the workspace here until the running call ends. It waits
// for another replica that works on it. dir is absolute and clean.
func (t *Trees) Use(ctx context.Context, dir string) error {
	w, err := t.of(dir)
	if w == nil {
		return err
	}
	if !tool.AtEnd(ctx, w, func(context.Context) error { w.unuse(); return nil }) {
		defer w.unuse() // it is used by the call already, or there is no call
	}
	return w.prepare(ctx)
}

// Changed says that a tool has changed files. They are stored before the running call ends.
func (t *Trees) Changed(ctx context.Context, dir string, names []string) {
	w, _ := t.of(dir) // the server is not shutting down, or the call fails
	if w == nil {
		return
	}
	defer w.unuse()
	w.mu.Lock()
	if w.dirty == nil {
		w.dirty = make(map[string]bool)
	}
	for _, name := range names {
		w.dirty[name] = true
	}
	w.mu.Unlock()
	tool.AtEnd(ctx, storing{w, false}, w.store)
}

// A storing is the key of the end of a call that stores changes.
type storing struct {
	w    *workspace
	scan bool
}

// Commands says that the running call may start commands in a workspace that it uses. Their changes are stored before
// the call ends.
func (t *Trees) Commands(ctx context.Context, dir string) {
	w, _ := t.of(dir)
	if w == nil {
		return
	}
	defer w.unuse()
	if !tool.AtEnd(ctx, storing{w, true}, func(ctx context.Context) error { w.mark(); return w.store(ctx) }) &&
		tool.RunningFrom(ctx).Ends == nil {
		w.mark()
	}
}

// Ended says that a command in the background has ended. Its changes are stored soon, and before a call of Settle
// ends.
func (t *Trees) Ended(dir string) {
	w, _ := t.of(dir)
	if w == nil {
		return
	}
	defer w.unuse()
	w.mark()
	w.storeSoon()
}

// Settle makes the running call wait, before it ends, until the changes of ended commands are
// stored.
func (t *Trees) Settle(ctx context.Context, dir string) {
	w, _ := t.of(dir)
	if w == nil {
		return
	}
	defer w.unuse()
	if w.here() {
		tool.AtEnd(ctx, storing{w, false}, w.store)
	}
}

func (w *workspace) here() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

// mark says that any name may have changed.
func (w *workspace) mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scan = true
}

// pending reports whether changes are not stored.
func (w *workspace) pending() bool { return w.scan || len(w.dirty) > 0 }

// prepare updates the files to the tree.
func (w *workspace) prepare(ctx context.Context) error {
	fine := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.held && w.ready && time.Now().Before(w.until) && w.inPlace()
	}
	if fine() {
		return nil
	}
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	if fine() {
		return nil
	}
	tree, err := w.await(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	removed := w.place != nil && !w.inPlace()
	w.mu.Unlock()
	err = w.pull(ctx, tree)
	if err == nil && removed {
		tool.Note(ctx, fmt.Sprintf("Note: the directory of the workspace was removed on the server %q. Its files are those that were "+
			"stored last, without changes that commands had made since.", w.t.o.Name))
	}
	return err
}

// inPlace reports whether the directory is the one with the files. mu is held.
func (w *workspace) inPlace() bool {
	now, err := os.Stat(w.dir)
	return err == nil && w.place != nil && os.SameFile(w.place, now)
}

func (w *workspace) lock(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *workspace) unlock() { <-w.turn }

// A Holder is the replica that has a workspace.
type Holder struct{ ID, Name string }

// Holder returns the other replica that has a workspace, if there is one.
func (t *Trees) Holder(ctx context.Context, dir string) (h Holder, elsewhere bool, err error) {
	name, managed := t.Name(dir)
	if !managed {
		return h, false, nil
	}
	t.mu.Lock()
	w := t.all[name]
	t.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		here := w.held && time.Now().Before(w.until)
		w.mu.Unlock()
		if here {
			return h, false, nil
		}
	}
	err = t.o.Store.Row(ctx, `SELECT holder, host FROM workspace WHERE name = $1 AND holder <> $2 AND `+live,
		[]any{name, t.o.ID}, &h.ID, &h.Name)
	if errors.Is(err, store.ErrNotFound) {
		return h, false, nil
	}
	return h, err == nil, err
}

// live selects rows with a holder. A lease that is longer than any was made before the clock of the database jumped.
const live = `holder <> '' AND until > {{now}} AND until <= {{now}} + 60000`

// await gets the lease, and returns the tree that the row names.
func (w *workspace) await(ctx context.Context) (tree string, err error) {
	until := time.Now().Add(patience)
	for {
		tree, other, err := w.acquire(ctx)
		if err != nil || other.ID == "" {
			return tree, err
		}
		if time.Now().After(until) {
			return "", tool.Errorf(tool.Unavailable, "the server %q works on the files of this workspace", other.Name).
				Try("try again in a moment; if it persists, tell the user that the servers cannot reach each other")
		}
		if w.t.o.Ask != nil {
			w.t.o.Ask(ctx, other.ID, w.name)
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// acquire gets the lease if it is free, and otherwise returns its holder.
func (w *workspace) acquire(ctx context.Context) (tree string, other Holder, err error) {
	begun := time.Now()
	type row struct {
		tree  string
		fence int64
	}
	var got []row
	var overlapping string
	account := tool.CallerFrom(ctx).Account()
	err = w.t.o.Store.Update(ctx, func(t *store.Tx) error {
		got, other, overlapping = nil, Holder{}, ""
		take := func() (err error) {
			got, err = store.List(t, `UPDATE workspace SET holder = $1, host = $2, fence = fence + 1, until = {{now}} + $3
				WHERE name = $4 AND (holder = $1 OR NOT (`+live+`)) RETURNING tree, fence`,
				[]any{w.t.o.ID, w.t.o.Name, lease.Milliseconds(), w.name},
				func(scan store.Scan) (r row, err error) { return r, scan(&r.tree, &r.fence) })
			return err
		}
		if err := take(); err != nil || len(got) > 0 {
			return err
		}
		err := t.Row(`SELECT holder, host FROM workspace WHERE name = $1`, []any{w.name}, &other.ID, &other.Name)
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if overlapping, err = overlap(t, w.name); err != nil || overlapping != "" {
			return err
		}
		if _, err := t.Exec(`INSERT INTO workspace (name, owner, tree, files, bytes, changed, holder, host, fence, until)
			VALUES ($1, $2, '', 0, 0, {{now}}, '', '', 0, 0) ON CONFLICT DO NOTHING`, w.name, account); err != nil {
			return err
		}
		return take()
	})
	if err != nil || other.ID != "" {
		return "", other, err
	}
	if overlapping != "" {
		return "", other, tool.Errorf(tool.Unavailable, "this workspace is within another one, or has another one in it").
			Try("tell the operator to give each caller a workspace beside the others").
			Because(fmt.Errorf("managed workspaces %q and %q overlap", w.name, overlapping))
	}
	if len(got) == 0 {
		return "", Holder{ID: "-", Name: "another one"}, nil // it was faster
	}
	w.mu.Lock()
	w.held, w.fence, w.until, w.ready = true, got[0].fence, begun.Add(lease), false
	w.mu.Unlock()
	w.t.beat()
	if w.t.o.Held != nil {
		w.t.o.Held(w.name)
	}
	return got[0].tree, other, nil
}

// overlap returns the name of a workspace that contains another name, or is within it.
func overlap(t *store.Tx, name string) (string, error) {
	above := []string{"."}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	below := name + "/"
	if name == "." {
		below = ""
	}
	args := []any{len([]rune(below)), below}
	in := store.In(&args, above)
	list, err := store.List(t, `SELECT name FROM workspace WHERE substr(name, 1, CAST($1 AS INTEGER)) = $2 OR name IN (`+in+`) LIMIT 1`,
		args, store.One[string])
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

// release gives the lease back, unless the workspace is in use. The turn is held.
func (w *workspace) release(ctx context.Context) (released bool, err error) {
	w.mu.Lock()
	if w.uses > 0 || w.pending() || !w.held {
		free := !w.held
		w.mu.Unlock()
		return free, nil
	}
	w.held, w.ready = false, false
	fence := w.fence
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	err = w.t.o.Store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`UPDATE workspace SET holder = '', until = 0 WHERE name = $1 AND holder = $2 AND fence = $3`,
			w.name, w.t.o.ID, fence)
		return err
	})
	if w.t.o.Released != nil {
		w.t.o.Released(w.name)
	}
	return err == nil, err
}

// GiveUp stores the changes, and gives the lease back, unless calls or commands use the workspace. It reports whether
// another replica can have it.
func (t *Trees) GiveUp(ctx context.Context, name string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	w := t.all[name]
	t.mu.Unlock()
	if w == nil {
		return true
	}
	w.mu.Lock()
	inUse := w.uses > 0
	w.mu.Unlock()
	if inUse || t.busy(w.dir) {
		return false
	}
	if err := w.store(ctx); err != nil {
		return false // the next beat logs it
	}
	if err := w.lock(ctx); err != nil {
		return false
	}
	defer w.unlock()
	free, err := w.release(ctx)
	return free && err == nil
}

func (t *Trees) busy(dir string) bool { return t.o.Busy != nil && t.o.Busy(dir) }

// Close stores the changes, and gives all leases back.
func (t *Trees) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.closed = true
	list := make([]*workspace, 0, len(t.all))
	for _, w := range t.all {
		list = append(list, w)
	}
	t.mu.Unlock()
	t.stop()
	t.working.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), lease)
	defer cancel()
	var errs []error
	for _, w := range list {
		if w.here() {
			errs = append(errs, w.store(ctx))
		}
		if err := w.lock(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		_, err := w.release(ctx)
		errs = append(errs, err, w.forget())
		w.unlock()
	}
	return errors.Join(errs...)
}
