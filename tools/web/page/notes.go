package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// footnotes are the notes of a text: the elements that they are, and the links
// that lead there and back.
type footnotes struct {
	texts map[*html.Node]string // notes, and how each is called
	refs  map[*html.Node]string // links in the text
	backs map[string]bool       // where the links in notes lead back to
}

const maxNotes = 5000

var (
	noteSign = pattern(`^[\[(]?(?:note |nb )?([0-9a-zA-Z*†‡§]{1,4})[\])]?$`)
	noteHint = pattern(`(?i)note|fn|cite|ref|bib|endnote`)
)

// readNotes finds the footnotes of what is shown. A link is one to a note if it
// is a sign, stands high or says so, and leads to a place on the page that
// begins a block.
func readNotes(roots []*html.Node, skip nodeSet) footnotes {
	f := footnotes{map[*html.Node]string{}, map[*html.Node]string{}, map[string]bool{}}
	places := map[string]*html.Node{}
	var links []*html.Node
	var visit func(n *html.Node)
	visit = func(n *html.Node) {
		if n.Type != html.ElementNode || skip[n] {
			return
		}
		for _, key := range []string{"id", "name"} {
			if id := attr(n, key); id != "" && places[id] == nil {
				places[id] = n
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
		f.read(link, places, taken)
	}
	return f
}

func (f *footnotes) read(link *html.Node, places map[string]*html.Node, taken map[string]bool) {
	id := strings.TrimPrefix(attr(link, "href"), "#")
	sign := noteSign().FindStringSubmatch(textOf(link, 20))
	raised := link.Parent != nil && (link.Parent.Data == "sup" || link.FirstChild != nil && link.FirstChild.Data == "sup")
	hinted := attr(link, "role") == "doc-noteref" || noteHint().MatchString(attr(link, "class")+" "+id)
	if sign == nil || !raised && !hinted {
		return
	}
	note := noteBlock(places[id])
	if note == nil || isWithin(link, note) {
		return
	}
	label, known := f.texts[note]
	if !known {
		label = strings.Trim(sign[1], "*†‡§")
		for i := 1; label == "" || taken[label]; i++ {
			label = strconv.Itoa(len(f.texts) + i)
		}
		taken[label] = true
		f.texts[note] = label
	}
	f.refs[link] = label
	for n, i := link, 0; n != nil && i < 3; n, i = n.Parent, i+1 {
		if back := attr(n, "id"); back != "" {
			f.backs[back] = true
		}
	}
}

// noteBlock is the block that begins where a link leads to.
func noteBlock(n *html.Node) *html.Node {
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

func isWithin(n, root *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == root {
			return true
		}
	}
	return false
}

// note writes what belongs to a footnote: the note, the sign in the text, or
// nothing for the way back.
func (r *renderer) note(n *html.Node) bool {
	if len(r.notes.texts) == 0 {
		return false
	}
	if label, ok := r.notes.texts[n]; ok {
		delete(r.notes.texts, n) // it is written now
		sign := "[^" + label + "]: "
		if r.d.plain {
			sign = "[" + label + "] "
		}
		r.d.item("ol", sign, n.PrevSibling != nil)
		r.children(n)
		r.d.leaveItem()
		if len(r.notes.texts) == 0 {
			r.notes.texts[nil] = "" // there are still ways back to leave out
		}
		return true
	}
	if n.Data == "sup" && n.FirstChild != nil && n.FirstChild == n.LastChild && r.notes.refs[n.FirstChild] != "" {
		return r.note(n.FirstChild)
	}
	if n.Data != "a" {
		return false
	}
	if label := r.notes.refs[n]; label != "" {
		if r.d.plain {
			r.d.raw("[" + label + "]")
		} else {
			r.d.raw("[^" + label + "]")
		}
		return true
	}
	id, leads := strings.CutPrefix(attr(n, "href"), "#")
	return leads && r.notes.backs[id]
}
