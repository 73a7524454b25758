package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

// asks is a server that asks something during each call, and answers with what it was told.
func asks(request string) func(context.Context, Program, func([]byte), func(error)) (upstream.Process, error) {
	return func(_ context.Context, _ Program, output func([]byte), gone func(error)) (upstream.Process, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		p := &fakeProcess{inW, outR, make(chan struct{})}
		go func() {
			lines := bufio.NewReader(inR)
			var waiting json.RawMessage
			asked := 0
			for {
				line, err := lines.ReadBytes('\n')
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if err != nil || json.Unmarshal(line, &m) != nil {
					inR.Close()
					outW.Close()
					return
				}
				answer := ""
				switch {
				case m.Method == "server/discover":
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
				case m.Method == "initialize":
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25",`+
						`"capabilities":{"tools":{}}}}`, m.ID)
				case m.Method == "tools/list":
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, plain)
				case m.Method == "tools/call":
					waiting = m.ID
					asked++ // what comes late for an earlier question is not an answer to this one
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d",%s}`, asked, request)
				case string(m.ID) == fmt.Sprintf(`"q%d"`, asked):
					said, _ := json.Marshal(string(line))
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`,
						waiting, said)
				}
				if answer != "" {
					_, _ = io.WriteString(outW, answer+"\n")
				}
			}
		}()
		go func() {
			defer close(p.gone)
			buffer := make([]byte, 4096)
			for {
				n, err := outR.Read(buffer)
				output(buffer[:n])
				if err != nil {
					gone(nil)
					return
				}
			}
		}()
		return p, nil
	}
}

func askingBridge(t *testing.T, request string, s Server, change func(*Options)) *aBridge {
	t.Helper()
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		s.Command = []string{"hub"}
		o.Settings["hub"] = s
		o.Start = asks(request)
		if change != nil {
			change(o)
		}
	})
	if _, err := b.Refresh(t.Context(), "hub"); err != nil {
		t.Fatal(err)
	}
	return b
}

const elicit = `"method":"elicitation/create","params":{"message":"Your name?` + `\u001b[2J","requestedSchema":` +
	`{"type":"object","properties":{"name":{"type":"string"}}}}`

// callAs calls the tool as a client that can or cannot show questions, with answers to what it was asked.
func (b *aBridge) callAs(t *testing.T, c tool.Caller, can bool, answers tool.Answers) (tool.Result, error) {
	t.Helper()
	ctx := tool.With(t.Context(), &tool.Running{
		Caller: c, Tool: "hub__read", Answers: answers,
		Can: func(m tool.Medium) bool { return can && m == tool.Person },
	})
	call, err := b.find(t, "hub__read").Bind([]byte(`{}`), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return call.Run(ctx)
}

// TestElicitation: a question of a server reaches the client of the call, if the operator and the client allow it,
// and the call goes on with the answer.
func TestElicitation(t *testing.T) {
	b := askingBridge(t, elicit, Server{Elicitation: true}, nil)
	_, err := b.callAs(t, ann(), true, tool.Answers{})
	var asked *tool.Asking
	if !errors.As(err, &asked) {
		t.Fatalf("got %v, want a question", err)
	}
	params := asked.Questions["answer"].Params.(map[string]any)
	if message := params["message"].(string); !strings.Contains(message, `The MCP server "hub" asks`) ||
		!strings.Contains(message, "Your name?") || strings.ContainsRune(message, '\x1b') {
		t.Errorf("the question is %q", message)
	}
	answer := tool.Answers{State: asked.State, ByName: map[string]json.RawMessage{
		"answer": json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`),
	}}
	if _, err := b.callAs(t, tool.Caller{Agent: "evil", User: "eve", Session: "s"}, true,
		answer); tool.AsError(err).Kind != tool.Refused {
		t.Errorf("another caller answers: %v", err)
	}
	if _, err := b.callAs(t, ann(), true, answer); tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("an answer to a call that has ended: %v", err)
	}
	_, err = b.callAs(t, ann(), true, tool.Answers{})
	if !errors.As(err, &asked) {
		t.Fatalf("got %v, want a question", err)
	}
	answer.State = asked.State
	if res, err := b.callAs(t, ann(), true, answer); err != nil || !strings.Contains(res.Text(), "Ann") {
		t.Errorf("after the answer: %q, %v", res.Text(), err)
	}
	if res, err := b.callAs(t, ann(), false, tool.Answers{}); err != nil ||
		!strings.Contains(res.Text(), "no call of ours") {
		t.Errorf("a client that shows no questions: %q, %v", res.Text(), err)
	}
	off := askingBridge(t, elicit, Server{}, nil)
	if res, err := off.callAs(t, ann(), true, tool.Answers{}); err != nil ||
		!strings.Contains(res.Text(), "no call of ours") {
		t.Errorf("an operator who allows no questions: %q, %v", res.Text(), err)
	}
}

// TestSampling: the model answers a server within its budget, if the operator allows it. Two processes with one store
// have one budget.
func TestSampling(t *testing.T) {
	request := `"method":"sampling/createMessage","params":{"maxTokens":5,"messages":[{"role":"user",` +
		`"content":{"type":"text","text":"hello"}}]}`
	model, s := llmtest.New(t), storetest.Open(t, t.TempDir())
	model.Answer(func(r llmtest.Request) llmtest.Turn {
		if r.MaxTokens != 5 || r.Last().Text != "hello" {
			t.Errorf("the model is asked %+v", r)
		}
		return llmtest.Turn{Text: "hi there", Usage: llm.Usage{Output: 60}}
	})
	complete := func(o *Options) {
		models, err := llm.NewModels(llm.Options{
			Providers: []llm.Provider{model.Provider(llm.Anthropic)}, HTTP: model.HTTP(t), Store: s,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Complete = models.Complete
	}
	process := []*aBridge{
		askingBridge(t, request, Server{Sampling: "100 tokens"}, complete),
		askingBridge(t, request, Server{Sampling: "100 tokens"}, complete),
	}
	for i, want := range []string{"hi there", "hi there", "used up", "used up"} {
		res, err := process[i%2].callAs(t, ann(), false, tool.Answers{})
		if err != nil || !strings.Contains(res.Text(), want) {
			t.Errorf("call %d: %q, %v; want %q", i, res.Text(), err, want)
		}
	}
	off := askingBridge(t, request, Server{}, complete)
	if res, err := off.callAs(t, ann(), false, tool.Answers{}); err != nil || strings.Contains(res.Text(), "hi there") {
		t.Errorf("an operator who allows no sampling: %q, %v", res.Text(), err)
	}
}
