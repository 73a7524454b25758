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
	maxFrames    = 30
	maxNodes     = 100_000 // of one page
	shallowDepth = 8       // the depth that is read of a page with more nodes
)

// A treeReader reads the accessibility tree of a page.
type treeReader struct {
	s      *session
	frames int
	nodes  int
	cut    bool   // the page has more than was read
	depth  *int64 // maximum depth; nil: unlimited

	clickable map[element]bool
	unseen    map[element]bool // elements that a person would not see
	pre       map[element]bool // elements with preformatted text
	left      int              // texts that were left out because a person would not see them
	unchecked bool             // the visible elements are unknown
}

// read returns the tree of a page, including its frames.
func (s *session) read(ctx context.Context, t *tab) (*node, *treeReader, error) {
	r := &treeReader{s: s, clickable: make(map[element]bool), unseen: make(map[element]bool),
		pre: make(map[element]bool)}
	root, err := r.readTarget(ctx, t.main)
	if err != nil {
		return nil, nil, err
	}
	return root, r, nil
}

// readTarget reads a target and the targets inside it.
func (r *treeReader) readTarget(ctx context.Context, p *pageTarget) (*node, error) {
	tree, err := call(ctx, p.endpoint, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, p); err != nil {
		return nil, err
	}
	root, owners, err := r.readDocument(ctx, p, tree.FrameTree.Frame.ID)
	if err != nil {
		return nil, err
	}
	r.readFrames(ctx, p, tree.FrameTree, owners)
	for child, frame := range r.s.targetsIn(p) {
		r.attachFrame(ctx, p, frame, owners, func() (*node, error) { return r.readTarget(ctx, child) })
	}
	return root, nil
}

// prepare limits the depth for a large document. It also finds what the accessibility tree does
// not contain: the elements with click handlers, and the elements that a person would not see.
func (r *treeReader) prepare(ctx context.Context, p *pageTarget) error {
	r.depth = nil
	counters, err := call(ctx, p.endpoint, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		return err
	}
	if counters.Nodes > maxNodes {
		r.depth, r.cut, r.unchecked = new(int64(shallowDepth)), true, true
		return nil
	}
	snapshot, err := call(ctx, p.endpoint, domsnapshot.CaptureSnapshot,
		domsnapshot.CaptureSnapshotParams{ComputedStyles: styles(), IncludeBlendedBackgroundColors: new(true)})
	if err != nil {
		r.unchecked = true
		return nil
	}
	for _, d := range snapshot.Documents {
		for id := range unseen(d, snapshot.Strings) {
			r.unseen[element{p, id}] = true
		}
		for i, name := range nodeNames(d, snapshot.Strings) {
			if name == "PRE" {
				r.pre[element{p, d.Nodes.BackendNodeID[i]}] = true
			}
		}
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

// targetsIn returns the frames of a target that are targets themselves.
func (s *session) targetsIn(p *pageTarget) map[*pageTarget]cdp.FrameID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[*pageTarget]cdp.FrameID)
	for _, child := range s.targets {
		if child.parent == p {
			all[child] = child.frame
		}
	}
	return all
}

// readFrames reads the frames in a frame that run in the same process.
func (r *treeReader) readFrames(ctx context.Context, p *pageTarget, tree *page.FrameTree,
	owners map[cdp.BackendNodeID]*node) {
	for _, child := range tree.ChildFrames {
		r.attachFrame(ctx, p, child.Frame.ID, owners, func() (*node, error) {
			inner, more, err := r.readDocument(ctx, p, child.Frame.ID)
			if err == nil {
				for id, n := range more {
					owners[id] = n
				}
				r.readFrames(ctx, p, child, owners)
			}
			return inner, err
		})
	}
}

// attachFrame adds the tree of a frame to its owner element. Frames that cannot be read
// or are not shown are omitted.
func (r *treeReader) attachFrame(ctx context.Context, p *pageTarget, id cdp.FrameID, owners map[cdp.BackendNodeID]*node,
	read func() (*node, error)) {
	if r.frames++; r.frames > maxFrames {
		r.cut = true
		return
	}
	owner, err := call(ctx, p.endpoint, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: id})
	if err != nil {
		return
	}
	if place := owners[owner.BackendNodeID]; place != nil {
		if inner, err := read(); err == nil {
			place.children = append(place.children, inner)
		}
	}
}

// readDocument reads one document. It also returns the nodes that contain frames.
func (r *treeReader) readDocument(ctx context.Context, p *pageTarget, id cdp.FrameID) (root *node,
	owners map[cdp.BackendNodeID]*node, err error) {
	result, err := call(ctx, p.endpoint, accessibility.GetFullAXTree,
		accessibility.GetFullAXTreeParams{FrameID: id, Depth: r.depth})
	if err != nil {
		return nil, nil, err
	}
	if len(result.Nodes) == 0 {
		return nil, nil, errors.New("the document is empty")
	}
	b := builder{r: r, target: p, all: make(map[accessibility.NodeID]*accessibility.Node, len(result.Nodes)),
		owners: make(map[cdp.BackendNodeID]*node)}
	for _, n := range result.Nodes {
		b.all[n.NodeID] = n
	}
	return b.build(result.Nodes[0], 0), b.owners, nil
}

