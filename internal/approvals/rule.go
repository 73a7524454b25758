package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Like describes the other calls that a rule allows. The zero Like allows only calls with
// exactly the same arguments.
type Like struct {
	Match map[string]string `json:"match,omitzero"` // patterns of string arguments
	Any   []string          `json:"any,omitzero"`   // arguments with any value
}

// A Rule allows similar calls without a question.
type Rule struct {
	ID        string            `json:"id"`
	Scope     Scope             `json:"scope"`
	Tool      string            `json:"tool"`
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Risk      string            `json:"risk"`             // the maximum risk
	Basis     string            `json:"basis,omitzero"`   // digest of the facts
	Session   string            `json:"session,omitzero"` // if the scope is session
	Owner     string            `json:"owner,omitzero"`   // the server process, if the scope is session
	Digest    string            `json:"digest,omitzero"`  // of the call, if no argument may differ
	Same      map[string]string `json:"same,omitzero"`    // digests of arguments that must be equal
	Like
	Shown   string    `json:"arguments"` // of the call in the question
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	By      string    `json:"by,omitzero"`
	Channel string    `json:"channel"`
}

const (
	// DefaultAge and MaxAge limit rules of scope always.
	DefaultAge = 30 * 24 * time.Hour
	MaxAge     = 366 * 24 * time.Hour
	// sessionAge limits rules of scope session; a session may last for weeks.
	sessionAge = 12 * time.Hour
	maxRules   = 1000
	maxLike    = 20
)

// A RuleError is the reason why a rule cannot be made.
type RuleError struct{ error }

// Unwrap returns the reason.
func (e RuleError) Unwrap() error { return e.error }

// newRule returns the rule of an approval.
func newRule(q *Question, a Answer, by Approver, now time.Time) (*Rule, error) {
	r := &Rule{
		ID: ask.NewID(), Scope: a.Scope, Tool: q.Tool, Principal: q.Principal, Agent: q.Agent, User: q.User,
		Profile: q.Profile, Workspace: q.Workspace, Risk: q.Risk, Basis: q.Basis, Like: a.Like, Shown: q.Shown,
		Created: now, Expires: a.Until.UTC(), By: by.Name, Channel: by.Channel,
	}
	if a.Scope == Session {
		r.Session, r.Owner, r.Expires = q.Session, q.Owner, now.Add(sessionAge)
	} else if a.Until.IsZero() {
		r.Expires = now.Add(DefaultAge)
	}
	if err := errors.Join(r.check(q, now), r.setConditions(q)); err != nil {
		return nil, RuleError{err}
	}
	return r, nil
}

func (r *Rule) check(q *Question, now time.Time) error {
	switch {
	case q.Once:
		return ErrOnce
	case r.Scope != Session && r.Scope != Always:
		return fmt.Errorf("the scope %q cannot have a rule", r.Scope)
	case !r.Expires.After(now) || r.Expires.After(now.Add(MaxAge)):
		return fmt.Errorf("a rule must expire within a year, not at %s", r.Expires.Format(time.RFC3339))
	}
	return nil
}

// setConditions sets the conditions that the call in the question must meet.
func (r *Rule) setConditions(q *Question) error {
	if len(r.Match) == 0 && len(r.Any) == 0 {
		r.Digest = q.Digest
		return nil
	}
	if len(r.Match)+len(r.Any) > maxLike {
		return fmt.Errorf("a rule can have at most %d patterns", maxLike)
	}
	r.Same = maps.Clone(q.Parts)
	for name, pattern := range r.Match {
		if _, there := q.Parts[name]; !there {
			return fmt.Errorf("the call has no argument %q", name)
		}
		if err := checkPattern(pattern); err != nil {
			return err
		}
		if slices.Contains(r.Any, name) {
			return fmt.Errorf("the argument %q is in match and in any; use one of them", name)
		}
		delete(r.Same, name)
	}
	for _, name := range r.Any {
		if _, there := q.Parts[name]; !there {
			return fmt.Errorf("the call has no argument %q", name)
		}
		delete(r.Same, name)
	}
	return nil
}

// allows reports whether the rule allows a call of this process.
func (r *Rule) allows(c *Call, me string, now time.Time) bool {
	if c.Once || !now.Before(r.Expires) || r.Tool != c.Tool || r.Principal != c.Principal || r.Profile != c.Profile ||
		r.Workspace != c.Workspace || r.Basis != c.Basis || rank(c.Risk) > rank(r.Risk) {
		return false
	}
	if r.Scope == Session && (r.Session != c.Session || r.Owner != me) {
		return false
	}
	if r.Digest != "" {
		return r.Digest == c.Digest
	}
	return r.fits(c)
}

