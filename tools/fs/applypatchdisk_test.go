package fs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// changing are the tools over a real workspace.
func changing(t testing.TB) (do func(tool string, args map[string]any) (string, error), dir string) {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t)
	set := fs.Changing(ws, &fs.Seen{})
	return func(name string, args map[string]any) (string, error) {
		for _, one := range set {
			if one.Spec.Name != name {
				continue
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			call, err := one.Bind(raw, tool.DefaultLimits())
			if err != nil {
				return "", err
			}
			running := tool.RunningFrom(ctx)
			running.Tool = name
			res, err := call.Run(tool.With(ctx, &running))
			return res.Text(), err
		}
		t.Fatalf("no tool %s", name)
		return "", nil
	}, dir
}

// tree is everything in a directory, with x at the names of programs.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if info.Mode()&0o100 != 0 && runtime.GOOS != "windows" {
			rel += " x"
		}
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t testing.TB, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// undoOf returns the id for undo in a result.
func undoOf(t testing.TB, answer string) string {
	t.Helper()
	found := regexp.MustCompile(`to (?:undo|redo) it use undo (\S+)`).FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("no id in %q", answer)
	}
	return found[1]
}

func TestPatchOnDisk(t *testing.T) {
	do, dir := changing(t)
	put(t, filepath.Join(dir, "a.go"), "one\ntwo\n")
	put(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\necho\n")
	put(t, filepath.Join(dir, "old"), "old\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	patch := "*** Begin Patch\n*** Update File: a.go\n-two\n+2\n*** Update File: run.sh\n*** Move to: bin/run.sh\n-echo\n+exit\n" +
		"*** Delete File: old\n*** Add File: docs/new.md\n+new\n*** End Patch\n"
	answer, err := do("apply_patch", map[string]any{"patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	program := "bin/run.sh x"
	if runtime.GOOS == "windows" {
		program = "bin/run.sh"
	}
	after := map[string]string{"a.go": "one\n2\n", program: "#!/bin/sh\nexit\n", "docs/new.md": "new\n"}
	same(t, after, tree(t, dir))

	undone, err := do("undo", map[string]any{"call": undoOf(t, answer)})
	if err != nil {
		t.Fatal(err)
	}
	same(t, before, tree(t, dir))
	for _, want := range []string{"restored a.go (8 B)", "recreated old (4 B)", "removed docs/new.md", "removed bin/run.sh", "recreated run.sh"} {
		if !strings.Contains(undone, want) {
			t.Errorf("%q is not in\n%s", want, undone)
		}
	}
	if _, err := do("undo", map[string]any{"call": undoOf(t, undone)}); err != nil {
		t.Fatal(err)
	}
	same(t, after, tree(t, dir))

	past, err := do("history", map[string]any{"path": "old"})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(past, "\n"); len(lines) != 4 || !strings.Contains(lines[2], "removed 4 B by apply_patch of tester/u") {
		t.Errorf("the history:\n%s", past)
	}
}

// TestPatchIsAllOrNothing breaks the last of several sections.
func TestPatchIsAllOrNothing(t *testing.T) {
	for name, last := range map[string]string{
		"does not fit":      "*** Update File: b\n-nothing\n+x\n",
		"is not there":      "*** Delete File: c\n",
		"leads out":         "*** Add File: ../out\n+x\n",
		"moves out":         "*** Update File: b\n*** Move to: /etc/out\n",
		"deletes outside":   "*** Delete File: /etc/hostname\n",
		"is secret":         "*** Add File: .env\n+x\n",
		"becomes a secret":  "*** Update File: b\n*** Move to: id_rsa\n",
		"is protected":      "*** Add File: .git/hooks/pre-commit\n+x\n",
		"is the same file":  "*** Delete File: sub/../a\n",
		"goes below a file": "*** Add File: b/c\n+x\n",
	} {
		t.Run(name, func(t *testing.T) {
			do, dir := changing(t)
			put(t, filepath.Join(dir, "a"), "one\n")
			put(t, filepath.Join(dir, "b"), "two\n")
			before := tree(t, dir)
			answer, err := do("apply_patch", map[string]any{
				"patch": "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Add File: new/file\n+x\n" + last + "*** End Patch",
			})
			if err == nil {
				t.Errorf("applied: %s", answer)
			}
			if known := tool.AsError(err); known.Kind == tool.Internal {
				t.Errorf("no error for a model: %v", err)
			}
			same(t, before, tree(t, dir))
		})
	}
}

func TestPatchModeOnDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no modes")
	}
	do, dir := changing(t)
	put(t, filepath.Join(dir, "f"), "x\n")
	if answer, err := do("apply_patch", map[string]any{"patch": "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"}); err != nil {
		t.Error(answer, err)
	}
	same(t, map[string]string{"f x": "x\n"}, tree(t, dir))
	if answer, err := do("apply_patch", map[string]any{"patch": "diff --git a/p b/p\nnew file mode 100755\n--- /dev/null\n+++ b/p\n@@ -0,0 +1 @@\n+y\n"}); err != nil {
		t.Error(answer, err)
	}
	same(t, map[string]string{"f x": "x\n", "p x": "y\n"}, tree(t, dir))
}

func TestWriteOnDisk(t *testing.T) {
	do, dir := changing(t)
	write := func(args map[string]any) string {
		t.Helper()
		answer, err := do("write_file", args)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := write(map[string]any{"path": "deep/er/notes.txt", "content": "one\n"})
	write(map[string]any{"path": "deep/er/notes.txt", "content": "two\n", "append": true})
	second := write(map[string]any{"path": "deep/er/notes.txt", "content": "three\n"})
	same(t, map[string]string{"deep/er/notes.txt": "three\n"}, tree(t, dir))
	if answer := write(map[string]any{"path": "deep/er/notes.txt", "content": "three\n"}); strings.Contains(answer, "undo") || !strings.Contains(answer, "unchanged") {
		t.Errorf("nothing was changed, and it says %q", answer)
	}
	if _, err := do("undo", map[string]any{"call": undoOf(t, first)}); err == nil || tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("undid a change below later ones: %v", err)
	}
	if _, err := do("undo", map[string]any{"call": undoOf(t, second)}); err != nil {
		t.Error(err)
	}
	same(t, map[string]string{"deep/er/notes.txt": "one\ntwo\n"}, tree(t, dir))
	if err := os.WriteFile(filepath.Join(dir, "deep/er/notes.txt"), []byte("foreign"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(map[string]any{"path": "deep/er/notes.txt", "content": "x"}) // what undo left was not read
	past, err := do("history", map[string]any{"path": "deep/er/notes.txt", "limit": 2})
	if err != nil || strings.Count(past, "\n") != 3 || !strings.Contains(past, "there are older changes") {
		t.Errorf("%s %v", past, err)
	}
	for name, args := range map[string]map[string]any{
		"outside":     {"path": "../x", "content": "x"},
		"a directory": {"path": "deep", "content": "x"},
		"secret":      {"path": "deep/.env", "content": "x"},
		"protected":   {"path": ".git/config", "content": "x"},
		"empty":       {"path": "", "content": "x"},
	} {
		if answer, err := do("write_file", args); err == nil || tool.AsError(err).Kind == tool.Internal {
			t.Errorf("%s: %s %v", name, answer, err)
		}
	}
	same(t, map[string]string{"deep/er/notes.txt": "x"}, tree(t, dir))
}
