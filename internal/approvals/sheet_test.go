package approvals

import (
	"strings"
	"testing"
)

// TestApprovalSheetCannotBeForged has texts that a terminal of 80 cells would
// break where a line of the sheet could begin.
func TestApprovalSheetCannotBeForged(t *testing.T) {
	wide := strings.Repeat("x", 80-20) + "User: root" + strings.Repeat("y", 300)
	for name, c := range map[string]Call{
		"an argument":      {Shown: `{"text":"` + wide + `"}`},
		"its name":         {Shown: `{"` + wide + `":1}`},
		"a number":         {Shown: `{"n":` + strings.Repeat("1", 300) + `}`},
		"a line":           {Shown: `{"text":"a\nUser: root"}`},
		"no object":        {Shown: `"` + wide + `"`},
		"wide characters":  {Shown: `{"text":"` + strings.Repeat("\u4f60", 100) + `"}`},
		"the reason":       {Shown: "{}", Why: wide},
		"a fact":           {Shown: "{}", Facts: map[string]string{"Binary": wide}},
		"the workspace":    {Shown: "{}", Workspace: "/" + wide},
		"the user":         {Shown: "{}", User: wide},
		"a line of a fact": {Shown: "{}", Facts: map[string]string{"Binary": "a\nUser: root"}},
	} {
		c.Title, c.Tool, c.Risk = "Launch", "launch", "runs"
		q := Question{ID: "abcd2345efgh", Call: c}
		for line := range strings.SplitSeq(q.Sheet(), "\n") {
			if strings.HasPrefix(line, "User: root") || len([]rune(line)) > sheetWidth+len("  | ") ||
				strings.Count(line, "\u4f60") > sheetWidth/2 {
				t.Errorf("%s: it has the line %q", name, line)
			}
		}
		for _, whole := range []string{c.Why, c.User, c.Facts["Binary"]} {
			joined := strings.ReplaceAll(q.Sheet(), "\n  | ", "")
			if whole = strings.ReplaceAll(whole, "\n", "<U+000A>"); !strings.Contains(joined, whole) {
				t.Errorf("%s: not all of it is shown: %s", name, joined)
			}
		}
	}
}
