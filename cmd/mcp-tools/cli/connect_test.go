package cli

import (
	"testing"

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
