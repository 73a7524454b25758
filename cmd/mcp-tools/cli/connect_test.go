package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/clients"
)

func TestChangesHaveNames(t *testing.T) {
	for _, c := range []struct {
		change clients.Change
		want   string
	}{
		{clients.Change{Path: "f", After: "x"}, "added"},
		{clients.Change{Path: "f", Before: "y", After: "x", Replaced: true}, "updated"},
		{clients.Change{Path: "f", Before: "x", NothingToDo: true}, "none"},
		{clients.Change{Path: "f", Before: "x"}, "removed"},
		{clients.Change{Path: "f", Before: "x", Removed: true}, "removed"},
		{clients.Change{Path: "f", NothingToDo: true}, "none"},
	} {
		got := changeOf(c.change)
		if got.Change != c.want {
			t.Errorf("%+v is %q, want %q", c.change, got.Change, c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"2026-01-01":           time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"2026-01-01T09:00:00Z": time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC),
		"90m":                  now.Add(-90 * time.Minute),
		"7d":                   now.Add(-7 * 24 * time.Hour),
	} {
		if got, err := ago("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %s, want %s: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"soon", "-7d", "2026-13-01", "7 days"} {
		if _, err := ago("since", text, now); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestIntentsWithAnOutcomeAreLeftOut keeps the intent of a call that has not ended.
func TestIntentsWithAnOutcomeAreLeftOut(t *testing.T) {
	row := func(call string, phase audit.Phase) audit.Row {
		return audit.Row{Record: audit.Record{Call: call, Phase: phase}}
	}
	got := withoutDoneIntents([]audit.Row{
		row("a", audit.Intent), row("b", audit.Intent), row("a", audit.Done), row("c", audit.Done),
	})
	var left []string
	for _, r := range got {
		left = append(left, r.Call+" "+string(r.Phase))
	}
	if want := []string{"b intent", "a done", "c done"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}
