package history

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
	"sync"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A Change changes several files together, all or none. Stage each file with Write,
// Remove or WriteExternal, then call Commit; call Abort in any case. After a staging
// error only Abort may be called. A Change is for one goroutine.
type Change struct {
	s         *Store
	journal   *journal
	copies    *root.Root
	device    uint64 // the device of the copies; 0 if unknown
	steps     []*step
	external  []externalFile
	applied   int // number of external files that were changed
	files     []FileRecord
	copyCount int
	roots     map[string]*root.Root
	dirs      map[string]*root.Root // directories of steps, closed by end
	prepared  bool                  // the journal has the prepared entry
}

// An externalFile is a file that is not on disk.
type externalFile struct{ apply, revert func() error }

// Begin begins a change of the files that l locks.
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

// Abort reverts the staged steps, unless the change was committed. After an error, the next
// change reverts the rest.
func (c *Change) Abort() error {
	if c.journal == nil {
		return nil
	}
	err := c.rollBack()
	c.close(err == nil)
	return err
}

// Len returns the number of files that would change.
func (c *Change) Len() int { return len(c.files) }

func (c *Change) close(remove bool) {
	c.journal.close(remove)
	c.journal = nil
	for _, dir := range c.dirs {
		_ = dir.Close()
	}
	_ = c.copies.Close()
}

// Commit makes the change and records it. It does not stop half way if ctx ends. If it
// returns nil, the change survives a loss of power. If it returns an error, nothing
// has changed, unless reverting failed as well.
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
	c.s.publish(ctx)
	c.s.pruneIfDue(ctx, r)
	return r, err
}

// checkRevertible returns an error if a step could not be reverted.
func (c *Change) checkRevertible() error {
	for _, s := range c.steps {
		if len(c.steps)+len(c.external) > 1 && s.Old != nil && !s.Remove && !s.Swap && s.Copy == "" {
			return fmt.Errorf("%s: %w", s.Base, ErrTooLarge)
		}
	}
	return nil
}

// commit makes the change. It returns a function for the rest of the work. It runs after the
// locks are released, and its failure does not undo the change.
func (c *Change) commit(ctx context.Context, r Record) (finished func() error, err error) {
	if err := c.journal.write(entry{Prepared: c.steps}); err != nil {
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
	return c.record(ctx, r)
}

// record adds the change to the catalogue. It moves the old files to the copies while
// it holds the lock of the catalogue.
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
		wg.Go(func() { dirsErr = c.syncDirs() }) // concurrently, because both wait for the disk
		err := book.Sync()
		wg.Wait()
		return errors.Join(dirsErr, err, book.Close())
	}, nil
}

// finish moves the old files to the copies. It logs errors: the change is recorded,
// and a content that could not be kept only makes it impossible to undo.
func (s *Store) finish(id string, steps []*step, files []FileRecord, copies *root.Root) {
	for _, st := range steps {
		if st.dir == nil {
			continue
		}
		if err := st.finish(copies); err != nil {
			s.log.Warn("the old content of a file could not be kept", "name", string(st.Base), "err", err)
		}
	}
	for i, f := range files {
		if f.Before == nil || !f.Before.Kept {
			continue
		}
		if err := ignoreNotExist(copies.Rename(copyName(id, i), f.Before.Digest)); err != nil {
			s.log.Warn("the old content of a file could not be kept", "name", string(f.Name), "err", err)
		}
	}
}

// rollBack reverts everything.
func (c *Change) rollBack() error {
	var errs []error
	for _, p := range slices.Backward(c.external[:c.applied]) {
		errs = append(errs, p.revert())
	}
	errs = append(errs, revert(c.steps, c.roots, c.copies, c.prepared), dropCopies(c.copies, c.journal.id, c.copyCount))
	return errors.Join(errs...)
}

// revert reverts steps, the last one first.
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

// copyName returns the name of the copy of a change's nth file, until the change is
// recorded.
func copyName(id string, n int) string { return fmt.Sprintf(".%s-%d", id, n) }

