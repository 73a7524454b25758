package chart

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// SVG returns the chart as an SVG file.
func (c Chart) SVG() ([]byte, error) {
	s, err := c.layout()
	if err != nil {
		return nil, err
	}
	return s.svg(), nil
}

func (s scene) svg() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" `,
		num(s.width), num(s.height), num(s.width), num(s.height))
	b.WriteString(`font-family="Helvetica, Arial, sans-serif">` + "\n")
	for _, sh := range s.shapes {
		sh.svg(&b)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func (sh shape) svg(b *strings.Builder) {
	switch {
	case sh.text != "":
		fmt.Fprintf(b, `<text x="%s" y="%s" font-size="%s" fill="%s"`, num(sh.at.x), num(sh.at.y), num(sh.size),
			sh.fill)
		if sh.anchor != start {
			fmt.Fprintf(b, ` text-anchor="%s"`, sh.anchor)
		}
		if sh.bold {
			b.WriteString(` font-weight="bold"`)
		}
		if sh.turned != 0 {
			fmt.Fprintf(b, ` transform="rotate(%s %s %s)"`, num(sh.turned), num(sh.at.x), num(sh.at.y))
		}
		fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(sh.text))
		return
	case sh.radius > 0:
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="%s"`, num(sh.at.x), num(sh.at.y), num(sh.radius))
	default:
		b.WriteString(`<path d="`)
		for i, p := range sh.path {
			if i == 0 {
				b.WriteString("M")
			} else {
				b.WriteString("L")
			}
			b.WriteString(num(p.x) + " " + num(p.y))
		}
		if sh.closed {
			b.WriteString("Z")
		}
		b.WriteString(`"`)
	}
	if sh.fill == "" {
		b.WriteString(` fill="none"`)
	} else {
		fmt.Fprintf(b, ` fill="%s"`, sh.fill)
	}
	if sh.opacity > 0 {
		fmt.Fprintf(b, ` fill-opacity="%s"`, num(sh.opacity))
	}
	if sh.stroke != "" {
		fmt.Fprintf(b, ` stroke="%s" stroke-width="%s" stroke-linejoin="round" stroke-linecap="round"`, sh.stroke,
			num(sh.width))
	}
	b.WriteString("/>\n")
}

// num returns a number with at most two decimals.
func num(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}
