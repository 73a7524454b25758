package history

import (
	"context"
	"errors"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Recover recovers the unfinished changes of killed processes: it completes those that
// were prepared, and reverts the others. Then it removes old history. It is cheap if
// there is nothing to do.
func (s *Store) Recover(ctx context.Context) error {
	_, err := s.recoverPending(ctx, nil)
	return errors.Join(err, s.pruneNow(ctx))
}

// waitForPending returns when no unfinished change of another process touches the
// shards, which the caller has locked. The process of such a change was killed, or
// the lock would not be free. Either this process recovers the change, or it waits for
// the one that does.
func (s *Store) waitForPending(ctx context.Context, shards []int) error {
	for wait := time.Duration(0); ; {
		busy, err := s.recoverPending(ctx, shards)
		if err != nil || !busy {
			return err
		}
		if err := pause(ctx, &wait); err != nil {
			return err
		}
	}
}

// recoverPending recovers the changes of killed processes. busy reports whether another
// process is recovering a change that touches the shards. An error is returned only if
// it concerns the shards; nil shards mean all.
func (s *Store) recoverPending(ctx context.Context, shards []int) (busy bool, err error) {
	dir, err := os.Open(s.path(pendingDir))
	if notExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ids, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if s.isOwn(id) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		touches, done, err := s.recoverOne(ctx, id, shards)
		if err != nil {
			s.log.Warn("an interrupted change could not be recovered", "id", id, "error", err)
			if touches || shards == nil {
				return false, err
			}
		}
		busy = busy || touches && !done
	}
	return busy, nil
}

// recoverOne recovers one pending change if its process was killed. done reports
// whether the change is no longer pending.
func (s *Store) recoverOne(ctx context.Context, id string, shards []int) (touches, done bool, err error) {
	name := s.path(pendingDir, id)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if notExist(err) {
		return false, true, nil
	}
	if err != nil {
		return false, false, err
	}
	j := &journal{s: s, id: id, file: file}
	dead, err := tryLock(file)
	if err != nil || !isLinked(file, name) {
		return false, true, errors.Join(err, file.Close())
	}
	p, err := readPlan(file)
	touches = p.touches(shards)
	if dead && err == nil {
		err = s.finishOrRevert(ctx, j, p)
	}
	if dead && err == nil {
		j.close(true)
		return touches, true, nil
	}
	return touches, false, errors.Join(err, file.Close())
}

// finishOrRevert completes a change, or reverts it.
func (s *Store) finishOrRevert(ctx context.Context, j *journal, p plan) error {
	copies, err := s.copies()
	if err != nil {
		return err
	}
	defer copies.Close()
	roots := map[string]*root.Root{}
	defer closeAll(roots)
	dirs := map[string]*root.Root{}
	defer closeAll(dirs)
	for _, st := range p.steps {
		if err := st.reopen(roots, dirs); err != nil {
			return err
		}
	}
	if p.shouldFinish() && rollForward(p.steps) {
		return s.recordAgain(ctx, p, copies)
	}
	if p.prepared && !p.back {
		_ = j.write(entry{Back: true}) // on a full disk this fails; then the state of the files decides
	}
	return errors.Join(revert(p.steps, roots, copies, p.prepared), dropCopies(copies, j.id, p.copies))
}

func closeAll(roots map[string]*root.Root) {
	for _, r := range roots {
		if r != nil {
			_ = r.Close()
		}
	}
}

// reopen opens the directory of a step again. If the directory does not exist or was
// replaced, s.dir stays nil: then there is nothing to do in it.
func (s *step) reopen(roots, dirs map[string]*root.Root) error {
	r, known := roots[string(s.Root)]
	if !known {
		var err error
		if r, err = root.Open(string(s.Root)); err != nil && !notExist(err) {
			return err
		}
		if r != nil {
			if id, err := r.Info(); err != nil || id.Ino != s.RootIno {
				_ = r.Close()
				r = nil
			}
		}
		roots[string(s.Root)] = r
	}
	if r == nil || !Temporary(s.temp()) {
		return nil
	}
	key := path.Join(string(s.Root), string(s.Dir))
	if s.dir, known = dirs[key]; known {
		return nil
	}
	dir, err := r.OpenRoot(string(s.Dir))
	if err != nil && !notExist(err) && !errors.Is(err, root.ErrLink) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	if err != nil {
		dir = nil
	}
	s.dir, dirs[key] = dir, dir
	return nil
}

// rollForward applies the steps that were not applied yet. It returns false if a file
// was changed since, so that the whole change must be reverted.
func rollForward(steps []*step) bool {
	var todo []*step
	for _, s := range steps {
		if s.dir == nil {
			continue
		}
		at := s.progress()
		if at == overwritten && s.canApply() {
			return false // another process had begun to revert it
		}
		if at == staged && !s.canApply() {
			return false
		}
		if at == staged {
			todo = append(todo, s)
		}
	}
	for _, s := range todo {
		if s.apply() != nil {
			return false
		}
	}
	return true
}

// recordAgain adds a completed change to the catalogue, unless it is already there.
func (s *Store) recordAgain(ctx context.Context, p plan, copies *root.Root) error {
	unlock, err := s.lockCatalogue(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, known, err := s.Find(context.WithoutCancel(ctx), p.record.ID)
	if err != nil {
		return err
	}
	if !known {
		book, err := s.appendRecord(p.record)
		if err != nil {
			return err
		}
		if err := errors.Join(book.Sync(), book.Close()); err != nil {
			return err
		}
	}
	s.finish(p.record.ID, p.steps, p.record.Files, copies)
	var errs []error
	for _, st := range p.steps {
		if st.dir == nil {
			continue
		}
		if err := st.dir.SyncDir("."); !syncUnsupported(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
