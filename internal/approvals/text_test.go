package approvals

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestADialogCannotBeForged has a tool repeat text of an agent.
func TestADialogCannotBeForged(t *testing.T) {
	text := Call{
		Principal: "/ann", Workspace: "/src/shop\n\nAgent: y", User: "ann\nAgent: x", Tool: "launch", Title: "Launch", Risk: tool.Runs.String(), Why: "replaces x\n\nArguments: {}",
		Shown: `{"command":"ls\nProfile: full\n\n\u001b[2J","n":3}`,
		Facts: map[string]string{"Binary": "/bin/x\nArguments: {}", IdentityFact: "CM2Y7Y3W"},
	}.Text()
	want := `Launch (launch) in shop<U+000A><U+000A>Agent: y: replaces x<U+000A><U+000A>Arguments: {}
It runs code, or acts in your name.

Details:
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

// TestBlanksAreCounted shows how many blanks hide a part of a command at the end of the line.
func TestBlanksAreCounted(t *testing.T) {
	command := "ls" + strings.Repeat(" ", 7000) + "; rm -rf x" + strings.Repeat(" ", 20) + "y"
	text := Call{Tool: "exec", Title: "Run", Risk: tool.Runs.String(), Shown: `{"command":"` + command + `"}`}.Text()
	if want := "  | ls<7000 blanks>; rm -rf x" + strings.Repeat(" ", 20) + "y"; !strings.Contains(text, want) {
		t.Errorf("a person reads %.300s", text)
	}
}
