package teams

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

func TestATaskFromCreationToCompletion(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Write the parser", `,"description":"for TOML","assignee":"ann","priority":3`)
		wants(t, w.news("ann"), "[Assigned task #1 (id: "+id+")]: Write the parser", "for TOML")
		wants(t, w.tasks("bob", `{"action":"list"}`), `"subject":"Write the parser"`, `"owner_agent_key":"ann"`,
			`"count":1`, `"priority":3`)
		w.refuses("bob", "claim", id, "", "task not available for claiming (already claimed or not pending)")
		wants(t, w.do("ann", "claim", id, ""), `"status":"in_progress"`, `"lock_expires_at"`)
		w.refuses("bob", "complete", id, `,"result":"mine"`, "task not in progress or not found")
		wants(t, w.tasks("ann", `{"action":"progress","percent":40,"text":"lexer"}`), "in_progress")
		w.do("bob", "comment", id, `,"text":"mind the dates"`)
		wants(t, w.news("ann"), "bob comments on T-001", "mind the dates")
		wants(t, w.do("ann", "complete", id, `,"result":"in parser.go"`), "completed")
		wants(t, w.news("lead"), "ann is at 40% of T-001", "ann completed T-001", "in parser.go")
		wants(t, w.do("lead", "get", id, ""), `"result":"in parser.go"`, `"mind the dates"`, `"action":"claimed"`,
			`"progress_percent":100`)
		wants(t, w.tasks("ann", `{"action":"list"}`), `"count":0`)
		wants(t, w.tasks("ann", `{"action":"list","status":"completed"}`), `"count":1`)
		for _, action := range []string{"claim", "complete", "progress", "review"} {
			w.refuses("ann", action, id, `,"text":"again"`, "it is completed")
		}
		for _, action := range []string{"cancel", "retry", "approve", "reject", "update"} {
			w.refuses("lead", action, id, `,"text":"again"`, "it is completed")
		}
		w.state(id, Completed)
	})
}

func TestErrorsAboutMembership(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		for agent, want := range map[string]string{"stranger": "this agent is not part of any team",
			"": "not part of any team"} {
			if _, err := w.call(callBy(t, tool.Caller{Agent: agent, User: "u"}), "team_tasks",
				`{"action":"list"}`); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", agent, err)
			}
		}
		id := w.create("One", "")
		for _, action := range []string{"create", "cancel", "retry", "update", "approve", "reject"} {
			w.refuses("ann", action, id, `,"subject":"x"`, "only the team lead can perform this action")
		}
		w.refused("ann", `{"action":"get"}`, "task_id is required")
		w.refuses("ann", "get", "1", "", `invalid task_id "1" — use the UUID from task list, not the task number`)
		w.refuses("ann", "get", store.NewID(), "", "there is no task")
		w.must(w.Teams.Create(t.Context(), Team{Name: "other"}, "boss"))
		w.refuses("boss", "get", id, "", "task does not belong to your team")
		w.refuses("boss", "cancel", id, "", "task does not belong to your team")
		w.refused("lead", `{"action":"create","subject":"x","assignee":"boss"}`, `"boss" is not a member of this team`)
		w.refused("lead", `{"action":"create","subject":" "}`, "subject is required")
		w.refused("lead", `{"action":"create","subject":"`+strings.Repeat("x", 501)+`"}`, "more than 500 characters")
		k := w.state(id, Pending)
		wants(t, w.do("ann", "get", k.Identifier(), ""), id)
	})
}

func TestATaskIsNotCreatedTwice(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Fix  the login", `,"description":"as in the report"`)
		w.refused("lead", `{"action":"create","subject":"fix the Login","description":"as in the  report"}`, id)
		w.create("Fix the login", `,"description":"the other one"`)
		w.do("lead", "cancel", id, "")
		w.create("Fix the login", `,"description":"as in the report"`)
	})
}

