package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// put writes a file as a tool does.
func put(ctx context.Context, w *workspace.Workspace, path, content string) (workspace.Receipt, error) {
	return w.Change(ctx, []string{path}, func([]*workspace.File) ([]workspace.Change, error) {
		return []workspace.Change{{Path: path, Content: strings.NewReader(content)}}, nil
	})
}

func mustPut(t *testing.T, ctx context.Context, w *workspace.Workspace, path, content string) workspace.Receipt {
	t.Helper()
	r, err := put(ctx, w, path, content)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

const removed = "\x00"

// putAll changes several files in one call.
func putAll(ctx context.Context, w *workspace.Workspace, files map[string]string) (workspace.Receipt, error) {
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return w.Change(ctx, paths, func([]*workspace.File) ([]workspace.Change, error) {
		var changes []workspace.Change
		for _, path := range paths {
			changes = append(changes, workspace.Change{
				Path: path, Remove: files[path] == removed, Content: strings.NewReader(files[path]),
			})
		}
		return changes, nil
	})
}

// tree returns all files below dir with their contents, and empty directories.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || path == dir:
			return err
		case d.IsDir():
			if inside, err := os.ReadDir(path); err == nil && len(inside) == 0 {
				got[name+"/"] = ""
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		}
		text, err := os.ReadFile(path)
		got[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func mustBe(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	for name, text := range want {
		if have, ok := got[name]; !ok || have != text {
			t.Errorf("%s is %.40q (there: %v), want %.40q", name, have, ok, text)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is left over", name)
	}
}

func TestChange(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	r := mustPut(t, ctx, w, "deep/er/new.txt", "one")
	if r.ID == "" || len(r.Files) != 1 || !r.Files[0].Created || r.Files[0].Size != 3 || r.Files[0].Name != "deep/er/new.txt" {
		t.Errorf("made: %+v", r)
	}
	f, err := w.Open(ctx, "deep/er/new.txt")
	if err != nil {
		t.Fatal(err)
	}
	if f.Stamp != r.Files[0].Stamp {
		t.Errorf("the stamp is %q after the change, and %q when it is opened", r.Files[0].Stamp, f.Stamp)
	}
	_ = f.Close()
	if r = mustPut(t, ctx, w, "deep/er/new.txt", "two!"); r.Files[0].Created || r.Files[0].Size != 4 {
		t.Errorf("changed: %+v", r)
	}
	r = mustPut(t, ctx, w, "deep/er/new.txt", "two!")
	if r.ID != "" || !strings.HasPrefix(r.Files[0].Notes[0], "unchanged") || r.Files[0].Stamp == "" {
		t.Errorf("the same again: %+v", r)
	}
	r, err = putAll(ctx, w, map[string]string{"deep/er/new.txt": removed, "other": "there", "empty": ""})
	if err != nil || len(r.Files) != 3 || !r.Files[0].Removed || r.Files[0].Stamp != "" {
		t.Errorf("several: %+v, %v", r, err)
	}
	mustBe(t, dir, map[string]string{"deep/er/": "", "other": "there", "empty": ""})
	if runtime.GOOS == "linux" {
		if _, err := putAll(ctx, w, map[string]string{"case": "lower", "CASE": "upper"}); err != nil {
			t.Error(err)
		}
	}
}

// TestHistoryIsPrivate checks that other users cannot read old contents.
func TestHistoryIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	data := workspacetest.Dir(t)
	w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	for _, text := range []string{"one", "two"} {
		mustPut(t, ctx, w, "f", text)
		mustBe(t, dir, map[string]string{"f": text})
	}
	if err := w.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(data, "files", "pending")); err != nil {
		t.Fatal(err)
	}
	mustPut(t, ctx, w, "f", "with a directory less")
	err := filepath.WalkDir(filepath.Join(data, "files"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if filepath.Base(filepath.Dir(path)) != "copies" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPlan(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	write(t, filepath.Join(dir, "a"), "text")
	stop := errors.New("stop")
	_, err := w.Change(ctx, []string{"a", "none"}, func(files []*workspace.File) ([]workspace.Change, error) {
		text := make([]byte, 4)
		_, err := files[0].ReadAt(text, 0)
		if err != nil || string(text) != "text" || !files[0].Exists || files[0].Size != 4 || files[0].Stamp == "" {
			t.Errorf("%+v holds %q, %v", files[0], text, err)
		}
		if files[1].Exists || files[1].Name != "none" || files[1].Close() != nil {
			t.Errorf("%+v", files[1])
		}
		return nil, stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	r, err := w.Change(ctx, []string{"a"}, func([]*workspace.File) ([]workspace.Change, error) { return nil, nil })
	if err != nil || r.ID != "" || len(r.Files) > 0 {
		t.Errorf("no change: %+v, %v", r, err)
	}
	// New content may be read from the file itself.
	_, err = w.Change(ctx, []string{"a"}, func(files []*workspace.File) ([]workspace.Change, error) {
		again := strings.NewReader("+")
		return []workspace.Change{{Path: "a", Content: readers(files[0], again, files[0])}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, map[string]string{"a": "text+text"})
	for name, changes := range map[string][]workspace.Change{
		"twice": {{Path: "a"}, {Path: "a"}}, "not asked for": {{Path: "b"}},
	} {
		plan := func([]*workspace.File) ([]workspace.Change, error) { return changes, nil }
		if _, err := w.Change(ctx, []string{"a"}, plan); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	mustBe(t, dir, map[string]string{"a": "text+text"})
}

func TestChangeRefuses(t *testing.T) {
	readOnly := workspacetest.Dir(t)
	w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) {
		o.Roots = []workspace.ExtraRoot{{Name: "ro", Path: readOnly}}
	})
	write(t, filepath.Join(dir, "a"), "a")
	write(t, filepath.Join(dir, ".git", "config"), "git")
	write(t, filepath.Join(dir, "d", "f"), "f")
	for _, link := range [][2]string{{"a", "link"}, {"/etc/passwd", "out"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, ".git", "config"), filepath.Join(dir, "innocent")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for name, c := range map[string]struct {
		files map[string]string
		want  tool.Kind
	}{
		"nothing":                     {nil, tool.Invalid},
		"one file by two paths":       {map[string]string{"a": "x", "./a": "y"}, tool.Invalid},
		"one file by a link":          {map[string]string{"a": "x", "link": "y"}, tool.Invalid},
		"one file by a hard link":     {map[string]string{"a": "x", "hard": "y"}, tool.Invalid},
		"one new file by two paths":   {map[string]string{"new": "x", "d/../new": "y"}, tool.Invalid},
		"a directory":                 {map[string]string{"d": "x"}, tool.Invalid},
		"a file as a directory":       {map[string]string{"a/b": "x"}, tool.Invalid},
		"a file and one beneath it":   {map[string]string{"n": "x", "n/m": "y"}, tool.Invalid},
		"outside":                     {map[string]string{"../x": "x"}, tool.Refused},
		"outside by a link":           {map[string]string{"out": "x"}, tool.Refused},
		"protected":                   {map[string]string{".git/config": "x"}, tool.Refused},
		"protected by another name":   {map[string]string{"innocent": "x"}, tool.Refused},
		"denied":                      {map[string]string{".env": "x"}, tool.Refused},
		"only to read":                {map[string]string{"ro/x": "x"}, tool.Refused},
		"removing nothing":            {map[string]string{"none": removed}, tool.NotFound},
		"one of several is missing":   {map[string]string{"a": "x", "none": removed}, tool.NotFound},
		"one of several is protected": {map[string]string{"a": "x", "new/one": "x", ".git/config": "x"}, tool.Refused},
		"a name too long":             {map[string]string{"a": "x", "sub/" + strings.Repeat("n", 300): "x"}, tool.Invalid},
	} {
		r, err := putAll(ctx, w, c.files)
		if kind(err) != c.want {
			t.Errorf("%s: %+v, %v, want %s", name, r, err, c.want)
		}
	}
	many := map[string]string{}
	for i := range 1001 {
		many[fmt.Sprint(i)] = ""
	}
	if _, err := putAll(ctx, w, many); kind(err) != tool.Invalid {
		t.Errorf("too many: %v", err)
	}
	if after := tree(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v\nbecame\n%v", before, after)
	}
	mustPut(t, ctx, w, "link", "through the link")
	if text := tree(t, dir); text["link"] != "-> a" || text["a"] != "through the link" {
		t.Errorf("%v", text)
	}
}

func TestCancelledChange(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	write(t, filepath.Join(dir, "a"), "a")
	ctx, cancel := context.WithCancel(ctx)
	_, err := w.Change(ctx, []string{"new/b", "a"}, func([]*workspace.File) ([]workspace.Change, error) {
		return []workspace.Change{{Path: "new/b", Content: strings.NewReader("x")}, {Path: "a", Content: endless{cancel}}}, nil
	})
	if kind(err) != tool.Cancelled {
		t.Errorf("error %v", err)
	}
	mustBe(t, dir, map[string]string{"a": "a"})
}

func TestChangeKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	w, ctx, dir := workspacetest.New(t)
	path := filepath.Join(dir, "run.sh")
	write(t, path, "old")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 12345
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, ctx, w, "run.sh", "new")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o751 || ownerOf(info) != owner {
		t.Errorf("%v, owner %d, %v", info.Mode(), ownerOf(info), err)
	}
	_, err = w.Change(ctx, []string{"run.sh", "new.sh"}, func([]*workspace.File) ([]workspace.Change, error) {
		return []workspace.Change{{Path: "run.sh", Content: strings.NewReader("new"), Mode: 0o644}, {Path: "new.sh", Mode: 0o700}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"run.sh": 0o644, "new.sh": 0o700} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestHardLinksChangeTogether(t *testing.T) {
	outside := workspacetest.Dir(t)
	w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) { o.HardLinks = workspace.Allow })
	write(t, filepath.Join(dir, "a"), "old")
	for _, name := range []string{filepath.Join(dir, "b"), filepath.Join(dir, "c"), filepath.Join(outside, "stray")} {
		if err := os.Link(filepath.Join(dir, "a"), name); err != nil {
			t.Fatal(err)
		}
	}
	r := mustPut(t, ctx, w, "b", "new")
	if len(r.Files[0].Notes) != 1 || !strings.HasPrefix(r.Files[0].Notes[0], "1 other hard links") {
		t.Errorf("notes: %q", r.Files[0].Notes)
	}
	mustBe(t, dir, map[string]string{"a": "new", "b": "new", "c": "new"})
	mustBe(t, outside, map[string]string{"stray": "old"})
	one, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if two, err := os.Stat(filepath.Join(dir, "c")); err != nil || !os.SameFile(one, two) {
		t.Errorf("a and c are no longer one file, %v", err)
	}
	if _, err := w.Undo(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	mustBe(t, dir, map[string]string{"a": "old", "b": "old", "c": "old"})
	if r, err = putAll(ctx, w, map[string]string{"a": removed}); err != nil || len(r.Files[0].Notes) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	mustBe(t, dir, map[string]string{"b": "old", "c": "old"})
}

// TestParallelEdits checks that no concurrent edit of a file is lost, and that readers
// see complete files.
func TestParallelEdits(t *testing.T) {
	const editors, edits = 50, 4
	data := workspacetest.Dir(t)
	same := func(o *workspace.Options) { o.Data = filepath.Join(data, "data") }
	w1, ctx, dir := workspacetest.New(t, same)
	w2, _, _ := workspacetest.New(t, same)
	write(t, filepath.Join(dir, "f"), "")
	write(t, filepath.Join(dir, "g"), "")
	var wg sync.WaitGroup
	for i := range editors {
		w, paths := w1, []string{"f", "g"}
		if i%2 == 1 {
			w, paths = w2, []string{"g", "f"}
		}
		wg.Go(func() {
			for n := range edits {
				if _, err := w.Change(ctx, paths, appending(fmt.Sprintf("%d.%d\n", i, n))); err != nil {
					t.Errorf("editor %d: %v", i, err)
				}
				if text, err := read(ctx, w, "f"); err != nil || text != "" && !strings.HasSuffix(text, "\n") {
					t.Errorf("reader %d: %.40q, %v", i, text, err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"f", "g"} {
		lines := strings.Fields(tree(t, dir)[name])
		slices.Sort(lines)
		if n := len(slices.Compact(lines)); n != editors*edits {
			t.Errorf("%s: %d of %d edits are there", name, n, editors*edits)
		}
	}
	mustBe(t, dir, map[string]string{"f": tree(t, dir)["f"], "g": tree(t, dir)["g"]})
}
