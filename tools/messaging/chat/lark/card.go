package lark

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
)

// Render implements [chat.Channel].
func (c *Channel) Render(markdown string) string { return render(markdown) }

// render returns Markdown in the dialect of cards. Signs that mean something there are
// written as entities: a text mentions no member.
func render(markdown string) string {
	var pairs []string
	for entity, sign := range map[string]string{"&#38;": "&", "&#60;": "<", "&#62;": ">", "&#42;": "*", "&#95;": "_",
		"&#126;": "~", "&#96;": "`", "&#91;": "[", "&#93;": "]", "&#35;": "#", "&#92;": `\`} {
		pairs = append(pairs, sign, entity)
	}
	escape := strings.NewReplacer(pairs...)
	marks := map[markup.Kind]string{markup.Bold: "**", markup.Italic: "*", markup.Strike: "~~"}
	code := strings.NewReplacer("<at", "< at", "```", "'''")
	return markup.Style{
		Text: escape.Replace,
		Code: func(text string) string { return "`" + strings.ReplaceAll(code.Replace(text), "`", "'") + "`" },
		Block: func(language, text string) string {
			return "```" + language + "\n" + code.Replace(text) + "\n```"
		},
		Span: func(kind markup.Kind, content string) string {
			start := len(content) - len(strings.TrimLeft(content, " \n"))
			end := len(strings.TrimRight(content, " \n"))
			return content[:start] + marks[kind] + content[start:end] + marks[kind] + content[end:]
		},
		Link: func(label, url string) string {
			url = strings.NewReplacer("(", "%28", ")", "%29").Replace(url)
			if label == "" {
				label = escape.Replace(strings.TrimPrefix(url, "mailto:"))
			}
			return "[" + label + "](" + url + ")"
		},
		Heading: func(_ int, content string) string { return "**" + strings.ReplaceAll(content, "**", "") + "**" },
		Quote:   func(content string) string { return "> " + strings.ReplaceAll(content, "\n", "\n> ") },
	}.Render(markdown)
}

type object = map[string]any

// card returns the JSON of a card with a text and buttons.
func card(m chat.Message) string {
	text := object{"tag": "markdown", "content": render(m.Text)}
	if m.Plain {
		text = object{"tag": "div", "text": object{"tag": "plain_text", "content": m.Text}}
	}
	elements := []any{text}
	if len(m.Buttons) > 0 {
		var buttons []any
		for _, b := range m.Buttons {
			buttons = append(buttons, object{"tag": "button", "type": "default", "value": object{"data": b.Data},
				"text": object{"tag": "plain_text", "content": b.Label}})
		}
		elements = append(elements, object{"tag": "action", "actions": buttons})
	}
	all := object{"config": object{"wide_screen_mode": true, "update_multi": true}, "elements": elements}
	if m.Subject != "" {
		title := object{"tag": "plain_text", "content": chat.CleanName(m.Subject, maxName)}
		all["header"] = object{"title": title}
	}
	return encode(all)
}
