package desk

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// frameGap is the time between two pictures of a browser.
const frameGap = 400 * time.Millisecond

// Verbs returns the verbs about browsers that run. data returns the data directory, when a verb is called.
func Verbs(data func() (string, error)) []room.Verb {
	d := desk{func() (string, error) {
		dir, err := data()
		return filepath.Join(dir, Dir), err
	}}
	return []room.Verb{
		room.Do(room.Verb{
			Name: "list", Title: "List the browsers that run", Risk: tool.Reads, Where: room.Approver,
			Doc:     `list prints the browsers of all servers on the data directory. The console shows them, and takes them over.`,
			Example: "  mcp-tools browser list",
		}, d.list),
		room.Do(room.Verb{
			Name: "watch", Title: "Show what a browser shows", Args: []string{"id"}, Risk: tool.Reads, Where: room.Approver, Streams: true,
			Doc: `watch emits a picture (JPEG) of the browser when it has changed, for programs. People use the console.`,
		}, d.watch),
		room.Do(room.Verb{
			Name: "take", Title: "Take a browser over from its agent", Args: []string{"id"}, Risk: tool.Writes, Where: room.Approver,
			Doc: `take gives the browser to you, when the agent's request has ended. Until give, the agent is told that a person
uses it. After two minutes without a look or an input the agent has it back.`,
		}, d.take),
		room.Do(room.Verb{
			Name: "input", Title: "Click, type or press a key in a browser that you have", Args: []string{"id"}, Risk: tool.Writes,
			Where: room.Approver, Hidden: []string{"text"},
			Doc: `input clicks at --x and --y (pixels of the picture), types --text, then presses --key, such as Enter. The audit log
does not have the text, and results of the agent do not show it.`,
		}, d.input),
		room.Do(room.Verb{
			Name: "give", Title: "Give a browser back to its agent", Args: []string{"id"}, Risk: tool.Writes, Where: room.Approver,
		}, d.give),
	}
}

// A desk finds the browsers of a data directory.
type desk struct{ dir func() (string, error) }

// all returns the browsers that the person may see, and for each the socket of its server.
func (d desk) all(ctx context.Context) (list []browser.Running, at map[string]string, err error) {
	dir, err := d.dir()
	if err != nil {
		return nil, nil, err
	}
	paths, err := servers(dir)
	at = map[string]string{}
	who := room.By(ctx)
	for _, path := range paths {
		a, failed := ask(ctx, path, "list", asked{})
		if failed != nil {
			continue // it ends just now
		}
		for _, one := range a.Running {
			if (who.Agent == "" || who.Agent == one.Agent) && (who.User == "" || who.User == one.User) {
				list, at[one.ID] = append(list, one), path
			}
		}
	}
	return list, at, err
}

// on asks the server with a browser.
func (d desk) on(ctx context.Context, id, what string, in browser.Input) (answer, error) {
	_, at, err := d.all(ctx)
	if err != nil {
		return answer{}, err
	}
	path, ok := at[id]
	if !ok {
		return answer{}, browser.NoBrowser(id)
	}
	return ask(ctx, path, what, asked{ID: id, By: room.By(ctx).Name, Input: in})
}

func (d desk) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, _, err := d.all(ctx)
	return room.Rows(list, "No browser runs.", []string{"ID", "AGENT", "USER", "PROFILE", "PAGE", "USED", "PERSON"},
		func(one browser.Running) []string {
			return []string{one.ID, one.Agent, one.User, one.Profile, terminal.Short(one.URL, 80),
				one.Used.Local().Format(time.TimeOnly), one.Person}
		}), err
}

type one struct {
	ID string `json:"id" jsonschema:"id of the browser, from browser list"`
}

// A frame is what a browser shows.
type frame struct {
	browser.Running
	Picture []byte `json:"picture"`
}

func (d desk) watch(ctx context.Context, a one) (tool.Result, error) {
	var last []byte
	var state browser.Running
	for {
		got, err := d.on(ctx, a.ID, "look", browser.Input{})
		if known := (*tool.Error)(nil); errors.As(err, &known) && known.Kind == tool.Unavailable && last != nil {
			err = nil // a page that is just changing
		}
		if err != nil {
			return tool.Result{}, err
		}
		if len(got.Running) == 1 {
			now := got.Running[0]
			now.Used = state.Used // it alone is no change
			if changed := !bytes.Equal(got.Picture, last) || now != state; changed && len(got.Picture) > 0 {
				last, state = got.Picture, now
				if err := room.Emit(ctx, tool.Textf("%d bytes: %s", len(last), now.URL).With(frame{now, last})); err != nil {
					return tool.Result{}, err
				}
			}
		}
		if err := clock.Sleep(ctx, frameGap); err != nil {
			return tool.Result{}, err
		}
	}
}

func (d desk) take(ctx context.Context, a one) (tool.Result, error) {
	_, err := d.on(ctx, a.ID, "take", browser.Input{})
	return room.Said(a, "You have the browser. Give it back when you are done."), err
}

func (d desk) give(ctx context.Context, a one) (tool.Result, error) {
	_, err := d.on(ctx, a.ID, "give", browser.Input{})
	return room.Said(a, "The agent has the browser again."), err
}

type inputArgs struct {
	ID   string   `json:"id" jsonschema:"id of the browser, from browser list"`
	X    *float64 `json:"x,omitempty" jsonschema:"where to click, in pixels from the left of the picture"`
	Y    *float64 `json:"y,omitempty" jsonschema:"where to click, in pixels from the top of the picture"`
	Text string   `json:"text,omitempty" jsonschema:"text to type where the cursor is"`
	Key  string   `json:"key,omitempty" jsonschema:"key to press, such as Enter, Tab or Control+a" maxlen:"40"`
}

func (d desk) input(ctx context.Context, a inputArgs) (tool.Result, error) {
	in := browser.Input{Text: a.Text, Key: a.Key, Click: a.X != nil && a.Y != nil}
	if in.Click {
		in.X, in.Y = *a.X, *a.Y
	}
	if in == (browser.Input{}) {
		return tool.Result{}, room.Mistake("there is nothing to do: give x and y, a text, or a key")
	}
	_, err := d.on(ctx, a.ID, "input", in)
	return room.Said(map[string]string{"id": a.ID}, "Done."), err
}