func TestBlockers(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		one, two := w.create("One", ""), w.create("Two", "")
		last := w.create("Last", `,"assignee":"bob","blocked_by":["`+one+`","`+two+`"]`)
		w.state(last, Blocked)
		w.refuses("bob", "claim", last, "", "it is blocked")
		w.refuses("lead", "update", one, `,"blocked_by":["`+last+`"]`, "waits for this task itself")
		w.refuses("lead", "update", one, `,"blocked_by":["`+one+`"]`, "cannot wait for itself")
		between := w.create("Between", `,"blocked_by":["`+last+`"]`)
		w.refuses("lead", "update", two, `,"blocked_by":["`+between+`"]`, "waits for this task itself")
		w.do("ann", "claim", one, "")
		w.do("ann", "complete", one, `,"result":"first result"`)
		w.state(last, Blocked)
		if news := w.news("bob"); news != "" {
			t.Errorf("bob hears too early: %s", news)
		}
		w.do("lead", "cancel", two, `,"text":"not needed"`)
		w.state(last, Pending)
		wants(t, w.news("bob"), "Last", "Result of #1, One: first result")
		w.refused("lead", `{"action":"create","subject":"x","blocked_by":["`+one+`"]}`, "is completed already")
		w.refused("lead", `{"action":"create","subject":"x","blocked_by":["7"]}`, "invalid task_id")
		w.refused("lead", `{"action":"create","subject":"x","blocked_by":["`+store.NewID()+`"]}`, "there is no task")

		// The state follows what a task waits for.
		w.do("lead", "update", last, `,"blocked_by":["`+w.create("New", "")+`"]`)
		w.state(last, Blocked)
		w.do("lead", "update", last, `,"blocked_by":[]`)
		w.state(last, Pending)
		w.do("bob", "claim", last, "")
		w.refuses("lead", "update", last, `,"blocked_by":["`+w.create("Newer", "")+`"]`, "cannot wait for others")
		w.state(last, InProgress)
	})
}

// TestBlockersThatEndAtOnce ends both blockers of a task in transactions that run at the same time.
func TestBlockersThatEndAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		for round := range 10 {
			one, two := w.create(fmt.Sprint("One ", round), ""), w.create(fmt.Sprint("Two ", round), "")
			last := w.create(fmt.Sprint("Last ", round), `,"blocked_by":["`+one+`","`+two+`"]`)
			var ending sync.WaitGroup
			for agent, id := range map[string]string{"ann": one, "bob": two} {
				b, err := w.board(w.as(agent))
				w.must(err)
				ending.Go(func() {
					if _, err := b.Complete(t.Context(), id, "done"); err != nil {
						t.Error(err)
					}
				})
			}
			ending.Wait()
			w.state(last, Pending)
		}
	})
}

func TestReview(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		gated := w.create("Gated", `,"assignee":"ann","require_approval":true`)
		w.state(gated, InReview)
		w.refuses("ann", "claim", gated, "", "it is in_review")
		w.do("rev", "approve", gated, "")
		w.state(gated, Pending)
		wants(t, w.news("ann"), "[Assigned task #1")
		w.do("ann", "claim", gated, "")
		w.do("ann", "review", gated, `,"text":"look at it"`)
		wants(t, w.news("rev"), "ann asks for a review of T-001", "look at it")
		wants(t, w.news("lead"), "ann asks for a review of T-001")
		w.do("lead", "approve", gated, `,"text":"well done"`)
		w.state(gated, Completed)
		wants(t, w.news("ann"), "lead approved your T-001", "well done")

		other := w.create("Other", "")
		waits := w.create("Waits", `,"blocked_by":["`+other+`"]`)
		w.do("rev", "claim", other, "")
		w.do("rev", "review", other, `,"text":"mine"`)
		w.refuses("rev", "approve", other, "", "task is not in the state")
		w.do("lead", "reject", other, `,"text":"no"`)
		w.state(other, Cancelled)
		w.state(waits, Pending)
		wants(t, w.news("rev"), "lead rejected your T-002", "no")
	})
}

func TestClaimTakesTheNextTask(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		w.create("Low", "")
		w.create("High", `,"priority":5`)
		w.create("For ann", `,"priority":9,"assignee":"ann"`)
		wants(t, w.tasks("bob", `{"action":"claim"}`), `"subject":"High"`)
		wants(t, w.tasks("ann", `{"action":"claim"}`), `"subject":"For ann"`)
		wants(t, w.tasks("bob", `{"action":"claim"}`), `"subject":"Low"`)
		w.refused("bob", `{"action":"claim"}`, "no task waits for you")
	})
}

