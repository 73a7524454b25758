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

// converse makes a call, and repeats it with a person's answers while the call needs some. A
// nil who means that no person can be asked.
func converse(
	ctx context.Context, call func(context.Context, server.Request) server.Response, req server.Request, who asker,
) (tool.Result, error) {
	answer := call(ctx, req)
	for range mostRounds {
		if answer.InputRequest == nil {
			return answer.Result, nil
		}
		answers := map[string]json.RawMessage{}
		var err error
		switch {
		case who != nil:
			if answers, err = who(ctx, answer.InputRequest.Questions); err != nil {
				return tool.Result{}, err
			}
		case slices.ContainsFunc(slices.Collect(maps.Values(answer.InputRequest.Questions)), isApproval):
			return tool.Result{}, fmt.Errorf(
				"%s needs an approval, and there is no terminal to ask on; call it from one, or use --autonomy full",
				req.Tool,
			)
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

// answer takes y or yes as an approval, and everything else as a denial. Other questions get a
// line as their answer. A question gets no answer if the terminal was closed.
func (p person) answer(ctx context.Context, questions map[string]tool.Question) (map[string]json.RawMessage, error) {
	answers := make(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		text, fields := shownQuestion(questions[name])
		prompt := "Allow? [y/N]"
		if !isApproval(questions[name]) {
			prompt = ">"
		}
		if _, err := fmt.Fprintf(p.out, "%s\n\n%s ", tool.Visible(text), prompt); err != nil {
			return nil, fmt.Errorf("asking: %w", err)
		}
		line, err := p.line(ctx)
		if err != nil {
			return nil, err
		}
		switch said := strings.ToLower(strings.TrimSpace(line)); {
		case prompt == ">" && line != "":
			if answers[name], err = reply(fields, strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		case said == "y", said == "yes":
			answers[name] = json.RawMessage(yes)
		default:
			if line != "" {
				answers[name] = json.RawMessage(no)
			}
		}
	}
	return answers, nil
}

// reply returns a line as the answer to a question: of its first field.
func reply(fields []string, line string) (json.RawMessage, error) {
	if line == "" || len(fields) == 0 {
		return json.RawMessage(no), nil
	}
	return json.Marshal(map[string]any{"action": "accept", "content": map[string]string{fields[0]: line}})
}

// isApproval reports whether a question asks for a decision.
func isApproval(q tool.Question) bool {
	_, fields := shownQuestion(q)
	return slices.Contains(fields, "decision")
}

// shownQuestion returns the text of a question, and the names of the fields of its answer.
func shownQuestion(q tool.Question) (text string, fields []string) {
	raw, err := json.Marshal(q.Params)
	if err != nil {
		return "", nil
	}
	var form struct {
		Message         string
		RequestedSchema struct{ Properties map[string]json.RawMessage }
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return "", nil
	}
	return form.Message, slices.Sorted(maps.Keys(form.RequestedSchema.Properties))
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