// A builder converts DevTools nodes to nodes.
type builder struct {
	r      *treeReader
	target *pageTarget
	all    map[accessibility.NodeID]*accessibility.Node
	owners map[cdp.BackendNodeID]*node
}

func (b *builder) build(from *accessibility.Node, depth int) *node {
	delete(b.all, from.NodeID) // visit each node once, even if a page sends a cycle
	n := &node{role: valueText(from.Role), el: element{b.target, from.BackendDOMNodeID}}
	if b.r.nodes++; b.r.nodes > maxNodes || depth > maxDepth {
		b.r.cut = true
		return n
	}
	if from.Ignored {
		n.role = "generic"
	} else {
		b.fill(n, from)
	}
	if n.role == "StaticText" {
		return n // the children are only its lines
	}
	if b.r.pre[n.el] && n.ref == "" {
		n.role = "Pre"
	}
	before := b.r.left
	for _, id := range from.ChildIDs {
		kid := b.all[id]
		switch {
		case kid == nil:
		case b.isUnseen(kid):
			b.leaveOut(kid)
		default:
			n.children = append(n.children, b.build(kid, depth+1))
		}
	}
	// the name may be made of the unseen text
	if b.r.left > before && n.name != "" && n.role != "RootWebArea" && !fields[n.role] {
		n.name = (&outline{}).innerText(&node{children: n.children})
	}
	if n.role == "clickable" {
		b.finishClickable(n)
	}
	return n
}

// isUnseen reports whether a person would not see a node. Fields are kept: pages put
// transparent ones over their drawings.
func (b *builder) isUnseen(n *accessibility.Node) bool {
	return b.r.unseen[element{b.target, n.BackendDOMNodeID}] && !fields[valueText(n.Role)]
}

// leaveOut counts the texts in a node that is left out.
func (b *builder) leaveOut(n *accessibility.Node) {
	delete(b.all, n.NodeID)
	if valueText(n.Role) == "StaticText" {
		b.r.left++
		return
	}
	for _, id := range n.ChildIDs {
		if kid := b.all[id]; kid != nil {
			b.leaveOut(kid)
		}
	}
}

// finishClickable decides whether an element with a click handler gets a ref. It does not
// if the handler is for the elements inside it.
func (b *builder) finishClickable(n *node) {
	if n.name == "" {
		n.name = (&outline{}).innerText(n)
	}
	if n.name == "" && len(n.children) > 0 || !isPlain(n) {
		n.role, n.name = "generic", ""
		return
	}
	n.ref = b.r.s.elements.name(n.el)
}

// isPlain reports whether n contains only text and inline elements.
func isPlain(n *node) bool {
	for _, k := range n.children {
		if _, part := sections[k.role]; part || interactive[k.role] || k.role == "heading" || !isPlain(k) {
			return false
		}
	}
	return true
}

// fill sets the fields of n.
func (b *builder) fill(n *node, from *accessibility.Node) {
	n.name, n.value = valueText(from.Name), valueText(from.Value)
	focusable := false
	for _, p := range from.Properties {
		value := valueText(p.Value)
		switch p.Name {
		case accessibility.PropertyNameURL:
			n.url = value
		case accessibility.PropertyNameLevel:
			n.level, _ = strconv.Atoi(value)
		case accessibility.PropertyNameFocusable:
			focusable = value == "true"
		default:
			n.addState(p.Name, value)
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
	named := sections[n.role] && n.role != "main" || foldable[n.role]
	if from.BackendDOMNodeID != 0 && (interactive[n.role] && n.role != "clickable" || named) {
		n.ref = b.r.s.elements.name(n.el)
	}
}

// addState adds a state unless it has the default value.
func (n *node) addState(name accessibility.PropertyName, value string) {
	switch name {
	case accessibility.PropertyNameDisabled, accessibility.PropertyNameRequired, accessibility.PropertyNameReadonly,
		accessibility.PropertyNameSelected, accessibility.PropertyNameModal, accessibility.PropertyNameBusy:
		if value == "true" {
			n.states = append(n.states, string(name))
		}
	case accessibility.PropertyNameFocused:
		if value == "true" && n.role != "RootWebArea" {
			n.states = append(n.states, "focused")
		}
	case accessibility.PropertyNameChecked, accessibility.PropertyNamePressed:
		switch value {
		case "true":
			n.states = append(n.states, string(name))
		case "mixed":
			n.states = append(n.states, "partly "+string(name))
		}
	case accessibility.PropertyNameExpanded:
		if value == "true" {
			n.states = append(n.states, "expanded")
		} else {
			n.states = append(n.states, "collapsed")
		}
	case accessibility.PropertyNameInvalid:
		if value != "false" && value != "" {
			n.states = append(n.states, "invalid")
		}
	}
}

// valueText returns a value as text.
func valueText(v *accessibility.Value) string {
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

// find returns the node of an element in the tree n; nil if it does not exist.
func (n *node) find(el element) *node {
	if n.el == el {
		return n
	}
	for _, k := range n.children {
		if found := k.find(el); found != nil {
			return found
		}
	}
	return nil
}
