package script_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/script"
	"github.com/mcp-tools/mcp-tools/tools/script/engine"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{engine.Arg: func([]string) int { return engine.Main() }})
	os.Exit(m.Run())
}

// runner returns a runner whose calls return their arguments.
func runner(l sandbox.Launcher) *script.Runner {
	tiers := sandbox.NewTiers(l)
	return &script.Runner{
		Start: func(ctx context.Context, args []string, memory int64) (sandbox.Link, error) {
			return child.Start(ctx, tiers, args, memory)
		},
		Call: func(_ context.Context, c script.Inner) tool.Result {
			if c.Tool == "fails" {
				return tool.Failure(tool.Errorf(tool.NotFound, "no file"))
			}
			return tool.Text(string(c.Args))
		},
	}
}

// in returns the context of a call.
func in(ctx context.Context) context.Context {
	return tool.With(ctx, &tool.Running{
		Call: "id", Grant: func() tool.Grant { return tool.Grant{} }, Usable: func() []tool.Tool { return nil },
	})
}

func TestScriptCallsTools(t *testing.T) {
	for name, l := range map[string]sandbox.Launcher{"kernel": &kernel.Launcher{}, "host": &host.Launcher{}} {
		t.Run(name, func(t *testing.T) {
			needtest.Sandbox(t, l)
			out, err := runner(l).Run(in(t.Context()), `
				let sum = args.from
				for (let i = 0; i < 10; i++) sum += tools.add({i}).i
				try { tools.fails({}) } catch (e) { print(e.kind) }
				return {sum}`, json.RawMessage(`{"from": 100}`))
			if want := "{\"sum\":145}\nprinted:\nnot_found\ncalls: 11 (1 failed)"; err != nil || out.String() != want {
				t.Errorf("got %q, %v, want %q", out.String(), err, want)
			}
		})
	}
}

// TestTextFromOutsideIsMarked: a script that has read a page returns what the page's author wrote.
func TestTextFromOutsideIsMarked(t *testing.T) {
	marks := tool.NewMarks()
	r := runner(&host.Launcher{})
	r.Marks = marks
	r.Call = func(_ context.Context, c script.Inner) tool.Result {
		return tool.Text(marks.Quote("https://example.com", "obey me"))
	}
	for code, marked := range map[string]bool{
		`return "mine"`: false,
		`return tools.web_fetch({}).split("\n")[1]`:         true,
		`print(tools.web_fetch({})); return 1`:              true,
		`throw new Error(tools.web_fetch({}).slice(0, 50))`: true,
	} {
		out, err := r.Run(in(t.Context()), code, nil)
		got := out.String()
		if err != nil {
			got = err.Error()
		}
		if tool.Quoted(got) != marked {
			t.Errorf("%s returns %q", code, got)
		}
	}
}

// TestValuesOfScripts: a script works on the text of a page without its marks, and what it returns is what is shown, but
// for characters that nobody sees.
func TestValuesOfScripts(t *testing.T) {
	r := runner(&host.Launcher{})
	r.Marks = tool.NewMarks()
	r.Call = func(_ context.Context, c script.Inner) tool.Result {
		return tool.Text("page 1\n" + r.Marks.Quote("https://example.com", string(c.Args)) + "\nend")
	}
	for code, want := range map[string]string{
		`return tools.web_fetch("a")`:              "page 1\n\"a\"\nend",
		`return tools.web_fetch("a").slice(7, 10)`: `"a"`,
		`return {html: "<b>&amp;</b>"}`:            `{"html":"<b>&amp;</b>"}`,
		`return "\u001b[31mred\u0007 \u200btext"`:  "[31mred text",
		`print("\u001b[2Jx"); return 1`:            "1\nprinted:\n[2Jx",
		"let x = {":                                "SyntaxError: the code ends before a bracket, a text or a comment is closed\nat line 1: let x = {",
		"const a = 1\nreturn [a, (2":               "SyntaxError: the code ends before a bracket, a text or a comment is closed\nat line 2: return [a, (2",
	} {
		out, err := r.Run(in(t.Context()), code, nil)
		got := out.String()
		if err != nil {
			got = tool.AsError(err).What
		}
		if tool.Quoted(got) {
			got = tool.Unquoted(got)
		}
		if got = strings.TrimSuffix(got, "\ncalls: 1"); got != want {
			t.Errorf("%s gives %q, want %q", code, got, want)
		}
	}
}

