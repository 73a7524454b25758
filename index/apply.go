package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// maxStep is the number of documents that are written at once.
const maxStep = 1000

// A Batch is a list of changes: deletions come first, then each document
// replaces the one of the same ID. Cursor, if it is not empty, is returned by
// Index.Cursor from then on.
type Batch struct {
	Put    []Document
	Delete []string
	Cursor string
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
			step.Cursor = b.Cursor
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
	c := change{documents: map[string]*entry{}, values: map[string][]byte{}}
	for _, id := range b.Delete {
		if _, replaced := records[id]; id != "" && !replaced {
			c.deletes = append(c.deletes, id)
		}
	}
	for id, r := range records {
		c.documents[id] = &entry{id: r.id, fields: r.fields}
	}
	if b.Cursor != "" {
		c.values[keyCursor] = []byte(b.Cursor)
	}
	if err := recount(view, &c, records); err != nil {
		return err
	}
	if c.empty() {
		return nil
	}
	return x.store.apply(c)
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

// recount adds the new counts of the affected scopes to the change.
func recount(view *snapshot, c *change, records map[string]record) error {
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
	err := eachRecord(view, c.ids(), func(r record) error { return count(r, -1) })
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := count(r, 1); err != nil {
			return err
		}
	}
	for key, of := range changed {
		text, err := of.encode()
		if err != nil {
			return err
		}
		c.values[key.counts()] = text
	}
	return nil
}

// eachRecord calls do with the record of each document with one of the IDs.
func eachRecord(view *snapshot, ids []string, do func(record) error) error {
	for _, p := range view.parts {
		numbers, err := p.file.DocNumbers(ids)
		if err != nil {
			return fmt.Errorf("looking up documents: %w", err)
		}
		if p.deleted != nil {
			numbers.AndNot(p.deleted)
		}
		for it := numbers.Iterator(); it.HasNext(); {
			r, err := storedRecord(p, uint64(it.Next()))
			if err != nil {
				return err
			}
			if err := do(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func storedRecord(p *part, number uint64) (r record, err error) {
	err = errRecord
	visited := p.file.VisitStoredFields(number, func(name string, _ byte, value []byte, _ []uint64) bool {
		if name == fieldRecord {
			r, err = readRecord(value)
		}
		return name != fieldRecord
	})
	return r, errors.Join(err, visited)
}
