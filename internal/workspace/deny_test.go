package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestDeny(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Home = filepath.Join(top, "ho*me")
		o.Roots = []ExtraRoot{{Name: "docs", Path: filepath.Join(top, "docs")}, {Name: "inner", Path: filepath.Join(top, "ws", "inner")}}
		o.Deny = append(o.Deny, "secret/", "/top.txt", "caf\u00e9.txt", "inner/hidden.txt", "~/ws/private", top+"/docs/by-path.txt", top, "*.log", "!keep.log")
		o.Home = top
	})
	top := filepath.Dir(ws)
	plant(t, top, map[string]string{"docs/.env": "x", "docs/by-path.txt": "x", "docs/top.txt": "x", "docs/ok.txt": "ok"})
	plant(t, ws, map[string]string{
		".env": "x", ".env.local": "x", ".env.example": "ok", "sub/.ENV": "x", "id_rsa": "x", "id_rsa.pub": "ok", "cert.PEM": "x",
		"secret/a/b": "x", "top.txt": "x", "sub/top.txt": "ok", "cafe\u0301.txt": "x", "CAF\u00c9.TXT": "x", "private/p": "x",
		"inner/hidden.txt": "x", "inner/ok.txt": "ok", "x.log": "x", "keep.log": "ok", ".ssh/config": "x", ".aws/credentials": "x",
		"plain": "-> .env", "chain": "-> plain", "sub/up": "-> ../secret", "into-docs": "-> ../docs/.env", "secret/link": "-> ../sub/top.txt",
		"through": "-> secret/link", "dangling": "-> .env.production", "ok.txt": "ok",
	})
	if err := os.Link(filepath.Join(ws, ".env"), filepath.Join(ws, "hard.txt")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		".env": "", "./.env": "", "sub/../.env": "", ws + "/.env": "", "@.env": "", ".env.local": "", "sub/.ENV": "", "id_rsa": "", "cert.PEM": "",
		"secret": "", "secret/a/b": "", "secret/none": "", "none/secret/x": "", "top.txt": "", "docs/top.txt": "", "docs/.env": "", "docs/by-path.txt": "",
		"cafe\u0301.txt": "", "caf\u00e9.txt": "", "CAF\u00c9.TXT": "", "private/p": "", "inner/hidden.txt": "", ws + "/inner/hidden.txt": "",
		"x.log": "", ".ssh/config": "", ".ssh": "", ".aws/credentials": "", "plain": "", "chain": "", "sub/up/a/b": "", "into-docs": "",
		"secret/link": "", "through": "", "dangling": "", ".env.production": "", ".env/../ok.txt": "", "hard.txt": "linked", "secret/../ok.txt": "",
		".env.example": "ok", "id_rsa.pub": "ok", "sub/top.txt": "ok", "docs/ok.txt": "ok", "inner/ok.txt": "ok", "keep.log": "ok", "ok.txt": "ok",
	} {
		got, err := content(ctx, w, path)
		if want == "ok" {
			if got != "ok" || err != nil {
				t.Errorf("%q: %q, %v; want it", path, got, err)
			}
			continue
		}
		text := quoted(path) + " is denied to tools"
		if want == "linked" {
			text = "has other hard links"
		}
		if kindOf(err) != tool.Refused || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %q, %v; want it refused", path, got, err)
		}
	}
	_, there := w.resolve(ctx, ".env", toRead)
	_, none := w.resolve(ctx, "sub/.env", toRead)
	if strings.ReplaceAll(none.Error(), "sub/.env", ".env") != there.Error() {
		t.Errorf("the answers reveal what exists: %v, %v", there, none)
	}
	if _, err := w.resolve(ctx, ".enw", toRead); kindOf(err) != tool.NotFound || strings.Contains(err.Error(), `".env"`) {
		t.Errorf("a denied name is suggested: %v", err)
	}
}

func TestProtect(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{
		".git/config": "ok", ".git/hooks/": "", "sub/.git": "ok", ".vscode": "-> other", "other/settings.json": "ok", ".bashrc": "ok",
		"config": "-> .git/config", ".mcp.json": "ok", ".github/workflows/ci.yml": "ok", ".gitignore": "ok",
	})
	for path, want := range map[string]tool.Kind{
		".git/config": tool.Refused, ".git/hooks/pre-commit": tool.Refused, "sub/.git": tool.Refused, ".GIT/config": tool.Refused,
		"config": tool.Refused, ".vscode/settings.json": tool.Refused, ".bashrc": tool.Refused, ".mcp.json": tool.Refused, ".zshrc": tool.Refused,
		".github/workflows/ci.yml": tool.Refused, "other/settings.json": "", ".github/ISSUE.md": "", ".gitignore": "",
	} {
		_, err := w.resolve(ctx, path, toWrite)
		if kindOf(err) != want || err != nil && !strings.Contains(err.Error(), "is protected") {
			t.Errorf("writing %q: %v, want %q", path, err, want)
		}
	}
	if got, err := content(ctx, w, "config"); got != "ok" || err != nil {
		t.Errorf("reading: %q, %v", got, err)
	}
}

