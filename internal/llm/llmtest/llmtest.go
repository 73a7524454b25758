// Package llmtest is for tests that need a language model: a provider on this machine with both
// APIs. It checks every field of a request, gives the answers of the test, and fails like real
// providers. Begin with [New].
package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// Key is the key that the provider accepts.
const Key = "llmtest-key-4f1d8a6c20"

// A Server is a provider. It has every model.
type Server struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	requests []Request
	next     []Turn
	answer   func(Request) Turn
}

// A Request is a request that a provider received, with either API.
type Request struct {
	Kind        llm.Kind
	Model       string
	System      string
	Messages    []llm.Message
	Tools       []llm.Tool
	MaxTokens   int
	Temperature *float64
	Effort      llm.Effort
	Schema      json.RawMessage
	Cached      int // marks for the cache; only Anthropic has one
}

// Last returns the last message.
func (r Request) Last() llm.Message { return r.Messages[len(r.Messages)-1] }

// A Turn is the answer to a request. The zero Turn answers "done".
type Turn struct {
	Text    string
	Calls   []llm.ToolCall
	Thought string
	Stop    string // as the API writes it; "" fits the rest
	Usage   llm.Usage

	Status     int // of a refusal, with Text as its message
	Code       string
	RetryAfter string
	Break      int           // the connection breaks after so many events
	Fail       bool          // the stream ends with an error: Code and Text
	Wait       chan struct{} // the answer is sent when it is closed, or the request ends
	Whole      bool          // one JSON response instead of a stream; OpenAI only
}

// New starts a provider until the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Next adds the answers to the next requests, one each.
func (s *Server) Next(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, turns...)
}

