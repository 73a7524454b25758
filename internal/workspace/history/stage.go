package history

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	maxCopied = 64 << 20 // bytes of an old file that are kept when they must be copied
	maxShare  = 4        // an old file is kept when it takes no more than this part of all bytes
	maxSerial = 1 << 20  // up to this size reading twice at once is not worth a goroutine
	newMode   = 0o644
	dirMode   = 0o755
)

// A Target is a file that is to change.
type Target struct {
	Root   *root.Root
	Dir    string   // the path of Root, past all links
	Name   string   // beneath it
	Others []string // further names of the same file beneath Root
	Shown  string
	File   *os.File // open for reading; nil: there is no file
	Info   root.Info
}

// A Result is what became of a file.
type Result struct {
	Same bool // nothing: it is as it should be already
	Size int64
	Lost bool // what it was before is not kept
}

// Write stages new content for a file, or a new file. A mode of 0 keeps the
// permissions, or takes the usual ones. The right to run as its owner is not
// kept: the system takes it from any file that is written to.
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

// Remove stages the end of a file.
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

// WriteExternal stages a file that is not on the disk, from one content to
// another; nil stands for none. apply makes the change, after those on the
// disk, and revert takes it back.
func (c *Change) WriteExternal(t Target, before, after []byte, apply, revert func() error) (Result, error) {
	if (before == nil) == (after == nil) && bytes.Equal(before, after) {
		return Result{Same: true, Size: int64(len(after))}, nil
	}
	f := FileRecord{Root: Text(t.Dir), Name: Text(t.Name), Shown: Text(t.Shown), External: true, Before: contentOf(before), After: contentOf(after)}
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
		return nil // memory can be read
	}
	return &Content{Digest: digest, Size: int64(len(b)), Mode: newMode}
}

// begin writes down what will be staged, and makes the directories for it.
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
	st := &step{Root: Text(t.Dir), RootIno: id.Ino, Dir: Text(path.Dir(t.Name)), Base: Text(path.Base(t.Name)), Temp: Text(tempName()), Made: made}
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

// missingDirs lists the directories that have to be made for dir, outermost first.
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

// dir opens the directory of a step, once.
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

// create makes the temporary file. A new one gets what the process's mask
// leaves of its permissions, like any other file.
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

// canSwap finds out, once for a device, whether names can be exchanged there.
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

// copyBoth writes the new content to temp and looks at the old one. With large
// files it does both at once.
func (c *Change) copyBoth(ctx context.Context, t Target, st *step, temp *os.File, content io.Reader) (after, before *Content, err error) {
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

// keepOld looks at the old content, and decides how it is kept.
func (c *Change) keepOld(ctx context.Context, t Target, st *step) (*Content, error) {
	before := &Content{Size: t.Info.Size, Mode: t.Info.Mode.Perm()}
	move := t.Info.Dev != 0 && t.Info.Dev == c.device && t.Info.Links == 1 && (st.Swap || st.Remove)
	most := int64(maxCopied)
	if move {
		most = c.s.limits.Bytes
	}
	if before.Size > min(most, c.s.limits.Bytes/maxShare) {
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

// nextCopy writes down that there will be one more copy, and names it.
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

// syncNew makes the new content last, and remembers which file it is in.
func (s *step) syncNew(temp *os.File) error {
	if err := temp.Sync(); err != nil {
		return err
	}
	info, err := root.Stat(temp)
	s.New = info.Ino
	return errors.Join(err, temp.Close())
}

// linkOthers stages the new file for the further names of the old one, too.
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

// dropStep forgets a step that turned out to change nothing.
func (c *Change) dropStep(st *step) error {
	c.steps = c.steps[:len(c.steps)-1]
	err := st.dir.Remove(st.temp())
	if st.Copy != "" {
		err = errors.Join(err, c.copies.Remove(st.Copy))
	}
	return err
}

func (c *Change) addRecord(t Target, st *step, before, after *Content) {
	c.files = append(c.files, FileRecord{Root: Text(t.Dir), Name: Text(t.Name), Shown: Text(t.Shown), Made: st.Made, Before: before, After: after})
}
