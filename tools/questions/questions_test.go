package questions

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func caller() tool.Caller {
	return tool.Caller{Agent: "helper", User: "ann", Channel: "stdio", Session: "s1"}
}

func open(s *store.Store) *Questions { return New(s, nil, nil) }

func news(t *testing.T, s *store.Store, c tool.Caller) string {
	t.Helper()
	events, err := inbox.New(inbox.Options{Store: s}).Take(t.Context(), c, "call", nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, "\n")
}

func TestAClientThatShowsQuestions(t *testing.T) {
	running := tool.Running{Caller: caller(), Can: func(m tool.Medium) bool { return m == tool.Person }}
	ask := func() (tool.Result, error) {
		return askUser{New(nil, nil, nil)}.Do(tool.With(t.Context(), &running), askUserArgs{
			Question: "Red or\u202e blue?", Options: []string{"red", "blue"},
		})
	}
	_, err := ask()
	need := (*tool.Asking)(nil)
	if !errors.As(err, &need) {
		t.Fatal(err)
	}
	shown, err := json.Marshal(need.Questions["answer"].Params)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"The agent helper asks:", "Red or", `"enum":["red","blue"]`} {
		if !strings.Contains(string(shown), part) {
			t.Errorf("the question lacks %q: %s", part, shown)
		}
	}
	if strings.Contains(string(shown), "\u202e") {
		t.Error("the question has invisible characters")
	}
	for raw, want := range map[string]string{
		`{"action":"accept","content":{"answer":"red"}}`: "The user answers: red",
		`{"action":"decline"}`:                           "did not want to answer",
		`{"action":"accept","content":{}}`:               "sent no answer",
	} {
		running.Answers = tool.Answers{State: need.State, ByName: map[string]json.RawMessage{"answer": json.RawMessage(raw)}}
		res, err := ask()
		if err != nil || !strings.Contains(res.Text(), want) {
			t.Errorf("%s gave %q, %v", raw, res.Text(), err)
		}
	}
	running.Answers = tool.Answers{State: need.State} // no answer in time, and no store
	if _, err := ask(); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.Unavailable {
		t.Error(err)
	}
}

// TestAClientThatOpensPages sends the user to the page of the question, which is stored. The answer comes as an event.
func TestAClientThatOpensPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := open(s)
		q.Page = func(id string) string { return "http://console/questions/" + id }
		running := tool.Running{Caller: caller(), Can: func(m tool.Medium) bool { return m == tool.Page }}
		call := func() (tool.Result, error) {
			return askUser{q}.Do(tool.With(t.Context(), &running), askUserArgs{Question: "Red or\u202e blue?"})
		}
		for raw, want := range map[string]string{
			`{"action":"accept"}`: "The answer comes to your inbox", `{"action":"decline"}`: "ask it in your reply", ``: "ask it in your reply",
		} {
			running.Answers = tool.Answers{}
			_, err := call()
			need := (*tool.Asking)(nil)
			if !errors.As(err, &need) {
				t.Fatal(err)
			}
			sent, _ := need.Questions["answer"].Params.(map[string]any)
			id, _ := sent["elicitationId"].(string)
			if sent["url"] != q.Page(id) || sent["mode"] != "url" || strings.Contains(sent["message"].(string), "\u202e") {
				t.Errorf("the client gets %v", sent)
			}
			running.Answers = tool.Answers{State: need.State, ByName: map[string]json.RawMessage{}}
			if raw != "" {
				running.Answers.ByName["answer"] = json.RawMessage(raw)
			}
			res, err := call()
			if err != nil || !strings.Contains(res.Text(), want) || !strings.Contains(res.Text(), id) {
				t.Errorf("%q: the call got %q, %v", raw, res.Text(), err)
			}
		}
		if open, err := ask.List(t.Context(), s, ask.OfAgent); err != nil || len(open) != 3 {
			t.Errorf("%d questions are open, %v", len(open), err)
		}
	})
}

func TestAnOperatorAnswers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := open(s)
		ctx := tool.With(t.Context(), &tool.Running{Caller: caller()})
		res, err := askUser{q}.Do(ctx, askUserArgs{Question: "Which port?"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := q.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Text != "Which port?" || !strings.Contains(res.Text(), list[0].ID) {
			t.Fatalf("%+v, %v, %s", list, err, res.Text())
		}
		if got := res.Text(); !strings.Contains(got, "this client cannot show it: ask it in your reply") ||
			!strings.Contains(got, "mcp-tools questions answer "+list[0].ID+" TEXT") {
			t.Errorf("the agent is told: %s", got)
		}
		if err := q.Answer(t.Context(), list[0].ID, "8080", "operator"); err != nil {
			t.Fatal(err)
		}
		if err := q.Answer(t.Context(), list[0].ID, "8081", "operator"); !errors.Is(err, ErrNotOpen) {
			t.Errorf("a second answer: %v", err)
		}
		for args, kind := range map[answerArgs]tool.Kind{
			{list[0].ID, "8081"}: tool.NotFound, {"unknown", "8081"}: tool.NotFound, {list[0].ID, " \n"}: tool.Invalid,
		} {
			if _, err := q.answer(t.Context(), args); tool.AsError(err).Kind != kind {
				t.Errorf("the verb answers %v: %v, want %s", args, err, kind)
			}
		}
		if got := news(t, s, tool.Caller{Agent: "other", User: "ann", Channel: "stdio", Session: "s1"}); got != "" {
			t.Errorf("another agent hears: %s", got)
		}
		if got := news(t, s, caller()); got != `The user answers "Which port?": 8080` {
			t.Errorf("the session hears: %s", got)
		}
		if list, err := q.List(t.Context()); len(list) != 0 || err != nil {
			t.Error(list, err)
		}
	})
}

