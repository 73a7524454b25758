package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// hang is how long a test waits for what must come.
const hang = 2 * time.Minute

func TestPageIsSmallAndAlone(t *testing.T) {
	if len(Page()) > 60<<10 {
		t.Errorf("the page has %d bytes", len(Page()))
	}
	for _, bad := range []string{"http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "import(", "<link", "src="} {
		if strings.Contains(Page(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// A host shows the page in Chromium.
type host struct {
	t   *testing.T
	ctx context.Context // of the host page
	app context.Context // of the frame with the page
}

// open starts Chromium with a host that shows the page under the policy that hosts of MCP Apps enforce.
func open(t *testing.T) *host {
	chromium := needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	page, err := os.ReadFile("testdata/host.html")
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			_, _ = w.Write(page)
		case "/page":
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-inline'; "+
				"style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'")
			_, _ = w.Write([]byte(Page()))
		default:
			http.NotFound(w, r)
			if r.URL.Path != "/favicon.ico" {
				t.Errorf("the page asked for %s", r.URL)
			}
		}
	}))
	t.Cleanup(site.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(hang), chromedp.WindowSize(900, 900),
		chromedp.Flag("site-per-process", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stop := context.WithTimeout(context.Background(), 2*hang)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // closes the browser, and waits for its end
		stop()
	})
	h := &host{t: t, ctx: ctx}
	h.do(chromedp.Navigate(site.URL))
	h.wait(h.ctx, "host.ready")
	all, err := chromedp.Targets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Type == "iframe" {
			h.app, stop = chromedp.NewContext(ctx, chromedp.WithTargetID(one.TargetID))
			t.Cleanup(stop)
		}
	}
	if h.app == nil {
		t.Fatal("the frame is not a target of its own")
	}
	return h
}

func (h *host) do(steps ...chromedp.Action[chromedp.Void]) {
	h.t.Helper()
	if err := chromedp.Do(h.ctx, steps...); err != nil {
		h.t.Fatal(err)
	}
}

// js returns the value of an expression.
func js[T any](h *host, ctx context.Context, expression string) T {
	h.t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		h.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// wait waits until an expression is true.
func (h *host) wait(ctx context.Context, expression string) {
	h.t.Helper()
	for end := time.Now().Add(hang); !js[bool](h, ctx, "!!("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("it did not become true: %s", expression)
		}
	}
}

// run runs a script in the host page.
func (h *host) run(script string) { h.t.Helper(); js[int](h, h.ctx, script+"; 0") }

// runInside runs a script in the page.
func (h *host) runInside(script string) { h.t.Helper(); js[int](h, h.app, script+"; 0") }

// until waits until an expression is true in the page.
func (h *host) until(expression string) { h.t.Helper(); h.wait(h.app, expression) }

// show gives the page a result, and waits until it is there.
func (h *host) show(view any, text string) string {
	h.t.Helper()
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if view != nil {
		result["_meta"] = map[string]any{"mcp-tools/view": view}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		h.t.Fatal(err)
	}
	h.runInside(`document.getElementById("m").replaceChildren()`)
	h.run("show(" + string(raw) + ")")
	h.until(`document.getElementById("m").childNodes.length > 0`)
	return h.text("document.body.innerText")
}

func (h *host) text(expression string) string { h.t.Helper(); return js[string](h, h.app, expression) }

