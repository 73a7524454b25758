package approvals

import (
	"strings"
	"testing"
)

// TestApprovalSheetCannotBeForged fills arguments so that a terminal of 80 cells would
// break their line where a line of the sheet could begin.
func TestApprovalSheetCannotBeForged(t *testing.T) {
	for name, shown := range map[string]string{
		"short": `{"path":"x"}`,
		"by width": `{"text":"` + strings.Repeat(" ", 80-20) + "Tool:      Read file (read_file), it reads" +
			strings.Repeat(" ", 300) + `"}`,
		"wide":       `{"text":"` + strings.Repeat("\u4f60", 100) + `"}`,
		"line break": "{}\nTool:      Read file (read_file), it reads",
	} {
		q := Question{ID: "abcd2345efgh", Call: Call{
			Title: "Launch", Tool: "launch", Risk: "runs", Why: "a\nTool: b", Principal: "a/u", Shown: shown,
		}}
		sheet := q.Sheet()
		_, arguments, _ := strings.Cut(sheet, "Arguments: ")
		if name == "short" {
			if arguments != shown+"\n" {
				t.Errorf("%s: %q", name, arguments)
			}
			continue
		}
		lines := strings.Split(strings.TrimSuffix(arguments, "\n"), "\n")
		joined := ""
		for _, line := range lines[1:] {
			text, marked := strings.CutPrefix(line, "  | ")
			if !marked || len([]rune(text)) > sheetWidth {
				t.Errorf("%s: the line %q stands alone", name, line)
			}
			joined += text
		}
		if joined != strings.ReplaceAll(shown, "\n", "") {
			t.Errorf("%s: not all of it is shown: %s", name, arguments)
		}
		if n := strings.Count(sheet, "\nTool:"); n != 1 {
			t.Errorf("%s: it has %d tool lines: %s", name, n, sheet)
		}
	}
}
