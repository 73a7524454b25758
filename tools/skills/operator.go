package skills

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for published skills. open returns the library of a host.
func Room(open func(*room.Host) (*Library, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "skills", Title: "Manage published skills",
		Doc: `skills manages the published skills of one agent and one user, given by --agent and
--user. Skills in directories are files and not affected.`,
		Open: func(h *room.Host) (err error) { o.Library, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the published skills that a user sees", Risk: tool.Reads,
				Where: room.Operator, Owned: true,
				Example: `  mcp-tools skills list --agent helper --user ann`,
			}, o.list),
			room.Do(room.Verb{
				Name: "share", Title: "Share the current version of a skill with all users of the agent",
				Args: []string{"name"}, Risk: tool.Writes, Owned: true,
				Example: `  mcp-tools skills share pdf-forms --agent helper --user ann`,
			}, o.share),
			room.Do(room.Verb{
				Name: "grant", Title: "Let another user or agent see a skill", Args: []string{"name"}, Risk: tool.Writes,
				Owned: true,
				Doc: `grant lets users of --to-agent see a skill of the user given by --agent and --user: the
user --to-user, or all. They see each new version, unless --version names one.`,
				Example: `  mcp-tools skills grant pdf-forms --agent helper --user ann --to-agent clerk
  mcp-tools skills grant pdf-forms --user ann --to-user bob --version 2`,
			}, o.grant),
			room.Do(room.Verb{
				Name: "revoke", Title: "Take a grant of a skill back", Args: []string{"name"}, Risk: tool.Writes,
				Where: room.Operator, Owned: true,
				Example: `  mcp-tools skills revoke pdf-forms --agent helper --user ann --to-agent clerk`,
			}, o.revoke),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a published skill of a user, with all its versions", Args: []string{"name"},
				Risk: tool.Destroys, Where: room.Operator, Owned: true,
				Example: `  mcp-tools skills remove pdf-forms --agent helper --user ann`,
			}, o.remove),
		},
	}
}

// operator has the verbs of published skills.
type operator struct{ *Library }

// of names the agent and the user whose skills a verb is about.
type of struct {
	Agent string `json:"agent,omitempty" jsonschema:"the agent that has the skills"`
	User  string `json:"user,omitempty" jsonschema:"the owner of the skills"`
}

func (w of) owner() tool.Owner { return tool.Owner{Agent: w.Agent, User: w.User} }

func (o *operator) list(ctx context.Context, a of) (tool.Result, error) {
	list, err := o.List(ctx, a.owner())
	if err != nil {
		return tool.Result{}, err
	}
	agent := ""
	if a.Agent != "" {
		agent = fmt.Sprintf(" of agent %q", a.Agent)
	}
	none := fmt.Sprintf("User %q%s sees no published skills.", a.User, agent)
	head := []string{"NAME", "VERSION", "WHOSE", "PUBLISHED", "DESCRIPTION"}
	return room.Rows(list, none, head, func(r Version) []string {
		published := time.UnixMilli(r.Created).Format(time.DateOnly)
		return []string{r.Slug, fmt.Sprint(r.Number), cmp.Or(r.Owner.User, "shared"), published, r.Meta.Description}
	}), nil
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"the skill, as in list"`
	of
}

func (o *operator) share(ctx context.Context, a nameArgs) (tool.Result, error) {
	row, err := o.Share(ctx, a.owner(), a.Name)
	return tool.Textf("%s was shared as version %d", row.Slug, row.Number), err
}

func (o *operator) remove(ctx context.Context, a nameArgs) (tool.Result, error) {
	return tool.Textf("%s was removed", a.Name), o.Remove(ctx, a.owner(), a.Name)
}

// grantee names the users that see a skill of another one.
type grantee struct {
	nameArgs
	ToAgent *string `json:"to_agent,omitempty" jsonschema:"agent whose users see the skill (default: the same agent)"`
	ToUser  string  `json:"to_user,omitempty" jsonschema:"user to share with (default: all users of the agent)"`
}

func (a grantee) to() tool.Owner {
	to := tool.Owner{Agent: a.Agent, User: a.ToUser}
	if a.ToAgent != nil {
		to.Agent = *a.ToAgent
	}
	return to
}

type grantArgs struct {
	grantee
	Version int64 `json:"version,omitempty" jsonschema:"the version that they see (default: always the latest)" min:"0"`
}

func (o *operator) grant(ctx context.Context, a grantArgs) (tool.Result, error) {
	return tool.Textf("%s was granted", a.Name), o.Grant(ctx, a.owner(), a.Name, a.to(), a.Version)
}

func (o *operator) revoke(ctx context.Context, a grantee) (tool.Result, error) {
	return tool.Textf("%s is no longer granted", a.Name), o.Ungrant(ctx, a.owner(), a.Name, a.to())
}
