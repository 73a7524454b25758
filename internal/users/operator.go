package users

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// unset stands for a workspace or an agent that is the default.
const unset = "-"

// operator has the verbs of users.
type operator struct {
	*Users
	grants tokens.Grants
}

// Room returns the verbs with which operators manage the people who may log in. The verbs that make a
// link are not remote: a token that only decides approvals must not lead to one that calls.
func Room(grants tokens.Grants) *room.Room {
	o := &operator{grants: grants}
	return &room.Room{
		Name: "users", Title: "Manage the people who log in from claude.ai and other remote clients",
		Doc: `users manages who may log in to the server with a browser, when a remote client such as
claude.ai or ChatGPT asks for access. The server then needs server.public_url over https,
and no section connections.oauth. See docs/start/claude-ai.md.`,
		Open: func(h *room.Host) error {
			o.Users = New(Options{DB: h.Store, Origin: grants.Login})
			return nil
		},
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "add", Title: "Add a user, and show a one-time link for her", Args: []string{"name"}, Risk: tool.Writes,
				Doc: `add adds a user and prints a link. The user opens it within a day and sets a passkey, or
a password with codes from a phone. Her tokens have the profiles, the workspace and the
agent that are given here; she can choose fewer profiles for each client.`,
				Example: "  mcp-tools users add ann\n  mcp-tools users add bob --profile coding --profile readonly --workspace ~/src",
			}, o.add),
			room.Do(room.Verb{
				Name: "list", Title: "List all users", Risk: tool.Reads, Where: room.Operator,
				Doc:     "list prints the users, with what they log in with and how many clients have access.",
				Example: "  mcp-tools users list\n  mcp-tools users list --output json",
			}, o.list),
			room.Do(room.Verb{
				Name: "set", Title: "Change a user's profiles, workspace or agent", Args: []string{"name"}, Risk: tool.Writes,
				Doc: `set changes a user. Running logins lose the profiles that she may not use any more, and get
the workspace and the agent; a wider profile is for new logins, which ask her. What is not
given stays.`,
				Example: "  mcp-tools users set ann --profile readonly\n  mcp-tools users set bob --workspace ~/src/shop --agent -", Complete: o.names,
			}, o.set),
			room.Do(room.Verb{
				Name: "link", Title: "Show another one-time link for a user", Args: []string{"name"}, Risk: tool.Writes,
				Doc: `link prints a link for a user who has none any more, or who wants to add a passkey. Links
from before can no longer be used. Passkeys, password and logins stay.`,
				Example: "  mcp-tools users link ann", Complete: o.names,
			}, o.link),
			room.Do(room.Verb{
				Name: "reset", Title: "Remove a user's passkeys and password, and show a new link", Args: []string{"name"},
				Risk: tool.Destroys,
				Doc: `reset removes the passkeys and the password of a user, ends all her logins and prints a
new link: for a lost phone, or when another person may know the password.`,
				Example: "  mcp-tools users reset ann", Complete: o.names,
			}, o.reset),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a user and end her logins", Args: []string{"name"}, Risk: tool.Destroys,
				Where: room.Operator,
				Doc: `remove removes a user. Running servers refuse the tokens of her logins from the next
request on. Her memories and files stay.`,
				Example: "  mcp-tools users remove ann", Complete: o.names,
			}, o.remove),
		},
		Checks: []room.Check{{Name: "users", Stored: true, Run: o.check}},
	}
}

type addArgs struct {
	Name      string   `json:"name" jsonschema:"name of the user, such as ann or ann@example.com"`
	Profile   []string `json:"profile,omitempty" jsonschema:"profile that her clients may use; can be repeated, * for all (default: that of the settings)"`
	Workspace string   `json:"workspace,omitempty" jsonschema:"working directory (default: that of the server)"`
	Agent     string   `json:"agent,omitempty" jsonschema:"agent that makes the calls"`
}

func (o *operator) add(ctx context.Context, a addArgs) (tool.Result, error) {
	one := User{Name: a.Name, Agent: a.Agent}
	var err error
	if one.Profiles, one.Workspace, err = o.grants.Check(a.Profile, a.Workspace); err != nil {
		return tool.Result{}, err
	}
	link, err := o.Add(ctx, one)
	if err != nil {
		return tool.Result{}, err
	}
	return linked(a.Name, link), nil
}

