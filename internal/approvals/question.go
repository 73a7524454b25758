package approvals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Call is what a person is asked about.
type Call struct {
	Call      string            `json:"call"` // as the audit log knows it
	Tool      string            `json:"tool"`
	Title     string            `json:"title"`
	Risk      string            `json:"risk"`
	Why       string            `json:"why,omitzero"` // the tool's reason for the risk
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Session   string            `json:"session"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Shown     string            `json:"arguments"`      // all of them, as a person may see them
	Facts     map[string]string `json:"facts,omitzero"` // what else the word rests on, as it may be seen
	Basis     string            `json:"basis,omitzero"` // digest of the facts
	Digest    string            `json:"digest"`         // of the tool and its exact arguments
	Once      bool              `json:"once,omitzero"`  // it can only be allowed once
	Args      json.RawMessage   `json:"-"`              // exactly; never written down
}

// A State says how far a question is.
type State string

// The states of a question.
const (
	Open    State = "open"
	Allowed State = "allowed"
	Denied  State = "denied"
	Used    State = "used"    // allowed, and the call was made
	Expired State = "expired" // open past its time
)

// A Question is a call that waits for a person's word.
type Question struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	Call
	Parts    map[string]string `json:"parts"` // digest of each argument
	Owner    string            `json:"owner"` // the process that asks
	Asked    time.Time         `json:"asked"`
	Expires  time.Time         `json:"expires"`
	Decision *Decision         `json:"decision,omitzero"`
}

// untrack says why the question cannot be answered any more; nil while it can.
func (q *Question) closedErr() error {
	switch q.State {
	case Open:
		return nil
	case Allowed, Denied, Used:
		return ErrAnswered
	}
	return ErrExpired
}

// An Approver is somebody who answers. The zero Approver sees every question;
// with an agent or a user it sees only those.
type Approver struct {
	Agent, User string
	Name        string // who it is, for the record
	Channel     string // by which way it answers
}

func (a Approver) sees(q *Question) bool {
	return (a.Agent == "" || a.Agent == q.Agent) && (a.User == "" || a.User == q.User)
}

// storedCall is what is written down of a call.
type storedCall struct {
	Call
	Parts map[string]string `json:"parts"`
}

// Add lays a question out until it expires, and returns its id. It belongs to
// this process, and ends with it.
func (s *Store) Ask(ctx context.Context, c Call, expires time.Time) (id string, err error) {
	parts, err := argDigests(c.Args)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(storedCall{c, parts})
	if err != nil {
		return "", fmt.Errorf("writing a question: %w", err)
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if err := s.Sweep(ctx); err != nil {
		return "", err
	}
	q := questionRow{ID: newID(), Owner: s.me, Principal: c.Principal, Size: len(c.Shown), Call: string(text)}
	laid, err := s.rows.Add(ctx, q, time.Until(expires), lease, room(len(c.Shown)))
	if err != nil {
		return "", err
	}
	if !laid {
		return "", ErrTooMany
	}
	s.track(q.ID, expires.Add(s.takeGrace))
	return q.ID, nil
}

// Sweep removes what is over and what those left who are gone. Asking and looking
// do that too.
func (s *Store) Sweep(ctx context.Context) error { return s.rows.Sweep(ctx, keepClosed, maxClosed) }

// room says whether one more question may wait beside the others. Who decides
// reads all of them, again and again, so their texts are bounded too.
func room(size int) func(open, own, text, ownText int) bool {
	return func(open, own, text, ownText int) bool {
		return open < maxOpen && own < maxOpenEach && text+size <= maxOpenText && ownText+size <= maxOpenTextEach
	}
}

// List returns the open questions that who sees, the oldest first.
func (s *Store) List(ctx context.Context, who Approver) ([]Question, error) {
	if s.Unused() {
		return nil, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	all, err := s.rows.Open(ctx)
	if err != nil {
		return nil, err
	}
	var open []Question
	for _, kept := range all {
		if q, err := questionOf(kept); err == nil && who.sees(&q) { // what cannot be read can be approved by nobody
			open = append(open, q)
		}
	}
	return open, nil
}

// Get returns one question that who sees, also one that is over.
func (s *Store) Get(ctx context.Context, id string, who Approver) (Question, error) {
	if s.Unused() {
		return Question{}, ErrUnknown
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	q, lives, err := s.get(ctx, id)
	if err == nil && (!lives || !who.sees(&q)) {
		err = ErrUnknown
	}
	if err != nil {
		return Question{}, err
	}
	return q, nil
}

// get returns one question, and whether its process lives.
func (s *Store) get(ctx context.Context, id string) (q Question, lives bool, err error) {
	if !isID(id) {
		return q, false, ErrUnknown
	}
	kept, lives, found, err := s.rows.Get(ctx, id)
	if err != nil {
		return q, false, err
	}
	if !found {
		return q, false, ErrUnknown
	}
	q, err = questionOf(kept)
	return q, lives, err
}

// questionOf reads what was kept. It is strict: a word in it that nobody knows
// may be one that narrows what is allowed.
func questionOf(k questionRow) (Question, error) {
	var c storedCall
	q := Question{ID: k.ID, State: State(k.State), Owner: k.Owner, Asked: k.Asked.UTC(), Expires: k.Expires.UTC()}
	err := jsonv2.Unmarshal([]byte(k.Call), &c, jsonv2.RejectUnknownMembers(true))
	if err == nil && k.Decision != "" {
		q.Decision = new(Decision)
		err = jsonv2.Unmarshal([]byte(k.Decision), q.Decision, jsonv2.RejectUnknownMembers(true))
		q.Decision.At = k.Decided.UTC()
	}
	if err == nil && c.Principal != k.Principal {
		err = errors.New("it is for somebody else")
	}
	if err != nil {
		return Question{}, fmt.Errorf("question %s cannot be understood: %w", k.ID, err)
	}
	q.Call, q.Parts = c.Call, c.Parts
	return q, nil
}

// Changed returns a channel that is closed when there may be another question,
// or an answer to one.
func (s *Store) Changed() <-chan struct{} { return s.rows.Wait() }

// retryEvery is how soon one who waits asks again when the rows did not answer.
const retryEvery = 500 * time.Millisecond

// Await returns when the question is open no more, or ctx ends.
func (s *Store) Await(ctx context.Context, id string) error {
	for isID(id) {
		changed := s.rows.Wait()
		state, left, found, err := s.rows.State(ctx, id)
		if err == nil && (!found || State(state) != Open) {
			return nil // whoever takes it finds out
		}
		if err != nil {
			left = retryEvery
		}
		late := time.NewTimer(left + time.Millisecond)
		select {
		case <-changed:
		case <-late.C:
		case <-ctx.Done():
		}
		late.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// argDigests is the digest of each argument, so that a rule can say which must be
// the same without anybody having to keep their values.
func argDigests(args json.RawMessage) (map[string]string, error) {
	values := make(map[string]json.RawMessage)
	if len(args) > 0 {
		if err := json.Unmarshal(args, &values); err != nil {
			return nil, fmt.Errorf("the arguments are no object: %w", err)
		}
	}
	parts := make(map[string]string, len(values))
	for name, value := range values {
		sum := sha256.Sum256(value)
		parts[name] = hex.EncodeToString(sum[:])
	}
	return parts, nil
}
