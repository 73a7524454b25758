package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	// maxFile is more than any settings file; Claude Code's holds histories.
	maxFile = 64 << 20

	backupMark = ".mcp-tools-backup-"
)

// settings is a settings file as it was read.
type settings struct {
	path   string // as the client reads it
	target string // the file itself, when path is a link
	linked bool
	exists bool
	mode   fs.FileMode
	data   []byte
}

// readSettings reads a settings file. A missing file is empty.
func readSettings(path string) (settings, error) {
	s := settings{path: path, target: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		s.linked = true
		if s.target, err = filepath.EvalSymlinks(path); errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("%s is a link to a file that is not there; create the file or remove the link", path)
		}
	}
	if err == nil {
		info, err = os.Stat(s.target)
	}
	if err != nil {
		return s, fmt.Errorf("looking at the settings: %w", err)
	}
	if !info.Mode().IsRegular() {
		return s, fmt.Errorf("%s is not an ordinary file; move it away", path)
	}
	if info.Size() > maxFile {
		return s, fmt.Errorf("%s has %d MB, the most is %d; add the entry by hand", path, info.Size()>>20, maxFile>>20)
	}
	s.exists, s.mode = true, info.Mode().Perm()
	if s.data, err = os.ReadFile(s.target); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	return s, nil
}

// replace replaces the content of the file, completely or not at all, and returns the path of
// the backup. Only the owner can read a new file, because it may contain a token, unless it
// belongs to a project.
func (s settings) replace(data []byte, shared bool, now time.Time) (backup string, err error) {
	dirMode := fs.FileMode(0o700)
	if !s.exists {
		s.mode = 0o600
		if shared {
			s.mode, dirMode = 0o644, 0o755
		}
		if err := os.MkdirAll(filepath.Dir(s.target), dirMode); err != nil {
			return "", fmt.Errorf("making the directory of the settings: %w", err)
		}
	}
	temp, err := s.stage(data)
	if err != nil {
		return "", fmt.Errorf("writing the settings: %w; is the directory yours to write to?", err)
	}
	defer os.Remove(temp) // gone already once it was renamed
	if !shared {          // the file of a project has its history, and a repository wants no copies
		if backup, err = s.backup(now); err != nil {
			return "", err
		}
	}
	if err = s.unchanged(); err == nil {
		err = os.Rename(temp, s.target)
	}
	if err != nil {
		s.dropBackup(backup)
		return "", fmt.Errorf("replacing the settings: %w", err)
	}
	if err := private.SyncDir(filepath.Dir(s.target)); err != nil {
		return backup, fmt.Errorf("making the settings durable: %w", err)
	}
	return backup, nil
}

// remove deletes the file after making a backup.
func (s settings) remove(now time.Time) (backup string, err error) {
	if backup, err = s.backup(now); err != nil {
		return "", err
	}
	if err = s.unchanged(); err == nil {
		err = os.Remove(s.target)
	}
	if err != nil {
		s.dropBackup(backup)
		return "", fmt.Errorf("removing the settings: %w", err)
	}
	return backup, nil
}

// stage writes data to a new file beside the target and returns its path.
func (s settings) stage(data []byte) (path string, err error) {
	f, err := os.CreateTemp(filepath.Dir(s.target), ".mcp-tools-*")
	if err != nil {
		return "", err
	}
	if err = fill(f, data, s.mode); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// backup copies the file to a new name beside it, and returns the path of the copy,
// or "" if there is no file.
func (s settings) backup(now time.Time) (string, error) {
	if !s.exists {
		return "", nil
	}
	stem := s.path + backupMark + now.Format("20060102-150405")
	for n := 1; ; n++ {
		path := stem
		if n > 1 {
			path = fmt.Sprintf("%s-%d", stem, n)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keeping a copy of the settings: %w; is the directory yours to write to?", err)
		}
		if err := fill(f, s.data, s.mode); err != nil {
			os.Remove(path)
			return "", fmt.Errorf("keeping a copy of the settings: %w", err)
		}
		return path, nil
	}
}

func (s settings) dropBackup(path string) {
	if path != "" {
		os.Remove(path)
	}
}

// unchanged checks that no other program has written the file since it was read.
func (s settings) unchanged() error {
	data, err := os.ReadFile(s.target)
	if errors.Is(err, fs.ErrNotExist) && !s.exists {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.exists || !bytes.Equal(data, s.data) {
		return errors.New("another program wrote the file at the same moment; close the client and run this again")
	}
	return nil
}

// fill writes data to f, syncs it, and closes f in any case.
func fill(f *os.File, data []byte, mode fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // the umask may have taken bits away
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
