package search

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// local is a client that reaches a test server under the names of all engines.
type local struct {
	outbound.Client
	mu    sync.Mutex
	asked []asked
}

// asked is a request that an engine received.
type asked struct {
	Method, URL, Body string
	Header            http.Header
}

// newLocal returns a client that reaches h instead of the engines.
func newLocal(t testing.TB, h http.HandlerFunc) *local {
	t.Helper()
	l := &local{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		l.mu.Lock()
		l.asked = append(l.asked, asked{r.Method, r.Host + r.URL.String(), string(body), r.Header.Clone()})
		l.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(server.Close)
	hosts := make(map[string]*httptest.Server)
	for _, name := range []string{
		"api.search.brave.com", "html.duckduckgo.com", "api.tavily.com", "api.exa.ai", "s.jina.ai",
		"searx.example:8888", "api.perplexity.ai", "api.bochaai.com", "generativelanguage.googleapis.com", "api.x.ai",
		"api.moonshot.ai", "vertexaisearch.cloud.google.com",
	} {
		hosts[name] = server
	}
	l.Client = egresstest.Client(t, hosts)
	return l
}

// last returns the last request.
func (l *local) last(t *testing.T) asked {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.asked) == 0 {
		t.Fatal("nothing was asked")
	}
	return l.asked[len(l.asked)-1]
}

func (l *local) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

// hosts answers with another handler for each host.
func hosts(byHost map[string]http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h := byHost[r.Host]; h != nil {
			h(w, r)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}
}

// reply answers with a status and a body, and headers by twos.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func page(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const theKey = "key-for-tests-0123456789"

func key() (string, error) { return theKey, nil }

func noKey() (string, error) { return "", errors.New("the vault is locked") }

func searcher(t *testing.T, client outbound.Client, engines ...Engine) *Searcher {
	t.Helper()
	s, err := New(Options{Client: client, Engines: engines, Age: 0})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// each engine, as it is set up.
func each() map[string]Engine {
	return map[string]Engine{
		Brave: {Kind: Brave, Key: key}, DuckDuckGo: {Kind: DuckDuckGo}, Tavily: {Kind: Tavily, Key: key},
		Exa:        {Kind: Exa, Key: key},
		Perplexity: {Kind: Perplexity, Key: key}, Bocha: {Kind: Bocha, Key: key}, Gemini: {Kind: Gemini, Key: key},
		Grok: {Kind: Grok, Key: key}, Kimi: {Kind: Kimi, Key: key},
		Jina: {Kind: Jina, Key: key}, SearXNG: {Kind: SearXNG, URL: "http://searx.example:8888/"},
	}
}

func query(text string) Query { return Query{Text: text, Count: 5} }

// visibleText returns everything that a model can see of a response.
func visibleText(h Response, err error) string {
	text := strings.Join(h.Notes, "\n")
	for _, hit := range h.Results {
		text += "\n" + hit.Title + "\n" + hit.URL + "\n" + hit.Snippet
	}
	if err != nil {
		text += "\n" + err.Error()
	}
	return text
}