func TestAClientThatStartsAgainKeepsItsTask(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Long", "")
		w.do("ann", "claim", id, "")
		again := callBy(t, tool.Caller{Agent: "ann", User: "u", Session: "another"})
		if _, err := w.call(again, "team_tasks", `{"action":"claim","task_id":"`+id+`"}`); err != nil {
			t.Error(err)
		}
		w.must(w.EndSession(t.Context(), "session of ann"))
		if k := w.state(id, InProgress); k.Session != "another" || k.Dispatches != 1 {
			t.Errorf("%+v", k)
		}
		w.must(w.EndSession(t.Context(), "another"))
		if k := w.state(id, Pending); k.Owner != "" || k.LockUntil != 0 {
			t.Errorf("%+v", k)
		}
	})
}

func TestTasksOfMembersThatAreGone(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Hard", `,"assignee":"ann"`)
		waits := w.create("Waits", `,"blocked_by":["`+id+`"]`)
		for n := range maxDispatches {
			if k := w.state(id, Pending); k.Dispatches != int64(n)+1 {
				t.Errorf("dispatched %d times, want %d", k.Dispatches, n+1)
			}
			wants(t, w.news("ann"), "[Assigned task #1")
			w.do("ann", "claim", id, "")
			w.must(w.Sweep(t.Context()))
			w.state(id, InProgress)
			w.later(id, "lock_until = 1")
			w.must(w.Sweep(t.Context()))
		}
		w.state(id, Failed)
		w.state(waits, Pending)
		wants(t, w.news("lead"), "T-001", "failed", "3 times without a result")
		w.do("lead", "retry", id, "")
		w.state(id, Pending)
		w.later(id, "updated = 1")
		w.must(w.Sweep(t.Context()))
		w.state(id, Stale)
		w.state(waits, Pending) // anybody may claim it, so it does not get stale
		wants(t, w.news("lead"), "ann did not begin T-001")
		w.do("lead", "update", id, `,"assignee":"bob"`)
		w.do("lead", "retry", id, "")
		wants(t, w.news("bob"), "[Assigned task #1")
	})
}

func TestTheCallerHoldsATaskFromAnyServer(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Work", "")
		w.do("ann", "claim", id, "")
		w.must(w.store.Update(t.Context(), func(x *store.Tx) error {
			_, err := x.Exec(`INSERT INTO session (agent, usr, key, session, channel, client, created, updated, ended)
				VALUES ('ann', 'u', 'k', 'session of ann', 'stdio', 'c', 1, 1, 5)`)
			return err
		}))
		w.must(w.Sweep(t.Context()))
		w.state(id, Pending)
	})
}

func TestConcurrentClaims(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		const tasks = 40
		for i := range tasks {
			w.create(fmt.Sprint("Task ", i), "")
		}
		var mu sync.Mutex
		got := map[string]int{}
		var working sync.WaitGroup
		for _, agent := range []string{"ann", "bob", "lead", "ann", "bob", "lead"} {
			b, err := w.board(w.as(agent))
			w.must(err)
			working.Go(func() {
				for {
					k, err := b.Claim(t.Context(), "")
					if err != nil {
						if tool.AsError(err).Kind != tool.NotFound {
							t.Error(err)
						}
						return
					}
					if _, err := b.Complete(t.Context(), k.ID, "done by "+b.agent); err != nil {
						t.Error(err)
					}
					mu.Lock()
					got[k.ID]++
					mu.Unlock()
				}
			})
		}
		working.Wait()
		for id, n := range got {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
		if len(got) != tasks {
			t.Errorf("%d of %d tasks were claimed", len(got), tasks)
		}
	})
}

func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		w.create("Repair the heating", `,"description":"in the cellar"`)
		w.create("Paint the cellar door", "")
		text := w.tasks("ann", `{"action":"search","query":"heating cellar"}`)
		wants(t, text, `"count":2`)
		if strings.Index(text, "Repair") > strings.Index(text, "Paint") {
			t.Errorf("the better one is not the first: %s", text)
		}
		wants(t, w.tasks("ann", `{"action":"search","query":"roof"}`), `"count":0`)
		w.refused("ann", `{"action":"search"}`, "query is required")
	})
}

