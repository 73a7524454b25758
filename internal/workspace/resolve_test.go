package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestPaths(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Roots = []ExtraRoot{
			{Name: "docs", Path: filepath.Join(top, "docs")}, {Name: "team", Path: filepath.Join(top, "team"), Write: true},
			{Path: filepath.Join(top, "skills")}, {Name: "src", Path: filepath.Join(top, "src2")},
			{Name: "gone", Path: filepath.Join(top, "gone")},
		}
	})
	top := filepath.Dir(ws)
	plant(t, top, map[string]string{
		"docs/d.txt": "docs", "team/t.txt": "team", "skills/s.md": "skills", "src2/x.txt": "src2",
		"ws-evil/e.txt": "evil", "WS/e.txt": "evil", "outside.txt": "evil", "out/o.txt": "evil",
		"ws2": "-> ws",
	})
	plant(t, ws, map[string]string{
		"a.txt": "a", "dir/b.txt": "b", "dir/sub/c.txt": "c", "@scope/p.txt": "p", "@file": "at", "src/y.txt": "y",
		"~odd": "odd", "~/n.txt": "n", `esc\x41`: "literal", "escA": "other", "name\xff.txt": "latin", "nl\nx": "newline", "d\xff/": "",
		"to-a": "-> a.txt", "to-dir": "-> dir", "to-sub": "-> dir/sub", "abs": "-> " + ws + "/dir/b.txt", "loop": "-> loop2", "loop2": "-> loop",
		"to-docs": "-> ../docs/d.txt", "to-team": "-> " + top + "/team", "to-skills": "-> " + top + "/skills",
		"out": "-> ../out", "outfile": "-> " + top + "/outside.txt", "etc": "-> /etc", "dangle-out": "-> ../none", "dangle": "-> dir/none",
		"up": "-> ..", "evil": "-> ../ws-evil/e.txt", "self": "-> .", "alias": "-> ../ws2/a.txt", "dir/back": "-> ../a.txt",
	})
	outside := string(tool.Refused) + ": %q is outside the workspace;"
	tests := []struct {
		path  string
		in    intent
		shown string // or the start of the error
	}{
		{"a.txt", toRead, "a.txt"},
		{"./a.txt", toRead, "a.txt"},
		{".//dir/./b.txt", toRead, "dir/b.txt"},
		{"dir/b.txt/", toRead, "dir/b.txt"},
		{ws + "/a.txt", toRead, "a.txt"},
		{ws + "//dir/../a.txt", toRead, "a.txt"},
		{top + "/ws/../ws/a.txt", toRead, "a.txt"},
		{"file://" + ws + "/a.txt", toRead, "a.txt"},
		{"file://localhost" + ws + "/dir%2Fb.txt", toRead, "dir/b.txt"},
		{"file://elsewhere" + ws + "/a.txt", toRead, "refused: "},
		{"file:///%00", toRead, "invalid: "},
		{"~/ws/a.txt", toRead, "a.txt"},
		{"./~/n.txt", toRead, "./~/n.txt"},
		{"~/outside.txt", toRead, outside},
		{"~root/x", toRead, "refused: "},
		{"~odd", toRead, "./~odd"},
		{"@a.txt", toRead, "a.txt"},
		{"@" + ws + "/a.txt", toRead, "a.txt"},
		{"@~/ws/a.txt", toRead, "a.txt"},
		{"@file", toRead, "./@file"},
		{"@scope/p.txt", toRead, "./@scope/p.txt"},
		{"@../outside.txt", toRead, outside},
		{"@/etc/passwd", toRead, outside},
		{"@@a.txt", toRead, "not_found: "},
		{"workspace_dir/a.txt", toRead, "a.txt"},
		{"workspace_dir", toList, "."},
		{"workspace_dir/../outside.txt", toRead, outside},
		{"file_cache_dir/x", toRead, "not_found: "},
		{"file_cache_dir/x", toWrite, "file_cache_dir/x"},
		{"file_state_dir", toList, "not_found: "},
		{"docs/d.txt", toRead, "docs/d.txt"},
		{"docs", toList, "docs"},
		{"docs/../outside.txt", toRead, outside},
		{"docs/../ws/a.txt", toRead, "a.txt"},
		{"docs/d.txt", toWrite, "refused: "},
		{"team/new.txt", toWrite, "team/new.txt"},
		{"src/y.txt", toRead, "src/y.txt"},
		{"src/x.txt", toRead, "not_found: "},
		{top + "/src2/x.txt", toRead, top + "/src2/x.txt"},
		{top + "/skills/s.md", toRead, top + "/skills/s.md"},
		{top + "/docs/d.txt", toRead, "docs/d.txt"},
		{"gone/x", toRead, "not_found: "},
		{"", toList, "."},
		{".", toList, "."},
		{"/", toList, outside},
		{"", toRead, "invalid: "},
		{"a\x00.txt", toRead, "invalid: "},
		{strings.Repeat("a/", 3000), toRead, "invalid: "},
		{strings.Repeat("a", 300), toWrite, "invalid: "},
		{"dir", toRead, `invalid: "dir" is a directory; call list_files`},
		{".", toWrite, "invalid: "},
		{"to-a", toRead, "a.txt"},
		{"to-dir/b.txt", toRead, "dir/b.txt"},
		{"self/self/a.txt", toRead, "a.txt"},
		{"abs", toRead, "dir/b.txt"},
		{"to-sub/../b.txt", toRead, "dir/b.txt"},
		{"to-sub/../../a.txt", toRead, "a.txt"},
		{"none/../a.txt", toRead, "a.txt"},
		{"dir/back", toRead, "a.txt"},
		{"to-docs", toRead, "docs/d.txt"},
		{"to-docs", toWrite, "refused: "},
		{"to-team/new.txt", toWrite, "team/new.txt"},
		{"to-skills/s.md", toRead, top + "/skills/s.md"},
		{"alias", toRead, outside},
		{"loop", toRead, "refused: "},
		{"dangle", toWrite, "dir/none"},
		{"dangle", toRead, "not_found: "},
		{"dangle-out", toWrite, outside},
		{"dangle-out", toRead, outside},
		{"out/o.txt", toRead, outside},
		{"out/none", toWrite, outside},
		{"outfile", toRead, outside},
		{"etc/passwd", toRead, outside},
		{"up/outside.txt", toRead, outside},
		{"up/ws/a.txt", toRead, "a.txt"},
		{"evil", toRead, outside},
		{"../ws-evil/e.txt", toRead, outside},
		{ws + "-evil/e.txt", toRead, outside},
		{top + "/WS/e.txt", toRead, outside},
		{"../outside.txt", toRead, outside},
		{"../none.txt", toRead, outside},
		{"../../../../../../../etc/passwd", toRead, outside},
		{"/etc/passwd", toRead, outside},
		{"/none/such", toWrite, outside},
		{"a.txt/x", toRead, `not_found: no file "a.txt/x": "a.txt" is a file`},
		{"a.txt/x/y", toWrite, `invalid: "a.txt/x/y" cannot be created: "a.txt" is a file`},
		{"new/deep/file", toWrite, "new/deep/file"},
		{"dir/bb.txt", toRead, `not_found: no file "dir/bb.txt"; did you mean "dir/b.txt"?`},
		{"dir/other.go", toRead, `not_found: no file "dir/other.go"; call glob with "**/other.go" to look for it everywhere, or list_files on "dir"`},
		{"dir/[x]", toRead, `not_found: no file "dir/[x]"; call list_files on "dir" to see what is there`},
		{"dri/b.txt", toRead, `not_found: no file "dri/b.txt": there is no directory "dri"; did you mean "dir"?`},
		{`name\xff.txt`, toRead, `name\xff.txt`},
		{"name\xff.txt", toRead, `name\xff.txt`},
		{`nl\x0ax`, toRead, `nl\x0ax`},
		{`esc\x41`, toRead, `esc\x41`},
		{`dir\x2fb.txt`, toRead, "not_found: "},
		{`new\x41`, toWrite, `new\x41`},
		{`d\xff/new.txt`, toWrite, `d\xff/new.txt`},
	}
	for _, test := range tests {
		want := strings.ReplaceAll(test.shown, "%q", quoted(test.path))
		p, err := w.resolve(ctx, test.path, test.in)
		got := p.shown
		if err != nil {
			got = err.Error()
		}
		if err != nil && !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("find(%.60q, %d): %s, want %s", test.path, test.in, got, want)
		}
		leaks := strings.Contains(strings.ReplaceAll(got, ws, ""), top) && !strings.Contains(test.path, top)
		if strings.Contains(got, "\xff") || err != nil && leaks {
			t.Errorf("find(%q) tells %s", test.path, got)
		}
		if err == nil && test.in == toRead {
			again, err := w.resolve(ctx, p.shown, test.in)
			if err != nil || again.name != p.name || again.mount != p.mount {
				t.Errorf("find(%q) is shown as %q, which leads to %q, %v", test.path, p.shown, again.name, err)
			}
		}
	}
	if p, err := w.resolve(ctx, `d\xff/new.txt`, toWrite); p.name != "d\xff/new.txt" || err != nil {
		t.Errorf("a new file in a directory that is no text: %q, %v", p.name, err)
	}
	for path, want := range map[string]string{"esc\\x41": "literal", `name\xff.txt`: "latin", "@file": "at", "src/y.txt": "y", "to-docs": "docs"} {
		if got, err := content(ctx, w, path); got != want || err != nil {
			t.Errorf("Open(%q): %q, %v; want %q", path, got, err, want)
		}
	}
}

