package pack

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// A Node is an element with its attributes and content, or a text between elements if it has no
// name. Names have the prefix that prefixes lists for their namespace, not the document's own:
// "w:p". Names in other namespaces have the prefix "?".
type Node struct {
	Name  string
	Text  string // of a text
	attrs []xml.Attr
	Kids  []*Node
}

// prefixes are the prefixes of the namespaces in documents. A namespace of Office has two
// addresses; the table has their common part.
var prefixes = map[string]string{
	"xml": "", "http://www.w3.org/XML/1998/namespace": "",
	"wordprocessingml/main": "w:", "drawingml/wordprocessingDrawing": "wp:", "presentationml/main": "p:",
	"spreadsheetml/main": "x:", "drawingml/main": "a:", "drawingml/chart": "c:", "drawingml/diagram": "dgm:",
	"officeDocument/relationships": "r:", "package/relationships": "rel:", "officeDocument/math": "m:",
	"markup-compatibility": "mc:", "urn:schemas-microsoft-com:vml": "v:",
	"http://purl.org/dc/elements/1.1/": "dc:", "http://www.w3.org/1999/xlink": "xlink:",
	"http://www.w3.org/1998/Math/MathML": "math:", "http://www.w3.org/1999/xhtml": "html:",
	"http://www.idpf.org/2007/opf": "opf:", "http://www.idpf.org/2007/ops": "epub:",
	"http://www.daisy.org/z3986/2005/ncx/":            "ncx:",
	"urn:oasis:names:tc:opendocument:xmlns:container": "container:",
}

// prefix returns the prefix of a namespace.
func prefix(space string) string {
	if space == "" {
		return ""
	}
	office := space
	if rest, ok := strings.CutPrefix(space, "http://schemas.openxmlformats.org/"); ok {
		office = strings.Replace(rest, "/2006", "", 1)
	} else if rest, ok := strings.CutPrefix(space, "http://purl.oclc.org/ooxml/"); ok {
		office = rest
	}
	if known, ok := prefixes[office]; ok {
		return known
	}
	if rest, ok := strings.CutPrefix(space, "urn:oasis:names:tc:opendocument:xmlns:"); ok {
		name, _, _ := strings.Cut(rest, ":")
		name = strings.TrimPrefix(strings.TrimSuffix(name, "-compatible"), "xsl-")
		return name + ":" // office, text, table, drawing, style, presentation, manifest, meta, fo, svg
	}
	return "?:"
}

// maxTree bounds the elements that are in memory at the same time.
const maxTree = 1_000_000

// Tree returns the root element of an XML part.
func (p *Package) Tree(name string) (*Node, error) {
	var root *Node
	err := p.Stream(name, func(*Node) bool { return false }, func(n *Node) error {
		root = n
		return nil
	})
	if err == nil && root == nil {
		err = document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q is empty", name)
	}
	return root, err
}

// Stream passes the elements of an XML part to each, one after the other and without keeping
// them. If within returns true for an element, Stream passes on its children instead of the
// whole element; within gets the element with its attributes only.
func (p *Package) Stream(name string, within func(*Node) bool, each func(*Node) error) error {
	r, err := p.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := stream{limits: p.limits, names: map[xml.Name]string{}, within: within, each: each, d: xml.NewDecoder(r)}
	s.d.CharsetReader = charset.NewReaderLabel
	s.d.Entity = xml.HTMLEntity
	if err = s.run(); err != nil && !errors.As(err, new(*xml.SyntaxError)) {
		var failed *document.Error
		if errors.As(err, &failed) {
			return failed
		}
		return p.readError(name, err)
	}
	if err != nil {
		return document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q is not valid XML", name)
	}
	return nil
}

// stream builds the nodes of one part.
type stream struct {
	d      *xml.Decoder
	limits document.Limits
	names  map[xml.Name]string
	within func(*Node) bool
	each   func(*Node) error
	open   []*Node // the element that is built with its open descendants
	depth  int     // of elements that within has entered
	nodes  int
	tree   int // nodes of the element that is built
}

