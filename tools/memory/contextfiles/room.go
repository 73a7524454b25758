package contextfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Room returns the operators' verbs for context files. open returns the context files of a
// host.
func Room(open func(*room.Host) (*Files, error)) *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "agents", Title: "Manage the context files of agents",
		Doc: `agents manages the context files of agents: SOUL.md, AGENTS.md, TOOLS.md,
IDENTITY.md, USER.md, USER_PREDEFINED.md and BOOTSTRAP.md. Changes apply to all users of an
agent who have no copies of their own; with --user, to the copies of that user.`,
		Open: func(h *room.Host) (err error) { o.Files, err = open(h); return err },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the agents that have context files or settings", Risk: tool.Reads,
				Where: room.Operator,
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "List the context files of an agent, or print one", Args: []string{"agent", "name"},
				Risk: tool.Reads, Where: room.Operator,
				Example: `  mcp-tools agents show helper
  mcp-tools agents show helper USER.md --user ann`,
			}, o.show),
			room.Do(room.Verb{
				Name: "set", Title: "Set a context file to the content of FILE, or of stdin for -",
				Args: []string{"agent", "name", "file"}, Files: []string{"file"}, Risk: tool.Writes,
				Example: `  mcp-tools agents set helper SOUL.md soul.md`,
			}, o.set),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a copy of a context file", Args: []string{"agent", "name"}, Risk: tool.Writes,
				Where: room.Operator,
			}, o.remove),
			room.Do(room.Verb{
				Name: "undo", Title: "Restore the previous version of a context file", Args: []string{"agent", "name"},
				Risk: tool.Writes,
			}, o.undo),
			room.Do(room.Verb{
				Name: "import", Title: "Set the context files that a directory contains", Args: []string{"agent", "dir"},
				Risk: tool.Writes,
			}, o.importDir),
			room.Do(room.Verb{
				Name: "export", Title: "Write the context files of an agent to a directory", Args: []string{"agent", "dir"},
				Risk: tool.Writes,
			}, o.export),
		},
	}
}

// operator has the verbs of context files.
type operator struct{ *Files }

// noUser is the value of --user for the copies that all users of an agent have.
const noUser = "-"

// of names the copies that a verb is about.
type of struct {
	Agent string `json:"agent" jsonschema:"the agent"`
	User  string `json:"user,omitempty" jsonschema:"the user whose copies it is about (default: those for all users)"`
}

func (w of) owner() tool.Owner {
	if w.User == noUser {
		return tool.Owner{Agent: w.Agent}
	}
	return tool.Owner{Agent: w.Agent, User: w.User}
}

// by returns the author of the changes of a verb.
func by(ctx context.Context) memory.Author { return memory.Author{Name: room.By(ctx).Name} }

// An overview is an agent in the list.
type overview struct {
	Agent, Kind      string
	Documents, Users int
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	kept, err := o.Stored(ctx, "")
	if err != nil {
		return tool.Result{}, err
	}
	var lines []*overview
	byName := map[string]*overview{}
	at := func(name string) *overview {
		if byName[name] == nil {
			byName[name] = &overview{Agent: name, Kind: "open"}
			lines = append(lines, byName[name])
		}
		return byName[name]
	}
	for _, agent := range o.agents {
		if l := at(agent.Name); agent.Predefined {
			l.Kind = "predefined"
		}
	}
	last := tool.Owner{}
	for _, e := range kept { // ordered by agent, then by user
		l := at(e.Owner.Agent)
		if l.Documents++; e.Owner.User != "" && e.Owner != last {
			l.Users++
		}
		last = e.Owner
	}
	const none = "No agent has context files; mcp-tools agents set creates one."
	return room.Rows(lines, none, []string{"AGENT", "KIND", "DOCUMENTS", "USERS"}, func(l *overview) []string {
		return []string{l.Agent, l.Kind, fmt.Sprint(l.Documents), fmt.Sprint(l.Users)}
	}), nil
}

type showArgs struct {
	of
	Name string `json:"name,omitempty" jsonschema:"the context file to print"`
}

func (o *operator) show(ctx context.Context, a showArgs) (tool.Result, error) {
	if a.Name == "" {
		return o.showCopies(ctx, a.owner())
	}
	caller := tool.Caller{Agent: a.Agent, User: a.owner().User}
	d, err := o.Get(tool.With(ctx, &tool.Running{Caller: caller}), a.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, tool.Errorf(tool.NotFound, "agent %q has no context file %s", a.Agent, a.Name)
	}
	return tool.Text(d.Text).With(d), err
}

