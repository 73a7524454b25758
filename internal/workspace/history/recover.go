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

// Recover recovers the unfinished changes of killed processes: it completes the changes in the
// catalogue, and reverts the others. Then it removes old history. It is cheap if there is
// nothing to do.
func (s *Store) Recover(ctx context.Context) error {
	err := s.Finish(ctx)
	s.publish(ctx) // the changes left unpublished when this server was killed
	return errors.Join(err, s.pruneNow(ctx))
}

// Finish is Recover for the changes alone.
func (s *Store) Finish(ctx context.Context) error {
	_, err := s.recoverPending(ctx, nil)
	return err
}

// waitForPending returns when no unfinished change of another process touches the shards. The
// caller has locked them, so the process of such a change was killed. Either this process
// recovers the change, or it waits for another process that does.
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
			s.log.Warn("an interrupted change could not be recovered", "id", id, "err", err)
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
	unlock, err := s.lockCatalogue(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	recorded, known, err := s.recorded(context.WithoutCancel(ctx), j.id)
	if err != nil {
		return err
	}
	if !known {
		return errors.Join(revert(p.steps, roots, copies, p.prepared), dropCopies(copies, j.id, p.copies))
	}
	s.finish(j.id, p.steps, recorded.Files, copies)
	var errs []error
	for _, dir := range dirs {
		if dir != nil {
			if err := dir.SyncDir("."); !syncUnsupported(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
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
