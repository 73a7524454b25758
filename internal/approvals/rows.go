package approvals

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// rows are the questions and rules in a store, which all processes and machines
// with that store share. A question counts while the process that asked is known
// to live, and until it expires, both by the clock of the database.
type rows struct{ store *store.Store }

// topic is the topic under which questions are told that were asked,
// answered or withdrawn, with their ids as keys.
const topic = "approvals"

// An questionRow is the row of one question. Like [Token] it has no name of its own.
type questionRow struct {
	ID        string
	Owner     string // the process that asks
	Principal string // for whom
	Size      int    // of what there is to read
	Call      string // JSON
	State     string // open, allowed, denied, used; when read also expired
	Decision  string // JSON, once there is one
	Asked     time.Time
	Expires   time.Time
	Decided   time.Time
}

// stateNow is the state of a question as it is at present.
const stateNow = "CASE WHEN state = 'open' AND expires <= {{now}} THEN 'expired' ELSE state END"

// ownerLives holds for rows whose process is known to live.
const ownerLives = "owner IN (SELECT id FROM approval_owner WHERE until > {{now}})"

const approvalColumns = "id, owner, principal, size, call, " + stateNow + ", decision, asked, expires, decided"

func scanApproval(scan func(...any) error) (q questionRow, err error) {
	var asked, expires, decided int64
	err = scan(&q.ID, &q.Owner, &q.Principal, &q.Size, &q.Call, &q.State, &q.Decision, &asked, &expires, &decided)
	q.Asked, q.Expires, q.Decided = store.FromMillis(asked), store.FromMillis(expires), store.FromMillis(decided)
	return q, err
}

// Wait returns a channel that is closed when a question may have changed: see
// [Store.Wait].
func (s rows) Wait() <-chan struct{} { return s.store.Wait(topic) }

// Add lays a question out for some time, unless there is no room beside those
// that are open: so many in all and of its principal, with so much to read. Its
// process is known to live for the length of a lease.
func (s rows) Add(ctx context.Context, q questionRow, wait, lease time.Duration, room func(open, own, text, ownText int) bool) (laid bool, err error) {
	err = s.store.Update(ctx, func(t *store.Tx) error {
		laid = false
		if err := t.Lock(topic); err != nil {
			return err
		}
		var open, own, text, ownText int
		err := t.Row(`SELECT count(*), coalesce(sum(CASE WHEN principal = $1 THEN 1 ELSE 0 END), 0),
			coalesce(sum(size), 0), coalesce(sum(CASE WHEN principal = $1 THEN size ELSE 0 END), 0)
			FROM approval WHERE state = 'open' AND expires > {{now}} AND `+ownerLives, []any{q.Principal}, &open, &own, &text, &ownText)
		if err != nil || !room(open, own, text, ownText) {
			return err
		}
		if err := renewOwner(t, q.Owner, lease); err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO approval (id, owner, principal, size, call, state, asked, expires)
			VALUES ($1, $2, $3, $4, $5, 'open', {{now}}, {{now}} + $6)`, q.ID, q.Owner, q.Principal, q.Size, q.Call, wait.Milliseconds())
		laid = true
		return errors.Join(err, t.Changed(topic, q.ID))
	})
	return laid && err == nil, err
}

// Renew makes a process be known to live for the length of a lease.
func (s rows) Renew(ctx context.Context, owner string, lease time.Duration) error {
	return s.store.Update(ctx, func(t *store.Tx) error { return renewOwner(t, owner, lease) })
}

func renewOwner(t *store.Tx, owner string, lease time.Duration) error {
	_, err := t.Exec(`INSERT INTO approval_owner (id, until) VALUES ($1, {{now}} + $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, owner, lease.Milliseconds())
	return err
}

// RemoveOwner ends everything of a process that ends.
func (s rows) RemoveOwner(ctx context.Context, owner string) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
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
	err = s.store.View(ctx, func(t *store.Tx) error {
		list = nil
		return t.Each("SELECT "+approvalColumns+" FROM approval WHERE state = 'open' AND expires > {{now}} AND "+ownerLives+" ORDER BY asked, id", nil,
			func(scan func(...any) error) error {
				q, err := scanApproval(scan)
				list = append(list, q)
				return err
			})
	})
	return list, err
}

// Get returns a question, also one that is over, and whether its process is
// known to live.
func (s rows) Get(ctx context.Context, id string) (q questionRow, lives, found bool, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		found = false
		return t.Each("SELECT "+ownerLives+", "+approvalColumns+" FROM approval WHERE id = $1", []any{id}, func(scan func(...any) error) (err error) {
			found = true
			q, err = scanApproval(func(into ...any) error { return scan(append([]any{&lives}, into...)...) })
			return err
		})
	})
	return q, lives, found, err
}

// State returns how far a question is, and how long it can still be answered.
func (s rows) State(ctx context.Context, id string) (state string, left time.Duration, found bool, err error) {
	var ms int64
	err = s.store.Row(ctx, "SELECT "+stateNow+", expires - {{now}} FROM approval WHERE id = $1", []any{id}, &state, &ms)
	if errors.Is(err, store.ErrNotFound) {
		return "", 0, false, nil
	}
	return state, time.Duration(ms) * time.Millisecond, err == nil, err
}

// Take uses up a yes, of a process that takes it no longer after the question
// has expired than it may be on its way. Of all who try, one succeeds.
func (s rows) Take(ctx context.Context, id, owner string, way time.Duration) (taken bool, err error) {
	return s.change(ctx, id, "UPDATE approval SET state = 'used' WHERE id = $1 AND owner = $2 AND state = 'allowed' AND expires > {{now}} - $3",
		owner, way.Milliseconds())
}

