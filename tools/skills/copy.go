package skills

import (
	"context"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// copySkill writes a skill's files into the workspace.
type copySkill struct{ skills Skills }

type copySkillArgs struct {
	Name    string `json:"name" jsonschema:"of the skill" alias:"skill,skill_name,slug"`
	Path    string `json:"path,omitempty" jsonschema:"default skills/NAME" alias:"to,dir,directory,destination"`
	Version int64  `json:"version,omitempty" jsonschema:"default the latest"`
}

func (copySkill) Spec() tool.Spec {
	return tool.Spec{
		Name: "copy_skill", Group: group, Title: "Copy skill", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc:      "Copies a skill's files to a workspace directory, to run its scripts or to edit it.",
		Also:     []string{"install_skill", "skill_install"},
		Keywords: "install checkout unpack edit scripts",
	}
}

func (t copySkill) Do(ctx context.Context, a copySkillArgs) (tool.Result, error) {
	c, err := t.skills.Copy(ctx, name(a.Name), a.Version, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	text := fmt.Sprintf("copied %s to %s: %s, %s", c.Name, tool.Visible(c.Dir), counted(c.Files, "file"), size(c.Bytes))
	if c.Kept > 0 {
		text += fmt.Sprintf("; %d were there already", c.Kept)
	}
	return tool.Text(text), nil
}
