package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/ask"
)

// A Call is the call that an approver decides about.
type Call struct {
	Call      string            `json:"call"` // id in the audit log
	Tool      string            `json:"tool"`
	Title     string            `json:"title"`
	Risk      string            `json:"risk"`
	Why       string            `json:"why,omitzero"`  // reason for the risk
	Kept      bool              `json:"kept,omitzero"` // undo restores the files that the call destroys
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Session   string            `json:"session"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Shown     string            `json:"arguments"`         // all arguments, in the form that may be shown
	Facts     map[string]string `json:"facts,omitzero"`    // other facts to decide on, in the form that may be shown
	Basis     string            `json:"basis,omitzero"`    // digest of the facts
	Digest    string            `json:"digest"`            // of the tool and its arguments
	Once      bool              `json:"once,omitzero"`     // no rule may be made of it
	Editable  bool              `json:"editable,omitzero"` // a person may change the arguments
	Args      json.RawMessage   `json:"-"`                 // never stored
	Check     Check             `json:"-"`                 // of changes of the arguments; nil: they cannot be changed
}

// IdentityFact is the name of the fact that identifies the files of a call. It means nothing
// to a person.
const IdentityFact = "identity"

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
	Edited   *Edit             `json:"edited,omitzero"` // the last change by a person
	Decision *Decision         `json:"decision,omitzero"`

	proposal *proposal // a change that is not in the call
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
	Parts    map[string]string `json:"parts"`
	Edited   *Edit             `json:"edited,omitzero"`
	Proposal *proposal         `json:"proposal,omitzero"`
}

// Decode returns the approval in a question of package ask. Unknown fields are an error, because they may
// restrict the approval.
func Decode(row ask.Question) (Question, error) {
	var c storedCall
	q := Question{
		ID: row.ID, State: State(row.State), Owner: row.Owner, Asked: row.Asked.UTC(), Expires: row.Expires.UTC(),
	}
	err := jsonv2.Unmarshal([]byte(row.Body), &c, jsonv2.RejectUnknownMembers(true))
	if err == nil && row.Answer != "" {
		q.Decision = new(Decision)
		err = jsonv2.Unmarshal([]byte(row.Answer), q.Decision, jsonv2.RejectUnknownMembers(true))
		q.Decision.At = row.Ended.UTC()
	}
	switch {
	case err != nil:
	case c.Agent != row.Agent || c.User != row.User:
		err = errors.New("it has another caller")
	case row.State == ask.Answered || row.State == ask.Used:
		if q.Decision == nil {
			err = errors.New("it has no decision")
		} else if !q.Decision.Allow {
			q.State = Denied
		} else if row.State == ask.Answered {
			q.State = Allowed
		}
	}
	if err != nil {
		return Question{}, fmt.Errorf("cannot decode question %s: %w", row.ID, err)
	}
	q.Call, q.Parts, q.Edited, q.proposal = c.Call, c.Parts, c.Edited, c.Proposal
	return q, nil
}

// about reports whether the question is about exactly this call.
func (q *Question) about(c Call) bool {
	return q.Digest != "" && q.Digest == c.Digest && q.Basis == c.Basis && q.Tool == c.Tool &&
		q.Principal == c.Principal &&
		q.Session == c.Session && q.Profile == c.Profile && q.Workspace == c.Workspace && rank(c.Risk) <= rank(q.Risk)
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
