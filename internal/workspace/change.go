package workspace

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxChangeFiles bounds the files of one change.
const maxChangeFiles = 1000

// Recover clears up what killed processes left half done, and lets go of old
// history. Changes do the first on their own for the files that they need.
func (w *Workspace) Recover(ctx context.Context) error { return w.history.Recover(ctx) }

// Change changes files, all or none.
func (w *Workspace) Change(ctx context.Context, paths []string, plan func([]*File) ([]Change, error)) (Receipt, error) {
	return w.change(ctx, paths, "", plan)
}

// change is Change, or takes back the change undoes.
func (w *Workspace) change(ctx context.Context, paths []string, undoes string, plan func([]*File) ([]Change, error)) (Receipt, error) {
	if len(paths) == 0 {
		return Receipt{}, tool.Errorf(tool.Invalid, "no file is named").Try("name one")
	}
	if len(paths) > maxChangeFiles {
		return Receipt{}, tool.Errorf(tool.Invalid, "%d files are too many to change together, the most is %d", len(paths), maxChangeFiles).
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

// errRetry says that what was found before the files were locked is not so
// any more.
var errRetry = errors.New("find the files again")

// An attempt is one try to change some files. It may be run again until the
// plan was asked: a plan is asked once.
type attempt struct {
	w        *Workspace
	paths    []string
	undoes   string
	plan     func([]*File) ([]Change, error)
	planned  bool
	linkKeys []string // keys of further names of the files, found the time before
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
	a.closeFiles() // so that there are handles to clear up with
	if left := c.Abort(); left != nil {
		a.w.o.Log.Error("a change could not be taken back; the next one tries again", "error", left)
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

// resolve leads all paths to their places, and tells what to lock.
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
		return nil, tool.Errorf(tool.Invalid, "%q cannot be a file when %q is one", a.paths[i], a.paths[j]).Try("choose another name for one of them")
	}
	return append(keys, a.linkKeys...), nil
}

// nested finds a file that another one would be the directory of.
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

// forbidden is what all processes call a file in the place's mount. Its key, by
// which they lock it, is in lower case: there are disks where that is one name.
func (p location) lockName(name string) string {
	if p.source != nil {
		return "away:" + path.Join(p.mount.realPath, name)
	}
	return path.Join(p.mount.realPath, name)
}

// open opens all files, now that nobody else changes them.
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
			return errRetry // with the further names locked, too
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
			return Receipt{}, errors.New("the plan of a change names a file twice, or one that was not asked for")
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
		a.closeFiles() // some systems do not replace what is open
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
	}
	return receipt, nil
}

func (a *attempt) record(ctx context.Context) history.Record {
	running := tool.RunningFrom(ctx)
	r := history.Record{Time: time.Now().UTC(), By: running.Caller.Principal(), Tool: running.Tool, Call: running.Call, Undoes: a.undoes}
	if r.Undoes != "" {
		r.Tool = "undo"
	}
	return r
}
