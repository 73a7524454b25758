package approvals

import (
	"context"
	"errors"
	"time"

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

// topic is the feed topic of questions that were added, answered or withdrawn.
// The keys are their ids.
const topic = "approvals"

// A questionRow is the row of a question.
type questionRow struct {
	ID        string
	Owner     string // the process that asks
	Principal string // the caller
	Size      int    // of the text to read
	Call      string // JSON
	State     string // a State
	Decision  string // JSON, or ""
	Asked     time.Time
	Expires   time.Time
	Decided   time.Time
}

// A ruleRow is the row of a rule.
type ruleRow struct {
	ID        string
	Scope     string // rules of scope session end with their owner
	Owner     string
	Principal string
	Tool      string
	Rule      string // JSON
	Created   time.Time
	Expires   time.Time
}

// An answerRow is a change of a question's state.
type answerRow struct {
	ID       string
	From, To string   // states
	Decision string   // JSON
	Rule     *ruleRow // to add, or nil
	Drop     string   // id of a rule to remove, or ""
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

	questionColumns = "id, owner, principal, size, call, " + currentState + ", decision, asked, expires, decided"
	ruleColumns     = "id, scope, owner, principal, tool, rule, created, expires"
)

func scanQuestion(scan store.Scan) (q questionRow, err error) {
	var asked, expires, decided int64
	err = scan(&q.ID, &q.Owner, &q.Principal, &q.Size, &q.Call, &q.State, &q.Decision, &asked, &expires, &decided)
	q.Asked, q.Expires, q.Decided = store.FromMillis(asked), store.FromMillis(expires), store.FromMillis(decided)
	return q, err
}

func scanRule(scan store.Scan) (r ruleRow, err error) {
	var created, expires int64
	err = scan(&r.ID, &r.Scope, &r.Owner, &r.Principal, &r.Tool, &r.Rule, &created, &expires)
	r.Created, r.Expires = store.FromMillis(created), store.FromMillis(expires)
	return r, err
}

// Add adds a question for some time, if room allows one more beside the open
// questions: their number and the size of their texts, in all and of the same
// principal. It also renews the lease of the owner.
func (s rows) Add(ctx context.Context, q questionRow, wait, lease time.Duration,
	room func(open, own, text, ownText int) bool) (added bool, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		added = false
		if err := t.Lock(topic); err != nil {
			return err
		}
		var open, own, text, ownText int
		err := t.Row(`SELECT count(*), coalesce(sum(CASE WHEN principal = $1 THEN 1 ELSE 0 END), 0),
			coalesce(sum(size), 0), coalesce(sum(CASE WHEN principal = $1 THEN size ELSE 0 END), 0)
			FROM approval WHERE `+openQuestions, []any{q.Principal}, &open, &own, &text, &ownText)
		if err != nil || !room(open, own, text, ownText) {
			return err
		}
		if err := renewOwner(t, q.Owner, lease); err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO approval (id, owner, principal, size, call, state, asked, expires)
			VALUES ($1, $2, $3, $4, $5, 'open', {{now}}, {{now}} + $6)`,
			q.ID, q.Owner, q.Principal, q.Size, q.Call, wait.Milliseconds())
		added = true
		return errors.Join(err, t.Changed(topic, q.ID))
	})
	return added && err == nil, err
}

// Renew renews the lease of a process.
func (s rows) Renew(ctx context.Context, owner string, lease time.Duration) error {
	return s.update(ctx, func(t *store.Tx) error { return renewOwner(t, owner, lease) })
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
		return t.Changed(topic, owner)
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

// Get returns a question in any state, and whether its process has a lease.
func (s rows) Get(ctx context.Context, id string) (q questionRow, lives, found bool, err error) {
	err = s.view(ctx, func(t *store.Tx) error {
		q, lives, found, err = getRow(t, id)
		return err
	})
	return q, lives, found, err
}

func getRow(t *store.Tx, id string) (q questionRow, lives, found bool, err error) {
	const text = "SELECT " + ownerLives + ", " + questionColumns + " FROM approval WHERE id = $1"
	list, err := store.List(t, text, []any{id}, func(scan store.Scan) (questionRow, error) {
		return scanQuestion(func(into ...any) error { return scan(append([]any{&lives}, into...)...) })
	})
	if found = len(list) > 0; found {
		q = list[0]
	}
	return q, lives, found, err
}

// State returns the state of a question, and how long it can be answered.
func (s rows) State(ctx context.Context, id string) (state string, left time.Duration, found bool, err error) {
	var ms int64
	err = s.row(ctx, "SELECT "+currentState+", expires - {{now}} FROM approval WHERE id = $1", []any{id},
		&state, &ms)
	if errors.Is(err, store.ErrNotFound) {
		return "", 0, false, nil
	}
	return state, time.Duration(ms) * time.Millisecond, err == nil, err
}

// answer changes the state of a question, if it has the state From, has not
// expired, and its process lives. It also adds a rule, if room allows one more;
// otherwise full is true and nothing changes.
func answer(t *store.Tx, w answerRow, room func(rules int) bool) (done, full bool, err error) {
	if w.Rule != nil {
		if err := t.Lock(topic); err != nil {
			return false, false, err
		}
		var n int
		if err := t.Row("SELECT count(*) FROM approval_rule WHERE "+validRules, nil, &n); err != nil {
			return false, false, err
		}
		if !room(n) {
			return false, true, nil
		}
	}
	n, err := t.Exec(`UPDATE approval SET state = $3, decision = $4, decided = {{now}}
		WHERE id = $1 AND state = $2 AND (state <> 'open' OR expires > {{now}}) AND `+ownerLives,
		w.ID, w.From, w.To, w.Decision)
	if err != nil || n == 0 {
		return false, false, err
	}
	if w.Drop != "" {
		err = dropRule(t, w.Drop)
	}
	if err == nil && w.Rule != nil {
		err = addRule(t, w.Rule)
	}
	return true, false, errors.Join(err, t.Changed(topic, w.ID))
}

// Take marks an allowed question of a process as used, until grace after it has
// expired. Of concurrent calls one succeeds.
func (s rows) Take(ctx context.Context, id, owner string, grace time.Duration) (taken bool, err error) {
	return s.change(ctx, id, `UPDATE approval SET state = 'used'
		WHERE id = $1 AND owner = $2 AND state = 'allowed' AND expires > {{now}} - $3`, owner, grace.Milliseconds())
}

// Withdraw removes a question of a process that has one of two states.
func (s rows) Withdraw(ctx context.Context, id, owner, state, other string) (removed bool, err error) {
	return s.change(ctx, id, "DELETE FROM approval WHERE id = $1 AND owner = $2 AND state IN ($3, $4)",
		owner, state, other)
}

// change runs a statement about a question, and reports whether it had an effect.
func (s rows) change(ctx context.Context, id, text string, args ...any) (done bool, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(text, append([]any{id}, args...)...)
		if done = n > 0; err != nil || !done {
			return err
		}
		return t.Changed(topic, id)
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

// Rules returns all valid rules, the oldest first.
func (s rows) Rules(ctx context.Context) ([]ruleRow, error) { return s.rules(ctx, validRules) }

// RulesFor returns the valid rules for calls of a tool by a principal.
func (s rows) RulesFor(ctx context.Context, principal, tool string) ([]ruleRow, error) {
	return s.rules(ctx, "principal = $1 AND tool = $2 AND "+validRules, principal, tool)
}

func (s rows) rules(ctx context.Context, where string, args ...any) (list []ruleRow, err error) {
	err = s.view(ctx, func(t *store.Tx) error {
		list, err = readRules(t, where, args...)
		return err
	})
	return list, err
}

func readRules(t *store.Tx, where string, args ...any) ([]ruleRow, error) {
	return store.List(t, "SELECT "+ruleColumns+" FROM approval_rule WHERE "+where+" ORDER BY created, id",
		args, scanRule)
}

// Forget removes a valid rule and returns it.
func (s rows) Forget(ctx context.Context, id string) (removed ruleRow, found bool, err error) {
	err = s.update(ctx, func(t *store.Tx) error {
		list, err := readRules(t, "id = $1 AND "+validRules, id)
		if found = len(list) > 0; err != nil || !found {
			return err
		}
		removed = list[0]
		return dropRule(t, id)
	})
	return removed, found, err
}

func addRule(t *store.Tx, r *ruleRow) error {
	_, err := t.Exec("INSERT INTO approval_rule ("+ruleColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		r.ID, r.Scope, r.Owner, r.Principal, r.Tool, r.Rule, store.Millis(r.Created), store.Millis(r.Expires))
	return err
}

func dropRule(t *store.Tx, id string) error {
	_, err := t.Exec("DELETE FROM approval_rule WHERE id = $1", id)
	return err
}
