package workspace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// relative returns paths relative to a directory.
func relative(t *testing.T, top string, all []string) []string {
	t.Helper()
	var out []string
	for _, p := range all {
		rel, err := filepath.Rel(top, p)
		if err != nil || !filepath.IsAbs(p) {
			t.Fatalf("%q is not an absolute path: %v", p, err)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func same(t *testing.T, what string, got []string, want string) {
	t.Helper()
	wanted := strings.Fields(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: %q\nwant %q", what, got, wanted)
	}
}

func TestLayout(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Data = filepath.Join(top, "ws", "state", "data")
		o.Roots = []ExtraRoot{
			{Name: "docs", Path: filepath.Join(top, "docs")}, {Name: "team", Path: filepath.Join(top, "team"), Write: true},
			{Path: filepath.Join(top, "skills")}, {Path: filepath.Join(top, "more", "skills")},
			{Name: "in", Path: filepath.Join(top, "ws", "inner")},
			{Name: "gone", Path: filepath.Join(top, "gone")}, {Name: "lost", Path: filepath.Join(top, "ws", "secret", "root")},
		}
		o.Deny = append(o.Deny, "secret/", "inner/hidden.txt", "*.log", "!keep.log", top+"/docs/by-path.txt")
		o.Protect = append(o.Protect, "keep.txt", "/locked/")
	})
	top := filepath.Dir(ws)
	plant(t, top, map[string]string{
		"docs/.env": "", "docs/by-path.txt": "", "docs/.bashrc": "", "team/.bashrc": "", "team/x.pem": "", "skills/s.md": "", "more/skills/": "",
		"outside/.env": "", "outside/config": "",
	})
	plant(t, ws, map[string]string{
		".env": "", ".env.example": "", "sub/.ENV": "", "node_modules/p/.npmrc": "", ".gitignore": "node_modules\nsub",
		"secret/a/b.pem": "", "secret/root/x": "", "state/data/key": "", "state/ok": "", "x.log": "", "keep.log": "", "inner/hidden.txt": "", "inner/.vscode/a": "",
		"keep.txt": "", "locked/a/b": "", "locked/.env": "", "src/locked/a": "", ".vscode/x": "", ".husky": "-> sub", "plain": "-> .env", ".env.link": "-> keep.log",
		"out": "-> ../outside", ".mcp-tools-0123456789.tmp": "",
	})
	g, err := w.Layout(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if g.Dir != ws {
		t.Errorf("the workspace is %q, want %q", g.Dir, ws)
	}
	var roots []string
	for _, r := range g.Roots {
		roots = append(roots, fmt.Sprintf("%s=%s:%t", r.Name, relative(t, top, []string{r.Path})[0], r.Write))
	}
	same(t, "roots", roots, "docs=docs:false team=team:true skills=skills:false skills-2=more/skills:false in=ws/inner:false")
	same(t, "hidden", relative(t, top, g.Hidden), `docs/.env docs/by-path.txt team/x.pem ws/.env ws/sub/.ENV ws/node_modules/p/.npmrc ws/secret
		ws/state/data ws/x.log ws/.mcp-tools-0123456789.tmp ws/inner/hidden.txt ws/locked/.env`)
	same(t, "locked", relative(t, top, g.Locked), "team/.bashrc ws/inner/.vscode ws/keep.txt ws/locked ws/.vscode")
}

func TestLayoutOfEachCaller(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) { o.PerCaller = User })
	g, err := w.Layout(ctx)
	if err != nil || g.Dir != filepath.Join(ws, "a", "u") || len(g.Roots) != 2 {
		t.Fatalf("%+v, %v", g, err)
	}
	for i, alias := range []string{"file_cache_dir", "file_state_dir"} { // they are there before anything is in them
		p, err := w.resolve(ctx, alias+"/x", toWrite)
		if r := g.Roots[i]; err != nil || r.Name != alias || r.Path != p.mount.realPath || !r.Write {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if _, err := w.Layout(callFor(t.Context(), "")); kindOf(err) != tool.Unavailable {
		t.Errorf("without a workspace: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := w.Layout(ended); kindOf(err) != tool.Cancelled {
		t.Errorf("of an ended call: %v", err)
	}
}

const repository = `HEAD config hooks/pre-commit objects/ab/c refs/heads/config refs/heads/main index logs/refs/heads/config config.worktree commondir`

func TestLayoutOfGit(t *testing.T) {
	needGit := func(change ...string) sandbox.Directories {
		w, ctx, ws := testWorkspace(t, func(o *Options) { o.Protect = append(o.Protect, change...) })
		for _, dir := range []string{".git", "sub/.git", ".git/modules/libs/m", "bare", "elsewhere/gd", "linked", "not"} {
			for _, f := range strings.Fields(repository) {
				if dir != "not" || f != "HEAD" {
					plant(t, ws, map[string]string{dir + "/" + f: "x"})
				}
			}
		}
		plant(t, ws, map[string]string{
			".git/worktrees/w/commondir": "../..", ".git/worktrees/w/config.worktree": "", ".git/worktrees/w/HEAD": "", ".git/worktrees/w/logs/config": "",
			"m/.git": "gitdir: ../.git/modules/libs/m\n", "e/.git": "gitdir: " + ws + "/odd\n", "odd/config": "", "odd/hooks/x": "", "o/.git": "gitdir: ../../outside",
			"bad/.git": "no", "l/.git": "-> ../lg", "lg/config": "", "lg/other": "", "hl/.git/hooks": "-> ../githooks", "hl/githooks/pre-commit": "", "hl/.git/config": "-> /etc/passwd",
			"empty/.git/": "", "src/config/a": "", "src/hooks/b": "",
		})
		if err := os.Link(filepath.Join(ws, "sub/.git/config"), filepath.Join(ws, "other-name")); err != nil {
			t.Fatal(err)
		}
		g, err := w.Layout(ctx)
		if err != nil {
			t.Fatal(err)
		}
		g.Locked = relative(t, ws, g.Locked)
		if len(g.Hidden) > 0 {
			t.Errorf("hidden: %q", g.Hidden)
		}
		return g
	}
	under := func(dirs ...string) (s string) {
		for _, dir := range dirs {
			for _, f := range gitSettings() {
				s += " " + dir + "/" + f
			}
		}
		return s
	}
	rest := under("sub/.git", ".git/modules/libs/m", "bare", "elsewhere/gd", "linked") + `
		.git/modules/libs/m/refs/heads/config .git/modules/libs/m/logs/refs/heads/config
		.git/worktrees/w/commondir .git/worktrees/w/config.worktree m/.git e/.git odd/config odd/hooks
		o/.git bad/.git lg/config hl/githooks other-name`
	same(t, "git", needGit().Locked, rest+under(".git"))
	same(t, "with an exception", needGit("!/.git/config", "!**/githooks").Locked,
		strings.ReplaceAll(rest, " hl/githooks", "")+" .git/hooks .git/config.worktree .git/commondir")
	same(t, "the whole", needGit("/.git/").Locked, " .git"+strings.NewReplacer(
		under(".git/modules/libs/m"), "", ".git/modules/libs/m/refs/heads/config", "", ".git/modules/libs/m/logs/refs/heads/config", "",
		".git/worktrees/w/commondir .git/worktrees/w/config.worktree", "").Replace(rest))
	same(t, "nothing", needGit("!.git").Locked, under("bare", "elsewhere/gd", "linked"))
}

// TestLayoutLetsGitWork checks that ordinary git commands do not change locked files.
func TestLayoutLetsGitWork(t *testing.T) {
	needtest.Program(t, "git")
	w, ctx, ws := testWorkspace(t)
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = ws
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ws, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	before, err := w.Layout(ctx)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a new repository", relative(t, ws, before.Locked), ".git/config .git/hooks")
	text := func() (all string) {
		for _, p := range before.Locked {
			b, _ := os.ReadFile(p)
			entries, _ := os.ReadDir(p)
			all += fmt.Sprintln(p, string(b), entries)
		}
		return all
	}
	was := text()
	plant(t, ws, map[string]string{"a.txt": "a"})
	git("add", "a.txt")
	git("commit", "-q", "-m", "one")
	git("checkout", "-q", "-b", "config")
	git("tag", "hooks")
	git("gc", "-q")
	if now := text(); now != was {
		t.Errorf("ordinary work changes what is locked:\n%s\n%s", was, now)
	}
	after, err := w.Layout(ctx)
	if err != nil || !slices.Equal(before.Locked, after.Locked) {
		t.Errorf("%q, %v; before %q", after.Locked, err, before.Locked)
	}
}

func TestLayoutHidesHardLinks(t *testing.T) {
	for _, rule := range []HardLinks{Inside, Allow} {
		w, ctx, ws := testWorkspace(t, func(o *Options) { o.HardLinks = rule })
		plant(t, ws, map[string]string{".env": "", ".bashrc": "", "sub/": ""})
		for from, to := range map[string]string{".env": "sub/one", ".bashrc": "two"} {
			if err := os.Link(filepath.Join(ws, from), filepath.Join(ws, to)); err != nil {
				t.Fatal(err)
			}
		}
		g, err := w.Layout(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := ".env sub/one"
		if rule == Allow {
			want = ".env"
		}
		same(t, "hidden", relative(t, ws, g.Hidden), want)
		same(t, "locked", relative(t, ws, g.Locked), ".bashrc two")
	}
}

func TestLayoutIsBounded(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	for i := range maxLayout/100 + 1 {
		for k := range 100 {
			plant(t, ws, map[string]string{fmt.Sprintf("d%d/k%d.key", i, k): ""})
		}
	}
	_, err := w.Layout(ctx)
	if kindOf(err) != tool.TooLarge || !strings.Contains(err.Error(), `"*.key" of workspace.deny`) {
		t.Errorf("%v", err)
	}
}

func TestDir(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		o.Roots = []ExtraRoot{{Name: "docs", Path: filepath.Join(filepath.Dir(o.Data), "docs")}}
	})
	plant(t, filepath.Dir(ws), map[string]string{"docs/d/x": "", "out/": ""})
	plant(t, ws, map[string]string{"sub/deep/f.txt": "", "to": "-> sub", "out": "-> ../out", ".ssh/": ""})
	for given, want := range map[string]string{
		"": "", ".": "", "sub/deep": "sub/deep", "to/deep": "sub/deep", "/workspace": "", "/workspace/sub": "sub", "docs/d": "../docs/d", "/roots/docs/d": "../docs/d",
	} {
		dir, identity, err := w.Dir(ctx, given)
		if err != nil || dir != filepath.Join(ws, want) {
			t.Errorf("Dir(%q): %q, %v", given, dir, err)
		}
		if again, other, err := w.Dir(ctx, dir); again != dir || other != identity || err != nil || identity == "" {
			t.Errorf("Dir(%q): %q %q, %v; want %q", dir, again, other, err, identity)
		}
	}
	for given, want := range map[string]tool.Kind{
		"sub/deep/f.txt": tool.Invalid, "none": tool.NotFound, "out": tool.Refused, ".ssh": tool.Refused,
		"..": tool.Refused, "/": tool.Refused, "a\x00": tool.Invalid,
	} {
		if dir, _, err := w.Dir(ctx, given); kindOf(err) != want {
			t.Errorf("Dir(%q): %q, %v", given, dir, err)
		}
	}
	_, _, err := w.Dir(ctx, "sub/deep/f.txt")
	if want := `invalid: "sub/deep/f.txt" is a file, not a directory; name the directory to run in, such as "sub/deep"`; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestContainerPaths(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		top := filepath.Dir(o.Data)
		o.Roots = []ExtraRoot{{Name: "docs", Path: filepath.Join(top, "docs")}, {Path: filepath.Join(top, "skills")}}
	})
	plant(t, filepath.Dir(ws), map[string]string{"docs/d.txt": "docs", "skills/s.md": "skills", "outside.txt": "x"})
	plant(t, ws, map[string]string{"a.txt": "a", "sub/b.txt": "b", ".env": "x"})
	for given, want := range map[string]string{
		"/workspace/a.txt": "a", "/workspace//sub/./b.txt": "b", "file:///workspace/a.txt": "a", "@/workspace/a.txt": "a", "/workspace/sub/../a.txt": "a",
		"/roots/docs/d.txt": "docs", "/roots/skills/s.md": "skills",
		"/workspace/../outside.txt": "refused", "/workspace/.env": "refused", "/workspacex/a.txt": "refused", "/workspace2": "refused", "/roots/none/x": "refused",
		"/roots": "refused", "/roots/docs/../outside.txt": "refused", "/workspace/none": "not_found", "/workspace": "invalid",
	} {
		got, err := content(ctx, w, given)
		if err != nil {
			got = string(kindOf(err))
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", given, got, err, want)
		}
	}
	if p, err := w.resolve(ctx, "/workspace/new/file", toWrite); err != nil || p.shown != "new/file" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := w.resolve(ctx, "/roots/docs/new", toWrite); kindOf(err) != tool.Refused {
		t.Errorf("a root that is read only: %v", err)
	}
}

// TestRealPathsLikeContainers checks that a path that really exists takes precedence.
func TestRealPathsLikeContainers(t *testing.T) {
	s := &callerView{w: &Workspace{}, mountsOpened: true}
	s.home = &mount{home: true, path: "/workspace/one", realPath: "/workspace/one"}
	s.mountList = []*mount{s.home}
	for _, given := range []string{"/workspace/a", "/workspace", "/roots/x"} {
		if m, name, ok := s.fromContainerPath(given); ok {
			t.Errorf("%q is %q in %q", given, name, m.path)
		}
	}
}

// TestLayoutFollowsChanges compares the layout after random changes with that of a
// workspace that remembers nothing. In one with many directories events report the changes.
func TestLayoutFollowsChanges(t *testing.T) {
	for name, others := range map[string]int{"few directories": 0, "many directories": minWatched} {
		t.Run(name, func(t *testing.T) { testLayoutFollowsChanges(t, others) })
	}
}

func testLayoutFollowsChanges(t *testing.T, others int) {
	w, ctx, ws := testWorkspace(t, func(o *Options) { o.Deny = append(o.Deny, "secret/") })
	makeDirs(t, filepath.Join(ws, "others"), others)
	random := rand.New(rand.NewPCG(1, 2))
	dirs := []string{"a", "a/b", "a/b/c", "d", "secret", "a/.git", "d/e", "others/1", "others/2/x", "-"}
	files := []string{".env", "x.pem", "plain", ".bashrc", "config", "HEAD"}
	name := func() string {
		return filepath.Join(ws, dirs[random.IntN(len(dirs))], files[random.IntN(len(files))])
	}
	for step := range 200 {
		var err error
		at := name()
		switch random.IntN(6) {
		case 0, 1, 2:
			err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o600))
		case 3:
			_ = os.Rename(filepath.Dir(at), filepath.Dir(name())) // may be impossible
		case 4:
			err = os.RemoveAll(filepath.Dir(at))
		default:
			_ = os.Rename(at, name())
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Layout(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := New(w.o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fresh.Layout(ctx)
		if err := errors.Join(err, fresh.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after step %d: %s", step, diff)
		}
		if step%10 == 0 {
			time.Sleep(settleTime) // so that some directories are not read again
		}
	}
}

// makeDirs creates empty directories with numbers as names.
func makeDirs(tb testing.TB, in string, n int) {
	tb.Helper()
	for i := range n {
		if err := os.MkdirAll(filepath.Join(in, strconv.Itoa(i)), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestLayoutSeesReplacedFiles(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, ws, map[string]string{"sub/.env": "one", ".git/config": "x", ".git/HEAD": "", ".git/objects/": "", ".git/refs/": ""})
	time.Sleep(2 * settleTime)
	before := ""
	for i, file := range []string{"", "sub/.env", ".git/config"} {
		if file != "" {
			plant(t, ws, map[string]string{file + ".new": "two"})
			if err := os.Rename(filepath.Join(ws, file+".new"), filepath.Join(ws, file)); err != nil {
				t.Fatal(err)
			}
		}
		g, err := w.Layout(ctx)
		if err != nil || (g.Covered == before) {
			t.Errorf("step %d: the layout is the same, %v", i, err)
		}
		before = g.Covered
		plant(t, ws, map[string]string{"sub/.env": "written in place"})
		if g, err := w.Layout(ctx); err != nil || g.Covered != before {
			t.Errorf("step %d: the layout changed with the contents of a file, %v", i, err)
		}
	}
}