func dropCopies(copies *root.Root, id string, n int) error {
	var errs []error
	for i := range n {
		errs = append(errs, ignoreNotExist(copies.Remove(copyName(id, i))))
	}
	return errors.Join(errs...)
}

// syncDirs makes the changed names survive a loss of power.
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

// syncUnsupported reports whether err is nil or means that sync is not supported.
func syncUnsupported(err error) bool {
	return err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

// syncPending makes the journal survive a loss of power before the first step.
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

const (
	maxCopied = 64 << 20 // bytes of an old file, if it must be copied to be kept
	maxShare  = 4        // an old file is kept if it is at most this part of Limits.Bytes
	maxSerial = 1 << 20  // up to this size, reading two files concurrently is not faster
	newMode   = 0o644
	dirMode   = 0o755
)

// A Target is a file to change.
type Target struct {
	Root   *root.Root
	Dir    string   // the path of Root, without links
	Name   string   // relative to Root
	Others []string // other hard links of the file below Root
	Shown  string
	File   *os.File // open for reading; nil if the file does not exist
	Info   root.Info
}

// A Result describes a staged change.
type Result struct {
	Same bool // nothing changes: the file already has this content
	Size int64
	Lost bool // the old content is not kept
}

// Write stages new content for a file, or a new file. A mode of 0 keeps the permissions,
// or takes the default for a new file. Set-user-ID bits are not kept, as for any file
// that is written.
func (c *Change) Write(ctx context.Context, t Target, content io.Reader, mode fs.FileMode) (Result, error) {
	st, err := c.begin(t)
	if err != nil {
		return Result{}, err
	}
	perm := mode.Perm()
	switch {
	case mode == 0 && t.File == nil:
		perm = newMode
	case mode == 0:
		perm = t.Info.Mode.Perm()
	}
	temp, err := st.create(t, perm)
	if err != nil {
		return Result{}, err
	}
	defer temp.Close()
	st.Swap = st.Old != nil && c.canSwap(st, t.Info.Dev)
	after, before, err := c.copyBoth(ctx, t, st, temp, content)
	if err != nil {
		return Result{}, err
	}
	after.Mode = perm
	if before != nil && before.Digest == after.Digest && before.Size == after.Size && before.Mode == perm {
		return Result{Same: true, Size: after.Size}, c.dropStep(st)
	}
	if err := st.syncNew(temp); err != nil {
		return Result{}, err
	}
	if err := c.linkOthers(t, st); err != nil {
		return Result{}, err
	}
	c.addRecord(t, st, before, after)
	return Result{Size: after.Size, Lost: before != nil && !before.Kept}, nil
}

// Remove stages the removal of a file.
func (c *Change) Remove(ctx context.Context, t Target) (Result, error) {
	st, err := c.begin(t)
	if err != nil {
		return Result{}, err
	}
	st.Remove = true
	before, err := c.keepOld(ctx, t, st)
	if err != nil {
		return Result{}, err
	}
	c.addRecord(t, st, before, nil)
	return Result{Lost: !before.Kept}, nil
}

// WriteExternal stages a change of a file that is not on disk; nil means that the file
// does not exist. Commit calls apply after it has changed the files on disk, and
// revert to undo that.
func (c *Change) WriteExternal(t Target, before, after []byte, apply, revert func() error) (Result, error) {
	if (before == nil) == (after == nil) && bytes.Equal(before, after) {
		return Result{Same: true, Size: int64(len(after))}, nil
	}
	f := FileRecord{
		Root: Text(t.Dir), Name: Text(t.Name), Shown: Text(t.Shown), External: true,
		Before: contentOf(before), After: contentOf(after),
	}
	if before != nil && len(before) <= maxCopied {
		name, err := c.nextCopy()
		if err == nil {
			err = copyTo(c.copies, name, bytes.NewReader(before), 0o600)
		}
		if err != nil {
			return Result{}, err
		}
		f.Before.Kept = true
	}
	c.files = append(c.files, f)
	c.external = append(c.external, externalFile{apply, revert})
	return Result{Size: int64(len(after)), Lost: before != nil && !f.Before.Kept}, nil
}

func contentOf(b []byte) *Content {
	if b == nil {
		return nil
	}
	digest, err := digestOf(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil // cannot happen: reading memory does not fail
	}
	return &Content{Digest: digest, Size: int64(len(b)), Mode: newMode}
}

// begin writes the next step to the journal, and creates its directories.
func (c *Change) begin(t Target) (*step, error) {
	id, err := t.Root.Info()
	if err != nil {
		return nil, err
	}
	made, err := missingDirs(t.Root, path.Dir(t.Name))
	if err != nil {
		return nil, err
	}
	c.roots[t.Dir] = t.Root
	st := &step{
		Root: Text(t.Dir), RootIno: id.Ino, Dir: Text(path.Dir(t.Name)), Base: Text(path.Base(t.Name)),
		Temp: Text(tempName()), Made: made,
	}
	if t.File != nil {
		st.Old = stateOf(t.Info)
	}
	if err := c.journal.write(entry{Step: st}); err != nil {
		return nil, err
	}
	c.steps = append(c.steps, st)
	for _, dir := range made {
		if err := t.Root.Mkdir(string(dir), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	st.dir, err = c.dir(t.Root, t.Dir, string(st.Dir))
	return st, err
}

// missingDirs returns the directories to create for dir, outermost first.
func missingDirs(r *root.Root, dir string) ([]Text, error) {
	var made []Text
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := r.Lstat(dir)
		switch {
		case err == nil && info.Link():
			return nil, root.ErrLink
		case err == nil && !info.Dir():
			return nil, syscall.ENOTDIR
		case err == nil:
			return made, nil
		case !notExist(err):
			return nil, err
		}
		made = append([]Text{Text(dir)}, made...)
	}
	return made, nil
}

// dir opens the directory of a step, or returns it if it is open.
func (c *Change) dir(r *root.Root, rootPath, name string) (*root.Root, error) {
	key := path.Join(rootPath, name)
	if known := c.dirs[key]; known != nil {
		return known, nil
	}
	dir, err := r.OpenRoot(name)
	if err == nil {
		c.dirs[key] = dir
	}
	return dir, err
}

// create creates the temporary file. The permissions of a new file are subject to the
// umask, as for any other file.
func (s *step) create(t Target, perm fs.FileMode) (*os.File, error) {
	if t.File == nil {
		return s.dir.OpenFile(s.temp(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	}
	temp, err := s.dir.OpenFile(s.temp(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	copyOwner(temp, t.Info.UID, t.Info.GID)
	copyAttributes(t.File, temp)
	if err := temp.Chmod(perm); err != nil {
		return nil, errors.Join(err, temp.Close())
	}
	return temp, nil
}

// copyOwner gives a new file the owner of the one that it replaces, as far as the system
// allows. On Windows a new file inherits the access list of its directory.
func copyOwner(file *os.File, uid, gid int) {
	if uid < 0 || os.Geteuid() != 0 {
		uid = -1
	}
	if gid >= 0 {
		_ = file.Chown(uid, gid)
	}
}

// canSwap reports whether names can be exchanged on a device. It tests each device once.
func (c *Change) canSwap(st *step, device uint64) bool {
	if device == 0 {
		return false
	}
	c.s.mu.Lock()
	can, known := c.s.swaps[device]
	c.s.mu.Unlock()
	if known {
		return can
	}
	probe, err := st.dir.OpenFile(st.probe(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_ = probe.Close()
	can = st.dir.Exchange(st.probe(), st.temp()) == nil
	if can {
		can = st.dir.Exchange(st.probe(), st.temp()) == nil
	}
	_ = st.dir.Remove(st.probe())
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.swaps[device] = can
	return can
}

// copyBoth writes the new content to temp, and keeps the old content. For a large file
// it does both concurrently.
func (c *Change) copyBoth(
	ctx context.Context, t Target, st *step, temp *os.File, content io.Reader,
) (after, before *Content, err error) {
	after = &Content{}
	var oldErr error
	old := make(chan struct{})
	look := func() {
		defer close(old)
		if t.File != nil {
			before, oldErr = c.keepOld(ctx, t, st)
		}
	}
	if t.Info.Size > maxSerial {
		go look()
	} else {
		look()
	}
	if content == nil {
		content = bytes.NewReader(nil)
	}
	after.Digest, after.Size, err = c.s.copyDigest(ctx, temp, content)
	<-old
	if err = errors.Join(err, oldErr); err != nil {
		return nil, nil, err
	}
	if before != nil && before.Digest == "" && before.Size == after.Size {
		before.Digest, err = c.s.Digest(ctx, t.File, before.Size)
	}
	return after, before, err
}

// keepOld decides how to keep the old content, and computes its digest.
func (c *Change) keepOld(ctx context.Context, t Target, st *step) (*Content, error) {
	before := &Content{Size: t.Info.Size, Mode: t.Info.Mode.Perm()}
	move := t.Info.Dev != 0 && t.Info.Dev == c.device && t.Info.Links == 1 && (st.Swap || st.Remove)
	limit := int64(maxCopied)
	if move {
		limit = c.s.limits.Bytes
	}
	if before.Size > min(limit, c.s.limits.Bytes/maxShare) {
		return before, nil
	}
	var err error
	if move {
		before.Digest, err = c.s.Digest(ctx, t.File, before.Size)
	} else {
		st.Copy, before.Digest, err = c.copyOld(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	before.Kept, st.Before, st.Move = true, before.Digest, move
	return before, nil
}

// nextCopy writes to the journal that there is one more copy, and returns its name.
func (c *Change) nextCopy() (string, error) {
	name := copyName(c.journal.id, len(c.files))
	c.copyCount = max(c.copyCount, len(c.files)+1)
	return name, c.journal.write(entry{Copies: c.copyCount})
}

func (c *Change) copyOld(ctx context.Context, t Target) (name, digest string, err error) {
	if name, err = c.nextCopy(); err != nil {
		return "", "", err
	}
	to, err := c.copies.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", "", err
	}
	digest, n, err := c.s.copyDigest(ctx, to, io.NewSectionReader(t.File, 0, t.Info.Size))
	if err == nil && n != t.Info.Size {
		err = ErrChanged
	}
	return name, digest, errors.Join(err, to.Close())
}

// syncNew makes the new content survive a loss of power, and remembers its inode.
func (s *step) syncNew(temp *os.File) error {
	if err := temp.Sync(); err != nil {
		return err
	}
	info, err := root.Stat(temp)
	s.New = info.Ino
	return errors.Join(err, temp.Close())
}

// linkOthers stages the new file for the other hard links of the old one.
func (c *Change) linkOthers(t Target, first *step) error {
	for _, name := range t.Others {
		other := t
		other.Name = name
		st, err := c.begin(other)
		if err != nil {
			return err
		}
		st.Swap, st.New, st.Before, st.Copy = first.Swap, first.New, first.Before, first.Copy
		if err := first.dir.Link(first.temp(), st.dir, st.temp()); err != nil {
			return err
		}
	}
	return nil
}

// dropStep removes a step that changes nothing.
func (c *Change) dropStep(st *step) error {
	c.steps = c.steps[:len(c.steps)-1]
	err := st.dir.Remove(st.temp())
	if st.Copy != "" {
		err = errors.Join(err, c.copies.Remove(st.Copy))
	}
	return err
}

func (c *Change) addRecord(t Target, st *step, before, after *Content) {
	c.files = append(c.files, FileRecord{
		Root: Text(t.Dir), Name: Text(t.Name), Shown: Text(t.Shown), Made: st.Made, Before: before, After: after,
	})
}
