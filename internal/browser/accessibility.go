package browser

import (
	"context"
	"errors"
	"strconv"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/domsnapshot"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
)

const (
	mostFrames = 30
	mostNodes  = 100_000 // that are read of one page
	fewLevels  = 8       // that are read of one that has more
)

// A reading is a page that is being read.
type reading struct {
	s      *session
	frames int
	nodes  int
	cut    bool   // there is more than was read
	depth  *int64 // of what is read; nil: all

	clickable map[element]bool
}

// read returns the tree of a page, with the frames in it in their places.
func (s *session) read(ctx context.Context, t *tab) (*node, *reading, error) {
	r := &reading{s: s, clickable: make(map[element]bool)}
	root, err := r.part(ctx, t.main)
	if err != nil {
		return nil, nil, err
	}
	return root, r, nil
}

// part reads what runs in one process, and what is in it of others.
func (r *reading) part(ctx context.Context, p *part) (*node, error) {
	tree, err := ask(ctx, p.line, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, p); err != nil {
		return nil, err
	}
	root, owners, err := r.frame(ctx, p, tree.FrameTree.Frame.ID)
	if err != nil {
		return nil, err
	}
	r.within(ctx, p, tree.FrameTree, owners)
	for child, frame := range r.s.partsIn(p) {
		r.nest(ctx, p, frame, owners, func() (*node, error) { return r.part(ctx, child) })
	}
	return root, nil
}

// prepare finds out how much there is to read in a part, and what in it reacts to
// the mouse, which the tree does not say.
func (r *reading) prepare(ctx context.Context, p *part) error {
	r.depth = nil
	counters, err := ask(ctx, p.line, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		return err
	}
	if counters.Nodes > mostNodes {
		r.depth, r.cut = new(int64(fewLevels)), true
		return nil
	}
	snapshot, err := ask(ctx, p.line, domsnapshot.CaptureSnapshot, domsnapshot.CaptureSnapshotParams{ComputedStyles: []string{}})
	if err != nil {
		return nil // the rest can be read without it
	}
	for _, d := range snapshot.Documents {
		if d.Nodes == nil || d.Nodes.IsClickable == nil {
			continue
		}
		for _, i := range d.Nodes.IsClickable.Index {
			if i >= 0 && int(i) < len(d.Nodes.BackendNodeID) {
				r.clickable[element{p, d.Nodes.BackendNodeID[i]}] = true
			}
		}
	}
	return nil
}

// partsIn are the frames of a part that are parts of their own.
func (s *session) partsIn(p *part) map[*part]cdp.FrameID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[*part]cdp.FrameID)
	for _, child := range s.parts {
		if child.parent == p {
			all[child] = child.frame
		}
	}
	return all
}

// within reads the frames beneath one that run in the same process.
func (r *reading) within(ctx context.Context, p *part, tree *page.FrameTree, owners map[cdp.BackendNodeID]*node) {
	for _, child := range tree.ChildFrames {
		r.nest(ctx, p, child.Frame.ID, owners, func() (*node, error) {
			inner, more, err := r.frame(ctx, p, child.Frame.ID)
			if err == nil {
				for id, n := range more {
					owners[id] = n
				}
				r.within(ctx, p, child, owners)
			}
			return inner, err
		})
	}
}

// nest puts a frame into its place. One that cannot be read, or is not shown, is
// left out.
func (r *reading) nest(ctx context.Context, p *part, id cdp.FrameID, owners map[cdp.BackendNodeID]*node, read func() (*node, error)) {
	if r.frames++; r.frames > mostFrames {
		r.cut = true
		return
	}
	owner, err := ask(ctx, p.line, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: id})
	if err != nil {
		return
	}
	if place := owners[owner.BackendNodeID]; place != nil {
		if inner, err := read(); err == nil {
			place.kids = append(place.kids, inner)
		}
	}
}

// frame reads one document, and says where the frames in it belong.
func (r *reading) frame(ctx context.Context, p *part, id cdp.FrameID) (root *node, owners map[cdp.BackendNodeID]*node, err error) {
	result, err := ask(ctx, p.line, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: id, Depth: r.depth})
	if err != nil {
		return nil, nil, err
	}
	if len(result.Nodes) == 0 {
		return nil, nil, errors.New("the document is empty")
	}
	b := builder{r: r, part: p, all: make(map[accessibility.NodeID]*accessibility.Node, len(result.Nodes)), owners: make(map[cdp.BackendNodeID]*node)}
	for _, n := range result.Nodes {
		b.all[n.NodeID] = n
	}
	return b.build(result.Nodes[0], 0), b.owners, nil
}

