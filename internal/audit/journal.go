package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	journalDir = "audit" // in the data directory
	journalExt = ".journal"
	// maxJournal is the maximum size of a journal. It limits the records that wait for an
	// unavailable store to some hundred thousand.
	maxJournal = 64 << 20
	// maxStoredPrefix is the size of uploaded records that causes a new journal without them.
	maxStoredPrefix = 4 << 20
)

var errJournalFull = errors.New("too many records wait for the store")

// A journal is a file with the lines of a chain until they are in the store. Its
// process holds the lock of the file, so a file that can be locked is the
// journal of a dead process.
//
// The first line is the first line of the chain. The others are records and checkpoints. A
// checkpoint says how far the store has the chain. A journal that replaces another one begins
// with a checkpoint. Bytes after the last line break were being written when the process died
// and were never acknowledged.
type journal struct {
	file          *os.File
	path          string
	size          atomic.Int64 // offset of the next line
	max           int64        // maximum size
	hasCheckpoint bool         // a line says that the store has the chain

	syncing sync.Mutex
	synced  int64 // size that was synced to the disk
}

// newJournal creates the journal of a chain, with a checkpoint and the records
// after it if there are any. If full is set it syncs the file.
func newJournal(dir string, c chainRow, mark []byte, list []recordRow, full bool) (*journal, error) {
	text := append(append([]byte(c.Line), '\n'), mark...)
	for _, r := range list {
		text = append(append(text, r.Line...), '\n')
	}
	j, err := createJournal(dir, chainName(c.ID))
	if err != nil {
		return nil, err
	}
	j.hasCheckpoint = mark != nil
	err = j.add(text)
	if err == nil && full {
		err = errors.Join(j.sync(j.size.Load()), private.SyncDir(filepath.Dir(j.path)))
	}
	if err != nil {
		return nil, errors.Join(err, j.remove())
	}
	return j, nil
}

// createJournal creates and locks an empty file.
func createJournal(dir, chain string) (*journal, error) {
	dir, err := private.MakeSub(dir, journalDir)
	if err == nil {
		err = private.CheckDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of the audit journals: %w", err)
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", chain, n, journalExt))
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("creating an audit journal: %w", err)
		}
		ours, err := lockIfNamed(file, path)
		switch {
		case err != nil:
			return nil, errors.Join(fmt.Errorf("locking an audit journal: %w", err), discard(file, path))
		case ours:
			return &journal{file: file, path: path, max: maxJournal}, nil
		}
		_ = file.Close() // recovery by another process has locked it, and removes it
	}
}

// lockIfNamed takes the lock of a file. It reports whether it got the lock and
// the file still has its name.
func lockIfNamed(file *os.File, path string) (bool, error) {
	if taken, err := private.TryLock(file); err != nil || !taken {
		return false, err
	}
	open, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// Ready returns an error if a journal cannot be written now, for example because the
// disk is full. A balancer should then send calls to another server.
func (l *Log) Ready() error {
	dir, err := private.MakeSub(l.opts.Dir, journalDir)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".ready-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, 64<<10)) // file systems reserve the room when they accept it
	return errors.Join(err, discard(file, file.Name()))
}

// Failing returns an error if the last record could not be written and neither can one now. It costs
// nothing while records are written.
func (l *Log) Failing() error {
	if !l.failing.Load() {
		return nil
	}
	return l.Ready()
}

// checkpointStart is the beginning of checkpoints. No other line begins with it.
const checkpointStart = `{"chain":`

// checkpointLine returns the line that says how far the store has the chain. It
// is sealed, because heads will repeat it, and has no predecessor.
func checkpointLine(s *sealer, at point) []byte {
	text, _, _ := s.sealJSON(at, origin()) // of texts and numbers: cannot fail
	return append([]byte(text), '\n')
}

// add writes whole lines. If it fails it leaves no part of a line.
func (j *journal) add(lines []byte) error {
	size := j.size.Load()
	if size+int64(len(lines)) > j.max {
		return errJournalFull
	}
	if _, err := j.file.WriteAt(lines, size); err != nil {
		return errors.Join(err, j.file.Truncate(size))
	}
	j.size.Store(size + int64(len(lines)))
	return nil
}

// sync returns when the file is on the disk up to an offset. Concurrent callers
// share one sync.
func (j *journal) sync(upTo int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= upTo {
		return nil
	}
	all := j.size.Load()
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.synced = all
	return nil
}

// remove removes a journal when its records are in the store or in another journal.
func (j *journal) remove() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.synced = math.MaxInt64
	return discard(j.file, j.path)
}

// close closes the file, so that another process can recover it.
func (j *journal) close() error { return j.file.Close() }

// discard removes the file of a journal while it is locked, or right after if
// the system cannot remove open files.
func discard(file *os.File, path string) error {
	if os.Remove(path) == nil {
		return file.Close()
	}
	err := file.Close()
	if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
