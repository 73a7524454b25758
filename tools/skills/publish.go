package skills

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// publishSkill keeps a directory as a skill.
type publishSkill struct{ skills Skills }

type publishSkillArgs struct {
	Path   string `json:"path" jsonschema:"directory with a SKILL.md: front matter with name and description, then instructions" alias:"dir,directory,skill_path"`
	Accept bool   `json:"accept_warnings,omitempty" jsonschema:"after reading them" alias:"acknowledge,force"`
}

func (publishSkill) Spec() tool.Spec {
	return tool.Spec{
		Name: "publish_skill", Group: group, Title: "Publish skill", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc:      "Keeps a directory as a new version of a skill, for you and your user, beyond this workspace.",
		Also:     []string{"skill_publish", "save_skill", "tool::publish_skill"},
		Keywords: "save share version SKILL.md create",
	}
}

func (t publishSkill) Do(ctx context.Context, a publishSkillArgs) (tool.Result, error) {
	p, err := t.skills.Publish(ctx, a.Path, a.Accept)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showPublished(p)), nil
}

func showPublished(p Published) string {
	var b strings.Builder
	if p.Same {
		fmt.Fprintf(&b, "nothing is new: %s is that already, as version %d", p.Name, p.Version)
	} else {
		fmt.Fprintf(&b, "published %s, version %d: %s, %s", p.Name, p.Version, counted(p.Files, "file"), size(p.Bytes))
	}
	if p.Title != "" && p.Title != p.Name {
		fmt.Fprintf(&b, "\n[%q is called %s here]", clip(oneLine(p.Title), 200), p.Name)
	}
	if len(p.Left) > 0 {
		fmt.Fprintf(&b, "\n[left out: %s]", clip(oneLine(strings.Join(p.Left, ", ")), 400))
	}
	if len(p.Needs) > 0 {
		fmt.Fprintf(&b, "\n[its scripts use these, which have to be there where they run: %s]", clip(oneLine(strings.Join(p.Needs, ", ")), 600))
	}
	if p.Before != "" {
		fmt.Fprintf(&b, "\n[use_skill gives the one of %s before it; version: %d gives this one]", oneLine(p.Before), p.Version)
	}
	if len(p.Findings) > 0 {
		b.WriteString("\n[kept with these warnings, which whoever uses it is shown]\n" + strings.TrimSuffix(findings(p.Findings), "\n"))
	}
	return b.String()
}
