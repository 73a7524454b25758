package discovery

import (
	"context"
	"encoding/json"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// toolCall calls another tool. The server forwards its calls, so that Do runs only if
// there is no such tool.
type toolCall struct{}

type toolCallArgs struct {
	Name      string                     `json:"name" jsonschema:"name of a tool" alias:"tool,tool_name"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty" jsonschema:"arguments of the tool" alias:"args,input,parameters,params"`
}

func (toolCall) Spec() tool.Spec {
	return tool.Spec{
		Name: "tool_call", Group: group, Title: "Call a tool", Risk: tool.Reads, Forwards: true,
		Hints:   tool.Hints{OpenWorld: true},
		Doc:     "Calls a tool that tool_search has found.",
		Also:    []string{"mcp_tool_call", "call_tool", "invoke_tool", "execute_tool", "use_tool"},
		MaxText: 16 << 20, // the other tool has its own limit
	}
}

func (toolCall) Do(ctx context.Context, a toolCallArgs) (tool.Result, error) {
	usable, err := usableTools(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	missing := tool.Errorf(tool.NotFound, "there is no tool %q that you may call", a.Name)
	names := make([]string, len(usable))
	for i, t := range usable {
		names[i] = t.Spec.Name
	}
	if nearest := tool.Nearest(a.Name, names); nearest != "" {
		return tool.Result{}, missing.Try("did you mean %q? tool_search finds others", nearest)
	}
	return tool.Result{}, missing.Try("find one with tool_search")
}
