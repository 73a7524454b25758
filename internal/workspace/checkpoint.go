package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/gitrepo"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// Limits of the undo of commands.
const (
	maxTracked      = 50_000    // files of a workspace; in a larger one commands are not recorded
	maxTrackedFile  = 4 << 20   // bytes of a file
	maxTrackedBytes = 256 << 20 // of all files
	maxTrackers     = 4         // workspaces
	maxUndone       = 5000      // files of one command
	maxLeft         = 20        // names of files that cannot be restored
	// racyAge is the age of a change that ensures another time for the next change.
	racyAge = 20 * time.Millisecond
)

// Checkpoint makes sure that the changes of a command in the caller's workspace can be undone.
// It returns a function to call when the command has ended, or when it runs in the background.
// It does not cover files that git ignores, large files, links, and files that the caller may
// not change.
//
// A tracker has a copy of each file as it was at the last checkpoint, and learns the changed
// directories from the kernel. After the command, the old contents of the changed files become
// an entry of the history. [Workspace.Undo] reverts it like a change by a tool. Changes of
// other programs in the meantime count as the command's.
func (w *Workspace) Checkpoint(ctx context.Context, command Command) (ended func()) {
	s, err := w.viewFor(ctx)
	if err != nil {
		return func() {}
	}
	running := tool.RunningFrom(ctx)
	r := &runningCommand{history.Record{
		By: running.Caller.Principal(), Tool: running.Tool, Call: running.Call,
		Script: running.Script, Command: command.Text,
	}, command}
	// The command, such as git add --all, must not find the temporary files of killed processes.
	if err := w.history.Finish(ctx); err != nil && ctx.Err() == nil {
		w.o.Log.Warn("some file changes that a crash interrupted could not be finished or reverted", "err", err)
	}
	t := w.tracker(s.home, true)
	t.update(ctx, nil)
	t.mu.Lock()
	t.running = append(t.running, r)
	t.active.Add(1)
	t.mu.Unlock()
	return func() {
		t.update(context.WithoutCancel(ctx), r)
		t.mu.Lock()
		t.running = slices.DeleteFunc(t.running, func(other *runningCommand) bool { return other == r })
		t.active.Add(-1)
		t.mu.Unlock()
	}
}

// Prepare does in the background the work before the first command in the caller's workspace:
// it reads the directories for Layout, and copies the files for Checkpoint. A command that
// comes before the end waits for the rest. It does nothing for a workspace that is prepared.
func (w *Workspace) Prepare(c tool.Caller) {
	if _, managed := w.o.Managed.Name(w.Home(c)); managed {
		return // a session that begins does not move a workspace
	}
	ctx := tool.With(w.closing, &tool.Running{Caller: c})
	s, err := w.viewFor(ctx)
	if err != nil {
		return
	}
	w.mu.Lock()
	key := inode{s.home.id.Dev, s.home.id.Ino}
	if w.closed || w.trackers[key] != nil || len(w.trackers) >= maxTrackers {
		w.mu.Unlock()
		return
	}
	t := &tracker{w: w, m: s.home, used: time.Now()}
	w.trackers[key] = t
	t.mu.Lock() // before a command can
	w.preparing.Add(1)
	w.mu.Unlock()
	go func() {
		defer w.preparing.Done()
		_, _ = w.Layout(ctx) // a command reports an error
		t.updateLocked(ctx, nil)
		t.mu.Unlock()
		_, _ = w.Layout(ctx) // from the second time on events name the directories that change
	}()
}

// settle records the changes of the running commands of a workspace so far.
func (w *Workspace) settle(ctx context.Context, m *mount) {
	if t := w.tracker(m, false); t != nil && t.isRunning() {
		t.update(ctx, nil)
	}
}