// Answer lets f answer requests when Next has no turn left. It may be called concurrently.
func (s *Server) Answer(f func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Provider returns the provider named as its kind, with the model "test".
func (s *Server) Provider(kind llm.Kind) llm.Provider {
	return llm.Provider{
		Endpoint: llm.Endpoint{Name: string(kind), Kind: kind, URL: s.URL + "/v1", Key: Key},
		Models:   []string{"test"},
	}
}

// HTTP returns a client that reaches the provider.
func (s *Server) HTTP(t testing.TB) outbound.Client { return egresstest.Within(t, llm.Limits(), s.URL) }

// Models returns the models of the provider: anthropic/test, the default, and openai/test.
func (s *Server) Models(t testing.TB) *llm.Models {
	t.Helper()
	models, err := llm.NewModels(llm.Options{
		Providers: []llm.Provider{s.Provider(llm.Anthropic), s.Provider(llm.OpenAI)}, HTTP: s.HTTP(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// ServeHTTP answers a request. A request that no provider would accept fails the test.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := read(r)
	if errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
		return // the client was killed
	}
	if err != nil {
		s.t.Errorf("a request to a model: %v", err)
		refuse(w, request.Kind, Turn{Status: http.StatusBadRequest, Text: err.Error()})
		return
	}
	turn := s.turn(request)
	if turn.Wait != nil {
		select {
		case <-turn.Wait:
		case <-r.Context().Done():
			return
		}
	}
	if turn.Status != 0 {
		refuse(w, request.Kind, turn)
		return
	}
	if turn.Text == "" && len(turn.Calls) == 0 && turn.Stop == "" {
		turn.Text = "done"
	}
	if turn.Usage == (llm.Usage{}) {
		turn.Usage = llm.Usage{Input: 10, Output: 5}
	}
	events := openAIEvents(request, turn)
	if request.Kind == llm.Anthropic {
		events = anthropicEvents(request, turn)
	}
	if turn.Whole {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(openAIWhole(request, turn))
		return
	}
	send(w, events, turn)
}

func (s *Server) turn(r Request) Turn {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	answer := s.answer
	if len(s.next) > 0 {
		turn := s.next[0]
		s.next = s.next[1:]
		s.mu.Unlock()
		return turn
	}
	s.mu.Unlock()
	if answer == nil {
		return Turn{}
	}
	return answer(r)
}

func refuse(w http.ResponseWriter, kind llm.Kind, turn Turn) {
	if turn.RetryAfter != "" {
		w.Header().Set("Retry-After", turn.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(turn.Status)
	body := map[string]any{"error": map[string]any{"message": turn.Text, "type": "test", "code": turn.Code}}
	if kind == llm.Anthropic {
		body = map[string]any{"type": "error", "error": map[string]any{"type": turn.Code, "message": turn.Text}}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// send writes the events of a stream, each in two pieces.
func send(w http.ResponseWriter, events []string, turn Turn) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if turn.Break > 0 && turn.Break < len(events) {
		events = events[:turn.Break]
	}
	flush := http.NewResponseController(w)
	for _, event := range events {
		half := len(event) / 2
		_, _ = w.Write([]byte(event[:half]))
		_ = flush.Flush()
		_, _ = w.Write([]byte(event[half:]))
		_ = flush.Flush()
	}
	if turn.Break > 0 {
		panic(http.ErrAbortHandler)
	}
}

// halves returns a text in two pieces, or none if it is empty.
func halves(text string) []string {
	if text == "" {
		return nil
	}
	half := len(text) / 2
	return []string{text[:half], text[half:]}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func openAIEvents(r Request, turn Turn) (events []string) {
	add := func(delta map[string]any, finish any) {
		events = append(events, "data: "+asJSON(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": r.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})+"\n\n")
	}
	add(map[string]any{"role": "assistant", "content": nil}, nil)
	for _, part := range halves(turn.Thought) {
		add(map[string]any{"reasoning_content": part}, nil)
	}
	for _, part := range halves(turn.Text) {
		add(map[string]any{"content": part}, nil)
	}
	for i, c := range turn.Calls {
		add(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""},
		}}}, nil)
		for _, part := range halves(c.Args) {
			add(map[string]any{"tool_calls": []any{map[string]any{
				"index": i, "function": map[string]any{"arguments": part},
			}}}, nil)
		}
	}
	if turn.Fail {
		return append(events, "data: "+asJSON(map[string]any{
			"error": map[string]any{"message": turn.Text, "code": turn.Code},
		})+"\n\n")
	}
	add(map[string]any{}, openAIFinish(turn))
	return append(events, "data: "+asJSON(map[string]any{
		"id": "chatcmpl-1", "choices": []any{}, "usage": openAIUsage(turn.Usage),
	})+"\n\n", "data: [DONE]\n\n")
}

func openAIFinish(turn Turn) string {
	switch {
	case turn.Stop != "":
		return turn.Stop
	case len(turn.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func openAIUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input + u.CacheRead, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
	}
}

func openAIWhole(r Request, turn Turn) map[string]any {
	var calls []any
	for _, c := range turn.Calls {
		calls = append(calls, map[string]any{
			"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args},
		})
	}
	return map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": r.Model, "usage": openAIUsage(turn.Usage),
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": openAIFinish(turn),
			"message": map[string]any{"role": "assistant", "content": turn.Text, "tool_calls": calls},
		}},
	}
}

func anthropicEvents(r Request, turn Turn) (events []string) {
	add := func(kind string, fields map[string]any) {
		fields["type"] = kind
		events = append(events, "event: "+kind+"\ndata: "+asJSON(fields)+"\n\n")
	}
	add("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"usage": map[string]any{
			"input_tokens": turn.Usage.Input, "cache_read_input_tokens": turn.Usage.CacheRead,
			"cache_creation_input_tokens": turn.Usage.CacheWrite, "output_tokens": 1,
		},
	}})
	add("ping", map[string]any{})
	index := 0
	block := func(first map[string]any, deltas ...map[string]any) {
		add("content_block_start", map[string]any{"index": index, "content_block": first})
		for _, delta := range deltas {
			add("content_block_delta", map[string]any{"index": index, "delta": delta})
		}
		add("content_block_stop", map[string]any{"index": index})
		index++
	}
	if turn.Thought != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			map[string]any{"type": "thinking_delta", "thinking": turn.Thought},
			map[string]any{"type": "signature_delta", "signature": signature(turn.Thought)})
	}
	if parts := halves(turn.Text); parts != nil {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": parts[0]},
			map[string]any{"type": "text_delta", "text": parts[1]})
	}
	for _, c := range turn.Calls {
		var deltas []map[string]any
		for _, part := range halves(c.Args) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": part})
		}
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, deltas...)
	}
	if turn.Fail {
		add("error", map[string]any{"error": map[string]any{"type": turn.Code, "message": turn.Text}})
		return events
	}
	stop := turn.Stop
	if stop == "" && len(turn.Calls) > 0 {
		stop = "tool_use"
	} else if stop == "" {
		stop = "end_turn"
	}
	add("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": turn.Usage.Output},
	})
	add("message_stop", map[string]any{})
	return events
}

func signature(thought string) string { return "signed-" + strconv.Itoa(len(thought)) }

// Call is a call of a tool with arguments, to be written as JSON.
func Call(id, name string, args any) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Args: asJSON(args)}
}

// Say is a turn with a text.
func Say(format string, args ...any) Turn {
	return Turn{Text: strings.TrimSpace(fmt.Sprintf(format, args...))}
}