func TestLimitsOfQuestions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := open(s)
		ctx := tool.With(t.Context(), &tool.Running{Caller: caller()})
		for range maxOpen {
			if _, _, err := q.Ask(ctx, Question{Text: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			ctx  context.Context
			ask  Question
			kind tool.Kind
		}{
			{ctx, Question{Text: "x"}, tool.Busy},
			{ctx, Question{Text: " "}, tool.Invalid},
			{ctx, Question{Text: "a\x00b"}, tool.Invalid},
			{ctx, Question{Text: strings.Repeat("x", maxText+1)}, tool.TooLarge},
			{ctx, Question{Text: "x", Options: []string{""}}, tool.Invalid},
			{t.Context(), Question{Text: "x"}, tool.Unavailable},
		} {
			if _, _, err := q.Ask(test.ctx, test.ask); tool.AsError(err) == nil || tool.AsError(err).Kind != test.kind {
				t.Errorf("%.20q: %v, want %s", test.ask.Text, err, test.kind)
			}
		}
	})
}

func TestReminders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := open(s)
		ctx := tool.With(t.Context(), &tool.Running{Caller: caller()})
		lead := tool.Caller{Agent: "lead", User: "eve", Channel: "stdio", Session: "s2"}
		_, id, err := q.Ask(ctx, Question{Text: "Which port?", Task: "t1", Remind: "lead", Every: time.Hour, Max: 2})
		if err != nil {
			t.Fatal(err)
		}
		go q.Run(t.Context())
		// due makes the next reminder due, and waits until its job is done, or due again.
		due := func() {
			t.Helper()
			const change = "UPDATE job SET run_at = 1 WHERE id = $1 AND state = 'queued'"
			if err := s.Update(t.Context(), func(x *store.Tx) error {
				_, err := x.Exec(change, id)
				return errors.Join(err, x.Changed(jobs.Topic, id))
			}); err != nil {
				t.Fatal(err)
			}
			for waits := true; waits; {
				changed := s.Wait(jobs.Topic)
				if err := s.Row(t.Context(), "SELECT state = 'running' OR run_at = 1 FROM job WHERE id = $1 AND ended = 0",
					[]any{id}, &waits); errors.Is(err, store.ErrNotFound) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
				if waits {
					<-changed
				}
			}
		}
		for _, want := range []string{"Reminder (1/2): helper asks the user: Which port?", "Reminder (2/2)", ""} {
			due()
			got := news(t, s, lead)
			if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Count(got, "Reminder") > 1 {
				t.Errorf("the lead hears %q, want %q", got, want)
			}
		}
		if list, err := q.List(t.Context()); err != nil || len(list) != 1 || list[0].Reminders != 2 {
			t.Errorf("listed are %+v, %v", list, err)
		}
		if err := s.Update(t.Context(), func(x *store.Tx) error { return ask.WithdrawAbout(x, "t1") }); err != nil {
			t.Fatal(err)
		}
		if err := q.Answer(t.Context(), id, "8080", "operator"); !errors.Is(err, ErrNotOpen) {
			t.Errorf("an answer to a question that was withdrawn: %v", err)
		}
	})
}

// TestReminderOfAKilledProcess: a process that dies while it reminds has sent nothing, and the next one sends the
// same reminder once. No reminder comes before its time.
func TestReminderOfAKilledProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := open(s)
		lead := tool.Caller{Agent: "lead", User: "eve", Channel: "stdio", Session: "s2"}
		_, id, err := q.Ask(tool.With(t.Context(), &tool.Running{Caller: caller()}),
			Question{Text: "Which port?", Task: "t1", Remind: "lead", Every: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(t.Context(), func(x *store.Tx) error {
			_, err := x.Exec("UPDATE job SET state = 'running', attempt = 1, run_at = 1, holder = 'dead' WHERE id = $1", id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var row jobs.Job
		if err := s.View(t.Context(), func(x *store.Tx) (err error) {
			row, err = q.reminders.Get(x, id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var again *jobs.Again
		if _, err := q.remind(t.Context(), &jobs.Held{Job: row}); !errors.As(err, &again) || again.After != time.Hour {
			t.Errorf("a reminder returned %v", err)
		}
		if got := news(t, s, lead); got != "" {
			t.Errorf("the process that died has sent %q", got)
		}
		go q.Run(t.Context())
		for waits := true; waits; {
			changed := s.Wait(jobs.Topic)
			if err := s.Row(t.Context(), "SELECT state = 'running' OR run_at < {{now}} + 3000000 FROM job WHERE id = $1",
				[]any{id}, &waits); err != nil {
				t.Fatal(err)
			}
			if waits {
				<-changed
			}
		}
		if got := news(t, s, lead); strings.Count(got, "Reminder") != 1 || !strings.Contains(got, "Reminder (1)") {
			t.Errorf("the lead hears %q, want the first reminder", got)
		}
		if list, err := q.List(t.Context()); err != nil || len(list) != 1 || list[0].Reminders != 1 {
			t.Errorf("listed are %+v, %v", list, err)
		}
	})
}
