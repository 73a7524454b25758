package store

import (
	"context"
	"errors"
	"time"
)

// Approvals are the rows of questions to persons, and of the rules that persons
// have made. What is asked and what a rule allows they do not know. A question
// counts while the process that asked is known to live, and until it expires;
// both by the clock of the database.
type Approvals struct{ store *Store }

// Approvals gives access to questions and rules.
func (s *Store) Approvals() Approvals { return Approvals{s} }

// ApprovalTopic is the topic under which questions are told that were asked,
// answered or withdrawn, with their ids as keys.
const ApprovalTopic = "approvals"

// An Approval is the row of one question. Like [Token] it has no name of its own.
type Approval = struct {
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

func scanApproval(scan func(...any) error) (q Approval, err error) {
	var asked, expires, decided int64
	err = scan(&q.ID, &q.Owner, &q.Principal, &q.Size, &q.Call, &q.State, &q.Decision, &asked, &expires, &decided)
	q.Asked, q.Expires, q.Decided = FromMillis(asked), FromMillis(expires), FromMillis(decided)
	return q, err
}

// Wait returns a channel that is closed when a question may have changed: see
// [Store.Wait].
func (a Approvals) Wait() <-chan struct{} { return a.store.Wait(ApprovalTopic) }

// Ask lays a question out for some time, unless there is no room beside those
// that are open: so many in all and of its principal, with so much to read. Its
// process is known to live for the length of a lease.
func (a Approvals) Ask(ctx context.Context, q Approval, wait, lease time.Duration, room func(open, own, text, ownText int) bool) (laid bool, err error) {
	err = a.store.Update(ctx, func(t *Tx) error {
		laid = false
		if err := t.Lock(ApprovalTopic); err != nil {
			return err
		}
		var open, own, text, ownText int
		err := t.Row(`SELECT count(*), coalesce(sum(CASE WHEN principal = $1 THEN 1 ELSE 0 END), 0),
			coalesce(sum(size), 0), coalesce(sum(CASE WHEN principal = $1 THEN size ELSE 0 END), 0)
			FROM approval WHERE state = 'open' AND expires > {{now}} AND `+ownerLives, []any{q.Principal}, &open, &own, &text, &ownText)
		if err != nil || !room(open, own, text, ownText) {
			return err
		}
		if err := t.renewOwner(q.Owner, lease); err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO approval (id, owner, principal, size, call, state, asked, expires)
			VALUES ($1, $2, $3, $4, $5, 'open', {{now}}, {{now}} + $6)`, q.ID, q.Owner, q.Principal, q.Size, q.Call, wait.Milliseconds())
		laid = true
		return errors.Join(err, t.Changed(ApprovalTopic, q.ID))
	})
	return laid && err == nil, err
}

// Renew makes a process be known to live for the length of a lease.
func (a Approvals) Renew(ctx context.Context, owner string, lease time.Duration) error {
	return a.store.Update(ctx, func(t *Tx) error { return t.renewOwner(owner, lease) })
}

func (t *Tx) renewOwner(owner string, lease time.Duration) error {
	_, err := t.Exec(`INSERT INTO approval_owner (id, until) VALUES ($1, {{now}} + $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, owner, lease.Milliseconds())
	return err
}

// Leave ends everything of a process that ends.
func (a Approvals) Leave(ctx context.Context, owner string) error {
	return a.store.Update(ctx, func(t *Tx) error {
		for _, text := range []string{
			"DELETE FROM approval_owner WHERE id = $1",
			"DELETE FROM approval WHERE owner = $1",
			"DELETE FROM approval_rule WHERE owner = $1 AND scope = 'session'",
		} {
			if _, err := t.Exec(text, owner); err != nil {
				return err
			}
		}
		return t.Changed(ApprovalTopic, owner)
	})
}

// Open returns the questions that can be answered, the oldest first.
func (a Approvals) Open(ctx context.Context) (list []Approval, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
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
func (a Approvals) Get(ctx context.Context, id string) (q Approval, lives, found bool, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
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
func (a Approvals) State(ctx context.Context, id string) (state string, left time.Duration, found bool, err error) {
	var ms int64
	err = a.store.Row(ctx, "SELECT "+stateNow+", expires - {{now}} FROM approval WHERE id = $1", []any{id}, &state, &ms)
	if errors.Is(err, ErrNotFound) {
		return "", 0, false, nil
	}
	return state, time.Duration(ms) * time.Millisecond, err == nil, err
}

// Take uses up a yes, of a process that takes it no longer after the question
// has expired than it may be on its way. Of all who try, one succeeds.
func (a Approvals) Take(ctx context.Context, id, owner string, way time.Duration) (taken bool, err error) {
	return a.change(ctx, id, "UPDATE approval SET state = 'used' WHERE id = $1 AND owner = $2 AND state = 'allowed' AND expires > {{now}} - $3",
		owner, way.Milliseconds())
}

// Withdraw removes a question of a process, in one of two states.
func (a Approvals) Withdraw(ctx context.Context, id, owner, state, other string) (gone bool, err error) {
	return a.change(ctx, id, "DELETE FROM approval WHERE id = $1 AND owner = $2 AND state IN ($3, $4)", owner, state, other)
}

// change runs a statement about a question, and tells others when it did
// something.
func (a Approvals) change(ctx context.Context, id, text string, args ...any) (done bool, err error) {
	err = a.store.Update(ctx, func(t *Tx) error {
		n, err := t.Exec(text, append([]any{id}, args...)...)
		if done = n > 0; err != nil || !done {
			return err
		}
		return t.Changed(ApprovalTopic, id)
	})
	return done && err == nil, err
}

// Look notes that somebody who may answer has looked.
func (a Approvals) Look(ctx context.Context) error {
	return a.store.Update(ctx, func(t *Tx) error {
		_, err := t.Exec("INSERT INTO approval_look (one, at) VALUES (1, {{now}}) ON CONFLICT (one) DO UPDATE SET at = excluded.at")
		return err
	})
}

// Looked reports whether somebody has looked within some time. A look in the
// future does not count: the clock was set back since.
func (a Approvals) Looked(ctx context.Context, within time.Duration) (recently bool, err error) {
	var ago int64
	err = a.store.Row(ctx, "SELECT {{now}} - at FROM approval_look WHERE one = 1", nil, &ago)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && ago >= 0 && ago < within.Milliseconds(), err
}

// Sweep removes what processes that are gone have left, what has been over for
// some time, and all that is over but the latest ones. A yes that has not been
// taken yet counts as over by its time only.
func (a Approvals) Sweep(ctx context.Context, keep time.Duration, most int) error {
	return a.store.Update(ctx, func(t *Tx) error {
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
