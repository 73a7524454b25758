package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
)

func client(t testing.TB, s *embedtest.Server, o Options) *Client {
	t.Helper()
	o.URL, o.HTTP = s.URL+"/v1/", egresstest.Within(t, Limits(), s.URL)
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hurried makes a client's pauses short, and returns how long they would be.
func hurried(c *Client) *[]time.Duration {
	var mu sync.Mutex
	var pauses []time.Duration
	c.attempts.Wait = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		pauses = append(pauses, d)
		return ctx.Err()
	}
	return &pauses
}

func TestVectorsInTheOrderOfTheTexts(t *testing.T) {
	s := embedtest.New(t)
	c := client(t, s, Options{Batch: 7})
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprintf("heron number%d", i)
	}
	list, err := c.Texts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		one, err := c.Query(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, list[i]) {
			t.Fatalf("the vector of %q is another's", text)
		}
	}
	if n := s.Requests() - len(texts); n != 15 {
		t.Errorf("100 texts in batches of 7 took %d requests", n)
	}
}

func TestRequest(t *testing.T) {
	s := embedtest.New(t)
	c := client(t, s, Options{Model: "big", Key: "sk-test-key-of-this-test", Dimensions: 5})
	var header http.Header
	var body map[string]any
	s.Next(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		embedtest.Body(`{"data":[{"index":0,"embedding":[1,0,0,0,0]}]}`)(w, r)
	})
	if _, err := c.Query(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("Authorization"); got != "Bearer sk-test-key-of-this-test" {
		t.Errorf("authorization %q", got)
	}
	if got := header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	b, err := json.Marshal(request{"big", []string{"a"}, 5, "float"})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &body); err != nil || body["model"] != "big" || body["dimensions"] != 5.0 ||
		body["encoding_format"] != "float" {
		t.Errorf("the body is %s", b)
	}
	if got := c.Space(); got != "big/5" {
		t.Errorf("the space is %q", got)
	}
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"too many":    embedtest.Status(429, "slow down", "Retry-After", "7"),
		"down":        embedtest.Status(503, "overloaded"),
		"bad gateway": embedtest.Status(502, ""),
		"cut off":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := embedtest.New(t)
			c := client(t, s, Options{})
			pauses := hurried(c)
			s.Next(first, first)
			list, err := c.Texts(t.Context(), []string{"a heron"})
			if err != nil || len(list) != 1 || len(list[0]) == 0 {
				t.Fatalf("%d vectors, %v", len(list), err)
			}
			if len(*pauses) != 2 {
				t.Fatalf("it waited %v", *pauses)
			}
			if name == "too many" && (*pauses)[0] != 7*time.Second {
				t.Errorf("it waited %v instead of 7 s", *pauses)
			}
		})
	}
}