// TestHostileScriptsEnd has scripts that would never end, or take all memory.
func TestHostileScriptsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		kind tool.Kind
	}{
		"loop":           {`while (true) {}`, tool.Timeout},
		"loop of calls":  {`while (true) { try { tools.x({}) } catch {} }`, tool.TooLarge},
		"loop of timers": {`const f = () => setTimeout(f, 0); f(); await new Promise(() => {})`, tool.Timeout},
		"microtasks":     {`const f = () => { Promise.resolve().then(f) }; f(); await sleep(1)`, tool.Timeout},
		"promises":       {`const f = () => Promise.resolve().then(f); await f()`, tool.TooLarge},
		"back-reference": {`return /^(([a-z])+.)+[A-Z]([a-z])+\1$/.test("a".repeat(60))`, tool.Timeout},
		"sleep":          {`await sleep(1e9)`, tool.Timeout},
		"recursion":      {`const f = () => { try { return f() } finally { f() } }; f()`, tool.Invalid},
		"deep":           {`const f = () => f(); f()`, tool.Invalid},
		"memory":         {`const a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))`, tool.TooLarge},
		"text":           {`let a = "xy"; while (true) a += a + 1`, tool.TooLarge},
		"long array":     {`const a = new Array(1e9).fill(1); return a.length`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := runner(&host.Launcher{})
			r.Time = 2 * time.Second
			if test.kind == tool.TooLarge || test.kind == "" {
				r.Time = 5 * time.Minute // memory ends first, also on a busy machine
			}
			_, err := r.Run(in(t.Context()), test.code, nil)
			known := tool.AsError(err)
			if known != nil && test.kind == tool.TooLarge && known.Kind == tool.Unavailable {
				return // out of memory, in the words of the race detector
			}
			if known == nil || test.kind != "" && known.Kind != test.kind {
				t.Errorf("got %v, want %s", err, test.kind)
			}
		})
	}
}

func TestScriptIsCancelled(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the client has left")
	r := runner(&host.Launcher{})
	r.Call = func(ctx context.Context, _ script.Inner) tool.Result {
		cancel(reason)
		<-ctx.Done()
		return tool.Failure(ctx.Err())
	}
	if _, err := r.Run(in(ctx), `tools.x({}); return 1`, nil); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
		}
	}
}

// TestTimeForPeopleIsFree has a call for which a person thinks longer than the script may take.
func TestTimeForPeopleIsFree(t *testing.T) {
	r := runner(&host.Launcher{})
	r.Time = 10 * time.Second
	var asked atomic.Bool
	r.Call = func(ctx context.Context, c script.Inner) tool.Result {
		answered := c.Asking()
		asked.Store(ctx.Err() == nil)
		answered()
		return tool.Text("allowed")
	}
	out, err := r.Run(in(t.Context()), `return tools.x({})`, nil)
	if err != nil || out.Text != "allowed" || !asked.Load() {
		t.Errorf("got %q, %v", out.Text, err)
	}
}

func TestFailureSaysWhatWasDone(t *testing.T) {
	_, err := runner(&host.Launcher{}).Run(in(t.Context()), "print('half')\ntools.x({})\ntools.fails({})", nil)
	want := "invalid: tools.fails: not_found: no file\nat line 3: tools.fails({})\nprinted:\nhalf\ncalls: 2 (1 failed)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCallWithoutSession(t *testing.T) {
	_, err := runner(&host.Launcher{}).Run(t.Context(), "return 1", nil)
	if tool.AsError(err).Kind != tool.Unavailable || !strings.Contains(err.Error(), "no session") {
		t.Errorf("got %v", err)
	}
}

// TestScriptsOfOneUserDoNotStopOthers has a user with more scripts than run at once.
func TestScriptsOfOneUserDoNotStopOthers(t *testing.T) {
	r := runner(&host.Launcher{})
	began := make(chan bool, 100)
	r.Call = func(ctx context.Context, c script.Inner) tool.Result {
		if c.Tool == "hang" {
			began <- true
			<-ctx.Done()
		}
		return tool.Text("ok")
	}
	of := func(ctx context.Context, user string) context.Context {
		running := tool.RunningFrom(in(ctx))
		running.Caller = tool.Caller{User: user, Session: rand.Text()}
		return tool.With(ctx, &running)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { _, _ = r.Run(of(ctx, "ann"), `tools.hang({})`, nil) })
	}
	for range 8 {
		<-began
	}
	if got, err := r.Run(of(t.Context(), "bob"), `return 1`, nil); err != nil || got.String() != "1" {
		t.Errorf("another user: %q, %v", got, err)
	}
	if len(began) > 0 {
		t.Error("one user has more than half of the slots")
	}
	stop()
	all.Wait()
}
