package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcp-tools/mcp-tools/tools"
)

// askingTools need answers from the client before they can finish. Each is one
// function for all eras: it returns the questions as an error, and runs again
// with the answers.
func askingTools() []tools.Tool {
	whatIsYourName := map[string]tools.Question{"user_name": form("What is your name?", `{"name":{"type":"string"}}`, "name")}
	confirm := map[string]tools.Question{"confirm": form("Please confirm", `{"ok":{"type":"boolean"}}`, "ok")}
	three := map[string]tools.Question{
		"user_name":    whatIsYourName["user_name"],
		"greeting":     completion("Generate a greeting", 50),
		"client_roots": {To: tools.Roots},
	}
	return []tools.Tool{
		tool("test_elicitation", tools.Reads, func(ctx context.Context, a struct {
			Message string `json:"message" jsonschema:"what to show the user"`
		}) (tools.Result, error) {
			return put(ctx, map[string]tools.Question{"contact": form(a.Message, contactFields, "username", "email")}, "")
		}),
		tool("test_sampling", tools.Reads, func(ctx context.Context, a struct {
			Prompt string `json:"prompt" jsonschema:"what to ask the model"`
		}) (tools.Result, error) {
			return put(ctx, map[string]tools.Question{"answer": completion(a.Prompt, 100)}, "")
		}),
		asks("test_elicitation_sep1034_defaults", map[string]tools.Question{"form": form("Please review", defaultFields)}),
		asks("test_elicitation_sep1330_enums", map[string]tools.Question{"form": form("Please choose", choiceFields)}),
		asks("test_streaming_elicitation", confirm),
		asks("test_missing_capability", map[string]tools.Question{"answer": completion("Are you there?", 10)}),
		asks("test_input_required_result_elicitation", whatIsYourName),
		asks("test_input_required_result_sampling", map[string]tools.Question{
			"capital_question": completion("What is the capital of France?", 100),
		}),
		asks("test_input_required_result_list_roots", map[string]tools.Question{"client_roots": {To: tools.Roots}}),
		asks("test_input_required_result_request_state", confirm),
		asks("test_input_required_result_tampered_state", confirm),
		asks("test_input_required_result_multiple_inputs", three),
		tool("test_input_required_result_multi_round", tools.Reads, asksTwice),
		tool("test_input_required_result_capabilities", tools.Reads, func(ctx context.Context, _ none) (tools.Result, error) {
			possible := map[string]tools.Question{}
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
func form(message, fields string, required ...string) tools.Question {
	var properties map[string]any
	if err := json.Unmarshal([]byte(fields), &properties); err != nil {
		panic(fmt.Sprintf("the fields of %q: %v", message, err))
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return tools.Question{To: tools.Person, Params: map[string]any{"message": message, "requestedSchema": schema}}
}

// completion is a question to the client's model.
func completion(prompt string, most int) tools.Question {
	content := map[string]any{"type": "text", "text": prompt}
	return tools.Question{To: tools.Model, Params: map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": content}}, "maxTokens": most,
	}}
}

// asks makes a tool that returns the answers to its questions.
func asks(name string, questions map[string]tools.Question) tools.Tool {
	return tool(name, tools.Reads, func(ctx context.Context, _ none) (tools.Result, error) {
		return put(ctx, questions, name)
	})
}

// put returns the answers, or asks for them. The state must come back as it
// was given away.
func put(ctx context.Context, questions map[string]tools.Question, state string) (tools.Result, error) {
	answers := tools.AnswersFrom(ctx)
	said := "The answers:"
	for name, q := range questions {
		answer, ok := understood(q.To, answers.ByName[name])
		if !ok {
			return tools.Result{}, &tools.Asking{Questions: questions, State: state}
		}
		said += " " + answer
	}
	if answers.State != state {
		return tools.Result{}, tools.Errorf(tools.Internal, "the state came back as %q", answers.State)
	}
	return tools.Text(said), nil
}

// understood reads an answer, if it is one to a question of that kind.
func understood(to tools.Medium, raw json.RawMessage) (string, bool) {
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
	case tools.Person:
		return fmt.Sprint(answer.Action, answer.Content), answer.Action != ""
	case tools.Model:
		return fmt.Sprint(answer.Content), answer.Content != nil
	}
	return fmt.Sprint(answer.Roots), answer.Roots != nil
}

// asksTwice keeps the first answer in the state: the client brings only the
// second one to the second round.
func asksTwice(ctx context.Context, _ none) (tools.Result, error) {
	answers := tools.AnswersFrom(ctx)
	if color, ok := understood(tools.Person, answers.ByName["step2"]); ok && answers.State != "" {
		return tools.Textf("%s likes %s", answers.State, color), nil
	}
	if name, ok := understood(tools.Person, answers.ByName["step1"]); ok {
		return tools.Result{}, &tools.Asking{State: name, Questions: map[string]tools.Question{
			"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color"),
		}}
	}
	return tools.Result{}, &tools.Asking{Questions: map[string]tools.Question{
		"step1": form("Step 1: What is your name?", `{"name":{"type":"string"}}`, "name"),
	}}
}
