package teams

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for teams.
func Room() *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "teams", Title: "Manage teams of agents",
		Doc: `teams manages the teams whose members share a board of tasks, messages and files.
A member is an agent in any client: start it with --agent NAME, or give its token
an agent. An agent is in one team at most.`,
		Open: func(h *room.Host) error { o.Teams = New(Options{Store: h.Store}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "create", Title: "Create a team", Args: []string{"name"}, Risk: tool.Writes, Where: room.Operator,
				Example: `  mcp-tools teams create site --lead claude --member cursor --member builder`,
			}, o.create),
			room.Do(room.Verb{Name: "list", Title: "List the teams", Risk: tool.Reads, Where: room.Operator}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show the members, the settings and the tasks of a team", Args: []string{"name"},
				Risk: tool.Reads, Where: room.Operator,
			}, o.show),
			room.Do(room.Verb{
				Name: "add", Title: "Add an agent to a team, or change its role", Args: []string{"name", "agent"},
				Risk: tool.Writes, Where: room.Operator, Example: `  mcp-tools teams add site reader --role reviewer`,
			}, o.add),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove an agent from a team; its tasks are for other members",
				Args: []string{"name", "agent"}, Risk: tool.Writes, Where: room.Operator,
			}, o.remove),
			room.Do(room.Verb{
				Name: "set", Title: "Change the settings of a team that flags are given for", Args: []string{"name"},
				Risk: tool.Writes, Where: room.Operator,
				Example: `  mcp-tools teams set site --lock-minutes 60 --quiet progress`,
			}, o.set),
			room.Do(room.Verb{
				Name: "archive", Title: "End a team: open tasks are cancelled, and its agents can join others",
				Args: []string{"name"}, Risk: tool.Destroys, Where: room.Operator,
			}, o.archive),
		},
	}
}

// operator has the verbs of the teams in a store.
type operator struct{ *Teams }

// changes are the settings of a team that a verb changes. A nil setting stays.
type changes struct {
	Description     *string   `json:"description,omitempty" jsonschema:"purpose of the team"`
	Isolated        *bool     `json:"isolated,omitempty" jsonschema:"each user has a board and files of their own"`
	AllowUser       *[]string `json:"allow_user,omitempty" jsonschema:"users that may use the team (default: all)"`
	DenyUser        *[]string `json:"deny_user,omitempty" jsonschema:"users that may not"`
	AllowChannel    *[]string `json:"allow_channel,omitempty" jsonschema:"channels through which it may be used, such as stdio or http (default: all)"`
	DenyChannel     *[]string `json:"deny_channel,omitempty" jsonschema:"channels through which it may not"`
	Quiet           *[]string `json:"quiet,omitempty" jsonschema:"events without a notice to the lead: completed, failed, stale, review, progress, question, file" enum:"completed,failed,stale,review,progress,question,file"`
	Escalate        *[]string `json:"escalate,omitempty" jsonschema:"actions that members leave to the lead: claim, complete, comment, attach, ask_user"`
	EscalationMode  *string   `json:"escalation_mode,omitempty" jsonschema:"review: the lead is notified, and complete becomes review (default); reject: they are refused" enum:"review,reject"`
	LockMinutes     *int      `json:"lock_minutes,omitempty" jsonschema:"how long a member holds a task without progress (default: 30)" min:"0"`
	FollowupMinutes *int      `json:"followup_minutes,omitempty" jsonschema:"time between reminders of a question (default: 30)" min:"0"`
	FollowupMax     *int      `json:"followup_max,omitempty" jsonschema:"reminders of a question (default: no limit)" min:"0"`
}

// replace sets to to the value of a change.
func replace[T any](to *T, change *T) {
	if change != nil {
		*to = *change
	}
}

func (c changes) apply(t *Team) error {
	if c.Escalate != nil {
		for _, action := range *c.Escalate {
			if !slices.Contains(EscalationActions(), action) {
				return room.Mistake("--escalate is %q, it must be one of %s", action,
					strings.Join(EscalationActions(), ", "))
			}
		}
	}
	replace(&t.Description, c.Description)
	replace(&t.Settings.Isolated, c.Isolated)
	replace(&t.Settings.AllowUsers, c.AllowUser)
	replace(&t.Settings.DenyUsers, c.DenyUser)
	replace(&t.Settings.AllowChannels, c.AllowChannel)
	replace(&t.Settings.DenyChannels, c.DenyChannel)
	replace(&t.Settings.Quiet, c.Quiet)
	replace(&t.Settings.EscalationActions, c.Escalate)
	replace(&t.Settings.EscalationMode, c.EscalationMode)
	replace(&t.Settings.LockMinutes, c.LockMinutes)
	replace(&t.Settings.FollowupMinutes, c.FollowupMinutes)
	replace(&t.Settings.FollowupMax, c.FollowupMax)
	return nil
}

type createTeamArgs struct {
	Name   string   `json:"name" jsonschema:"name of the team"`
	Lead   string   `json:"lead" jsonschema:"the agent that creates tasks and decides"`
	Member []string `json:"member,omitempty" jsonschema:"an agent that does tasks; may be repeated"`
	changes
}

