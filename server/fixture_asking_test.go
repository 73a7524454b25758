package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// askingTools need answers from the client before they can finish. Each is one
// function for all eras: it returns the questions as an error, and runs again
// with the answers.
func askingTools() []tool.Tool {
	whatIsYourName := map[string]tool.Question{"user_name": form("What is your name?", `{"name":{"type":"string"}}`,
		"name")}
	confirm := map[string]tool.Question{"confirm": form("Please confirm", `{"ok":{"type":"boolean"}}`, "ok")}
	three := map[string]tool.Question{
		"user_name":    whatIsYourName["user_name"],
		"greeting":     completion("Generate a greeting", 50),
		"client_roots": {To: tool.Roots},
	}
	return []tool.Tool{
		newTool("test_elicitation", tool.Reads, func(ctx context.Context, a struct {
			Message string `json:"message" jsonschema:"what to show the user"`
		}) (tool.Result, error) {
			return put(ctx, map[string]tool.Question{"contact": form(a.Message, contactFields, "username", "email")},
				"")
		}),
		newTool("test_sampling", tool.Reads, func(ctx context.Context, a struct {
			Prompt string `json:"prompt" jsonschema:"what to ask the model"`
		}) (tool.Result, error) {
			return put(ctx, map[string]tool.Question{"answer": completion(a.Prompt, 100)}, "")
		}),
		asks("test_elicitation_sep1034_defaults", map[string]tool.Question{"form": form("Please review",
			defaultFields)}),
		asks("test_elicitation_sep1330_enums", map[string]tool.Question{"form": form("Please choose", choiceFields)}),
		asks("test_streaming_elicitation", confirm),
		asks("test_missing_capability", map[string]tool.Question{"answer": completion("Are you there?", 10)}),
		asks("test_input_required_result_elicitation", whatIsYourName),
		asks("test_input_required_result_sampling", map[string]tool.Question{
			"capital_question": completion("What is the capital of France?", 100),
		}),
		asks("test_input_required_result_list_roots", map[string]tool.Question{"client_roots": {To: tool.Roots}}),
		asks("test_input_required_result_request_state", confirm),
		asks("test_input_required_result_tampered_state", confirm),
		asks("test_input_required_result_multiple_inputs", three),
		newTool("test_input_required_result_multi_round", tool.Reads, asksTwice),
		newTool("test_input_required_result_capabilities", tool.Reads,
			func(ctx context.Context, _ none) (tool.Result, error) {
				possible := map[string]tool.Question{}
				for name, q := range three {
					if exchangeOf(ctx).can(q.To) {
						possible[name] = q
					}
				}
				return put(ctx, possible, "")
			}),
	}
}

const (
	contactFields = `{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}}`
	defaultFields = `{
		"name":{"type":"string","default":"John Doe"},
		"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}`
	choiceFields = `{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[
			{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[
			{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`
)

// form is a question to the person, with fields written as JSON.
func form(message, fields string, required ...string) tool.Question {
	var properties map[string]any
	if err := json.Unmarshal([]byte(fields), &properties); err != nil {
		panic(fmt.Sprintf("the fields of %q: %v", message, err))
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return tool.Question{To: tool.Person, Params: map[string]any{"message": message, "requestedSchema": schema}}
}

// completion is a question to the client's model.
func completion(prompt string, most int) tool.Question {
	content := map[string]any{"type": "text", "text": prompt}
	return tool.Question{To: tool.Model, Params: map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": content}}, "maxTokens": most,
	}}
}

// asks makes a tool that returns the answers to its questions.
func asks(name string, questions map[string]tool.Question) tool.Tool {
	return newTool(name, tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		return put(ctx, questions, name)
	})
}

// put returns the answers, or asks for them. The state must come back as it
// was given away.
func put(ctx context.Context, questions map[string]tool.Question, state string) (tool.Result, error) {
	answers := tool.AnswersFrom(ctx)
	said := "The answers:"
	for name, q := range questions {
		answer, ok := understood(q.To, answers.ByName[name])
		if !ok {
			return tool.Result{}, &tool.Asking{Questions: questions, State: state}
		}
		said += " " + answer
	}
	if answers.State != state {
		return tool.Result{}, tool.Errorf(tool.Internal, "the state came back as %q", answers.State)
	}
	return tool.Text(said), nil
}

// understood reads an answer, if it is one to a question of that kind.
func understood(to tool.Medium, raw json.RawMessage) (string, bool) {
	var answer struct {
		Action  string
		Content any
		Model   string
		Roots   []struct{ URI string }
	}
	if json.Unmarshal(raw, &answer) != nil {
		return "", false
	}
	switch to {
	case tool.Person:
		return fmt.Sprint(answer.Action, answer.Content), answer.Action != ""
	case tool.Model:
		return fmt.Sprint(answer.Content), answer.Content != nil
	}
	return fmt.Sprint(answer.Roots), answer.Roots != nil
}

// asksTwice keeps the first answer in the state: the client brings only the
// second one to the second round.
func asksTwice(ctx context.Context, _ none) (tool.Result, error) {
	answers := tool.AnswersFrom(ctx)
	if color, ok := understood(tool.Person, answers.ByName["step2"]); ok && answers.State != "" {
		return tool.Textf("%s likes %s", answers.State, color), nil
	}
	if name, ok := understood(tool.Person, answers.ByName["step1"]); ok {
		return tool.Result{}, &tool.Asking{State: name, Questions: map[string]tool.Question{
			"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color"),
		}}
	}
	return tool.Result{}, &tool.Asking{Questions: map[string]tool.Question{
		"step1": form("Step 1: What is your name?", `{"name":{"type":"string"}}`, "name"),
	}}
}
