// Package ask has the questions that wait for a person, of all kinds, in one table of the store.
//
// A question is asked once and answered once: of several answers at the same time, in any processes, one succeeds. It
// waits for its answer until it expires or is withdrawn. A question with an owner ends with the process whose call
// waits for the answer, see [Desk]; the others outlive all processes. The feed has [Topic] with the id of a question
// that was asked, answered or withdrawn.
//
// The package does not know the subject of questions. The package of a kind has the text, checks the right to answer,
// and acts on the answer in the same transaction: internal/approvals has the calls that need an approval,
// tools/questions the questions of agents to their users, also about tasks of teams. The messages about questions
// that tools/messaging/inbound has sent to chats are not here, but in a table of that package: there are several
// messages about one question, and they stay, and are edited, when the question is gone.
//
// Begin with [Put], [Answer] and [List].
package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Topic is the feed topic of questions that were asked, answered or withdrawn. A key is the id of the question, of
// its subject, or of its process.
const Topic = "ask"

// The kinds of questions.
const (
	Approval = "approval" // of a call
	OfAgent  = "question" // for its user
)

// Errors of questions.
var (
	ErrUnknown = errors.New("no such question, or it has ended")
	ErrTooMany = errors.New("too many open questions")
)

// A State is the state of a question.
type State string

// The states of a question.
const (
	Open     State = "open"
	Answered State = "answered"
	Used     State = "used"    // answered, and the process that asked has used the answer
	Expired  State = "expired" // open, but nobody can answer any more
)

// A Question waits for the answer of a person, or has one.
type Question struct {
	ID    string
	Kind  string
	Owner string // id of the process whose call waits; "" for a question that outlives processes
	// The caller that asks.
	Agent, User, Session string
	About                string   // id of the subject, to withdraw the question; "" for nothing
	Body                 string   // the text, or the JSON of the kind
	Choices              []string // answers to choose from
	State                State
	Answer               string // of the kind
	By                   string // the person who answered
	Asked                time.Time
	Expires              time.Time // zero: when it is answered
	Ended                time.Time // when it was answered
}

const (
	// live selects the questions whose process lives, or that have none. Only a question that a process has to do with
	// yet has a lease: one that is open, or whose answer was not used.
	live = "(lease = 0 OR lease > {{now}})"
	// isOpen selects the questions that can be answered.
	isOpen = "state = 'open' AND (expires = 0 OR expires > {{now}}) AND " + live
	// current is the state of a question at this moment.
	current = "CASE WHEN state = 'open' AND expires > 0 AND expires <= {{now}} THEN 'expired' ELSE state END"
	columns = "id, kind, owner, agent, usr, session, about, body, choices, " + current + ", answer, answered_by, " +
		"asked, expires, ended"
)

func scan(row store.Scan) (q Question, err error) {
	var choices string
	var asked, expires, ended int64
	if err := row(&q.ID, &q.Kind, &q.Owner, &q.Agent, &q.User, &q.Session, &q.About, &q.Body, &choices, &q.State,
		&q.Answer, &q.By, &asked, &expires, &ended); err != nil {
		return q, err
	}
	q.Asked, q.Expires, q.Ended = store.FromMillis(asked), store.FromMillis(expires), store.FromMillis(ended)
	return q, store.FromJSON(choices, &q.Choices)
}

// NewID returns a random id of 60 bits that is easy to type.
func NewID() string { return strings.ToLower(rand.Text()[:idLen]) }

