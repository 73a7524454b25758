package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
)

// approval is a question as the server asks it.
func approval(text string) tool.Question {
	return tool.Question{To: tool.Person, Params: map[string]any{
		"message":         text,
		"requestedSchema": map[string]any{"properties": map[string]any{"decision": map[string]any{"type": "string"}}},
	}}
}

func TestAskOnATerminal(t *testing.T) {
	for typed, want := range map[string]string{
		"y\n": yes, "YES\n": yes, " yes \n": yes, "y": yes,
		"n\n": no, "\n": no, "yep\n": no, "allow\n": no,
		"": "", // the terminal was closed
	} {
		var shown strings.Builder
		p := person{bufio.NewReader(strings.NewReader(typed)), &shown}
		got, err := p.answer(t.Context(), map[string]tool.Question{"approval": approval("Allow rm \x1b[2K\u202e?")})
		if err != nil {
			t.Fatal(err)
		}
		if string(got["approval"]) != want {
			t.Errorf("typed %q, answered %q, want %q", typed, got["approval"], want)
		}
		if text := "Allow rm <U+001B>[2K<U+202E>?\n\nAllow? [y/N] "; shown.String() != text {
			t.Errorf("shown is %q, want %q", &shown, text)
		}
	}
}

func TestQuestionsComeOneByOne(t *testing.T) {
	p := person{bufio.NewReader(strings.NewReader("y\nn\nAda\n")), io.Discard}
	got, err := p.answer(t.Context(), map[string]tool.Question{
		"a": approval("first?"), "b": approval("second?"),
		"c": {To: tool.Person, Params: map[string]any{
			"message":         "your name?",
			"requestedSchema": map[string]any{"properties": map[string]any{"name": map[string]any{"type": "string"}}},
		}},
		"d": approval("third?"), // the input ends before
	})
	want := map[string]json.RawMessage{
		"a": json.RawMessage(yes), "b": json.RawMessage(no),
		"c": json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	reader, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := person{bufio.NewReader(reader), io.Discard}.answer(ctx, map[string]tool.Question{"a": approval("well?")})
	if err == nil {
		t.Error("there is an answer without a person")
	}
}

// asking is a server that wants an approval so many times.
func asking(times int, seen *[]server.Request) func(context.Context, server.Request) server.Response {
	return func(_ context.Context, req server.Request) server.Response {
		*seen = append(*seen, req)
		if len(*seen) > times {
			return server.Response{Result: tool.Text("done")}
		}
		return server.Response{InputRequest: &server.InputRequest{State: "sealed",
			Questions: map[string]tool.Question{"approval": approval("well?")}}}
	}
}

func TestConverse(t *testing.T) {
	agree := func(context.Context, map[string]tool.Question) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{"approval": json.RawMessage(yes)}, nil
	}
	for _, c := range []struct {
		name  string
		times int
		who   asker
		calls int
		err   string
	}{
		{"nothing to ask", 0, nil, 1, ""},
		{"asked and answered", 1, agree, 2, ""},
		{"asked as often as may be", mostRounds, agree, mostRounds + 1, ""},
		{"asked too often", mostRounds + 1, agree, mostRounds + 1, "asked more than 10 times"},
		{"no person to ask", 1, nil, 1, "there is no terminal to ask on"},
		{"asking fails", 1, person{bufio.NewReader(strings.NewReader("y\n")), mute{}}.answer, 1, "asking: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []server.Request
			res, err := converse(t.Context(), asking(c.times, &seen), server.Request{Tool: "launch"}, c.who)
			if len(seen) != c.calls {
				t.Errorf("%d calls, want %d", len(seen), c.calls)
			}
			if c.err == "" && (err != nil || res.Text() != "done") || c.err != "" &&
				(err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q and %v, want the error %q", res.Text(), err, c.err)
			}
			if c.calls > 1 && (seen[1].Input == nil || seen[1].Input.State != "sealed") {
				t.Errorf("the second call has the reply %+v", seen[1].Input)
			}
		})
	}
}

// mute takes nothing.
type mute struct{}

func (mute) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
