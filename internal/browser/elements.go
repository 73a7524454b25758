package browser

import (
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxElements is the maximum number of refs.
const maxElements = 50_000

// An element is an element with a ref. Node numbers are unique while the target shows
// the same document.
type element struct {
	target *pageTarget
	node   cdp.BackendNodeID
}

// elements are the elements with refs: e1, e2 and so on. A ref is never used twice.
type elements struct {
	mu    sync.Mutex
	last  int
	names map[element]string
	known map[string]element
}

func newElements() *elements {
	return &elements{names: make(map[element]string), known: make(map[string]element)}
}

// name returns the ref of an element, and assigns one if it has none.
func (e *elements) name(el element) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if name, ok := e.names[el]; ok {
		return name
	}
	if len(e.names) >= maxElements { // forget all refs: a page that changes all the time would accumulate them
		clear(e.names)
		clear(e.known)
	}
	e.last++
	name := fmt.Sprintf("e%d", e.last)
	e.names[el], e.known[name] = name, el
	return name
}

// get returns the element with a ref.
func (e *elements) get(name string) (element, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if el, ok := e.known[name]; ok {
		return el, nil
	}
	return element{}, stale(name)
}

// forget removes the refs of all elements of a target.
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
	return tool.Errorf(tool.NotFound, "%.20q is not on the page",
		name).Try("take a snapshot for the current refs")
}
