package browser

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestInternalHostsAreNotReached checks that neither a page nor a model can reach internal hosts: by an
// address, a name, a redirect, a frame, a worker, a socket, or without HTTP.
func TestInternalHostsAreNotReached(t *testing.T) {
	t.Parallel()
	in := newInsider(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.inside = "127.0.0.1:" + in.port()
	for _, name := range []string{"127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
		"2130706433", "0x7f000001", "inside.localhost", "rebind.example", "169.254.169.254", host} {
		s.names = append(s.names, name+":"+in.port())
	}
	b := newFixture(t, map[string]*httptest.Server{"shop.example": s.Server},
		func(o *Options) { o.Path = chromiumWith(t, "--unsafely-treat-insecure-origin-as-secure="+shop) })
	_, answers := tricktest.URLs(in.port())
	for name, addresses := range answers {
		b.net.Resolve(name, addresses...)
	}
	b.net.Resolve("rebind.example", "127.0.0.1")

	t.Run("with", func(t *testing.T) {
		for name, attack := range map[string]func(*testing.T, *fixture, *site){"a page": evilPage,
			"scripts":   evilScripts,
			"addresses": evilAddresses, "tricks": evilTricks(in.port())} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mine := b.in(t, name)
				attack(t, mine, s)
				mine.do(Request{Action: Close}) // the proxy reports connections when they end
			})
		}
	})
	if n := in.reached.Load(); n > 0 {
		t.Errorf("internal hosts were reached %d times", n)
	}
	asked := b.record.all()
	if !slices.Contains(asked, "shop.example:80") {
		t.Errorf("the proxy had requests for %q only", asked)
	}
	for _, host := range asked {
		if strings.Contains(host, "google") && !strings.HasPrefix(host, "metadata.") || strings.Contains(host, "gvt1") {
			t.Errorf("the browser requested an update: %s", host)
		}
	}
}

// evilPage runs the attacks of a page, also after clicks.
func evilPage(t *testing.T, b *fixture, _ *site) {
	b.do(Request{Action: Open, URL: shop + "/evil.html"})
	b.do(Request{Action: Wait, Text: "done;", Millis: 60_000})
	said := b.do(Request{Action: Snapshot})
	for _, leak := range []string{"INSIDER", "open;", ": granted"} {
		if strings.Contains(said, leak) {
			t.Errorf("an attack succeeded, %q:\n%s", leak, said)
		}
	}
	wantContains(t, said, "candidates 0", "geolocation: denied", "file failed", "service: stopped",
		"worker: stopped")

	for _, id := range []string{"file", "chrome", "source", "tools", "data", "ping"} {
		if _, err := b.try(Request{Action: Click, Ref: "#" + id}); err != nil {
			t.Logf("%s: %v", id, err)
		}
		if tabs := b.do(Request{Action: Tabs}); strings.Contains(tabs, "file:") || strings.Contains(tabs, "chrome:") ||
			strings.Contains(tabs, "view-source") || strings.Contains(tabs, "devtools:") {
			t.Errorf("%s leads to:\n%s", id, tabs)
		}
		b.do(Request{Action: Open, URL: shop + "/evil.html?still"})
	}
}

// evilTricks requests all tricky URLs from a page, and opens those with unusual hosts.
func evilTricks(port string) func(*testing.T, *fixture, *site) {
	return func(t *testing.T, b *fixture, _ *site) {
		all, _ := tricktest.URLs(port)
		list, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		b.do(Request{Action: Open, URL: shop + "/table.html"})
		said := b.do(Request{Action: Evaluate, Text: `(async () => {
			const asked = await Promise.allSettled(` + string(list) + `.map(u => fetch(u, {mode: 'no-cors', signal: AbortSignal.timeout(8000)})));
			return asked.filter(a => a.status === 'rejected').length + ' of ' + asked.length + ' stopped';
		})()`})
		wantContains(t, said, " stopped")
		t.Log(said)
		hosts, _ := tricktest.Hosts()
		for i, host := range hosts {
			if i%2 == 0 { // half of them, to save time
				v, err := b.try(Request{Action: Open, URL: "http://" + host + ":" + port + "/"})
				if strings.Contains(v.Page, "INSIDER") || err != nil && tool.AsError(err).Kind == tool.Internal {
					t.Errorf("%q: %v %s", host, err, v.Page)
				}
			}
		}
	}
}

