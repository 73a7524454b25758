package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxChangeFiles is the maximum number of files in one change.
const maxChangeFiles = 1000

// Recover completes or reverts changes that killed processes left unfinished,
// and removes old history. Each change also does the first for its own files.
func (w *Workspace) Recover(ctx context.Context) error { return w.history.Recover(ctx) }

// Work publishes changes for the other servers on the store that could not be published when they were made, until ctx
// ends.
func (w *Workspace) Work(ctx context.Context) { w.history.Work(ctx) }

// Change implements [Files].
func (w *Workspace) Change(
	ctx context.Context, paths []string, plan func([]*File) ([]Change, error),
) (Receipt, error) {
	return w.change(ctx, paths, "", plan)
}

// change makes a change. undoes is the id of the change that it reverts, or "".
func (w *Workspace) change(
	ctx context.Context, paths []string, undoes string, plan func([]*File) ([]Change, error),
) (Receipt, error) {
	if len(paths) == 0 {
		return Receipt{}, tool.Errorf(tool.Invalid, "no file was given").Try("give the path of at least one file")
	}
	if len(paths) > maxChangeFiles && undoes == "" {
		return Receipt{}, tool.Errorf(tool.Invalid, "one call changes at most %d files, not %d",
			maxChangeFiles, len(paths)).
			Try("change them in several calls")
	}
	a := &attempt{w: w, paths: paths, undoes: undoes, plan: plan}
	for range maxAttempts {
		receipt, err := a.run(ctx)
		if a.planned || err == nil || !errors.Is(err, errRetry) && !errors.Is(err, root.ErrLink) {
			return receipt, err
		}
	}
	return Receipt{}, unstableError(paths[0])
}

// errRetry means that the files changed between resolving their paths and
// locking them, so the paths must be resolved again.
var errRetry = errors.New("resolve the files again")

// An attempt is one try to change some files. It calls plan once, and may run again before that
// call.
type attempt struct {
	w        *Workspace
	paths    []string
	undoes   string
	plan     func([]*File) ([]Change, error)
	planned  bool
	linkKeys []string // lock keys of other hard links, found by the previous run
	files    []*pendingFile
}

func (a *attempt) run(ctx context.Context) (Receipt, error) {
	defer a.close()
	keys, err := a.resolve(ctx)
	if err != nil {
		return Receipt{}, err
	}
	lock, err := a.w.history.Lock(ctx, keys)
	if err != nil {
		return Receipt{}, historyError(err)
	}
	defer lock.Unlock()
	if err := a.open(ctx, keys); err != nil {
		return Receipt{}, err
	}
	a.planned = true
	files := make([]*File, len(a.files))
	for i, s := range a.files {
		files[i] = s.file
	}
	changes, err := a.plan(files)
	if err != nil || len(changes) == 0 {
		return Receipt{}, err
	}
	c, err := a.w.history.Begin(lock)
	if err != nil {
		return Receipt{}, historyError(err)
	}
	receipt, err := a.apply(ctx, c, changes)
	a.closeFiles() // Abort needs file descriptors
	if left := c.Abort(); left != nil {
		a.w.o.Log.Error("a failed change could not be reverted; the next change tries again", "err", left)
	}
	return receipt, err
}

func (a *attempt) close() {
	a.closeFiles()
	a.files = nil
}

func (a *attempt) closeFiles() {
	for _, s := range a.files {
		s.close()
	}
}

// resolve resolves all paths and returns the keys to lock.
func (a *attempt) resolve(ctx context.Context) (keys []string, err error) {
	var wholes []string
	for i, given := range a.paths {
		p, err := a.w.resolve(ctx, given, toWrite)
		if err != nil {
			return nil, err
		}
		if p.exists && p.info.Dir() {
			return nil, directoryError(p.shown)
		}
		whole := p.lockName(p.name)
		if j := slices.Index(wholes, whole); j >= 0 {
			return nil, sameFileError(a.paths[j], a.paths[i])
		}
		wholes = append(wholes, whole)
		keys = append(keys, strings.ToLower(whole))
		a.files = append(a.files, &pendingFile{location: p, given: given})
	}
	if i, j, ok := nested(wholes); ok {
		return nil, tool.Errorf(tool.Invalid, "%q cannot be a file because %q is one", a.paths[i], a.paths[j]).
			Try("choose another name for one of them")
	}
	return append(keys, a.linkKeys...), nil
}

