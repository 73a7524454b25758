package skill

import (
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// MostMain is how long SKILL.md may be, in bytes.
const MostMain = 256 << 10

const (
	mostDescription = 1024
	mostWord        = 64 // bytes of a tag, or the name of a tool or an argument
	mostWords       = 32
	mostHeadings    = 60
)

// Parse reads SKILL.md. What is longer than it should be is cut; body are the
// instructions. The error is written for the model and says which line is
// wrong; body is right also with one.
func Parse(text string) (m Meta, body string, err error) {
	if !utf8.ValidString(text) {
		return Meta{}, "", refuse("it is not valid UTF-8").Try("save it as UTF-8")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	front, body, _, err := markdown.FrontMatter(text)
	if err != nil {
		return Meta{}, body, refuse("%w", err).Try("mend its front matter")
	}
	if len(front) == 0 {
		return Meta{}, body, refuse("it has no front matter").Try("begin it with a line ---, name: and description:, and another line ---")
	}
	more := fields(front, "metadata")
	m = Meta{
		Name:        line(front.Text("name"), mostWord),
		Description: line(front.Text("description"), mostDescription),
		Version:     line(first(front.Text("version"), more.Text("version")), mostWord),
		Tags:        words(front, more, "tags", "keywords"),
		Tools:       words(front, more, "tools", "allowed-tools"),
		Arguments:   arguments(front),
	}
	for _, h := range markdown.Outline(body) {
		if len(m.Headings) == mostHeadings {
			break
		}
		m.Headings = append(m.Headings, h.Title)
	}
	return m, body, nil
}

func fields(front markdown.Fields, key string) markdown.Fields {
	value, _ := front.Get(key)
	inner, _ := value.(markdown.Fields)
	return inner
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// line is a text in one line and without characters that are not seen, at most
// so many bytes of it.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(r rune) rune {
		if tool.Hidden(r) {
			return -1
		}
		return r
	}, text)
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// words are a list, or a text with commas or blanks between its words.
func words(front, more markdown.Fields, keys ...string) (list []string) {
	for _, f := range []markdown.Fields{front, more} {
		for _, key := range keys {
			if _, is := f.Get(key); is && list == nil {
				list = wordsOf(f, key)
			}
		}
	}
	return list
}

func wordsOf(f markdown.Fields, key string) (list []string) {
	all := f.Texts(key)
	if text := f.Text(key); text != "" {
		all = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || !strings.Contains(text, ",") && r == ' ' })
	}
	for _, word := range all {
		if word = line(word, mostWord); word != "" && len(list) < mostWords {
			list = append(list, word)
		}
	}
	return list
}

// arguments are a list of names, or of maps with a name, or a hint in one line.
func arguments(front markdown.Fields) (list []Argument) {
	value, _ := front.Get("arguments")
	all, _ := value.([]any)
	for _, one := range all {
		var a Argument
		switch one := one.(type) {
		case string:
			a.Name = line(one, mostWord)
		case markdown.Fields:
			a.Name, a.Description = line(one.Text("name"), mostWord), line(one.Text("description"), mostDescription)
			a.Required = one.Text("required") == "true"
		}
		if a.Name != "" && len(list) < mostWords {
			list = append(list, a)
		}
	}
	if hint := line(front.Text("argument-hint"), mostDescription); len(list) == 0 && hint != "" {
		list = []Argument{{Name: "args", Description: hint}}
	}
	return list
}
