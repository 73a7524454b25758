package skill

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// MaxMain is the maximum size of SKILL.md in bytes.
const MaxMain = 256 << 10

const (
	maxDescription = 1024 // bytes
	maxWord        = 64   // bytes of a tag, or of the name of a tool or an argument
	maxWords       = 32   // tags, tools or arguments
	maxHeadings    = 60
)

// Parse parses SKILL.md; body are the instructions. It shortens values that are too long. The error names the line and
// is written for the model; body is valid also with an error.
func Parse(main string) (m Meta, body string, err error) {
	if !utf8.ValidString(main) {
		return Meta{}, "", refuse("it is not valid UTF-8").Try("save it as UTF-8")
	}
	main = strings.ReplaceAll(main, "\r\n", "\n")
	front, body, _, err := markdown.FrontMatter(main)
	if err != nil {
		return Meta{}, body, refuse("%w", err).Try("correct its front matter")
	}
	if len(front) == 0 {
		return Meta{}, body, refuse("it has no front matter").
			Try("begin it with a line ---, then name: and description:, then another line ---")
	}
	more := fields(front, "metadata")
	m = Meta{
		Name:        line(front.Text("name"), maxWord),
		Description: line(front.Text("description"), maxDescription),
		Version:     line(cmp.Or(front.Text("version"), more.Text("version")), maxWord),
		Tags:        words(front, more, "tags", "keywords"),
		Tools:       words(front, more, "tools", "allowed-tools"),
		Arguments:   arguments(front),
	}
	m.Headings = markdown.Headings(body)
	m.Headings = m.Headings[:min(len(m.Headings), maxHeadings)]
	return m, body, nil
}

func fields(front markdown.Fields, key string) markdown.Fields {
	value, _ := front.Get(key)
	inner, _ := value.(markdown.Fields)
	return inner
}

// line returns a text as one line without invisible characters, shortened to max bytes.
func line(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if tool.Hidden(r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
	return text.Clip(s, max)
}

// words returns the words of the first of some fields that exists: a list, or a text separated by commas or spaces.
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
	if given := f.Text(key); given != "" {
		hasCommas := strings.Contains(given, ",")
		all = strings.FieldsFunc(given, func(r rune) bool { return r == ',' || !hasCommas && r == ' ' })
	}
	for _, word := range all {
		if word = line(word, maxWord); word != "" && len(list) < maxWords {
			list = append(list, word)
		}
	}
	return list
}

// arguments returns the arguments from a list of names, a list of maps with a name, or a hint in one line.
func arguments(front markdown.Fields) (list []tool.Argument) {
	value, _ := front.Get("arguments")
	all, _ := value.([]any)
	for _, one := range all {
		var a tool.Argument
		switch one := one.(type) {
		case string:
			a.Name = line(one, maxWord)
		case markdown.Fields:
			a.Name, a.Description = line(one.Text("name"), maxWord), line(one.Text("description"), maxDescription)
			a.Required = one.Text("required") == "true"
		}
		if a.Name != "" && len(list) < maxWords {
			list = append(list, a)
		}
	}
	if hint := line(front.Text("argument-hint"), maxDescription); len(list) == 0 && hint != "" {
		list = []tool.Argument{{Name: "args", Description: hint}}
	}
	return list
}
