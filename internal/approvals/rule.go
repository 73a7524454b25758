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

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Like says which calls beside the one that was asked about a yes is good for.
// The zero Like means: only those with exactly the same arguments.
type Like struct {
	Match map[string]string `json:"match,omitzero"` // patterns for arguments that are texts
	Any   []string          `json:"any,omitzero"`   // arguments that may be anything
}

// A Rule is a yes that outlives its question.
type Rule struct {
	ID        string            `json:"id"`
	Scope     Scope             `json:"scope"`
	Tool      string            `json:"tool"`
	Principal string            `json:"principal"`
	Agent     string            `json:"agent,omitzero"`
	User      string            `json:"user,omitzero"`
	Profile   string            `json:"profile"`
	Workspace string            `json:"workspace,omitzero"`
	Risk      string            `json:"risk"`             // no call of a higher one
	Basis     string            `json:"basis,omitzero"`   // digest of the facts
	Session   string            `json:"session,omitzero"` // of scope session
	Owner     string            `json:"owner,omitzero"`   // likewise: the server, as long as it lives
	Digest    string            `json:"digest,omitzero"`  // of the exact call, when nothing in it may differ
	Same      map[string]string `json:"same,omitzero"`    // digests of arguments that must be the same
	Like
	Shown   string    `json:"arguments"` // of the call that was asked about
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	By      string    `json:"by,omitzero"`
	Channel string    `json:"channel"`
}

const (
	// DefaultAge and MaxAge bound rules for always.
	DefaultAge = 30 * 24 * time.Hour
	MaxAge     = 366 * 24 * time.Hour
	// sessionAge bounds those for a session, which may go on for weeks.
	sessionAge = 12 * time.Hour
	maxRules   = 1000
	maxLike    = 20
)

// A RuleError says why a yes cannot make the rule that it wants to.
type RuleError struct{ error }

// Unwrap returns what is wrong.
func (e RuleError) Unwrap() error { return e.error }

// newRule makes a rule of a yes.
func newRule(q *Question, a Answer, by Approver, now time.Time) (*Rule, error) {
	r := &Rule{
		ID: newID(), Scope: a.Scope, Tool: q.Tool, Principal: q.Principal, Agent: q.Agent, User: q.User,
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
		return fmt.Errorf("no rule has the scope %q", r.Scope)
	case !r.Expires.After(now) || r.Expires.After(now.Add(MaxAge)):
		return fmt.Errorf("a rule ends between now and in a year, not at %s", r.Expires.Format(time.RFC3339))
	}
	return nil
}

// setConditions fills in what must be the same as in the call that was asked about.
func (r *Rule) setConditions(q *Question) error {
	if len(r.Match) == 0 && len(r.Any) == 0 {
		r.Digest = q.Digest
		return nil
	}
	if len(r.Match)+len(r.Any) > maxLike {
		return fmt.Errorf("a rule has at most %d patterns", maxLike)
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
			return fmt.Errorf("the argument %q has a pattern, and may be anything: say one of the two", name)
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

// allows reports whether the rule is good for a call of this process.
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

// matchesPattern compares argument by argument: each must be the same, be like its
// pattern, or be free; and none may be missing that was there.
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

// rank orders risks. One that nobody knows is above all.
func rank(risk string) int {
	for r := tool.Reads; r.Valid(); r++ {
		if r.String() == risk {
			return int(r)
		}
	}
	return int(tool.Runs) + 1
}

// Allowed returns the rule under which a call may be made, if there is one.
func (s *Store) Allowed(ctx context.Context, c Call) (Rule, bool, error) {
	if s.Unused() {
		return Rule{}, false, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	kept, err := s.rows.RulesFor(ctx, c.Principal, c.Tool)
	if err != nil {
		return Rule{}, false, err
	}
	rules, err := rulesOf(kept)
	if err != nil {
		return Rule{}, false, err
	}
	now := time.Now()
	for i := range rules {
		if rules[i].allows(&c, s.me, now) {
			return rules[i], true, nil
		}
	}
	return Rule{}, false, nil
}

// Rules returns all rules that count, the oldest first.
func (s *Store) Rules(ctx context.Context) (rules []Rule, err error) {
	if s.Unused() {
		return nil, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	kept, err := s.rows.Rules(ctx)
	if err != nil {
		return nil, err
	}
	return rulesOf(kept)
}

// Forget ends a rule.
func (s *Store) Forget(ctx context.Context, id string) (gone Rule, err error) {
	if s.Unused() || !isID(id) {
		return gone, ErrUnknown
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	kept, found, err := s.rows.Forget(ctx, id)
	if err != nil {
		return gone, err
	}
	if !found {
		return gone, ErrUnknown
	}
	if gone, err = ruleOf(kept); err != nil {
		return Rule{ID: kept.ID, Tool: kept.Tool}, nil // whatever it was
	}
	return gone, nil
}

// row is the rule as it is kept.
func (r *Rule) row() (*ruleRow, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing a rule: %w", err)
	}
	return &ruleRow{
		ID: r.ID, Scope: string(r.Scope), Owner: r.Owner, Principal: r.Principal, Tool: r.Tool, Rule: string(text),
		Created: r.Created, Expires: r.Expires,
	}, nil
}

// rulesOf reads what was kept. One rule that cannot be understood is enough for
// none of them to count: it may be one that narrows what another allows.
func rulesOf(kept []ruleRow) ([]Rule, error) {
	rules := make([]Rule, len(kept))
	for i, k := range kept {
		var err error
		if rules[i], err = ruleOf(k); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// ruleOf reads one. It is strict: a word in it that nobody knows may be one that
// narrows what is allowed.
func ruleOf(k ruleRow) (r Rule, err error) {
	err = jsonv2.Unmarshal([]byte(k.Rule), &r, jsonv2.RejectUnknownMembers(true))
	if err == nil && (r.ID != k.ID || string(r.Scope) != k.Scope || r.Principal != k.Principal || r.Tool != k.Tool || r.Owner != k.Owner) {
		err = errors.New("it is another one")
	}
	if err != nil {
		return Rule{}, fmt.Errorf("rule %s cannot be understood: %w; mcp-tools approvals forget removes it", k.ID, err)
	}
	return r, nil
}
