package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// rows are the questions and rules in a store, shared by all processes and
// machines with that store. A question is valid until it expires and while the
// lease of its process lasts, both by the clock of the database.
type rows struct{ store *store.Store }

// rowsTimeout limits each operation on the store.
const rowsTimeout = 15 * time.Second

func (s rows) update(ctx context.Context, f func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	return s.store.Update(ctx, f)
}

// view calls f in a transaction that reads, unless there is no store yet.
func (s rows) view(ctx context.Context, f func(*store.Tx) error) error {
	if s.store.Unused() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	return s.store.View(ctx, f)
}

// row reads one row. If there is no store yet the error is [store.ErrNotFound].
func (s rows) row(ctx context.Context, text string, args []any, into ...any) error {
	if s.store.Unused() {
		return store.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, rowsTimeout)
	defer cancel()
	return s.store.Row(ctx, text, args, into...)
}

// Topic is the feed topic of questions that were added, answered or withdrawn.
// The keys are their ids.
const Topic = "approvals"

// A questionRow is the row of a question.
type questionRow struct {
	ID        string
	Owner     string // the process that asks
	Principal string // the caller
	Call      string // JSON
	State     State
	Decision  string // JSON, or ""
	Asked     time.Time
	Expires   time.Time
	Decided   time.Time
}

const (
	// currentState is the state of a question at this moment.
	currentState = "CASE WHEN state = 'open' AND expires <= {{now}} THEN 'expired' ELSE state END"
	// ownerLives selects rows of processes with a valid lease.
	ownerLives = "owner IN (SELECT id FROM approval_owner WHERE until > {{now}})"
	// openQuestions selects questions that can be answered.
	openQuestions = "state = 'open' AND expires > {{now}} AND " + ownerLives
	// validRules selects rules that may allow a call.
	validRules = "expires > {{now}} AND (scope <> 'session' OR " + ownerLives + ")"

	questionColumns = "id, owner, principal, call, " + currentState + ", decision, asked, expires, decided"
	ruleColumns     = "id, scope, owner, principal, tool, rule"
)

func scanQuestion(scan store.Scan) (q questionRow, err error) {
	var asked, expires, decided int64
	err = scan(&q.ID, &q.Owner, &q.Principal, &q.Call, &q.State, &q.Decision, &asked, &expires, &decided)
	q.Asked, q.Expires, q.Decided = store.FromMillis(asked), store.FromMillis(expires), store.FromMillis(decided)
	return q, err
}

