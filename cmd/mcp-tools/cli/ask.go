package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
)

// An asker asks a person questions and returns the answers by the names of the
// questions.
type asker func(context.Context, map[string]tool.Question) (map[string]json.RawMessage, error)

// isPerson reports whether m is a person, the only medium of a command line.
func isPerson(m tool.Medium) bool { return m == tool.Person }

// mostRounds is the max number of times that one call may ask.
const mostRounds = 10

// converse makes a call, and repeats it with a person's answers while it asks for
// some. who is nil if there is no one to ask.
func converse(
	ctx context.Context, call func(context.Context, server.Request) server.Response, req server.Request, who asker,
) (tool.Result, error) {
	answer := call(ctx, req)
	for range mostRounds {
		if answer.InputRequest == nil {
			return answer.Result, nil
		}
		if who == nil {
			return tool.Result{}, fmt.Errorf(
				"%s needs an approval, and there is no terminal to ask on; call it from one, or use --autonomy full",
				req.Tool,
			)
		}
		answers, err := who(ctx, answer.InputRequest.Questions)
		if err != nil {
			return tool.Result{}, err
		}
		req.Input = &server.InputResponse{State: answer.InputRequest.State, Answers: answers}
		answer = call(ctx, req)
	}
	if answer.InputRequest == nil {
		return answer.Result, nil
	}
	return tool.Result{}, fmt.Errorf("%s asked more than %d times", req.Tool, mostRounds)
}

// A person asks on a terminal.
type person struct {
	in  *bufio.Reader
	out io.Writer
}

// Answers of a person, in the form of an MCP elicitation.
const (
	yes = `{"action":"accept","content":{"decision":"allow"}}`
	no  = `{"action":"decline"}`
)

// answer takes y or yes as an approval, and everything else as a denial. Questions
// other than approvals get no answer, and neither does one at which the terminal
// was closed.
func (p person) answer(ctx context.Context, questions map[string]tool.Question) (map[string]json.RawMessage, error) {
	answers := make(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		text, ok := approvalText(questions[name])
		if !ok {
			continue
		}
		if _, err := fmt.Fprintf(p.out, "%s\n\n[y/N] ", tool.Visible(text)); err != nil {
			return nil, fmt.Errorf("asking: %w", err)
		}
		line, err := p.line(ctx)
		if err != nil {
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			answers[name] = json.RawMessage(yes)
		default:
			if line != "" {
				answers[name] = json.RawMessage(no)
			}
		}
	}
	return answers, nil
}

// approvalText returns the text of a question that asks for a decision.
func approvalText(q tool.Question) (string, bool) {
	raw, err := json.Marshal(q.Params)
	if err != nil {
		return "", false
	}
	var form struct {
		Message         string
		RequestedSchema struct{ Properties map[string]json.RawMessage }
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return "", false
	}
	_, decides := form.RequestedSchema.Properties["decision"]
	return form.Message, decides
}

// line reads a line, or returns "" at the end of the input. Reading cannot be
// interrupted, so the goroutine stays when ctx ends; the program ends then too.
func (p person) line(ctx context.Context) (string, error) {
	typed := make(chan string, 1)
	failed := make(chan error, 1)
	go func() {
		line, err := p.in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			failed <- fmt.Errorf("reading the answer: %w", err)
			return
		}
		typed <- line
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case err := <-failed:
		return "", err
	case line := <-typed:
		return line, nil
	}
}
