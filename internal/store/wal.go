package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A walWatch notices commits of other processes by events of SQLite's log file. PRAGMA
// data_version reads no table and shows whether there was a commit; the feed has its topics.
type walWatch struct {
	store *Store
	looks chan bool // a careful one or not; it has room for one
}

const (
	// lookSoon is the time from an event to the look that it causes, and lookEvery the time between looks while the log
	// is written all the time and no caller waits.
	lookSoon  = 2 * time.Millisecond
	lookEvery = 50 * time.Millisecond
	// A commit counts a little after its last event: the process that writes it marks it in shared memory then, after
	// it has waited for the disk if store.sync is full. So further looks follow, each four times as late as the last.
	settleFirst = 8 * time.Millisecond
	settleLast  = 4 * time.Second
	// maxFeed is the number of changes that are read to learn their topics.
	maxFeed = 500
)

// send does nothing: the commit is the hint.
func (*walWatch) send(context.Context, []string) error { return nil }

func (p *walWatch) look(careful bool) {
	select {
	case p.looks <- careful:
	default:
	}
}

func (p *walWatch) receive(ctx context.Context, changed func(...string)) error {
	if err := p.store.open(ctx); err != nil {
		return err
	}
	conn, err := p.store.read.Conn(ctx) // the version is relative to a connection
	if err != nil {
		return err
	}
	defer conn.Close()
	f := follower{conn: conn, changed: changed}
	if err := f.look(ctx); err != nil { // makes the log
		return err
	}
	log := p.store.location + "-wal"
	events, end := p.watch(log)
	defer end()
	timer := time.NewTimer(0) // for changes since that look
	defer timer.Stop()
	pending, settle := true, settleFirst
	var looked, written time.Time
	for {
		hint := false
		select {
		case e := <-events.Events:
			if hint = true; e.Has(fsnotify.Remove | fsnotify.Rename) {
				return errors.New("the log of the store was replaced")
			}
		case <-events.Errors: // events were lost
			hint = true
		case careful := <-p.looks:
			if hint = !modified(log).Equal(written); careful && !hint && !pending {
				timer.Reset(0)
			}
		case <-timer.C:
			pending = false
			looked, written = time.Now(), modified(log)
			if err := f.look(ctx); err != nil {
				return err
			}
			if settle <= settleLast {
				timer.Reset(settle)
				settle *= 4
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if hint && !pending {
			pending, settle = true, settleFirst
			wait := lookSoon
			if !p.store.notifier.isUrgent() {
				wait = max(wait, lookEvery-time.Since(looked))
			}
			timer.Reset(wait)
		}
	}
}

// watch watches the log. Systems limit the number of watches. Without events, waiting callers
// look by themselves.
func (p *walWatch) watch(log string) (events *fsnotify.Watcher, end func()) {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(log); err == nil {
			return watcher, func() { _ = watcher.Close() }
		}
		_ = watcher.Close() // it watches nothing
	}
	p.store.log.Debug("the log of the store cannot be watched; changes of other processes are noticed later", "err", err)
	return &fsnotify.Watcher{}, func() {}
}

// modified returns when a file was written last.
func modified(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// A follower finds the changed topics.
type follower struct {
	conn    *sql.Conn
	changed func(...string)
	version int64 // of the database
	seq     int64 // of the last known change
}

// look calls changed with the topics that have changed since the last look. All may have changed if the feed no longer
// has the last known change, or has very many since.
func (f *follower) look(ctx context.Context) error {
	before := f.version
	if err := f.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&f.version); err != nil || f.version == before {
		return err
	}
	since, found := f.seq, 0
	var topics []string
	rows, err := f.conn.QueryContext(ctx, "SELECT seq, topic FROM change WHERE seq >= $1 ORDER BY seq DESC LIMIT $2",
		since, maxFeed)
	if err := eachRow(rows, err, func(scan Scan) error {
		var seq int64
		var topic string
		err := scan(&seq, &topic)
		if found++; found == 1 {
			f.seq = seq
		}
		if seq > since && !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
		return err
	}); err != nil {
		return err
	}
	switch {
	case found == 0 && since > 0: // the store was restored
		f.seq = 0
		f.changed()
	case found == maxFeed || since == 0 && found > 0:
		f.changed()
	case len(topics) > 0:
		f.changed(topics...)
	}
	return nil
}
