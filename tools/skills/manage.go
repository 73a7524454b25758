package skills

import (
	"context"
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// skillManage is the tool that creates, changes and removes published skills of the
// caller without files in the workspace.
type skillManage struct{ library *Library }

type skillManageArgs struct {
	Action  string `json:"action" jsonschema:"create (content), patch (name, find, replace) or delete (name)"`
	Name    string `json:"name,omitempty" jsonschema:"name of the skill" alias:"slug,skill"`
	Content string `json:"content,omitempty" jsonschema:"whole SKILL.md with front matter" alias:"text" maxlen:"102400"`
	Find    string `json:"find,omitempty" jsonschema:"text in SKILL.md that occurs once" alias:"old,old_string"`
	Replace string `json:"replace,omitempty" jsonschema:"text to put in its place" alias:"new,new_string"`
	Accept  bool   `json:"accept_warnings,omitempty" jsonschema:"publish despite warnings" alias:"acknowledge,force" hidden:"true"`
}

func (skillManage) Spec() tool.Spec {
	return tool.Spec{
		Name: "skill_manage", Group: group, Title: "Manage skills", Risk: tool.Destroys,
		Doc: `Creates, changes or removes a published skill of this user. Returns its version.
For a skill with several files use publish_skill.`,
		Also: []string{"manage_skill", "create_skill", "skill_create", "delete_skill"},
		Means: map[string]string{"create_skill": `{"action":"create"}`, "skill_create": `{"action":"create"}`,
			"delete_skill": `{"action":"delete"}`},
		Keywords: "create write edit change patch fix delete remove instructions",
	}
}

// Prepare rates a call: former versions are kept, so only removing a skill loses something
// for its users.
func (t skillManage) Prepare(_ context.Context, a skillManageArgs) (tool.Plan, error) {
	a.Action = strings.ToLower(strings.TrimSpace(a.Action))
	plan := tool.Plan{Risk: tool.Writes}
	switch a.Action {
	case "create", "patch":
		plan.Run = func(ctx context.Context) (tool.Result, error) { return t.write(ctx, a) }
	case "delete":
		plan.Risk, plan.Why = tool.Destroys, "removes the skill "+oneLine(a.Name)+" with all its versions"
		plan.Run = func(ctx context.Context) (tool.Result, error) { return t.remove(ctx, a) }
	default:
		plan.Risk = tool.Reads
		return plan, tool.Errorf(tool.Invalid, "there is no action %.40q", a.Action).Try("use create, patch or delete")
	}
	return plan, nil
}

func (t skillManage) write(ctx context.Context, a skillManageArgs) (tool.Result, error) {
	o, err := publisher(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	files := []skill.Content{{File: skill.File{Path: skill.Main}, Data: []byte(a.Content)}}
	if a.Action == "patch" {
		if files, err = t.library.patched(ctx, o, a); err != nil {
			return tool.Result{}, err
		}
	}
	d, err := skill.Pack(ctx, files, t.library.guard())
	if err != nil {
		return tool.Result{}, err
	}
	switch own, err := t.library.own(ctx, o, d.Slug); {
	case err != nil && tool.AsError(err).Kind != tool.NotFound:
		return tool.Result{}, err
	case a.Action == "create" && err == nil:
		return tool.Result{}, tool.Errorf(tool.Conflict, "you have a skill %s already, version %d", d.Slug, own.Number).
			Try("change it with patch, or give the new one another name in its front matter")
	case a.Action == "patch" && d.Slug != skill.Slug(skillName(a.Name)):
		return tool.Result{}, tool.Errorf(tool.Invalid, "this would rename the skill to %s", d.Slug).
			Try("leave the name in the front matter as it is, or use create")
	}
	p, err := t.library.publish(ctx, o, d, a.Accept)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(p.format()), nil
}

// own returns the latest version of a skill of the owner alone.
func (l *Library) own(ctx context.Context, o tool.Owner, name string) (Version, error) {
	v, err := l.rows.find(ctx, o, skill.Slug(skillName(name)), 0)
	switch {
	case errors.Is(err, errNotFound) || err == nil && v.Owner != o:
		return v, tool.Errorf(tool.NotFound, "you have no published skill %.80q", oneLine(name)).
			Try("skill_search lists skills; only those whose source is published are yours")
	case err != nil:
		return v, unavailable(err)
	}
	return v, nil
}

// patched returns the files of a skill of the owner with one replacement in SKILL.md.
func (l *Library) patched(ctx context.Context, o tool.Owner, a skillManageArgs) ([]skill.Content, error) {
	v, err := l.own(ctx, o, a.Name)
	if err != nil {
		return nil, err
	}
	files, err := l.contents(ctx, item{slug: v.Slug, version: v})
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if f.Path != skill.Main {
			continue
		}
		text := string(f.Data)
		if n := strings.Count(text, a.Find); a.Find == "" || n != 1 {
			return nil, tool.Errorf(tool.Invalid, "find occurs %d times in %s of %s", n, skill.Main, v.Slug).
				Try("send a text that occurs exactly once; use_skill shows it")
		}
		files[i].Data = []byte(strings.Replace(text, a.Find, a.Replace, 1))
		files[i].File = skill.File{Path: f.Path} // Pack computes the rest
	}
	return files, nil
}

func (t skillManage) remove(ctx context.Context, a skillManageArgs) (tool.Result, error) {
	o, err := publisher(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	v, err := t.library.own(ctx, o, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	if err := t.library.rows.remove(ctx, o, v.Slug); err != nil {
		return tool.Result{}, unavailable(err)
	}
	return tool.Textf("removed %s; publishing the same files again brings it back with its versions", v.Slug), nil
}