// A builder makes our nodes of those of DevTools.
type builder struct {
	r      *reading
	part   *part
	all    map[accessibility.NodeID]*accessibility.Node
	owners map[cdp.BackendNodeID]*node
}

func (b *builder) build(from *accessibility.Node, depth int) *node {
	delete(b.all, from.NodeID) // each is told once, whatever they say of each other
	n := &node{role: word(from.Role), el: element{b.part, from.BackendDOMNodeID}}
	if b.r.nodes++; b.r.nodes > mostNodes || depth > mostDepth {
		b.r.cut = true
		return n
	}
	if from.Ignored {
		n.role = "generic"
	} else {
		b.fill(n, from)
	}
	if n.role == "StaticText" {
		return n // what is in it are the lines it is set in
	}
	for _, id := range from.ChildIDs {
		if kid := b.all[id]; kid != nil {
			n.kids = append(n.kids, b.build(kid, depth+1))
		}
	}
	if n.role == "clickable" {
		b.settle(n)
	}
	return n
}

// settle decides whether what reacts to the mouse is to be told as such: not when
// it only hears of what is in it.
func (b *builder) settle(n *node) {
	if n.name == "" {
		n.name = (&outline{}).inside(n)
	}
	if n.name == "" && len(n.kids) > 0 || !plain(n) {
		n.role, n.name = "generic", ""
		return
	}
	n.ref = b.r.s.elements.name(n.el)
}

// plain reports whether there is nothing in n that has a place of its own.
func plain(n *node) bool {
	for _, k := range n.kids {
		if _, part := parts[k.role]; part || actable[k.role] || k.role == "heading" || !plain(k) {
			return false
		}
	}
	return true
}

// fill takes over what is said of a node.
func (b *builder) fill(n *node, from *accessibility.Node) {
	n.name, n.value = word(from.Name), word(from.Value)
	focusable := false
	for _, p := range from.Properties {
		said := word(p.Value)
		switch p.Name {
		case accessibility.PropertyNameURL:
			n.url = said
		case accessibility.PropertyNameLevel:
			n.level, _ = strconv.Atoi(said)
		case accessibility.PropertyNameFocusable:
			focusable = said == "true"
		default:
			n.state(p.Name, said)
		}
	}
	if n.role != "link" {
		n.url = ""
	}
	if n.role == "Iframe" || n.role == "IframePresentational" {
		n.role = "Iframe"
		b.owners[from.BackendDOMNodeID] = n
	}
	if n.role == "generic" && (focusable || b.r.clickable[n.el]) {
		n.role = "clickable"
	}
	named := parts[n.role] && n.role != "navigation" && n.role != "main"
	if from.BackendDOMNodeID != 0 && (actable[n.role] && n.role != "clickable" || named) {
		n.ref = b.r.s.elements.name(n.el)
	}
}

// state takes over what state a node is in, as far as it is not the usual.
func (n *node) state(name accessibility.PropertyName, said string) {
	switch name {
	case accessibility.PropertyNameDisabled, accessibility.PropertyNameRequired, accessibility.PropertyNameReadonly,
		accessibility.PropertyNameSelected, accessibility.PropertyNameModal, accessibility.PropertyNameBusy:
		if said == "true" {
			n.states = append(n.states, string(name))
		}
	case accessibility.PropertyNameFocused:
		if said == "true" && n.role != "RootWebArea" {
			n.states = append(n.states, "focused")
		}
	case accessibility.PropertyNameChecked, accessibility.PropertyNamePressed:
		switch said {
		case "true":
			n.states = append(n.states, string(name))
		case "mixed":
			n.states = append(n.states, "partly "+string(name))
		}
	case accessibility.PropertyNameExpanded:
		if said == "true" {
			n.states = append(n.states, "expanded")
		} else {
			n.states = append(n.states, "collapsed")
		}
	case accessibility.PropertyNameInvalid:
		if said != "false" && said != "" {
			n.states = append(n.states, "invalid")
		}
	}
}

// word is a value as text.
func word(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var text string
	if v.Value.Kind() == '"' {
		if jsonv2.Unmarshal(v.Value, &text) != nil {
			return ""
		}
		return text
	}
	return string(v.Value)
}

// beneath finds the node of an element.
func (n *node) beneath(el element) *node {
	if n.el == el {
		return n
	}
	for _, k := range n.kids {
		if found := k.beneath(el); found != nil {
			return found
		}
	}
	return nil
}
