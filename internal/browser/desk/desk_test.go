package desk_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/browser/desk"
	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/console"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// hang is how long the test waits for what must happen.
const hang = 5 * time.Minute

// newShop returns a shop with a login whose password the page shows afterwards, as some do with names, and a form whose
// fields it sends on.
func newShop(t *testing.T, password string, sent chan<- url.Values) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<title>Login</title><body style="margin:0"><form action=/in method=get>
			<input name=p aria-label=Password style="position:absolute;left:100px;top:100px;width:300px;height:60px"></form>`)
	})
	mux.HandleFunc("GET /in", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		who := "a stranger"
		if r.FormValue("p") == password {
			who = "ann, with " + r.FormValue("p")
		}
		fmt.Fprintf(w, "<title>Shop</title><h1>Welcome %s</h1>", who)
	})
	mux.HandleFunc("GET /form", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<title>Form</title><form action=/sent><label>Name <input name=name></label>
			<label>Password <input type=password name=password></label>
			<label>Country <select name=country><option>Denmark<option>Norway<option>Sweden</select></label>
			<label><input type=checkbox name=stay value=yes> Stay logged in</label>
			<label>Note <textarea name=note></textarea></label> <button>Send</button></form>`)
	})
	mux.HandleFunc("GET /sent", func(w http.ResponseWriter, r *http.Request) {
		sent <- r.URL.Query()
		fmt.Fprint(w, "<title>Sent</title><h1>Thank you</h1>")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestTakeOver lets a person with a Chromium of her own take over the browser of an agent at the console, log in, and give it
// back. The agent is told meanwhile, goes on afterwards, and never sees the password, and neither does the audit log.
func TestTakeOver(t *testing.T) {
	chromium := needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	const password = "Correct-horse 7&ü"
	home, err := os.MkdirTemp("", "desk-test-") // short, and open to the browser's user
	if err == nil {
		err = os.Chmod(home, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	data := filepath.Join(home, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	sent := make(chan url.Values, 1)
	net := egresstest.New(t, map[string]*httptest.Server{"shop.example": newShop(t, password, sent)})
	var browsers *browser.Browsers
	people := &desk.Desk{Dir: filepath.Join(data, desk.Dir), Browsers: func() *browser.Browsers { return browsers }}
	if browsers, err = browser.New(browser.Options{
		Tiers: sandbox.NewTiers(&kernel.Launcher{}, &host.Launcher{}), Dir: home,
		Proxy: func(_ context.Context, refused func(string, error)) (browser.Proxy, error) {
			return net.Proxy(t, func(string) {}, refused), nil
		},
		Opened: func(string, string) {
			if err := people.Open(); err != nil {
				t.Error(err)
			}
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := people.Close(); err != nil {
			t.Error(err)
		}
		if err := browsers.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(data, desk.Dir, "*")); len(left) > 0 {
			t.Errorf("sockets are left: %q", left)
		}
	})
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "helper", User: "ann", Session: "one"}})
	do := func(req browser.Request) (string, error) {
		v, err := browsers.Do(ctx, req)
		return strings.Join(v.Notes, "\n") + "\n" + v.Source + "\n" + v.Page, err
	}
	if page, err := do(browser.Request{Action: browser.Open, URL: "http://shop.example/"}); err != nil || !strings.Contains(page, "Password") {
		t.Fatalf("%q, %v", page, err)
	}

	for user, want := range map[string]bool{"": true, "ann": true, "bob": false} {
		v, _ := profiles.Room(desk.Verbs(func() (string, error) { return data, nil })...).Verb("list")
		ctx := room.As(t.Context(), room.Person{Name: "someone", User: user})
		plan, err := (&room.Room{}).Prepare(ctx, v, &room.Host{}, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plan.Run(ctx); err != nil || strings.Contains(fmt.Sprint(got.Data), "shop.example") != want {
			t.Errorf("a person for the user %q sees %v, %v", user, got.Data, err)
		}
	}
	at, recorded := newConsole(t, data)
	tab := newChromium(t, chromium)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(tab, actions...); err != nil {
			t.Fatal(err)
		}
	}
	run(chromedp.EmulateViewport(1500, 1300), chromedp.Navigate(at), chromedp.WaitVisible("button"), chromedp.Click("button"), chromedp.WaitVisible("#menu"),
		chromedp.Click(`#menu a[href$="/browsers"]`), chromedp.WaitVisible("main table a"), chromedp.Click("main table a"),
		chromedp.WaitVisible(`img#screen[src^="data:image/jpeg"]`), // the picture is live
		chromedp.Click(`form[action$="/take"] button`), chromedp.WaitVisible(`input#screen[src^="data:image/jpeg"]`))

	for _, action := range []browser.Action{browser.Snapshot, browser.Screenshot, browser.Evaluate, browser.Close} {
		_, err := do(browser.Request{Action: action, Text: "1"})
		if known := tool.AsError(err); known.Kind != tool.Busy || !strings.Contains(known.What, "a person (ann at the console) is using the browser") ||
			!strings.Contains(known.Next, "wait") {
			t.Errorf("%s while a person has it: %v", action, err)
		}
	}
	waited := make(chan string, 1)
	go func() {
		for {
			text, err := do(browser.Request{Action: browser.Wait, Millis: 60_000})
			if err == nil || tool.AsError(err).Kind != tool.Busy {
				waited <- fmt.Sprint(text, err)
				return
			}
		}
	}()
	var box []float64
	if box, err = chromedp.Run(tab, chromedp.Evaluate[[]float64](
		"(() => { const b = document.getElementById('screen').getBoundingClientRect(); return [b.x, b.y, b.width] })()")); err != nil || box[2] != 1280 {
		t.Fatalf("the picture is at %v, %v", box, err)
	}
	run(chromedp.MouseClickXY(box[0]+250, box[1]+130), chromedp.SendKeys("#browser-text", password),
		chromedp.Click(`button[name="arg.key"][value="Enter"]`))
	if err := chromedp.Do(tab, chromedp.Poll[chromedp.Void](
		"document.getElementById('browser-url').textContent.includes('/in')", chromedp.WithPollingTimeout(hang))); err != nil {
		said, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.getElementById('browser-said').textContent + document.getElementById('browser-url').textContent"))
		t.Fatalf("the login is not sent: %v; the page says %q", err, said)
	}
	select {
	case text := <-waited:
		t.Errorf("the agent went on: %s", text)
	default:
	}
	run(chromedp.Click(`form[action$="/give"] button`), chromedp.WaitVisible(`form[action$="/take"]`))
	if text := <-waited; !strings.Contains(text, "given it back") {
		t.Errorf("the agent is told %q", text)
	}
	page, err := do(browser.Request{Action: browser.Snapshot})
	if err != nil || !strings.Contains(page, "Welcome ann, with [typed]") {
		t.Errorf("after the login: %q, %v", page, err)
	}
	for _, req := range []browser.Request{
		{Action: browser.Address}, {Action: browser.Evaluate, Text: "document.body.textContent + location.href"}, {Action: browser.Network},
		{Action: browser.Evaluate, Text: "throw new Error(document.body.textContent)"}, {Action: browser.Tabs},
	} {
		text, err := do(req)
		text = fmt.Sprint(text, err)
		for _, form := range []string{password, "Correct-horse", "Correct-horse+7%26%C3%BC"} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows the password: %s", req.Action, text)
			}
		}
	}
	if _, err := do(browser.Request{Action: browser.Open, URL: "http://shop.example/form"}); err != nil {
		t.Fatal(err)
	}
	(&keyboard{t, tab}).fillIn()
	if got := (<-sent).Encode(); got != "country=Norway&name=ann&note=first+line%0D%0Asecond&password=Correct-horse+7%26%C3%BC&stay=yes" {
		t.Errorf("the form was sent with %s", got)
	}
	if page, err := do(browser.Request{Action: browser.Snapshot}); err != nil || !strings.Contains(page, "Thank you") {
		t.Errorf("after the form: %q, %v", page, err)
	}
	verbs := recorded()
	if all := fmt.Sprint(verbs); strings.Contains(all, "horse") || !strings.Contains(all, "browser take") || !strings.Contains(all, "browser input") ||
		!strings.Contains(all, "browser give") || !strings.Contains(all, "(hidden)") {
		t.Errorf("the audit log has %s", all)
	}
}

