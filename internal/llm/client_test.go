package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// each runs a test with both APIs.
func each(t *testing.T, test func(t *testing.T, s *llmtest.Server, c *llm.Client)) {
	for _, kind := range []llm.Kind{llm.OpenAI, llm.Anthropic} {
		t.Run(string(kind), func(t *testing.T) {
			s := llmtest.New(t)
			c, err := llm.NewClient(s.Provider(kind).Endpoint, s.HTTP(t))
			if err != nil {
				t.Fatal(err)
			}
			llm.WithoutWaits(c)
			test(t, s, c)
		})
	}
}

func hello() llm.Request {
	return llm.Request{Model: "test", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}
}

func kindOf(err error) tool.Kind {
	var e *tool.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

func TestConversationWithTools(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		look := llmtest.Call("c1", "read_file", map[string]any{"path": "ä.txt"})
		list := llmtest.Call("c2", "list_files", map[string]any{})
		s.Next(
			llmtest.Turn{
				Text: "I read it. ", Thought: "which file?", Calls: []llm.ToolCall{look, list},
				Usage: llm.Usage{Input: 100, Output: 7, CacheRead: 20},
			},
			llmtest.Say("It says hi."),
		)
		temperature := 0.5
		r := llm.Request{
			Model: "test", System: "You read files.", MaxTokens: 77, Temperature: &temperature,
			Messages: []llm.Message{{Role: llm.User, Text: "What does ä.txt say?"}},
			Tools: []llm.Tool{
				{Name: "read_file", Doc: "Reads.",
					Schema: json.RawMessage(`{"type":"object","properties":{"path":{}}}`)},
				{Name: "list_files", Schema: json.RawMessage(`{"type":"object"}`)},
			},
			Schema: json.RawMessage(`{"type":"object"}`),
		}
		first, err := c.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		want := llm.Message{Role: llm.Assistant, Text: "I read it. ", Calls: []llm.ToolCall{look, list}}
		got := first.Message
		got.Kept = nil
		if diff := cmp.Diff(want, got); diff != "" || first.Stop != llm.WantsTool {
			t.Errorf("stop %q\n%s", first.Stop, diff)
		}
		if want := (llm.Usage{Input: 100, Output: 7, CacheRead: 20}); first.Usage != want {
			t.Errorf("usage %+v, want %+v", first.Usage, want)
		}
		stored, err := json.Marshal(first.Message) // as it comes back from a store
		var restored llm.Message
		if err = errors.Join(err, json.Unmarshal(stored, &restored)); err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, restored, llm.Message{Role: llm.User, Text: "Be brief.",
			Results: []llm.ToolResult{
				{ID: "c1", Text: "hi"}, {ID: "c2", Text: "", Failed: true},
			}})
		last, err := c.Complete(t.Context(), r)
		if err != nil || last.Message.Text != "It says hi." || last.Stop != llm.Ended {
			t.Fatalf("%+v, %v", last, err)
		}
		received := s.Requests()[1]
		if received.System != r.System || received.MaxTokens != 77 || *received.Temperature != 0.5 ||
			string(received.Schema) != `{"type":"object"}` {
			t.Errorf("the request has other values: %+v", received)
		}
		if diff := cmp.Diff(r.Tools, received.Tools); diff != "" {
			t.Error(diff)
		}
		wantMessages := []llm.Message{r.Messages[0], want, r.Messages[2]}
		if received.Kind == llm.OpenAI {
			wantMessages[2].Results = []llm.ToolResult{{ID: "c1", Text: "hi"}, {ID: "c2"}} // there is no field for it
		}
		if diff := cmp.Diff(wantMessages, received.Messages); diff != "" {
			t.Error(diff)
		}
		if received.Kind == llm.Anthropic && received.Cached != 2 {
			t.Errorf("%d marks for the cache", received.Cached)
		}
	})
}