// Withdraw removes a question of a process, in one of two states.
func (s rows) Withdraw(ctx context.Context, id, owner, state, other string) (gone bool, err error) {
	return s.change(ctx, id, "DELETE FROM approval WHERE id = $1 AND owner = $2 AND state IN ($3, $4)", owner, state, other)
}

// change runs a statement about a question, and tells others when it did
// something.
func (s rows) change(ctx context.Context, id, text string, args ...any) (done bool, err error) {
	err = s.store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(text, append([]any{id}, args...)...)
		if done = n > 0; err != nil || !done {
			return err
		}
		return t.Changed(topic, id)
	})
	return done && err == nil, err
}

// MarkAttended notes that somebody who may answer has looked.
func (s rows) MarkAttended(ctx context.Context) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("INSERT INTO approval_look (one, at) VALUES (1, {{now}}) ON CONFLICT (one) DO UPDATE SET at = excluded.at")
		return err
	})
}

// AttendedWithin reports whether somebody has looked within some time. A look in the
// future does not count: the clock was set back since.
func (s rows) AttendedWithin(ctx context.Context, within time.Duration) (recently bool, err error) {
	var ago int64
	err = s.store.Row(ctx, "SELECT {{now}} - at FROM approval_look WHERE one = 1", nil, &ago)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && ago >= 0 && ago < within.Milliseconds(), err
}

// Sweep removes what processes that are gone have left, what has been over for
// some time, and all that is over but the latest ones. A yes that has not been
// taken yet counts as over by its time only.
func (s rows) Sweep(ctx context.Context, keep time.Duration, most int) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
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
			WHERE state IN ('denied', 'used') OR state = 'open' AND expires <= {{now}}) ranked WHERE place > $1)`, most)
		if err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM approval_rule WHERE expires <= {{now}}
			OR scope = 'session' AND owner NOT IN (SELECT id FROM approval_owner)`)
		return err
	})
}

// An ruleRow is the row of a rule. Like [Token] it has no name of its own.
type ruleRow struct {
	ID        string
	Scope     string // those of scope session end with their owner
	Owner     string
	Principal string
	Tool      string
	Rule      string // JSON
	Created   time.Time
	Expires   time.Time
}

// An answerRow is what becomes of a question. It has no name of its own
// either.
type answerRow struct {
	ID       string
	From, To string // states
	Decision string // JSON
	Rule     *ruleRow
	Drop     string // the id of a rule that a former answer made
}

const ruleColumns = "id, scope, owner, principal, tool, rule, created, expires"

// ruleCounts holds for rules that may still allow something.
const ruleCounts = "expires > {{now}} AND (scope <> 'session' OR " + ownerLives + ")"

// Answer changes a question from one state to another, unless somebody was
// faster, it has expired, or its process is gone. A rule is made with it, unless
// there is no room beside those that count.
func (s rows) Answer(ctx context.Context, w answerRow, room func(rules int) bool) (done, full bool, err error) {
	err = s.store.Update(ctx, func(t *store.Tx) error {
		done, full = false, false
		if w.Rule != nil {
			if err := t.Lock(topic); err != nil {
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
		return errors.Join(dropRule(t, w.Drop), addRule(t, w.Rule), t.Changed(topic, w.ID))
	})
	return done && err == nil, full && err == nil, err
}

func addRule(t *store.Tx, r *ruleRow) error {
	if r == nil {
		return nil
	}
	_, err := t.Exec("INSERT INTO approval_rule ("+ruleColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		r.ID, r.Scope, r.Owner, r.Principal, r.Tool, r.Rule, store.Millis(r.Created), store.Millis(r.Expires))
	return err
}

func dropRule(t *store.Tx, id string) error {
	if id == "" {
		return nil
	}
	_, err := t.Exec("DELETE FROM approval_rule WHERE id = $1", id)
	return err
}

// Rules returns all rules that count, the oldest first.
func (s rows) Rules(ctx context.Context) ([]ruleRow, error) {
	return s.rules(ctx, ruleCounts+" ORDER BY created, id")
}

// RulesFor returns the rules that count for calls of a tool by a principal.
func (s rows) RulesFor(ctx context.Context, principal, tool string) ([]ruleRow, error) {
	return s.rules(ctx, "principal = $1 AND tool = $2 AND "+ruleCounts+" ORDER BY created, id", principal, tool)
}

func (s rows) rules(ctx context.Context, where string, args ...any) (list []ruleRow, err error) {
	err = s.store.View(ctx, func(t *store.Tx) (err error) {
		list, err = readRules(t, where, args...)
		return err
	})
	return list, err
}

func readRules(t *store.Tx, where string, args ...any) (list []ruleRow, err error) {
	err = t.Each("SELECT "+ruleColumns+" FROM approval_rule WHERE "+where, args, func(scan func(...any) error) error {
		var r ruleRow
		var created, expires int64
		if err := scan(&r.ID, &r.Scope, &r.Owner, &r.Principal, &r.Tool, &r.Rule, &created, &expires); err != nil {
			return err
		}
		r.Created, r.Expires = store.FromMillis(created), store.FromMillis(expires)
		list = append(list, r)
		return nil
	})
	return list, err
}

// Forget removes a rule that counts.
func (s rows) Forget(ctx context.Context, id string) (gone ruleRow, found bool, err error) {
	err = s.store.Update(ctx, func(t *store.Tx) error {
		list, err := readRules(t, "id = $1 AND "+ruleCounts, id)
		if found = len(list) > 0; err != nil || !found {
			return err
		}
		gone = list[0]
		return dropRule(t, id)
	})
	return gone, found, err
}
