package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// fixtureLibrary has the resources and prompts that the suite asks for.
func fixtureLibrary() *shelf {
	s := &shelf{
		tool: map[string]string{"test": "test_simple_text", "": "test_simple_text"},
		templates: []tool.Template{{URI: "test://template/{id}/data", Name: "template", Description: "The test template.",
			MIME: "application/json"}},
		items: map[string][]item{}, scripts: map[string][]script{}, dynamic: readFixtureTemplate,
	}
	add := func(name string, part tool.Part) {
		s.items[""] = append(s.items[""], item{
			tool.Resource{URI: "test://" + name, Name: name, Description: "The test resource " + name + ".",
				MIME: part.MIME}, []tool.Part{part},
		})
	}
	add("static-text", tool.Part{MIME: "text/plain", Text: "This is the content of the static text resource."})
	add("static-binary", tool.Part{MIME: "image/png", Data: redPixel()})
	add("watched-resource", tool.Part{MIME: "text/plain", Text: "Nothing has happened yet."})
	s.scripts[""] = fixturePrompts()
	return s
}

func readFixtureTemplate(_ context.Context, uri string) ([]tool.Part, error) {
	id, found := strings.CutPrefix(uri, "test://template/")
	id, whole := strings.CutSuffix(id, "/data")
	if !found || !whole {
		return nil, tool.Errorf(tool.NotFound, "no %s", uri)
	}
	text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
	return []tool.Part{{URI: uri, MIME: "application/json", Text: string(text)}}, err
}

func fixturePrompts() []script {
	prompt := func(name string, fill func(a map[string]string) []tool.Part, arguments ...string) script {
		one := script{Prompt: tool.Prompt{Name: name, Description: "The test prompt " + name + "."}}
		for _, argument := range arguments {
			one.Arguments = append(one.Arguments, tool.Argument{Name: argument, Description: "some text", Required: true})
		}
		one.fill = func(a map[string]string) (f tool.FilledPrompt) {
			for _, part := range fill(a) {
				f.Messages = append(f.Messages, tool.Message{Part: part})
			}
			return f
		}
		return one
	}
	return []script{
		prompt("test_simple_prompt", func(map[string]string) []tool.Part {
			return []tool.Part{{Text: "This is a simple prompt for testing."}}
		}),
		prompt("test_prompt_with_arguments", func(a map[string]string) []tool.Part {
			return []tool.Part{{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}}
		}, "arg1", "arg2"),
		prompt("test_prompt_with_embedded_resource", func(a map[string]string) []tool.Part {
			return []tool.Part{
				{URI: a["resourceUri"], MIME: "text/plain", Text: "Embedded resource content for testing."},
				{Text: "Please process the embedded resource above."},
			}
		}, "resourceUri"),
		prompt("test_prompt_with_image", func(map[string]string) []tool.Part {
			return []tool.Part{{Data: redPixel(), MIME: "image/png"}, {Text: "Please analyze the image above."}}
		}),
	}
}

// askingPrompt is the one prompt of the suite that asks a question. Prompts of a
// library cannot, so a fixture without a library answers for it.
const askingPrompt = "test_input_required_result_prompt"

// askingPrompts answers prompts/list and prompts/get with askingPrompt alone.
func askingPrompts(_ context.Context, x *rpcRequest) []byte {
	stamp := x.session.server.resultStamp
	var result any
	switch x.msg.Method {
	case string(mcp.MethodPromptsList):
		stamp = []byte(`,"ttlMs":60000,"cacheScope":"private"` + string(stamp))
		result = map[string]any{"prompts": []any{map[string]string{
			"name": askingPrompt, "description": "The test prompt " + askingPrompt + ".",
		}}}
	case string(mcp.MethodPromptsGet):
		var answers map[string]struct {
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(x.msg.Call.Answers, &answers)
		answer, answered := answers["user_context"]
		if !answered {
			return jsonrpc.Success(x.msg.ID, contextQuestion())
		}
		content := map[string]string{"type": "text", "text": "Use this context: " + string(answer.Content)}
		result = map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}}
	default:
		return nil
	}
	body, err := text.JSON(result)
	if err != nil {
		return nil
	}
	if x.msg.Modern() {
		body = append(body[:len(body)-1], stamp...)
	}
	return jsonrpc.Respond(x.msg.ID, `,"result":`, body)
}

func contextQuestion() any {
	schema := json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)
	question := mcp.ElicitationParams{Message: "What context should the prompt use?", RequestedSchema: schema}
	return map[string]any{
		"resultType": mcp.ResultTypeInputRequired,
		"inputRequests": map[string]any{
			"user_context": map[string]any{"method": mcp.MethodElicitationCreate, "params": question},
		},
	}
}

// levels has the log level of each session that has set one.
var levels sync.Map

// setLevel answers logging/setLevel.
func setLevel(x *rpcRequest) []byte {
	var params struct {
		Level mcp.LoggingLevel `json:"level"`
	}
	if json.Unmarshal(x.msg.Params, &params) != nil || !slices.Contains([]mcp.LoggingLevel{
		mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelNotice, mcp.LoggingLevelWarning,
		mcp.LoggingLevelError, mcp.LoggingLevelCritical, mcp.LoggingLevelAlert, mcp.LoggingLevelEmergency,
	}, params.Level) {
		return x.failure(jsonrpc.Errorf(mcp.INVALID_PARAMS, "invalid log level"))
	}
	levels.Store(x.session, params.Level)
	return jsonrpc.Success(x.msg.ID, struct{}{})
}
