package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to see and drain the machines of sandboxes. launchers returns the
// launchers in the settings.
func Room(launchers func() ([]sandbox.Launcher, error)) *room.Room {
	o := &operator{launchers: launchers}
	hosts := func(ctx context.Context) ([]string, error) {
		list, err := o.states(ctx)
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names, err
	}
	return &room.Room{
		Name: "sandbox", Title: "The machines that commands of agents run on",
		Doc: `Sandboxes run on the machine of the server, or on others: Docker engines of
sandbox.docker.hosts, and a Kubernetes cluster.`,
		Open: func(h *room.Host) error { o.store = h.Store; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "hosts", Title: "List the machines of sandboxes", Risk: tool.Reads, Where: room.Operator,
				Doc: `hosts asks each machine of the settings how many sandboxes it has, of all
servers, and how much memory is left. The memory that a sandbox may use counts as
used. The next sandbox goes where most is left.`,
				Example: "  mcp-tools sandbox hosts",
			}, o.hosts),
			room.Do(room.Verb{
				Name: "list", Title: "List the sandboxes on other machines", Risk: tool.Reads, Where: room.Operator,
				Doc: `list shows the sandboxes on other machines, of all servers with the same store.
The sandbox of a server that was killed is listed for up to a minute.`,
				Example: "  mcp-tools sandbox list",
			}, o.list),
			room.Do(room.Verb{
				Name: "drain", Title: "Start no more sandboxes on a machine", Risk: tool.Writes, Where: room.Operator,
				Args: []string{"host"}, Complete: hosts,
				Doc: `drain takes a machine out of service, for all servers with the same store and
within five seconds. Commands that run there go on. A session moves to another
machine with its next command; its processes in the background stay until they end.
When mcp-tools sandbox hosts shows no sandbox any more, the machine can be stopped.`,
				Example: "  mcp-tools sandbox drain tcp://10.0.0.7:2376",
			}, o.drain),
			room.Do(room.Verb{
				Name: "undrain", Title: "Start sandboxes on a drained machine again", Risk: tool.Writes, Where: room.Operator,
				Args: []string{"host"}, Complete: hosts,
				Doc:     "undrain puts a machine that was drained back into service.",
				Example: "  mcp-tools sandbox undrain tcp://10.0.0.7:2376",
			}, o.undrain),
		},
	}
}

// operator has the verbs.
type operator struct {
	store     *store.Store
	launchers func() ([]sandbox.Launcher, error)
}

// states asks the machines of the settings.
func (o *operator) states(ctx context.Context) (all []sandbox.HostState, err error) {
	launchers, err := o.launchers()
	if err != nil {
		return nil, err
	}
	for _, l := range launchers {
		if fleet, ok := l.(sandbox.Fleet); ok {
			all = append(all, fleet.Hosts(ctx)...)
		}
		if c, ok := l.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return all, err
}

// A hostRow is a machine as the verb hosts shows it.
type hostRow struct {
	sandbox.HostState
	DrainedBy string `json:"drained_by,omitempty"`
}

func (o *operator) hosts(ctx context.Context, _ struct{}) (tool.Result, error) {
	states, err := o.states(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	drained, err := DrainedBy(ctx, o.store)
	if err != nil {
		return tool.Result{}, err
	}
	var rows []hostRow
	for _, s := range states {
		rows = append(rows, hostRow{s, drained[s.Name]})
	}
	return room.Rows(rows, "No sandboxes run on other machines: sandbox.docker and sandbox.kubernetes are not set.",
		[]string{"HOST", "TIER", "STATE", "SANDBOXES", "FREE MEMORY"}, func(r hostRow) []string {
			state, count, free := "ready", strconv.Itoa(r.Sandboxes), ""
			if r.DrainedBy != "" {
				state = "drained by " + r.DrainedBy
			}
			if r.Problem != "" {
				state, count = terminal.Short(terminal.OneLine(r.Problem), 100), ""
			}
			if r.Free != 0 {
				free = fmt.Sprintf("%d MiB", r.Free>>20)
			}
			return []string{r.Name, r.Tier, state, count, free}
		}), nil
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	all, err := List(ctx, o.store)
	return room.Rows(all, "No sandbox is open on another machine.", []string{"HOST", "TIER", "OWNER", "SESSION", "SERVER", "SINCE"},
		func(p Place) []string {
			return []string{p.Host, p.Tier, p.Owner, cmp.Or(p.Session, "-"), p.Replica, p.Began.Local().Format("2006-01-02 15:04:05")}
		}), err
}

type hostArgs struct {
	Host string `json:"host" jsonschema:"machine, as mcp-tools sandbox hosts shows it"`
}

// known returns an error if no machine of the settings has a name.
func (o *operator) known(ctx context.Context, host string) error {
	states, err := o.states(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(states, func(s sandbox.HostState) bool { return s.Name == host }) {
		return nil
	}
	var names []string
	for _, s := range states {
		names = append(names, s.Name)
	}
	return tool.Errorf(tool.NotFound, "no machine of the settings is called %q", host).
		Try("use one of: %s", cmp.Or(strings.Join(names, ", "), "none is set"))
}

func (o *operator) drain(ctx context.Context, a hostArgs) (tool.Result, error) {
	if err := o.known(ctx, a.Host); err != nil {
		return tool.Result{}, err
	}
	if err := Drain(ctx, o.store, a.Host, room.By(ctx).Name); err != nil {
		return tool.Result{}, err
	}
	return o.hosts(ctx, struct{}{})
}

func (o *operator) undrain(ctx context.Context, a hostArgs) (tool.Result, error) {
	was, err := Undrain(ctx, o.store, a.Host) // also one that the settings do not name any more
	if err == nil && !was {
		err = tool.Errorf(tool.NotFound, "the machine %q is not drained", a.Host).Try("see mcp-tools sandbox hosts")
	}
	if err != nil {
		return tool.Result{}, err
	}
	return o.hosts(ctx, struct{}{})
}