func TestPages(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		for i := range pageSize + 2 {
			w.create(fmt.Sprint("Task ", i), "")
		}
		wants(t, w.tasks("ann", `{"action":"list"}`), `"count":30`, `"has_more":true`, `"Task 0"`)
		wants(t, w.tasks("ann", `{"action":"list","page":2}`), `"count":2`, `"Task 31"`)
		wants(t, w.tasks("ann", `{"action":"list","order":"newest"}`), `"Task 31"`)
		w.refused("ann", `{"action":"list","status":"done"}`, `there is no status "done"`)
	})
}

// TestMessageOfAKilledServer has a server that is killed before its client gets the message that it has asked for.
func TestMessageOfAKilledServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		box := func() *inbox.Inbox { return inbox.New(inbox.Options{Store: s, Lease: 10 * time.Millisecond}) }
		killed, next := box(), box()
		w := newCrew(t, s, Options{Inbox: killed}, Settings{})
		bob := tool.Caller{Agent: "bob", User: "u", Channel: "stdio", Session: "session of bob"}
		read := func(call string) string {
			t.Helper()
			ctx := tool.With(t.Context(), &tool.Running{Caller: bob, Call: call, Status: func() (s tool.SessionStatus) { return s }})
			text, err := w.call(ctx, "team_message", `{"action":"read"}`)
			w.must(err)
			return text
		}
		for _, text := range []string{"one", "two"} {
			_, err := w.call(w.as("ann"), "team_message", `{"action":"send","to":"bob","text":"`+text+`"}`)
			w.must(err)
			wants(t, read(text), `"count":1`, text)
			if text == "one" {
				killed.Sent(t.Context(), bob, text, true)
			}
		}
		events, err := next.Wait(t.Context(), bob, "later", nil, time.Minute)
		w.must(err)
		if len(events) != 1 || !strings.Contains(events[0].Text, "two") || !events[0].Again {
			t.Errorf("the next server delivers %+v", events)
		}
	})
}

func TestMessages(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		send := func(agent, args string) string {
			t.Helper()
			text, err := w.call(w.as(agent), "team_message", args)
			w.must(err)
			return text
		}
		wants(t, send("lead", `{"action":"broadcast","text":"stand-up"}`), "Broadcast sent to all teammates.")
		wants(t, send("ann", `{"action":"send","to":"bob","text":"help me"}`), "Message sent to bob.")
		wants(t, w.news("bob"), "[Team message from lead]: stand-up", "[Team message from ann]: help me")
		wants(t, send("bob", `{"action":"read"}`), `"count":0`, "2 messages came whole with earlier results")
		long := strings.Repeat("long ", 100)
		wants(t, send("ann", `{"action":"send","to":"bob","text":"`+long+`"}`), "Message sent to bob.")
		wants(t, w.news("bob"), "[Team message from ann]: long")
		wants(t, send("bob", `{"action":"read"}`), `"count":1`, long, "not of the user") // the line had its beginning
		wants(t, send("bob", `{"action":"read"}`), `"count":0`)
		wants(t, send("ann", `{"action":"read"}`), `"count":1`, `"stand-up"`) // what bob has read is not read by ann
		if news := w.news("ann"); strings.Contains(news, "stand-up") {
			t.Errorf("a message that was read comes again: %q", news)
		}
		wants(t, send("lead", `{"action":"read"}`), `"count":0`)
		for args, want := range map[string]string{
			`{"action":"broadcast","text":"x"}`:                             "only the team lead can perform this action",
			`{"action":"send","to":"boss","text":"x"}`:                      "is not a member of this team",
			`{"action":"send","to":"ann","text":"x"}`:                       "to yourself",
			`{"action":"send","to":"bob"}`:                                  "text is required",
			`{"action":"send","text":"x"}`:                                  "to is required",
			`{"action":"send","to":"bob","text":"x","media":["../secret"]}`: "the team has no file",
		} {
			if _, err := w.call(w.as("ann"), "team_message", args); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", args, err, want)
			}
		}
	})
}

