package services

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

var page = filepath.Join("..", "..", "..", "..", "docs", "messaging.md")

// TestGoldenServices writes the table of services in docs/messaging.md.
func TestGoldenServices(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| service | what you need | in the settings |\n|---|---|---|\n")
	for _, s := range All() {
		if s.Needs == "" || s.Markup == "" {
			t.Errorf("%s lacks a text for docs/messaging.md", s.Name)
		}
		var names []string
		for _, setting := range s.Settings {
			name := "`" + setting.Name + "`"
			if setting.Required {
				name = "**" + name + "**"
			}
			names = append(names, name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Title, s.Needs, strings.Join(names, ", "))
	}
	golden.CheckPart(t, page, "services", b.String())
}

// open opens a channel of a service with values of the right form.
func open(t *testing.T, s chat.Service) chat.Channel {
	t.Helper()
	a := chat.Account{Values: map[string]string{}, Secrets: map[string]chat.Secret{}}
	for _, setting := range s.Settings {
		switch setting.Form {
		case "secret":
			a.Secrets[setting.Name] = func(context.Context) (string, error) { return "", nil }
		case "url":
			a.Values[setting.Name] = "https://example.org/"
		case "hostport":
			a.Values[setting.Name] = "example.org:1"
		default:
			a.Values[setting.Name] = "a@example.org"
		}
	}
	c, err := s.Open(a)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return c
}

// TestGoldenAbilities writes the table of what each channel can do in docs/messaging.md.
func TestGoldenAbilities(t *testing.T) {
	rows := []string{"text of one message", "files up to", "Markdown becomes", "edit, delete, react", "polls", "buttons",
		"threads or topics", "voice messages", "recognizes a repeated message", "receives"}
	head, line := "|", "|---|"
	for _, s := range All() {
		head, line = head+" | "+s.Title, line+"---|"
		for i, cell := range cells(open(t, s), s) {
			rows[i] += " | " + cell
		}
	}
	golden.CheckPart(t, page, "abilities", "\n"+head+" |\n"+line+"\n| "+strings.Join(rows, " |\n| ")+" |\n")
}

// cells returns the column of a channel.
func cells(c chat.Channel, s chat.Service) []string {
	can := c.Abilities()
	yes := func(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }
	_, edits := c.(chat.Editor)
	_, deletes := c.(chat.Deleter)
	_, reacts := c.(chat.Reactor)
	files := "no"
	if can.MaxFile > 0 {
		files = fmt.Sprintf("%d MB", can.MaxFile>>20)
	}
	dedupes := "no"
	if can.Dedupes > 0 {
		dedupes = strings.TrimSuffix(strings.TrimSuffix(can.Dedupes.Round(time.Minute).String(), "0s"), "0m")
	}
	var ways []string
	if _, ok := c.(chat.Puller); ok {
		ways = append(ways, "pull")
	}
	if _, ok := c.(chat.Hook); ok {
		ways = append(ways, "hook")
	}
	if ways == nil {
		ways = []string{"no"}
	}
	return []string{fmt.Sprint(can.MaxText), files, s.Markup, yes(edits && deletes && reacts), yes(can.Polls),
		yes(can.Buttons), yes(can.Threads), yes(can.Voice), dedupes, strings.Join(ways, ", ")}
}