func (o *operator) create(ctx context.Context, a createTeamArgs) (tool.Result, error) {
	team := Team{Name: a.Name, CreatedBy: room.By(ctx).Name}
	if err := a.apply(&team); err != nil {
		return tool.Result{}, err
	}
	if err := o.Create(ctx, team, a.Lead); err != nil {
		return tool.Result{}, err
	}
	for _, agent := range a.Member {
		if err := o.Add(ctx, team.Name, agent, Member); err != nil {
			return tool.Result{}, err
		}
	}
	return tool.Textf("team %s was created; %s leads %s", team.Name, a.Lead, text.Plural(len(a.Member), "member")), nil
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	all, err := o.Overview(ctx, "")
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"TEAM", "STATUS", "LEAD", "MEMBERS", "OPEN TASKS"}
	const none = "There is no team; mcp-tools teams create creates one."
	return room.Rows(all, none, head, func(team Summary) []string {
		lead := ""
		if len(team.Members) > 0 && team.Members[0].Role == Lead {
			lead = team.Members[0].Agent
		}
		var open int64
		for status, n := range team.Tasks {
			if status != Completed && status != Cancelled && status != Failed {
				open += n
			}
		}
		return []string{team.Name, team.Status, lead, fmt.Sprint(len(team.Members)), fmt.Sprint(open)}
	}), nil
}

type teamArgs struct {
	Name string `json:"name" jsonschema:"name of the team"`
}

func (o *operator) show(ctx context.Context, a teamArgs) (tool.Result, error) {
	all, err := o.Overview(ctx, a.Name)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(all[0].sheet()).With(all[0]), nil
}

// sheet describes a team.
func (team Summary) sheet() string {
	lines := []string{fmt.Sprintf("%s, %s", team.Name, team.Status)}
	if team.Description != "" {
		lines = append(lines, team.Description)
	}
	lines = append(lines, team.Settings.lines()...)
	var counts []string
	for status, n := range team.Tasks {
		counts = append(counts, fmt.Sprintf("%d %s", n, status))
	}
	slices.Sort(counts)
	if len(counts) == 0 {
		counts = []string{"none"}
	}
	rows := [][]string{{"AGENT", "ROLE", "LAST SEEN"}}
	for _, m := range team.Members {
		seen := "never"
		if m.Seen > 0 {
			seen = store.FromMillis(m.Seen).Format(time.DateTime)
		}
		rows = append(rows, []string{m.Agent, string(m.Role), seen})
	}
	return strings.Join(append(lines, "tasks: "+strings.Join(counts, ", ")), "\n") + "\n" + terminal.Table(rows)
}

// lines returns the settings that are not the defaults.
func (s Settings) lines() (lines []string) {
	for _, one := range []struct {
		name   string
		values []string
	}{
		{"allowed users", s.AllowUsers}, {"denied users", s.DenyUsers}, {"allowed channels", s.AllowChannels},
		{"denied channels", s.DenyChannels}, {"events without a notice to the lead", s.Quiet},
		{"left to the lead", s.EscalationActions},
	} {
		if len(one.values) > 0 {
			lines = append(lines, one.name+": "+strings.Join(one.values, ", "))
		}
	}
	if s.Isolated {
		lines = append(lines, "each user has a board of their own")
	}
	for _, one := range []struct {
		name  string
		value int
	}{
		{"minutes of a lock", s.LockMinutes}, {"minutes between reminders", s.FollowupMinutes},
		{"reminders", s.FollowupMax},
	} {
		if one.value > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", one.name, one.value))
		}
	}
	return lines
}

type addArgs struct {
	Name  string `json:"name" jsonschema:"name of the team"`
	Agent string `json:"agent" jsonschema:"the agent"`
	Role  string `json:"role,omitempty" jsonschema:"lead, member or reviewer" enum:"lead,member,reviewer" default:"member"`
}

func (o *operator) add(ctx context.Context, a addArgs) (tool.Result, error) {
	return tool.Textf("%s is %s of %s", a.Agent, a.Role, a.Name), o.Add(ctx, a.Name, a.Agent, Role(a.Role))
}

type memberArgs struct {
	Name  string `json:"name" jsonschema:"name of the team"`
	Agent string `json:"agent" jsonschema:"the agent"`
}

func (o *operator) remove(ctx context.Context, a memberArgs) (tool.Result, error) {
	return tool.Textf("%s was removed from %s", a.Agent, a.Name), o.Remove(ctx, a.Name, a.Agent)
}

type setArgs struct {
	Name string `json:"name" jsonschema:"name of the team"`
	changes
}

func (o *operator) set(ctx context.Context, a setArgs) (tool.Result, error) {
	return tool.Textf("%s was changed", a.Name), o.Set(ctx, a.Name, a.apply)
}

func (o *operator) archive(ctx context.Context, a teamArgs) (tool.Result, error) {
	return tool.Textf("%s was archived", a.Name), o.Archive(ctx, a.Name)
}