func TestAccessPolicy(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newCrew(t, s, Options{}, Settings{
			AllowUsers: []string{"ada", "eve"}, DenyUsers: []string{"eve"}, AllowChannels: []string{"http"},
		})
		for _, test := range []struct {
			caller tool.Caller
			may    bool
		}{
			{tool.Caller{User: "ada", Channel: "http"}, true},
			{tool.Caller{User: "eve", Channel: "http"}, false},
			{tool.Caller{User: "bob", Channel: "http"}, false},
			{tool.Caller{User: "", Channel: "http"}, false},
			{tool.Caller{User: "ada", Channel: "stdio"}, false},
			{tool.Caller{User: "ada", Channel: "stdio", Depth: 1}, true},
		} {
			test.caller.Agent = "ann"
			_, err := w.call(callBy(t, test.caller), "team_tasks", `{"action":"list"}`)
			if (err == nil) != test.may {
				t.Errorf("%+v: %v", test.caller, err)
			}
		}
		w.must(s.Update(t.Context(), func(x *store.Tx) error {
			_, err := x.Exec("UPDATE team SET settings = '{broken'")
			return err
		}))
		_, err := w.call(callBy(t, tool.Caller{Agent: "ann", User: "ada", Channel: "http"}), "team_tasks",
			`{"action":"list"}`)
		if tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Refused {
			t.Errorf("with broken settings: %v", err)
		}
	})
}

func TestIsolatedBoards(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newCrew(t, s, Options{}, Settings{Isolated: true})
		by := func(agent, user, args string) string {
			t.Helper()
			text, err := w.call(callBy(t, tool.Caller{Agent: agent, User: user}), "team_tasks", args)
			w.must(err)
			return text
		}
		by("lead", "ada", `{"action":"create","subject":"Private"}`)
		wants(t, by("ann", "ada", `{"action":"list"}`), `"count":1`)
		wants(t, by("ann", "eve", `{"action":"list"}`), `"count":0`)
		wants(t, by("ann", "eve", `{"action":"search","query":"private"}`), `"count":0`)
		if _, err := w.call(callBy(t, tool.Caller{Agent: "ann", User: "eve"}), "team_tasks",
			`{"action":"claim"}`); err == nil {
			t.Error("eve claims a task of ada")
		}
	})
}

func TestOperators(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		ctx := t.Context()
		if !w.Has("ann") || w.Has("stranger") {
			t.Error("the members are not known")
		}
		id := w.create("Work", `,"assignee":"ann"`)
		w.do("ann", "claim", id, "")
		w.must(w.Remove(ctx, "crew", "ann"))
		if k := w.state(id, Pending); k.Assignee != "" || k.Owner != "" {
			t.Errorf("%+v", k)
		}
		w.refuses("ann", "get", id, "", "not part of any team")
		w.Forget()
		if w.Has("ann") {
			t.Error("ann is still a member")
		}
		for _, failed := range []error{
			w.Remove(ctx, "crew", "lead"), w.Remove(ctx, "crew", "ann"), w.Add(ctx, "none", "ann", Member),
			w.Add(ctx, "crew", "", Member), w.Teams.Create(ctx, Team{Name: "crew"}, "x"),
			w.Teams.Create(ctx, Team{Name: "new"}, "bob"), w.Add(ctx, "crew", "lead", Member),
		} {
			if failed == nil {
				t.Error("an operator may do what makes no sense")
			}
		}
		w.must(w.Add(ctx, "crew", "bob", Lead))
		all, err := w.Overview(ctx, "crew")
		w.must(err)
		if m := all[0].Members; m[0].Agent != "bob" || m[0].Role != Lead || m[1].Agent != "lead" ||
			m[1].Role != Member {
			t.Errorf("%+v", m)
		}
		w.must(w.Archive(ctx, "crew"))
		w.state(id, Cancelled)
		w.refuses("bob", "get", id, "", "not part of any team")
		if err := w.Add(ctx, "crew", "ann", Member); err == nil {
			t.Error("an archived team takes members")
		}
		w.must(w.Teams.Create(ctx, Team{Name: "next"}, "bob"))
		if _, err := w.Overview(ctx, "none"); !errors.Is(err, ErrNoTeam) {
			t.Error(err)
		}
	})
}

func TestQuestionsAboutTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := questions.New(s, nil, nil)
		w := newCrew(t, s, Options{
			Withdraw: ask.WithdrawAbout,
			Ask: func(ctx context.Context, ask questions.Question) (answer string, err error) {
				answer, _, err = q.Ask(ctx, ask)
				return answer, err
			},
		}, Settings{})
		open := func() int {
			t.Helper()
			list, err := q.List(t.Context())
			w.must(err)
			return len(list)
		}
		id := w.create("Deploy", "")
		w.refuses("ann", "ask_user", id, `,"text":"where?"`, "task not in progress or not found")
		w.do("ann", "claim", id, "")
		w.refuses("bob", "ask_user", id, `,"text":"where?"`, "task not in progress or not found")
		wants(t, w.do("ann", "ask_user", id, `,"text":"where?"`), "The question was put")
		wants(t, w.news("lead"), "ann asks the user about T-001", "where?")
		w.refuses("bob", "clear_ask_user", id, "", "only the team lead can perform this action")
		if n := open(); n != 1 {
			t.Errorf("%d questions are open", n)
		}
		w.do("lead", "clear_ask_user", id, "")
		if n := open(); n != 0 {
			t.Errorf("%d questions are open after they were withdrawn", n)
		}
		w.do("ann", "ask_user", id, `,"text":"when?"`)
		w.do("ann", "complete", id, `,"text":"done"`)
		if n := open(); n != 0 {
			t.Errorf("%d questions are open about a task that has ended", n)
		}
	})
}

func TestAssigneesAreStarted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var started []string
		broken := true
		w := newCrew(t, s, Options{Start: func(_ context.Context, run Start) error {
			started = append(started, run.Agent+" "+run.Task)
			if broken {
				return errors.New("no")
			}
			return nil
		}}, Settings{})
		id := w.create("One", `,"assignee":"ann"`)
		if len(started) != 1 || !strings.HasPrefix(started[0], "ann [Assigned task #1 (id: "+id+")]: One") {
			t.Fatalf("started %q", started)
		}
		w.create("Free", "")
		w.do("ann", "comment", id, `,"text":"hello"`)
		if len(started) != 1 {
			t.Errorf("started again within the lease: %q", started)
		}
		broken = false
		w.later(id, "start_at = 1")
		w.create("Another", "") // the next call of the lead tries again
		w.later(id, "updated = updated")
		w.create("One more", "")
		if len(started) != 2 {
			t.Errorf("started %q", started)
		}
		w.create("Two", `,"assignee":"bob","blocked_by":["`+id+`"]`)
		w.do("ann", "claim", id, "")
		w.do("ann", "complete", id, `,"text":"done"`)
		if len(started) != 2 {
			t.Errorf("a member's call has started an agent: %q", started[2:])
		}
		w.do("lead", "comment", id, `,"text":"thanks"`)
		if len(started) != 3 || !strings.HasPrefix(started[2], "bob ") {
			t.Errorf("started %q", started)
		}
	})
}

