package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/questions"
)

// TestOpenQuestionsMoveToOneTable has approvals and questions that are open while their tables become one.
func TestOpenQuestionsMoveToOneTable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		call, err := json.Marshal(map[string]any{
			"call": "c1", "tool": "exec", "title": "Run \"it\"\n", "risk": "runs", "principal": "a%2Fb/ann", "agent": "a/b",
			"user": "ann", "session": "s", "profile": "full", "arguments": "{}", "digest": "d", "parts": map[string]string{},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Rewind(t.Context(), 31, func(x *store.Tx) error {
			for _, one := range []struct {
				text string
				args []any
			}{
				{"INSERT INTO approval_owner VALUES ('lives', {{now}} + 60000), ('dead', {{now}} - 1)", nil},
				{`INSERT INTO approval (id, owner, principal, size, call, state, decision, asked, expires, decided) VALUES
					('aaaaaaaaaaaa', 'lives', 'a%2Fb/ann', 2, $1, 'open', '', 5, {{now}} + 60000, 0),
					('bbbbbbbbbbbb', 'lives', 'a%2Fb/ann', 2, $1, 'allowed', $2, 6, {{now}} + 60000, 7),
					('cccccccccccc', 'lives', 'a%2Fb/ann', 2, $1, 'denied', $3, 6, {{now}} + 60000, 7),
					('dddddddddddd', 'dead', 'a%2Fb/ann', 2, $1, 'open', '', 6, {{now}} + 60000, 0)`, []any{
					string(call), `{"allow":true,"scope":"once","channel":"cli","at":"2026-01-31T09:00:00Z"}`,
					`{"allow":false,"channel":"cli","at":"2026-01-31T09:00:00Z"}`,
				}},
				{`INSERT INTO question (id, agent, usr, session, task, content, options, state, answer, answered_by, asked,
					answered, remind, every, most, sent, next_at) VALUES
					('q-1', 'helper', 'ann', 'agent:helper:s', 't1', 'Red or "blue"?', $1, 'open', '', '', 8, 0, 'lead', 1000, 9,
						2, 1),
					('q-2', 'helper', 'ann', '', '', 'Which port?', '', 'open', '', '', 9, 0, '', 0, 0, 0, 0),
					('q-3', 'helper', 'ann', '', '', 'Why?', '', 'answered', 'so', 'bob', 9, {{now}}, '', 0, 0, 0, 0),
					('q-4', 'helper', 'ann', '', 't1', 'What?', '', 'withdrawn', '', '', 9, 1, '', 0, 0, 0, 0)`,
					[]any{`["red","blue"]`}},
			} {
				if _, err := x.Exec(one.text, one.args...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}

		waiting := approvals.New(approvals.Options{DB: s})
		open, err := waiting.List(t.Context(), approvals.Approver{})
		if err != nil || len(open) != 1 || open[0].ID != "aaaaaaaaaaaa" || open[0].Title != "Run \"it\"\n" ||
			open[0].Owner != "lives" || open[0].Agent != "a/b" || !open[0].Expires.After(time.Now()) {
			t.Fatalf("the open approvals are %+v, %v", open, err)
		}
		if q, err := waiting.Get(t.Context(), "bbbbbbbbbbbb", approvals.Approver{}); err != nil ||
			q.State != approvals.Allowed || q.Decision.Channel != "cli" {
			t.Errorf("the approval that was not used yet is %+v, %v", q, err)
		}
		for _, id := range []string{"cccccccccccc", "dddddddddddd"} {
			if _, err := waiting.Get(t.Context(), id, approvals.Approver{}); !errors.Is(err, approvals.ErrUnknown) {
				t.Errorf("%s: %v", id, err)
			}
		}
		yes := approvals.Answer{Allow: true, Scope: approvals.Always}
		if d, err := waiting.Answer(t.Context(), open[0].ID, yes, approvals.Approver{Channel: "cli"}); err != nil ||
			d.Rule == "" {
			t.Errorf("the answer to the open approval is %+v, %v", d, err)
		}

		asked := questions.New(s, nil, nil)
		list, err := asked.List(t.Context())
		want := []questions.Open{{
			ID: "q-1", Agent: "helper", User: "ann", Session: "agent:helper:s", Task: "t1", Text: `Red or "blue"?`,
			Options: []string{"red", "blue"}, Asked: 8, Reminders: 2,
		}, {ID: "q-2", Agent: "helper", User: "ann", Text: "Which port?", Asked: 9}}
		if diff := cmp.Diff(want, list); err != nil || diff != "" {
			t.Errorf("the open questions differ: %s%v", diff, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		reminded := make(chan struct{})
		go func() { defer close(reminded); asked.Run(ctx) }()
		for changed := s.Wait(inbox.Topic); list[0].Reminders != 3; changed = s.Wait(inbox.Topic) {
			if list, err = asked.List(t.Context()); err != nil {
				t.Fatal(err)
			} else if list[0].Reminders != 3 {
				<-changed
			}
		}
		stop()
		<-reminded
		if err := asked.Answer(t.Context(), "q-1", "red", "bob"); err != nil {
			t.Error(err)
		}
		if err := s.View(t.Context(), func(x *store.Tx) error {
			q, err := ask.Get(x, "q-3")
			if q.State != ask.Answered || q.Answer != "so" || q.By != "bob" {
				t.Errorf("the answered question is %+v", q)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}
