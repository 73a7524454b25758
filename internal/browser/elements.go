package browser

import (
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxElements is how many are remembered.
const maxElements = 50_000

// An element is one that the model knows by a name. The number of its node is
// never another node's as long as its part shows the same document.
type element struct {
	target *pageTarget
	node   cdp.BackendNodeID
}

// elements are those with names: e1, e2 and so on. A name is never given twice.
type elements struct {
	mu    sync.Mutex
	last  int
	names map[element]string
	known map[string]element
}

func newElements() *elements {
	return &elements{names: make(map[element]string), known: make(map[string]element)}
}

// name returns the name of an element, which it gets when it has none.
func (e *elements) name(el element) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if name, ok := e.names[el]; ok {
		return name
	}
	if len(e.names) >= maxElements { // a page that is never done; its refs begin anew
		clear(e.names)
		clear(e.known)
	}
	e.last++
	name := fmt.Sprintf("e%d", e.last)
	e.names[el], e.known[name] = name, el
	return name
}

// get returns the element of a name.
func (e *elements) get(name string) (element, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if el, ok := e.known[name]; ok {
		return el, nil
	}
	return element{}, stale(name)
}

// forget takes the names from all elements of a part.
func (e *elements) forget(p *pageTarget) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for el, name := range e.names {
		if el.target == p {
			delete(e.names, el)
			delete(e.known, name)
		}
	}
}

func stale(name string) *tool.Error {
	return tool.Errorf(tool.NotFound, "%.20q is not on the page, or not any more",
		name).Try("take a snapshot for the refs of now")
}
