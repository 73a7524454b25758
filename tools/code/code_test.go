package code

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{"fake-language-server": fakeMain})
	os.Exit(m.Run())
}

// A world is a room with a workspace.
type world struct {
	*Room
	t   *testing.T
	ctx context.Context
	dir string
	ws  *workspace.Workspace
}

// newWorld returns a room whose servers run without isolation. A mode of "" is no server.
func newWorld(t *testing.T, mode string, files map[string]string) *world {
	t.Helper()
	return worldIn(t, host.Launcher{}, Settings{Servers: map[string]ServerSettings{
		"fake": {Command: []string{self(t, mode), "fake-language-server", mode}, Files: []string{".fake"}},
	}}, files)
}

func self(t *testing.T, mode string) string {
	t.Helper()
	if mode == "" {
		return "no-such-language-server"
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func worldIn(t *testing.T, l sandbox.Launcher, s Settings, files map[string]string) *world {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t, func(o *workspace.Options) {
		o.Deny, o.Protect = workspace.DefaultDeny(), workspace.DefaultProtect()
	})
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{
		Files: ws, Dir: ws.Dir, Secrets: secrets, Programs: &program.Runner{Tiers: sandbox.NewTiers(l)}, Settings: s,
		Home: filepath.Join(t.TempDir(), "code"), Log: slog.New(slog.DiscardHandler),
		Workplace: func(ctx context.Context) (commands.Workplace, error) {
			d, err := ws.Layout(ctx)
			return commands.Workplace{
				Tier: l.Name(), Isolated: l.Name() != sandbox.Host, Directories: d, Path: filepath.SplitList(os.Getenv("PATH")),
			}, err
		},
	})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{r, t, ctx, dir, ws}
}

// ask makes a call and returns its text, or the text of its error.
func (w *world) ask(args map[string]any) string {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	call, err := Tools(w.Room)[0].Bind(raw, tool.DefaultLimits())
	if err != nil {
		return err.Error()
	}
	res, err := call.Run(w.ctx)
	if err != nil {
		return tool.AsError(err).Error()
	}
	return res.Text()
}

func (w *world) wants(args map[string]any, wanted ...string) {
	w.t.Helper()
	got := w.ask(args)
	for _, want := range wanted {
		if unwanted, not := strings.CutPrefix(want, "!"); strings.Contains(got, unwanted) == not {
			w.t.Errorf("%v: %q is missing, or unwanted, in:\n%s", args, want, got)
		}
	}
}

func (w *world) content(name string) string {
	w.t.Helper()
	got, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(got)
}

// running returns the number of servers that have not ended.
func (w *world) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.servers {
		select {
		case <-s.gone:
		default:
			n++
		}
	}
	return n
}

func shop() map[string]string {
	return map[string]string{
		"tea.fake": "# brews\ndef brew\n\ndef pour\n  brew 😀 brew\n", "lib/cup.fake": "def fill\n  pour\n  brew\n",
		".env": "TOKEN=1\n", ".bashrc": "x\n",
	}
}

func TestQuestions(t *testing.T) {
	w := newWorld(t, "good", shop())
	for _, tt := range []struct {
		args map[string]any
		want []string
	}{
		{map[string]any{"action": "symbols", "path": "tea.fake"}, []string{"tea.fake: 2 symbols", "2 def brew", "4-5 def pour"}},
		{map[string]any{"action": "definition", "name": "pour", "path": "lib/cup.fake"}, []string{"tea.fake:4", "4 def pour", "5   brew 😀 brew"}},
		{map[string]any{"action": "definition", "name": "brew", "path": "tea.fake"}, []string{"1 # brews", "2 def brew"}},
		{map[string]any{"action": "references", "name": "brew", "path": "tea.fake"}, []string{"lib/cup.fake", "3 brew", "5 brew 😀 brew"}},
		{map[string]any{"action": "references", "name": "brew", "path": "lib/cup.fake", "line": 3}, []string{"tea.fake"}},
		{map[string]any{"action": "hover", "name": "brew", "path": "tea.fake"}, []string{"about brew"}},
		{map[string]any{"action": "implementations", "name": "brew", "path": "tea.fake"}, []string{"3 implementations"}},
		{map[string]any{"action": "diagnostics", "path": "tea.fake"}, []string{"no problems"}},
		{map[string]any{"action": "hover", "name": "steep", "path": "tea.fake"}, []string{`not_found: tea.fake does not have "steep"`}},
		{map[string]any{"action": "hover", "name": "brew", "path": "tea.fake", "line": 40}, []string{"not_found: line 40"}},
		{map[string]any{"action": "hover", "name": "brew", "path": "../x"}, []string{"!about"}},
		{map[string]any{"action": "symbols", "path": ".env"}, []string{"!TOKEN"}},
		{map[string]any{"action": "symbols"}, []string{"invalid: symbols needs a path"}},
		{map[string]any{"action": "hover"}, []string{"invalid: hover needs a name"}},
		{map[string]any{"action": "rename", "name": "brew", "new_name": "a b"}, []string{"invalid: new_name"}},
		{map[string]any{"action": "references", "name": "brew", "path": "tea.fake", "page": 9}, []string{"there is no page 9"}},
	} {
		w.wants(tt.args, tt.want...)
	}
	if n := w.running(); n != 1 {
		t.Errorf("%d servers", n)
	}
}

