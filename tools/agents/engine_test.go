package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// hang stops a test that hangs, and measures nothing.
const hang = time.Minute

// A world is an engine with a model and two tools, and what happened in it.
type world struct {
	t      *testing.T
	store  *store.Store
	inbox  *inbox.Inbox
	model  *llmtest.Server
	engine *Engine

	mu      sync.Mutex
	calls   []Call
	revoked string
	running chan string   // gets the name of each call of change
	hold    chan struct{} // unless nil, calls of change wait for it
}

type word struct {
	Text string `json:"text,omitempty" jsonschema:"some text to use"`
}

type plain struct {
	name string
	risk tool.Risk
}

func (p plain) Spec() tool.Spec {
	return tool.Spec{Name: p.name, Group: "test", Title: p.name, Doc: "It is a test tool.", Risk: p.risk}
}

func (p plain) Do(context.Context, word) (tool.Result, error) { return tool.Text(p.name), nil }

func newWorld(t *testing.T, s *store.Store) *world {
	w := &world{
		t: t, store: s, inbox: inbox.New(inbox.Options{Store: s}), model: llmtest.New(t),
		running: make(chan string, 100),
	}
	w.engine = w.open(func(*Options) {})
	return w
}

// open makes an engine, as another process would.
func (w *world) open(change func(*Options)) *Engine {
	models := w.model.Models(w.t)
	o := Options{
		Store: w.store, Inbox: w.inbox, Models: models.Names(), Complete: models.Complete, Call: w.call, Tools: w.tools,
		Revoked: func(context.Context, tool.Grant) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.revoked, nil
		},
		Context: func(ctx context.Context) (string, error) {
			return "I am " + tool.CallerFrom(ctx).Agent + ".", nil
		},
		Scrub: func(s string) string { return strings.ReplaceAll(s, "sesame", "[REDACTED]") },
		Agents: map[string]Agent{
			"lead": {DelegateTo: []string{"*"}}, "writer": {About: "writes", Load: 1, Model: "openai/test"},
			"reader": {Load: 5},
		},
		Limits: DefaultLimits(),
	}
	change(&o)
	e := New(o)
	w.t.Cleanup(func() { _ = e.Close() })
	return e
}

func (w *world) tools(g tool.Grant) (list []tool.Tool) {
	for _, p := range []plain{{"look", tool.Reads}, {"change", tool.Writes}} {
		if g.Narrow.Tools == nil || strings.Contains(strings.Join(g.Narrow.Tools, " "), p.name) {
			list = append(list, tool.New(p))
		}
	}
	return list
}

func (w *world) call(ctx context.Context, c Call) tool.Result {
	w.mu.Lock()
	w.calls = append(w.calls, c)
	hold := w.hold
	w.mu.Unlock()
	if c.Tool == "change" {
		w.running <- string(c.Args)
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
				return tool.Failure(context.Cause(ctx))
			}
		}
	}
	return tool.Textf("%s has seen %s", c.Tool, c.Args)
}

func (w *world) made() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		names = append(names, c.Tool+string(c.Args))
	}
	return names
}

func TestACallAtTheEndOfTheTimeSaysSo(t *testing.T) {
	ctx, end := context.WithDeadlineCause(t.Context(), time.Now(), errOvertime)
	defer end()
	if got := tool.AsError(context.Cause(ctx)); got.Kind != tool.Timeout || !strings.Contains(got.What, "time of the subagent") {
		t.Errorf("%v", got)
	}
}

func caller(agent, session string) tool.Caller {
	return tool.Caller{Agent: agent, User: "ada", Channel: "stdio", Session: session, Workspace: "/w"}
}

// as returns a context of a call of c.
func (w *world) as(c tool.Caller) context.Context {
	g := tool.Grant{Caller: c, Token: "token", Within: []policy.Subject{{Agent: c.Agent}}}
	return tool.With(w.t.Context(), &tool.Running{Caller: c, Call: "call-1", Grant: func() tool.Grant { return g }})
}

