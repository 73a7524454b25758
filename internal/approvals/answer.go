package approvals

import (
	"errors"
	"fmt"
	"os"
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

// Answer decides a question, if nobody was faster. A no to a call that was
// allowed and has not been made yet still counts: it takes the yes back.
func (s *Store) Answer(id string, a Answer, by Approver) (Decision, error) {
	d := Decision{Allow: a.Allow, By: by.Name, Channel: by.Channel, At: time.Now().UTC()}
	if !s.exists() {
		return d, ErrUnknown
	}
	err := s.locked(func() error {
		q, err := s.find(id, by)
		if err != nil {
			return err
		}
		if err := q.over(d.At); err != nil && (a.Allow || q.State != Allowed) {
			return answeredBy(err, &q)
		}
		if !a.Allow {
			d.Reason = clip(a.Reason, maxReason)
			return s.deny(&q, &d)
		}
		d.Scope = scopeOf(a)
		return s.allow(&q, &d, a, by)
	})
	return d, err
}

// deny writes a no down, and takes back the rule of a yes before it: first that.
// A rule that cannot be taken back keeps nobody from refusing the call.
func (s *Store) deny(q *Question, d *Decision) error {
	var err error
	if before := q.Decision; before != nil && before.Rule != "" {
		err = s.dropRule(before.Rule)
	}
	q.State, q.Decision = Denied, d
	return errors.Join(s.write(q), err)
}

// allow writes a yes down, and then the rule that it makes: a crash in between
// costs the rule.
func (s *Store) allow(q *Question, d *Decision, a Answer, by Approver) error {
	q.State, q.Decision = Allowed, d
	if d.Scope == Once {
		return s.write(q)
	}
	rule, err := newRule(q, a, by, d.At)
	if err != nil {
		return err
	}
	rules, err := s.roomForRule()
	if err != nil {
		return err
	}
	d.Rule = rule.ID
	if err := s.write(q); err != nil {
		return err
	}
	return s.writeRules(append(rules, *rule))
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
func (s *Store) Preview(id string, a Answer, by Approver) (Rule, error) {
	q, err := s.Get(id, by)
	if err != nil {
		return Rule{}, err
	}
	now := time.Now().UTC()
	if err := q.over(now); err != nil {
		return Rule{}, answeredBy(err, &q)
	}
	rule, err := newRule(&q, a, by, now)
	if err != nil {
		return Rule{}, err
	}
	return *rule, nil
}

// Take uses the word that was given for a call, if it is exactly the one that
// was asked about and this process asked. A yes is taken once. A question that
// nobody answered is over with this.
func (s *Store) Take(id string, c Call) (Decision, error) {
	var d Decision
	if !s.exists() {
		return d, ErrUnknown
	}
	err := s.locked(func() error {
		q, err := s.find(id, Approver{})
		if err != nil {
			return err
		}
		now := time.Now()
		switch {
		case q.Owner != s.me || !q.about(c):
			return ErrChanged
		case q.State == Open:
			if err := s.drop(id); err != nil {
				return err
			}
			return ErrExpired
		case q.State != Allowed && q.State != Denied:
			return ErrUnknown
		}
		d = *q.Decision
		if !d.Allow {
			return nil
		}
		if now.After(q.Expires.Add(wayBack)) {
			return ErrExpired
		}
		q.State = Used // on disk before the call is made: a crash in between loses the word
		return s.write(&q)
	})
	if err != nil {
		return Decision{}, err
	}
	return d, nil
}

// wayBack is how long a yes at the last moment may take to its call.
const wayBack = 10 * time.Second

// about reports whether the question was put about exactly this call.
func (q *Question) about(c Call) bool {
	return q.Digest != "" && q.Digest == c.Digest && q.Basis == c.Basis && q.Tool == c.Tool && q.Principal == c.Principal &&
		q.Session == c.Session && q.Profile == c.Profile && q.Workspace == c.Workspace && rank(c.Risk) <= rank(q.Risk)
}

// Withdraw ends a question of this process for which nobody waits any more.
func (s *Store) Withdraw(id string) error {
	if !s.exists() {
		return nil
	}
	return s.locked(func() error {
		q, err := s.read(id)
		if err != nil || q.Owner != s.me || q.State != Open && q.State != Allowed {
			return nil // over in any case
		}
		return s.drop(id)
	})
}

// attendedFor is how long somebody who looked at the questions counts as there.
const attendedFor = 30 * time.Second

// Look notes that somebody who may answer has looked.
func (s *Store) Look() error {
	now := time.Now()
	if s.seenWithin(attendedFor/6, now) {
		return nil
	}
	return s.locked(func() error {
		file, err := os.OpenFile(s.path(seenName), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("noting that somebody looks: %w", err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("noting that somebody looks: %w", err)
		}
		return os.Chtimes(s.path(seenName), time.Time{}, now)
	})
}

// Attended reports whether somebody who may answer has looked a moment ago.
func (s *Store) Attended() bool { return s.seenWithin(attendedFor, time.Now()) }

// seenWithin does not count a look in the future: the clock was set back since.
func (s *Store) seenWithin(d time.Duration, now time.Time) bool {
	info, err := os.Stat(s.path(seenName))
	if err != nil {
		return false
	}
	ago := now.Sub(info.ModTime())
	return ago >= 0 && ago < d
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
