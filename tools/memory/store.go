package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryStore remembers a text under a key.
type memoryStore struct {
	memory Memory
	now    func() time.Time
}

type memoryStoreArgs struct {
	Key      string   `json:"key" jsonschema:"short name; replaces what it had" alias:"path,name,title"`
	Content  string   `json:"content" jsonschema:"Markdown" alias:"text,value,memory"`
	Category string   `json:"category,omitempty" jsonschema:"core, daily, conversation or custom" alias:"kind,type"`
	Tags     []string `json:"tags,omitempty" jsonschema:"words to find it by" maxitems:"20"`
	Expires  string   `json:"expires,omitempty" jsonschema:"date, 30d, or never" alias:"ttl,expires_at"`
}

// mostContent is the longest text that is remembered, in bytes.
const mostContent = 1 << 20

func (memoryStore) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_store", Group: group, Title: "Remember", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true}, MaxText: mostContent,
		Doc:      "Remembers a text beyond this conversation. Search first; amend rather than repeat.",
		Also:     []string{"tool::memory_store", "memory_write", "memory_save", "remember"},
		Keywords: "remember save note fact preference learn",
	}
}

func (t memoryStore) Do(ctx context.Context, a memoryStoreArgs) (tool.Result, error) {
	w := Write{Key: a.Key, Text: a.Content, Category: strings.ToLower(strings.TrimSpace(a.Category)), Tags: tagsOf(a.Tags)}
	if strings.TrimSpace(a.Content) == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "the content is empty").Try("use memory_forget to remove a memory")
	}
	if w.Category != "" {
		if err := checkCategory(w.Category); err != nil {
			return tool.Result{}, err
		}
	}
	var err error
	if w.Expires, err = t.expiry(a.Expires); err != nil {
		return tool.Result{}, err
	}
	s, err := t.memory.Store(ctx, w)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showStored(s)), nil
}

// tagsOf takes lists apart that came as one text, with commas.
func tagsOf(list []string) []string {
	var tags []string
	for _, one := range list {
		tags = append(tags, strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == '\n' })...)
	}
	if list != nil && tags == nil {
		return []string{}
	}
	return tags
}

func (t memoryStore) expiry(text string) (*Expiry, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "":
		return nil, nil
	case "never", "none", "0":
		return &Expiry{}, nil
	}
	at, span, err := parseTime(text)
	if err != nil {
		return nil, err
	}
	if span == 0 && !at.After(t.now()) {
		return nil, tool.Errorf(tool.Invalid, "%.40q is over already", text).Try("give a time to come, 30d, or never")
	}
	return &Expiry{At: at, After: span}, nil
}

func showStored(s Stored) string {
	var b strings.Builder
	path := tool.Visible(s.Path)
	switch {
	case s.Unchanged:
		fmt.Fprintf(&b, "%s says that already, since version %d", path, s.Version)
	case s.Version == 1:
		fmt.Fprintf(&b, "stored %s", path)
	default:
		fmt.Fprintf(&b, "stored %s, version %d", path, s.Version)
	}
	if !s.Expires.IsZero() {
		fmt.Fprintf(&b, ", until %s", s.Expires.UTC().Format("2006-01-02 15:04"))
	}
	if len(s.Alike) > 0 {
		fmt.Fprintf(&b, "\n[nearly the same is in %s; if one is enough, forget the other]", oneLine(strings.Join(s.Alike, ", ")))
	}
	return b.String()
}
