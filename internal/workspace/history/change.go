package history

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A Change is several files that change together or not at all. Stage each
// with Write, Remove or Elsewhere, then Commit; call Abort in any case. After
// an error of staging there is only Abort. It is for one goroutine.
type Change struct {
	s         *Store
	journal   *journal
	copies    *root.Root
	device    uint64 // that the copies are on; 0 when that cannot be told
	steps     []*step
	external  []externalFile
	applied   int // of parts
	files     []FileRecord
	copyCount int // copies
	roots     map[string]*root.Root
	dirs      map[string]*root.Root // of steps; ours to close
	prepared  bool
}

// A externalFile is a file that is not on the disk.
type externalFile struct{ apply, revert func() error }

// Begin begins a change of files that l locks.
func (s *Store) Begin(l *Lock) (*Change, error) {
	copies, err := s.copies()
	if err != nil {
		return nil, err
	}
	info, err := copies.Info()
	if err != nil {
		return nil, errors.Join(err, copies.Close())
	}
	j, err := s.newJournal(l.shards)
	if err != nil {
		return nil, errors.Join(err, copies.Close())
	}
	return &Change{s: s, journal: j, copies: copies, device: info.Dev,
		roots: map[string]*root.Root{}, dirs: map[string]*root.Root{}}, nil
}

// Abort takes back what was staged, unless it was committed. An error says that
// something is left, which the next change clears up.
func (c *Change) Abort() error {
	if c.journal == nil {
		return nil
	}
	err := c.rollBack()
	c.close(err == nil)
	return err
}

// Len tells how many files would change.
func (c *Change) Len() int { return len(c.files) }

func (c *Change) close(remove bool) {
	c.journal.close(remove)
	c.journal = nil
	for _, dir := range c.dirs {
		_ = dir.Close()
	}
	_ = c.copies.Close()
}

// Commit makes the change and puts it on record. It does not stop half way for
// ctx. When it returns no error, the change survives a loss of power; when it
// returns one, nothing has changed, unless that failed, too.
func (c *Change) Commit(ctx context.Context, r Record) (Record, error) {
	r.ID, r.Files = c.journal.id, c.files
	if err := c.checkRevertible(); err != nil {
		return r, errors.Join(err, c.Abort())
	}
	finished, err := c.commit(ctx, r)
	if err != nil {
		return r, errors.Join(err, c.Abort())
	}
	err = finished()
	c.close(true)
	c.s.pruneIfDue(ctx, r)
	return r, err
}

// checkRevertible refuses what could not be taken back half way.
func (c *Change) checkRevertible() error {
	for _, s := range c.steps {
		if len(c.steps)+len(c.external) > 1 && s.Old != nil && !s.Remove && !s.Swap && s.Copy == "" {
			return fmt.Errorf("%s: %w", s.Base, ErrTooLarge)
		}
	}
	return nil
}

// commit returns what is left to do when there is no way back any more.
func (c *Change) commit(ctx context.Context, r Record) (finished func() error, err error) {
	if err := c.journal.write(entry{Mark: &prepared{c.steps, r}}); err != nil {
		return nil, err
	}
	c.prepared = true
	if len(c.steps) > 1 {
		if err := c.s.syncPending(c.journal); err != nil {
			return nil, err
		}
	}
	for _, s := range c.steps {
		if err := s.apply(); err != nil {
			return nil, err
		}
	}
	for _, p := range c.external {
		if err := p.apply(); err != nil {
			return nil, err
		}
		c.applied++
	}
	if len(c.external) > 0 {
		if err := c.journal.write(entry{Done: true}); err != nil {
			return nil, err
		}
	}
	return c.record(ctx, r)
}

// record puts the change on record. The old files are put away while nobody
// else adds or removes copies.
func (c *Change) record(ctx context.Context, r Record) (finished func() error, err error) {
	unlock, err := c.s.lockCatalogue(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	book, err := c.s.appendRecord(r)
	if err != nil {
		return nil, err
	}
	c.s.finish(c.journal.id, c.steps, c.files, c.copies)
	return func() error {
		var wg sync.WaitGroup
		var dirsErr error
		wg.Go(func() { dirsErr = c.syncDirs() }) // both wait for the same disk: better at once
		err := book.Sync()
		wg.Wait()
		return errors.Join(dirsErr, err, book.Close())
	}, nil
}

// finish puts away the old files. It cannot fail as a whole: the change is on
// record, and what could not be kept cannot be taken back, that is all.
func (s *Store) finish(id string, steps []*step, files []FileRecord, copies *root.Root) {
	for _, st := range steps {
		if st.dir == nil {
			continue
		}
		if err := st.finish(copies); err != nil {
			s.log.Warn("an old file could not be kept", "name", string(st.Base), "error", err)
		}
	}
	for i, f := range files {
		if f.Before == nil || !f.Before.Kept {
			continue
		}
		if err := ignoreNotExist(copies.Rename(copyName(id, i), f.Before.Digest)); err != nil {
			s.log.Warn("an old file could not be kept", "name", string(f.Name), "error", err)
		}
	}
}

// rollBack takes everything back.
func (c *Change) rollBack() error {
	var errs []error
	if c.prepared {
		_ = c.journal.write(entry{Back: true}) // a full disk cannot be told, and shows in the files
	}
	for _, p := range slices.Backward(c.external[:c.applied]) {
		errs = append(errs, p.revert())
	}
	errs = append(errs, revert(c.steps, c.roots, c.copies, c.prepared), dropCopies(c.copies, c.journal.id, c.copyCount))
	return errors.Join(errs...)
}

// revert takes steps back, the last one first.
func revert(steps []*step, roots map[string]*root.Root, copies *root.Root, marked bool) error {
	var errs []error
	for _, s := range slices.Backward(steps) {
		if s.dir != nil {
			errs = append(errs, s.revert(copies, marked))
		}
		if r := roots[string(s.Root)]; r != nil {
			RemoveEmpty(r, s.Made)
		}
	}
	return errors.Join(errs...)
}

// copyName is where the old content of a change's nth file waits for the
// change to be on record.
func copyName(id string, n int) string { return fmt.Sprintf(".%s-%d", id, n) }

func dropCopies(copies *root.Root, id string, n int) error {
	var errs []error
	for i := range n {
		errs = append(errs, ignoreNotExist(copies.Remove(copyName(id, i))))
	}
	return errors.Join(errs...)
}

// syncDirs makes all names last that have changed.
func (c *Change) syncDirs() error {
	var errs []error
	add := func(err error) {
		if !syncUnsupported(err) {
			errs = append(errs, err)
		}
	}
	for _, dir := range c.dirs {
		add(dir.SyncDir("."))
	}
	for _, s := range c.steps {
		for _, made := range s.Made {
			add(c.roots[string(s.Root)].SyncDir(path.Dir(string(made))))
		}
	}
	return errors.Join(errs...)
}

// syncPending makes a mark last before the first of several steps is taken.
func (s *Store) syncPending(j *journal) error {
	pending, err := root.Open(s.path(pendingDir))
	if err != nil {
		return err
	}
	defer pending.Close()
	if err := j.file.Sync(); err != nil {
		return err
	}
	if err := pending.SyncDir("."); !syncUnsupported(err) {
		return err
	}
	return nil
}