// spawn calls the tool.
func (w *world) spawn(c tool.Caller, args string) (tool.Result, subagents) {
	w.t.Helper()
	call, err := tool.Prepared(spawn{follower{w.engine}}).Bind([]byte(args), tool.DefaultLimits())
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := call.Run(w.as(c))
	if err != nil {
		return tool.Failure(err), subagents{}
	}
	data, _ := res.Data.(subagents)
	return res, data
}

// end waits for the end of a subagent.
func (w *world) end(c tool.Caller, id string) kept {
	w.t.Helper()
	stop := time.After(hang)
	for {
		changed := w.store.Wait(jobs.Topic)
		k, err := w.engine.get(w.t.Context(), c, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if k.State.Final() {
			return k
		}
		select {
		case <-changed:
		case <-stop:
			w.t.Fatalf("subagent %s does not end: %+v", id, k.Job)
		}
	}
}

func (w *world) start(c tool.Caller, args string) string {
	w.t.Helper()
	res, data := w.spawn(c, args)
	if len(data.Subagents) != 1 {
		w.t.Fatalf("spawn %s: %s", args, res.Text())
	}
	return data.Subagents[0].ID
}

// told returns what the inbox of a caller has.
func (w *world) told(c tool.Caller) (texts []string) {
	w.t.Helper()
	events, err := w.inbox.Take(w.t.Context(), c, "call-"+store.NewID(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return texts
}

func want(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s: %q lacks %q", what, got, part)
		}
	}
}

func TestASubagentWorksAndTells(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.model.Next(
			llmtest.Turn{Calls: []llm.ToolCall{
				llmtest.Call("1", "look", word{"a"}), llmtest.Call("2", "look", word{"b"}),
				llmtest.Call("3", "change", word{"c"}),
			}},
			llmtest.Say("I found sesame."),
		)
		k := w.end(lead, w.start(lead, `{"task":"find it","label":"finder"}`))
		if k.State != jobs.Done || k.Result != "I found [REDACTED]." || k.Turns != 2 || k.Tokens != 30 {
			t.Errorf("it ended as %+v %+v", k.Job, k.progress)
		}
		if told := w.told(lead); len(told) != 1 {
			t.Errorf("told %q", told)
		} else {
			want(t, "the inbox", told[0], "Subagent 'finder' completed in 2 turns (id="+k.ID, "I found [REDACTED].")
		}
		if again := w.told(lead); len(again) != 0 {
			t.Errorf("told again: %q", again)
		}
		child := w.calls[0].Grant
		if c := child.Caller; c.Agent != "lead" || c.User != "ada" || c.Depth != 1 || !c.Leaf || c.Workspace != "/w" ||
			c.Session != k.ID || c.Provider != "anthropic" || child.Token != "token" || len(child.Within) != 1 ||
			w.calls[0].Parent != "call-1" || w.calls[0].Asker != lead || c.Parent != lead.Key() {
			t.Errorf("it calls as %+v", w.calls[0])
		}
		last := w.model.Requests()[1].Last().Results
		if len(last) != 3 || last[2].ID != "3" || last[2].Text != `change has seen {"text":"c"}` {
			t.Errorf("the model got %+v", last)
		}
	})
}