// noteChanged records changes of tools, so that they do not count as changes of running
// commands.
func (w *Workspace) noteChanged(m *mount, names []string) {
	t := w.tracker(m, false)
	if t == nil || !t.isRunning() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		dir := t.dirs[path.Dir(name)]
		if dir == nil {
			continue
		}
		delete(dir.files, path.Base(name))
		if info, err := m.root.Lstat(name); err == nil && info.Regular() {
			if f, err := t.copy(name, info, true); err == nil {
				dir.files[path.Base(name)] = f
			}
		}
	}
}

// A tracker finds the changes in a workspace, and has copies of the files before them.
type tracker struct {
	w *Workspace
	m *mount

	active atomic.Int32 // length of running, to be read without mu

	mu       sync.Mutex
	events   *searchindex.Tracker // nil if all files are compared each time
	dirs     map[string]*trackedDir
	count    int
	contents *os.File // copies of the files, one after the other
	noClones bool     // the file system cannot share blocks between files
	buffer   []byte   // for copying
	size     int64
	used     time.Time
	disabled bool
	running  []*runningCommand // without a command, changes come from other programs

	guards         map[string][]string         // protected names, by their directory
	guarded        guardedFiles                // at the last update; nil before the first
	moved, changed []string                    // protected files to report
	objects        map[string]*gitrepo.Objects // of repositories, before the first command
	// crowded is set if commands made too many files to record: then only protected names
	// are compared.
	crowded bool
}

type trackedDir struct {
	files map[string]*trackedFile
	subs  map[string]bool
}

// A trackedFile is the state of a file at the last checkpoint.
type trackedFile struct {
	info   root.Info
	at     int64  // where its content is; -1 if it was not copied
	digest string // "" if it is not known
	racy   bool   // its times may not show the next change
}

// A trackedChange is a file that changed between two checkpoints.
type trackedChange struct {
	name          string
	before, after *trackedFile
	made          []history.Text
}

// tracker returns the tracker of a workspace. If there is none it is nil, unless create
// is set.
func (w *Workspace) tracker(m *mount, create bool) *tracker {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := inode{m.id.Dev, m.id.Ino}
	t := w.trackers[key]
	if t != nil && t.m.rules != m.rules { // it tracks other files
		delete(w.trackers, key)
		go t.close()
		t = nil
	}
	if t == nil && !create {
		return nil
	}
	if t == nil {
		w.dropTrackers()
		t = &tracker{w: w, m: m}
		w.trackers[key] = t
	}
	t.used = time.Now()
	return t
}

// dropTrackers makes room for a tracker: it removes the least recently used trackers that
// record no command.
func (w *Workspace) dropTrackers() {
	idle := slices.DeleteFunc(slices.Collect(maps.Keys(w.trackers)), func(key inode) bool {
		return w.trackers[key].active.Load() > 0
	})
	slices.SortFunc(idle, func(a, b inode) int { return w.trackers[a].used.Compare(w.trackers[b].used) })
	for _, key := range idle[:min(len(idle), max(0, len(w.trackers)-maxTrackers+1))] {
		go w.trackers[key].close()
		delete(w.trackers, key)
	}
}

func (t *tracker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reset()
	t.disabled = true
}

// reset forgets all but the protected files, so that the next update reads the whole workspace.
func (t *tracker) reset() {
	if t.events != nil {
		_ = t.events.Close()
	}
	if t.contents != nil {
		_ = t.contents.Close()
	}
	t.events, t.contents, t.dirs, t.count, t.size, t.guards = nil, nil, nil, 0, 0, nil
}

// isRunning reports whether a command runs. It does not wait for an update.
func (t *tracker) isRunning() bool { return t.active.Load() > 0 }

// update brings the tracker up to date, and records the changes for a command: by if it is not
// nil, else the latest running one. Commands run even if they cannot be recorded.
func (t *tracker) update(ctx context.Context, by *runningCommand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateLocked(ctx, by)
}