// evilScripts runs attacks as scripts of a model.
func evilScripts(t *testing.T, b *fixture, s *site) {
	name, err := os.ReadFile("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	b.do(Request{Action: Open, URL: shop + "/table.html"})
	for _, script := range []string{
		"location = 'file:///etc/hostname'", "open('file:///etc/hostname')", "open('chrome://version')",
		"open('view-source:http://%')", "location = 'http://%/'", "open('http://%/')",
		"document.body.innerHTML = '<form method=post action=http://%/></form>'; document.forms[0].submit()",
		"location = '/redirect?to=' + encodeURIComponent('http://%/')",
		"location = '/refresh?to=' + encodeURIComponent('http://%/')",
		"location = '/redirect?to=' + encodeURIComponent('file:///etc/hostname')",
		"location = '/refresh?to=' + encodeURIComponent('file:///etc/hostname')",
		"location = URL.createObjectURL(new Blob(['<script>location = \"file:///etc/hostname\"</script>'], {type: 'text/html'}))",
		"document.body.innerHTML = '<iframe src=\"file:///etc/\"></iframe><embed src=\"file:///etc/hostname\">'",
		"location = 'javascript:fetch(\"http://%/\")'", "fetch('http://%/', {targetAddressSpace: 'private'})",
	} {
		said, err := b.try(Request{Action: Evaluate, Text: strings.ReplaceAll(script, "%", s.inside)})
		if err != nil {
			t.Logf("%s: %v", script, err)
		}
		v, err := b.try(Request{Action: Snapshot})
		if err != nil {
			t.Logf("%s: %v", script, err)
		}
		for _, page := range []string{said.Page, v.Page} {
			if strings.Contains(page, "INSIDER") || strings.Contains(page, strings.TrimSpace(string(name))) {
				t.Errorf("%s shows:\n%s", script, page)
			}
		}
		if tabs := b.do(Request{Action: Tabs}); strings.Contains(tabs, "file:") || strings.Contains(tabs, "chrome:") {
			t.Errorf("%s leads to:\n%s", script, tabs)
		}
		b.do(Request{Action: Open, URL: shop + "/table.html"})
	}
}

// evilAddresses opens internal URLs, directly and after a redirect.
func evilAddresses(t *testing.T, b *fixture, s *site) {
	for _, to := range s.names {
		for _, address := range []string{"http://" + to + "/", shop + "/redirect?to=" +
			url.QueryEscape("http://"+to+"/")} {
			if v, err := b.try(Request{Action: Open, URL: address}); err == nil && strings.Contains(v.Page, "INSIDER") {
				t.Errorf("%s: %s", address, v.Page)
			}
		}
	}
}

// chromiumWith returns a Chromium with additional arguments.
func chromiumWith(t testing.TB, arg string) string {
	t.Helper()
	path, err := findExecutable("")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(openDir(t), "chromium")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %s %s \"$@\"\n", path, arg), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestUnseenTextIsLeftOut checks that a snapshot has what a person sees, and nothing else.
func TestUnseenTextIsLeftOut(t *testing.T) {
	t.Parallel()
	b := atShop(t)
	page := b.do(Request{Action: Open, URL: shop + "/unseen.html", MaxChars: 10_000})
	scrolled := b.do(Request{Action: Scroll, Direction: "bottom"}) + b.do(Request{Action: Snapshot, MaxChars: 10_000})
	for _, text := range []string{page, scrolled} {
		if strings.Contains(text, "UNSEEN") {
			t.Errorf("it has text that no person sees:\n%s", text)
		}
		wantContains(t, text, "Plain text.", "Light on dark.", `link "Visible link"`, `button "Buy"`, "White on a picture.",
			"White on a hero.", "Gradient heading", `checkbox "Drawn box"`, "Pale text.", "Grey text.", "Far below.",
			"Turned a little.", "Fading out.",
			"Scrolled to.", "\ndef f():\n    return 1", "texts that a person would not see are left out: ")
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.org/a?b#c": "https://example.org/a?b#c", "example.org": "https://example.org",
		"example.org:8080/x": "https://example.org:8080/x",
		"localhost":          "https://localhost", " http://example.org ": "http://example.org",
		"about:blank": "about:blank", "HTTP://EXAMPLE.org": "HTTP://EXAMPLE.org",
		"file:///etc/passwd": "", "FILE:/etc/passwd": "", "file:etc": "", "chrome://version": "",
		"view-source:http://example.org": "", "javascript:alert(1)": "",
		"data:text/html,x": "", "blob:https://example.org/1": "", "ftp://example.org": "", "devtools://devtools": "",
		"about:version": "", "about:srcdoc": "", "http://u:p@example.org": "",
		"http:///x": "", "http://": "", "": "", "http://exa\nmple.org": "", "http:\\\\example.org": "",
		"ht\ttp://example.org": "", "http://\u202eexample.org": "",
		"filesystem:http://example.org/": "", "chrome-extension://x": "", "ws://example.org": "", "intent://x": "",
		"mailto:x@example.org": "", "https://" + strings.Repeat("x", maxURL): "",
	} {
		got, err := checkURL(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", address, got, err, want)
		}
		if err != nil && tool.AsError(err).Kind == tool.Internal {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("https://example.org")
	f.Add("file:///etc/passwd")
	f.Add("example.org:80/x")
	f.Add("\x00http://x")
	f.Fuzz(func(t *testing.T, address string) {
		got, err := checkURL(address)
		if err != nil || got == "about:blank" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Host == "" || u.User != nil || !strings.EqualFold(u.Scheme, "http") &&
			!strings.EqualFold(u.Scheme, "https") {
			t.Errorf("%q is opened as %q", address, got)
		}
	})
}
