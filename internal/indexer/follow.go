package indexer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
)

const (
	// form changes whenever shelves would make other documents of the same rows.
	form = "1 "

	mostChanges = 500 // that are read at once
	keysAtOnce  = 500 // of a shelf

	retry     = 2 * time.Second
	gather    = 250 * time.Millisecond // that changes wait for others, unless somebody asks
	settle    = 20 * time.Millisecond  // between looks while a transaction is open
	writeDown = 10 * time.Minute       // how old the place on disk may be
)

// A follower keeps the index in step with the feed. It is for one goroutine.
type follower struct {
	*Indexer
	shelves map[string]Source
	topics  []string
	changed chan struct{}

	x     *index.Index
	place string    // how far the feed is followed
	kept  string    // what of that is on disk
	next  time.Time // when the place is written down, if nothing else is before

	filling *key // the last that is in an index that is being filled; nil when it is full
}

// follow follows the feed until Close.
func (i *Indexer) follow() {
	f := &follower{Indexer: i, shelves: map[string]Source{}, changed: make(chan struct{}, 1)}
	for _, s := range i.o.Sources {
		f.shelves[s.Topic()] = s
		f.topics = append(f.topics, s.Topic())
		first := i.o.Feed.Wait(s.Topic())
		i.done.Go(func() { f.hear(s.Topic(), first) })
	}
	for i.ctx.Err() == nil {
		asked := i.take()
		before := f.place
		more, err := f.round()
		switch {
		case err != nil:
			if errors.Is(err, index.ErrDamaged) {
				f.place = ""
			}
			answer(asked, err)
			if i.ctx.Err() == nil { // or else it is no wonder
				i.o.Log.Warn("the search index does not follow the store at present", "err", err)
				f.pause(retry, nil)
			}
		case more:
			i.putBack(asked)
			if f.place == before {
				f.sleep(settle)
			}
		default:
			answer(asked, nil)
			f.writePlace(false)
			if f.pause(writeDown, f.changed) {
				f.pause(gather, nil)
			}
		}
	}
	f.writePlace(true)
	answer(i.take(), ErrClosed)
}

// hear tells of changes of a topic. It waits for the next one before it tells
// of one: whoever is told then reads what both have changed.
func (f *follower) hear(topic string, wait <-chan struct{}) {
	for {
		select {
		case <-wait:
		case <-f.ctx.Done():
			return
		}
		wait = f.o.Feed.Wait(topic)
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}

// pause waits for a change, a question, or so long, and says whether it was a
// change.
func (f *follower) pause(most time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ask:
	case <-f.ctx.Done():
	case <-changed:
		return true
	}
	return false
}

func (f *follower) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ctx.Done():
	}
}

func answer(asked []chan error, err error) {
	for _, c := range asked {
		c <- err // it has room
	}
}

func (i *Indexer) take() []chan error {
	i.mu.Lock()
	defer i.mu.Unlock()
	asked := i.asking
	i.asking = nil
	return asked
}

func (i *Indexer) putBack(asked []chan error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asking = append(asked, i.asking...)
}

// round opens the index, if it is not, and takes the next changes into it. More
// are committed already where more is true.
func (f *follower) round() (more bool, err error) {
	defer func() {
		if p := recover(); p != nil { // a damaged index can do anything
			f.place = ""
			err = fmt.Errorf("the index: %v", p)
		}
	}()
	if err := f.openIndex(); err != nil {
		return false, err
	}
	if f.doubt.Swap(false) {
		f.place = ""
	}
	var keys []key
	known := map[key]bool{}
	place, lost, more, err := f.o.Feed.Follow(f.ctx, f.place, mostChanges, f.topics, func(topic, name string) {
		if k := (key{topic, name}); !known[k] && f.shelves[topic] != nil {
			known[k] = true
			keys = append(keys, k)
		}
	})
	switch {
	case err != nil:
		return false, err
	case lost:
		return true, f.rebuild(place)
	case f.filling != nil:
		return true, f.fill()
	case len(keys) > 0:
		if err := f.update(keys, place); err != nil {
			return false, err
		}
	}
	f.place = place
	return more, nil
}

// openIndex takes an index and where it was.
func (f *follower) openIndex() error {
	if f.x != nil {
		return nil
	}
	x, err := index.Open(f.o.Dir)
	if err != nil {
		return fmt.Errorf("opening the search index: %w", err)
	}
	cursor, err := x.Cursor()
	if err != nil {
		cursor = "" // then it is filled anew
	}
	f.x = x
	f.place, f.filling = readCursor(cursor)
	f.kept = f.place
	f.next = time.Now().Add(writeDown)
	f.mu.Lock()
	f.index = x
	f.mu.Unlock()
	close(f.opened)
	return nil
}

// readCursor takes apart what a batch has written with its documents: the place
// in the feed, and of an index that was being filled, the last key in it.
func readCursor(cursor string) (place string, filling *key) {
	place, ok := strings.CutPrefix(cursor, form)
	if !ok {
		return "", nil
	}
	if parts := strings.SplitN(place, separator, 3); len(parts) == 3 {
		return parts[0], &key{parts[1], parts[2]}
	}
	return place, nil
}

// rebuild empties the index and takes everything into it.
func (f *follower) rebuild(place string) error {
	if err := f.x.Reset(); err != nil {
		return err
	}
	f.place, f.kept, f.filling = place, "", &key{}
	return f.fill()
}

// fill takes everything into the index that is not in it yet. It goes on where
// it, or another process, was interrupted.
func (f *follower) fill() error {
	start := time.Now()
	b := f.batch(true)
	for _, topic := range f.topics[max(slices.Index(f.topics, f.filling.topic), 0):] {
		after := ""
		if topic == f.filling.topic {
			after = f.filling.name
		}
		for {
			names, err := f.shelves[topic].Keys(f.ctx, after, keysAtOnce)
			if err != nil {
				return fmt.Errorf("the keys of %s: %w", topic, err)
			}
			for _, name := range names {
				if err := b.add(key{topic, name}); err != nil {
					return err
				}
				after = name
			}
			if len(names) < keysAtOnce {
				break
			}
		}
	}
	if err := b.end(f.place); err != nil {
		return err
	}
	f.filling = nil
	f.o.Log.Debug("the search index was filled anew", "documents", b.total, "took", time.Since(start).Round(time.Millisecond))
	return nil
}

// update replaces what is indexed of some keys.
func (f *follower) update(keys []key, place string) error {
	b := f.batch(false)
	for _, k := range keys {
		if err := b.add(k); err != nil {
			return err
		}
	}
	return b.end(place)
}

// writePlace notes how far the feed was followed when nothing was to be indexed
// for a long time, since the feed forgets.
func (f *follower) writePlace(now bool) {
	if f.x == nil || f.place == "" || f.filling != nil || f.place == f.kept || !now && time.Now().Before(f.next) {
		return
	}
	if err := f.writeCursor(f.place); err != nil {
		f.o.Log.Debug("the place in the feed is not written down", "err", err)
	}
}
