package exec

import (
	"container/list"
	"strconv"
	"sync"

	"github.com/mcp-tools/mcp-tools/tools"
)

// places remember how much of each command's output each session was shown, so
// that a poll shows what is new. They forget the oldest when there are too
// many, which costs a repeated text.
type places struct {
	mu     sync.Mutex
	by     map[placeKey]*list.Element
	latest list.List // of *place, the latest first
}

const maxPlaces = 2000

type placeKey struct{ session, id string }

type place struct {
	key      placeKey
	out, err int64
}

func newPlaces() *places { return &places{by: map[placeKey]*list.Element{}} }

func placeOf(c tools.Caller, id string) placeKey {
	return placeKey{c.Principal() + "/" + strconv.Itoa(c.Depth) + "/" + c.Session, id}
}

// of is how much was shown.
func (p *places) of(c tools.Caller, id string) (out, err int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.by[placeOf(c, id)]; e != nil {
		at := e.Value.(*place)
		return at.out, at.err
	}
	return 0, 0
}

// shown notes how much was shown.
func (p *places) shown(c tools.Caller, id string, out, err int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := placeOf(c, id)
	if e := p.by[key]; e != nil {
		p.latest.MoveToFront(e)
		e.Value = &place{key, out, err}
		return
	}
	p.by[key] = p.latest.PushFront(&place{key, out, err})
	if p.latest.Len() > maxPlaces {
		oldest := p.latest.Back()
		delete(p.by, oldest.Value.(*place).key)
		p.latest.Remove(oldest)
	}
}