// TestRunsEnd ends the runs that were started for tasks, with and without a result.
func TestRunsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var runs []Start
		w := newCrew(t, s, Options{}, Settings{})
		w.o.Start = func(ctx context.Context, run Start) error {
			runs = append(runs, run)
			return s.Update(ctx, func(x *store.Tx) error { return run.Claim(x, fmt.Sprint("run ", len(runs))) })
		}
		end := func(n int, done bool, said string) (noticed bool) {
			t.Helper()
			w.must(s.Update(t.Context(), func(x *store.Tx) (err error) {
				noticed, err = w.RunEnded(x, runs[n-1].Ref, fmt.Sprint("run ", n), done, said)
				return err
			}))
			return noticed
		}
		good, next := w.create("Good", `,"assignee":"ann"`), ""
		next = w.create("Next", `,"assignee":"bob","blocked_by":["`+good+`"]`)
		if k := w.state(good, InProgress); k.Owner != "ann" || k.Session != "run 1" || k.LockUntil == 0 {
			t.Errorf("started: %+v", k)
		}
		wants(t, runs[0].Task, "Good", "your last text is its result")
		w.news("lead")
		if !end(1, true, "It is 42.") || end(1, true, "again") != true {
			t.Error("the lead was not notified")
		}
		if k := w.state(good, Completed); k.Result != "It is 42." || k.Percent != 100 || k.Session != "" {
			t.Errorf("ended: %+v", k)
		}
		wants(t, w.news("lead"), "ann completed", "It is 42.")
		w.state(next, Pending)
		wants(t, w.do("lead", "get", next, ""), "Next")
		w.do("lead", "comment", next, `,"text":"go on"`) // starts bob
		w.state(next, InProgress)
		end(2, false, "the model did not answer")
		if k := w.state(next, Failed); k.Result != "the model did not answer" {
			t.Errorf("failed: %+v", k)
		}
		wants(t, w.news("lead"), "failed", "the model did not answer")
		w.do("lead", "retry", next, "") // starts bob again
		w.state(next, InProgress)
		if end(2, false, "late") { // the end of the former run
			t.Error("the end of a former run counts")
		}
		w.state(next, InProgress)
		w.do("lead", "cancel", next, "")
		end(3, true, "too late")
		w.state(next, Cancelled)

		self := w.create("Self", `,"assignee":"ann"`)
		w.do("ann", "complete", self, `,"text":"done by myself"`)
		if !end(4, true, "said more") || w.state(self, Completed).Result != "done by myself" {
			t.Error("a result was replaced")
		}
		taken := w.create("Taken", `,"assignee":"ann"`)
		w.do("ann", "claim", taken, "") // by a client of hers
		end(5, false, "no")
		w.state(taken, InProgress)
	})
}

func TestEscalation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newCrew(t, s, Options{}, Settings{EscalationActions: []string{"complete", "ask_user"}})
		id := w.create("One", "")
		w.do("ann", "claim", id, "")
		w.refuses("ann", "ask_user", id, `,"text":"which port?"`, "lead was notified")
		wants(t, w.news("lead"), "ann wants to ask_user", "which port?")
		w.do("ann", "complete", id, `,"text":"done"`)
		w.state(id, InReview)
		wants(t, w.news("lead"), "ann asks for a review", "done")
		w.do("lead", "approve", id, "")
		w.state(id, Completed)

		strict := crew{New(Options{Store: s}), t, s}
		w.must(strict.Set(t.Context(), "crew", func(t *Team) error {
			t.Settings = Settings{EscalationActions: []string{"claim", "complete"}, EscalationMode: RejectMode}
			return nil
		}))
		id = strict.create("Two", "")
		strict.refuses("ann", "claim", id, "", "is for the lead")
		strict.refused("ann", `{"action":"claim"}`, "is for the lead")
		strict.do("lead", "claim", id, "")
		strict.do("lead", "complete", id, `,"text":"done"`)
		if got := strict.news("lead"); got != "" {
			t.Errorf("the lead hears %q", got)
		}
	})
}

func TestTheLeadHearsOfFiles(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		write := func(agent, name, text string) { w.must(w.Files().Write(w.as(agent), name, []byte(text))) }
		write("ann", "team/a.md", "one")
		write("ann", "team/a.md", "two")
		write("lead", "team/b.md", "mine")
		w.must(w.Files().Remove(w.as("ann"), "team/a.md"))
		if got := w.news("lead"); got != "ann has written the file team/a.md\nann has removed the file team/a.md" {
			t.Errorf("the lead hears %q", got)
		}
	})
}

// TestClaimedTasksAreNotAnnounced: a member that has claimed its task is not told of it again.
func TestClaimedTasksAreNotAnnounced(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("paint", `,"assignee":"ann"`)
		other := w.create("clean", `,"assignee":"ann"`)
		w.do("ann", "claim", id, "")
		if news := w.news("ann"); strings.Contains(news, "paint") || !strings.Contains(news, "clean") {
			t.Errorf("after claiming paint and not clean (%s): %q", other, news)
		}
	})
}