// TestChangesBesideTheServer changes files as commands do.
func TestChangesBesideTheServer(t *testing.T) {
	w := newWorld(t, "good", shop())
	hover := map[string]any{"action": "symbols", "path": "tea.fake"}
	w.wants(hover, "2 symbols")
	if err := os.WriteFile(filepath.Join(w.dir, "tea.fake"), []byte("def steep BUG\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wants(hover, "1 symbol", "def steep")
	w.wants(map[string]any{"action": "diagnostics", "path": "tea.fake"}, "1 problem", "1 error: a bug")
	if err := os.Remove(filepath.Join(w.dir, "tea.fake")); err != nil {
		t.Fatal(err)
	}
	w.wants(hover, "not_found")
	w.wants(map[string]any{"action": "symbols", "path": "lib/cup.fake"}, "1 symbol")
}

func TestProblems(t *testing.T) {
	w := newWorld(t, "good", shop())
	changed := []workspace.Changed{{Name: "tea.fake"}}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(w.dir, "tea.fake"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("BUG 1\n")
	if got := w.Problems(w.ctx, changed); got != "" {
		t.Errorf("without a server: %q", got)
	}
	w.wants(map[string]any{"action": "diagnostics", "path": "tea.fake"}, "1 problem")
	s := w.warm(w.ctx, of(w.languages, "tea.fake"))
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	write("BUG 1\nBUG 2\n")
	if got := s.problems(ctx, "tea.fake", strings.ToUpper); !slices.Equal(got, []string{"tea.fake:2 error: A BUG: BUG 2"}) {
		t.Errorf("got %q", got)
	}
	write("fine\n")
	if got := s.problems(ctx, "tea.fake", strings.ToUpper); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// TestLateProblems has a server whose report about a change comes after the next one, and does not say what it is about.
func TestLateProblems(t *testing.T) {
	w := newWorld(t, "late", shop())
	w.wants(map[string]any{"action": "diagnostics", "path": "tea.fake"}, "no problems")
	for _, text := range []string{"BUG 1\n", "fine\n", "fine again\n"} {
		if err := os.WriteFile(filepath.Join(w.dir, "tea.fake"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := w.Problems(w.ctx, []workspace.Changed{{Name: "tea.fake"}}); got != "" {
			t.Errorf("after %q: %q", text, got)
		}
	}
}

func TestRename(t *testing.T) {
	files := shop()
	files["other.fake"] = "def mine\n" + strings.Repeat(" ", 3) + "# brew\n"
	w := newWorld(t, "comment", files)
	rename := map[string]any{"action": "rename", "name": "brew", "path": "tea.fake", "new_name": "steep"}
	w.wants(rename, "renamed brew to steep: 4 places in 2 files; to undo it use undo ", "the word brew is still in other.fake")
	if got, want := w.content("tea.fake"), "# brews\ndef steep\n\ndef pour\n  steep 😀 steep\n"; got != want {
		t.Errorf("got %q", got)
	}
	past, err := w.ws.History(w.ctx, "", 1)
	if err != nil || len(past) != 1 {
		t.Fatal(past, err)
	}
	if _, err := w.ws.Undo(w.ctx, past[0].ID); err != nil || w.content("tea.fake") != shop()["tea.fake"] ||
		w.content("lib/cup.fake") != shop()["lib/cup.fake"] {
		t.Errorf("undo: %v", err)
	}
	w.wants(map[string]any{"action": "references", "name": "brew", "path": "tea.fake"}, "lib/cup.fake")
}

// TestRefusedRenames checks that a rename is made as a whole, or not at all.
func TestRefusedRenames(t *testing.T) {
	for mode, want := range map[string]string{
		"outside": "refused: the rename would change a file outside", "denied": ".env", "protected": "refused",
		"more": "more in tea.fake than the name", "other": "conflict", "beyond": "conflict", "overlap": "overlap", "moves": "refused",
	} {
		w := newWorld(t, mode, shop())
		w.wants(map[string]any{"action": "rename", "name": "brew", "path": "tea.fake", "new_name": "steep"}, want, "!renamed brew")
		for name, content := range shop() {
			if got := w.content(name); got != content {
				t.Errorf("%s: %s is %q", mode, name, got)
			}
		}
	}
}

func TestHostileServers(t *testing.T) {
	hover := map[string]any{"action": "hover", "name": "brew", "path": "tea.fake"}
	for mode, want := range map[string]string{
		"mute": "unavailable", "hang": "timeout: ", "dies": "out of luck", "huge": "1073741824 bytes", "flood": "unavailable",
		"values": "values", "junk": "no length", "shape": "unavailable", "questions": "unavailable",
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, mode, shop())
			if mode == "mute" || mode == "hang" {
				w.startTime, w.queryTime = 2*time.Second, 2*time.Second
			}
			if mode == "mute" {
				w.startTime = 50 * time.Millisecond
			} else {
				w.startTime = time.Minute
			}
			w.wants(hover, want)
			if mode == "shape" {
				return // it goes on
			}
			if mode == "dies" {
				w.wants(map[string]any{"action": "symbols", "path": "tea.fake"}, "2 symbols") // by another one, at once
				w.wants(hover, want)
			}
			for _, s := range w.servers {
				select {
				case <-s.gone: // with all that it has started
				case <-time.After(time.Minute):
					t.Error("it still runs")
				}
			}
		})
	}
}

func TestLies(t *testing.T) {
	w := newWorld(t, "lies", shop())
	w.wants(map[string]any{"action": "symbols", "path": "tea.fake"}, "2 symbols", "!lie")
	w.wants(map[string]any{"action": "references", "name": "brew", "path": "tea.fake"},
		"lib/cup.fake", "4 places left out", "8 places outside of the workspace left out", "!TOKEN", "!root:")
}

func TestAServerAsks(t *testing.T) {
	w := newWorld(t, "asks", shop())
	hover := map[string]any{"action": "hover", "name": "brew", "path": "tea.fake"}
	w.wants(hover, "about brew")
	w.wants(hover, `1={"applied":false`, `2={"code":-32601`, `3={"code":-32601`, `4=[null]`)
	if got := w.content("tea.fake"); got != shop()["tea.fake"] {
		t.Errorf("changed: %q", got)
	}
}

func TestWithoutAServer(t *testing.T) {
	w := newWorld(t, "", map[string]string{
		"shop.rb": "class Shop\n  def brew\n    1\n  end\nend\n", "use.rb": "Shop.new.brew\n",
	})
	w.wants(map[string]any{"action": "symbols", "path": "shop.rb"}, "1-5 class Shop", "  2-4 def brew", "by patterns")
	w.wants(map[string]any{"action": "definition", "name": "Shop.brew"}, "shop.rb:2-4", "3     1")
	w.wants(map[string]any{"action": "references", "name": "brew"}, "use.rb", "1 Shop.new.brew", "by patterns")
	w.wants(map[string]any{"action": "rename", "name": "brew", "new_name": "steep"}, "unavailable: rename needs a language server")
	w.wants(map[string]any{"action": "definition", "name": "nothing"}, "not_found: no symbol")
}

// TestAServerThatReads asks about the workspace while the server reads it. A server that has not read it knows no references.
func TestAServerThatReads(t *testing.T) {
	w := newWorld(t, "reads", shop())
	l := of(w.languages, "tea.fake")
	l.indexes, l.says = true, map[string]string{filepath.Base(l.servers[0][0]): "source file"}
	w.wants(map[string]any{"action": "references", "name": "brew", "path": "tea.fake"}, "lib/cup.fake")
}

// TestAskedProblems asks a server like tsserver for problems, which it reports only in parts.
func TestAskedProblems(t *testing.T) {
	w := newWorld(t, "good", shop())
	w.languages[0].problems = []string{"semanticDiagnosticsSync"}
	w.wants(map[string]any{"action": "diagnostics", "path": "tea.fake"}, "2 problems", "2 error: a late bug\n  def brew", "? error: a lie")
}

// TestKilledServer asks at once after the server was killed.
func TestKilledServer(t *testing.T) {
	w := newWorld(t, "good", shop())
	hover := map[string]any{"action": "hover", "name": "brew", "path": "tea.fake"}
	for range 3 {
		w.wants(hover, "about brew")
		if err := w.warm(w.ctx, w.languages[0]).process.Kill(); err != nil {
			t.Error(err)
		}
	}
	w.wants(hover, "about brew")
}

// TestAServerWithoutImplementations finds the definitions that refer to a name.
func TestAServerWithoutImplementations(t *testing.T) {
	files := shop()
	files["pot.fake"] = "def pot(brew)\n  brew\n"
	w := newWorld(t, "few", files)
	w.languages[0].defines = patterns(`^def (?P<n>\w+)`)
	w.wants(map[string]any{"action": "implementations", "name": "brew", "path": "tea.fake"},
		"1 implementation", "1 def pot(brew)", "knows no implementations", "!cup.fake")
}

// TestDeclarations finds the body of a function of C, whose name begins a line.
func TestDeclarations(t *testing.T) {
	w := worldIn(t, host.Launcher{}, Settings{Servers: map[string]ServerSettings{"c": {Command: []string{"no-such-language-server"}}}},
		map[string]string{
			"brew.h": "extern int brew(int grams,\n    int water);\n", "brew.c": "static int pour(void);\n\nint\nbrew(int grams,\n    int water)\n{\n  return 1;\n}\n",
		})
	w.wants(map[string]any{"action": "definition", "name": "brew"}, "brew.c:4-8", "return 1", "!brew.h")
	w.wants(map[string]any{"action": "definition", "name": "brew", "path": "brew.h"}, "brew.h:1")
}

// TestTwoUsers asks about the directories of two users, which have a server each.
func TestTwoUsers(t *testing.T) {
	w := newWorld(t, "good", nil)
	var users [2]context.Context
	for i, user := range []string{"ann", "bob"} {
		dir := filepath.Join(w.dir, user)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "own.fake"), []byte("def brew\n  BUG of "+user+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := workspacetest.Caller(dir)
		c.User = user
		users[i] = workspacetest.For(w.ctx, c)
	}
	for i, user := range []string{"ann", "bob"} {
		other := []string{"bob", "ann"}[i]
		w.ctx = users[i]
		for _, args := range []map[string]any{
			{"action": "definition", "name": "brew"}, {"action": "references", "name": "brew"}, {"action": "symbols", "name": "brew"},
			{"action": "diagnostics", "path": "own.fake"}, {"action": "symbols", "path": "../" + other + "/own.fake"},
			{"action": "hover", "name": "brew", "path": filepath.Join(w.dir, other, "own.fake")},
		} {
			if got := w.ask(args); strings.Contains(got, "of "+other) || strings.Contains(got, "about brew") {
				t.Errorf("%s sees with %v:\n%s", user, args, got)
			}
		}
		w.wants(map[string]any{"action": "diagnostics", "path": "own.fake"}, "a bug: BUG of "+user)
	}
	if n := w.running(); n != 2 {
		t.Errorf("%d servers", n)
	}
	// A server that ended for one user is not the end of the other's.
	first, second := w.warm(users[0], w.languages[0]), w.warm(users[1], w.languages[0])
	first.conn.Lose(os.ErrClosed)
	<-first.gone
	if w.warm(users[0], w.languages[0]) != nil || w.warm(users[1], w.languages[0]) != second {
		t.Error("the server of the other user has ended, or that of the first has not")
	}
}

// TestDefinitionAfterManyUses finds the definition of a word that thousands of lines use.
func TestDefinitionAfterManyUses(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.rb": strings.Repeat("brew\n", 5000), "b.rb": "def brew\n  1\nend\n"})
	w.wants(map[string]any{"action": "definition", "name": "brew"}, "b.rb:1-3")
}

// TestSecretsInCode shows lines with a secret, also one that a cut would halve.
func TestSecretsInCode(t *testing.T) {
	secret := "ghp_" + strings.Repeat("aB3d", 9)
	w := newWorld(t, "good", map[string]string{"a.fake": "def key\n  " + strings.Repeat("x", 220) + " " + secret + "\n  " + secret + "\n"})
	w.wants(map[string]any{"action": "definition", "name": "key", "path": "a.fake"}, "def key", "REDACTED", "!ghp_")
}

// TestOneServerForAWorkspace checks that a server is shared, replaced when files must be hidden, and ended when it is idle.
func TestOneServerForAWorkspace(t *testing.T) {
	w := newWorld(t, "good", shop())
	symbols := map[string]any{"action": "symbols", "path": "tea.fake"}
	w.wants(symbols, "2 symbols")
	first := w.warm(w.ctx, of(w.languages, "tea.fake"))
	w.wants(symbols, "2 symbols")
	if w.warm(w.ctx, of(w.languages, "tea.fake")) != first {
		t.Error("a second one was started")
	}
	if err := os.WriteFile(filepath.Join(w.dir, "lib", ".env"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wants(symbols, "2 symbols")
	<-first.gone
	w.mu.Lock()
	for _, s := range w.servers {
		s.used = time.Now().Add(-time.Hour)
	}
	w.sweep()
	left := len(w.servers)
	w.mu.Unlock()
	if left != 0 {
		t.Errorf("%d are left", left)
	}
	w.wants(symbols, "2 symbols")
}

// TestClangd asks a real server in the sandbox of the kernel, which it can change nothing in.
func TestClangd(t *testing.T) {
	needtest.Program(t, "clangd")
	l := &kernel.Launcher{}
	needtest.Sandbox(t, l)
	w := worldIn(t, l, Settings{Memory: 4 << 30}, map[string]string{
		"brew.h": "#pragma once\nint brew(int grams); // makes tea\n", "brew.c": "#include \"brew.h\"\nint brew(int grams) {\n  return grams * 2;\n}\n",
		"main.c": "#include \"brew.h\"\nint main(void) {\n  /* 😀 */ return brew(1) + brew(2);\n}\n",
	})
	built := "[" + strings.Join([]string{
		`{"directory": "` + w.dir + `", "file": "brew.c", "command": "cc -c brew.c"}`, `{"directory": "` + w.dir + `", "file": "main.c", "command": "cc -c main.c"}`,
	}, ",") + "]"
	if err := os.WriteFile(filepath.Join(w.dir, "compile_commands.json"), []byte(built), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wants(map[string]any{"action": "definition", "name": "brew", "path": "brew.c"}, "brew.c:2-4", "return grams * 2;")
	w.wants(map[string]any{"action": "callers", "name": "brew", "path": "brew.c"}, "main.c", "int main(void)", "brew(1) + brew(2)")
	w.wants(map[string]any{"action": "rename", "name": "brew", "path": "brew.c", "new_name": "steep"}, "4 places in 3 files", "!still")
	if got := w.content("main.c"); !strings.Contains(got, "/* 😀 */ return steep(1) + steep(2);") {
		t.Errorf("got %q", got)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 4 {
		t.Errorf("it left files: %v, %v", left, err)
	}
	w = worldIn(t, l, Settings{Memory: 4 << 30}, map[string]string{
		"brew.c": "#include \"absent.h\"\nint brew(int grams) {\n  return grams * 2;\n}\n", "main.c": "int main(void) {\n  return brew(1);\n}\n",
	})
	w.wants(map[string]any{"action": "callers", "name": "brew"}, "2 return brew(1);", "'absent.h' file not found", "compile_commands.json")
}