// updateLocked is update for a caller that holds t.mu.
func (t *tracker) updateLocked(ctx context.Context, by *runningCommand) {
	if t.disabled {
		return
	}
	if t.crowded {
		t.guardAlone(ctx)
		return
	}
	if by == nil && len(t.running) > 0 {
		by = t.running[len(t.running)-1]
	}
	first := t.dirs == nil
	changes, err := t.changes(ctx)
	t.buffer = nil
	if err == nil && !first && by != nil && len(changes) > 0 {
		err = t.record(ctx, by.Record, changes)
	}
	if err == nil {
		t.guard()
	}
	if err == nil && t.size > 2*maxTrackedBytes {
		t.reset()
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		t.reset() // the next command copies the missing files
	case errors.Is(err, errTooMany) && t.guarded != nil:
		t.w.o.Log.Info("there are too many files to record changes of commands; protected names are still compared",
			"files", maxTracked)
		t.guardAlone(ctx)
	case errors.Is(err, errTooMany):
		t.w.o.Log.Info("the workspace is too large to record changes of commands", "files", maxTracked)
		t.reset()
		t.disabled = true
	default:
		t.w.o.Log.Warn("changes of a command could not be recorded", "err", err)
		t.reset()
	}
}

// guardAlone compares the protected files of a workspace with too many files. It reads all
// directories each time, until there are fewer files again. t.mu is held.
func (t *tracker) guardAlone(ctx context.Context) {
	t.reset()
	t.guards = map[string][]string{}
	all, err := t.list(ctx, ".", 0, math.MaxInt)
	n := 0
	for _, d := range all {
		n += len(d.Entries)
	}
	if err != nil {
		t.w.o.Log.Warn("protected files could not be compared", "err", err)
		return
	}
	t.guard()
	t.crowded = n > maxTracked
}

// changes finds the changes, and updates the copies.
func (t *tracker) changes(ctx context.Context) (found []trackedChange, err error) {
	var dirty map[string]bool
	whole := t.dirs == nil || t.events == nil
	if !whole {
		var ok bool
		dirty, ok = t.events.Changed()
		whole = !ok
	}
	if t.dirs == nil {
		if err := t.open(); err != nil {
			return nil, err
		}
	}
	var listed []tree.Dir
	for _, dir := range slices.Sorted(maps.Keys(dirty)) {
		if t.dirs[dir] == nil || whole {
			continue
		}
		all, err := t.list(ctx, dir, 1, 2*maxTracked)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, root.ErrLink) || notDir(err) {
			continue // an event of its parent reports it
		}
		if err != nil {
			return nil, err
		}
		listed = append(listed, all...)
	}
	seen := map[string]bool{}
	if whole {
		if listed, err = t.list(ctx, ".", 0, 2*maxTracked); err != nil {
			return nil, err
		}
		for _, d := range listed {
			seen[d.Name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(t.dirs)) {
			if !seen[name] {
				found = append(found, t.forget(name)...)
			}
		}
	}
	fresh := map[string]bool{} // new directories
	for len(listed) > 0 {
		d := listed[0]
		listed = listed[1:]
		dir := t.dirs[d.Name]
		if dir == nil {
			fresh[d.Name] = true
			dir = &trackedDir{map[string]*trackedFile{}, map[string]bool{}}
			t.dirs[d.Name] = dir
		}
		subs := map[string]bool{}
		for _, e := range d.Entries {
			name := path.Join(d.Name, e.Name)
			if !e.Mode.IsDir() {
				continue
			}
			if subs[e.Name] = true; t.dirs[name] == nil && !whole {
				more, err := t.list(ctx, name, 0, 2*maxTracked)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				listed = append(listed, more...)
			}
		}
		for sub := range dir.subs {
			if name := path.Join(d.Name, sub); !subs[sub] && t.dirs[name] != nil {
				found = append(found, t.forget(name)...)
			}
		}
		dir.subs = subs
		more, err := t.compare(ctx, d, dir)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	for i, c := range found {
		for dir := path.Dir(c.name); c.before == nil && fresh[dir] && dir != "."; dir = path.Dir(dir) {
			found[i].made = append([]history.Text{history.Text(dir)}, found[i].made...)
		}
	}
	return found, nil
}

// open opens the handles of a new tracker.
func (t *tracker) open() error {
	dir := filepath.Join(t.w.o.Data, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "checkpoint-*.tmp")
	if err != nil {
		return err
	}
	_ = os.Remove(file.Name()) // where that is possible it vanishes with the process
	t.contents, t.dirs, t.guards = file, map[string]*trackedDir{}, map[string][]string{}
	if t.events, err = searchindex.NewTracker(t.m.root); err != nil {
		t.w.o.Log.Debug("checkpoints compare all files", "cause", err)
	}
	return nil
}

// list reads directories and watches them from then on. If there are more entries than most, it
// fails.
func (t *tracker) list(ctx context.Context, dir string, depth, most int) (all []tree.Dir, err error) {
	var mu sync.Mutex
	var failed error
	watch := func(dir string) {
		mu.Lock()
		defer mu.Unlock()
		if t.events != nil && t.dirs[dir] == nil {
			failed = errors.Join(failed, t.events.Add(dir))
		}
	}
	watch(dir)
	guards := map[string][]string{}
	o := tree.Options{
		Dir: dir, Depth: depth, Hidden: true,
		Skip: func(name string, _ bool) bool {
			if t.isGuarded(name) {
				mu.Lock()
				defer mu.Unlock()
				guards[path.Dir(name)] = append(guards[path.Dir(name)], name)
				return true
			}
			return t.w.deniedInDir(t.m, name)
		},
		Enter: func(dir string) bool { watch(dir); return true },
	}
	n := 0
	_, err = tree.Walk(ctx, t.m.root, o, func(d tree.Dir) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d)
		t.guards[d.Name] = guards[d.Name]
		if n += len(d.Entries); n > most {
			return errTooMany
		}
		return nil
	})
	if failed != nil && t.events != nil { // there are not enough watches
		_ = t.events.Close()
		t.events = nil
	}
	return all, err
}

