// Package extract fills the knowledge graph from memories: after a memory has changed, a model
// finds the entities and relations in its text. Each addition has the memory as its origin and
// is taken back when the memory is changed or removed.
//
// The text of a memory is data. The model that reads it has no tools, and its reply is parsed
// strictly: a memory can add only entities and relations of its owner.
//
// The package decides when to read, asks the model, and parses the reply. knowledge.SetReports
// applies the reports of a document to the graph; package llm has the budgets. Begin with
// [Extractor.Observe]. It is called with each change of a memory.
package extract

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Options are the needs of an Extractor.
type Options struct {
	Store    *store.Store
	Jobs     *jobs.Loop // nil: one of its own
	Memories *memory.Rows
	// On reports whether changed memories are read. Without it an Extractor only takes back
	// earlier reports.
	On       bool
	Model    string     // as in the settings of models; "" is the default model
	Budget   llm.Amount // of an agent and its user in a day
	Complete func(ctx context.Context, r llm.Request) (llm.Reply, error)
	Scrub    func(string) string
	Record   func(ctx context.Context, d Done) // for the audit log
	Log      *slog.Logger
	Delay    time.Duration // after a change, for others that follow it; 0 is [DefaultDelay]
}

// DefaultDelay is how long a memory must not have changed before it is read.
const DefaultDelay = 5 * time.Second

// Done is a memory that was read, or could not be read.
type Done struct {
	Job                 string
	Owner               tool.Owner
	Memory              string // its path
	Entities, Relations int
	Began               time.Time
	Err                 error
}

// An Extractor reads memories.
type Extractor struct {
	o     Options
	queue *jobs.Queue
}

const (
	jobKind = "knowledge"
	// attempts is how often a memory is read again after the process that read it has died.
	attempts = 5
	// maxTries is how often a memory is tried to be read while the model does not answer.
	maxTries = 6
	// slots is how many memories one process reads at once.
	slots = 2
	// Purpose is the name of a caller's budget for this work.
	Purpose = "memory.knowledge"
)

// New returns an Extractor.
func New(o Options) *Extractor {
	o.Delay = cmp.Or(o.Delay, DefaultDelay)
	x := &Extractor{o: o}
	x.queue = &jobs.Queue{Store: o.Store, Loop: o.Jobs, Kind: jobKind, Do: x.do, Slots: slots, Log: o.Log}
	return x
}

// Run reads memories until ctx ends.
func (x *Extractor) Run(ctx context.Context) { x.queue.Run(ctx) }

// A task is the state of a job: one version of a memory.
type task struct {
	ID      string
	Version int64
	Try     int
}

func (t task) once() string { return fmt.Sprintf("%s %s %d %d", jobKind, t.ID, t.Version, t.Try) }

// Observe is the Observe of [memory.Rows]: it takes back the reports of a removed memory, and
// adds a job to read a changed one.
func (x *Extractor) Observe(t *store.Tx, e memory.Event) error {
	d := document(e.Document)
	switch {
	case e.Purged:
		return knowledge.PurgeReports(t, d)
	case e.Removed, !x.o.On && !e.Added:
		return knowledge.SetReports(t, d, nil, nil)
	case !x.o.On:
		return nil
	}
	return x.enqueue(t, e.Owner, task{ID: e.ID, Version: e.Version}, time.Now().Add(x.o.Delay))
}

func document(d memory.Document) knowledge.Document {
	return knowledge.Document{Owner: d.Owner, ID: d.ID, Name: d.Path}
}

func (x *Extractor) enqueue(t *store.Tx, o tool.Owner, k task, due time.Time) error {
	payload, err := json.Marshal(k)
	if err != nil {
		return err
	}
	_, _, err = x.queue.Enqueue(t, jobs.New{
		Owner: caller(o).Principal(), Agent: o.Agent, Payload: string(payload), Attempts: attempts, Due: due,
		Once: k.once(),
	})
	return err
}

func caller(o tool.Owner) tool.Caller {
	return tool.Caller{Agent: o.Agent, User: o.User, Channel: jobKind}
}

// wrote is the saved state of a job after its reports are in the graph.
const wrote = "wrote"

// do reads one version of a memory. A later one has another job.
func (x *Extractor) do(ctx context.Context, h *jobs.Held) (string, error) {
	var k task
	if err := json.Unmarshal([]byte(h.Payload), &k); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	d, found, err := x.o.Memories.ByID(ctx, k.ID)
	if err != nil || !found || d.Version != k.Version || h.Saved == wrote {
		return "", err
	}
	done := Done{Job: h.ID, Owner: d.Owner, Memory: d.Path, Began: time.Now()}
	asOwner := tool.With(ctx, &tool.Running{Caller: caller(d.Owner), Call: h.ID})
	r, failure := x.read(asOwner, d.Text)
	if failure != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	again := time.Time{}
	if failure != nil {
		r, again = facts{}, k.again(failure, time.Now())
	}
	done.Err, done.Entities, done.Relations = failure, len(r.entities), len(r.relations)
	current := false
	err = x.o.Store.Update(ctx, func(t *store.Tx) error {
		version, err := x.o.Memories.Lock(t, k.ID)
		if current = version == k.Version; err != nil || !current {
			return err
		}
		if err := h.Save(t, wrote); err != nil {
			return err
		}
		if err := knowledge.SetReports(t, document(d), r.entities, r.relations); err != nil {
			return err
		}
		if again.IsZero() {
			return nil
		}
		k := k
		k.Try++
		return x.enqueue(t, d.Owner, k, again)
	})
	if err != nil {
		return "", err
	}
	if current && x.o.Record != nil {
		x.o.Record(asOwner, done)
	}
	if failure != nil && again.IsZero() {
		return "", failure
	}
	return fmt.Sprintf("%d entities, %d relations", len(r.entities), len(r.relations)), nil
}

// again returns the time of the next attempt after an error, or the zero time for no further
// attempt. A budget that is used up today may suffice tomorrow.
func (k task) again(err error, now time.Time) time.Time {
	if errors.Is(err, llm.ErrBudget) {
		return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	kind := tool.AsError(err).Kind
	if kind != tool.Unavailable && kind != tool.Busy || k.Try+1 >= maxTries {
		return time.Time{}
	}
	return now.Add(time.Minute << (2 * k.Try)) // 1 minute to 4 hours
}