// A keyboard is all that a person has: no mouse, and no eyes for the picture.
type keyboard struct {
	*testing.T
	tab context.Context
}

func (k *keyboard) run(actions ...chromedp.Action[chromedp.Void]) {
	k.Helper()
	if err := chromedp.Do(k.tab, actions...); err != nil {
		k.Fatal(err)
	}
}

// to presses Tab until an element whose text begins with some words has the focus.
func (k *keyboard) to(words string) {
	k.Helper()
	for range 60 {
		k.run(chromedp.KeyEvent(kb.Tab))
		at, err := chromedp.Run(k.tab, chromedp.Evaluate[string]("document.activeElement.id + document.activeElement.textContent.trim()"))
		if err != nil {
			k.Fatal(err)
		}
		if strings.HasPrefix(at, words) {
			return
		}
	}
	k.Fatalf("Tab does not reach %q", words)
}

// press presses a button of the console, and waits until it has said which element of the page gets the keys then.
func (k *keyboard) press(words, focus string) {
	k.Helper()
	k.to(words)
	k.run(chromedp.KeyEvent(kb.Enter))
	if err := chromedp.Do(k.tab, chromedp.Poll[chromedp.Void](fmt.Sprintf(
		"document.getElementById('browser-focus')?.textContent === 'The cursor of the page is in: ' + %q", focus), chromedp.WithPollingTimeout(hang))); err != nil {
		page, _ := chromedp.Run(k.tab, chromedp.Evaluate[string]("document.body.innerText"))
		k.Fatalf("after %q the focus is not said to be in %q: %v; the page is %s", words, focus, err, page)
	}
}