// fits compares the arguments: each must be equal, match its pattern, or be in
// Any; and no argument may be missing.
func (r *Rule) fits(c *Call) bool {
	parts, err := argDigests(c.Args)
	if err != nil {
		return false
	}
	for name := range r.Same {
		if parts[name] != r.Same[name] {
			return false
		}
	}
	var values map[string]json.RawMessage
	if len(r.Match) > 0 && json.Unmarshal(c.Args, &values) != nil {
		return false
	}
	for name, pattern := range r.Match {
		var text string
		if json.Unmarshal(values[name], &text) != nil || !matchesPattern(pattern, text) {
			return false
		}
	}
	for name := range parts {
		_, same := r.Same[name]
		_, match := r.Match[name]
		if !same && !match && !slices.Contains(r.Any, name) {
			return false
		}
	}
	return true
}

// rank orders risks. An unknown risk is the highest.
func rank(risk string) int {
	for r := tool.Reads; r.Valid(); r++ {
		if r.String() == risk {
			return int(r)
		}
	}
	return int(tool.Runs) + 1
}

const (
	// validRules selects rules that may allow a call.
	validRules  = "expires > {{now}}"
	ruleColumns = "id, scope, owner, principal, tool, rule"
)

// Allowed returns the rule that allows a call, if there is one.
func (s *Store) Allowed(ctx context.Context, c Call) (Rule, bool, error) {
	rules, err := s.rules(ctx, "principal = $1 AND tool = $2 AND ", c.Principal, c.Tool)
	now := time.Now()
	for i := range rules {
		if err == nil && rules[i].allows(&c, s.desk.ID(), now) {
			return rules[i], true, nil
		}
	}
	return Rule{}, false, err
}

// Rules returns all valid rules, the oldest first.
func (s *Store) Rules(ctx context.Context) ([]Rule, error) { return s.rules(ctx, "") }

// rules returns the valid rules that a condition selects. If one cannot be decoded it returns none.
func (s *Store) rules(ctx context.Context, where string, args ...any) ([]Rule, error) {
	if s.DB.Unused() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return store.Select(ctx, s.DB, "SELECT "+ruleColumns+" FROM approval_rule WHERE "+where+validRules+
		" ORDER BY created, id", args, scanRule)
}

// Forget removes a valid rule and returns it, or its id and tool if it cannot be decoded.
func (s *Store) Forget(ctx context.Context, id string) (removed Rule, err error) {
	if !ask.IsID(id) {
		return Rule{}, ErrUnknown
	}
	err = s.update(ctx, func(t *store.Tx) error {
		removed = Rule{ID: id}
		const where = " FROM approval_rule WHERE id = $1 AND " + validRules
		if err := t.Row("SELECT tool"+where, []any{id}, &removed.Tool); err != nil {
			return err
		}
		if r, err := scanRule(func(into ...any) error {
			return t.Row("SELECT "+ruleColumns+where, []any{id}, into...)
		}); err == nil {
			removed = r
		}
		return dropRule(t, id)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = ErrUnknown
	}
	if err != nil {
		return Rule{}, err
	}
	return removed, nil
}

// lockRules keeps other transactions from adding rules. It returns an error if there is no
// room for one more.
func lockRules(t *store.Tx) error {
	if err := t.Lock(rulesLatch); err != nil {
		return err
	}
	var n int
	if err := t.Row("SELECT count(*) FROM approval_rule WHERE "+validRules, nil, &n); err != nil {
		return err
	}
	if n >= maxRules {
		return RuleError{fmt.Errorf("there are already %d rules; remove one with mcp-tools approvals forget", maxRules)}
	}
	return nil
}

// rulesLatch is the name of the lock of the rules.
const rulesLatch = "approvals"

// addRule adds the row of a rule. Its columns repeat fields of the rule, and must be equal.
func addRule(t *store.Tx, r *Rule) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding a rule: %w", err)
	}
	_, err = t.Exec("INSERT INTO approval_rule ("+ruleColumns+
		", created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		r.ID, string(r.Scope), r.Owner, r.Principal, r.Tool, string(text), store.Millis(r.Created),
		store.Millis(r.Expires))
	return err
}

// scanRule reads a rule. Unknown fields are an error, because they may restrict the rule.
func scanRule(scan store.Scan) (r Rule, err error) {
	var c Rule // of the columns
	var text string
	if err := scan(&c.ID, &c.Scope, &c.Owner, &c.Principal, &c.Tool, &text); err != nil {
		return r, err
	}
	err = jsonv2.Unmarshal([]byte(text), &r, jsonv2.RejectUnknownMembers(true))
	if err == nil && (r.ID != c.ID || r.Scope != c.Scope || r.Principal != c.Principal || r.Tool != c.Tool ||
		r.Owner != c.Owner) {
		err = errors.New("its columns differ")
	}
	if err != nil {
		return Rule{}, fmt.Errorf("cannot decode rule %s: %w; remove it with mcp-tools approvals forget", c.ID, err)
	}
	return r, nil
}

func dropRule(t *store.Tx, id string) error {
	_, err := t.Exec("DELETE FROM approval_rule WHERE id = $1", id)
	return err
}
