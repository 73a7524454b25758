package approvals

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestADialogCannotBeForged has a tool repeat text of an agent.
func TestADialogCannotBeForged(t *testing.T) {
	text := Call{
		Principal: "/ann", User: "ann\nAgent: x", Tool: "launch", Title: "Launch", Risk: tool.Runs.String(), Why: "replaces x\n\nArguments: {}",
		Shown: `{"command":"ls\nProfile: full\n\n\u001b[2J","n":3}`,
		Facts: map[string]string{"Binary": "/bin/x\nArguments: {}", IdentityFact: "CM2Y7Y3W"},
	}.Text()
	want := `Allow Launch (launch)? It runs code, or acts in your name: replaces x<U+000A><U+000A>Arguments: {}.

Arguments:
  command:
  | ls
  | Profile: full
  | 
  | <U+001B>[2J
  n: 3
Binary: /bin/x<U+000A>Arguments: {}
User: ann<U+000A>Agent: x`
	if text != want {
		t.Errorf("a person reads %s", text)
	}
}
