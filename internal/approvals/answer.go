package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Scope is the set of calls that an approval allows.
type Scope string

// The scopes.
const (
	Once    Scope = "once"
	Session Scope = "session" // similar calls of the same session, while the server runs
	Always  Scope = "always"  // similar calls of the same caller, until the rule expires
)

// An Answer is an approver's answer to a question.
type Answer struct {
	Allow  bool
	Scope  Scope  // of an approval; "" means once
	Reason string // of a denial; shown to the model
	Like   Like   // the other calls that the rule allows
	Until  time.Time
	Seen   string // digest of the call that the approver has seen; "" is accepted if no other person has changed it
}

// A Decision is the answer that was recorded.
type Decision struct {
	Allow   bool      `json:"allow"`
	Scope   Scope     `json:"scope,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	By      string    `json:"by,omitzero"`
	Channel string    `json:"channel"`
	Rule    string    `json:"rule,omitzero"` // id of the rule that was made
	At      time.Time `json:"at"`
	// Ended is set if the server that asked has ended, so that nothing will run.
	Ended bool `json:"server_ended,omitzero"`
	// Silent is set if the server that asked gave no sign of life since the answer: perhaps it has just ended.
	Silent bool `json:"server_silent,omitzero"`
}

// maxReason is the maximum length of a reason in bytes.
const maxReason = 1000

// Answer decides an open question. A denial also revokes an approval that was
// not used yet.
func (s *Store) Answer(ctx context.Context, id string, a Answer, by Approver) (d Decision, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		d, err = s.AnswerIn(t, id, a, by)
		return err
	})
	if err == nil && d.Allow {
		if d.Ended, err = ask.Abandoned(ctx, s.DB, id); err == nil && !d.Ended {
			d.Silent, err = ask.Silent(ctx, s.DB, id)
		}
		if err != nil {
			s.Log.Debug("it is not known whether the server that asked has ended", "err", err)
			err = nil
		}
	}
	return d, err
}

// AnswerIn does what Answer does, in a transaction of the caller. After an error nothing is
// written.
func (s *Store) AnswerIn(t *store.Tx, id string, a Answer, by Approver) (Decision, error) {
	row, q, err := read(t, id, ask.Hold)
	if err != nil {
		return Decision{}, err
	}
	if !by.sees(&q) {
		return Decision{}, ErrUnknown
	}
	if err := q.closedErr(); err != nil && (a.Allow || q.State != Allowed) {
		return Decision{}, answeredBy(err, &q)
	}
	if a.Allow && !q.seenBy(a, by) {
		return Decision{}, ErrEdited
	}
	return decide(t, row, &q, a, by)
}

// decide records an answer. It adds the rule of an approval, and removes the rule of a revoked one.
func decide(t *store.Tx, row ask.Question, q *Question, a Answer, by Approver) (d Decision, err error) {
	d = Decision{Allow: a.Allow, By: by.Name, Channel: by.Channel, At: time.Now().UTC()}
	if a.Allow {
		d.Scope = scopeOf(a)
	} else {
		d.Reason = text.Clip(a.Reason, maxReason)
	}
	var rule *Rule
	if a.Allow && d.Scope != Once {
		if rule, err = newRule(q, a, by, d.At); err == nil {
			d.Rule = rule.ID
			err = lockRules(t)
		}
		if err != nil {
			return d, err
		}
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		return d, fmt.Errorf("encoding an answer: %w", err)
	}
	if err := ask.Answer(t, row, string(encoded), by.Name, a.Allow); err != nil {
		return d, err
	}
	switch {
	case rule != nil:
		return d, addRule(t, rule)
	case q.Decision != nil && q.Decision.Rule != "":
		return d, dropRule(t, q.Decision.Rule)
	}
	return d, nil
}

func scopeOf(a Answer) Scope {
	if a.Scope == "" {
		return Once
	}
	return a.Scope
}

// answeredBy adds the approver of the question to err.
func answeredBy(err error, q *Question) error {
	if q.Decision == nil {
		return err
	}
	choice := "denied"
	if q.Decision.Allow {
		choice = "allowed"
	}
	return fmt.Errorf("%w: %s by %s at %s", err, choice, q.Decision.who(), q.Decision.At.Local().Format(time.TimeOnly))
}

// Choice returns the decision in words.
func (d *Decision) Choice() string {
	switch {
	case !d.Allow:
		return "denied"
	case d.Scope == Session:
		return "allowed for the session"
	case d.Scope == Always:
		return "allowed by a rule"
	}
	return "allowed once"
}

func (d *Decision) who() string {
	if d.By == "" {
		return d.Channel
	}
	return d.By + " (" + d.Channel + ")"
}

// Preview returns the rule that an answer would make.
func (s *Store) Preview(ctx context.Context, id string, a Answer, by Approver) (Rule, error) {
	q, err := s.Get(ctx, id, by)
	if err != nil {
		return Rule{}, err
	}
	if err := q.closedErr(); err != nil {
		return Rule{}, answeredBy(err, &q)
	}
	rule, err := newRule(&q, a, by, time.Now().UTC())
	if err != nil {
		return Rule{}, err
	}
	return *rule, nil
}

// Take returns the decision about a call, if this process has asked about exactly
// that call. An approval can be taken once: it is marked as used before the call, so that a
// crash in between loses it. An open question is withdrawn.
func (s *Store) Take(ctx context.Context, id string, c Call) (d Decision, err error) {
	var late error
	err = s.update(ctx, func(t *store.Tx) error {
		d, late = Decision{}, nil
		_, q, err := read(t, id, ask.Hold)
		if err != nil {
			return err
		}
		if q.Owner != s.desk.ID() || !q.about(c) {
			return ErrChanged
		}
		switch q.State {
		case Open, Expired:
			late = ErrExpired
			return ask.Withdraw(t, id)
		case Denied:
			d = *q.Decision
			return nil
		case Allowed:
			used, err := ask.Use(t, id, ask.Grace)
			if d = *q.Decision; !used {
				late = ErrExpired
			}
			return err
		}
		return ErrUnknown
	})
	if err = cmp.Or(err, late); err != nil {
		return Decision{}, err
	}
	return d, nil
}
