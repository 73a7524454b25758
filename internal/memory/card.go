package memory

import (
	"os"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A card is what a document is beside its text, as front matter of a file of
// its own kind:
//
//	---
//	memory:
//	  category: core
//	  tags: [...]
//	---
//
// Whatever follows is the text, with front matter of its own, if it has some.
// Of a file that has only front matter of its own, what that says under the
// same names is taken, and the text is all of the file.
type card struct {
	ours   bool
	fields markdown.Fields
}

const (
	cardKey = "memory"
	// cardFile is the end of the name of a file that has the card of one that
	// is not Markdown.
	cardFile = ".memory.md"

	keyPath     = "path"
	keyCategory = "category"
	keyTags     = "tags"
	keyCreated  = "created"
	keyUpdated  = "updated"
	keyExpires  = "expires"
	keyAuthor   = "author"
	keySession  = "session"

	cardTime = "2006-01-02T15:04:05.000Z07:00"
)

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

// withCard puts the card of a document that is written to a file before a text.
func withCard(d memory.Document, file, text string) (string, error) {
	fields := markdown.Fields{{Key: keyCategory, Value: d.Category}}
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, markdown.Field{Key: key, Value: value})
		}
	}
	if file != d.Path {
		add(keyPath, d.Path)
	}
	if len(d.Tags) > 0 {
		tags := make([]any, len(d.Tags))
		for i, tag := range d.Tags {
			tags[i] = tag
		}
		fields = append(fields, markdown.Field{Key: keyTags, Value: tags})
	}
	add(keyCreated, stamp(d.Created))
	add(keyUpdated, stamp(d.Updated))
	add(keyExpires, stamp(d.Expires))
	add(keyAuthor, d.Author)
	add(keySession, d.Session)
	return markdown.Write(markdown.Fields{{Key: cardKey, Value: fields}}, text)
}

// Exported reports whether [Memory.Export] has written a file, by what is in it or
// beside it.
func Exported(file string, content []byte) bool {
	if !isMarkdown(file) {
		_, err := os.Stat(file + cardFile)
		return err == nil
	}
	_, c, err := readCard(string(content))
	return err == nil && c.ours
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(cardTime)
}

// readCard takes the card from a text. Front matter of somebody else that
// cannot be read is part of the text like any other.
func readCard(text string) (rest string, c card, err error) {
	fields, body, _, err := markdown.FrontMatter(text)
	if err != nil {
		if strings.HasPrefix(text, "---\n"+cardKey+":") {
			return "", card{}, err
		}
		return text, card{}, nil
	}
	if value, ok := fields.Get(cardKey); ok && len(fields) == 1 {
		if inner, ok := value.(markdown.Fields); ok && inner.Text(keyCategory) != "" {
			return body, card{ours: true, fields: inner}, nil
		}
	}
	return text, card{fields: fields}, nil
}

// path is the name that the document had, or else that of its file.
func (c card) path(file string) string {
	if was := c.fields.Text(keyPath); c.ours && was != "" {
		return was
	}
	return file
}

// fill adds what the card says to a change, and is false when the document is
// over. What it does not say is set back, and what makes no sense is left out.
func (c card) fill(change *memory.Change, now time.Time) bool {
	switch category := strings.ToLower(c.fields.Text(keyCategory)); category {
	case memory.Core, memory.Daily, memory.Conversation, memory.Custom:
		change.Category = category
	}
	if tags, err := checkTags(c.fields.Texts(keyTags)); err == nil && (tags != nil || c.ours) {
		change.Tags = append([]string{}, tags...)
	}
	expires, has := timeIn(c.fields.Text(keyExpires))
	if has && !expires.After(now) {
		return false
	}
	if has || c.ours {
		change.Expires = &memory.Expiry{At: expires}
	}
	if !c.ours {
		return true
	}
	if at, ok := timeIn(c.fields.Text(keyCreated)); ok {
		change.Created = at
	}
	if at, ok := timeIn(c.fields.Text(keyUpdated)); ok {
		change.Updated = at
	}
	if author := c.fields.Text(keyAuthor); author != "" {
		change.By = memory.Hand{Author: bounded(author), Session: bounded(c.fields.Text(keySession))}
	}
	return true
}

// bounded is a name that comes from a file.
func bounded(name string) string {
	const most = 200
	name = strings.ReplaceAll(name, "\x00", "")
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}

func timeIn(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1970 && at.Year() < 9000 {
			return at, true
		}
	}
	return time.Time{}, false
}
