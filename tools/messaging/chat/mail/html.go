package mail

import (
	"fmt"
	"html"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
)

// page returns a text in Markdown as HTML.
func page(markdown string) string {
	tag := func(name string) func(content string) string {
		return func(content string) string { return "<" + name + ">" + content + "</" + name + ">" }
	}
	spans := map[markup.Kind]string{markup.Bold: "strong", markup.Italic: "em", markup.Strike: "s"}
	code := func(code string) string { return tag("code")(html.EscapeString(code)) }
	style := markup.Style{
		Text:  func(text string) string { return strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n") },
		Code:  code,
		Block: func(_, text string) string { return tag("pre")(code(text)) },
		Span:  func(kind markup.Kind, content string) string { return tag(spans[kind])(content) },
		Link: func(label, url string) string {
			if label == "" {
				label = html.EscapeString(strings.TrimPrefix(url, "mailto:"))
			}
			return `<a href="` + html.EscapeString(url) + `">` + label + "</a>"
		},
		Heading:   func(level int, content string) string { return tag(fmt.Sprintf("h%d", level))(content) },
		Paragraph: tag("p"),
		Quote:     tag("blockquote"),
		List: func(items []string, ordered bool) string {
			name := "ul"
			if ordered {
				name = "ol"
			}
			for i, item := range items {
				items[i] = tag("li")(item)
			}
			return tag(name)(strings.Join(items, "\n"))
		},
		Rule: "<hr>",
	}
	return "<!DOCTYPE html>\n<html><body>\n" + style.Render(markdown) + "\n</body></html>\n"
}
