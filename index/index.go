// Package index finds documents by their words. It ranks by BM25, computed from
// the formula over exact counts, and is confined to the scopes that a search
// names: every term is kept together with the scope of its document, so a
// search never touches the words, the counts, or the lengths of another scope.
// Beneath it lies Scorch, the storage engine of Bleve, which keeps terms and
// postings in files that a crash cannot tear.
//
// It knows documents, terms and scores. It does not know who may see which
// scope, nor where documents come from: whoever feeds it keeps the truth, and
// an index that is lost costs only the time to feed it again. The cursor says
// how far it has been fed, and is kept in the same write as the documents.
//
// Begin with Open, Index.Apply and Index.Search; Analyze is what makes words
// into terms.
package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Document is one thing to be found. ID names it among all scopes; Scope is
// whose it is. Kind, Path, Tags and Time are what searches can be narrowed by;
// Title, Headings, Tags and Body are what it is found by.
type Document struct {
	ID, Scope, Kind, Path string
	Title, Headings, Body string
	Tags                  []string
	Time                  int64  // in milliseconds since 1970
	Lang                  string // "en"; "" has it guessed
}

// ErrClosed is what a closed index answers.
var ErrClosed = errors.New("the index is closed")

// Index is open until Close. Its methods may be used at the same time.
type Index struct {
	slot *slot

	apply sync.Mutex   // one batch at a time: the counts depend on what is there
	open  sync.RWMutex // held while store is used, and to replace it
	store *store
}

// Open opens an index beneath dir: the first of index-0, index-1, and so on that
// no other process has. One that is damaged, or that another version of the
// program has left, begins empty.
func Open(dir string) (*Index, error) {
	s, err := takeSlot(dir)
	if err != nil {
		return nil, err
	}
	x := &Index{slot: s}
	if err := x.start(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return x, nil
}

// start opens what the slot holds, and where that cannot be used, empties it.
// The slot is ours alone, so nobody else's index is emptied.
func (x *Index) start() error {
	err := x.load()
	if err == nil {
		return nil
	}
	if err := os.RemoveAll(x.slot.store()); err != nil {
		return fmt.Errorf("emptying an index: %w", err)
	}
	if again := x.load(); again != nil {
		return fmt.Errorf("opening an empty index: %w", errors.Join(again, err))
	}
	return nil
}

// load opens the store, and checks that it was written by a program that makes
// the same terms from the same words.
func (x *Index) load() (err error) {
	defer guard(&err)()
	if x.store, err = openStore(x.slot.store()); err != nil {
		return err
	}
	if err := x.checkFormat(); err != nil {
		return errors.Join(err, x.unload())
	}
	return nil
}

func (x *Index) checkFormat() error {
	view, err := x.view()
	if err != nil {
		return err
	}
	defer view.Close()
	found := view.value(keyFormat)
	if found == nil {
		return x.store.apply(change{values: map[string][]byte{keyFormat: []byte(format)}})
	}
	if string(found) != format {
		return fmt.Errorf("the index has format %q, and this program writes %q", found, format)
	}
	return nil
}

func (x *Index) unload() error {
	if x.store == nil {
		return nil
	}
	err := x.store.close()
	x.store = nil
	return err
}

// view is the index as it is now, whatever is written meanwhile. The caller
// closes it, and holds open.
func (x *Index) view() (*snapshot, error) {
	if x.store == nil {
		return nil, ErrClosed
	}
	return x.store.view()
}

// Cursor is what the last batch that had one said; "" where none did, so that
// everything has to be fed.
func (x *Index) Cursor() (place string, err error) {
	defer guard(&err)()
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return "", err
	}
	defer view.Close()
	return string(view.value(keyCursor)), nil
}

// Reset empties the index, its cursor included. One that failed, as the disk was
// full, may be tried again.
func (x *Index) Reset() error {
	x.apply.Lock()
	defer x.apply.Unlock()
	x.open.Lock()
	defer x.open.Unlock()
	if x.slot == nil {
		return ErrClosed
	}
	_ = x.unload() // what does not end well is removed anyway
	if err := os.RemoveAll(x.slot.store()); err != nil {
		return err
	}
	return x.start()
}

// Close ends what goes on in the background and gives the slot to others.
func (x *Index) Close() error {
	x.apply.Lock()
	defer x.apply.Unlock()
	x.open.Lock()
	defer x.open.Unlock()
	if x.slot == nil {
		return nil
	}
	err := errors.Join(x.unload(), x.slot.release())
	x.slot = nil
	return err
}

// Stats is what an index holds.
type Stats struct {
	Documents int
	Bytes     int64  // on disk
	Slot      string // its directory
}

// Stats counts what is there.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return Stats{}, err
	}
	defer view.Close()
	s := Stats{Documents: view.count(), Slot: x.slot.dir}
	files, err := os.ReadDir(x.slot.store())
	for _, f := range files {
		if info, err := f.Info(); err == nil { // gone since: merged into another
			s.Bytes += info.Size()
		}
	}
	return s, errors.Join(err, ctx.Err())
}

// Count is how many documents a scope has.
func (x *Index) Count(scope string) (int, error) {
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return 0, err
	}
	defer view.Close()
	c, err := countsOf(view, keyOf(scope))
	return c.Documents, err
}

// store is the directory of what the slot holds; the lock lies beside it.
func (s *slot) store() string { return filepath.Join(s.dir, "store") }
