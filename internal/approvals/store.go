// Package approvals has the questions about calls that need an approver's decision, and
// the rules that approvers have made.
//
// A server asks, and another process, on this or another machine, answers, for
// example `mcp-tools approvals allow`. Package ask has the rows of all questions. An approval can be used once, by the
// process that asked, for exactly the call that was shown.
//
// The package knows neither tools, nor the rules about calls that need an approval, nor how to
// ask a client. It stores arguments only in the form that may be shown, and digests of their
// values.
//
// Begin with Store.Ask, Store.Answer and Store.Take, the steps of a question.
// Rules are in rule.go.
package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Errors of questions.
var (
	ErrUnknown  = ask.ErrUnknown
	ErrTooMany  = ask.ErrTooMany
	ErrAnswered = errors.New("the question was already answered")
	ErrExpired  = errors.New("the question was not answered in time")
	ErrChanged  = errors.New("the call is not the one that was approved")
	ErrOnce     = errors.New("this call can only be allowed once")
)

// limits are the max open questions and their size. Approvers read them again and again.
func limits() ask.Limits { return ask.Limits{Open: 200, Each: 20, Bytes: 8 << 20, BytesEach: 1 << 20} }

// Options configure a Store.
type Options struct {
	DB  *store.Store
	Log *slog.Logger // nil: silent
	// Reachable reports whether questions of callers are sent to people with the right to
	// answer. It may be nil.
	Reachable func() bool
	// Asked is called with each new question of this process. It must not wait. It may be nil.
	Asked func(id string, c Call)
}

// A Store is the access of one process to the approvals. It is safe for
// concurrent use, and so are several Stores with the same database.
type Store struct {
	Options
	desk *ask.Desk

	ctx      context.Context // of the checks of changes
	stop     context.CancelFunc
	done     sync.WaitGroup
	mu       sync.Mutex
	checks   map[string]Check // by question
	checking bool             // checkLoop runs
}

// New returns a Store. It does not use the database yet.
func New(o Options) *Store {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Store{Options: o, desk: ask.NewDesk(o.DB, o.Log), checks: map[string]Check{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close withdraws the questions of this process, and removes its rules for sessions. Ask must not be called
// afterwards.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	return s.desk.Close(func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM approval_rule WHERE owner = $1 AND scope = 'session'", s.desk.ID())
		return err
	})
}

// patience limits each operation on the store.
const patience = 15 * time.Second

// update changes questions or rules. A store that does not exist yet has none.
func (s *Store) update(ctx context.Context, f func(*store.Tx) error) error {
	if s.DB.Unused() {
		return ErrUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.DB.Update(ctx, f)
}

// Ask adds a question until it expires, and returns its id. It ends with this
// process.
func (s *Store) Ask(ctx context.Context, c Call, expires time.Time) (id string, err error) {
	parts, err := argDigests(c.Args)
	if err != nil {
		return "", err
	}
	c.Editable = c.Check != nil
	text, err := json.Marshal(storedCall{Call: c, Parts: parts})
	if err != nil {
		return "", fmt.Errorf("encoding a question: %w", err)
	}
	id = ask.NewID()
	if err := s.desk.Put(ctx, ask.Question{
		ID: id, Kind: ask.Approval, Agent: c.Agent, User: c.User, Session: c.Session, Body: string(text),
	}, max(time.Until(expires), time.Millisecond), limits()); err != nil {
		return id, err
	}
	if c.Check != nil {
		s.checkEdits(id, c.Check)
	}
	if s.Asked != nil {
		s.Asked(id, c)
	}
	return id, nil
}

// Await returns when the question is not open or ctx ends.
func (s *Store) Await(ctx context.Context, id string) error { return s.desk.Await(ctx, id) }

// Withdraw removes a question of this process, unless it has ended.
func (s *Store) Withdraw(ctx context.Context, id string) error { return s.desk.Withdraw(ctx, id) }

// Changed returns a channel that is closed when there may be a new question or
// a new answer.
func (s *Store) Changed() <-chan struct{} { return s.DB.Wait(ask.Topic) }

// List returns the open questions visible to who, the oldest first.
func (s *Store) List(ctx context.Context, who Approver) (open []Question, err error) {
	rows, err := ask.List(ctx, s.DB, ask.Approval)
	for _, row := range rows {
		// skip questions that cannot be decoded: they cannot be approved
		if q, err := Decode(row); err == nil && who.sees(&q) {
			open = append(open, q)
		}
	}
	return open, err
}

// History returns the questions visible to who that were answered within a day, the latest first.
func (s *Store) History(ctx context.Context, who Approver) (list []Question, err error) {
	rows, err := ask.Ended(ctx, s.DB, ask.Approval)
	for _, row := range rows {
		if q, err := Decode(row); err == nil && who.sees(&q) {
			list = append(list, q)
		}
	}
	return list, err
}

// Get returns one question visible to who, open or closed.
func (s *Store) Get(ctx context.Context, id string, who Approver) (q Question, err error) {
	if s.DB.Unused() {
		return q, ErrUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.DB.View(ctx, func(t *store.Tx) error {
		_, q, err = read(t, id, ask.Get)
		return err
	})
	if err == nil && !who.sees(&q) {
		err = ErrUnknown
	}
	if err != nil {
		return Question{}, err
	}
	return q, nil
}

// read reads a question as get does.
func read(t *store.Tx, id string, get func(*store.Tx, string) (ask.Question, error)) (row ask.Question, q Question,
	err error) {
	if !ask.IsID(id) {
		return row, q, ErrUnknown
	}
	if row, err = get(t, id); err != nil {
		return row, q, err
	}
	if row.Kind != ask.Approval {
		return row, q, ErrUnknown
	}
	q, err = Decode(row)
	return row, q, err
}

// Sweep removes questions that have ended and rules that have expired.
func (s *Store) Sweep(ctx context.Context) error {
	return errors.Join(ask.Sweep(ctx, s.DB), s.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM approval_rule WHERE NOT " + validRules)
		return err
	}))
}

// attendedFor is the time that an approver counts as present after reading the
// questions.
const attendedFor = 30 * time.Second

// MarkAttended records that an approver has looked at the questions.
func (s *Store) MarkAttended(ctx context.Context) error {
	recently, err := s.attendedWithin(ctx, attendedFor/6)
	if err != nil || recently {
		return err
	}
	return s.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO approval_look (one, at) VALUES (1, {{now}})
			ON CONFLICT (one) DO UPDATE SET at = excluded.at`)
		return err
	})
}

// Attended reports whether an approver has looked at the questions recently, or gets
// them.
func (s *Store) Attended(ctx context.Context) (bool, error) {
	if s.Reachable != nil && s.Reachable() {
		return true, nil
	}
	return s.attendedWithin(ctx, attendedFor)
}

// attendedWithin reports whether an approver has looked within some time. A time
// in the future does not count: the clock was set back.
func (s *Store) attendedWithin(ctx context.Context, within time.Duration) (bool, error) {
	if s.DB.Unused() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ago int64
	err := s.DB.Row(ctx, "SELECT {{now}} - at FROM approval_look WHERE one = 1", nil, &ago)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && ago >= 0 && ago < within.Milliseconds(), err
}
