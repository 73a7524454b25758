package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestPerCaller(t *testing.T) {
	for _, per := range []PerCaller{Agent, User} {
		w, _, ws := testWorkspace(t, func(o *Options) { o.PerCaller = per })
		where := map[string]tool.Caller{}
		for _, agent := range []string{"a", "A", "..", "", "a/b", "a%2Fb", ".", "con", "a\x00", "\xff"} {
			for _, user := range []string{"u", "U", "../x", ""} {
				c := tool.Caller{Agent: agent, User: user, Workspace: ws}
				ctx := tool.With(t.Context(), &tool.Running{Caller: c})
				p, err := w.resolve(ctx, "file", toWrite)
				if err != nil {
					t.Fatalf("%q/%q: %v", agent, user, err)
				}
				dir, err := filepath.Rel(ws, p.mount.path)
				if err != nil || !filepath.IsLocal(dir) || dir == "." {
					t.Errorf("%q/%q gets %q", agent, user, p.mount.path)
				}
				if info, err := os.Stat(p.mount.path); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v, %v", dir, info, err)
				}
				if other, taken := where[dir]; taken && (other.Agent != agent || per == User && other.User != user) {
					t.Errorf("%q/%q and %q/%q share %q", agent, user, other.Agent, other.User, dir)
				}
				where[dir] = c
				for _, path := range []string{"..", "../", "../a", "../../a", filepath.Join(ws, "a"), ws} {
					if p, err := w.resolve(ctx, path, toList); err == nil && p.mount.path != filepath.Join(ws, dir) {
						t.Errorf("%q/%q reaches %q by %q", agent, user, p.mount.path, path)
					}
				}
			}
		}
	}
}

func TestPerCallerRefusesLinks(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) { o.PerCaller = Agent })
	plant(t, filepath.Dir(ws), map[string]string{"ws/a": "-> ../other", "other/x": "evil"})
	if got, err := content(ctx, w, "x"); err == nil {
		t.Errorf("a link in place of the directory gives %q", got)
	}
}

func TestCacheAndStateDirectories(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	p, err := w.resolve(ctx, "file_state_dir/sub/x", toWrite)
	if err != nil || p.shown != "file_state_dir/sub/x" || p.mount.path != filepath.Join(w.o.Data, "files", "state", "a", "u") {
		t.Fatalf("%+v, %v", p, err)
	}
	plant(t, p.mount.path, map[string]string{"x": "state", "out": "-> /etc/passwd", "home": "-> " + ws + "/f"})
	plant(t, ws, map[string]string{"f": "file", "to-state": "-> " + p.mount.path + "/x"})
	for path, want := range map[string]string{"file_state_dir/x": "state", "file_state_dir/home": "file", "to-state": "state", p.mount.path + "/x": "state"} {
		if got, err := content(ctx, w, path); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"file_state_dir/out", "file_state_dir/../u/x", "file_state_dir/../../b/u/x"} {
		got, err := content(ctx, w, path)
		if err == nil && got != "state" || err != nil && kindOf(err) != tool.Refused {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	other := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "b", User: "u", Workspace: ws}})
	for _, path := range []string{"file_state_dir/x", "to-state", p.mount.path + "/x"} {
		if got, err := content(other, w, path); err == nil {
			t.Errorf("another caller reads %q by %q", got, path)
		}
	}
}

// TestManyWorkspaces uses more workspaces than are kept open, while one is in use.
func TestManyWorkspaces(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"f": "mine"})
	p, err := w.resolve(ctx, "f", toRead)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxMounts + 50 {
		dir := filepath.Join(filepath.Dir(ws), fmt.Sprint(i))
		plant(t, dir, map[string]string{"f": fmt.Sprint(i)})
		if got, err := content(callFor(t.Context(), dir), w, "f"); got != fmt.Sprint(i) || err != nil {
			t.Fatalf("%d: %q, %v", i, got, err)
		}
	}
	if len(w.mounts) > maxMounts {
		t.Errorf("%d directories are open", len(w.mounts))
	}
	file, _, err := w.open(ctx, p)
	if err != nil {
		t.Fatalf("a place that was found before: %v", err)
	}
	_ = file.Close()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.resolve(ctx, "f", toRead); kindOf(err) != tool.Unavailable {
		t.Errorf("after Close: %v", err)
	}
}

// TestRootsInRoots checks roots within roots: the rights of the innermost one apply,
// whichever path leads there.
func TestRootsInRoots(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Roots = []ExtraRoot{{Name: "vendor", Path: filepath.Join(top, "ws", "third", "vendor")}, {Name: "all", Path: top}}
	})
	plant(t, ws, map[string]string{"third/vendor/v.txt": "v", "a.txt": "a", "link": "-> third/vendor"})
	for path, want := range map[string]tool.Kind{
		"third/vendor/v.txt": tool.Refused, "third/vendor/new.txt": tool.Refused, "third/vendor/new/x": tool.Refused, "link/v.txt": tool.Refused,
		ws + "/third/vendor/v.txt": tool.Refused, "all/ws/third/vendor/v.txt": tool.Refused, "all/x": tool.Refused,
		"a.txt": "", "third/x": "", "all/ws/a.txt": "", "third/vendor/../x": "",
	} {
		if p, err := w.resolve(ctx, path, toWrite); kindOf(err) != want {
			t.Errorf("writing %q: %q, %v; want %q", path, p.shown, err, want)
		}
	}
	one, err := w.resolve(ctx, "all/ws/third/../a.txt", toRead)
	two, err2 := w.resolve(ctx, "a.txt", toRead)
	if one != two || err != nil || err2 != nil {
		t.Errorf("one file is in two places: %+v and %+v, %v, %v", one, two, err, err2)
	}
}