// forget removes a directory and all below it.
func (t *tracker) forget(dir string) (found []trackedChange) {
	d := t.dirs[dir]
	if d == nil {
		return nil
	}
	for base, f := range d.files {
		found = append(found, trackedChange{name: path.Join(dir, base), before: f})
	}
	t.count -= len(d.files)
	delete(t.dirs, dir)
	delete(t.guards, dir)
	if t.events != nil {
		t.events.Remove(dir)
	}
	for sub := range d.subs {
		found = append(found, t.forget(path.Join(dir, sub))...)
	}
	return found
}

// compare compares the files of one directory with the known ones.
func (t *tracker) compare(ctx context.Context, d tree.Dir, known *trackedDir) (found []trackedChange, err error) {
	var bases []string
	there := map[string]bool{}
	for _, e := range d.Entries {
		if e.Mode.IsRegular() {
			bases = append(bases, e.Name)
			there[e.Name] = true
		}
	}
	for base, f := range known.files {
		if !there[base] {
			found = append(found, trackedChange{name: path.Join(d.Name, base), before: f})
			delete(known.files, base)
			t.count--
		}
	}
	if len(bases) == 0 {
		return found, ctx.Err()
	}
	in, err := t.m.root.OpenRoot(d.Name)
	if err != nil {
		return found, nil // an event of its parent reports it
	}
	defer in.Close()
	for i, info := range tree.Stats(ctx, in, bases, 1) {
		if ctx.Err() != nil {
			break
		}
		if !info.Regular() || info.Links == 0 { // it has gone in the meantime
			continue
		}
		base := bases[i]
		before := known.files[base]
		if before != nil && before.info.Same(info) && before.info.Mode == info.Mode && !before.racy {
			continue
		}
		if before == nil {
			if t.count++; t.count > maxTracked {
				return nil, errTooMany
			}
		}
		name := path.Join(d.Name, base)
		after, err := t.copy(name, info, before != nil || len(t.running) > 0)
		if err != nil {
			return nil, err
		}
		known.files[base] = after
		if before == nil || before.info.Mode != after.info.Mode || after.at < 0 || !t.equal(before, after) {
			found = append(found, trackedChange{name: name, before: before, after: after})
		}
	}
	return found, ctx.Err()
}

