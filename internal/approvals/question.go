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

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Call is the call that an approver decides about.
type Call struct {
	Call      string            `json:"call"` // id in the audit log
	Tool      string            `json:"tool"`
	Title     string            `json:"title"`
	Risk      string            `json:"risk"`
	Why       string            `json:"why,omitzero"`  // reason for the risk
	Kept      bool              `json:"kept,omitzero"` // undo restores what the call destroys
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Session   string            `json:"session"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Shown     string            `json:"arguments"`      // all arguments, in the form that may be shown
	Facts     map[string]string `json:"facts,omitzero"` // other facts to decide on, in the form that may be shown
	Basis     string            `json:"basis,omitzero"` // digest of the facts
	Digest    string            `json:"digest"`         // of the tool and its arguments
	Once      bool              `json:"once,omitzero"`  // no rule may be made of it
	Args      json.RawMessage   `json:"-"`              // never stored
}

// IdentityFact is the name of the fact that identifies the files of a call. It means nothing
// to a person.
const IdentityFact = "identity"

// Effect returns what the call does, in words for a person.
func (c Call) Effect() string {
	switch c.Risk {
	case "reads":
		return "only reads"
	case "writes":
		return "changes something, and the change can be undone"
	case "destroys":
		if c.Kept {
			return "deletes or overwrites files; undo restores them for 30 days, except those over 4 MiB or ignored by git"
		}
		return "deletes or overwrites data, which cannot be undone"
	}
	return "runs code, or acts in your name"
}

// A State is the state of a question.
type State string

// The states of a question.
const (
	Open    State = "open"
	Allowed State = "allowed"
	Denied  State = "denied"
	Used    State = "used"    // allowed, and the call was made
	Expired State = "expired" // open, but it has expired
)

// A Question is a call that waits for a decision.
type Question struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	Call
	Parts    map[string]string `json:"parts"` // digests of the arguments
	Owner    string            `json:"owner"` // the process that asks
	Asked    time.Time         `json:"asked"`
	Expires  time.Time         `json:"expires"`
	Decision *Decision         `json:"decision,omitzero"`
}

// closedErr returns why the question cannot be answered, or nil if it is open.
func (q *Question) closedErr() error {
	switch q.State {
	case Open:
		return nil
	case Allowed, Denied, Used:
		return ErrAnswered
	}
	return ErrExpired
}

// An Approver answers questions. The zero Approver sees every question; one with
// an agent or a user sees only theirs.
type Approver struct {
	Agent, User string
	Name        string // for the audit log
	Channel     string // for example cli or http
}

func (a Approver) sees(q *Question) bool {
	return (a.Agent == "" || a.Agent == q.Agent) && (a.User == "" || a.User == q.User)
}

// storedCall is the JSON of a question.
type storedCall struct {
	Call
	Parts map[string]string `json:"parts"`
}

// Ask adds a question until it expires, and returns its id. It ends with this
// process.
func (s *Store) Ask(ctx context.Context, c Call, expires time.Time) (id string, err error) {
	parts, err := argDigests(c.Args)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(storedCall{c, parts})
	if err != nil {
		return "", fmt.Errorf("encoding a question: %w", err)
	}
	if err := s.Sweep(ctx); err != nil {
		return "", err
	}
	q := questionRow{ID: newID(), Owner: s.me, Principal: c.Principal, Call: string(text)}
	if err := s.rows.Add(ctx, q, len(c.Shown), time.Until(expires)); err != nil {
		return "", err
	}
	s.beating.Do(func() { s.done.Go(s.beat) })
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return q.ID, nil
}

// Sweep removes closed questions and the questions of dead processes. Ask and
// MarkAttended call it too.
func (s *Store) Sweep(ctx context.Context) error { return s.rows.Sweep(ctx, keepClosed, maxClosed) }

// List returns the open questions that who may see, the oldest first.
func (s *Store) List(ctx context.Context, who Approver) ([]Question, error) {
	all, err := s.rows.Open(ctx)
	if err != nil {
		return nil, err
	}
	var open []Question
	for _, kept := range all {
		// skip those that cannot be decoded, and so not be approved
		if q, err := questionOf(kept); err == nil && who.sees(&q) {
			open = append(open, q)
		}
	}
	return open, nil
}

// Get returns one question that who may see, open or closed.
func (s *Store) Get(ctx context.Context, id string, who Approver) (Question, error) {
	q, lives, err := s.get(ctx, id)
	return seen(q, lives, err, who)
}

// GetIn does what Get does, in a transaction of the caller.
func (s *Store) GetIn(t *store.Tx, id string, who Approver) (Question, error) {
	q, lives, err := getIn(t, id)
	return seen(q, lives, err, who)
}

func seen(q Question, lives bool, err error, who Approver) (Question, error) {
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
	if s.DB.Unused() {
		return q, false, ErrUnknown
	}
	err = s.rows.view(ctx, func(t *store.Tx) error {
		q, lives, err = getIn(t, id)
		return err
	})
	return q, lives, err
}

func getIn(t *store.Tx, id string) (q Question, lives bool, err error) {
	if !isID(id) {
		return q, false, ErrUnknown
	}
	kept, lives, err := getRow(t, id)
	if errors.Is(err, store.ErrNotFound) {
		return q, false, ErrUnknown
	}
	if err == nil {
		q, err = questionOf(kept)
	}
	return q, lives, err
}

// questionOf decodes a row. Unknown fields are an error, because they may restrict
// what is allowed.
func questionOf(k questionRow) (Question, error) {
	var c storedCall
	q := Question{ID: k.ID, State: k.State, Owner: k.Owner, Asked: k.Asked.UTC(), Expires: k.Expires.UTC()}
	err := jsonv2.Unmarshal([]byte(k.Call), &c, jsonv2.RejectUnknownMembers(true))
	if err == nil && k.Decision != "" {
		q.Decision = new(Decision)
		err = jsonv2.Unmarshal([]byte(k.Decision), q.Decision, jsonv2.RejectUnknownMembers(true))
		q.Decision.At = k.Decided.UTC()
	}
	if err == nil && c.Principal != k.Principal {
		err = errors.New("it has another principal")
	}
	if err != nil {
		return Question{}, fmt.Errorf("cannot decode question %s: %w", k.ID, err)
	}
	q.Call, q.Parts = c.Call, c.Parts
	return q, nil
}

// Changed returns a channel that is closed when there may be a new question or
// a new answer.
func (s *Store) Changed() <-chan struct{} { return s.DB.Wait(Topic) }

// retryEvery is the delay of Await after an error of the store.
const retryEvery = 500 * time.Millisecond

// Await returns when the question is not open or ctx ends.
func (s *Store) Await(ctx context.Context, id string) error {
	defer s.DB.Urgent()()
	for isID(id) {
		changed := s.DB.Wait(Topic)
		state, left, err := s.rows.State(ctx, id)
		if err == nil && state != Open {
			return nil // Take returns the result
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

// argDigests returns the digest of each argument. A rule compares them, so that
// values need not be stored.
func argDigests(args json.RawMessage) (map[string]string, error) {
	values := make(map[string]json.RawMessage)
	if len(args) > 0 {
		if err := json.Unmarshal(args, &values); err != nil {
			return nil, fmt.Errorf("the arguments are not an object: %w", err)
		}
	}
	parts := make(map[string]string, len(values))
	for name, value := range values {
		sum := sha256.Sum256(value)
		parts[name] = hex.EncodeToString(sum[:])
	}
	return parts, nil
}
