package page

import (
	"strings"

	"golang.org/x/net/html"
)

// maxChoices is how many options of a field are shown.
const maxChoices = 8

// field writes what a form asks for, in short.
func (r *renderer) field(n *html.Node) bool {
	switch n.Data {
	case "input":
		r.input(n)
	case "select":
		r.choice(n)
	case "button":
		if text := textOf(n, 80); text != "" && !r.inLink {
			r.boxed(text)
		} else {
			r.children(n)
		}
	case "option", "optgroup":
	case "label":
		r.d.space = true
		r.children(n)
		r.d.space = true
	case "meter", "progress":
		r.d.text(textOf(n, 40))
	default:
		return false
	}
	return true
}

func (r *renderer) input(n *html.Node) {
	value := first(80, attr(n, "value"))
	switch kind := strings.ToLower(attr(n, "type")); kind {
	case "checkbox", "radio":
		sign := "[ ]"
		if hasAttr(n, "checked") {
			sign = "[x]"
		}
		r.d.space = true
		r.d.raw(sign)
		r.d.space = true
	case "submit", "button", "reset":
		if value == "" && kind == "submit" {
			value = "Submit"
		}
		r.boxed(value)
	case "image":
		r.boxed(first(80, attr(n, "alt"), "Submit"))
	case "password":
		r.boxed(first(80, attr(n, "placeholder"), "…"))
	default:
		r.boxed(first(80, value, attr(n, "placeholder"), "…"))
	}
}

// boxed writes what is on a button or in a field.
func (r *renderer) boxed(text string) {
	if text == "" {
		return
	}
	r.d.space = true
	if r.d.plain {
		r.d.raw("[" + text + "]")
	} else {
		r.d.raw("[" + labels.Replace(text) + "]")
	}
	r.d.space = true
}

// choice writes the options of a field, what is chosen first.
func (r *renderer) choice(n *html.Node) {
	var chosen, others []string
	more := 0
	for c := range n.Descendants() {
		if c.Data != "option" || c.Type != html.ElementNode {
			continue
		}
		text := first(60, textOf(c, 60), attr(c, "label"))
		switch {
		case text == "":
		case hasAttr(c, "selected") && len(chosen) < maxChoices:
			chosen = append(chosen, text)
		case len(others) < maxChoices:
			others = append(others, text)
		default:
			more++
		}
	}
	text := strings.Join(append(chosen, others...), " / ")
	if more > 0 {
		text += " / …"
	}
	r.boxed(text)
}
