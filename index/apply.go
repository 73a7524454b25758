package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// maxStep is the number of documents that are written at once.
const maxStep = 1000

// A Batch is a list of changes: deletions come first, then each document
// replaces the one of the same ID. Cursor, if it is not empty, is returned by
// Index.Cursor from then on, and the values of Marks by Index.Mark.
type Batch struct {
	Put    []Document
	Delete []string
	Cursor string
	Marks  map[string]string // by scope
}

// Apply makes the changes and returns when they are on disk. A large batch is
// written in several steps, the cursor with the last one: after a crash in
// between, some documents are there and the cursor is the old one.
func (x *Index) Apply(ctx context.Context, b Batch) error {
	for i := range b.Put {
		if b.Put[i].ID == "" {
			return errors.New("a document without an ID cannot be indexed")
		}
	}
	x.apply.Lock()
	defer x.apply.Unlock()
	for {
		step := Batch{Delete: takeFirst(&b.Delete, maxStep)}
		step.Put = takeFirst(&b.Put, maxStep-len(step.Delete))
		last := len(b.Put)+len(b.Delete) == 0
		if last {
			step.Cursor, step.Marks = b.Cursor, b.Marks
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := x.step(ctx, step); err != nil || last {
			return err
		}
	}
}

// takeFirst removes at most n items from the front of list and returns them.
func takeFirst[T any](list *[]T, n int) []T {
	n = min(n, len(*list))
	taken := (*list)[:n]
	*list = (*list)[n:]
	return taken
}

func (x *Index) step(ctx context.Context, b Batch) (err error) {
	defer catchFaults(&err)()
	records := analyzeAll(ctx, b.Put)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return err
	}
	defer view.Close()
	changes := x.store.NewBatch()
	var ids []string // of all documents that are removed or replaced, each once
	for _, id := range slices.Compact(slices.Sorted(slices.Values(b.Delete))) {
		if _, replaced := records[id]; id != "" && !replaced {
			changes.Delete(id)
			ids = append(ids, id)
		}
	}
	for id, r := range records {
		if err := changes.IndexAdvanced(r.document()); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if b.Cursor != "" {
		changes.SetInternal([]byte(keyCursor), []byte(b.Cursor))
	}
	for scope, mark := range b.Marks {
		changes.SetInternal(keyOf(scope).mark(), []byte(mark))
	}
	if err := recount(view, changes, ids, records); err != nil {
		return err
	}
	if changes.Size() == 0 {
		return nil
	}
	return x.store.apply(ctx, changes)
}

// analyzeAll makes records of documents on all processors. If two documents
// have the same ID, the later one wins.
func analyzeAll(ctx context.Context, documents []Document) map[string]record {
	last := map[string]int{}
	for i, d := range documents {
		last[d.ID] = i
	}
	made := make([]record, len(documents))
	workers := min(runtime.GOMAXPROCS(0), len(documents))
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			a := newAnalyzer()
			for i := w; i < len(documents) && ctx.Err() == nil; i += workers {
				if last[documents[i].ID] == i {
					made[i] = a.record(documents[i])
				}
			}
		})
	}
	group.Wait()
	records := make(map[string]record, len(last))
	for id, i := range last {
		records[id] = made[i]
	}
	return records
}

// recount adds the new counts of the affected scopes to the changes.
func recount(view *scorch.IndexSnapshot, changes *bleve.Batch, ids []string, records map[string]record) error {
	changed := map[scopeKey]counts{}
	count := func(r record, by int) error {
		c, ok := changed[r.scope]
		if !ok {
			var err error
			if c, err = countsOf(view, r.scope); err != nil {
				return err
			}
		}
		c.add(r, by)
		changed[r.scope] = c
		return nil
	}
	for _, id := range ids {
		number, err := view.InternalID(id)
		if err != nil {
			return fmt.Errorf("looking up a document: %w", err)
		}
		if number == nil {
			continue
		}
		r, err := storedRecord(view, number.Value())
		if err != nil {
			return err
		}
		if err := count(r, -1); err != nil {
			return err
		}
	}
	for _, r := range records {
		if err := count(r, 1); err != nil {
			return err
		}
	}
	for key, of := range changed {
		text, err := of.encode()
		switch {
		case err != nil:
			return err
		case text == nil:
			changes.DeleteInternal(key.counts())
		default:
			changes.SetInternal(key.counts(), text)
		}
	}
	return nil
}

// storedRecord reads the record of a document of the index.
func storedRecord(view *scorch.IndexSnapshot, number uint64) (record, error) {
	for _, s := range view.Segments() {
		all := s.Segment().Count()
		if number < all {
			return recordOf(s.Segment(), number)
		}
		number -= all
	}
	return record{}, errRecord
}

// recordOf reads the record of a document of a segment.
func recordOf(s segment.Segment, number uint64) (r record, err error) {
	err = errRecord
	visited := s.VisitStoredFields(number, func(name string, _ byte, value []byte, _ []uint64) bool {
		if name == fieldRecord {
			r, err = readRecord(value)
		}
		return name != fieldRecord
	})
	return r, errors.Join(err, visited)
}