// Add adds a question with a text of some size, if there are not too many open ones, in all
// and of the same principal. The size of all texts is limited too, because approvers read
// them again and again. Add also renews the lease of the owner.
func (s rows) Add(ctx context.Context, q questionRow, size int, wait time.Duration) error {
	return s.update(ctx, func(t *store.Tx) error {
		if err := t.Lock(Topic); err != nil {
			return err
		}
		var open, own, text, ownText int
		err := t.Row(`SELECT count(*), coalesce(sum(CASE WHEN principal = $1 THEN 1 ELSE 0 END), 0),
			coalesce(sum(size), 0), coalesce(sum(CASE WHEN principal = $1 THEN size ELSE 0 END), 0)
			FROM approval WHERE `+openQuestions, []any{q.Principal}, &open, &own, &text, &ownText)
		if err != nil {
			return err
		}
		if open >= maxOpen || own >= maxOpenEach || text+size > maxOpenText || ownText+size > maxOpenTextEach {
			return ErrTooMany
		}
		if err := renewOwner(t, q.Owner, lease); err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO approval (id, owner, principal, size, call, state, asked, expires)
			VALUES ($1, $2, $3, $4, $5, 'open', {{now}}, {{now}} + $6)`,
			q.ID, q.Owner, q.Principal, size, q.Call, wait.Milliseconds())
		return errors.Join(err, t.Changed(Topic, q.ID))
	})
}

// Renew renews the lease of a process, for long if it has no question that may be answered or used.
func (s rows) Renew(ctx context.Context, owner string) (open bool, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		if err := t.Row(`SELECT EXISTS (SELECT 1 FROM approval WHERE owner = $1 AND state IN ('open', 'allowed')
			AND expires > {{now}} - $2)`, []any{owner, takeGrace.Milliseconds()}, &open); err != nil {
			return err
		}
		until := lease
		if !open {
			until = idleLease
		}
		return renewOwner(t, owner, until)
	})
	return open, err
}

func renewOwner(t *store.Tx, owner string, lease time.Duration) error {
	_, err := t.Exec(`INSERT INTO approval_owner (id, until) VALUES ($1, {{now}} + $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, owner, lease.Milliseconds())
	return err
}

// RemoveOwner removes the questions and session rules of a process that ends.
func (s rows) RemoveOwner(ctx context.Context, owner string) error {
	return s.update(ctx, func(t *store.Tx) error {
		for _, text := range []string{
			"DELETE FROM approval_owner WHERE id = $1",
			"DELETE FROM approval WHERE owner = $1",
			"DELETE FROM approval_rule WHERE owner = $1 AND scope = 'session'",
		} {
			if _, err := t.Exec(text, owner); err != nil {
				return err
			}
		}
		return t.Changed(Topic, owner)
	})
}

// Open returns the questions that can be answered, the oldest first.
func (s rows) Open(ctx context.Context) (list []questionRow, err error) {
	const text = "SELECT " + questionColumns + " FROM approval WHERE " + openQuestions + " ORDER BY asked, id"
	err = s.view(ctx, func(t *store.Tx) error {
		list, err = store.List(t, text, nil, scanQuestion)
		return err
	})
	return list, err
}

// getRow returns a question in any state, and whether its process has a lease.
func getRow(t *store.Tx, id string) (q questionRow, lives bool, err error) {
	const text = "SELECT " + ownerLives + ", " + questionColumns + " FROM approval WHERE id = $1"
	q, err = scanQuestion(func(into ...any) error {
		return t.Row(text, []any{id}, append([]any{&lives}, into...)...)
	})
	return q, lives, err
}

// State returns the state of a question, and how long it can be answered. The state of a
// question that does not exist is "".
func (s rows) State(ctx context.Context, id string) (state State, left time.Duration, err error) {
	var ms int64
	err = s.row(ctx, "SELECT "+currentState+", expires - {{now}} FROM approval WHERE id = $1", []any{id},
		&state, &ms)
	if errors.Is(err, store.ErrNotFound) {
		return "", 0, nil
	}
	return state, time.Duration(ms) * time.Millisecond, err
}

// lockRules keeps other transactions from adding rules. It returns an error if there is no
// room for one more.
func lockRules(t *store.Tx) error {
	if err := t.Lock(Topic); err != nil {
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

// Take marks an allowed question of a process as used, until grace after it has
// expired. Of concurrent calls one succeeds.
func (s rows) Take(ctx context.Context, id, owner string, grace time.Duration) (taken bool, err error) {
	return s.change(ctx, id, `UPDATE approval SET state = 'used'
		WHERE id = $1 AND owner = $2 AND state = 'allowed' AND expires > {{now}} - $3`, owner, grace.Milliseconds())
}

// Withdraw removes a question of a process that has one of some states.
func (s rows) Withdraw(ctx context.Context, id, owner string, states ...State) (removed bool, err error) {
	args := []any{id, owner}
	return s.change(ctx, id, "DELETE FROM approval WHERE id = $1 AND owner = $2 AND state IN ("+
		store.Params(&args, states...)+")", args[1:]...)
}

// change runs a statement about a question, and reports whether it had an effect.
func (s rows) change(ctx context.Context, id, text string, args ...any) (done bool, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(text, append([]any{id}, args...)...)
		if done = n > 0; err != nil || !done {
			return err
		}
		return t.Changed(Topic, id)
	})
	return done && err == nil, err
}

// MarkAttended records that an approver has looked at the questions.
func (s rows) MarkAttended(ctx context.Context) error {
	return s.update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO approval_look (one, at) VALUES (1, {{now}})
			ON CONFLICT (one) DO UPDATE SET at = excluded.at`)
		return err
	})
}

// AttendedWithin reports whether an approver has looked within some time. A time
// in the future does not count: the clock was set back.
func (s rows) AttendedWithin(ctx context.Context, within time.Duration) (bool, error) {
	var ago int64
	err := s.row(ctx, "SELECT {{now}} - at FROM approval_look WHERE one = 1", nil, &ago)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && ago >= 0 && ago < within.Milliseconds(), err
}

// Sweep removes the questions and session rules of dead processes, questions
// that were closed longer ago than keep, all closed questions but the latest max,
// and expired rules. An approval that was not used yet is not removed by max.
func (s rows) Sweep(ctx context.Context, keep time.Duration, max int) error {
	return s.update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM approval_owner WHERE until <= {{now}}"); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM approval WHERE owner NOT IN (SELECT id FROM approval_owner)
			OR (CASE WHEN state = 'open' THEN expires ELSE decided END) < {{now}} - $1`, keep.Milliseconds())
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM approval WHERE id IN (SELECT id FROM (
			SELECT id, row_number() OVER (ORDER BY asked DESC, id) AS place FROM approval
			WHERE state IN ('denied', 'used') OR state = 'open' AND expires <= {{now}}) ranked WHERE place > $1)`, max)
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM approval_rule WHERE expires <= {{now}}
			OR scope = 'session' AND owner NOT IN (SELECT id FROM approval_owner)`)
		return err
	})
}

// Rules returns the valid rules that a condition selects, the oldest first. If one cannot be
// decoded it returns none.
func (s rows) Rules(ctx context.Context, where string, args ...any) (list []Rule, err error) {
	err = s.view(ctx, func(t *store.Tx) error {
		list, err = store.List(t, "SELECT "+ruleColumns+" FROM approval_rule WHERE "+where+validRules+
			" ORDER BY created, id", args, scanRule)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Forget removes a valid rule and returns it, or its id and tool if it cannot be decoded.
func (s rows) Forget(ctx context.Context, id string) (removed Rule, err error) {
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
	return removed, err
}

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

// scanRule reads a rule. Unknown fields are an error, because they may restrict what is
// allowed.
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
