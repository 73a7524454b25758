package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// FuzzResolve resolves any path. The result must be inside the roots, as the standard
// library resolves it, and have no links; an error must be one for the model.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"a.txt", "../x", "dir/../../x", "link/../x", "abs/c.txt", "@a.txt", "@../x", "~", "~/ws/a.txt", "~root", "file:///etc/passwd", "file://localhost/%2e%2e",
		"docs/d.txt", "docs/../x", "workspace_dir/..", "file_cache_dir/x", "loop", "out/x", "dangle", "\\x2e\\x2e/x", "a\xff", "", "/", "//", "././/", "...", "..\\x",
		"up/ws/up/ws/a.txt", "self/self/self", "/proc/self/root", "dir/up2/docs/d.txt", "sec", ".env", "a.txt/..", "@file:///etc", "none/none/../../../x",
	} {
		f.Add(seed, 0)
		f.Add(seed, 1)
		f.Add(seed, 2)
	}
	w, ctx, ws := testWorkspace(f, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Roots = []ExtraRoot{
			{Name: "docs", Path: filepath.Join(top, "docs")},
			{Name: "in", Path: filepath.Join(top, "ws", "dir"), Write: true},
		}
	})
	top := filepath.Dir(ws)
	plant(f, top, map[string]string{"x": "evil", "docs/d.txt": "d", "out/x": "evil", "data/changes.jsonl": "evil"})
	plant(f, ws, map[string]string{
		"a.txt": "a", "dir/sub/c.txt": "c", "link": "-> dir/sub", "abs": "-> " + ws + "/dir/sub", "loop": "-> loop", "out": "-> ../out", "dangle": "-> dir/none",
		"up": "-> ..", "self": "-> .", "dir/up2": "-> ../..", "sec": "-> .env", ".env": "evil", "x": "ok", "etc": "-> /etc", "proc": "-> /proc/self/root",
	})
	f.Fuzz(func(t *testing.T, path string, n int) {
		in := intent(uint(n) % 3)
		p, err := w.resolve(ctx, path, in)
		if err != nil {
			if kind := kindOf(err); kind == "" || kind == "internal" {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if strings.Contains("/"+strings.ToLower(p.name)+"/", "/.env/") ||
			p.name != "." && !fs.ValidPath(strings.ToValidUTF8(p.name, "_")) {
			t.Fatalf("%q leads to %q", path, p.name)
		}
		if in == toWrite && !p.mount.write {
			t.Fatalf("%q may be written, at %q", path, p.mount.path)
		}
		full := filepath.Join(p.mount.path, filepath.FromSlash(p.name))
		past, err := filepath.EvalSymlinks(full)
		for ; errors.Is(err, fs.ErrNotExist) && in == toWrite; past, err = filepath.EvalSymlinks(full) {
			full = filepath.Dir(full)
		}
		if in == toWrite && err != nil { // longer than a file name may be
			return
		}
		if err != nil || past != full {
			t.Fatalf("%q leads to %q, and that to %q, %v", path, full, past, err)
		}
		inside := false
		own := filepath.Join(w.o.Data, "files")
		for _, dir := range []string{
			ws, filepath.Join(top, "docs"), filepath.Join(own, "cache"), filepath.Join(own, "state"),
		} {
			inside = inside || past == dir || strings.HasPrefix(past, dir+"/")
		}
		if !inside {
			t.Fatalf("%q leads out, to %q", path, past)
		}
		if info, err := root.StatPath(past); in != toWrite && (err != nil || !sameFile(info, p.info)) {
			t.Fatalf("%q: %+v is not %+v, %v", path, info, p.info, err)
		}
	})
}

// FuzzDisplay checks that the displayed form of a name is UTF-8 and can be reversed.
func FuzzDisplay(f *testing.F) {
	for _, seed := range []string{"a", "\xff", "a\nb", `\x41`, "\u202e", "caf\u00e9", `\x`, "\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		shown := display(name)
		if strings.ContainsAny(shown, "\n\x00\x1b") || strings.ToValidUTF8(shown, "") != shown {
			t.Fatalf("%q is shown as %q", name, shown)
		}
		if strings.Contains(name, `\x`) || strings.ContainsAny(name, "\x00") {
			return
		}
		if back, changed := unescaped(shown); back != name || changed != (shown != name) {
			t.Fatalf("%q is shown as %q and read as %q", name, shown, back)
		}
	})
}

func FuzzCallerDirName(f *testing.F) {
	f.Add("a", "A")
	f.Add("..", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := callerDirName(a), callerDirName(b)
		if !filepath.IsLocal(x) || strings.ContainsAny(x, "/\\.") || len(x) > 80 {
			t.Fatalf("%q becomes %q", a, x)
		}
		if a != b && strings.EqualFold(x, y) {
			t.Fatalf("%q and %q share %q", a, b, x)
		}
	})
}
