package teams

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// workspaceDir is the tool that returns where files of a scope are.
type workspaceDir struct{ t *Teams }

type workspaceDirArgs struct {
	Scope string `json:"scope,omitempty" jsonschema:"files of yours, of the team (default), or of all its users" enum:"user,team,shared"`
}

func (workspaceDir) Spec() tool.Spec {
	return tool.Spec{
		Name: "workspace_dir", Group: Group, Title: "Workspace directory", Risk: tool.Reads,
		Doc: "Returns the directory of a scope, your right to write there, and its free space.",
	}
}

// A quota is the use of a directory and its limit.
type quota struct {
	Files    int64 `json:"files"`
	MaxFiles int64 `json:"max_files"`
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"max_bytes"`
}

func (x workspaceDir) Do(ctx context.Context, a workspaceDirArgs) (tool.Result, error) {
	if a.Scope == "user" || a.Scope == "" && (x.t == nil || !x.t.Has(tool.CallerFrom(ctx).Agent)) {
		const dir = "file_state_dir/"
		return encoded(map[string]any{"path": dir, "relative_root": dir, "writable": true})
	}
	b, err := x.t.board(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	dir, in := teamDir, b.name
	if a.Scope == "shared" && b.team.Settings.Isolated {
		dir, in = teamDir+sharedDir, ""
	}
	q := quota{MaxFiles: maxTeamFiles, MaxBytes: maxTeamBytes}
	if err := b.o.Store.Row(ctx, `SELECT count(*), coalesce(sum(size), 0) FROM team_file
		WHERE team = $1 AND board = $2`, []any{b.team.ID, in}, &q.Files, &q.Bytes); err != nil {
		return tool.Result{}, unavailable(err)
	}
	return encoded(map[string]any{
		"path": dir, "relative_root": teamDir, "writable": b.role != Reviewer, "quota": q,
	})
}
