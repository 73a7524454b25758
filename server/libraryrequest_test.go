package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func inquiry(method mcp.MCPMethod, ref Ref) LibraryRequest {
	return LibraryRequest{Access: testAccess(), Method: method, Ref: ref}
}

// questions are one of each kind about testShelf.
func questions() map[mcp.MCPMethod]LibraryRequest {
	read := Ref{URI: "memory:///u/tea.md"}
	all := map[mcp.MCPMethod]LibraryRequest{}
	for _, q := range []LibraryRequest{
		inquiry(mcp.MethodResourcesList, Ref{}), inquiry(mcp.MethodResourcesTemplatesList, Ref{}),
		inquiry(mcp.MethodPromptsList, Ref{}),
		inquiry(mcp.MethodResourcesRead, read), inquiry(mcp.MethodPromptsGet, Ref{Prompt: "greet-u"}),
		inquiry(mcp.MethodCompletionComplete, Ref{URI: "memory:///{path}"}),
		inquiry(mcp.MethodResourcesSubscribe, read),
	} {
		q.Args = map[string]string{"whom": "you"}
		q.Completion = CompletionRequest{Of: q.Ref, Name: "path", Value: "u"}
		q.Subscribe = func() error { return nil }
		all[q.Method] = q
	}
	return all
}

func TestLibraryRequestsAreRecorded(t *testing.T) {
	b := withLibrary(t, testShelf(), func(c *Config) { c.Settings.AuditArgs = true })
	for method, q := range questions() {
		if _, err := b.QueryLibrary(t.Context(), q); err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		all := b.audit.all()
		e := all[len(all)-1]
		tool, kind := "echo", "resource"
		switch {
		case q.Ref == (Ref{}):
			tool = string(method)
		case q.Ref.Prompt != "":
			tool = "long"
		}
		if strings.HasPrefix(string(method), "prompts/") {
			kind = "prompt"
		} else if method == mcp.MethodCompletionComplete {
			kind = "completion"
		}
		if e.Kind != kind || e.Tool != tool || tool == "echo" && e.Alias != string(method) || e.Verdict != "allow" ||
			e.Outcome != "ok" ||
			e.User != "u" || e.Transport != "test" || e.ArgsDigest == "" || e.ResultDigest == "" ||
			e.Phase == audit.Intent || !strings.Contains(e.ArgsShape, q.Ref.URI) {
			t.Errorf("%s is written down as %+v", method, e)
		}
		if e.Bytes == 0 {
			t.Errorf("%s: no bytes are recorded", method)
		}
	}
	refused := inquiry(mcp.MethodResourcesRead, Ref{URI: "secret:///plan"})
	if _, err := b.QueryLibrary(t.Context(), refused); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a secret: %v", err)
	}
	all := b.audit.all()
	if e := all[len(all)-1]; e.Outcome != "not_found" || e.Verdict != "ask" ||
		!strings.Contains(e.Error, "secret:///plan") || e.Kind != "resource" {
		t.Errorf("what was refused is written down as %+v", e)
	}
	b.audit.breakWith(errors.New("the disk is full"))
	for method, q := range questions() {
		found, err := b.QueryLibrary(t.Context(), q)
		if tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Unavailable || len(found.Parts)+len(found.Values)+
			len(found.Resources) > 0 {
			t.Errorf("%s: it could not be recorded, and yet: %v, %v", method, found, err)
		}
	}
}

