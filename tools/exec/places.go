package exec

import (
	"strconv"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// places remember the position up to which each session has seen each command's output, so that
// a poll shows new output only. They forget the oldest positions when there are too many; then
// a text is repeated.
type places struct {
	shownOf *lru.Cache[placeKey, place]
}

const maxPlaces = 2000

type placeKey struct{ session, id string }

// A place is the shown amount of the two outputs of a command.
type place struct{ out, err int64 }

func newPlaces() *places {
	return &places{lru.New[placeKey](maxPlaces, func(place) int64 { return 1 })}
}

func placeOf(c tool.Caller, id string) placeKey {
	return placeKey{c.Principal() + "/" + strconv.Itoa(c.Depth) + "/" + c.Session, id}
}

// of returns how much was shown.
func (p *places) of(c tool.Caller, id string) (out, err int64) {
	at, _ := p.shownOf.Get(placeOf(c, id))
	return at.out, at.err
}

// shown notes how much was shown.
func (p *places) shown(c tool.Caller, id string, out, err int64) {
	p.shownOf.Put(placeOf(c, id), place{out, err})
}
