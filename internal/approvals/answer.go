package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Scope says how far a yes reaches.
type Scope string

// The scopes.
const (
	Once    Scope = "once"
	Session Scope = "session" // calls like it, of the same session, while the server runs
	Always  Scope = "always"  // calls like it, of the same caller, until the rule expires
)

// An Answer is what a person says to a question.
type Answer struct {
	Allow  bool
	Scope  Scope  // of a yes; "" is once
	Reason string // of a no, which the model reads
	Like   Like   // which other calls a yes is good for
	Until  time.Time
}

// A Decision is the answer that counts.
type Decision struct {
	Allow   bool      `json:"allow"`
	Scope   Scope     `json:"scope,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	By      string    `json:"by,omitzero"`
	Channel string    `json:"channel"`
	Rule    string    `json:"rule,omitzero"` // that was made of it
	At      time.Time `json:"at"`
}

// maxReason bounds what the model reads of a no.
const maxReason = 1000

// maxTries is how often a change is tried that others were faster with. Each time
// they can be, the question is nearer to its end: it never comes back to a state.
const maxTries = 5

var errContended = errors.New("the question changes faster than it can be answered; try again")

// Answer decides a question, if nobody was faster. A no to a call that was
// allowed and has not been made yet still counts: it takes the yes back.
func (s *Store) Answer(ctx context.Context, id string, a Answer, by Approver) (Decision, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for range maxTries {
		q, err := s.Get(ctx, id, by)
		if err != nil {
			return Decision{}, err
		}
		if err := q.closedErr(); err != nil && (a.Allow || q.State != Allowed) {
			return Decision{}, answeredBy(err, &q)
		}
		d, done, err := s.decide(ctx, &q, a, by)
		if done || err != nil {
			return d, err
		}
	}
	return Decision{}, errContended
}

// decide writes an answer down, with the rule that a yes makes, and without the
// rule of the yes that a no takes back.
func (s *Store) decide(ctx context.Context, q *Question, a Answer, by Approver) (d Decision, done bool, err error) {
	d = Decision{Allow: a.Allow, By: by.Name, Channel: by.Channel, At: time.Now().UTC()}
	w := answerRow{ID: q.ID, From: string(q.State), To: string(Denied)}
	if a.Allow {
		w.To, d.Scope = string(Allowed), scopeOf(a)
	} else {
		d.Reason = clip(a.Reason, maxReason)
		if before := q.Decision; before != nil {
			w.Drop = before.Rule
		}
	}
	if a.Allow && d.Scope != Once {
		rule, err := newRule(q, a, by, d.At)
		if err != nil {
			return d, false, err
		}
		d.Rule = rule.ID
		if w.Rule, err = rule.row(); err != nil {
			return d, false, err
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return d, false, fmt.Errorf("writing an answer: %w", err)
	}
	w.Decision = string(text)
	done, full, err := s.rows.Answer(ctx, w, func(rules int) bool { return rules < maxRules })
	if full {
		err = fmt.Errorf("there are %d rules already; mcp-tools approvals forget removes one", maxRules)
	}
	return d, done, err
}

func scopeOf(a Answer) Scope {
	if a.Scope == "" {
		return Once
	}
	return a.Scope
}

// answeredBy says who was faster.
func answeredBy(err error, q *Question) error {
	if q.Decision == nil {
		return err
	}
	word := "denied"
	if q.Decision.Allow {
		word = "allowed"
	}
	return fmt.Errorf("%w: %s by %s at %s", err, word, q.Decision.who(), q.Decision.At.Local().Format(time.TimeOnly))
}

func (d *Decision) who() string {
	if d.By == "" {
		return d.Channel
	}
	return d.By + " (" + d.Channel + ")"
}

// Preview returns the rule that an answer would make, without making it.
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

// Take uses the word that was given for a call, if it is exactly the one that
// was asked about and this process asked. A yes is taken once. A question that
// nobody answered is over with this.
func (s *Store) Take(ctx context.Context, id string, c Call) (Decision, error) {
	if s.Unused() {
		return Decision{}, ErrUnknown
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
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
			s.heartbeat.untrack(id)
			return d, err
		}
	}
	return Decision{}, errContended
}

// take takes the word about a question, unless somebody changes it meanwhile.
func (s *Store) take(ctx context.Context, q *Question) (d Decision, done bool, err error) {
	switch q.State {
	case Open, Expired:
		done, err = s.rows.Withdraw(ctx, q.ID, s.me, string(Open), string(Open))
		if done && err == nil {
			err = ErrExpired
		}
		return d, done, err
	case Denied:
		return *q.Decision, true, nil
	case Allowed: // used up before the call is made: a crash in between loses the word
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

// whyNotTaken says why a yes could not be taken: it is still there, and so has come
// too late; or something has become of it.
func (s *Store) whyNotTaken(ctx context.Context, id string) error {
	state, _, found, err := s.rows.State(ctx, id)
	if err == nil && found && State(state) == Allowed {
		return ErrExpired
	}
	return err
}

// takeGrace is how long a yes at the last moment may take to its call.
const takeGrace = 10 * time.Second

// about reports whether the question was put about exactly this call.
func (q *Question) about(c Call) bool {
	return q.Digest != "" && q.Digest == c.Digest && q.Basis == c.Basis && q.Tool == c.Tool && q.Principal == c.Principal &&
		q.Session == c.Session && q.Profile == c.Profile && q.Workspace == c.Workspace && rank(c.Risk) <= rank(q.Risk)
}

// Withdraw ends a question of this process for which nobody waits any more.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	if s.Unused() || !isID(id) {
		return nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	s.heartbeat.untrack(id)
	_, err := s.rows.Withdraw(ctx, id, s.me, string(Open), string(Allowed)) // or it is over in any case
	return err
}

// attendedFor is how long somebody who looked at the questions counts as there.
const attendedFor = 30 * time.Second

// MarkAttended notes that somebody who may answer has looked.
func (s *Store) MarkAttended(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	recently, err := s.rows.AttendedWithin(ctx, attendedFor/6)
	if err != nil || recently {
		return err
	}
	return errors.Join(s.rows.MarkAttended(ctx), s.Sweep(ctx))
}

// Attended reports whether somebody who may answer has looked a moment ago.
func (s *Store) Attended(ctx context.Context) (bool, error) {
	if s.Unused() {
		return false, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	return s.rows.AttendedWithin(ctx, attendedFor)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "..."
}