// IsID reports whether text has the form of the result of NewID.
func IsID(text string) bool {
	return len(text) == idLen && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

const idLen = 12

// Limits are the max open questions of a kind, and the max bytes of their bodies, in all and of one agent and user. 0
// is no limit. Callers that ask at the same time may exceed them by a few.
type Limits struct{ Open, Each, Bytes, BytesEach int }

// Put adds an open question. It expires after a time; 0 is never. With [ErrTooMany] nothing was added. The [Desk] of
// an owner puts the owner's questions.
func Put(t *store.Tx, q Question, expires time.Duration, l Limits) error {
	choices, err := store.ToJSON(q.Choices, len(q.Choices) == 0)
	if err != nil {
		return err
	}
	n, err := t.Exec(`INSERT INTO ask (id, kind, owner, agent, usr, session, about, body, choices, size, state, asked,
			expires, lease)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, CAST($10 AS BIGINT), 'open', {{now}},
			CASE WHEN CAST($11 AS BIGINT) = 0 THEN 0 ELSE {{now}} + CAST($11 AS BIGINT) END,
			CASE WHEN $3 = '' THEN 0 ELSE {{now}} + CAST($12 AS BIGINT) END
		FROM (SELECT count(*) AS n, CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes,
				coalesce(sum(CASE WHEN agent = $4 AND usr = $5 THEN 1 ELSE 0 END), 0) AS own,
				CAST(coalesce(sum(CASE WHEN agent = $4 AND usr = $5 THEN size ELSE 0 END), 0) AS BIGINT) AS own_bytes
			FROM ask WHERE kind = $2 AND `+isOpen+`) waiting
		WHERE n < CAST($13 AS BIGINT) AND own < CAST($14 AS BIGINT) AND bytes + CAST($10 AS BIGINT) <= CAST($15 AS BIGINT)
			AND own_bytes + CAST($10 AS BIGINT) <= CAST($16 AS BIGINT)`,
		q.ID, q.Kind, q.Owner, q.Agent, q.User, q.Session, q.About, q.Body, choices, len(q.Body), expires.Milliseconds(),
		lease.Milliseconds(), limit(l.Open), limit(l.Each), limit(l.Bytes), limit(l.BytesEach))
	if err == nil && n == 0 {
		err = ErrTooMany
	}
	return errors.Join(err, t.Changed(Topic, q.ID))
}

func limit(n int) int { return cmp.Or(n, math.MaxInt32) }

// Get returns a question in any state, or [ErrUnknown].
func Get(t *store.Tx, id string) (Question, error) { return get(t, id, "") }

// Hold is Get and also keeps other transactions from changing the question until t ends.
func Hold(t *store.Tx, id string) (Question, error) { return get(t, id, " {{lock}}") }

func get(t *store.Tx, id, lock string) (Question, error) {
	q, err := scan(func(into ...any) error {
		return t.Row("SELECT "+columns+" FROM ask WHERE id = $1 AND "+live+lock, []any{id}, into...)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = ErrUnknown
	}
	return q, err
}

// List returns the open questions of a kind, or of all kinds without one, the oldest first. In a store that does not
// exist yet there are none.
func List(ctx context.Context, s *store.Store, kind string) ([]Question, error) {
	if s.Unused() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return store.Select(ctx, s, "SELECT "+columns+" FROM ask WHERE "+isOpen+
		" AND (kind = $1 OR $1 = '') ORDER BY asked, id", []any{kind}, scan)
}

// Ended returns the questions of a kind that were answered and are kept, the latest first.
func Ended(ctx context.Context, s *store.Store, kind string) ([]Question, error) {
	if s.Unused() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return store.Select(ctx, s, "SELECT "+columns+" FROM ask WHERE ended > 0 AND kind = $1 ORDER BY ended DESC, id LIMIT $2",
		[]any{kind, maxEnded}, scan)
}

// patience limits each operation on the store.
const patience = 15 * time.Second

// Answer records the answer to a question that the transaction holds. If toUse is set, the process that asked has to
// use the answer with [Use] before it counts, and another answer may replace it until then.
func Answer(t *store.Tx, q Question, answer, by string, toUse bool) error {
	n, err := t.Exec(`UPDATE ask SET state = 'answered', answer = $3, answered_by = $4, ended = {{now}},
		lease = CASE WHEN $5 THEN lease ELSE 0 END WHERE id = $1 AND state = $2`,
		q.ID, string(q.State), answer, by, toUse)
	if err == nil && n == 0 { // it was not held
		err = store.ErrConflict
	}
	return errors.Join(err, t.Changed(Topic, q.ID))
}

// Rewrite replaces the body of an open question that the transaction holds.
func Rewrite(t *store.Tx, q Question, body string) error {
	n, err := t.Exec("UPDATE ask SET body = $2, size = $3 WHERE id = $1 AND state = 'open'", q.ID, body, len(body))
	if err == nil && n == 0 { // it was not held
		err = store.ErrConflict
	}
	return errors.Join(err, t.Changed(Topic, q.ID))
}

// Use marks the answer to a question as used, once. It reports false if it is too late: the answer has come in time,
// but grace has passed since the question expired.
func Use(t *store.Tx, id string, grace time.Duration) (used bool, err error) {
	n, err := t.Exec(`UPDATE ask SET state = 'used', lease = 0
		WHERE id = $1 AND state = 'answered' AND (expires = 0 OR expires > {{now}} - $2)`, id, grace.Milliseconds())
	return n > 0, err
}

// Withdraw removes a question.
func Withdraw(t *store.Tx, id string) error { return remove(t, id, "id = $1") }

// WithdrawAbout removes the open questions about something.
func WithdrawAbout(t *store.Tx, about string) error {
	return remove(t, about, "about = $1 AND state = 'open'")
}

// remove removes the questions that a condition with a key selects.
func remove(t *store.Tx, key, where string) error {
	n, err := t.Exec("DELETE FROM ask WHERE "+where, key)
	if err != nil || n == 0 {
		return err
	}
	return t.Changed(Topic, key)
}

const (
	// keep is the time that a question can be shown after its end, so that a person who answers too late sees who has
	// answered.
	keep = 24 * time.Hour
	// maxEnded limits how many can be shown.
	maxEnded = 100
)

// Sweep removes the questions that have ended, of dead processes at once, and the others after a time, or when there
// are too many of them. It keeps answers that were not used yet.
func Sweep(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM ask WHERE NOT "+live+" OR ended > 0 AND lease = 0 AND ended < {{now}} - $1",
			keep.Milliseconds()); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM ask WHERE id IN (SELECT id FROM (
			SELECT id, row_number() OVER (ORDER BY ended DESC, id) AS place FROM ask WHERE ended > 0 AND lease = 0)
			ranked WHERE place > $1)`, maxEnded)
		return err
	})
}