// A copyLine is one copy of a context file in a list.
type copyLine struct {
	Name, Level, User string
	Bytes             int64
	Changed           time.Time
}

func (o *operator) showCopies(ctx context.Context, owner tool.Owner) (tool.Result, error) {
	kept, err := o.Stored(ctx, owner.Agent)
	if err != nil {
		return tool.Result{}, err
	}
	laid, err := o.Directory(owner.Agent)
	if err != nil {
		return tool.Result{}, err
	}
	var lines []copyLine
	for _, d := range laid {
		lines = append(lines, copyLine{d.Name, string(d.Level), "", int64(len(d.Text)), d.Modified})
	}
	for _, e := range kept {
		level := AgentLevel
		if e.Owner.User != "" {
			level = UserLevel
		}
		if owner.User == "" || e.Owner.User == owner.User {
			lines = append(lines, copyLine{e.Path, string(level), e.Owner.User, e.Size, e.Updated})
		}
	}
	return room.Rows(lines, "", []string{"NAME", "LEVEL", "USER", "BYTES", "CHANGED"}, func(l copyLine) []string {
		return []string{l.Name, l.Level, l.User, fmt.Sprint(l.Bytes), l.Changed.Format(time.DateTime)}
	}), nil
}

type setArgs struct {
	nameArgs
	File string `json:"file" jsonschema:"the new content"`
}

func (o *operator) set(ctx context.Context, a setArgs) (tool.Result, error) {
	return tool.Textf("%s was written", a.Name), o.Set(ctx, a.owner(), by(ctx), a.Name, a.File)
}

type nameArgs struct {
	of
	Name string `json:"name" jsonschema:"the context file, such as SOUL.md"`
}

func (o *operator) remove(ctx context.Context, a nameArgs) (tool.Result, error) {
	found, err := o.Drop(ctx, a.owner(), by(ctx), a.Name)
	if err == nil && !found {
		err = tool.Errorf(tool.NotFound, "the store has no copy of %s", a.Name).
			Try("mcp-tools agents show %s lists the context files", a.Agent)
	}
	return tool.Textf("%s was removed; mcp-tools agents undo restores it", a.Name), err
}

func (o *operator) undo(ctx context.Context, a nameArgs) (tool.Result, error) {
	found, err := o.Undo(ctx, a.owner(), by(ctx), a.Name)
	if err == nil && !found {
		err = tool.Errorf(tool.NotFound, "there is no previous version of %s", a.Name)
	}
	return tool.Textf("the previous version of %s was restored", a.Name), err
}

type importArgs struct {
	of
	Dir string `json:"dir" jsonschema:"the directory"`
}

func (o *operator) importDir(ctx context.Context, a importArgs) (tool.Result, error) {
	list, err := New(nil, []Agent{{Name: a.Agent, Dir: a.Dir}}).Directory(a.Agent)
	if err != nil {
		return tool.Result{}, err
	}
	for _, d := range list {
		if err := o.Set(ctx, a.owner(), by(ctx), d.Name, d.Text); err != nil {
			return tool.Result{}, err
		}
	}
	return tool.Textf("%s written", text.Plural(len(list), "context file")), nil
}

type exportArgs struct {
	importArgs
	Force bool `json:"force,omitempty" jsonschema:"replace files with different content"`
}

func (o *operator) export(ctx context.Context, a exportArgs) (tool.Result, error) {
	kept, err := o.Stored(ctx, a.Agent)
	if err != nil {
		return tool.Result{}, err
	}
	n := 0
	for _, e := range kept {
		if e.Owner != a.owner() {
			continue
		}
		content, found, err := o.Copy(ctx, e.Owner, e.Path)
		if err != nil {
			return tool.Result{}, err
		}
		if !found { // removed since it was listed
			continue
		}
		if err := (memory.Dir{Path: a.Dir, Force: a.Force}).Write(e.Path, []byte(content), e.Updated); err != nil {
			return tool.Result{}, err
		}
		n++
	}
	if own, err := o.Directory(a.Agent); n == 0 && err == nil && len(own) > 0 {
		return tool.Textf("no context file written: the store has none; the files of %s are in the directory that the "+
			"settings name", a.Agent), nil
	}
	return tool.Textf("%s written to %s", text.Plural(n, "context file"), a.Dir), nil
}
