package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryStore stores a document under a key.
type memoryStore struct {
	memories Memories
	now      func() time.Time
}

type memoryStoreArgs struct {
	Key      string   `json:"key" jsonschema:"short name; replaces an existing document" alias:"path,name,title"`
	Content  string   `json:"content" jsonschema:"text in Markdown" alias:"text,value,memory"`
	Category string   `json:"category,omitempty" jsonschema:"core, daily, conversation or custom" alias:"kind,type"`
	Tags     []string `json:"tags,omitempty" jsonschema:"words to find it by" maxitems:"20"`
	Expires  string   `json:"expires,omitempty" jsonschema:"a date, 30d, 2mo or never" alias:"ttl,expires_at"`
}

func (memoryStore) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_store", Group: group, Title: "Remember", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		MaxText: maxText,
		Doc: `Stores a text for later conversations. Returns its path and version, and similar documents.
Call memory_search first, and extend a similar document instead.`,
		Also: []string{"tool::memory_store", "memory_write", "memory_save", "remember"},
		Keywords: "remember save keep make a note for next time later from now on call me fact preference phone " +
			"address birthday like learn record",
	}
}

func (t memoryStore) Do(ctx context.Context, a memoryStoreArgs) (tool.Result, error) {
	if strings.TrimSpace(a.Content) == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid,
			"the content is empty").Try("use memory_forget to remove a memory")
	}
	category, err := categoryOf(a.Category)
	if err != nil {
		return tool.Result{}, err
	}
	w := Write{Key: a.Key, Text: a.Content, Category: category, Tags: splitTags(a.Tags)}
	if w.Expires, err = t.expiry(a.Expires); err != nil {
		return tool.Result{}, err
	}
	s, err := t.memories.Store(ctx, w)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showStored(s)), nil
}

// splitTags splits tags that were sent as one text with commas.
func splitTags(args []string) []string {
	if args == nil {
		return nil
	}
	tags := []string{}
	for _, arg := range args {
		tags = append(tags, strings.FieldsFunc(arg, func(r rune) bool { return r == ',' || r == '\n' })...)
	}
	return tags
}

// expiry returns the expiry of a memory: nil keeps the former one, the zero time is never.
func (t memoryStore) expiry(when string) (*time.Time, error) {
	when = strings.ToLower(strings.TrimSpace(when))
	switch when {
	case "":
		return nil, nil
	case "never", "none", "0":
		return new(time.Time), nil
	}
	now := t.now()
	at, err := parseTime(when, now, "")
	if err == nil && !at.After(now) {
		err = tool.Errorf(tool.Invalid, "%.40q is in the past", when).Try("send a future date, 30d, or never")
	}
	return &at, err
}

func showStored(s Stored) string {
	var b strings.Builder
	path := tool.Visible(s.Path)
	switch {
	case s.Unchanged:
		fmt.Fprintf(&b, "%s has this content since version %d", path, s.Version)
	case s.Version == 1:
		fmt.Fprintf(&b, "stored %s", path)
	default:
		fmt.Fprintf(&b, "stored %s, version %d", path, s.Version)
	}
	if !s.Expires.IsZero() {
		fmt.Fprintf(&b, ", expires %s", s.Expires.UTC().Format(minuteLayout))
	}
	if len(s.Similar) > 0 {
		fmt.Fprintf(&b, "\n[nearly the same text is in %s; if one is enough, forget the other]",
			oneLine(strings.Join(s.Similar, ", ")))
	}
	return b.String()
}