// fillIn takes the browser over and fills in the form of the shop.
func (k *keyboard) fillIn() {
	k.Helper()
	k.run(chromedp.Reload(), chromedp.WaitVisible(`form[action$="/take"]`))
	k.to("Take it over")
	k.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`input#screen[src^="data:image/jpeg"]`))
	k.press("Tab", "Name, textbox")
	for _, one := range []struct{ text, button, focus string }{
		{"ann", "Type, then Tab", "Password, textbox"}, {"Correct-horse 7&ü", "Type, then Tab", "Country, combobox, Denmark, collapsed"},
		{"", "Arrow down", "Country, combobox, Norway, collapsed"}, {"", "Tab", "Stay logged in, checkbox, not checked"},
		{"", "Space", "Stay logged in, checkbox, checked"}, {"", "Shift+Tab", "Country, combobox, Norway, collapsed"},
		{"", "Tab", "Stay logged in, checkbox, checked"}, {"", "Tab", "Note, textbox"},
		{"first line", "Type, then Enter", "Note, textbox"}, {"second", "Type, then Tab", "Send, button"}, {"", "Enter", "nothing"},
	} {
		if one.text != "" {
			k.to("browser-text")
			k.run(chromedp.KeyEvent(one.text))
		}
		k.press(one.button, one.focus)
	}
	k.to("Give it back")
	k.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`form[action$="/take"]`))
}

// newConsole serves a console of another process than the server with the browser would be: it knows the data directory only.
func newConsole(t *testing.T, data string) (link string, recorded func() []string) {
	s, err := store.Open(t.Context(), store.Options{DSN: data})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var verbs []string
	where := func() (string, error) { return data, nil }
	c := console.New(console.Options{
		API: room.API{
			Rooms: []*room.Room{profiles.Room(desk.Verbs(where)...)},
			Host:  &room.Host{Store: s, Log: slog.New(slog.DiscardHandler), Data: where},
			Record: func(_ context.Context, c room.Called) error {
				mu.Lock()
				defer mu.Unlock()
				verbs = append(verbs, c.Verb+" "+string(c.Args)+fmt.Sprint(c.Err))
				return nil
			},
			Scrub: func(text string) string { return text },
		},
		Record: func(context.Context, audit.Record) error { return nil },
		Scrub:  func(text string) string { return text }, Log: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(c.Handler())
	t.Cleanup(func() {
		c.Close()
		server.CloseClientConnections()
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Hosts = []string{strings.TrimPrefix(server.URL, "http://")}
	return server.URL + c.Link(room.Person{Name: "ann at the console", Channel: room.ConsoleChannel}), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(verbs)
	}
}

// newChromium starts the browser of the person.
func newChromium(t *testing.T, path string) context.Context {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(hang), chromedp.Flag("disable-gpu", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), hang)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it may have ended already
		end()
		stop()
		cancel()
	})
	return ctx
}

// TestVerbs checks whose browsers a person sees, the sockets of killed servers, and browsers that do not run.
func TestVerbs(t *testing.T) {
	data := t.TempDir()
	r := profiles.Room(desk.Verbs(func() (string, error) { return data, nil })...)
	host := &room.Host{Data: func() (string, error) { return data, nil }}
	call := func(verb, args string) (tool.Result, error) {
		v, _ := r.Verb(verb)
		ctx := room.As(t.Context(), room.Person{Name: "ann"})
		plan, err := r.Prepare(ctx, v, host, []byte(args))
		if err != nil {
			return tool.Result{}, err
		}
		return plan.Run(ctx)
	}
	if err := os.Mkdir(filepath.Join(data, desk.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(data, desk.Dir, "dead.sock")
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := call("list", `{}`); err != nil || got.Text() != "No browser runs." {
		t.Errorf("list: %q, %v", got.Text(), err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the socket of a killed server is left")
	}
	for _, verb := range []string{"take", "give", "watch"} {
		if _, err := call(verb, `{"id":"none"}`); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := call("input", `{"id":"none"}`); tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("nothing to do: %v", err)
	}
	if _, err := call("input", `{"id":"none","text":"x"}`); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("input: %v", err)
	}
}