// copy copies the content of a file, if it is not too large.
func (t *tracker) copy(name string, info root.Info, withDigest bool) (*trackedFile, error) {
	f := &trackedFile{info: info, at: -1, racy: time.Since(info.Changed) < racyAge}
	if info.Size > maxTrackedFile || t.size+info.Size > 2*maxTrackedBytes || t.dirs["."] == nil {
		return f, nil
	}
	file, info, err := t.m.root.OpenRegular(name)
	if err != nil {
		return f, nil // it may be gone, or unreadable
	}
	defer file.Close()
	if info.Size > maxTrackedFile {
		return f, nil
	}
	if !withDigest {
		if n, ok := t.clone(file, info.Size); ok {
			info.Size = n
			f.info, f.at = info, t.size-n
			return f, nil
		}
	}
	if t.buffer == nil {
		t.buffer = make([]byte, 128<<10)
	}
	var to io.Writer = io.NewOffsetWriter(t.contents, t.size)
	sum := sha256.New()
	if withDigest {
		to = io.MultiWriter(to, sum)
	}
	n, err := io.CopyBuffer(to, struct{ io.Reader }{io.LimitReader(file, info.Size)}, t.buffer)
	if err != nil {
		return nil, err
	}
	info.Size = n
	f.info, f.at = info, t.size
	t.size += n
	if withDigest {
		f.digest = hex.EncodeToString(sum.Sum(nil))
	}
	return f, nil
}

func (t *tracker) content(f *trackedFile) io.Reader {
	return io.NewSectionReader(t.contents, f.at, f.info.Size)
}

// equal reports whether two states of a file have the same content.
func (t *tracker) equal(a, b *trackedFile) bool {
	if a.at < 0 || b.at < 0 || a.info.Size != b.info.Size {
		return false
	}
	if a.digest == "" {
		sum := sha256.New()
		if _, err := io.Copy(sum, t.content(a)); err != nil {
			return false
		}
		a.digest = hex.EncodeToString(sum.Sum(nil))
	}
	return a.digest == b.digest
}

// record adds the changes to the history. A change that cannot be restored is only named.
func (t *tracker) record(ctx context.Context, r history.Record, changes []trackedChange) error {
	slices.SortStableFunc(changes, func(a, b trackedChange) int { return strings.Compare(a.name, b.name) })
	r.Time = time.Now().UTC()
	var olds []io.Reader
	for _, c := range changes {
		f := history.FileRecord{
			Root: history.Text(t.m.realPath), Name: history.Text(c.name), Shown: history.Text(display(c.name)),
			Made: c.made,
		}
		lost := len(r.Files) >= maxUndone
		var old io.Reader
		if c.before != nil {
			f.Before = &history.Content{Size: c.before.info.Size, Mode: c.before.info.Mode.Perm()}
			if lost = lost || c.before.at < 0; !lost {
				old = t.content(c.before)
			}
		}
		if c.after != nil {
			f.After = &history.Content{Digest: c.after.digest, Size: c.after.info.Size, Mode: c.after.info.Mode.Perm()}
			lost = lost || c.after.digest == ""
		}
		if lost {
			if len(r.Left) < maxLeft {
				r.Left = append(r.Left, f.Shown)
			}
			continue
		}
		r.Files, olds = append(r.Files, f), append(olds, old)
	}
	if len(r.Files)+len(r.Left) == 0 {
		return nil
	}
	return t.w.history.Add(ctx, r, olds)
}