func TestSyncReturnsTheResultAndTheInboxDoesNot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.model.Next(llmtest.Say("```json\n{\"n\": \"x\"}\n```"), llmtest.Say(`{"n": 7}`))
		res, data := w.spawn(lead, `{"task":"count","mode":"sync",`+
			`"output_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)
		want(t, "the result", res.Text(), "Subagent 'count' completed in 2 turns", `{"n": 7}`)
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "the envelope", string(raw), `"status":"done"`, `"output_kind":"json"`, `"output":{"n":7}`)
		want(t, "the second request", w.model.Requests()[1].Last().Text, "does not fit the schema")
		if told := w.told(lead); len(told) != 0 {
			t.Errorf("told again: %q", told)
		}
		w.model.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Say("seven") })
		res, _ = w.spawn(lead, `{"task":"count","mode":"sync","output_schema":{"type":"object"}}`)
		want(t, "a result that does not fit", res.Text(), "failed", "the result does not fit output_schema", "seven")
		if !res.Failed {
			t.Error("a failed subagent is a success")
		}
		res, _ = w.spawn(lead, `{"task":"count","output_schema":{"type":7}}`)
		want(t, "a schema that is none", res.Text(), "output_schema is not a JSON Schema")
	})
}

func TestTurnsAreLimitedAndTheEndHasAReason(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.engine = w.open(func(o *Options) { o.Limits.Turns = 3 })
		n := 0
		w.model.Answer(func(r llmtest.Request) llmtest.Turn {
			if strings.Contains(r.Last().Text, "no turns left") {
				return llmtest.Say("half of it")
			}
			n++
			return llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call(fmt.Sprint(n), "look", word{})}}
		})
		k := w.end(lead, w.start(lead, `{"task":"endless"}`))
		if k.State != jobs.Failed || k.Result != "half of it" ||
			!strings.Contains(k.Reason, "it was not done after 3 turns") {
			t.Errorf("it ended as %+v", k.Job)
		}
		w.model.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Status: 400, Text: "no such thing"} })
		k = w.end(lead, w.start(lead, `{"task":"broken"}`))
		if k.State != jobs.Failed || !strings.Contains(k.Reason, "no such thing") {
			t.Errorf("it ended as %+v", k.Job)
		}
	})
}

func TestCancelFromAnotherProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.hold = make(chan struct{})
		w.model.Answer(func(llmtest.Request) llmtest.Turn {
			return llmtest.Turn{Text: "at work", Calls: []llm.ToolCall{llmtest.Call("1", "change", word{})}}
		})
		id := w.start(lead, `{"task":"wait"}`)
		<-w.running
		other := w.open(func(*Options) {})
		for name, c := range map[string]tool.Caller{"another user": {Agent: "lead", User: "eve", Session: "s2"},
			"a subagent": {Agent: "lead", User: "ada", Session: "x", Depth: 1}} {
			if res, err := other.cancel(w.as(c), c, id); tool.AsError(err) == nil {
				t.Errorf("%s cancels it: %+v", name, res)
			}
		}
		res, err := other.cancel(w.as(lead), lead, "last")
		if err != nil || res.Text() != "Task '"+id+"' cancelled." {
			t.Errorf("%s, %v", res.Text(), err)
		}
		k := w.end(lead, id)
		if k.State != jobs.Cancelled || k.Result != "at work" {
			t.Errorf("it ended as %+v", k.Job)
		}
		if told := w.told(lead); len(told) != 0 {
			t.Errorf("who cancelled it is told: %q", told)
		}
		res, _ = w.spawn(lead, `{"action":"cancel","id":"`+id+`"}`)
		want(t, "a second time", res.Text(), "not found or not running: it is cancelled")
		want(t, "the list", w.list(lead), "0 running, 0 completed, 0 failed, 1 cancelled", "[wait] wait (id="+id)
	})
}

func TestASyncSubagentEndsWithItsCall(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.hold = make(chan struct{})
		w.model.Next(llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "change", word{})}})
		ctx, cancel := context.WithCancel(w.as(lead))
		ended := make(chan error, 1)
		go func() {
			_, err := w.engine.launch(ctx, Spawn{Task: "wait"}, true, 0)
			ended <- err
		}()
		<-w.running
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
		all, err := w.engine.list(t.Context(), lead)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if k := w.end(lead, all[0].ID); k.State != jobs.Cancelled {
			t.Errorf("it ended as %+v", k.Job)
		}
	})
}

func (w *world) list(c tool.Caller) string {
	res, _ := w.spawn(c, `{"action":"list"}`)
	return res.Text()
}

func TestAnotherProcessGoesOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.hold = make(chan struct{})
		w.model.Next(
			llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "look", word{"a"})}},
			llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("2", "change", word{"b"}),
				llmtest.Call("3", "change", word{"c"})}},
		)
		id := w.start(lead, `{"task":"go on"}`)
		if got := <-w.running; got != `{"text":"b"}` {
			t.Fatalf("it changes %s", got)
		}
		if err := w.engine.Close(); err != nil {
			t.Fatal(err)
		}
		w.hold = nil
		w.engine = w.open(func(*Options) {})
		w.engine.Start()
		k := w.end(lead, id)
		if k.State != jobs.Done || k.Result != "done" || k.Attempt != 2 || k.Turns != 3 {
			t.Errorf("it ended as %+v %+v", k.Job, k.progress)
		}
		if got := fmt.Sprint(w.made()); got != `[look{"text":"a"} change{"text":"b"} change{"text":"c"}]` {
			t.Errorf("the calls were %s", got)
		}
		requests := w.model.Requests()
		results := requests[len(requests)-1].Last().Results
		if len(requests) != 3 || len(results) != 2 {
			t.Fatalf("%d requests, the last with %+v", len(requests), results)
		}
		want(t, "the call that was interrupted", results[0].Text,
			"unknown: the server was interrupted during this call")
		want(t, "the call after it", results[1].Text, "change has seen")
	})
}

func TestSteer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.hold = make(chan struct{})
		w.model.Next(llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "change", word{})}})
		id := w.start(lead, `{"task":"work"}`)
		<-w.running
		res, _ := w.spawn(lead, `{"action":"steer","id":"1","message":"be quick"}`)
		want(t, "steer", res.Text(), "gets the message before its next turn")
		close(w.hold)
		w.end(lead, id)
		last := w.model.Requests()[1].Last()
		want(t, "the model gets", last.Text, "[message from the agent that started you, not from a person]\nbe quick")
		if len(last.Results) != 1 {
			t.Errorf("the results are %+v", last.Results)
		}
		res, _ = w.spawn(lead, `{"action":"steer","id":"`+id+`","message":"more"}`)
		want(t, "steer after the end", res.Text(), "not_found: Task '"+id+"' not found or not running.")
	})
}

// TestSteerEndsARequest: a message reaches a subagent whose model does not answer.
func TestSteerEndsARequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		asked, never := make(chan bool, 2), make(chan struct{})
		defer close(never)
		w.model.Answer(func(r llmtest.Request) llmtest.Turn {
			if strings.Contains(r.Last().Text, "be quick") {
				return llmtest.Say("quick")
			}
			asked <- true
			return llmtest.Turn{Text: "slow", Wait: never}
		})
		id := w.start(lead, `{"task":"work","subagent_type":"general-purpose"}`)
		<-asked
		w.spawn(lead, `{"action":"steer","id":"1","message":"be quick"}`)
		w.end(lead, id)
		res, _ := w.spawn(lead, `{"action":"wait","id":"`+id+`"}`)
		want(t, "the result", res.Text(), "quick")
	})
}

func TestMessagesOfOtherSessionsAreAnswered(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		answers := make(chan string, 1)
		w.engine = w.open(func(o *Options) {
			o.Answer = func(_ context.Context, c tool.Caller, to inbox.Event, answer string) error {
				answers <- c.Agent + " answers " + to.Text + ": " + answer
				return nil
			}
		})
		asked := false
		w.model.Answer(func(r llmtest.Request) llmtest.Turn {
			if strings.Contains(r.Last().Text, "how far") {
				return llmtest.Say("nearly")
			}
			if asked {
				return llmtest.Say("done")
			}
			asked = true
			var key string
			if err := s.Row(t.Context(), "SELECT session FROM subagent", nil, &key); err != nil {
				t.Error(err)
			}
			if works, err := w.engine.Works(t.Context(), key); !works || err != nil {
				t.Errorf("it works: %t, %v", works, err)
			}
			to := inbox.To{Owner: tool.Owner{Agent: "lead", User: "ada"}, Session: key}
			if _, err := w.inbox.Send(t.Context(), to,
				inbox.Event{Kind: inbox.Message, From: "x", Text: "how far"}); err != nil {
				t.Error(err)
			}
			return llmtest.Say("done")
		})
		id := w.start(lead, `{"task":"work"}`)
		if k := w.end(lead, id); k.Result != "nearly" {
			t.Errorf("the result is %q", k.Result)
		}
		want(t, "the answer", <-answers, "lead answers how far: nearly")
		k, err := w.engine.get(t.Context(), lead, id)
		if err != nil {
			t.Fatal(err)
		}
		list, ok, err := w.engine.Conversation(t.Context(), k.key(id))
		if len(list) != 4 || !ok || err != nil {
			t.Errorf("the conversation is %+v, %t, %v", list, ok, err)
		} else {
			want(t, "the third message", list[2].Text, "[message from x, an agent and not a person]\nhow far")
		}
		if works, err := w.engine.Works(t.Context(), k.key(id)); works || err != nil {
			t.Errorf("it works: %t, %v", works, err)
		}
	})
}

func TestLimits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.engine = w.open(func(o *Options) {
			o.Limits.Children, o.Limits.Running, o.Limits.Tree = 2, 3, Tree{Children: 4, Tokens: 200}
		})
		blocked := make(chan struct{})
		w.model.Answer(func(r llmtest.Request) llmtest.Turn {
			return llmtest.Turn{Text: "ok", Wait: blocked, Usage: llm.Usage{Input: 100}}
		})
		refused := func(c tool.Caller, part string) {
			t.Helper()
			res, _ := w.spawn(c, `{"task":"more"}`)
			want(t, "spawn", res.Text(), part)
		}
		ids := []string{w.start(lead, `{"task":"a"}`), w.start(lead, `{"task":"b"}`)}
		refused(lead, "max children per agent reached (2/2)")
		other := caller("lead", "s2")
		third := w.start(other, `{"task":"c"}`)
		refused(other, "max concurrent subagents reached (3/3)")
		refused(tool.Caller{Agent: "lead", Session: ids[0], Depth: 1}, "spawn depth limit reached (1/1)")
		refused(caller("lead", "s1"), "max concurrent")
		close(blocked)
		for _, id := range ids {
			w.end(lead, id)
		}
		w.end(other, third)
		refused(lead, "have used up their limit for a day: 200 tokens of at most 200")
		w.engine = w.open(func(o *Options) { o.Limits.Tree = Tree{Children: 2} })
		refused(lead, "limit for a day: 2 subagents of at most 2")
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("UPDATE subagent_tree SET since = since - $1", day.Milliseconds())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		w.end(lead, w.start(lead, `{"task":"tomorrow"}`))
	})
}

func TestDelegate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		blocked := make(chan struct{})
		w.model.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Text: "ok", Wait: blocked} })
		do := func(c tool.Caller, args string) string {
			t.Helper()
			call, err := tool.Prepared(delegate{follower{w.engine}}).Bind([]byte(args), tool.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			res, err := call.Run(w.as(c))
			if err != nil {
				return err.Error()
			}
			return res.Text()
		}
		want(t, "accepted", do(lead, `{"agent_key":"writer","task":"write"}`), "accepted")
		want(t, "too many", do(lead, `{"agent":"writer","task":"write"}`),
			"Agent at capacity (1/1). Try a different agent or handle it yourself.")
		want(t, "no link", do(caller("reader", "s1"), `{"agent":"writer","task":"write"}`),
			`agent "reader" may not delegate to "writer"`)
		want(t, "no such agent", do(lead, `{"agent":"nobody","task":"write"}`), "it may delegate to reader, writer")
		res, err := w.engine.targets(w.t.Context(), lead)
		if err != nil || res.Text() != "- reader (0/5 busy)\n- writer (1/1 busy): writes" {
			t.Errorf("the agents are %q, %v", res.Text(), err)
		}
		close(blocked)
		want(t, "the result", do(lead, `{"action":"await_sessions"}`), "Subagent 'write' completed")
		request := w.model.Requests()[0]
		want(t, "the system prompt", request.System, `You work as the agent "writer".`, "I am writer.")
		if request.Kind != llm.OpenAI {
			t.Errorf("the model of the agent is %s", request.Kind)
		}
	})
}

func TestPowersEndWithTheToken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.model.Answer(func(llmtest.Request) llmtest.Turn {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.revoked = "was revoked"
			return llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "change", word{})}}
		})
		k := w.end(lead, w.start(lead, `{"task":"go"}`))
		if k.State != jobs.Failed || !strings.Contains(k.Reason,
			"the token of the agent that started the subagent was revoked") {
			t.Errorf("it ended as %+v", k.Job)
		}
		if made := w.made(); len(made) != 0 {
			t.Errorf("it called %v", made)
		}
	})
}

func TestToolsAreNarrowed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.end(lead, w.start(lead, `{"task":"go","tools":["look","spawn","nonsense"]}`))
		if tools := w.model.Requests()[0].Tools; len(tools) != 1 || tools[0].Name != "look" {
			t.Errorf("the model has %+v", tools)
		}
		res, _ := w.spawn(lead, `{"task":"go","tools":["nonsense"]}`)
		want(t, "tools that it cannot have", res.Text(),
			"cannot have any of the tools nonsense; it can have look, change")
	})
}

func TestSubagentsOfASubagentEndWithIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.engine = w.open(func(o *Options) { o.Limits.Depth = 2 })
		started := make(chan struct{})
		w.model.Answer(func(r llmtest.Request) llmtest.Turn {
			if strings.Contains(r.Messages[0].Text, "inner") {
				close(started)
				return llmtest.Turn{Wait: make(chan struct{})}
			}
			if len(r.Messages) == 1 {
				return llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "change", word{})}}
			}
			<-started
			return llmtest.Say("outer is done")
		})
		w.hold = make(chan struct{})
		outer := w.start(lead, `{"task":"outer"}`)
		<-w.running
		w.mu.Lock()
		child := w.calls[0].Grant.Caller
		w.mu.Unlock()
		if child.Leaf {
			t.Error("a subagent that may start others is a leaf")
		}
		id := w.start(child, `{"task":"inner"}`)
		close(w.hold)
		if k := w.end(lead, outer); k.State != jobs.Done {
			t.Errorf("it ended as %+v", k.Job)
		}
		k := w.end(child, id)
		if k.State != jobs.Cancelled || k.Reason != "the subagent that started it has ended" || k.Asker != lead {
			t.Errorf("the inner one ended as %+v", k.Job)
		}
	})
}

func TestWithoutAModel(t *testing.T) {
	e := New(Options{Limits: DefaultLimits(), Agents: map[string]Agent{"a": {DelegateTo: []string{"*"}}}})
	if list := Tools(e); len(list) != 0 {
		t.Errorf("there is no model, and there are %d tools", len(list))
	}
	c := caller("a", "s")
	ctx := tool.With(t.Context(), &tool.Running{Caller: c, Grant: func() tool.Grant { return tool.Grant{Caller: c} }})
	_, err := e.Spawn(ctx, Spawn{Task: "x"})
	if known := (*tool.Error)(nil); !errors.As(err, &known) || known.Kind != tool.Unavailable {
		t.Errorf("spawn: %v", err)
	}
}

func TestThinking(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := caller("lead", "s")
		for _, args := range []string{`"model":"anthropic/test"`, `"model":"openai/test"`} {
			for thinking, want := range map[string]llm.Effort{"": "", "off": "none", "minimal": "low", "medium": "medium", "xhigh": "high"} {
				if strings.Contains(args, "anthropic") && want == llm.NoEffort {
					want = ""
				}
				w.end(c, w.start(c, `{"task":"think",`+args+`,"thinking":"`+thinking+`"}`))
				all := w.model.Requests()
				if got := all[len(all)-1].Effort; got != want {
					t.Errorf("%s, thinking %q: effort %q", args, thinking, got)
				}
			}
		}
		if res, _ := w.spawn(c, `{"task":"x","thinking":"a lot"}`); !res.Failed {
			t.Error("any thinking is accepted")
		}
	})
}