// shoot writes a picture of the page if SCREENSHOTS names a directory.
func (h *host) shoot(name string) {
	h.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(h.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// payloads are texts that would run, load or mislead if they were not shown as text.
var payloads = []string{
	`<script>document.title="run"</script>`, `<img src=/stolen onerror='document.title="run"'>`,
	`"><svg onload=document.title="run">`, `</pre></div><iframe srcdoc="<script>parent.document.title='run'</script>">`,
	`javascript:document.title="run"`, `{{constructor.constructor('document.title="run"')()}}`, `${document.title="run"}`,
	`<style>*{display:none}</style>`, `<base href="//example.invalid">`, `<meta http-equiv=refresh content="0;url=/stolen">`,
	"\x1b]8;;javascript:document.title='run'\x07link\x1b]8;;\x07", "a\u202egnp.exe", "zero\u200bwidth", `<a href=/stolen autofocus onfocus=document.title="run">`,
	`<details open ontoggle=document.title="run">`, `<math><mtext><img src=/stolen onerror=alert(1)>`, "__proto__", `';document.title="run"//`,
}

func hostile() string { return strings.Join(payloads, " ") }

func TestPageShowsEveryView(t *testing.T) {
	h := open(t)
	bad := hostile()
	file := File{Name: bad, Was: bad, Action: "renamed"}.Of("one\ntwo\n"+bad+"\n", "one\n2\n"+bad+"\nthree\n", func(s string) string { return s })
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name string
		view any
		want []string
	}{
		{"changes", Changes{Kind: "changes", Undo: "c1", Files: []File{
			File{Name: "cmd/tax.go", Action: "changed"}.Of("package tax\n\nconst rate = 0.19\n", "package tax\n\nconst rate = 0.20\n\nfunc f() {}\n",
				func(s string) string { return s }), file,
		}},
			[]string{"cmd/tax.go", "-const rate = 0.19", "+const rate = 0.20", "Undo", "2 files"}},
		{"undid", Changes{Kind: "changes", Undo: "c2", Undid: true, Files: []File{{Name: bad, Action: "restored"}}}, []string{"Redo", "restored"}},
		{"history", History{Kind: "history", More: true, Changes: []map[string]any{
			{"id": "c3", "time": "2026-01-02T03:04:05Z", "tool": "edit", "file": bad, "action": "changed", "undoable": true, "by": bad},
			{"id": "c2", "time": "2026-01-02T03:04:05Z", "tool": "exec", "command": bad, "file": "a", "action": "removed", "undone": "c4"},
		}}, []string{"Undo", "undone by c4", "There are older changes."}},
		{"output", Output{Kind: "output", Command: bad, State: "running", Process: "p1", Seconds: 3, Streams: []Text{
			{Text: "ok   all 3 tests\nFAIL here\n" + bad, Colors: [][3]int{{0, 2, 8 | 2}, {17, 21, 8 | 1 | 16}}, Before: 7}, {Text: long}}},
			[]string{"running · 3 s", "Stop", "Refresh", "7 bytes before this", "stderr"}},
		{"ended", Output{Kind: "output", Command: "false", State: "exited", ExitCode: 1, Streams: []Text{{}, {}}}, []string{"exit code 1", "no output"}},
		{"board", Board{Kind: "board", Title: bad, Columns: []Column{{"To do", []Card{{Title: bad, About: bad}, {Title: long}}}, {"Done", nil}}},
			[]string{"To do (2)", "Done (0)", "Show all 100000 characters"}},
		{"text", nil, []string{"FAIL of the text"}},
		{"unknown", map[string]any{"kind": "constructor"}, []string{"FAIL of the text"}},
		{"broken", map[string]any{"kind": "changes", "files": "no list"}, []string{"0 files"}},
	} {
		got := h.show(c.view, "FAIL of the text "+bad)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%.2000s", c.name, want, got)
			}
		}
		if strings.ContainsAny(got, "\u202e\u200b\x1b\x07") {
			t.Errorf("%s shows characters that hide or move others", c.name)
		}
		if tags := h.text(`[...document.getElementById("m").querySelectorAll("*")].map(e => e.localName).filter(n => ` +
			`!["div", "h2", "header", "section", "pre", "span", "button", "ul", "li", "p"].includes(n)).join()`); tags != "" {
			t.Errorf("%s has elements of the text: %s", c.name, tags)
		}
		if title := h.text("document.title"); title != "MCP Tools" {
			t.Errorf("%s ran a text: the title is %q", c.name, title)
		}
		if c.name == "output" {
			if red := h.text(`[...document.querySelectorAll("pre .f1.b")].map(e => e.textContent).join()`); red != "FAIL" {
				t.Errorf("red and bold is %q", red)
			}
		}
		h.shoot(c.name)
	}
}