func TestPermanentFailures(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"key":        embedtest.Status(401, "no such key: sk-test-key-of-this-test"),
		"model":      embedtest.Status(404, "no such model"),
		"no JSON":    embedtest.Body("<html>"),
		"too few":    embedtest.Body(`{"data":[{"index":0,"embedding":[1]}]}`),
		"twice":      embedtest.Body(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`),
		"beyond":     embedtest.Body(`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`),
		"lengths":    embedtest.Body(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`),
		"empty":      embedtest.Body(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`),
		"zero":       embedtest.Body(`{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[0,1]}]}`),
		"NaN":        embedtest.Body(`{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]}]}`),
		"infinite":   embedtest.Body(`{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`),
		"base64":     embedtest.Body(`{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":"AAAA"}]}`),
		"too much":   embedtest.Body(`{"data":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`),
		"elsewhere":  http.RedirectHandler("http://localhost:1/v1/embeddings", http.StatusTemporaryRedirect).ServeHTTP,
		"no content": embedtest.Status(204, ""),
	} {
		t.Run(name, func(t *testing.T) {
			s := embedtest.New(t)
			c := client(t, s, Options{Key: "sk-test-key-of-this-test"})
			hurried(c)
			s.Next(h, h, h, h, h)
			_, err := c.Texts(t.Context(), []string{"a private heron", "a private crane"})
			if err == nil {
				t.Fatal("there is no error")
			}
			if text := err.Error(); strings.Contains(text, "private") || strings.Contains(text, "sk-test") {
				t.Errorf("the error says too much: %v", err)
			}
			if n := s.Requests(); n != 1 && name != "elsewhere" {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

// TestRejectedTexts has an endpoint that takes only short texts, and
// nothing about storks.
func TestRejectedTexts(t *testing.T) {
	s := embedtest.New(t)
	c := client(t, s, Options{})
	hurried(c)
	refuse := func(w http.ResponseWriter, r *http.Request) {
		var asked request
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		var out []string
		for i, text := range asked.Input {
			if len(text) > 1000 || strings.Contains(text, "stork") {
				embedtest.Status(400, "this model's maximum context length is 512 tokens")(w, r)
				return
			}
			out = append(out, fmt.Sprintf(`{"index":%d,"embedding":[%d]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(out, ","))
	}
	picky := http.NewServeMux()
	picky.HandleFunc("/v1/embeddings", refuse)
	s.Config.Handler = picky
	list, err := c.Texts(t.Context(), []string{"heron", strings.Repeat("crane ", 500), "stork", "ibis"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list[0]) != 1 || list[0][0] != 5 || list[3][0] != 4 {
		t.Errorf("what is short was not taken: %v", list)
	}
	if list[2] != nil {
		t.Errorf("a stork has %v", list[2])
	}
	if len(list[1]) != 1 || list[1][0] < 500 || list[1][0] > 1000 {
		t.Errorf("a long text was taken as %v bytes", list[1])
	}
	// An endpoint that refuses everything in this way is wrong itself.
	s.Config.Handler = embedtest.Status(400, "dimensions are not supported")
	if _, err := c.Texts(t.Context(), []string{"heron"}); err == nil ||
		!strings.Contains(err.Error(), "dimensions are not supported") {
		t.Errorf("the error is %v", err)
	}
}

func TestQueriesDoNotWaitForAFailingEndpoint(t *testing.T) {
	s := embedtest.New(t)
	c := client(t, s, Options{})
	s.Next(embedtest.Status(500, ""))
	if _, err := c.Query(t.Context(), "heron"); err == nil || errors.Is(err, ErrDown) {
		t.Fatalf("the first: %v", err)
	}
	if _, err := c.Query(t.Context(), "heron"); !errors.Is(err, ErrDown) {
		t.Fatalf("the second: %v", err)
	}
	if n := s.Requests(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	c.down.until = time.Now() // the pause has ended
	if _, err := c.Query(t.Context(), "heron"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Query(ctx, "heron"); err == nil {
		t.Error("a cancelled query was answered")
	}
	if _, err := c.Query(t.Context(), "heron"); err != nil {
		t.Errorf("a caller who gave up closed the endpoint to the others: %v", err)
	}
}

func TestTheBreakerBacksOff(t *testing.T) {
	var b breaker
	now := time.Unix(1000, 0)
	last := time.Duration(0)
	for range 8 {
		if !b.try(now) {
			t.Fatal("it is closed")
		}
		b.failed(now, errors.New("x"))
		if b.try(now) {
			t.Fatal("it is open after a failure")
		}
		if b.pause < last {
			t.Errorf("a pause of %v follows one of %v", b.pause, last)
		}
		last = b.pause
		now = b.until
	}
	if last != longestBreak {
		t.Errorf("the last rest is %v", last)
	}
	if !b.try(now) || b.try(now) {
		t.Error("after a rest one is let through")
	}
	b.worked()
	for range 2 {
		if !b.try(now) {
			t.Error("it is closed though all is well")
		}
	}
	b.failed(now, &api.Error{Status: 429, After: 30 * time.Second})
	if b.try(now.Add(20 * time.Second)) {
		t.Error("it sends a request before Retry-After")
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {URL: "http://x"}, {Model: "m"}, {URL: "::", Model: "m"},
		{URL: "/v1", Model: "m"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}`), 2)
	f.Add([]byte(`{"data":[{"embedding":[1e-45]}]}`), 1)
	f.Add([]byte(`{"data":[{"index":-1,"embedding":[null]}]}`), 1)
	f.Add([]byte(`[]`), 0)
	f.Fuzz(func(t *testing.T, text []byte, count int) {
		if count < 0 || count > 100 {
			return
		}
		c := &Client{}
		list, err := c.read(text, count)
		if err != nil {
			if list != nil {
				t.Error("there are vectors in spite of an error")
			}
			return
		}
		for _, v := range list {
			if len(v) == 0 || len(v) != len(list[0]) || !usable(v) {
				t.Errorf("a vector %v", v)
			}
		}
	})
}
