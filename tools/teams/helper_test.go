package teams

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A crew is a team with a lead, two members and a reviewer.
type crew struct {
	*Teams
	t     testing.TB
	store *store.Store
}

// each runs a test with a crew on each engine.
func each(t *testing.T, f func(t *testing.T, w crew)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newCrew(t, s, Options{}, Settings{})) })
}

func newCrew(t testing.TB, s *store.Store, o Options, settings Settings) crew {
	t.Helper()
	o.Store = s
	w := crew{New(o), t, s}
	w.must(w.Teams.Create(t.Context(), Team{Name: "crew", Settings: settings, CreatedBy: "test"}, "lead"))
	for agent, role := range map[string]Role{"ann": Member, "bob": Member, "rev": Reviewer} {
		w.must(w.Add(t.Context(), "crew", agent, role))
	}
	return w
}

func (w crew) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// as returns the context of a call of an agent, which is one session.
func (w crew) as(agent string) context.Context {
	return callBy(w.t, tool.Caller{Agent: agent, User: "u"})
}

func callBy(t testing.TB, c tool.Caller) context.Context {
	if c.Channel == "" {
		c.Channel = "stdio"
	}
	if c.Session == "" {
		c.Session = "session of " + c.Agent
	}
	return tool.With(t.Context(), &tool.Running{Caller: c})
}

// call calls a tool with arguments as JSON.
func (w crew) call(ctx context.Context, name, args string) (string, error) {
	w.t.Helper()
	set, err := tool.NewSet(Tools(w.Teams)...)
	w.must(err)
	found, ok := set.Lookup(name)
	if !ok {
		w.t.Fatalf("there is no tool %q", name)
	}
	bound, err := found.Bind(json.RawMessage(args), tool.DefaultLimits())
	w.must(err)
	res, err := bound.Run(ctx)
	if err != nil {
		return "", err
	}
	return res.Text(), nil
}

// tasks calls team_tasks and wants it to succeed.
func (w crew) tasks(agent, args string) string {
	w.t.Helper()
	text, err := w.call(w.as(agent), "team_tasks", args)
	if err != nil {
		w.t.Fatalf("%s: %s: %v", agent, args, err)
	}
	return text
}

// refused calls team_tasks and wants an error with a text.
func (w crew) refused(agent, args, want string) {
	w.t.Helper()
	text, err := w.call(w.as(agent), "team_tasks", args)
	if err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("%s: %s gave %q, %v; want an error with %q", agent, args, text, err, want)
	}
}

// create creates a task with more arguments, and returns its id.
func (w crew) create(subject, more string) string {
	w.t.Helper()
	_, rest, _ := strings.Cut(w.tasks("lead", `{"action":"create","subject":"`+subject+`"`+more+`}`), "(id=")
	id, _, ok := strings.Cut(rest, ",")
	if !ok {
		w.t.Fatalf("no id in %q", rest)
	}
	return id
}

// do calls an action on a task.
func (w crew) do(agent, action, id, more string) string {
	w.t.Helper()
	return w.tasks(agent, `{"action":"`+action+`","task_id":"`+id+`"`+more+`}`)
}

func (w crew) refuses(agent, action, id, more, want string) {
	w.t.Helper()
	w.refused(agent, `{"action":"`+action+`","task_id":"`+id+`"`+more+`}`, want)
}

// state wants a task to be in a state.
func (w crew) state(id string, want Status) Task {
	w.t.Helper()
	var k Task
	w.must(w.store.View(w.t.Context(), func(x *store.Tx) (err error) {
		k, err = scanOne(x, "SELECT "+taskColumns+" FROM team_task WHERE id = $1", id)
		return err
	}))
	if k.Status != want {
		w.t.Errorf("%s is %s, want %s", k.Subject, k.Status, want)
	}
	return k
}

// news returns the events that an agent gets, one text after the other.
func (w crew) news(agent string) string {
	w.t.Helper()
	box := inbox.New(inbox.Options{Store: w.store})
	c := tool.CallerFrom(w.as(agent))
	events, err := box.Take(w.t.Context(), c, "call", nil)
	w.must(err)
	box.Sent(w.t.Context(), c, "call", true)
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, "\n")
}

// later moves a time of a task into the past.
func (w crew) later(id, set string) {
	w.t.Helper()
	w.must(w.store.Update(w.t.Context(), func(x *store.Tx) error {
		_, err := x.Exec("UPDATE team_task SET "+set+" WHERE id = $1", id)
		return err
	}))
}

func wants(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