func TestPageFollowsTheHost(t *testing.T) {
	h := open(t)
	h.show(Changes{Kind: "changes", Undo: "c1", Files: []File{{Name: "a", Action: "changed", Diff: "@@ -1 +1 @@\n-one\n+two\n"}}}, "")
	background := `getComputedStyle(document.body).backgroundColor`
	if got := h.text(background); got != "rgb(255, 255, 255)" {
		t.Errorf("the light page is %s", got)
	}
	h.run(`theme("dark", {"--color-background-primary": "rgb(1, 2, 3)", "--x": "url(/stolen)", "bad name": "1"})`)
	h.until(background + ` === "rgb(1, 2, 3)"`)
	if got := h.text("document.documentElement.dataset.theme"); got != "dark" {
		t.Errorf("the theme is %q", got)
	}
	h.shoot("dark")
	for _, width := range []int64{900, 320} {
		h.do(chromedp.EmulateViewport(width, 900))
		h.until(fmt.Sprintf("innerWidth === %d", width))
		if js[bool](h, h.app, "document.documentElement.scrollWidth > innerWidth") {
			t.Errorf("the page is wider than %d", width)
		}
	}
	h.shoot("narrow")
	h.wait(h.ctx, "host.size > 50")
}

// TestPageCallsThroughTheHost uses buttons. The page does what the host answers, and cannot do more than ask.
func TestPageCallsThroughTheHost(t *testing.T) {
	h := open(t)
	shown := Changes{Kind: "changes", Undo: "c1", Files: []File{{Name: "a", Action: "changed"}}}
	h.show(shown, "")
	h.run(`host.answer = {isError: true, content: [{type: "text", text: "refused: no person approved it <b>x</b>"}]}`)
	press := `document.querySelector("button").click()`
	h.runInside(press)
	h.until(`document.getElementById("s").textContent.includes("no person approved it <b>x</b>")`)
	if got := h.text(`document.querySelector("button").textContent + document.querySelector("button").disabled`); got != "Undofalse" {
		t.Errorf("after a refusal the button is %q", got)
	}
	h.run(`host.answer = {content: [{type: "text", text: "restored a"}]}`)
	h.runInside(press)
	h.until(`document.querySelector("button").textContent === "Undone"`)
	h.wait(h.ctx, "host.told.length > 0")
	calls, told := js[string](h, h.ctx, "JSON.stringify(host.calls)"), js[string](h, h.ctx, "host.told.join()")
	if want := `[{"name":"undo","arguments":{"call":"c1"}},{"name":"undo","arguments":{"call":"c1"}}]`; calls != want {
		t.Errorf("the page called %s", calls)
	}
	if !strings.Contains(told, "used the button Undo") {
		t.Errorf("the model was told %q", told)
	}
	h.show(Output{Kind: "output", Command: "sleep 9", State: "running", Process: "p1", Streams: []Text{{Text: "x"}}}, "")
	h.run(`host.answer = {content: [], _meta: {"mcp-tools/view": {kind: "output", command: "sleep 9", state: "killed", streams: []}}}`)
	h.runInside(press)
	h.until(`document.body.innerText.includes("killed")`)
	// Messages of others than the parent have no effect.
	h.runInside(`window.postMessage({jsonrpc: "2.0", method: "ui/notifications/tool-result", params: {content: [{type: "text", text: "forged"}]}}, "*");
		setTimeout(() => { window.later = true })`)
	h.until("window.later")
	if got := h.text("document.body.innerText"); strings.Contains(got, "forged") {
		t.Error("the page believed a message that is not the host's")
	}
}
