// Package viewtest shows the page of MCP Apps as clients do, for tests: Chromium with a host made of the app-bridge
// of the extension's own npm package, fetched by .ci/conformance-install. It knows no server; a test may give it one
// behind an HTTP handler. Begin with [Open].
package viewtest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// hang is the time limit of a test for an expected event.
const hang = time.Minute

//go:embed host.html
var files embed.FS

// policy is the policy that hosts of MCP Apps enforce.
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'none'"

// A Host is a page in Chromium that shows the page of MCP Apps in a frame.
type Host struct {
	t   *testing.T
	ctx context.Context // of the host's page
	app context.Context // of the frame
}

// Open starts Chromium with a host. root is the directory of the repository, as seen from the test. mcp is a server for
// the host's client; without one the host answers calls itself, and shows the page at once.
func Open(t *testing.T, root string, mcp http.Handler) *Host {
	t.Helper()
	_, modules := conformance.Install(t, root).Node()
	site := httptest.NewServer(newSite(t, modules, mcp))
	t.Cleanup(site.Close)
	h := &Host{t: t, ctx: Chromium(t, 2*hang, chromedp.NoSandbox, chromedp.WindowSize(900, 900),
		chromedp.Flag("site-per-process", true))}
	h.do(chromedp.Navigate(site.URL))
	h.Wait("window.host && host.loaded")
	if mcp == nil {
		h.Run("host.open(null)")
		h.Enter()
	}
	return h
}

// Chromium starts a browser for a test, and returns the context of its page. Both end with the test, or after the limit.
func Chromium(t *testing.T, limit time.Duration, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(limit), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	ctx, stop := chromedp.NewExecAllocator(ctx, append(options, more...)...)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it may have ended already
		end()
		stop()
		cancel()
	})
	return ctx
}

// newSite returns a site with the host, the modules that it imports, and the page.
func newSite(t *testing.T, modules string, mcp http.Handler) http.Handler {
	var mu sync.Mutex
	page := []byte(view.Page())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch at := r.URL.Path; {
		case at == "/":
			http.ServeFileFS(w, r, files, "host.html")
		case at == "/page" && r.Method == http.MethodPut: // as the server has it
			text, _ := io.ReadAll(r.Body)
			mu.Lock()
			page = text
			mu.Unlock()
		case at == "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", policy)
			mu.Lock()
			defer mu.Unlock()
			_, _ = w.Write(page)
		case len(at) > 9 && at[:9] == "/modules/":
			text, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(filepath.Clean(at[8:]))))
			if err != nil {
				t.Errorf("the host lacks a module: %s", at)
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", mime.TypeByExtension(".js"))
			_, _ = w.Write(text)
		case at == "/mcp" && mcp != nil:
			mcp.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
			if at != "/favicon.ico" {
				t.Errorf("the page asked for %s", r.URL)
			}
		}
	})
}

// Enter waits until the page is in its frame, and looks into it from then on.
func (h *Host) Enter() {
	h.t.Helper()
	h.Wait("host.ready")
	all, err := chromedp.Targets(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, one := range all {
		if one.Type == "iframe" {
			app, stop := chromedp.NewContext(h.ctx, chromedp.WithTargetID(one.TargetID))
			h.t.Cleanup(stop)
			h.app = app
		}
	}
	if h.app == nil {
		h.t.Fatal("the frame is not a target of its own")
	}
}

func (h *Host) do(steps ...chromedp.Action[chromedp.Void]) {
	h.t.Helper()
	if err := chromedp.Do(h.ctx, steps...); err != nil {
		h.t.Fatal(err)
	}
}

// value returns the value of an expression.
func value[T any](h *Host, ctx context.Context, expression string) T {
	h.t.Helper()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		h.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

func (h *Host) wait(ctx context.Context, expression string) {
	h.t.Helper()
	for end := time.Now().Add(hang); !value[bool](h, ctx, "!!("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("it did not become true: %s\nthe page: %.2000s", expression, value[string](h, ctx, "document.body.innerText"))
		}
	}
}

// Run starts a script in the host.
func (h *Host) Run(script string) { h.t.Helper(); value[int](h, h.ctx, script+"; 0") }

// Wait waits until an expression is true in the host.
func (h *Host) Wait(expression string) { h.t.Helper(); h.wait(h.ctx, expression) }

// Text returns the value of an expression in the host, a string.
func (h *Host) Text(expression string) string {
	h.t.Helper()
	return value[string](h, h.ctx, expression)
}

// RunInside starts a script in the page.
func (h *Host) RunInside(script string) { h.t.Helper(); value[int](h, h.app, script+"; 0") }

// Until waits until an expression is true in the page.
func (h *Host) Until(expression string) { h.t.Helper(); h.wait(h.app, expression) }

// Inside returns the value of an expression in the page, a string.
func (h *Host) Inside(expression string) string {
	h.t.Helper()
	return value[string](h, h.app, expression)
}

// Press clicks the first button whose text begins with a label.
func (h *Host) Press(label string) {
	h.t.Helper()
	raw, _ := json.Marshal(label) // a string
	button := `[...document.querySelectorAll("button")].find(b => b.textContent.startsWith(` + string(raw) + `))`
	h.Until(button)
	h.RunInside(button + ".click()")
}

// Show gives the page a result, waits until it is there, and returns the text of the page.
func (h *Host) Show(shown any, text string) string {
	h.t.Helper()
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if shown != nil {
		result["_meta"] = map[string]any{"mcp-tools/view": shown}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		h.t.Fatal(err)
	}
	h.RunInside(`document.getElementById("m").replaceChildren()`)
	h.Run("host.show(" + string(raw) + ")")
	h.Until(`document.getElementById("m").childNodes.length > 0`)
	return h.Inside("document.body.innerText")
}

// Resize gives the window another width.
func (h *Host) Resize(width int64) {
	h.t.Helper()
	h.do(chromedp.EmulateViewport(width, 900))
	h.Until("innerWidth === " + strconv.FormatInt(width, 10))
}

// Wide reports whether the page is wider than its frame.
func (h *Host) Wide() bool {
	h.t.Helper()
	return value[bool](h, h.app, "document.documentElement.scrollWidth > innerWidth")
}

// Shoot writes a picture of the page to a directory of the variable VIEW_PICTURES, if it is set.
func (h *Host) Shoot(name string) {
	h.t.Helper()
	dir := os.Getenv("VIEW_PICTURES")
	if dir == "" {
		return
	}
	height := int64(value[float64](h, h.app, "Math.ceil(document.body.getBoundingClientRect().height)"))
	h.Wait(fmt.Sprintf("host.size === %d", height)) // the page has reported it
	h.do(chromedp.EmulateViewport(int64(value[float64](h, h.ctx, "innerWidth")), max(height, 40)))
	h.Wait(fmt.Sprintf("innerHeight === %d", max(height, 40)))
	h.RunInside("window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true }))")
	h.Until("window.drawn") // else the picture has the former content
	shot, err := chromedp.Run(h.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600)
	}
	if err != nil {
		h.t.Error(err)
	}
}
