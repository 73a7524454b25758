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
	// maxJournal is how much a journal may have. It is what waits when the
	// store is away: some hundred thousand records.
	maxJournal = 64 << 20
	// maxStoredPrefix is how much of it may be in the store already until a
	// journal begins anew without that.
	maxStoredPrefix = 4 << 20
)

var errJournalFull = errors.New("too many records wait for the store")

// A journal is a file that has the lines of a chain until they are in the
// store. Its process holds the lock of the file: who gets it has found the
// journal of a process that is dead.
//
// Its first line is how the chain begins. The others are records, and marks,
// each a point that the store has reached. A journal that begins anew is another
// file of the same chain, which takes up after a mark. Whatever follows the last
// line break was being written when the process died, and was never
// acknowledged.
type journal struct {
	file          *os.File
	path          string
	size          atomic.Int64 // where the next line goes
	hasCheckpoint bool         // it says that the store has the chain

	syncing sync.Mutex
	synced  int64 // up to there it is on the disk
}

// newJournal makes the journal of a chain, with records that follow a mark if
// there are any. A full one waits for the disk.
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

// createJournal makes an empty file that is ours.
func createJournal(dir, chain string) (*journal, error) {
	dir, err := private.MakeSub(dir, journalDir)
	if err == nil {
		err = private.CheckDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of journals: %w", err)
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", chain, n, journalExt))
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("making a journal: %w", err)
		}
		ours, err := lockIfNamed(file, path)
		switch {
		case err != nil:
			return nil, errors.Join(fmt.Errorf("locking a journal: %w", err), discard(file, path))
		case ours:
			return &journal{file: file, path: path}, nil
		}
		_ = file.Close() // who looks for journals of the dead was faster, and removes it
	}
}

// lockIfNamed takes the lock of a file, and says whether it has it, and the file its
// name.
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

// checkpointStart is how marks begin, and no line of the log.
const checkpointStart = `{"chain":`

// checkpointLine is a mark. It is sealed, because heads will repeat what it says, and
// follows nothing.
func checkpointLine(s *sealer, at point) []byte {
	text, _, _ := s.sealJSON(at, origin()) // of texts and numbers: cannot fail
	return append([]byte(text), '\n')
}

// add writes whole lines. Of what cannot be written as a whole no line is left,
// and the next ones are written in its place.
func (j *journal) add(lines []byte) error {
	size := j.size.Load()
	if size+int64(len(lines)) > maxJournal {
		return errJournalFull
	}
	if _, err := j.file.WriteAt(lines, size); err != nil {
		return errors.Join(err, j.file.Truncate(size))
	}
	j.size.Store(size + int64(len(lines)))
	return nil
}

// sync returns when what was written up to a place is on the disk. Those who
// come while somebody waits for the disk are served by the next one's waiting.
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

// remove is for when all is in the store, or in another journal.
func (j *journal) remove() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.synced = math.MaxInt64
	return discard(j.file, j.path)
}

// skip lets others have what is in it.
func (j *journal) close() error { return j.file.Close() }

// discard removes the file of a journal, before anybody else can have its lock.
// Not every system removes a file that is open.
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
