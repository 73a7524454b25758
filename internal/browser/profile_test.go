package browser

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

const bank = "http://bank.example"

// A bankSite has logins that are a cookie of the session, and pages that keep things in both kinds of storage.
type bankSite struct {
	*httptest.Server
	cookie string // of the login
}

func newBank(t testing.TB, cookie string) *bankSite {
	b := &bankSite{cookie: cookie}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /in", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: b.cookie, Path: "/", HttpOnly: true})
		http.SetCookie(w, &http.Cookie{Name: "csrf", Value: "tok-" + b.cookie, Path: "/", MaxAge: 3600})
		http.SetCookie(w, &http.Cookie{Name: "theme", Value: "red", Path: "/", Domain: "bank.example", MaxAge: 3600})
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>In</title><p id=p>keeping</p><script>
			localStorage.setItem("device", "device-7");
			const r = indexedDB.open("keys", 1);
			r.onupgradeneeded = () => r.result.createObjectStore("k");
			r.onsuccess = () => {
				const t = r.result.transaction("k", "readwrite", {durability: "strict"});
				t.objectStore("k").put("key-9", "one");
				t.oncomplete = () => { document.getElementById("p").textContent = "kept"; };
			};
			</script>`)
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		who := "a stranger"
		if c, err := r.Cookie("sid"); err == nil && c.Value == b.cookie {
			who = "ann"
		}
		theme := ""
		if c, err := r.Cookie("theme"); err == nil {
			theme = c.Value
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>Me</title><h1>Hello %s</h1><p>theme %s</p><p id=p></p><script>
			const r = indexedDB.open("keys", 1);
			r.onupgradeneeded = () => r.result.createObjectStore("k");
			r.onsuccess = () => {
				const g = r.result.transaction("k").objectStore("k").get("one");
				g.onsuccess = () => { document.getElementById("p").textContent =
					"device " + localStorage.getItem("device") + ", key " + g.result; };
			};
			</script>`, who, theme)
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

// masks are the values that are masked in results.
type masks struct {
	mu  sync.Mutex
	all map[string][]string
}

func (m *masks) set(name string, values ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[name] = values
	return nil
}

func (m *masks) text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, values := range m.all {
		for _, v := range values {
			text = strings.ReplaceAll(text, v, "[masked]")
		}
	}
	return text
}

// profilesIn returns the profiles of a data directory, with the key of its vault.
func profilesIn(t testing.TB, data string) *profiles.Profiles {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	v := vault.New(vault.Config{
		Store: func(context.Context, bool) (*store.Store, func() error, error) {
			return s, func() error { return nil }, nil
		},
		Dir: filepath.Join(data, "vault"),
	})
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &profiles.Profiles{
		Dir: func() (string, error) { return filepath.Join(data, profiles.Dir), nil }, Seal: v.Seal, Open: v.Open,
	}
}

func atBank(t testing.TB, site *bankSite, data string, m *masks, change ...func(*Options)) *fixture {
	t.Helper()
	kept := profilesIn(t, data)
	return newFixture(t, map[string]*httptest.Server{"bank.example": site.Server}, append([]func(*Options){func(o *Options) {
		o.Profiles, o.Mask = kept, m.set
	}}, change...)...)
}

func newSecret() string { return strings.ToLower(rand.Text()) }