// TestCallsHaveDifferentIDs: two calls of a reply with one id get one each, and the provider gets these back.
func TestCallsHaveDifferentIDs(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		s.Next(
			llmtest.Turn{Thought: "both", Calls: []llm.ToolCall{
				llmtest.Call("c1", "read_file", nil), llmtest.Call("c1", "list_files", nil),
				llmtest.Call("c1", "list_files", nil),
			}},
			llmtest.Say("Done."),
		)
		r := hello()
		first, err := c.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		results := llm.Message{Role: llm.User}
		for i, call := range first.Message.Calls {
			if want := []string{"c1", "c1_2", "c1_3"}[i]; call.ID != want {
				t.Errorf("call %d has the id %q, want %q", i, call.ID, want)
			}
			results.Results = append(results.Results, llm.ToolResult{ID: call.ID, Text: "ok"})
		}
		r.Messages = append(r.Messages, first.Message, results)
		if _, err := c.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		sent := s.Requests()[1].Messages
		for i, call := range sent[1].Calls {
			if want := first.Message.Calls[i].ID; call.ID != want || sent[2].Results[i].ID != want {
				t.Errorf("call %d was sent back as %q with a result of %q, want %q", i, call.ID, sent[2].Results[i].ID, want)
			}
		}
	})
}

func TestThoughtsGoBackToTheirModelOnly(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		call := llmtest.Call("c1", "now", map[string]any{})
		s.Next(llmtest.Turn{Thought: "a secret thought", Calls: []llm.ToolCall{call}})
		r := hello()
		reply, err := c.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, reply.Message,
			llm.Message{Role: llm.User, Results: []llm.ToolResult{{ID: "c1", Text: "noon"}}})
		for model, want := range map[string]bool{"test": true, "another": false} {
			r.Model = model
			body := llm.Body(c, r)
			if got := strings.Contains(body, "a secret thought"); got != want {
				t.Errorf("the request to the model %q has the thought: %t", model, got)
			}
			if _, err := c.Complete(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		for _, status := range []int{408, 409, 425, 429, 500, 502, 503, 529} {
			before := len(s.Requests())
			s.Next(llmtest.Turn{Status: status, Text: "busy", RetryAfter: "7"}, llmtest.Say("here"))
			waits := llm.WithoutWaits(c)
			reply, err := c.Complete(t.Context(), hello())
			if err != nil || reply.Message.Text != "here" || len(s.Requests())-before != 2 {
				t.Errorf("status %d: %+v, %v", status, reply, err)
			}
			if w := waits(); len(w) != 1 || w[0].Seconds() != 7 {
				t.Errorf("status %d: waited %v", status, w)
			}
		}
	})
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		turn     llmtest.Turn
		requests int
		kind     tool.Kind
		text     string
	}{
		"request": {llmtest.Turn{Status: 400, Text: "no such\nfield"}, 1, tool.Invalid,
			"(status 400): no such field"},
		"key": {llmtest.Turn{Status: 401, Text: "wrong key " + llmtest.Key}, 1, tool.Unavailable,
			"wrong key ...;"},
		"model":     {llmtest.Turn{Status: 404, Text: "no model"}, 1, tool.NotFound, "use another model"},
		"rate":      {llmtest.Turn{Status: 429, Text: "slow down"}, 5, tool.Busy, "slow down"},
		"long wait": {llmtest.Turn{Status: 429, RetryAfter: "90"}, 1, tool.Busy, "try again in 1m30s"},
		"no money":  {llmtest.Turn{Status: 429, Code: "insufficient_quota"}, 1, tool.Unavailable, "pay"},
		"server":    {llmtest.Turn{Status: 503, Text: "overloaded"}, 5, tool.Unavailable, "overloaded"},
		"redirect":  {llmtest.Turn{Status: 307, Text: "over there"}, 1, tool.Invalid, "(status 307)"},
		"context":   {llmtest.Turn{Status: 400, Text: "Prompt is too long: 9 > 8"}, 1, tool.TooLarge, "shorter"},
		"broken": {llmtest.Turn{Text: "half of it", Break: 2}, 5, tool.Unavailable,
			"the connection ended before the response"},
		"stream": {llmtest.Turn{Fail: true, Code: "overloaded_error", Text: "too hot"}, 5, tool.Unavailable, "too hot"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
				s.Answer(func(llmtest.Request) llmtest.Turn { return test.turn })
				_, err := c.Complete(t.Context(), hello())
				if kindOf(err) != test.kind || !strings.Contains(err.Error(), test.text) ||
					strings.Contains(err.Error(), llmtest.Key) {
					t.Errorf("%v", err)
				}
				if n := len(s.Requests()); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
			})
		})
	}
}

