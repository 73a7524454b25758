package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// footnotes are the footnotes of a page, and the links to them and back.
type footnotes struct {
	labels    map[*html.Node]string // of the elements that contain notes
	links     map[*html.Node]string // labels of the links in the text
	backlinks map[string]bool       // ids that notes link back to
}

const maxNotes = 5000

var (
	noteMark = pattern(`^[\[(]?(?:note |nb )?([0-9a-zA-Z*†‡§]{1,4})[\])]?$`)
	noteName = pattern(`(?i)note|fn|cite|ref|bib|endnote`)
)

// findNotes finds the footnotes of what is rendered. A link to a footnote is a mark
// that is raised or named as such, and leads to the beginning of a block.
func findNotes(roots []*html.Node, skip nodeSet) footnotes {
	f := footnotes{map[*html.Node]string{}, map[*html.Node]string{}, map[string]bool{}}
	targets := map[string]*html.Node{}
	var links []*html.Node
	var visit func(n *html.Node)
	visit = func(n *html.Node) {
		if n.Type != html.ElementNode || skip[n] {
			return
		}
		for _, key := range []string{"id", "name"} {
			if id := attr(n, key); id != "" && targets[id] == nil {
				targets[id] = n
			}
		}
		if n.Data == "a" && strings.HasPrefix(attr(n, "href"), "#") && len(links) < maxNotes {
			links = append(links, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
	}
	for _, root := range roots {
		visit(root)
	}
	taken := map[string]bool{}
	for _, link := range links {
		f.add(link, targets, taken)
	}
	return f
}

// add adds a link and its note, if it is a link to a note.
func (f *footnotes) add(link *html.Node, targets map[string]*html.Node, taken map[string]bool) {
	id := strings.TrimPrefix(attr(link, "href"), "#")
	mark := noteMark().FindStringSubmatch(textOf(link, 20))
	isRaised := link.Parent != nil &&
		(link.Parent.Data == "sup" || link.FirstChild != nil && link.FirstChild.Data == "sup")
	isNamed := attr(link, "role") == "doc-noteref" || noteName().MatchString(attr(link, "class")+" "+id)
	if mark == nil || !isRaised && !isNamed {
		return
	}
	note := noteAt(targets[id])
	if note == nil || contains(note, link) {
		return
	}
	label, known := f.labels[note]
	if !known {
		label = strings.Trim(mark[1], "*†‡§")
		for i := 1; label == "" || taken[label]; i++ {
			label = strconv.Itoa(len(f.labels) + i)
		}
		taken[label] = true
		f.labels[note] = label
	}
	f.links[link] = label
	for n, i := link, 0; n != nil && i < 3; n, i = n.Parent, i+1 {
		if id := attr(n, "id"); id != "" {
			f.backlinks[id] = true
		}
	}
}

// noteAt returns the block that begins at the target of a link, or nil.
func noteAt(n *html.Node) *html.Node {
	for range 4 {
		if n == nil || n.Type != html.ElementNode {
			return nil
		}
		switch n.Data {
		case "li", "p", "div", "aside", "dd", "section":
			return n
		case "a", "span", "sup", "b", "em", "i", "strong":
		default:
			return nil
		}
		for before := n.PrevSibling; before != nil; before = before.PrevSibling {
			if before.Type == html.ElementNode || strings.TrimSpace(before.Data) != "" {
				return nil
			}
		}
		n = n.Parent
	}
	return nil
}

func contains(root, n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == root {
			return true
		}
	}
	return false
}

// note writes an element that belongs to a footnote: the note, the link to it, or
// nothing for the link back. It reports false for other elements.
func (r *renderer) note(n *html.Node) bool {
	if len(r.notes.labels) == 0 {
		return false
	}
	if label, ok := r.notes.labels[n]; ok {
		delete(r.notes.labels, n)
		prefix := "[^" + label + "]: "
		if r.out.plain {
			prefix = "[" + label + "] "
		}
		r.out.openItem("ol", prefix, n.PrevSibling != nil)
		r.children(n)
		r.out.closeItem()
		if len(r.notes.labels) == 0 {
			r.notes.labels[nil] = "" // links back may still follow
		}
		return true
	}
	if n.Data == "sup" && n.FirstChild != nil && n.FirstChild == n.LastChild && r.notes.links[n.FirstChild] != "" {
		return r.note(n.FirstChild)
	}
	if n.Data != "a" {
		return false
	}
	if label := r.notes.links[n]; label != "" {
		if r.out.plain {
			r.out.raw("[" + label + "]")
		} else {
			r.out.raw("[^" + label + "]")
		}
		return true
	}
	id, isInternal := strings.CutPrefix(attr(n, "href"), "#")
	return isInternal && r.notes.backlinks[id]
}