// TestLibraryIsScrubbed plants a key wherever there is text.
func TestLibraryIsScrubbed(t *testing.T) {
	key := plantedKey()
	lib := testShelf()
	lib.items = map[string][]item{"": {{
		tool.Resource{URI: "memory:///" + key, Name: key, Title: key, Description: key, MIME: "text/" + key},
		[]tool.Part{{Text: key, URI: "memory:///" + key, MIME: "text/plain; x=" + key},
			{Data: []byte(key), MIME: "text/plain"}},
	}}}
	lib.templates = []tool.Template{{URI: "memory:///{path}", Name: key, Title: key, Description: key, MIME: key}}
	one := greeting(key)
	one.Title, one.Description, one.Arguments = key, key, []tool.Argument{{Name: key, Description: key}}
	one.fill = func(map[string]string) tool.FilledPrompt {
		return tool.FilledPrompt{Description: key, Messages: []tool.Message{{Part: tool.Part{Text: key}},
			{Part: tool.Part{URI: "x:" + key, Name: key}}}}
	}
	lib.scripts = map[string][]script{"": {one}}
	b := withLibrary(t, lib, func(c *Config) { c.Settings.AuditArgs = true })
	for era, ask := range readers(t, b) {
		for _, test := range []struct{ method, params string }{
			{"resources/list", ""}, {"resources/templates/list", ""}, {"prompts/list", ""},
			{"resources/read", `"uri":"memory:///` + key + `"`}, {"resources/read", `"uri":"nobody:///` + key + `"`},
			{"resources/read", `"uri":"` + key + `"`},
			{"prompts/get", `"name":"` + key + `"`}, {"prompts/get", `"name":"no-` + key + `"`},
			{"prompts/get", `"name":"x","arguments":{"` + key + `":1}`},
			{"completion/complete",
				`"ref":{"type":"ref/resource","uri":"memory:///{path}"},"argument":{"name":"path","value":""}`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"` + key +
				`"},"argument":{"name":"path","value":"` + key + `"}`},
		} {
			result, failed := ask(test.method, test.params)
			whole := plain(t, result) + plain(t, failed)
			if strings.Contains(whole, key) || strings.Contains(whole, base64.StdEncoding.EncodeToString([]byte(key))) {
				t.Errorf("%s: %s %s says %s", era, test.method, test.params, whole)
			}
			if failed == nil && !strings.Contains(whole, "REDACTED") {
				t.Errorf("%s: %s %s says nothing at all: %s", era, test.method, test.params, whole)
			}
		}
	}
	redactions := 0
	for _, e := range b.audit.all() {
		if strings.Contains(fmt.Sprintf("%+v", e), key) {
			t.Errorf("it is written down: %+v", e)
		}
		redactions += e.Redactions
	}
	if redactions == 0 {
		t.Error("no redaction was counted")
	}
	lib.mu.Lock()
	defer lib.mu.Unlock()
	if lib.items[""][0].Name != key || lib.templates[0].Name != key || lib.scripts[""][0].Arguments[0].Name != key {
		t.Error("the library's own data was changed")
	}
}

func TestTheLibraryIsBounded(t *testing.T) {
	lib := testShelf()
	b := withLibrary(t, lib)
	most := b.settings().Limits.ResultHard
	lib.dynamic = func(context.Context, string) ([]tool.Part, error) {
		return []tool.Part{{Data: make([]byte, most), MIME: "image/png"}}, nil
	}
	for i := range 1000 {
		lib.put("", fmt.Sprintf("memory:///%d", i), "text")
	}
	for _, q := range []LibraryRequest{
		inquiry(mcp.MethodResourcesRead, Ref{URI: "memory:///long"}), inquiry(mcp.MethodResourcesList, Ref{}),
	} {
		found, err := b.QueryLibrary(t.Context(), q)
		if e := tool.AsError(err); e == nil || e.Kind != tool.TooLarge || len(found.Parts)+len(found.Resources) > 0 {
			t.Errorf("%s: %v, %v", q.Method, found, err)
		}
	}
	q := questions()[mcp.MethodCompletionComplete]
	q.Completion.Value = ""
	if found, err := b.QueryLibrary(t.Context(), q); err != nil || len(found.Values) != maxCompletions || !found.More {
		t.Errorf("it completes to %d, %v", len(found.Values), err)
	}
}