func quoted(path string) string {
	return strings.TrimPrefix(tool.Errorf("", "%q", path).What, "")
}

func TestErrorOutsideIsAlwaysTheSame(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, filepath.Dir(ws), map[string]string{"x": "there"})
	plant(t, ws, map[string]string{"y": "-> ../x", "z": "-> ../none"})
	answer := func(path string) string {
		_, err := w.resolve(ctx, path, toRead)
		if kindOf(err) != tool.Refused {
			t.Fatalf("%q: %v", path, err)
		}
		return strings.ReplaceAll(err.Error(), quoted(path), "PATH")
	}
	want := answer("../x")
	if !strings.Contains(want, ws) || !strings.Contains(want, "file_cache_dir/") {
		t.Errorf("it does not say what can be reached: %s", want)
	}
	for _, path := range []string{"../none", "y", "z", "/etc/passwd", "/none", "y/more", "../x/more", "../data/files"} {
		if got := answer(path); got != want {
			t.Errorf("%q: %s\nbut ../x: %s", path, got, want)
		}
	}
}

func TestSpecialFiles(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		o.Roots = []ExtraRoot{{Name: "proc", Path: "/proc"}, {Name: "dev", Path: "/dev"}}
	})
	special(t, ws)
	for _, path := range []string{"fifo", "socket", "dev/zero", "dev/null", "proc/self/environ", "proc/version"} {
		if _, err := content(ctx, w, path); err == nil || kindOf(err) == tool.Internal {
			t.Errorf("%s: %v, want a refusal", path, err)
		}
	}
}

func TestWorkspaceRemovedAndCreatedAgain(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	for _, text := range []string{"one", "two"} {
		if err := os.RemoveAll(ws); err != nil {
			t.Fatal(err)
		}
		if _, err := w.resolve(ctx, "a", toList); kindOf(err) != tool.Unavailable {
			t.Errorf("without a directory: %v", err)
		}
		plant(t, ws, map[string]string{"a": text})
		if got, err := content(ctx, w, "a"); got != text || err != nil {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	for _, dir := range []string{"", "relative", w.o.Data, filepath.Join(w.o.Data, "files"), filepath.Join(w.o.Data, "files", "copies")} {
		if filepath.IsAbs(dir) {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.resolve(callFor(t.Context(), dir), "a", toList); kindOf(err) != tool.Unavailable {
			t.Errorf("workspace %q: %v", dir, err)
		}
	}
}