func TestRefusalsAndCutReplies(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		refusal, length := "content_filter", "length"
		if strings.HasSuffix(t.Name(), "anthropic") {
			refusal, length = "refusal", "max_tokens"
		}
		s.Next(
			llmtest.Turn{Text: "I will", Stop: refusal},
			llmtest.Turn{Stop: length},
			llmtest.Turn{Text: "Once upon", Stop: length, Calls: []llm.ToolCall{{ID: "1", Name: "x", Args: `{"a`}}},
		)
		if _, err := c.Complete(t.Context(), hello()); kindOf(err) != tool.Refused {
			t.Errorf("%v", err)
		}
		if _, err := c.Complete(t.Context(), hello()); kindOf(err) != tool.Unavailable ||
			!strings.Contains(err.Error(), "allow more tokens") {
			t.Errorf("%v", err)
		}
		reply, err := c.Complete(t.Context(), hello())
		if err != nil || reply.Stop != llm.TooLong || reply.Message.Text != "Once upon" || reply.Message.Calls != nil {
			t.Errorf("%+v, %v", reply, err)
		}
	})
}

func TestUsageOfFailedAttemptsCounts(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		full := llm.Usage{Input: 10, Output: 5}
		s.Next(llmtest.Turn{Stop: "stop", Usage: full}, llmtest.Turn{Text: "x", Usage: full})
		reply, err := c.Complete(t.Context(), hello())
		if want := (llm.Usage{Input: 20, Output: 10}); err != nil || reply.Usage != want {
			t.Errorf("%+v, %v", reply.Usage, err)
		}
	})
}

func TestResponseThatIsNoStream(t *testing.T) {
	s := llmtest.New(t)
	c, err := llm.NewClient(s.Provider(llm.OpenAI).Endpoint, s.HTTP(t))
	if err != nil {
		t.Fatal(err)
	}
	call := llmtest.Call("c1", "now", map[string]any{"zone": "UTC"})
	s.Next(llmtest.Turn{Whole: true, Text: "See.", Calls: []llm.ToolCall{call}})
	reply, err := c.Complete(t.Context(), hello())
	want := llm.Message{Role: llm.Assistant, Text: "See.", Calls: []llm.ToolCall{call}}
	if diff := cmp.Diff(want, reply.Message); err != nil || diff != "" || reply.Usage.Total() != 15 {
		t.Errorf("%v, %+v\n%s", err, reply.Usage, diff)
	}
}

func TestCancelEndsARequest(t *testing.T) {
	each(t, func(t *testing.T, s *llmtest.Server, c *llm.Client) {
		gone := errors.New("the caller has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.Answer(func(llmtest.Request) llmtest.Turn {
			cancel(gone)
			return llmtest.Turn{Wait: make(chan struct{})}
		})
		if _, err := c.Complete(ctx, hello()); !errors.Is(err, gone) || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
}

func TestSilentProvider(t *testing.T) {
	for _, kind := range []llm.Kind{llm.OpenAI, llm.Anthropic} {
		s := llmtest.New(t)
		c, err := llm.NewClient(s.Provider(kind).Endpoint, egresstest.Within(t, egress.Limits{Head: 1}, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		llm.WithoutWaits(c)
		s.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Wait: make(chan struct{})} })
		if _, err := c.Complete(t.Context(), hello()); err == nil || !strings.Contains(err.Error(), "did not answer in time") {
			t.Error(err)
		}
	}
}

func TestModelsAreFoundByName(t *testing.T) {
	s := llmtest.New(t)
	models := s.Models(t)
	for name, want := range map[string]string{
		"": "anthropic/test", "test": "anthropic/test", "openai/test": "openai/test", "gpt": "", "openai/other": "",
	} {
		got, err := models.Find(name)
		if got != want || want == "" && kindOf(err) != tool.NotFound {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	r := hello()
	r.Model = "openai/test"
	reply, err := models.Complete(t.Context(), r)
	if err != nil || reply.Model != "openai/test" || s.Requests()[0].Kind != llm.OpenAI {
		t.Errorf("%+v, %v", reply, err)
	}
	var none *llm.Models
	if _, err := none.Complete(t.Context(), r); kindOf(err) != tool.Unavailable {
		t.Error(err)
	}
}
