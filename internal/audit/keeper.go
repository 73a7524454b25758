package audit

import (
	"errors"
	"os"
	"time"
)

// keep is the Log's only goroutine: it syncs, writes heads and applies
// retention, so that no caller waits for that.
func (l *Log) keep() {
	defer close(l.done)
	l.retain()
	var syncAt, headAt <-chan time.Time
	number, noted := 0, false
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			if syncAt == nil {
				syncAt = time.After(l.opts.SyncEvery)
			}
		case <-syncAt:
			syncAt = nil
			at := l.sync()
			if !noted { // soon after the first record: from now on the chain is missed when it goes
				noted = true
				l.report("noting the head of the audit log", l.noteHead(at))
			} else if headAt == nil {
				headAt = time.After(l.opts.HeadEvery)
			}
			if number != 0 && at.number != number {
				l.retain()
			}
			number = at.number
		case <-headAt:
			headAt = nil
			l.report("noting the head of the audit log", l.noteHead(l.sync()))
		}
	}
}

// sync brings to the disk what was written, and says how far that is. When it
// fails, the next Append tries again before it writes.
func (l *Log) sync() position {
	l.dirty.Store(false)
	l.mu.Lock()
	at := l.reached
	l.mu.Unlock()
	if at.file == nil {
		return at
	}
	if err := at.file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) { // closed by a rotation, which synced it
		l.unsynced.Store(true)
		l.report("syncing the audit log", err)
	}
	if at.file != l.named.file {
		l.named = at
		l.report("syncing the directory of the audit log", syncDir(l.dir))
	}
	return at
}

func (l *Log) noteHead(at position) error {
	if at.chain == "" {
		return nil
	}
	return l.addHeads(head{Kind: headReached, Chain: at.chain, Segment: at.number, Seq: at.seq, Mark: at.last.String()})
}

func (l *Log) retain() {
	l.report("applying the retention of the audit log", l.prune(time.Now()))
}

func (l *Log) report(doing string, err error) {
	if err != nil {
		l.opts.Logger.Warn(doing, "err", err)
	}
}

// finish is the last of a Log: nobody writes any more, and the keeper is gone.
func (l *Log) finish() error {
	if l.w.file == nil {
		return nil
	}
	return errors.Join(l.w.mend(), l.w.file.Sync(), syncDir(l.dir), l.noteHead(l.w.position()), l.w.file.Close())
}
