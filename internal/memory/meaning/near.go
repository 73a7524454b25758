package meaning

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/memory"
	api "github.com/mcp-tools/mcp-tools/tools/memory"
)

const (
	// patience is how long a search waits for what it asks to be turned into a
	// vector, and for vectors to be read.
	patience = 800 * time.Millisecond

	mostSize    = 192 << 20 // bytes of vectors in memory, and of one owner's
	mostShelves = 64
	mostChanges = 500 // of the feed, that are read at once
	mostPages   = 10  // of changes; after more, all is read anew
	mostAtOnce  = 200 // documents
)

// Near returns pieces that mean nearly what a text does, the nearest first.
func (m *Meaning) Near(ctx context.Context, q memory.NearQuery) (found memory.Nearby, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	var vector []float32
	var failed error
	encoded := make(chan struct{})
	go func() {
		defer close(encoded)
		vector, failed = m.o.Encoder.Query(ctx, m.o.Scrub(q.Text))
	}()
	defer func() { cancel(); <-encoded }()
	shelves, err := m.ready(ctx, q.Owners)
	if err != nil {
		return found, err
	}
	if found.Pending, found.Filling, err = m.pending(ctx); err != nil {
		return found, err
	}
	<-encoded // which ends with ctx
	if failed != nil {
		return found, failed
	}
	found.List = nearest(shelves, vector, q)
	return found, nil
}

// pending are the documents that whoever makes vectors has not come to yet. Where
// everything is to be done, filling is true.
func (m *Meaning) pending(ctx context.Context) (ids []string, filling bool, err error) {
	place, err := m.o.Rows.Place(ctx)
	if err != nil {
		return nil, false, err
	}
	_, lost, _, err := m.o.Feed.Follow(ctx, place, mostAtOnce, []string{memory.Topic}, func(_, key string) { ids = append(ids, key) })
	return ids, lost, err
}

// nearest compares what shelves have with a vector.
func nearest(shelves []*shelf, vector []float32, q memory.NearQuery) (found []memory.Near) {
	c := comparison{filter: filter{path: q.Path, category: q.Category, since: q.Since, until: q.Until, now: q.Now}, most: max(q.Limit, 1)}
	c.query, c.worth = quantise(vector, finestQuery)
	for _, s := range shelves {
		c.add(s)
	}
	ground, least := c.bounds()
	for _, s := range c.best() {
		if cos := float64(s.cos); cos >= least {
			about := min(max((cos-ground)/(1-ground), 0), 1)
			found = append(found, memory.Near{Document: s.doc.id, Version: s.doc.version, N: s.n, About: about})
		}
	}
	return found
}

// ready returns the shelves of owners, as the store has them now.
func (m *Meaning) ready(ctx context.Context, owners []api.Owner) ([]*shelf, error) {
	if err := m.catchUp(ctx); err != nil {
		return nil, err
	}
	shelves := make([]*shelf, len(owners))
	for i, o := range owners {
		shelves[i] = m.shelf(o)
	}
	for _, s := range shelves {
		select {
		case <-s.loaded:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		s.mu.RLock()
		err := s.err
		s.mu.RUnlock()
		if err != nil {
			return nil, err
		}
	}
	return shelves, nil
}

// shelf returns an owner's shelf, which is read when it is new. Reading goes on
// when the search that wanted it has given up: the next one finds it done.
func (m *Meaning) shelf(o api.Owner) *shelf {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	s := m.shelves[o]
	if s == nil {
		s = &shelf{owner: o, loaded: make(chan struct{}), reading: true}
		if m.closed {
			s.err = errClosed
			close(s.loaded)
			return s
		}
		m.shelves[o] = s
		m.done.Go(func() { m.read(s) })
	}
	s.used = m.uses
	return s
}

// read reads a shelf, and forgets it when that fails.
func (m *Meaning) read(s *shelf) {
	defer close(s.loaded)
	err := s.read(m.ctx, m.o.Rows, mostSize)
	if err == nil {
		m.makeRoom(s)
		return
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shelves[s.owner] == s {
		delete(m.shelves, s.owner)
	}
}

// makeRoom forgets as many shelves as there is no room for beside one, those
// first that were not searched for the longest time.
func (m *Meaning) makeRoom(kept *shelf) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sizes := map[*shelf]int64{}
	total := int64(0)
	for _, s := range m.shelves {
		s.mu.RLock()
		sizes[s] = s.size
		s.mu.RUnlock()
		total += sizes[s]
	}
	for len(m.shelves) > 1 && (total > mostSize || len(m.shelves) > mostShelves) {
		var oldest *shelf
		for _, s := range m.shelves {
			if s != kept && (oldest == nil || s.used < oldest.used) {
				oldest = s
			}
		}
		total -= sizes[oldest]
		delete(m.shelves, oldest.owner)
	}
}

// catchUp takes what has changed into the shelves. When too much has, or nobody
// knows what, they are read anew.
func (m *Meaning) catchUp(ctx context.Context) error {
	topics := []string{memory.Topic, VectorTopic}
	select {
	case m.following <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-m.following }()
	for range mostPages {
		var ids []string
		known := map[string]bool{}
		place, lost, more, err := m.o.Feed.Follow(ctx, m.place, mostChanges, topics, func(_, id string) {
			if !known[id] {
				known[id] = true
				ids = append(ids, id)
			}
		})
		switch {
		case err != nil:
			return err
		case lost:
			m.forget()
		default:
			if err := m.take(ctx, ids); err != nil {
				return err
			}
		}
		m.place = place
		if !more || len(ids) == 0 { // what is not settled yet comes with the next search
			return nil
		}
	}
	m.forget()
	place, _, _, err := m.o.Feed.Follow(ctx, "", 1, topics, func(string, string) {})
	if err == nil {
		m.place = place
	}
	return err
}

func (m *Meaning) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.shelves)
}

// take reads documents that have changed into the shelves there are.
func (m *Meaning) take(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	shelves := map[api.Owner]*shelf{}
	m.mu.Lock()
	for o, s := range m.shelves {
		s.mu.Lock()
		if s.reading {
			s.touched = append(s.touched, ids...)
		} else {
			shelves[o] = s
		}
		s.mu.Unlock()
	}
	m.mu.Unlock()
	if len(shelves) == 0 {
		return nil
	}
	for some := range slices.Chunk(ids, mostAtOnce) {
		if err := refresh(ctx, m.o.Rows, shelves, some); err != nil {
			return err
		}
	}
	m.makeRoom(nil)
	return nil
}
