package profiles

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the room of browsers: the verbs about profiles, and more.
func Room(more ...room.Verb) *room.Room {
	p := &Profiles{}
	return &room.Room{
		Name: "browser", Title: "Manage the browsers of agents and the profiles with their logins",
		Doc: `browser lists and removes the profiles in which browsers keep logins, for each agent
and user. They are encrypted with the key of the vault. docs/web.md describes them.`,
		Open: func(h *room.Host) error {
			p.Dir = func() (string, error) {
				data, err := h.Data()
				return filepath.Join(data, Dir), err
			}
			return nil
		},
		Verbs: append([]room.Verb{
			room.Do(room.Verb{
				Name: "profiles", Title: "List the profiles of browsers", Risk: tool.Reads, Where: room.Operator,
				Doc:     `profiles prints the profiles with their owners, and where each is open. It needs no key, and shows no cookie.`,
				Example: "  mcp-tools browser profiles\n  mcp-tools browser profiles --output json",
			}, p.list),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a profile with its logins", Args: []string{"name"}, Risk: tool.Destroys,
				Where: room.Operator, Owned: true,
				Doc: `remove deletes a profile of the agent and the user. It needs no key. It fails while a
browser has the profile open. The sites are not told: to end the logins themselves, log out there.`,
				Example: "  mcp-tools browser remove work\n  mcp-tools browser remove work --agent helper --user ann",
			}, p.remove),
		}, more...),
	}
}

func (p *Profiles) list(context.Context, struct{}) (tool.Result, error) {
	all, err := p.List()
	return room.Rows(all, "There are no profiles; the browser makes one when an agent opens a page with it.",
		[]string{"AGENT", "USER", "NAME", "SAVED", "BYTES", "OPEN IN"}, func(one Profile) []string {
			open := ""
			if one.Holder != nil {
				open = one.Holder.String()
			}
			return []string{one.Agent, one.User, one.Name, terminal.Date(one.Saved.In(time.Local)),
				strconv.FormatInt(one.Size, 10), open}
		}), err
}

type removeArgs struct {
	Name  string `json:"name" jsonschema:"name of the profile"`
	Agent string `json:"agent,omitempty" jsonschema:"agent that has the profile"`
	User  string `json:"user,omitempty" jsonschema:"user who has the profile"`
}

func (p *Profiles) remove(_ context.Context, a removeArgs) (tool.Result, error) {
	k := Key{Agent: a.Agent, User: a.User, Name: a.Name}
	if err := p.Remove(k); err != nil {
		return tool.Result{}, err
	}
	return room.Said(k, "The profile %s was removed, with its logins.", a.Name), nil
}
