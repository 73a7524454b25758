package approvals

import (
	"context"
	"time"
)

// Rows are where questions and rules are kept: one place for all processes and
// machines that share them, with a clock of its own. Their names for states are
// those of [State].
type Rows interface {
	// Ask lays a question out for some time, unless room, which is told how many
	// are open in all and of its principal, and how much there is to read in them,
	// says no. Its process is known to live for the length of a lease.
	Ask(ctx context.Context, q Kept, wait, lease time.Duration, room func(open, own, text, ownText int) bool) (laid bool, err error)
	// Renew makes a process be known to live for the length of a lease.
	Renew(ctx context.Context, owner string, lease time.Duration) error
	// Leave ends everything of a process that ends.
	Leave(ctx context.Context, owner string) error
	// Open returns the questions that can be answered, the oldest first.
	Open(ctx context.Context) ([]Kept, error)
	// Get returns a question, and whether its process is known to live.
	Get(ctx context.Context, id string) (q Kept, lives, found bool, err error)
	// State returns how far a question is, and how long it can still be answered.
	State(ctx context.Context, id string) (state string, left time.Duration, found bool, err error)
	// Wait returns a channel that is closed when a question may have changed. Who
	// takes it first and then looks misses nothing.
	Wait() <-chan struct{}
	// Answer changes a question from one state to another, with the rules that
	// hang on it, unless it is in another state, has expired, or its process is
	// gone. full says that room, told how many rules there are, had none for one
	// more.
	Answer(ctx context.Context, w KeptAnswer, room func(rules int) bool) (done, full bool, err error)
	// Take uses up a yes of a process, no longer than way after it has expired. Of
	// all who try, one succeeds.
	Take(ctx context.Context, id, owner string, way time.Duration) (taken bool, err error)
	// Withdraw removes a question of a process that is in one of two states.
	Withdraw(ctx context.Context, id, owner, state, other string) (gone bool, err error)
	// Sweep removes what processes that are gone have left, what has been over for
	// some time, and all that is over but the latest ones.
	Sweep(ctx context.Context, keep time.Duration, most int) error
	// Look notes that somebody who may answer has looked, and Looked reports
	// whether somebody has within some time.
	Look(ctx context.Context) error
	Looked(ctx context.Context, within time.Duration) (bool, error)
	// Rules returns the rules that count, the oldest first; RulesFor those for
	// calls of a tool by a principal.
	Rules(ctx context.Context) ([]KeptRule, error)
	RulesFor(ctx context.Context, principal, tool string) ([]KeptRule, error)
	// Forget removes a rule that counts.
	Forget(ctx context.Context, id string) (gone KeptRule, found bool, err error)
}

// Kept is a question as it is kept. Like the others below it is an alias, so that
// whoever keeps the rows declares the same fields and neither package has to
// know the other.
type Kept = struct {
	ID        string
	Owner     string
	Principal string
	Size      int
	Call      string
	State     string
	Decision  string
	Asked     time.Time
	Expires   time.Time
	Decided   time.Time
}

// KeptRule is a rule as it is kept.
type KeptRule = struct {
	ID        string
	Scope     string
	Owner     string
	Principal string
	Tool      string
	Rule      string
	Created   time.Time
	Expires   time.Time
}

// KeptAnswer is what becomes of a question.
type KeptAnswer = struct {
	ID       string
	From, To string
	Decision string
	Rule     *KeptRule
	Drop     string
}
