package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// command changes files as a command would, between two checkpoints.
func command(ctx context.Context, w *Workspace, text string, do func()) {
	ended := w.Checkpoint(ctx, Command{Text: text})
	do()
	ended()
}

func TestUndoOfCommands(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{
		"a.txt": "a", "b.txt": "b", "run.sh": "#!/bin/sh", "src/deep/c.txt": "c", "build/out.o": "o",
		".gitignore": "build/\n", ".git/HEAD": "x",
		".env": "SECRET=1",
	})
	p := func(name string) string { return filepath.Join(ws, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(p(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(ctx, w, "true", func() {})
	write("b.txt", "changed by an editor")
	command(ctx, w, "make fmt", func() {
		write("a.txt", "formatted")
		write("new/dir/d.txt", "d")
		write("build/out.o", "ignored")
		write(".env", "SECRET=2")
		if err := os.RemoveAll(p("src")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p("run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	past, err := w.History(ctx, "", 10)
	if err != nil || len(past) != 1 {
		t.Fatalf("%+v, %v", past, err)
	}
	if c := past[0]; c.Command != "make fmt" || c.Changed != 2 || c.Created != 1 || c.Removed != 1 || !c.Undoable {
		t.Errorf("%+v", c)
	}
	if of, err := w.History(ctx, "src/deep/c.txt", 10); err != nil || len(of) != 1 || of[0].Action != "removed" {
		t.Errorf("%+v, %v", of, err)
	}
	receipt, err := w.Undo(ctx, past[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.txt": "a", "b.txt": "changed by an editor", "src/deep/c.txt": "c", "build/out.o": "ignored",
		".env": "SECRET=2",
	} {
		if got, err := os.ReadFile(p(name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(p("new")); !os.IsNotExist(err) {
		t.Errorf("the new directory: %v", err)
	}
	if info, err := os.Stat(p("run.sh")); err != nil || info.Mode().Perm()&0o100 != 0 {
		t.Errorf("run.sh: %v, %v", info.Mode(), err)
	}
	if _, err := w.Undo(ctx, receipt.ID); err != nil { // makes it again
		t.Error(err)
	}
	if got, _ := os.ReadFile(p("a.txt")); string(got) != "formatted" {
		t.Errorf("redone: %q", got)
	}

	// What has changed since is not overwritten.
	command(ctx, w, "echo", func() { write("a.txt", "by a command") })
	write("a.txt", "by an editor")
	past, _ = w.History(ctx, "a.txt", 1)
	if _, err := w.Undo(ctx, past[0].ID); kindOf(err) != tool.Conflict {
		t.Errorf("undone over a later change: %v", err)
	}
}

func TestCheckpointLeavesOutLargeFiles(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"a.txt": "a", "large.bin": strings.Repeat("x", maxTrackedFile+1)})
	command(ctx, w, "true", func() {})
	command(ctx, w, "rm *", func() {
		for _, name := range []string{"a.txt", "large.bin"} {
			if err := os.Remove(filepath.Join(ws, name)); err != nil {
				t.Fatal(err)
			}
		}
	})
	past, err := w.History(ctx, "", 10)
	if err != nil || len(past) != 1 || fmt.Sprint(past[0].Left) != "[large.bin]" {
		t.Fatalf("%+v, %v", past, err)
	}
	receipt, err := w.Undo(ctx, past[0].ID)
	if err != nil || fmt.Sprint(receipt.Left) != "[large.bin]" || len(receipt.Files) != 1 {
		t.Errorf("%+v, %v", receipt, err)
	}
}

// TestCheckpointOfRunningCommand separates what tools change while a command runs from what the command has
// changed so far.
func TestCheckpointOfRunningCommand(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"a.txt": "a", "b.txt": "b"})
	ended := w.Checkpoint(ctx, Command{Text: "npm run dev"})
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Change(ctx, []string{"b.txt"}, func([]*File) ([]Change, error) {
		return []Change{{Path: "b.txt", Content: strings.NewReader("by a tool")}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	past, err := w.History(ctx, "", 10)
	if err != nil || len(past) != 2 || past[0].Command != "npm run dev" || past[0].Changed != 1 ||
		past[0].File != "a.txt" {
		t.Errorf("%+v, %v", past, err)
	}
	ended()
	if again, err := w.History(ctx, "", 10); err != nil || len(again) != 2 {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestPrepareCopiesBeforeTheFirstCommand: the first command copies nothing, and what it changes can be undone.
func TestPrepareCopiesBeforeTheFirstCommand(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	caller := tool.CallerFrom(ctx)
	large := strings.Repeat("0123456789abcdef", 4<<10) // shared with the copy where the file system can
	plant(t, ws, map[string]string{"a.txt": "a", "large.txt": large, "sub/b.txt": "b"})
	for name, wait := range map[string]bool{"prepared": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			w.mu.Lock()
			w.trackers = map[inode]*tracker{}
			w.mu.Unlock()
			w.Prepare(caller)
			w.Prepare(caller) // changes nothing
			if wait {
				w.preparing.Wait()
			}
			copied := func() (size int64) {
				for _, t := range w.trackers {
					size = t.size
				}
				return size
			}
			before := int64(-1)
			if wait {
				before = copied()
			}
			command(ctx, w, "make "+name, func() {
				if after := copied(); wait && (after != before || after == 0) {
					t.Errorf("before the command %d bytes were copied, then %d", before, after)
				}
				for _, file := range []string{"a.txt", "large.txt", "sub/b.txt"} {
					if err := os.WriteFile(filepath.Join(ws, file), []byte("changed"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			})
			past, err := w.History(ctx, "", 1)
			if err != nil || len(past) != 1 || past[0].Changed != 3 {
				t.Fatalf("%+v, %v", past, err)
			}
			if _, err := w.Undo(ctx, past[0].ID); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"a.txt": "a", "large.txt": large, "sub/b.txt": "b"} {
				if got, err := os.ReadFile(filepath.Join(ws, file)); err != nil || string(got) != want {
					t.Errorf("%s has %d bytes, %v", file, len(got), err)
				}
			}
		})
	}
}

// TestPreparingStopsNobody: tools change files while the workspace is copied.
func TestPreparingStopsNobody(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"a.txt": "a"})
	w.Prepare(tool.CallerFrom(ctx))
	w.preparing.Wait()
	for _, t := range w.trackers {
		t.mu.Lock() // as while it copies
		defer t.mu.Unlock()
	}
	if _, err := w.Change(ctx, []string{"a.txt"}, func([]*File) ([]Change, error) {
		return []Change{{Path: "a.txt", Content: strings.NewReader("b")}}, nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := w.History(ctx, "", 10); err != nil {
		t.Error(err)
	}
}

// TestTrackersOfRunningCommandsStay: commands in more workspaces than are tracked when nothing runs can be undone.
func TestTrackersOfRunningCommandsStay(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"a.txt": "a"})
	ended := w.Checkpoint(ctx, Command{Text: "make"})
	for i := range 2 * maxTrackers {
		other := callFor(t.Context(), filepath.Join(ws, "other", strconv.Itoa(i)))
		makeDirs(t, filepath.Join(ws, "other"), i+1)
		command(other, w, "true", func() {})
	}
	plant(t, ws, map[string]string{"a.txt": "changed"})
	ended()
	if past, err := w.History(ctx, "a.txt", 1); err != nil || len(past) != 1 {
		t.Errorf("%+v, %v", past, err)
	}
	if len(w.trackers) > maxTrackers {
		t.Errorf("%d workspaces are tracked", len(w.trackers))
	}
}
