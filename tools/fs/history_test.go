package fs

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// archive answers with what it was given.
type archive struct {
	workspace.Files
	past    []workspace.PastChange
	receipt workspace.Receipt
	asked   any
}

func (a *archive) History(_ context.Context, path string, limit int) ([]workspace.PastChange, error) {
	a.asked = []any{path, limit}
	return a.past[:min(len(a.past), limit)], nil
}

func (a *archive) Undo(_ context.Context, id string) (workspace.Receipt, error) {
	a.asked = id
	return a.receipt, nil
}

func TestHistory(t *testing.T) {
	past := []workspace.PastChange{
		{ID: "aaaaaaaa", Time: noon, Tool: "edit", By: "dev/ann", Action: "changed", Before: 3400, After: 3500, Undoable: true},
		{ID: "bbbbbbbb", Time: noon.Add(-3 * time.Minute), Tool: "apply_patch", Action: "created", After: 12,
			Undone: "cccccccc", Others: []string{"a", "b", "c", "d", "e"}},
		{ID: "dddddddd", Time: noon.Add(-72 * time.Hour), Action: "removed", Before: 5},
	}
	for name, test := range map[string]struct {
		past  []workspace.PastChange
		limit int
		want  string
	}{
		"none": {nil, 5, `this server has no recorded change of "f"`},
		"all": {past, 3, `aaaaaaaa  30s ago  changed 3.4 kB -> 3.5 kB by edit of dev/ann
bbbbbbbb  3m ago  created 12 B by apply_patch, with a, b, c and 2 more, undone by cccccccc
dddddddd  3d ago  removed 5 B, cannot be undone
[to revert a change use undo; undo later changes first]`},
		"no agent":         {[]workspace.PastChange{{ID: "dddddddd", Time: noon, By: "ann", Action: "removed", Before: 5}}, 1, "dddddddd  30s ago  removed 5 B of ann, cannot be undone"},
		"older ones":       {past[1:], 1, "bbbbbbbb  3m ago  created 12 B by apply_patch, with a, b, c and 2 more, undone by cccccccc\n[there are older changes; raise limit]"},
		"nothing undoable": {past[2:], 1, "dddddddd  3d ago  removed 5 B, cannot be undone"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want,
				formatHistory("f", test.past, test.limit, noon.Add(30*time.Second))); diff != "" {
				t.Error(diff)
			}
		})
	}
	a := &archive{past: []workspace.PastChange{{ID: "eeeeeeee", Time: noon, By: "/ann", Action: "removed"}}}
	res, err := call(t.Context(), t, tool.New(fileHistory{a}), map[string]any{"path": "f", "limit": 2})
	if err != nil || !strings.Contains(res, " of ann,") {
		t.Fatal(res, err)
	}
	if diff := cmp.Diff([]any{"f", 3}, a.asked); diff != "" {
		t.Error(diff)
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "just now", 0: "just now", 10 * time.Second: "10s ago", 59 * time.Minute: "59m ago",
		30 * time.Hour: "30h ago", 50 * time.Hour: "2d ago",
	} {
		if got := formatAge(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

func TestUndo(t *testing.T) {
	ctx, seen := inSession(t), &Seen{}
	caller := tool.CallerFrom(ctx)
	seen.Note(caller, "f", "aaaaaaaa")
	a := &archive{receipt: workspace.Receipt{ID: "bbbbbbbb", Files: []workspace.Changed{
		{Name: "f", Size: 340}, {Name: "new", Removed: true}, {Name: "gone", Created: true, Size: 5, Notes: []string{"a note"}},
	}}}
	got, err := call(ctx, t, tool.New(undoChange{a, seen}), map[string]any{"id": " aaaaaaaa "})
	if err != nil {
		t.Fatal(err)
	}
	const want = "restored f (340 B)\nremoved new\nrecreated gone (5 B): a note\nto redo it use undo bbbbbbbb"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a.asked != "aaaaaaaa" {
		t.Errorf("asked for %q", a.asked)
	}
	if _, known := seen.Version(caller, "f"); known {
		t.Error("the session is believed to know what it did not read")
	}
}