type setArgs struct {
	Name      string   `json:"name" jsonschema:"name of the user"`
	Profile   []string `json:"profile,omitempty" jsonschema:"profile that her clients may use, in place of those she has; can be repeated, * for all"`
	Workspace string   `json:"workspace,omitempty" jsonschema:"working directory; - for the directory of the server"`
	Agent     string   `json:"agent,omitempty" jsonschema:"agent that makes the calls; - for none"`
}

// orDefault returns the value of a flag, "" for the sign that list prints for a default.
func orDefault(value string) string {
	if value == unset {
		return ""
	}
	return value
}

// A changed user, with the number of logins that ended.
type changed struct {
	User
	Ended int `json:"ended"`
}

func (o *operator) set(ctx context.Context, a setArgs) (tool.Result, error) {
	if a.Profile == nil && a.Workspace == "" && a.Agent == "" {
		return tool.Result{}, room.Mistake("users set needs --profile, --workspace or --agent")
	}
	profiles, dir, err := o.grants.Check(a.Profile, orDefault(a.Workspace))
	if err != nil {
		return tool.Result{}, err
	}
	c, agent := Change{}, orDefault(a.Agent)
	if a.Profile != nil {
		c.Profiles = profiles
	}
	if a.Workspace != "" {
		c.Workspace = &dir
	}
	if a.Agent != "" {
		c.Agent = &agent
	}
	one, ended, err := o.Change(ctx, a.Name, c)
	if err != nil {
		return tool.Result{}, err
	}
	return room.Said(changed{one, ended}, "Changed %s; %s ended.", one.Name, text.Plural(ended, "login")), nil
}

// A madeLink is the result of the verbs that make a link.
type madeLink struct {
	Name string `json:"name"`
	Link string `json:"link"`
}

func linked(name, link string) tool.Result {
	return room.Beside(tool.Text(link).With(madeLink{name, link}),
		"Give %s this link. It can be used once, within %.0f hours, and is not shown again.", name, LinkAge.Hours())
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := o.List(ctx)
	const none = "There are no users; mcp-tools users add makes one."
	head := []string{"NAME", "PROFILES", "WORKSPACE", "AGENT", "LOGS IN WITH", "CLIENTS", "LAST LOGIN"}
	return room.Rows(list, none, head, func(one User) []string {
		return []string{
			one.Name, strings.Join(one.Profiles, ","), cmp.Or(one.Workspace, unset), cmp.Or(one.Agent, unset), one.proofs(),
			strconv.Itoa(one.Logins), terminal.Date(one.Used),
		}
	}), err
}

// proofs returns what a user can log in with.
func (one User) proofs() string {
	var all []string
	if one.Passkeys > 0 {
		all = append(all, text.Plural(one.Passkeys, "passkey"))
	}
	if one.Password {
		all = append(all, "password and code")
	}
	return cmp.Or(strings.Join(all, ", "), "nothing yet")
}

func (o *operator) names(ctx context.Context) (names []string, err error) {
	list, err := o.List(ctx)
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names, err
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"name of the user"`
}

func (o *operator) link(ctx context.Context, a nameArgs) (tool.Result, error) {
	link, err := o.Link(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	return linked(a.Name, link), nil
}

func (o *operator) reset(ctx context.Context, a nameArgs) (tool.Result, error) {
	link, ended, err := o.Reset(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	return room.Beside(linked(a.Name, link), "%s ended.", text.Plural(ended, "login")), nil
}

// A removed user, with the number of logins that ended.
type removed struct {
	Name  string `json:"name"`
	Ended int    `json:"ended"`
}

func (o *operator) remove(ctx context.Context, a nameArgs) (tool.Result, error) {
	ended, err := o.Remove(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	return room.Said(removed{a.Name, ended}, "Removed %s; %s ended.", a.Name, text.Plural(ended, "login")), nil
}

// check reports whether people can log in.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	list, err := o.List(ctx)
	switch origin := o.grants.Login(); {
	case err != nil:
		f.Fail("", "%v", err)
	case origin == "" && len(list) > 0:
		f.Advise("set server.public_url to the https URL of the server, which ends in /mcp",
			"%s cannot log in: the server has no login of its own", text.Plural(len(list), "user"))
	case origin == "":
	case len(list) == 0:
		f.Advise("mcp-tools users add NAME adds the first one", "nobody can log in at %s: there are no users", origin)
	default:
		f.OK("%s can log in at %s", text.Plural(len(list), "user"), origin)
	}
}