// nested finds a name below another one. Then the outer one cannot be a file.
func nested(names []string) (inner, outer int, ok bool) {
	if len(names) == 1 {
		return 0, 0, false
	}
	for i, name := range names {
		for dir := path.Dir(name); len(dir) > 1; dir = path.Dir(dir) {
			if j := slices.Index(names, dir); j >= 0 {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// lockName returns the lock key of a file in this mount for all processes. The lock key is in
// lower case, because on some disks names that differ in case are the same file.
func (p location) lockName(name string) string {
	if p.source != nil {
		return "away:" + path.Join(p.mount.realPath, name)
	}
	return path.Join(p.mount.realPath, name)
}

// open opens all files, after they are locked.
func (a *attempt) open(ctx context.Context, keys []string) error {
	a.linkKeys = nil
	for i, s := range a.files {
		if err := s.open(ctx, a.w); err != nil {
			return err
		}
		for _, other := range a.files[:i] {
			if s.disk != nil && other.disk != nil && s.info.Ino != 0 && sameFile(s.info, other.info) {
				return sameFileError(other.given, s.given)
			}
		}
		for _, name := range s.links {
			a.linkKeys = append(a.linkKeys, strings.ToLower(s.lockName(name)))
		}
	}
	for _, key := range a.linkKeys {
		if !slices.Contains(keys, key) {
			return errRetry // with these keys locked, too
		}
	}
	return nil
}

// apply stages the changes and commits them.
func (a *attempt) apply(ctx context.Context, c *history.Change, changes []Change) (Receipt, error) {
	var receipt Receipt
	var done []*pendingFile
	kept := true
	for _, change := range changes {
		i := slices.Index(a.paths, change.Path)
		if i < 0 || slices.Contains(done, a.files[i]) {
			return Receipt{}, errors.New("a plan names a file twice, or one that was not in paths")
		}
		s := a.files[i]
		result, err := s.stage(ctx, c, change)
		if err != nil {
			return Receipt{}, changeError(err, s.shown)
		}
		done = append(done, s)
		kept = kept && !result.Lost
		receipt.Files = append(receipt.Files, s.report(change, result))
	}
	if c.Len() > 0 {
		a.closeFiles() // Windows cannot replace open files
		r, err := c.Commit(ctx, a.record(ctx))
		if err != nil {
			return Receipt{}, changeError(err, done[0].shown)
		}
		if kept {
			receipt.ID = r.ID
		}
	}
	for i, s := range done {
		receipt.Files[i].Stamp = s.newStamp(receipt.Files[i])
		names := append(s.links, s.name)
		a.w.noteChanged(s.mount, names)
		if s.mount.home && s.source == nil {
			a.w.o.Managed.Changed(ctx, s.mount.path, names)
		}
	}
	return receipt, nil
}

func (a *attempt) record(ctx context.Context) history.Record {
	running := tool.RunningFrom(ctx)
	r := history.Record{
		Time: time.Now().UTC(), By: running.Caller.Principal(), Tool: running.Tool, Call: running.Call,
		Script: running.Script, Undoes: a.undoes,
	}
	if r.Undoes != "" && !strings.HasPrefix(r.Tool, history.OperatorUndo) { // an operator has a name
		r.Tool = "undo"
	}
	return r
}

// maxServedFile is the maximum size of a file of a Source. Such files are held in memory.
const maxServedFile = 64 << 20

// A pendingFile is one file of a change.
type pendingFile struct {
	location
	given        string
	file         *File
	disk         *os.File // nil if the file does not exist on disk
	links        []string // other hard links in the mount: they change together with the file
	outsideLinks int      // hard links outside the mount
	before       []byte   // content of a file of a Source; nil if it does not exist
	after        []byte   // new content of a file of a Source
}

func (s *pendingFile) close() {
	if s.disk != nil {
		_ = s.disk.Close()
		s.disk = nil
	}
}

// open opens the file, or finds that it does not exist.
func (s *pendingFile) open(ctx context.Context, w *Workspace) error {
	s.file = &File{Name: s.shown, ReaderAt: bytes.NewReader(nil), Closer: nopCloser{}}
	if s.source != nil {
		return s.read(ctx)
	}
	_, err := s.mount.root.Lstat(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.disk, s.info, err = w.open(ctx, s.location)
	}
	if notDir(err) {
		return root.ErrLink
	}
	if err != nil {
		return fileError(err, s.shown)
	}
	s.file = &File{Name: s.shown, Exists: true, Size: s.info.Size, Modified: s.info.Modified, Mode: s.info.Mode.Perm(),
		Stamp: stamp(s.info), ReaderAt: s.disk, Closer: nopCloser{}}
	if s.info.Links > 1 {
		return s.findLinks(ctx, w)
	}
	return nil
}

// findLinks finds the other hard links of a file in the mount: they change together with the
// file.
func (s *pendingFile) findLinks(ctx context.Context, w *Workspace) error {
	names, _, err := w.linkNames(ctx, s.location, s.info)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case name == s.name:
		case w.denied(s.mount, name):
			return linkedError(s.shown)
		case w.protected(s.mount, name):
			return protectedError(s.given)
		default:
			s.links = append(s.links, name)
		}
	}
	s.outsideLinks = int(s.info.Links) - 1 - len(s.links)
	return nil
}

// read reads a file of a Source.
func (s *pendingFile) read(ctx context.Context) error {
	content, modified, err := s.source.Read(ctx, s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError(err, s.shown)
	}
	s.before = append([]byte{}, content...) // a copy, and never nil
	s.file = newServedFile(s.shown, s.before, modified)
	return nil
}

func newServedFile(shown string, content []byte, modified time.Time) *File {
	return &File{Name: shown, Exists: true, Size: int64(len(content)), Modified: modified, Mode: 0o644,
		Stamp: contentStamp(content), ReaderAt: bytes.NewReader(content), Closer: nopCloser{}}
}

// stage prepares the new state of the file.
func (s *pendingFile) stage(ctx context.Context, c *history.Change, change Change) (history.Result, error) {
	t := history.Target{
		Root: s.mount.root, Dir: s.mount.realPath, Name: s.name, Others: s.links, Shown: s.shown,
		File: s.disk, Info: s.info,
	}
	switch {
	case change.Remove && !s.file.Exists:
		return history.Result{}, tool.Errorf(tool.NotFound, "no file %q to remove", s.shown).
			Try("call list_files to see what exists")
	case s.source != nil:
		return s.stageServed(ctx, c, t, change)
	case change.Remove:
		return c.Remove(ctx, t)
	}
	return c.Write(ctx, t, change.Content, change.Mode)
}

// stageServed prepares the new state of a file of a Source.
func (s *pendingFile) stageServed(
	ctx context.Context, c *history.Change, t history.Target, change Change,
) (history.Result, error) {
	if !change.Remove {
		s.after = []byte{}
	}
	if !change.Remove && change.Content != nil {
		var err error
		if s.after, err = io.ReadAll(io.LimitReader(change.Content, maxServedFile+1)); err != nil {
			return history.Result{}, err
		}
		if len(s.after) > maxServedFile {
			return history.Result{}, tool.Errorf(tool.TooLarge, "the content for %q has more than %d bytes",
				s.shown, maxServedFile).Try("write less")
		}
	}
	// Once begun, the change is completed or reverted even if the caller disconnects.
	ctx = context.WithoutCancel(ctx)
	return c.WriteExternal(t, s.before, s.after,
		func() error { return s.writeSource(ctx, s.after) },
		func() error { return s.writeSource(ctx, s.before) })
}

// writeSource writes content to the source; nil removes the file.
func (s *pendingFile) writeSource(ctx context.Context, content []byte) error {
	if content != nil {
		return s.source.Write(ctx, s.name, content)
	}
	if err := s.source.Remove(ctx, s.name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// report describes the change of the file.
func (s *pendingFile) report(change Change, r history.Result) Changed {
	out := Changed{Name: s.shown, Created: !s.file.Exists, Removed: change.Remove, Size: r.Size}
	switch {
	case r.Same:
		out.Notes = append(out.Notes, "unchanged: it already has this content")
		return out
	case change.Remove && s.info.Links > 1:
		out.Notes = append(out.Notes, "it has other hard links, which keep the content")
	case s.outsideLinks > 0:
		out.Notes = append(out.Notes, fmt.Sprintf(
			"%d other hard links of it are outside the workspace and keep the old content", s.outsideLinks))
	}
	if s.source != nil && !change.Remove {
		out.Notes = append(out.Notes, s.source.Note())
	}
	if r.Lost {
		out.Notes = append(out.Notes, "the old content was too large to keep, so this change cannot be undone")
	}
	return out
}

// newStamp returns the stamp of the file after the change.
func (s *pendingFile) newStamp(c Changed) string {
	switch {
	case c.Removed:
		return ""
	case s.source != nil:
		return contentStamp(s.after)
	}
	info, err := s.mount.root.Lstat(s.name)
	if err != nil {
		return "" // another program has already removed it
	}
	return stamp(info)
}
