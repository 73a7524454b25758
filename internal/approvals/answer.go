package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
	Like   Like   // which other calls the rule allows
	Until  time.Time
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
}

// maxReason is the maximum length of a reason in bytes.
const maxReason = 1000

// maxTries is the max number of attempts at taking a decision when other processes
// change the question. A question never returns to an earlier state.
const maxTries = 5

var errContended = errors.New("the question was changed by other processes at the same time; try again")

// Answer decides an open question. A denial also revokes an approval that was
// not used yet.
func (s *Store) Answer(ctx context.Context, id string, a Answer, by Approver) (d Decision, err error) {
	if s.DB.Unused() {
		return Decision{}, ErrUnknown
	}
	err = s.rows.update(ctx, func(t *store.Tx) error {
		d, err = s.AnswerIn(t, id, a, by)
		return err
	})
	return d, err
}

// AnswerIn does what Answer does, in a transaction of the caller. With an error
// nothing was written.
func (s *Store) AnswerIn(t *store.Tx, id string, a Answer, by Approver) (Decision, error) {
	q, err := s.GetIn(t, id, by)
	if err != nil {
		return Decision{}, err
	}
	if err := q.closedErr(); err != nil && (a.Allow || q.State != Allowed) {
		return Decision{}, answeredBy(err, &q)
	}
	return decide(t, &q, a, by)
}

// decide records an answer, if the question still has its state, has not expired, and its
// process lives. It adds the rule of an approval, and removes the rule of a revoked one.
func decide(t *store.Tx, q *Question, a Answer, by Approver) (d Decision, err error) {
	d = Decision{Allow: a.Allow, By: by.Name, Channel: by.Channel, At: time.Now().UTC()}
	to, revoked := Denied, ""
	var rule *Rule
	if a.Allow {
		to, d.Scope = Allowed, scopeOf(a)
	} else {
		d.Reason = text.Clip(a.Reason, maxReason)
		if q.Decision != nil {
			revoked = q.Decision.Rule
		}
	}
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
	n, err := t.Exec(`UPDATE approval SET state = $3, decision = $4, decided = {{now}}
		WHERE id = $1 AND state = $2 AND (state <> 'open' OR expires > {{now}}) AND `+ownerLives,
		q.ID, string(q.State), string(to), string(encoded))
	if err == nil && n == 0 { // another process has changed it
		err = store.ErrConflict
	}
	if err == nil && revoked != "" {
		err = dropRule(t, revoked)
	}
	if err == nil && rule != nil {
		err = addRule(t, rule)
	}
	if err != nil {
		return d, err
	}
	return d, t.Changed(Topic, q.ID)
}

func scopeOf(a Answer) Scope {
	if a.Scope == "" {
		return Once
	}
	return a.Scope
}

// answeredBy adds to err who answered the question.
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
// that call. An approval can be taken once. An open question is withdrawn.
func (s *Store) Take(ctx context.Context, id string, c Call) (Decision, error) {
	for range maxTries {
		q, _, err := s.get(ctx, id)
		if err != nil {
			return Decision{}, err
		}
		if q.Owner != s.me || !q.about(c) {
			return Decision{}, ErrChanged
		}
		d, done, err := s.take(ctx, &q)
		if done || err != nil {
			return d, err
		}
	}
	return Decision{}, errContended
}

// take takes the decision, unless another process changes the question.
func (s *Store) take(ctx context.Context, q *Question) (d Decision, done bool, err error) {
	switch q.State {
	case Open, Expired:
		done, err = s.rows.Withdraw(ctx, q.ID, s.me, Open)
		if done && err == nil {
			err = ErrExpired
		}
		return d, done, err
	case Denied:
		return *q.Decision, true, nil
	case Allowed: // marked as used before the call: a crash in between loses the approval
		done, err = s.rows.Take(ctx, q.ID, s.me, s.takeGrace)
		if err != nil {
			return d, false, err
		}
		if done {
			return *q.Decision, true, nil
		}
		return d, false, s.whyNotTaken(ctx, q.ID)
	}
	return d, false, ErrUnknown
}

// whyNotTaken returns ErrExpired if the approval is still there, so it came too
// late, or nil if the question has changed.
func (s *Store) whyNotTaken(ctx context.Context, id string) error {
	state, _, err := s.rows.State(ctx, id)
	if err == nil && state == Allowed {
		return ErrExpired
	}
	return err
}

// takeGrace is the time after the end of a question in which its approval can
// be taken.
const takeGrace = 10 * time.Second

// about reports whether the question is about exactly this call.
func (q *Question) about(c Call) bool {
	return q.Digest != "" && q.Digest == c.Digest && q.Basis == c.Basis && q.Tool == c.Tool &&
		q.Principal == c.Principal &&
		q.Session == c.Session && q.Profile == c.Profile && q.Workspace == c.Workspace && rank(c.Risk) <= rank(q.Risk)
}

// Withdraw removes a question of this process.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	if s.DB.Unused() || !isID(id) {
		return nil
	}
	_, err := s.rows.Withdraw(ctx, id, s.me, Open, Allowed) // a closed question needs no withdrawal
	return err
}

// attendedFor is the time that an approver counts as present after reading the
// questions.
const attendedFor = 30 * time.Second

// MarkAttended records that an approver has looked at the questions.
func (s *Store) MarkAttended(ctx context.Context) error {
	recently, err := s.rows.AttendedWithin(ctx, attendedFor/6)
	if err != nil || recently {
		return err
	}
	return errors.Join(s.rows.MarkAttended(ctx), s.Sweep(ctx))
}

// Attended reports whether an approver has looked at the questions recently, or gets
// them.
func (s *Store) Attended(ctx context.Context) (bool, error) {
	if s.Reachable != nil && s.Reachable() {
		return true, nil
	}
	return s.rows.AttendedWithin(ctx, attendedFor)
}
