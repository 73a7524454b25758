package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
	"github.com/mcp-tools/mcp-tools/tools/memory/vectors"
)

// buildWith builds everything with some settings.
func buildWith(t *testing.T, settings string, env map[string]string) (*App, *strings.Builder, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	e := &Env{Out: &strings.Builder{}, Err: &log, Getenv: func(name string) string { return env[name] },
		Data: t.TempDir(), ConfigFile: file}
	h, err := e.Open(t.Context())
	if err == nil {
		t.Cleanup(h.Close)
	}
	return h, &log, err
}

// TestMemoriesAreFoundByMeaning goes from the settings to the answer, and looks
// at what leaves for the endpoint.
func TestMemoriesAreFoundByMeaning(t *testing.T) {
	endpoint := embedtest.New(t, "car automobile vehicle")
	key, secret := strings.Repeat("embedding-key-", 3), strings.Repeat("a-secret-value-", 3)
	var mu sync.Mutex
	var keys []string
	next := endpoint.Config.Handler
	endpoint.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("Authorization"))
		mu.Unlock()
		next.ServeHTTP(w, r)
	})
	settings := fmt.Sprintf("memory: {embeddings: {url: %q, model: m, key: env:EMBED_KEY}}\nscrub: {values: [env:OTHER_SECRET]}\n", endpoint.URL+"/v1")
	h, log, err := buildWith(t, settings, map[string]string{"EMBED_KEY": key, "OTHER_SECRET": secret})
	if err != nil {
		t.Fatal(err)
	}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "ada", Session: "s"}})
	for i, text := range []string{"Her automobile is blue.", "The violin hangs in the hall.", "The password is " +
		secret + " for now.", "It is also " + key} {
		if _, err := h.memory.Store(ctx, memory.Write{Key: fmt.Sprint("n", i), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	work, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.embeddings.Work(work) }()
	for {
		wait := h.store.Wait("memory.vector")
		if missing, err := vectors.New(h.store, h.memories, "m").Missing(t.Context(), nil, "", 1); err != nil {
			t.Fatal(err)
		} else if len(missing) == 0 {
			break
		}
		<-wait
	}
	stop()
	<-done
	find := func(text string) memory.Found {
		for {
			found, err := h.memory.Search(ctx, memory.Query{Text: text, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			if !found.WordsOnly && !found.Behind { // it did not have to do without
				return found
			}
		}
	}
	if found := find("vehicle " + secret); len(found.Hits) == 0 || found.Hits[0].Path == "" {
		t.Fatalf("found %+v", found)
	}
	if found := find("vehicle"); len(found.Hits) == 0 || found.Hits[0].Path != "memory/n0.md" || found.Unembedded {
		t.Errorf("found %+v", found)
	}
	if _, err := h.memory.Store(ctx, memory.Write{Key: "late", Text: "A vehicle without wheels."}); err != nil {
		t.Fatal(err)
	}
	if found := find("vehicle"); !found.Unembedded {
		t.Errorf("the result does not say that the last memory has no vector yet: %+v", found)
	}
	other := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "bob", Session: "s"}})
	if found, err := h.memory.Search(other, memory.Query{Text: "vehicle", Limit: 3}); err != nil || found.Unembedded {
		t.Errorf("bob sees that ada has a memory: %+v, %v", found, err)
	}
	for text := range endpoint.Texts() {
		if strings.Contains(text, secret) || strings.Contains(text, key) {
			t.Errorf("a secret left in %q", text)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, got := range keys {
		if got != "Bearer "+key {
			t.Errorf("the endpoint got %q", got)
		}
	}
	if strings.Contains(log.String(), key) || h.scrub.Text(key) == key {
		t.Error("the key of the endpoint is not masked")
	}
}

func TestWithoutAnEndpointThereIsNothing(t *testing.T) {
	h, _, err := buildWith(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.embeddings != nil {
		t.Error("there is a search by meaning without an endpoint")
	}
	for settings, want := range map[string]string{
		"memory: {embeddings: {url: 'http://127.0.0.1:1/v1'}}": "set both url and model",
		"memory: {embeddings: {model: m}}":                     "set both url and model",
	} {
		if _, _, err := buildWith(t, settings, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// TestMissingEmbeddingsKey starts without the key: memories are found by words.
func TestMissingEmbeddingsKey(t *testing.T) {
	h, log, err := buildWith(t, "memory: {embeddings: {url: http://127.0.0.1:1, model: m, key: env:NO_SUCH_KEY}}\n",
		nil)
	if err != nil || h.embeddings != nil || !strings.Contains(log.String(), "NO_SUCH_KEY") {
		t.Errorf("%v, %s", err, log)
	}
}
