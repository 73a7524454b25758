package workspace_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

func pastOf(t *testing.T, ctx context.Context, w *workspace.Workspace, path string) []workspace.PastChange {
	t.Helper()
	all, err := w.History(ctx, path, 0)
	if err != nil {
		t.Fatalf("history of %s: %v", path, err)
	}
	return all
}

func TestUndo(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	write(t, filepath.Join(dir, "a"), "old a")
	if err := os.Chmod(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b"), "old b")
	before := map[string]string{"a": "old a", "b": "old b"}
	after := map[string]string{"a": "new a", "far/away/c": "made"}
	r, err := putAll(ctx, w, map[string]string{"a": "new a", "b": removed, "far/away/c": "made"})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, after)
	last := r.ID
	for _, want := range []map[string]string{before, after, before} {
		r, err := w.Undo(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		mustBe(t, dir, want)
		last = r.ID
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	past := pastOf(t, ctx, w, "a")
	if len(past) != 4 {
		t.Fatalf("%d changes: %+v", len(past), past)
	}
	// Undone is the current state: undoing an undo makes the change valid again.
	for i, want := range []string{"", past[0].ID, "", past[2].ID} {
		if past[i].Undone != want || past[i].Undoable != (want == "") {
			t.Errorf("%d: undone by %q (undoable: %v), want %q", i, past[i].Undone, past[i].Undoable, want)
		}
	}
	if p := past[3]; p.Tool != "test" || p.By != "tester/u" || p.Action != "changed" || p.Before != 5 ||
		p.After != 5 || !slices.Equal(p.Others, []string{"b", "far/away/c"}) {
		t.Errorf("%+v", p)
	}
	if past[0].Tool != "undo" || !past[0].Undoable {
		t.Errorf("%+v", past[0])
	}
	if p := pastOf(t, ctx, w, "far/away/c"); len(p) != 4 || p[3].Action != "created" || p[2].Action != "removed" {
		t.Errorf("of a removed file: %+v", p)
	}
}

func TestUndoRefuses(t *testing.T) {
	cases := map[string]struct {
		meddle func(t *testing.T, dir, data string)
		want   tool.Kind
		says   string
	}{
		"changed since": {func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "a"), "neW") }, tool.Conflict, `"a" was changed`},
		"longer":        {func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "a"), "longer") }, tool.Conflict, `"a" was changed`},
		"removed since": {func(t *testing.T, dir, _ string) { os.Remove(filepath.Join(dir, "c")) }, tool.Conflict, `"c" was removed`},
		"created again": {func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "b"), "b") }, tool.Conflict, `"b" was created again`},
		"copies are gone": {func(t *testing.T, _, data string) {
			os.RemoveAll(filepath.Join(data, "files", "copies"))
			os.Mkdir(filepath.Join(data, "files", "copies"), 0o700)
		}, tool.Unavailable, "no longer kept"},
		"copies damaged": {func(t *testing.T, _, data string) { damage(t, data) }, tool.Unavailable, "no longer kept"},
		"record is gone": {func(t *testing.T, _, data string) { os.Remove(filepath.Join(data, "files", "changes.jsonl")) }, tool.NotFound, "no change"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data := workspacetest.Dir(t)
			w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
			write(t, filepath.Join(dir, "a"), "old")
			write(t, filepath.Join(dir, "b"), "old")
			r, err := putAll(ctx, w, map[string]string{"a": "new", "b": removed, "c": "new"})
			if err != nil {
				t.Fatal(err)
			}
			c.meddle(t, dir, data)
			before := tree(t, dir)
			_, err = w.Undo(ctx, r.ID)
			if kind(err) != c.want || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v", err)
			}
			mustBe(t, dir, before)
		})
	}
	w, ctx, dir := workspacetest.New(t)
	write(t, filepath.Join(dir, "a"), "old")
	r := mustPut(t, ctx, w, "a", "new")
	if _, err := w.Undo(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Undo(ctx, r.ID); kind(err) != tool.Conflict || !strings.Contains(err.Error(), "already undone") {
		t.Errorf("twice: %v", err)
	}
}

