package history

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A step is the change of one name. The new content is first written to a temporary
// name in the same directory. If names can be exchanged, the old file has the temporary
// name afterwards, so that each of the files always has exactly one name, and the
// reverse of a step is the same step.
type step struct {
	Root    Text   `json:"root"`
	RootIno uint64 `json:"rootino,omitempty"` // inode of the root, to recognize it
	Dir     Text   `json:"dir"`               // relative to the root
	Base    Text   `json:"base"`              // the name in that directory
	Temp    Text   `json:"temp"`
	Made    []Text `json:"made,omitempty"` // directories created for it, outermost first
	Remove  bool   `json:"remove,omitempty"`
	Swap    bool   `json:"swap,omitempty"` // names can be exchanged
	New     uint64 `json:"new,omitempty"`  // the inode of the new content
	Old     *state `json:"old,omitempty"`  // nil if the file did not exist
	Before  string `json:"before,omitempty"`
	Copy    string `json:"copy,omitempty"` // a copy of the old content
	Move    bool   `json:"move,omitempty"` // the old file itself becomes the copy

	dir *root.Root
}

// A state identifies a file in one state, even after a restart.
type state struct {
	Ino      uint64      `json:"ino"`
	Size     int64       `json:"size"`
	Modified time.Time   `json:"modified"`
	Mode     fs.FileMode `json:"mode"`
}

func stateOf(i root.Info) *state {
	return &state{Ino: i.Ino, Size: i.Size, Modified: i.Modified, Mode: i.Mode}
}

func (s *state) is(i root.Info) bool {
	return s != nil && i.Regular() && i.Ino == s.Ino && i.Size == s.Size && i.Modified.Equal(s.Modified)
}

func (s *step) base() string { return string(s.Base) }
func (s *step) temp() string { return string(s.Temp) }

// probe returns the name for testing whether names can be exchanged.
func (s *step) probe() string { return s.temp()[:len(s.temp())-len(tempSuffix)-1] + "_" + tempSuffix }

// apply gives the new content its name. If the error is ErrChanged, the file is no
// longer the old one and nothing has happened.
func (s *step) apply() error {
	switch {
	case s.Remove:
		if err := s.dir.Rename(s.base(), s.temp()); err != nil {
			return changedIf(err, fs.ErrNotExist)
		}
		if !s.oldDisplaced() {
			return cmp.Or(s.dir.RenameNew(s.temp(), s.base()), ErrChanged)
		}
		return nil
	case s.Old == nil:
		return changedIf(s.dir.RenameNew(s.temp(), s.base()), fs.ErrExist)
	case s.Swap:
		if err := s.dir.Exchange(s.temp(), s.base()); err != nil {
			return changedIf(err, fs.ErrNotExist)
		}
		if !s.oldDisplaced() {
			return cmp.Or(s.dir.Exchange(s.temp(), s.base()), ErrChanged)
		}
		return nil
	}
	if info, err := s.dir.Lstat(s.base()); err != nil || !s.Old.is(info) {
		return ErrChanged
	}
	return s.dir.Rename(s.temp(), s.base())
}

func changedIf(err, expected error) error {
	if errors.Is(err, expected) {
		return ErrChanged
	}
	return err
}

// oldDisplaced reports whether the old file now has the temporary name. Some file systems
// change the inode number of a file; then its content decides.
func (s *step) oldDisplaced() bool {
	info, err := s.dir.Lstat(s.temp())
	if err != nil || s.Old.is(info) {
		return err == nil
	}
	if s.Before == "" || s.Old == nil || !info.Regular() || info.Size != s.Old.Size {
		return false
	}
	file, _, err := s.dir.OpenRegular(s.temp())
	if err != nil {
		return false
	}
	defer file.Close()
	sum, err := digestOf(file, info.Size)
	return err == nil && sum == s.Before
}

// progress is the progress of a step.
type progress int

const (
	staged      progress = iota // the old file has its name
	applied                     // the new content has its name
	overwritten                 // another program has put a file in its place
)

func (s *step) progress() progress {
	temp, tempErr := s.dir.Lstat(s.temp())
	base, baseErr := s.dir.Lstat(s.base())
	switch {
	case s.Remove && tempErr == nil, s.Remove && notExist(baseErr):
		return applied
	case s.Remove && baseErr == nil && s.Old.is(base):
		return staged
	case s.Remove:
		return overwritten
	case tempErr == nil && temp.Ino == s.New:
		return staged
	case baseErr == nil && base.Ino == s.New:
		return applied
	}
	return overwritten
}

// revert restores the state before the step, wherever it was interrupted.
func (s *step) revert(copies *root.Root, marked bool) error {
	at := staged
	if marked {
		at = s.progress()
	}
	switch {
	case s.Remove && at == applied:
		err := s.dir.RenameNew(s.temp(), s.base())
		if err == nil || notExist(err) {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		} // another program has created a new file: it stays
	case at == applied && s.Old == nil:
		return ignoreNotExist(s.dir.Remove(s.base()))
	case at == applied && s.Swap:
		if err := s.dir.Exchange(s.temp(), s.base()); err != nil {
			return err
		}
	case at == applied:
		if err := s.restore(copies); err != nil {
			return err
		}
	}
	return errors.Join(removeIfThere(s.dir, s.temp()), removeIfThere(s.dir, s.probe()))
}

// restore replaces the new content by the copy of the old one.
func (s *step) restore(copies *root.Root) error {
	from, _, err := copies.OpenRegular(s.Copy)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := copyTo(s.dir, s.temp(), from, s.Old.Mode.Perm()); err != nil {
		return err
	}
	return s.dir.Rename(s.temp(), s.base())
}

// finish moves the old file to the copies after the change was recorded.
func (s *step) finish(copies *root.Root) error {
	if !s.Move {
		return ignoreNotExist(s.dir.Remove(s.temp()))
	}
	err := s.dir.Move(s.temp(), copies, s.Before)
	if err == nil || notExist(err) {
		return nil
	}
	if from, _, openErr := s.dir.OpenRegular(s.temp()); openErr == nil {
		err = copyTo(copies, s.Before, from, 0o600) // two file systems with the same device number
		_ = from.Close()
	}
	return errors.Join(err, ignoreNotExist(s.dir.Remove(s.temp())))
}

// RemoveEmpty removes directories that a change created, given outermost first, as far
// as they are empty.
func RemoveEmpty(r *root.Root, made []Text) {
	for _, dir := range slices.Backward(made) {
		if r.RemoveDir(string(dir)) != nil {
			return
		}
	}
}

// removeIfThere checks first, so that it succeeds on a read-only file system.
func removeIfThere(r *root.Root, name string) error {
	if _, err := r.Lstat(name); notExist(err) {
		return nil
	}
	return ignoreNotExist(r.Remove(name))
}

func ignoreNotExist(err error) error {
	if notExist(err) {
		return nil
	}
	return err
}