func TestInquiriesAreLimited(t *testing.T) {
	noLeaks(t)
	lib := testShelf()
	started := make(chan string, 10)
	lib.dynamic = func(ctx context.Context, uri string) ([]tool.Part, error) {
		switch {
		case strings.HasSuffix(uri, "panics"):
			panic("oh no")
		case strings.HasSuffix(uri, "breaks"):
			return nil, errors.New("opening /srv/private: denied")
		}
		if c := tool.CallerFrom(ctx); c.User != "u" || tool.RunningFrom(ctx).Tool != "echo" {
			return nil, fmt.Errorf("the context belongs to %+v", c)
		}
		started <- uri
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := withLibrary(t, lib)
	limit := func(change func(*Limits)) {
		next := b.settings().Settings
		change(&next.Limits)
		if err := b.Apply(next); err != nil {
			t.Fatal(err)
		}
	}
	read := func(ctx context.Context, name string) *tool.Error {
		_, err := b.QueryLibrary(ctx, inquiry(mcp.MethodResourcesRead, Ref{URI: "memory:///" + name}))
		if strings.Contains(fmt.Sprint(err), "private") || strings.Contains(fmt.Sprint(err), "oh no") {
			t.Errorf("%s discloses internals: %v", name, err)
		}
		return tool.AsError(err)
	}
	for _, name := range []string{"panics", "breaks"} {
		if got := read(t.Context(), name); got == nil || got.Kind != tool.Internal {
			t.Errorf("%s got %v", name, got)
		}
	}
	limit(func(l *Limits) { l.Timeout = time.Millisecond })
	if got := read(t.Context(), "slow"); got == nil || got.Kind != tool.Timeout {
		t.Errorf("what is slow got %v", got)
	}
	<-started
	limit(func(l *Limits) { l.Timeout = hang })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if got := read(ctx, "slow"); got == nil || got.Kind != tool.Cancelled {
		t.Errorf("what was cancelled got %v", got)
	}
	limit(func(l *Limits) { l.PerMinute, l.Burst = 1, 1 })
	q := questions()[mcp.MethodPromptsList]
	q.Caller.Session = "another"
	if _, err := b.QueryLibrary(t.Context(), q); err != nil {
		t.Error(err)
	}
	if _, err := b.QueryLibrary(t.Context(), q); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Busy {
		t.Errorf("one too many got %v", err)
	}
	many := questions()[mcp.MethodPromptsGet]
	for i := range 100 {
		many.Args[fmt.Sprint(i)] = ""
	}
	many.Caller.Session = "third"
	if _, err := b.QueryLibrary(t.Context(), many); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("a hundred arguments got %v", err)
	}
}

// FuzzConsult asks for anything: the library never sees a URI that is none, and
// whatever comes back is one JSON document without the key.
func FuzzConsult(f *testing.F) {
	for _, seed := range []string{
		"memory:///u/tea.md", "memory:", ":", "", "a b:c", "memory:///\x00", "memory:///\xff",
		"memory:///../../etc/passwd", "memory:///%2e%2e/%00", "file:///AGENTS.md",
		"memory:///{path}", "greet-u", "MEMORY:///x", strings.Repeat("x:", 2000),
	} {
		f.Add(seed, "x")
	}
	lib := &wary{testShelf(), f}
	b := withLibrary(f, lib)
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, q := range questions() {
			if q.Ref.URI != "" {
				q.Ref.URI = name
			}
			if q.Ref.Prompt != "" {
				q.Ref.Prompt = name
			}
			q.Completion = CompletionRequest{Of: q.Ref, Name: "path", Value: value}
			q.Args = map[string]string{"whom": value}
			_, err := b.QueryLibrary(t.Context(), q)
			if err != nil {
				if known := tool.AsError(err); known.Kind == tool.Internal || known.Next == "" {
					t.Errorf("%s of %q failed: %v", q.Method, name, err)
				}
				continue
			}
			x := &rpcRequest{session: b.newSession(q.Access), asked: &q, msg: &jsonrpc.Message{ID: []byte("1"), Method: string(q.Method)}}
			if len(value)%2 == 0 {
				x.msg.Meta.Version = mcp.ProtocolVersion20260728
			}
			if written := x.answerAsked(t.Context()); !isResult(written) {
				t.Errorf("%s of %q wrote %q", q.Method, name, written)
			}
		}
	})
}

func isResult(written []byte) bool {
	m, broken := jsonrpc.Parse(written)
	return broken == nil && m.IsResponse && m.Result.Kind() == '{'
}

// wary complains of what should never reach it.
type wary struct {
	*shelf
	tb testing.TB
}

func (w *wary) Read(ctx context.Context, c tool.Caller, uri string) ([]tool.Part, error) {
	if !validURI(uri) || w.Tool(Ref{URI: uri}) == "" {
		w.tb.Errorf("the library got the URI %q", uri)
	}
	return w.shelf.Read(ctx, c, uri)
}
