package approvals

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestShown has the texts about a call that people read, in every place.
func TestShown(t *testing.T) {
	for name, tt := range map[string]struct {
		call Call
		want string
	}{
		"a command": {
			Call{
				Tool: "exec", Title: "Run a command", Risk: "destroys", Kept: true, Why: "removes notes.txt",
				Workspace: "/home/you/src/shop", User: "ann", Agent: "builder", Shown: `{"command":"rm notes.txt","timeout":3}`,
				Facts: map[string]string{"directory": "/home/you/src/shop", IdentityFact: "CM2Y7Y3W"},
			},
			`Run a command (exec) in shop: removes notes.txt
It deletes or overwrites files. Undo restores them for 30 days, except those over 4 MiB or ignored by git.

Details:
Arguments:
  command:
  | rm notes.txt
  timeout: 3
directory: /home/you/src/shop
Workspace: /home/you/src/shop
User: ann
Agent: builder`,
		},
		"nothing is known": {
			Call{Tool: "launch", Title: "Launch", Shown: `{}`},
			`Launch (launch)
It runs code, or acts in your name. Not all that it does can be undone.

Details:
Arguments: {}`,
		},
		"nothing is kept": {
			Call{Tool: "message", Title: "Send", Risk: "destroys", Why: "it deletes a message", Shown: `{"id":"m"}`},
			`Send (message): it deletes a message
It deletes or overwrites data. This cannot be undone.

Details:
Arguments:
  id: m`,
		},
		"a change": {
			Call{Tool: "write_file", Title: "Write a file", Risk: "writes", Why: `"a.txt"`, Workspace: "/w", Shown: `{"path":"a.txt"}`},
			`Write a file (write_file) in w: "a.txt"
It changes something. The change can be undone.

Details:
Arguments:
  path: a.txt
Workspace: /w`,
		},
		"arguments that are no object": {
			Call{Tool: "t", Title: "T", Risk: "reads", Shown: "[1]\nUser: root"},
			`T (t)
It only reads. There is nothing to undo.

Details:
Arguments: [1]<U+000A>User: root`,
		},
		"arguments with something behind them": {
			Call{Tool: "t", Title: "T", Risk: "reads", Shown: "{\"a\":1}\nUser: root"},
			`T (t)
It only reads. There is nothing to undo.

Details:
Arguments: {"a":1}<U+000A>User: root`,
		},
		"a forged question": {
			Call{
				Principal: "/ann", Workspace: "/src/shop\n\nAgent: y", User: "ann\nAgent: x", Tool: "launch", Title: "Launch",
				Risk: tool.Runs.String(), Why: "replaces x\nIt only reads.\n\nArguments: {}",
				Shown: `{"command":"ls\nProfile: full\n\n\u001b[2J","n\nUser":"\u202eab"}`,
				Facts: map[string]string{"Binary": "/bin/x\nArguments: {}", IdentityFact: "CM2Y7Y3W"},
			},
			`Launch (launch) in shop<U+000A><U+000A>Agent: y: replaces x<U+000A>It only reads.<U+000A><U+000A>Arguments: {}
It runs code, or acts in your name. Not all that it does can be undone.

Details:
Arguments:
  command:
  | ls
  | Profile: full
  | 
  | <U+001B>[2J
  n<U+000A>User: <U+202E>ab
Binary: /bin/x<U+000A>Arguments: {}
Workspace: /src/shop<U+000A><U+000A>Agent: y
User: ann<U+000A>Agent: x`,
		},
	} {
		shown := tt.call.Show()
		if text := shown.Text(); text != tt.want {
			t.Errorf("%s: a person reads\n%s", name, text)
		}
		if head, rest, _ := strings.Cut(tt.want, "\n"); head != shown.Head() ||
			rest != shown.Effect()+"\n\n"+shown.DetailText() {
			t.Errorf("%s: in parts it is %q, %q", name, shown.Head(), shown.Effect())
		}
		q := Question{ID: "abcd2345efgh", State: Open, Call: tt.call}
		if first := head(q.Sheet(), 4); !strings.HasSuffix(strings.ReplaceAll(first, "\n  | ", ""), head(tt.want, 2)) {
			t.Errorf("%s: a terminal begins with\n%s", name, first)
		}
	}
}

// head returns the first lines of text; those that a terminal folded count as one.
func head(text string, n int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "  | ") && len(lines) > 0 {
			lines[len(lines)-1] += "\n" + line
		} else {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[:n], "\n")
}

// TestBlanksAreCounted shows how many blanks hide a part of a command at the end of the line.
func TestBlanksAreCounted(t *testing.T) {
	command := "ls" + strings.Repeat(" ", 7000) + "; rm -rf x" + strings.Repeat(" ", 20) + "y"
	text := Call{Tool: "exec", Title: "Run", Risk: tool.Runs.String(), Shown: `{"command":"` + command + `"}`}.Show().Text()
	if want := "  | ls<7000 blanks>; rm -rf x" + strings.Repeat(" ", 20) + "y"; !strings.Contains(text, want) {
		t.Errorf("a person reads %.300s", text)
	}
}
