package meaning

import (
	"context"
	"sync"
	"time"

	api "github.com/mcp-tools/mcp-tools/tools/memory"
)

// A shelf is what one owner remembers, as vectors in memory.
type shelf struct {
	owner  api.Owner
	used   int64         // when it was searched last, for whoever has to make room; guarded by Meaning.mu
	loaded chan struct{} // closed when it was read, or could not be

	mu      sync.RWMutex
	err     error
	docs    []*document
	at      map[string]int // where in docs a document is
	size    int64
	touched []string // documents that changed while it was read
	reading bool
}

// A document has the pieces of one memory.
type document struct {
	id               string
	version          int64
	path, category   string
	updated, expires time.Time
	pieces           []row
}

// A row is a vector, as [unpack] gives it.
type row struct {
	n       int
	worth   float32
	numbers []byte
}

const perRow, perDocument = 64, 256 // bytes, beside numbers and words

func (d *document) size() int64 {
	n := int64(perDocument + len(d.path) + len(d.category))
	for _, r := range d.pieces {
		n += int64(perRow + len(r.numbers))
	}
	return n
}

// add adds a piece, whose documents come one after the other.
func (s *shelf) add(p api.Piece) {
	at, there := s.at[p.Document]
	if !there || s.docs[at].version != p.Version {
		s.drop(p.Document)
		d := &document{id: p.Document, version: p.Version, path: p.Path, category: p.Category, updated: p.Updated, expires: p.Expires}
		at = len(s.docs)
		s.docs, s.at[d.id] = append(s.docs, d), at
		s.size += d.size()
	}
	numbers, worth := unpack(p.Vector)
	d := s.docs[at]
	d.pieces = append(d.pieces, row{p.N, worth, numbers})
	s.size += int64(perRow + len(numbers))
}

func (s *shelf) drop(id string) {
	at, there := s.at[id]
	if !there {
		return
	}
	s.size -= s.docs[at].size()
	last := len(s.docs) - 1
	s.docs[at] = s.docs[last]
	s.at[s.docs[at].id] = at
	s.docs[last] = nil
	s.docs = s.docs[:last]
	delete(s.at, id)
}

// read fills the shelf. Beyond so many bytes it takes no more.
func (s *shelf) read(ctx context.Context, rows Rows, most int64) error {
	docs := &shelf{at: map[string]int{}}
	err := rows.Of(ctx, s.owner, func(p api.Piece) bool {
		docs.add(p)
		return docs.size < most && ctx.Err() == nil
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	for {
		s.mu.Lock()
		if docs != nil {
			s.docs, s.at, s.size, docs = docs.docs, docs.at, docs.size, nil
		}
		again := s.touched
		s.touched = nil
		s.reading = len(again) > 0
		s.mu.Unlock()
		if len(again) == 0 {
			return nil
		}
		for len(again) > 0 {
			some := again[:min(len(again), mostAtOnce)]
			again = again[len(some):]
			if err := refresh(ctx, rows, map[api.Owner]*shelf{s.owner: s}, some); err != nil {
				return err
			}
		}
	}
}

// refresh reads some documents anew, for those shelves that have them.
func refresh(ctx context.Context, rows Rows, shelves map[api.Owner]*shelf, ids []string) error {
	owners := make([]api.Owner, 0, len(shelves))
	for o := range shelves {
		owners = append(owners, o)
	}
	var list []api.Piece
	err := rows.OfDocuments(ctx, ids, owners, func(p api.Piece) bool {
		list = append(list, p)
		return true
	})
	if err != nil {
		return err
	}
	for _, s := range shelves {
		s.mu.Lock()
		for _, id := range ids {
			s.drop(id)
		}
		for _, p := range list {
			if p.Owner == s.owner && s.size < mostSize {
				s.add(p)
			}
		}
		s.mu.Unlock()
	}
	return nil
}