func (s *stream) run() error {
	for {
		token, err := s.d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = s.start(t)
		case xml.EndElement:
			err = s.end()
		case xml.CharData:
			err = s.text(t)
		}
		if err != nil {
			return err
		}
	}
}

func (s *stream) start(t xml.StartElement) error {
	n := &Node{Name: s.name(t.Name)}
	if err := s.count(); err != nil {
		return err
	}
	if s.depth+len(s.open) >= s.limits.Depth {
		return tooBig("elements are nested more than %d deep", s.limits.Depth)
	}
	if len(t.Attr) > 0 {
		n.attrs = t.Attr
	}
	if len(s.open) == 0 && s.within(n) {
		s.depth++
		return nil
	}
	if len(s.open) > 0 {
		parent := s.open[len(s.open)-1]
		parent.Kids = append(parent.Kids, n)
	} else {
		s.tree = 0
	}
	s.open = append(s.open, n)
	return nil
}

// name returns the name of an element with its prefix; equal names share their memory.
func (s *stream) name(n xml.Name) string {
	name, ok := s.names[n]
	if !ok {
		name = prefix(n.Space) + n.Local
		s.names[n] = name
	}
	return name
}

func (s *stream) count() error {
	s.nodes++
	s.tree++
	if s.nodes > s.limits.Nodes {
		return tooBig("a part has over %d elements", s.limits.Nodes)
	}
	if s.tree > maxTree {
		return tooBig("a table or another block has over %d elements", maxTree)
	}
	return nil
}

func (s *stream) end() error {
	if len(s.open) == 0 {
		s.depth--
		return nil
	}
	last := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	if len(s.open) == 0 {
		return s.each(last)
	}
	return nil
}

func (s *stream) text(t xml.CharData) error {
	if len(s.open) == 0 {
		return nil
	}
	parent := s.open[len(s.open)-1]
	parent.Kids = append(parent.Kids, &Node{Text: string(t)})
	return s.count()
}

// Attr returns the value of an attribute, "" if there is none. An attribute without a
// prefix has no namespace: Attr("id") never returns r:id.
func (n *Node) Attr(name string) string {
	value, _ := n.Lookup(name)
	return value
}

// Lookup returns the value of an attribute and whether there is one.
func (n *Node) Lookup(name string) (string, bool) {
	if n == nil {
		return "", false
	}
	space, local, prefixed := strings.Cut(name, ":")
	if !prefixed {
		space, local = "", name
	}
	for _, a := range n.attrs {
		if a.Name.Local == local && strings.TrimSuffix(prefix(a.Name.Space), ":") == space {
			return a.Value, true
		}
	}
	return "", false
}

// Child returns the first child with a name, nil if there is none. Child of nil is nil.
func (n *Node) Child(name string) *Node {
	if n != nil {
		for _, kid := range n.Kids {
			if kid.Name == name {
				return kid
			}
		}
	}
	return nil
}

// At returns the node at a path of children, nil if there is none.
func (n *Node) At(names ...string) *Node {
	for _, name := range names {
		n = n.Child(name)
	}
	return n
}

// Children returns the children with a name.
func (n *Node) Children(name string) []*Node {
	var found []*Node
	if n != nil {
		for _, kid := range n.Kids {
			if kid.Name == name {
				found = append(found, kid)
			}
		}
	}
	return found
}

// All returns the descendants with a name, in document order.
func (n *Node) All(name string) []*Node {
	var found []*Node
	n.walk(func(d *Node) bool {
		if d.Name == name {
			found = append(found, d)
		}
		return true
	})
	return found
}

// Find returns the first descendant with a name, nil if there is none.
func (n *Node) Find(name string) *Node {
	var found *Node
	n.walk(func(d *Node) bool {
		if found == nil && d.Name == name {
			found = d
		}
		return found == nil
	})
	return found
}

func (n *Node) walk(visit func(*Node) bool) {
	if n == nil {
		return
	}
	for _, kid := range n.Kids {
		if !visit(kid) {
			return
		}
		kid.walk(visit)
	}
}

// Content returns all text within the node.
func (n *Node) Content() string {
	var b strings.Builder
	n.walk(func(d *Node) bool {
		b.WriteString(d.Text)
		return true
	})
	return b.String()
}
