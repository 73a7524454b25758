package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

// axe returns the script of axe-core, which is installed with the conformance suite.
func axe(t *testing.T) string {
	t.Helper()
	needtest.Program(t, "npm")
	out, err := exec.CommandContext(t.Context(), "../../.ci/conformance-install").Output()
	if err != nil {
		needtest.Lacking(t, "axe-core", err.Error())
	}
	node, _, _ := strings.Cut(string(out), "\n")
	dir, _, _ := strings.Cut(node, "/node_modules/")
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// TestAccessibility looks at all views with 10,000 calls in the store: axe-core finds nothing in both colour schemes,
// and at 200 % (half the width, as browsers zoom) no page has to be moved sideways.
func TestAccessibility(t *testing.T) {
	script := axe(t)
	d := newDay(t, (&shelf{things: []thing{{ID: "one", Agent: "builder", Text: "Which one?", Options: []string{"this", "that"}}}}).room(),
		lore{20}.room(), (&upstreams{held: heldTools()}).room())
	d.console.Chart = func(string, []string, []Series) ([]byte, error) {
		return []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 400" width="800" height="400"><path d="M0 0L9 9"/></svg>`), nil
	}
	tools := []string{"read_file", "exec", "web_fetch", "search"}
	for i := range 10_000 {
		r := audit.Record{Phase: audit.Done, Call: fmt.Sprint("c", i), Tool: tools[i%4], Agent: "builder", User: "ann",
			Session: fmt.Sprint("s", i%5), About: fmt.Sprint("file", i%50), Outcome: []string{"ok", "ok", "refused", "failed"}[i/4%4], Duration: 2}
		if err := d.log.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	d.call(audit.Record{Call: "A", Tool: "edit", About: "a.txt", Agent: "builder", User: "ann", Session: "s1"}, "a.txt", "one\ntwo\n", "one\n2\n")
	id := d.ask(someCall())
	b := newChromium(t)
	b.run(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(d.server.URL+d.console.Link(room.Person{Name: "ann", Channel: "console"})),
		chromedp.WaitVisible("button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#menu"))
	base := d.server.URL + eval[string](b, "document.body.dataset.base")
	b.look(base, script, "questions", "questions/"+id, "questions/one", "today", "today?plain=1", "calls", "calls/c9999", "charts", "graph", "rooms",
		"rooms/questions", "rooms/bridge/show?arg.name=docs&run=1", "rooms/questions/answer", "rooms/audit/tail?run=1", "health", "none", "../..")
}

// look looks at pages in both colour schemes, at 200 % and on a phone.
func (b *chromium) look(base, script string, pages ...string) {
	b.Helper()
	for _, page := range pages {
		b.run(chromedp.Navigate(base+"/"+page), chromedp.WaitVisible("h1"))
		b.lookNow(script, page)
	}
}

// lookNow looks at the page that is open.
func (b *chromium) lookNow(script, page string) {
	b.Helper()
	eval[any](b, script+";0")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		eval[any](b, `window.found = "", axe.run(document, {resultTypes: ["violations"]}).then((r) => { window.found = JSON.stringify(r.violations.map((v) =>
			v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 150)).join(" | "))); },
			(e) => { window.found = JSON.stringify([String(e)]); }), 0`)
		found := ""
		for ; found == "" && b.ctx.Err() == nil; found = eval[string](b, "window.found") {
			<-time.After(5 * time.Millisecond) // the page works
		}
		var violations []string
		if err := json.Unmarshal([]byte(found), &violations); err != nil || len(violations) > 0 {
			b.Errorf("%s, %s: %v %q", page, scheme, err, violations)
		}
	}
	for _, width := range []int{600, 320} { // browsers zoom to 200 % by halving the width
		b.run(chromedp.EmulateViewport(int64(width), 450))
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
			b.Errorf("%s on a screen of %d pixels is %d pixels wide", page, width, wide)
		}
	}
	b.run(chromedp.EmulateViewport(1200, 900))
}

// scheme sets the colours that the person prefers.
func (b *chromium) scheme(scheme string) {
	b.Helper()
	b.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}
