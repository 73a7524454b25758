package room_test

import (
	"context"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// pauses is a noun of the program. Its fields are set when the room is opened.
type pauses struct{ agents []string }

type pauseArgs struct {
	Agent  string `json:"agent" jsonschema:"agent to pause"`
	Reason string `json:"reason,omitempty" jsonschema:"text for the agent"`
}

func (p *pauses) add(ctx context.Context, args pauseArgs) (tool.Result, error) {
	if args.Agent == "" {
		return tool.Result{}, room.Mistake("the agent has no name")
	}
	p.agents = append(p.agents, args.Agent)
	return room.Said(args, "%s has paused %s.", room.By(ctx).Name, args.Agent), nil
}

// Do makes a verb of a method with typed arguments. The command line calls it as
// "mcp-tools pauses add AGENT --reason TEXT", since Args names the parameters without a flag.
func ExampleDo() {
	p := new(pauses)
	r := &room.Room{
		Name: "pauses", Title: "Pause agents",
		Open: func(*room.Host) error { p.agents = nil; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{Name: "add", Title: "Pause an agent", Risk: tool.Writes, Args: []string{"agent"},
				Where: room.Operator}, p.add),
		},
	}
	if err := room.Faults([]*room.Room{r}); err != nil {
		fmt.Println(err)
		return
	}
	add, _ := r.Verb("add")
	ctx := room.As(context.Background(), room.Person{Name: "ann", Channel: "cli"})
	plan, err := r.Prepare(ctx, add, &room.Host{}, []byte(`{"agent": "researcher"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Run(ctx)
	fmt.Println(result.Text(), err)
	// Output: ann has paused researcher. <nil>
}