// TestDataIsNeverReached puts the data directory within directories of the caller.
func TestDataIsNeverReached(t *testing.T) {
	var data string
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		data = filepath.Join(filepath.Dir(o.Data), "ws", "state", "Data")
		o.Data = data
		o.Roots = []ExtraRoot{
			{Name: "all", Path: filepath.Dir(filepath.Dir(filepath.Dir(data))), Write: true},
			{Name: "data", Path: data, Write: true},
		}
	})
	plant(t, ws, map[string]string{"state/Data/changes.jsonl": "x", "state/Data/files/copies/1": "x", "state/ok.txt": "ok", "link": "-> state/Data"})
	plant(t, ws, map[string]string{"state/Data/files/cache/a/u/mine.txt": "ok"})
	for _, path := range []string{
		"state/Data", "state/Data/changes.jsonl", "state/Data/none", data + "/changes.jsonl", "all/ws/state/Data/changes.jsonl", "link", "link/changes.jsonl",
		"state/Data/../ok.txt", "state/Data/files/cache", "state/data/changes.jsonl", "file_cache_dir/../../../../changes.jsonl",
		"state/Data/files/cache/other/u/x", "file_cache_dir/../../other/u/x",
	} {
		for _, in := range []intent{toRead, toWrite, toList} {
			if p, err := w.resolve(ctx, path, in); kindOf(err) != tool.Refused {
				t.Errorf("%q: %+v, %v; want it refused", path, p, err)
			}
		}
	}
	for _, path := range []string{"state/ok.txt", "all/ws/state/ok.txt", "file_cache_dir/mine.txt", data + "/files/cache/a/u/mine.txt"} {
		if got, err := content(ctx, w, path); got != "ok" || err != nil {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	if _, err := w.resolve(ctx, "data/changes.jsonl", toRead); kindOf(err) != tool.NotFound && kindOf(err) != tool.Refused {
		t.Errorf("a root that is the data directory: %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"relative data": func(o *Options) { o.Data = "data" },
		"per":           func(o *Options) { o.PerCaller = "team" },
		"links":         func(o *Options) { o.HardLinks = "all" },
		"relative root": func(o *Options) { o.Roots = []ExtraRoot{{Name: "x", Path: "x"}} },
		"root name":     func(o *Options) { o.Roots = []ExtraRoot{{Name: "a/b", Path: "/x"}} },
		"dots":          func(o *Options) { o.Roots = []ExtraRoot{{Name: "..", Path: "/x"}} },
		"tilde":         func(o *Options) { o.Roots = []ExtraRoot{{Name: "~x", Path: "/x"}} },
		"alias":         func(o *Options) { o.Roots = []ExtraRoot{{Name: "file_cache_dir", Path: "/x"}} },
		"twice":         func(o *Options) { o.Roots = []ExtraRoot{{Name: "a", Path: "/x"}, {Name: "a", Path: "/y"}} },
		"pattern":       func(o *Options) { o.Deny = []string{""} },
		"class":         func(o *Options) { o.Protect = []string{"[z"} },
	} {
		o := Options{Data: filepath.Join(t.TempDir(), "data")}
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNamesChange denies and protects other files while the workspace is open.
func TestNamesChange(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"a.txt": "ok", "b.txt": "ok", "d/c.txt": "ok"})
	seen := func() (all string) {
		for _, name := range []string{"a.txt", "b.txt", "d/c.txt"} {
			if got, err := content(ctx, w, name); err == nil && got == "ok" {
				all += name[len(name)-5 : len(name)-4]
			}
			if _, err := w.resolve(ctx, name, toWrite); err == nil {
				all += "w"
			}
		}
		g, err := w.Layout(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range g.Hidden {
			if rel, err := filepath.Rel(ws, path); err == nil && filepath.IsLocal(rel) {
				all += " -" + filepath.ToSlash(rel)
			}
		}
		return all
	}
	for _, step := range []struct {
		deny, protect []string
		want          string
	}{
		{nil, nil, "awbwcw"},
		{[]string{"a.txt"}, []string{"d/"}, "bwc -a.txt"},
		{[]string{"/d"}, []string{"b.txt"}, "awb -d"},
		{nil, nil, "awbwcw"},
	} {
		if err := w.SetNames(step.deny, step.protect); err != nil {
			t.Fatal(err)
		}
		if got := seen(); got != step.want {
			t.Errorf("without %q, protecting %q: %s, want %s", step.deny, step.protect, got, step.want)
		}
	}
	if err := w.SetNames([]string{"!"}, nil); err == nil {
		t.Error("a wrong pattern is accepted")
	}
	if got := seen(); got != "awbwcw" {
		t.Errorf("a wrong pattern changes something: %s", got)
	}
}
