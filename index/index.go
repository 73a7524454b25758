// Package index finds documents by their words. It ranks by BM25 over exact
// counts and is confined to the scopes that a search names: every term is
// prefixed with the scope of its document, so a search never reads the words,
// the counts or the lengths of another scope. Bleve stores, merges and
// recovers the documents; the ranking is a query of Bleve, see ranked.
//
// It knows documents, terms and scores. It knows neither the readers of a scope nor the origin
// of documents: the caller keeps the originals, and a lost index costs only the time to fill it
// again. The cursor, written together with the documents, says how far the index has been
// filled.
//
// Begin with Open, Index.Apply and Index.Search; Analyze turns words into terms.
package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// A Document can be found. ID is unique among all scopes; Scope is its owner.
// Searches are narrowed by Kind, Path, Tags and Time, and match Title, Headings,
// Tags and Body.
type Document struct {
	ID, Scope, Kind, Path string
	Title, Headings, Body string
	Tags                  []string
	Time                  int64  // milliseconds since 1970
	Lang                  string // such as "en"; guessed if empty
}

// ErrClosed is returned by the methods of a closed index.
var ErrClosed = errors.New("the index is closed")

// An Index is open until Close. Its methods may be called concurrently.
type Index struct {
	slot *slot

	apply   sync.Mutex   // one batch at a time: the new counts depend on the old ones
	open    sync.RWMutex // held for reading while store is used, for writing to replace it
	store   *store
	emptied error // see Emptied
}

// Open opens an index below dir: the first of index-0, index-1, and so on that
// no other process uses. An index that is damaged, or was written by another
// version of the program, is emptied.
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

// start opens the store of the slot. A store that cannot be opened is emptied;
// the slot belongs to this process, so no other index is affected.
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
	x.emptied = err
	return nil
}

// Emptied returns the reason if Open has removed the files of an earlier index,
// such as damage or another format, and nil otherwise.
func (x *Index) Emptied() error { return x.emptied }

// load opens the store and checks that it was written by a program that makes
// the same terms of the same words.
func (x *Index) load() (err error) {
	defer catchFaults(&err)()
	if x.store, err = openStore(x.slot.store()); err != nil {
		return err
	}
	if err := x.checkFormat(); err != nil {
		return errors.Join(err, x.unload())
	}
	return nil
}

// checkFormat fails too if the store has no format: then Bleve has fallen back to
// the state before its first batch.
func (x *Index) checkFormat() error {
	view, err := x.view()
	if err != nil {
		return err
	}
	defer view.Close()
	found, err := view.GetInternal([]byte(keyFormat))
	if err != nil {
		return err
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

// view returns the current content. It does not change. The caller holds open, and closes the
// view.
func (x *Index) view() (*scorch.IndexSnapshot, error) {
	if x.store == nil {
		return nil, ErrClosed
	}
	return x.store.view()
}

// read calls f with a view of the current content.
func (x *Index) read(f func(*scorch.IndexSnapshot) error) (err error) {
	defer catchFaults(&err)()
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return err
	}
	defer view.Close()
	return f(view)
}

// Cursor returns the cursor of the last batch that had one, or "" if the index
// must be filled from the beginning.
func (x *Index) Cursor() (place string, err error) {
	err = x.read(func(view *scorch.IndexSnapshot) error {
		value, err := view.GetInternal([]byte(keyCursor))
		place = string(value)
		return err
	})
	return place, err
}

// Mark returns the last mark that a batch has set for a scope, or "".
func (x *Index) Mark(scope string) (mark string, err error) {
	err = x.read(func(view *scorch.IndexSnapshot) error {
		value, err := view.GetInternal(keyOf(scope).mark())
		mark = string(value)
		return err
	})
	return mark, err
}

// Reset empties the index and its cursor and marks. It may be tried again after an error,
// such as a full disk.
func (x *Index) Reset() error {
	x.apply.Lock()
	defer x.apply.Unlock()
	x.open.Lock()
	defer x.open.Unlock()
	if x.slot == nil {
		return ErrClosed
	}
	_ = x.unload() // the files are removed in any case
	if err := os.RemoveAll(x.slot.store()); err != nil {
		return err
	}
	return x.start()
}

// Close stops background work and releases the slot.
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

// Count returns the number of documents in a scope.
func (x *Index) Count(scope string) (n int, err error) {
	err = x.read(func(view *scorch.IndexSnapshot) error {
		c, err := countsOf(view, keyOf(scope))
		n = c.Documents
		return err
	})
	return n, err
}

// store returns the directory of the store; the lock file is beside it.
func (s *slot) store() string { return filepath.Join(s.dir, "store") }
