package fs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// TestViews changes files as a client with apps and as one without: only the first gets a view, the text is that of
// the same tool, and no view has a secret of the file.
func TestViews(t *testing.T) {
	ws, ctx, _ := workspacetest.New(t)
	secrets, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := &fs.Seen{Secrets: secrets}
	tools, err := tool.NewSet(append(fs.Changing(ws, seen), fs.EditFile(ws, seen))...)
	if err != nil {
		t.Fatal(err)
	}
	key := "ghp" + "_" + strings.Repeat("A1b2", 9)
	apps := tool.RunningFrom(ctx)
	apps.Apps = true
	call := func(name string, args map[string]any, shows bool) tool.Result {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := tools.Lookup(name)
		bound, err := one.Bind(raw, tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		in := ctx
		if shows {
			in = tool.With(ctx, &apps)
		}
		res, err := bound.Run(in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !one.Spec.Viewed || shows != (res.View != nil) {
			t.Errorf("%s: the view is %+v", name, res.View)
		}
		if shown, err := json.Marshal(res.View); err != nil || strings.Contains(string(shown), key) {
			t.Errorf("%s shows a secret: %s, %v", name, shown, err)
		}
		return res
	}
	changes := func(name string, args map[string]any, action, diff string) view.Changes {
		t.Helper()
		v, _ := call(name, args, true).View.(view.Changes)
		if len(v.Files) != 1 || v.Files[0].Name != "a.txt" || v.Files[0].Action != action || v.Undo == "" ||
			!strings.Contains(v.Files[0].Diff, diff) {
			t.Errorf("%s %v: the view is %+v", name, args, v)
		}
		return v
	}
	changes("write_file", map[string]any{"path": "a.txt", "content": "one\ntwo\nkey = " + key + "\n"}, "created", "+one\n+two\n+key = [REDACTED")
	call("write_file", map[string]any{"path": "a.txt", "content": "four\n", "append": true}, false)
	changes("write_file", map[string]any{"path": "a.txt", "content": "five\n", "append": true}, "changed", " four\n+five\n")
	changes("edit", map[string]any{"path": "a.txt", "old_string": "two", "new_string": "2"}, "changed", "-two\n+2\n")
	call("edit", map[string]any{"path": "a.txt", "old_string": "2", "new_string": "zwei", "dry_run": true}, false)
	done := changes("apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-2\n+two\n*** End Patch\n"},
		"changed", "-2\n+two\n")
	past, _ := call("history", map[string]any{"path": "a.txt"}, true).View.(view.History)
	if past.Kind != "history" || past.More {
		t.Errorf("the history is %+v", past)
	}
	call("history", map[string]any{"path": "a.txt"}, false)
	if undone := changes("undo", map[string]any{"call": done.Undo}, "restored", ""); !undone.Undid || undone.Undo == done.Undo {
		t.Errorf("the undo is %+v", undone)
	}
}
