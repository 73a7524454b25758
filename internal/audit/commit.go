package audit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A file is what a chain needs of the file of a segment.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
}

// A chain is the writing end of a Log. It belongs to the leader.
type chain struct {
	create func(path string) (file, error)

	id     string    // "" until the first record
	number int       // of the segment
	path   string    // of the segment
	file   file      // nil until the first record; the lock on it says that we live
	seen   time.Time // when file was last found at path
	size   int64     // of what is good in file
	torn   bool      // there may be more in file, to be cut off
	seq    uint64    // of the last record
	last   mark      // of the last line
	buf    []byte    // for the next lines
}

// A position is how far a chain has come.
type position struct {
	chain  string
	number int
	file   file
	seq    uint64
	last   mark
}

func (c *chain) position() position {
	return position{c.id, c.number, c.file, c.seq, c.last}
}

// commit writes the records of a batch in one write. Either all are in the
// chain afterwards, or none and the error is ErrBroken.
func (l *Log) commit(batch []*waiter) error {
	now := time.Now().UTC()
	if err := l.ready(now); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	buf, seq, last := l.w.buf[:0], l.w.seq, l.w.last
	if l.w.size == 0 {
		var err error
		if buf, last, err = l.seal.sealJSON(buf, l.header(now), last); err != nil {
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
	for _, w := range batch {
		seq++
		start := len(buf)
		buf, last = l.seal.seal(appendRow(buf, seq, now, w.fields), start, last)
	}
	if err := l.w.write(buf); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	l.w.seq, l.w.last = seq, last
	if l.opts.Sync == SyncFull {
		if err := l.w.file.Sync(); err != nil {
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
	return nil
}

// write adds buf to the segment, or leaves it as it was. When even that cannot
// be done at once, it is done before the next write.
func (c *chain) write(buf []byte) error {
	if _, err := c.file.Write(buf); err != nil {
		c.torn = true
		_ = c.mend()
		return err
	}
	c.size += int64(len(buf))
	if c.buf = buf; cap(buf) > maxLine {
		c.buf = nil // one batch of long lines is no reason to hold on to the memory
	}
	return nil
}

// mend cuts off what a failed write has left.
func (c *chain) mend() error {
	if !c.torn {
		return nil
	}
	if err := c.file.Truncate(c.size); err != nil {
		return fmt.Errorf("cutting off half a line: %w", err)
	}
	c.torn = false
	return nil
}

// lookEvery is how often a file that is written to is looked for at its path.
const lookEvery = time.Second

// missing is an error when the segment is not at its path any more: somebody
// has removed or moved the log, and what is written to a file that is open
// still would be read by nobody. Records of the last lookEvery can be lost that
// way. A new log is not begun in its place, because whoever can remove the old
// one would get a clean one for it: nothing is written until the log is back,
// or a person starts the program again.
func (c *chain) missing(now time.Time) error {
	if since := now.Sub(c.seen); since >= 0 && since < lookEvery {
		return nil
	}
	own, err := c.file.Stat()
	if err != nil {
		return err
	}
	found, err := os.Lstat(c.path)
	if err != nil || !os.SameFile(own, found) {
		return fmt.Errorf("%s was removed or moved while it was written to; put it back, or start again: %w", c.path, fs.ErrNotExist)
	}
	c.seen = now
	return nil
}

// ready sees to it that there is a segment with room.
func (l *Log) ready(now time.Time) error {
	c := &l.w
	if c.file != nil {
		if err := c.missing(now); err != nil {
			return err
		}
	}
	if err := c.mend(); err != nil {
		return err
	}
	if l.unsynced.Load() {
		if err := c.file.Sync(); err != nil {
			return err
		}
		l.unsynced.Store(false)
	}
	if c.file != nil && c.size < l.opts.SegmentBytes {
		return nil
	}
	if c.file == nil {
		c.id = newChainID(now)
	} else if err := c.file.Sync(); err != nil { // nobody syncs it later
		return err
	}
	path := filepath.Join(l.dir, segmentName(c.id, c.number+1))
	next, err := c.create(path)
	if err != nil {
		return fmt.Errorf("beginning a segment: %w", err)
	}
	if c.file != nil {
		_ = c.file.Close() // synced, and nothing was written since
	}
	c.file, c.path, c.seen, c.size = next, path, now, 0
	c.number++
	return nil
}
