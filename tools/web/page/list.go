package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// list writes a list, with those in it.
func (r *renderer) list(n *html.Node) {
	inItem := len(r.w.nests) > 0 && within(n, "li")
	gap := 2
	if inItem {
		gap = 1
	}
	r.w.block(gap)
	if inItem {
		r.w.tight()
	}
	number, step := 1, 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil && start >= 0 && start < 1e8 {
		number = start
	}
	if hasAttr(n, "reversed") && hasAttr(n, "start") {
		step = -1
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data != "li":
			r.node(c)
		case n.Data == "ol":
			if value, err := strconv.Atoi(attr(c, "value")); err == nil && value >= 0 && value < 1e8 {
				number = value
			}
			if r.skip[c] {
				continue
			}
			r.item(c, strconv.Itoa(max(number, 0))+". ")
			number += step
		default:
			r.item(c, "- ")
		}
	}
	r.w.block(gap)
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

// item writes one item of a list.
func (r *renderer) item(n *html.Node, sign string) {
	if r.skip[n] || r.err != nil {
		return
	}
	if r.w.cell {
		if len(r.w.buf) > 0 && n.PrevSibling != nil && !strings.HasSuffix(string(r.w.buf[len(r.w.buf)-1:]), ";") {
			r.w.buf = append(r.w.buf, ';')
		}
		r.w.space = true
		r.children(n)
		return
	}
	if r.note(n) {
		return
	}
	r.w.block(1)
	if before := n.PrevSibling; before != nil && (before.Data == "li" || before.PrevSibling != nil) {
		r.w.tight()
	}
	if box := checkbox(n); box != "" {
		sign += box
	}
	r.w.nest(sign, "  "+strings.Repeat(" ", len(sign[:strings.IndexByte(sign, ' ')])-1))
	r.children(n)
	r.w.block(1)
	r.w.leave()
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
			return "[x] "
		}
		return "[ ] "
	}
	return ""
}

// definitions writes a list of terms and what they mean.
func (r *renderer) definitions(n *html.Node) {
	r.w.block(2)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Data == "dt" && !afterTerm(c) {
			r.w.block(2)
		}
		if c.Data == "div" { // which may hold a term with its meaning
			r.w.block(2)
			r.children(c)
			continue
		}
		r.node(c)
	}
	r.w.block(2)
}

// definition writes what a term means.
func (r *renderer) definition(n *html.Node) {
	r.w.block(1)
	r.w.tight()
	if r.w.plain {
		r.w.nest("  ", "  ")
	} else {
		r.w.nest(": ", "  ")
	}
	r.children(n)
	r.w.block(1)
	r.w.leave()
}

// afterTerm reports whether a term follows another one.
func afterTerm(n *html.Node) bool {
	for n = n.PrevSibling; n != nil && n.Type == html.TextNode; n = n.PrevSibling {
	}
	return n != nil && n.Data == "dt"
}
