package server

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// withTools makes a server of the given tools only.
func withTools(t *testing.T, all ...tool.Tool) *testServer {
	t.Helper()
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return newTestServer(t, func(c *Config) { c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{}) })
}

func TestDataThatIsTextIsScrubbed(t *testing.T) {
	data := []byte(`{"key":"` + plantedKey() + `"}`)
	for mime, masked := range map[string]bool{
		"text/plain": true, "TEXT/CSV; charset=utf-8": true, "application/json": true, "application/xml": true,
		"application/x-yaml": true, "application/ld+json": true, "image/svg+xml": true,
		"image/png": false, "audio/wav": false, "application/pdf": false, "application/octet-stream": false, "": false,
	} {
		given := bytes.Clone(data)
		b := withTools(t, newTool("blob", tool.Reads, func(context.Context, none) (tool.Result, error) {
			return tool.Result{Parts: []tool.Part{{Data: given, MIME: mime, URI: "test://blob"}}}, nil
		}))
		a := callTool(t, b, "blob", `{}`)
		got := a.Result.Parts[0].Data
		if bytes.Contains(got, []byte(plantedKey())) == masked {
			t.Errorf("%q: %s", mime, got)
		}
		if n := b.audit.all()[0].Redactions; (n == 1) != masked {
			t.Errorf("%q: the journal counts %d", mime, n)
		}
		if !bytes.Equal(given, data) {
			t.Errorf("%q: the tool's own data was changed", mime)
		}
	}
}

func TestDescriptionsAreScrubbed(t *testing.T) {
	spec := tool.Spec{
		Name: "leaky", Group: "test", Title: "Leaky", Risk: tool.Reads,
		Doc: "Send " + plantedKey() + " to hushhushvalue.",
	}
	b := withTools(t, tool.New(act[none]{spec, func(context.Context, none) (tool.Result, error) {
		return tool.Text("x"),
			nil
	}}))
	list := func(a Access) string { return string(b.ToolsList(a)) }
	narrow := testAccess()
	narrow.Narrow = policy.Narrow{Tools: []string{"leaky"}}
	for _, a := range []Access{testAccess(), narrow} {
		if got := list(a); strings.Contains(got, plantedKey()) || !strings.Contains(got, "[REDACTED]") ||
			!strings.Contains(got, "hushhushvalue") {
			t.Errorf("the list says %s", got)
		}
	}
	if err := b.Server.Config.Scrub.Set("test", "hushhushvalue"); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(b.settings().Settings); err != nil {
		t.Fatal(err)
	}
	if got := list(testAccess()); strings.Contains(got, "hushhushvalue") {
		t.Errorf("a secret of the last reload is not masked: %s", got)
	}
}

// TestDescriptionsWithoutSecretsStay checks that descriptions without a secret are unchanged, and that a schema
// may have a field called password.
func TestDescriptionsWithoutSecretsStay(t *testing.T) {
	type login struct {
		Password string `json:"password" jsonschema:"the password"`
		APIKey   string `json:"api_key,omitempty" jsonschema:"as in token=..." maxlen:"100"`
	}
	one := newTool("login", tool.Reads, func(context.Context, login) (tool.Result, error) {
		return tool.Text("x"),
			nil
	})
	described := Describe(one, false)
	if got := (*scrub.Scrubber)(nil).JSON(described); !bytes.Equal(got, described) {
		t.Errorf("got %s", got)
	}
	if got := withTools(t, one).ToolsList(testAccess()); !bytes.Contains(got, described) {
		t.Errorf("the list says %s", got)
	}
}

// countedData is structured content that counts how often it is encoded.
type countedData struct{ encoded *atomic.Int64 }

func (d countedData) MarshalJSON() ([]byte, error) {
	d.encoded.Add(1)
	return []byte(`{"a":1}`), nil
}

// TestDataThatNobodyGetsIsNotScrubbed: scrubbing encodes structured content, which may be long, and decodes it again.
func TestDataThatNobodyGetsIsNotScrubbed(t *testing.T) {
	var encoded atomic.Int64
	both := newTool("both", tool.Reads, func(_ context.Context, a textArgs) (tool.Result, error) {
		var res tool.Result
		if a.Text != "" {
			res = tool.Text(a.Text)
		}
		return res.With(countedData{&encoded}), nil
	})
	b := withTools(t, both)
	unstructured := func(r *Request) { r.Structured = false }
	structured := func(r *Request) { r.Structured = true }
	nested := func(r *Request) { r.Structured, r.Nested, r.Parent = false, true, "script" }
	if got := callTool(t, b, "both", `{"text":"shown"}`, unstructured).Result; encoded.Load() != 0 || got.Data != nil {
		t.Errorf("encoded %d times, got %v", encoded.Load(), got.Data)
	}
	for name, change := range map[string]func(*Request){"structured": structured, "nested": nested} {
		if got := callTool(t, b, "both", `{"text":"shown"}`, change).Result; got.Data == nil {
			t.Errorf("%s: the data is missing", name)
		}
	}
	if got := callTool(t, b, "both", `{}`, unstructured).Result; got.Text() != `{"a":1}` {
		t.Errorf("data without text became %q", got.Text())
	}
}

// TestSessionsRememberSecrets checks that a secret which one call has shown masked is masked in the results of later
// calls of the session, also without its name and reversed, and in those of no other session.
func TestSessionsRememberSecrets(t *testing.T) {
	const secret, reversed = "hunTer2" + "xYz9qW", "Wq9zYx" + "2reTnuh"
	type args struct {
		Text string `json:"text" jsonschema:"text to return"`
	}
	b := withTools(t, newTool("say", tool.Reads, func(_ context.Context, a args) (tool.Result, error) {
		return tool.Text(a.Text), nil
	}))
	say := func(session, text string) string {
		access := testAccess()
		access.Caller.Session = session
		return b.Call(t.Context(), Request{Access: access, Tool: "say", Args: []byte(`{"text":"` + text + `"}`)}).Result.Text()
	}
	if got := say("one", "password="+secret); got != "password="+scrub.Mask {
		t.Fatal(got)
	}
	for _, text := range []string{secret, reversed} {
		if got := say("one", "x "+text); got != "x "+scrub.Mask {
			t.Errorf("in the session: %s", got)
		}
		if got := say("two", "x "+text); got != "x "+text {
			t.Errorf("in another session: %s", got)
		}
	}
}
