package page

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// list takes a list. Its numbers are those that the page shows.
func (r *renderer) list(n *html.Node) {
	name := "ul"
	if n.Data == "ol" {
		name = "ol"
	}
	number, step := 1, 1
	if start, ok := numberIn(attr(n, "start")); ok && start >= 0 && start < 1e8 {
		number = start
	}
	if hasAttr(n, "reversed") && hasAttr(n, "start") {
		step = -1
	}
	r.d.nest(name, "")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data != "li":
			r.node(c)
		case r.skip[c]:
		case r.notes.texts[c] != "":
			r.d.leave()
			r.note(c)
			r.d.nest(name, "")
		default:
			sign := ""
			if value, ok := numberIn(attr(c, "value")); ok && value >= 0 && value < 1e8 {
				number = value
			}
			if name == "ol" {
				sign = strconv.Itoa(max(number, 0)) + ". "
				number += step
			}
			r.d.nest("li", sign)
			r.item(c)
			r.d.leave()
		}
	}
	r.d.leave()
	r.d.end(2)
}

// numberIn is the whole number that an attribute is. Most are not there.
func numberIn(text string) (int, bool) {
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// within reports whether an element is in another, before any cell of a table.
func within(n *html.Node, name string) bool {
	for n = n.Parent; n != nil && n.Data != "td" && n.Data != "th"; n = n.Parent {
		if n.Data == name {
			return true
		}
	}
	return false
}

// item takes what is in one item of a list.
func (r *renderer) item(n *html.Node) {
	if r.d.cell && n.PrevSibling != nil {
		r.d.separate()
	}
	if box := checkbox(n); box != "" {
		r.d.raw(box)
		r.d.space = true
	}
	r.children(n)
}

// checkbox is how a task in a list stands, if the item is one.
func checkbox(n *html.Node) string {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) == "" {
			continue
		}
		if c.Data == "label" || c.Data == "p" {
			return checkbox(c)
		}
		if c.Data != "input" || !strings.EqualFold(attr(c, "type"), "checkbox") || !within(c, "li") {
			return ""
		}
		n.RemoveChild(c)
		if hasAttr(c, "checked") {
			return "[x]"
		}
		return "[ ]"
	}
	return ""
}

// definition takes a term, or what it means, as an item of one list.
func (r *renderer) definition(n *html.Node) {
	if n.Data == "dt" {
		r.d.item("ol", "", likeBefore(n, "dt"))
		r.marked(n, "strong")
	} else {
		sign := ": "
		if r.d.plain {
			sign = "  "
		}
		r.d.item("ol", sign, likeBefore(n, "dt", "dd"))
		r.children(n)
	}
	r.d.leaveItem()
}

// likeBefore reports whether the element before one has one of some names.
func likeBefore(n *html.Node, names ...string) bool {
	for n = n.PrevSibling; n != nil && n.Type == html.TextNode; n = n.PrevSibling {
	}
	return n != nil && slices.Contains(names, n.Data)
}