func damage(t *testing.T, data string) {
	t.Helper()
	copies, err := filepath.Glob(filepath.Join(data, "files", "copies", "*"))
	if err != nil || len(copies) == 0 {
		t.Fatal("no copies", err)
	}
	for _, c := range copies {
		if err := os.WriteFile(c, []byte("odl"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistoryOfOtherCallers checks that a caller sees only the changes of files that it
// can reach.
func TestHistoryOfOtherCallers(t *testing.T) {
	team := workspacetest.Dir(t)
	w, ctx, _ := workspacetest.New(t, func(o *workspace.Options) {
		o.Roots = []workspace.ExtraRoot{{Name: "team", Path: team, Write: true}}
	})
	elsewhere := workspacetest.Dir(t)
	other := workspacetest.For(t.Context(), tool.Caller{Agent: "other", User: "v", Workspace: elsewhere})
	mine := mustPut(t, ctx, w, "mine", "1")
	shared := mustPut(t, ctx, w, "team/shared", "1")
	both, err := putAll(ctx, w, map[string]string{"mine": "2", "team/shared": "2"})
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(id string) string {
		_, err := w.Undo(other, id)
		if kind(err) != tool.NotFound {
			t.Errorf("undo of %s: %v", id, err)
			return ""
		}
		return strings.ReplaceAll(err.Error(), id, "X")
	}
	if a, b, c := unknown(mine.ID), unknown(both.ID), unknown("aaaaaaaa"); a != c || b != c {
		t.Errorf("%q, %q and %q differ", a, b, c)
	}
	past := pastOf(t, other, w, "team/shared")
	if len(past) != 2 || len(past[0].Others) > 0 || past[0].Undoable || !past[1].Undoable {
		t.Errorf("%+v", past)
	}
	if _, err := w.History(other, filepath.Join(team, "..", "x"), 0); kind(err) != tool.Refused {
		t.Errorf("history of a file outside: %v", err)
	}
	if _, err := w.Undo(ctx, both.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Undo(other, shared.ID); err != nil {
		t.Errorf("a shared file: %v", err)
	}
	mustBe(t, team, map[string]string{})
}

// TestUndoChecksAccess checks that a caller cannot undo a change of a file that it may no
// longer change.
func TestUndoChecksAccess(t *testing.T) {
	data, team := workspacetest.Dir(t), workspacetest.Dir(t)
	with := func(write bool, more ...string) func(o *workspace.Options) {
		return func(o *workspace.Options) {
			o.Data, o.Roots = data, []workspace.ExtraRoot{{Name: "team", Path: team, Write: write}}
			o.Protect = append(o.Protect, more...)
		}
	}
	w, ctx, _ := workspacetest.New(t, with(true))
	r := mustPut(t, ctx, w, "team/f", "1")
	for name, o := range map[string]func(o *workspace.Options){"read-only": with(false), "protected": with(true, "f")} {
		strict, ctx, _ := workspacetest.New(t, o)
		if _, err := strict.Undo(ctx, r.ID); kind(err) != tool.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if past := pastOf(t, ctx, strict, "team/f"); len(past) != 1 {
			t.Errorf("%s: %+v", name, past)
		}
	}
	mustBe(t, team, map[string]string{"f": "1"})
}

func TestUndoOfServedFiles(t *testing.T) {
	m := newMemory()
	w, ctx, dir := workspacetest.New(t, m.Routed)
	m.Put("tester", "u", "SOUL.md", "old soul")
	write(t, filepath.Join(dir, "f"), "old")
	r, err := putAll(ctx, w, map[string]string{"SOUL.md": "new soul", "memory/day.md": "made", "f": "new"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := read(ctx, w, "SOUL.md"); text != "new soul" {
		t.Errorf("%q, %v", text, err)
	}
	caller := workspacetest.Caller(dir)
	caller.User = "somebody else"
	stranger := workspacetest.For(t.Context(), caller)
	if _, err := w.Undo(stranger, r.ID); kind(err) != tool.NotFound {
		t.Errorf("a stranger's undo: %v", err)
	}
	if past := pastOf(t, stranger, w, "SOUL.md"); len(past) > 0 {
		t.Errorf("a stranger sees %+v", past)
	}
	if past := pastOf(t, ctx, w, "SOUL.md"); len(past) != 1 || !past[0].Undoable {
		t.Errorf("%+v", past)
	}
	if _, err := w.Undo(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, map[string]string{"f": "old"})
	if text, _ := m.Get("tester", "u", "SOUL.md"); text != "old soul" {
		t.Errorf("SOUL.md is %q", text)
	}
	if text, ok := m.Get("tester", "u", "memory/day.md"); ok {
		t.Errorf("memory/day.md is %q", text)
	}
}

// TestFailingSourceRevertsAll changes a served file that the user may not write: it fails
// last, and the files on disk are restored.
func TestFailingSourceRevertsAll(t *testing.T) {
	m := newMemory()
	m.Predefined = true
	w, ctx, dir := workspacetest.New(t, m.Routed)
	write(t, filepath.Join(dir, "f"), "old")
	m.Put("tester", "u", "memory/day.md", "old")
	if r, err := putAll(ctx, w, map[string]string{"IDENTITY.md": "mine", "f": "new", "far/made": "x", "memory/day.md": "new"}); err == nil {
		t.Fatalf("no error: %+v", r)
	}
	mustBe(t, dir, map[string]string{"f": "old"})
	if text, _ := m.Get("tester", "u", "memory/day.md"); text != "old" {
		t.Errorf("memory/day.md is %q", text)
	}
	if past := pastOf(t, ctx, w, "f"); len(past) > 0 {
		t.Errorf("%+v", past)
	}
}

// TestUndoKeepsBytes checks that every byte is restored, also of large files.
func TestUndoKeepsBytes(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	old := strings.Repeat("all bytes \x00\xff\r\n", 200_000)
	write(t, filepath.Join(dir, "big\xff name"), old)
	_, err := w.Change(ctx, []string{"big\xff name"}, func(files []*workspace.File) ([]workspace.Change, error) {
		content := io.MultiReader(strings.NewReader("x"), io.NewSectionReader(files[0], 0, files[0].Size))
		return []workspace.Change{{Path: "big\xff name", Content: content}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	past := pastOf(t, ctx, w, `big\xff name`)
	if len(past) != 1 {
		t.Fatalf("%+v", past)
	}
	if _, err := w.Undo(ctx, past[0].ID); err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, map[string]string{"big\xff name": old})
}

// TestUndoOfCalls undoes by the id of a call all that it has changed, and not the changes of others.
func TestUndoOfCalls(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	running := tool.RunningFrom(ctx)
	running.Call = "THECALL"
	call := tool.With(ctx, &running)
	mustPut(t, call, w, "a", "one")
	mustPut(t, call, w, "b", "two")
	running.Call = "ANOTHER"
	mustPut(t, tool.With(ctx, &running), w, "c", "three")
	r, err := w.Undo(ctx, "THECALL")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, map[string]string{"c": "three"})
	if _, err := w.Undo(ctx, "THECALL"); kind(err) != tool.Conflict || !strings.Contains(err.Error(), r.ID) {
		t.Errorf("twice: %v", err)
	}
	if past := pastOf(t, ctx, w, "a"); past[len(past)-1].Undone != r.ID {
		t.Errorf("the history has %+v", past)
	}
}

// TestUndoOfScripts undoes the changes of a script as one, but not those that were undone before.
func TestUndoOfScripts(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	running := tool.RunningFrom(ctx)
	running.Script = "THESCRIPT"
	script := tool.With(ctx, &running)
	write(t, filepath.Join(dir, "a"), "old a")
	write(t, filepath.Join(dir, "b"), "old b")
	before := map[string]string{"a": "old a", "b": "old b"}
	mustPut(t, script, w, "a", "once")
	mustPut(t, script, w, "new/c", "made")
	mustPut(t, script, w, "passing", "soon removed")
	if _, err := putAll(script, w, map[string]string{"a": "twice", "b": removed, "passing": removed}); err != nil {
		t.Fatal(err)
	}
	undone := mustPut(t, script, w, "new/c", "a mistake")
	if _, err := w.Undo(script, undone.ID); err != nil {
		t.Fatal(err)
	}
	after := map[string]string{"a": "twice", "new/c": "made"}
	mustBe(t, dir, after)
	if p := pastOf(t, ctx, w, "a")[0]; p.Script != "THESCRIPT" {
		t.Errorf("%+v", p)
	}
	r, err := w.Undo(ctx, "THESCRIPT")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, before)
	if _, err := w.Undo(ctx, "THESCRIPT"); kind(err) != tool.Conflict || !strings.Contains(err.Error(), r.ID) {
		t.Errorf("twice: %v", err)
	}
	if _, err := w.Undo(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, after)
	mustPut(t, ctx, w, "a", "later")
	if _, err := w.Undo(ctx, "THESCRIPT"); kind(err) != tool.Conflict {
		t.Errorf("over a later change: %v", err)
	}
}
