package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A subtask is the result of a command for a caller that has asked for run_in_subtask.
type subtask struct {
	ID      string  `json:"task_id"`
	Status  string  `json:"status"` // done or failed
	Summary string  `json:"summary"`
	Kind    string  `json:"output_kind"`
	Schema  string  `json:"output_schema"`
	Output  outcome `json:"output"`
	Error   string  `json:"error"`
}

// maxSummary is the length of the summary of a subtask, in bytes.
const maxSummary = 160

// inSubtask returns the result of a command in the envelope of a subtask.
func inSubtask(ctx context.Context, res tool.Result) tool.Result {
	end, ok := res.Data.(outcome)
	if !ok {
		return res
	}
	end.Stdout, end.Stderr = "", "" // the model gets this JSON, and has both in the output
	one := subtask{
		ID: tool.RunningFrom(ctx).Call, Status: "done", Kind: "json", Schema: "subtask.bash.result.v1", Output: end,
		Summary: text.Clip(strings.Join(strings.Fields(end.Output), " "), maxSummary),
	}
	switch {
	case res.Failed:
		one.Status, one.Error = "failed", strings.Join(end.Notes, "; ")
	case res.ExitCode != 0:
		one.Status, one.Error = "failed", fmt.Sprintf("exited with code %d", res.ExitCode)
	}
	written, err := json.Marshal(one)
	if err != nil { // impossible: it has only texts and numbers
		return res
	}
	res.Parts[0].Text = string(written)
	return res
}
