package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/view/viewtest"
)

// hang is how long a test waits for what must happen.
const hang = 5 * time.Minute

// A chromium is a browser, and what it has complained about.
type chromium struct {
	*testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

func newChromium(t *testing.T) *chromium {
	t.Helper()
	b := &chromium{T: t, ctx: viewtest.Chromium(t, hang)}
	b.run() // starts it
	if err := chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdplog.EventEntryAdded:
			if e.Entry.Source != "network" {
				b.complaints = append(b.complaints, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdplog.Enable, cdp.Empty{})
		return err
	}))
	return b
}

func (b *chromium) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](b *chromium, expression string) (value T) {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// tabTo presses Tab until an element whose text begins with some words has the focus.
func (b *chromium) tabTo(words string) {
	b.Helper()
	var seen []string
	for range 100 {
		b.run(chromedp.KeyEvent(kb.Tab))
		got := eval[string](b, "document.activeElement.textContent.trim()")
		if strings.HasPrefix(got, words) {
			if eval[string](b, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
				b.Errorf("%q has the focus, and it cannot be seen", words)
			}
			return
		}
		seen = append(seen, fmt.Sprintf("%.40s", got))
	}
	b.Fatalf("Tab does not reach %q, but %q", words, seen)
}

// TestChromium opens the console, answers a question with the keyboard as soon as it comes, and looks at all views on
// a narrow screen. No view may break the content policy.
func TestChromium(t *testing.T) {
	servers := &upstreams{held: heldTools()}
	d := newDay(t, (&shelf{things: []thing{{ID: "one", Agent: "builder", Text: strings.Repeat("long ", 400)}}}).room(), lore{12}.room(),
		servers.room())
	f := d.fixture
	f.console.Chart = func(string, []string, []Series) ([]byte, error) {
		return []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 400" width="800" height="400"><path d="M0 0L9 9"/></svg>`), nil
	}
	d.call(audit.Record{Call: "c1", Tool: "exec", Agent: "builder", Session: "stdio-1", About: strings.Repeat("wide", 100),
		Duration: 3, Approval: "approved"}, "", "", "")
	d.call(audit.Record{Call: "A", Tool: "edit", About: "a.txt", Agent: strings.Repeat("wide", 50), Session: "s1"}, "a.txt", "one\n",
		strings.Repeat("wide", 200)+"\n")
	d.call(audit.Record{Phase: audit.Intent, Call: "D", Tool: "exec", About: "make", Session: "s2"}, "", "", "")
	d.page(d.openLink(), "today", "make") // the store has all calls
	b := newChromium(t)
	b.run(chromedp.EmulateViewport(320, 640), chromedp.Navigate(f.server.URL+f.console.Link(room.Person{Name: "ann", Channel: "console"})),
		chromedp.WaitVisible("button"), chromedp.KeyEvent(kb.Enter), // the button has the focus
		chromedp.WaitVisible("#menu"))
	id := f.ask(someCall())
	b.run(chromedp.WaitVisible(".risk-destroys")) // without a reload
	b.tabTo("Allow once")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".notice.good"))
	if q, err := f.asks.Get(t.Context(), id, approvals.Approver{}); err != nil || q.State != approvals.Allowed {
		t.Errorf("the question is %+v, %v", q, err)
	}
	base := eval[string](b, "document.body.dataset.base")
	b.tabTo("Allow") // of the first tool that is held back
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".notice.good"))
	b.run(chromedp.Navigate(f.server.URL+base+"/questions"), chromedp.WaitVisible(".risk-writes"))
	b.tabTo("Refuse")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".notice.good"))
	if got := servers.answers(); !slices.Equal(got, []string{"approve{docs [search] d1}", "refuse{docs [search] d1}"}) {
		t.Errorf("the answers about tools are %q", got)
	}
	b.run(chromedp.Navigate(f.server.URL+base+"/today"), chromedp.WaitVisible(".timeline"))
	b.tabTo("Stop, and pause the session")
	b.tabTo("Undo a.txt")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("button[autofocus]"))
	b.tabTo("Yes, do it")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".notice.good"))
	if got := d.hasUndone(); len(got) != 1 {
		t.Errorf("undone is %q", got)
	}
	b.run(chromedp.Navigate(f.server.URL+base+"/graph"), chromedp.WaitVisible(".graph"))
	b.tabTo("sun, star")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`a.middle[href*="name=sun&"]`))
	open := f.ask(someCall())
	for _, page := range []string{"questions", "questions/" + open, "questions/one", "today", "today?plain=1", "graph", "graph?name=sun", "rooms/bridge/show?arg.name=docs&run=1",
		"calls", "calls/c1", "charts", "rooms", "rooms/questions", "rooms/questions/answer", "rooms/questions/show?run=1&arg.id=one", "rooms/audit/tail?run=1", "health", "none"} {
		b.run(chromedp.Navigate(f.server.URL+base+"/"+page), chromedp.WaitVisible("h1"))
		if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 320 {
			t.Errorf("%s is %d pixels wide", page, wide)
		}
		if text := eval[string](b, "document.querySelector('h1').textContent"); text == "" {
			t.Errorf("%s has no heading", page)
		}
	}
	b.mu.Lock()
	if len(b.complaints) > 0 {
		t.Errorf("the browser says %q", b.complaints)
	}
	b.mu.Unlock()
	for _, attack := range []string{
		"document.body.innerHTML = '<p>'", "document.body.appendChild(document.createElement('script')).text = '1'",
		"trustedTypes.createPolicy('other', {})", "setTimeout('1')",
	} {
		if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any]("(() => {"+attack+"})()")); err == nil {
			t.Errorf("a page can run %s", attack)
		}
	}
	f.console.Close()
	b.run(chromedp.WaitVisible(".live.bad")) // the page says that the console has ended
}
