package store

import (
	"context"
	"errors"
	"time"
)

// An ApprovalRule is the row of a rule. Like [Token] it has no name of its own.
type ApprovalRule = struct {
	ID        string
	Scope     string // those of scope session end with their owner
	Owner     string
	Principal string
	Tool      string
	Rule      string // JSON
	Created   time.Time
	Expires   time.Time
}

// An ApprovalAnswer is what becomes of a question. It has no name of its own
// either.
type ApprovalAnswer = struct {
	ID       string
	From, To string // states
	Decision string // JSON
	Rule     *ApprovalRule
	Drop     string // the id of a rule that a former answer made
}

const ruleColumns = "id, scope, owner, principal, tool, rule, created, expires"

// ruleCounts holds for rules that may still allow something.
const ruleCounts = "expires > {{now}} AND (scope <> 'session' OR " + ownerLives + ")"

// Answer changes a question from one state to another, unless somebody was
// faster, it has expired, or its process is gone. A rule is made with it, unless
// there is no room beside those that count.
func (a Approvals) Answer(ctx context.Context, w ApprovalAnswer, room func(rules int) bool) (done, full bool, err error) {
	err = a.store.Update(ctx, func(t *Tx) error {
		done, full = false, false
		if w.Rule != nil {
			if err := t.Lock(ApprovalTopic); err != nil {
				return err
			}
			var n int
			if err := t.Row("SELECT count(*) FROM approval_rule WHERE "+ruleCounts, nil, &n); err != nil {
				return err
			}
			if full = !room(n); full {
				return nil
			}
		}
		n, err := t.Exec(`UPDATE approval SET state = $3, decision = $4, decided = {{now}}
			WHERE id = $1 AND state = $2 AND (state <> 'open' OR expires > {{now}}) AND `+ownerLives, w.ID, w.From, w.To, w.Decision)
		if done = n > 0; err != nil || !done {
			return err
		}
		return errors.Join(t.dropRule(w.Drop), t.addRule(w.Rule), t.Changed(ApprovalTopic, w.ID))
	})
	return done && err == nil, full && err == nil, err
}

func (t *Tx) addRule(r *ApprovalRule) error {
	if r == nil {
		return nil
	}
	_, err := t.Exec("INSERT INTO approval_rule ("+ruleColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		r.ID, r.Scope, r.Owner, r.Principal, r.Tool, r.Rule, Millis(r.Created), Millis(r.Expires))
	return err
}

func (t *Tx) dropRule(id string) error {
	if id == "" {
		return nil
	}
	_, err := t.Exec("DELETE FROM approval_rule WHERE id = $1", id)
	return err
}

// Rules returns all rules that count, the oldest first.
func (a Approvals) Rules(ctx context.Context) ([]ApprovalRule, error) {
	return a.rules(ctx, ruleCounts+" ORDER BY created, id")
}

// RulesFor returns the rules that count for calls of a tool by a principal.
func (a Approvals) RulesFor(ctx context.Context, principal, tool string) ([]ApprovalRule, error) {
	return a.rules(ctx, "principal = $1 AND tool = $2 AND "+ruleCounts+" ORDER BY created, id", principal, tool)
}

func (a Approvals) rules(ctx context.Context, where string, args ...any) (list []ApprovalRule, err error) {
	err = a.store.View(ctx, func(t *Tx) (err error) {
		list, err = t.rules(where, args...)
		return err
	})
	return list, err
}

func (t *Tx) rules(where string, args ...any) (list []ApprovalRule, err error) {
	err = t.Each("SELECT "+ruleColumns+" FROM approval_rule WHERE "+where, args, func(scan func(...any) error) error {
		var r ApprovalRule
		var created, expires int64
		if err := scan(&r.ID, &r.Scope, &r.Owner, &r.Principal, &r.Tool, &r.Rule, &created, &expires); err != nil {
			return err
		}
		r.Created, r.Expires = FromMillis(created), FromMillis(expires)
		list = append(list, r)
		return nil
	})
	return list, err
}

// Forget removes a rule that counts.
func (a Approvals) Forget(ctx context.Context, id string) (gone ApprovalRule, found bool, err error) {
	err = a.store.Update(ctx, func(t *Tx) error {
		list, err := t.rules("id = $1 AND "+ruleCounts, id)
		if found = len(list) > 0; err != nil || !found {
			return err
		}
		gone = list[0]
		return t.dropRule(id)
	})
	return gone, found, err
}
