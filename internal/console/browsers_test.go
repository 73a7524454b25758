package console

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A stage is a room of browsers with two of them. The second one has no page yet.
type stage struct {
	mu     sync.Mutex
	person string
	inputs []string
	deaf   bool          // it refuses inputs
	change chan struct{} // closed at the next change
}

type stageArgs struct {
	ID   string   `json:"id" jsonschema:"the browser"`
	X    *float64 `json:"x,omitempty" jsonschema:"where"`
	Y    *float64 `json:"y,omitempty" jsonschema:"where"`
	Text string   `json:"text,omitempty" jsonschema:"what is typed"`
	Key  string   `json:"key,omitempty" jsonschema:"which key"`
}

// now returns the first browser, and a channel that is closed when it changes.
func (s *stage) now() (runningBrowser, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == nil {
		s.change = make(chan struct{})
	}
	b := runningBrowser{ID: "b1", Agent: "builder", User: "ann", URL: "https://shop.test/login?" + strings.Repeat("wide", 40), Person: s.person}
	if s.person != "" && len(s.inputs) > 0 {
		b.Focus = "after " + s.inputs[len(s.inputs)-1]
	}
	return b, s.change
}

func (s *stage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if s.change != nil {
		close(s.change)
		s.change = nil
	}
}

func (s *stage) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.inputs)
}

func (s *stage) room(t *testing.T) *room.Room {
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 1280, 720)), nil); err != nil {
		t.Fatal(err)
	}
	does := func(name string, do func(context.Context, stageArgs) error) room.Verb {
		return room.Do(room.Verb{Name: name, Title: name, Risk: tool.Writes, Where: room.Approver, Args: []string{"id"}, Hidden: []string{"text"}},
			func(ctx context.Context, a stageArgs) (tool.Result, error) { return tool.Text("Done."), do(ctx, a) })
	}
	return &room.Room{Name: "browser", Title: "Browsers", Verbs: []room.Verb{
		room.Do(room.Verb{Name: "list", Title: "List", Risk: tool.Reads, Where: room.Approver}, func(context.Context, struct{}) (tool.Result, error) {
			b, _ := s.now()
			return tool.Text("two").With([]runningBrowser{b, {ID: "b2", Agent: "tester"}}), nil
		}),
		room.Do(room.Verb{Name: "watch", Title: "Watch", Args: []string{"id"}, Risk: tool.Reads, Where: room.Approver, Streams: true},
			func(ctx context.Context, _ stageArgs) (tool.Result, error) {
				for {
					b, changed := s.now()
					b.Picture = picture.Bytes()
					if err := room.Emit(ctx, tool.Text("a picture").With(b)); err != nil {
						return tool.Result{}, err
					}
					select {
					case <-changed:
					case <-ctx.Done():
						return tool.Result{}, ctx.Err()
					}
				}
			}),
		does("take", func(ctx context.Context, _ stageArgs) error {
			s.set(func() { s.person = room.By(ctx).Name })
			return nil
		}),
		does("give", func(context.Context, stageArgs) error { s.set(func() { s.person = "" }); return nil }),
		does("input", func(_ context.Context, a stageArgs) (err error) {
			s.set(func() {
				if s.deaf {
					err = tool.Errorf(tool.Unavailable, "the browser does not answer")
					return
				}
				if a.X != nil && a.Y != nil {
					s.inputs = append(s.inputs, fmt.Sprintf("click %v %v", *a.X, *a.Y))
					return
				}
				s.inputs = append(s.inputs, strings.TrimSpace(a.Text+" "+a.Key))
			})
			return err
		}),
	}}
}

// until waits for a condition of the page.
func (b *chromium) until(condition string) {
	b.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingTimeout(hang))); err != nil {
		b.Fatalf("%s: %v; the page is %s", condition, err, eval[string](b, "document.body.innerText"))
	}
}

// TestBrowserByKeyboard takes a browser over, uses it and gives it back with the keyboard alone, and goes to the login of
// another site. Every result is said to screen readers, a text that was not typed is still there, axe-core finds nothing,
// and no page is too wide.
func TestBrowserByKeyboard(t *testing.T) {
	script := axe(t)
	s, other := &stage{}, &sender{address: "https://login.test/?state=", back: make(chan string, 1)}
	f := newFixture(t, s.room(t), other.room())
	b := newChromium(t)
	b.run(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(f.server.URL+f.console.Link(room.Person{Name: "ann", Channel: "console"})),
		chromedp.WaitVisible("button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#menu"))
	base := f.server.URL + eval[string](b, "document.body.dataset.base")
	press := func(words, wait string) {
		t.Helper()
		b.tabTo(words)
		b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(wait))
	}
	said := func(words string) {
		t.Helper()
		b.until(fmt.Sprintf("document.getElementById('browser-said').textContent.startsWith(%q)", words))
	}
	press("Browsers", "main table a")
	if got := eval[string](b, "[...document.querySelectorAll('main td a')].map((a) => a.textContent).join()"); !strings.HasSuffix(got, ",no page yet") {
		t.Errorf("the browsers are %q", got)
	}
	b.lookNow(script, "browsers")
	press("https://shop.test/login", "img#screen[src^='data:']")
	b.lookNow(script, "a browser")
	press("Take it over", "input#screen[src^='data:']")
	b.lookNow(script, "a browser that was taken over")

	field := `document.getElementById("browser-text")`
	eval[any](b, field+".focus()")
	b.run(chromedp.KeyEvent("ann"))
	press("Type, then Tab", "h1")
	said("The text was typed, and Tab was pressed.")
	b.until(`document.getElementById("browser-focus").textContent === "The cursor of the page is in: after ann Tab"`)
	for _, key := range browserKeys() {
		press(key.Name, "h1")
		said(key.Name + " was pressed.")
	}
	s.set(func() { s.deaf = true })
	eval[any](b, field+".focus()")
	b.run(chromedp.KeyEvent("a long secret"), chromedp.KeyEvent(kb.Enter))
	said("That was not done: ")
	if got := eval[string](b, field+".value"); got != "a long secret" {
		t.Errorf("after a failure the field has %q", got)
	}
	s.set(func() { s.deaf = false })
	b.run(chromedp.KeyEvent(kb.Enter))
	said("The text was typed.")
	eval[any](b, `document.getElementById("screen").click()`) // as a screen reader does
	said("The picture is for a mouse.")
	at := eval[[]float64](b, `(() => { scrollTo(0, 0); const b = document.getElementById("screen").getBoundingClientRect(); return [b.x, b.y]; })()`)
	b.run(chromedp.MouseClickXY(at[0]+30, at[1]+20))
	said("The page was clicked.")
	want := []string{"ann Tab"}
	for _, key := range browserKeys() {
		want = append(want, key.Key)
	}
	want = append(want, "a long secret", "click 30 20")
	if got := s.got(); !slices.Equal(got, want) {
		t.Errorf("the browser has got %q, not %q", got, want)
	}
	press("Give it back", "form[action$='/take']")
	b.run(chromedp.Navigate(base+"/browsers/b2"), chromedp.WaitVisible("h1"))
	b.lookNow(script, "a browser without a page")

	b.run(chromedp.Navigate(base+"/rooms/bridge/login?arg.name=one"), chromedp.WaitVisible("main form"))
	press("Log in", "#leave")
	b.lookNow(script, "the way to a login")
	b.tabTo("Go to login.test")
	press("Do not", "main h1")
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		t.Errorf("the browser says %q", b.complaints)
	}
}