// TestLoginsAreKept logs in, ends the browser and the server, and finds the login again: the cookie of the session, which
// Chromium itself forgets, and both kinds of storage. The file has none of it in plain text.
func TestLoginsAreKept(t *testing.T) {
	t.Parallel()
	site, data, m := newBank(t, newSecret()), t.TempDir(), &masks{all: map[string][]string{}}
	first := atBank(t, site, data, m)
	first.do(Request{Action: Open, URL: bank + "/in", Profile: "work"})
	first.do(Request{Action: Wait, Text: "kept"})
	first.do(Request{Action: Close})

	wantContains(t, first.do(Request{Action: Open, URL: bank + "/me"}), "Hello a stranger", "key undefined") // no profile
	if _, err := first.try(Request{Action: Open, URL: bank + "/me", Profile: "work"}); tool.AsError(err).Kind != tool.Conflict ||
		!strings.Contains(err.Error(), "close") {
		t.Errorf("a profile for a browser without one: %v", err)
	}
	other, err := first.browsers.Do(first.as("bob"), Request{Action: Open, URL: bank + "/me", Profile: "work"})
	if err != nil || !strings.Contains(other.Page, "a stranger") {
		t.Errorf("another user has the login: %q, %v", other.Page, err)
	}
	if err := first.browsers.Close(); err != nil {
		t.Fatal(err)
	}

	second := atBank(t, site, data, m)
	page := second.do(Request{Action: Open, URL: bank + "/me", Profile: "work"})
	wantContains(t, page, "Hello ann", "theme red", "device device-7, key key-9")

	for _, script := range []string{
		"document.cookie", "JSON.stringify({c: document.cookie})", "'sid=' + 1 + document.cookie",
		"throw new Error(document.cookie)", "console.log(document.cookie); document.title = document.cookie",
	} {
		v, err := second.try(Request{Action: Evaluate, Text: script})
		text := m.text(fmt.Sprint(strings.Join(v.Notes, "\n"), v.Page, err))
		if strings.Contains(text, site.cookie) || strings.Contains(text, "theme=red") {
			t.Errorf("%s shows a cookie: %s", script, text)
		}
	}
	for _, a := range []Action{Console, Title, Snapshot} {
		if text := m.text(second.do(Request{Action: a})); strings.Contains(text, site.cookie) {
			t.Errorf("%s shows a cookie: %s", a, text)
		}
	}
	second.do(Request{Action: Close})
	files, err := filepath.Glob(filepath.Join(data, profiles.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil || bytes.Contains(content, []byte(site.cookie)) || bytes.Contains(content, []byte("device-7")) {
			t.Errorf("%s has the login in plain text, %v", name, err)
		}
	}
}

// TestTwoSessionsOfAProfile checks that the second one gets an error that names the first, starts nothing, and gets the
// profile when the first has closed it.
func TestTwoSessionsOfAProfile(t *testing.T) {
	t.Parallel()
	site, data, m := newBank(t, newSecret()), t.TempDir(), &masks{all: map[string][]string{}}
	b := atBank(t, site, data, m)
	b.do(Request{Action: Open, URL: bank + "/in", Profile: "work"})

	ctx := tool.With(b.as("ann"), &tool.Running{Caller: tool.Caller{Agent: "agent", User: "ann", Session: "second"}})
	open := Request{Action: Open, URL: bank + "/me", Profile: "work"}
	_, err := b.browsers.Do(ctx, open)
	if known := tool.AsError(err); known.Kind != tool.Conflict || !strings.Contains(known.What, "conversation session since") {
		t.Errorf("the profile is opened twice: %v", err)
	}
	if left, _ := os.ReadDir(b.home); len(left) != 1 {
		t.Errorf("there are %d directories of browsers", len(left))
	}
	list, err := b.browsers.o.Profiles.List()
	if err != nil || len(list) > 1 || len(list) == 1 && (list[0].Holder == nil || list[0].Holder.Session != "session") {
		t.Errorf("the list is %+v, %v", list, err)
	}
	b.do(Request{Action: Close})
	v, err := b.browsers.Do(ctx, open)
	if err != nil || !strings.Contains(v.Page, "Hello ann") {
		t.Errorf("after it was closed: %q, %v", v.Page, err)
	}
	for _, name := range []string{"..", "a/b", "", "A", strings.Repeat("x", 41)} {
		if err := profiles.CheckName(name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// TestKilledBrowserKeepsItsProfile kills Chromium: the next request with the profile has the login.
func TestKilledBrowserKeepsItsProfile(t *testing.T) {
	t.Parallel()
	b := atBank(t, newBank(t, newSecret()), t.TempDir(), &masks{all: map[string][]string{}})
	b.do(Request{Action: Open, URL: bank + "/in", Profile: "work"})
	for _, s := range b.browsers.sessions {
		_ = s.program.process.Kill()
		<-s.conn.lost
	}
	if _, err := b.try(Request{Action: Snapshot}); tool.AsError(err).Kind != tool.Unavailable || !strings.Contains(err.Error(), "work") {
		t.Errorf("a browser that is dead: %v", err)
	}
	wantContains(t, b.do(Request{Action: Open, URL: bank + "/me", Profile: "work"}), "Hello ann")
}

// TestKilledServerKeepsProfiles kills the server: what was saved before is there, and the profile is free.
func TestKilledServerKeepsProfiles(t *testing.T) {
	t.Parallel()
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	home, data, secret := openDir(t), t.TempDir(), newSecret()
	server := exec.Command(os.Args[0], "-test.run=^TestProfileServerProcess$")
	server.Env = append(os.Environ(), "BROWSER_TEST_HOME="+home, "BROWSER_TEST_DATA="+data, "BROWSER_TEST_SECRET="+secret)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "runs\n" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	kept := profilesIn(t, data)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if list, err := kept.List(); err == nil && len(list) == 1 && list[0].Holder != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the running browser does not save its profile")
		}
	}
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	waitForNoProcess(t, home+"/")
	b := atBank(t, newBank(t, secret), data, &masks{all: map[string][]string{}}, func(o *Options) { o.Dir = home })
	b.browsers.Sweep()
	wantContains(t, b.do(Request{Action: Open, URL: bank + "/me", Profile: "work"}), "Hello ann", "theme red")
}

// TestProfileServerProcess runs the server that TestKilledServerKeepsProfiles kills.
func TestProfileServerProcess(t *testing.T) {
	home := os.Getenv("BROWSER_TEST_HOME")
	if home == "" || os.Getenv("BROWSER_TEST_DATA") == "" {
		return // it runs only in a child process
	}
	b := atBank(t, newBank(t, os.Getenv("BROWSER_TEST_SECRET")), os.Getenv("BROWSER_TEST_DATA"),
		&masks{all: map[string][]string{}}, func(o *Options) { o.Dir = home })
	b.do(Request{Action: Open, URL: bank + "/in", Profile: "work"})
	fmt.Println("runs")
	select {}
}

// TestProfileThatCannotBeDecrypted checks that it is neither opened nor overwritten.
func TestProfileThatCannotBeDecrypted(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	b := atBank(t, newBank(t, newSecret()), data, &masks{all: map[string][]string{}})
	b.do(Request{Action: Open, URL: bank + "/in", Profile: "work"})
	b.do(Request{Action: Close})
	b.browsers.o.Profiles.Open = func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("no key") }
	before, _ := b.browsers.o.Profiles.List()
	_, err := b.try(Request{Action: Open, URL: bank + "/me", Profile: "work"})
	if known := tool.AsError(err); known.Kind != tool.Unavailable || !strings.Contains(known.What, "decrypted") {
		t.Errorf("a profile without its key: %v", err)
	}
	after, err := b.browsers.o.Profiles.List()
	for end := time.Now().Add(time.Minute); err == nil && after[0].Holder != nil && time.Now().Before(end); {
		after, err = b.browsers.o.Profiles.List() // the browser that was not started is closed in the background
	}
	if err != nil || len(before) != 1 || len(after) != 1 || before[0].Saved != after[0].Saved || after[0].Holder != nil {
		t.Errorf("the profile was %+v, is %+v, %v", before, after, err)
	}
}
