// Package knowledge keeps what agents know: it joins the rows of entities and
// relations with the index that finds them by their words.
//
// It knows who may see and change what: everybody sees what is their own and
// what all users of their agent share, and changes only their own. It does not
// know SQL, nor how answers are worded. What is written is found again by
// whoever follows the [Shelf]. Begin with [New].
package knowledge

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// A Tx is a transaction on the rows. What it returns of an owner's includes,
// unless it says otherwise, what is shared with the owner.
type Tx interface {
	Now() (int64, error)
	NewID() string

	Entities(o graph.Owner, slugs []string) ([]graph.Entity, error)
	Named(o graph.Owner, slugs []string) ([]graph.Entity, error)
	ByID(o graph.Owner, ids []string) ([]graph.Entity, error)
	Alike(o graph.Owner, head string, limit int) ([]graph.Entity, error)
	List(o graph.Owner, l graph.Listing) ([]graph.Entity, error)
	Links(o graph.Owner, slugs []string, each int, at int64) ([]graph.Relation, bool, error)

	// Those of the owner alone; none or one.
	Relation(o graph.Owner, l graph.Link) ([]graph.Relation, error)
	RelationByID(o graph.Owner, id string) ([]graph.Relation, error)
	RelationsOf(o graph.Owner, slug string, limit int) ([]graph.Relation, error)

	// Everybody's, for the index alone.
	Any(id string) ([]graph.Entity, error)
	IDs(after string, limit int) ([]string, error)

	// Begin holds the owner's knowledge until the transaction is over.
	Begin(o graph.Owner, c graph.Change) (int64, error)
	SetEntity(change int64, old, e *graph.Entity) error
	SetRelation(change int64, old, r *graph.Relation) error
	End(o graph.Owner, change int64, summary string, by graph.Size) (graph.Size, error)

	Changes(o graph.Owner, number int64, limit int) ([]graph.Change, error)
	Past(o graph.Owner, number int64) ([]graph.Past, error)
	Undone(o graph.Owner, number, by int64) error
}

// Rows are where it is kept. What they call may be called again when others
// were in the way.
type Rows[T Tx] interface {
	View(ctx context.Context, f func(T) error) error
	Update(ctx context.Context, f func(T) error) error
}

// A Finder finds documents of the shelf. Fresh is false while it has not seen
// everything that was written before.
type Finder interface {
	Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error)
}

// Most is how much one owner can have.
const (
	mostEntities  = 100_000
	mostRelations = 1_000_000
)

// A Graph is what is known. Its methods may be called from many goroutines.
type Graph struct {
	view   func(context.Context, func(Tx) error) error
	update func(context.Context, func(Tx) error) error
	finder Finder
}

// New joins rows and a finder, which has the [Shelf] of these rows.
func New[T Tx](rows Rows[T], finder Finder) *Graph {
	return &Graph{
		view: func(ctx context.Context, f func(Tx) error) error {
			return rows.View(ctx, func(t T) error { return f(t) })
		},
		update: func(ctx context.Context, f func(Tx) error) error {
			return rows.Update(ctx, func(t T) error { return f(t) })
		},
		finder: finder,
	}
}

// Scope is where the index keeps what is an owner's, and nothing but knowledge,
// so that what else is found does not change how rare a word is.
func Scope(o graph.Owner) string { return topic + "\x00" + o.Agent + "\x00" + o.User }

// scopes are those that an owner sees.
func scopes(o graph.Owner) []string {
	if o.User == "" {
		return []string{Scope(o)}
	}
	return []string{Scope(o), Scope(o.Shared())}
}

// owner is who is calling. Outside a call there is nobody, who owns nothing.
func owner(ctx context.Context) (graph.Owner, graph.Trace, error) {
	c := tool.CallerFrom(ctx)
	name := c.Agent + c.User + c.Session
	if c == (tool.Caller{}) || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return graph.Owner{}, graph.Trace{}, tool.Errorf(tool.Refused, "nobody is known to be calling").Try("ask the operator to give callers a name")
	}
	return graph.Owner{Agent: c.Agent, User: c.User}, graph.Trace{Author: c.Principal(), Session: c.Session}, nil
}

// moment is the time that a question is about.
func moment(tx Tx, at *int64) (int64, error) {
	if at != nil {
		return *at, nil
	}
	return tx.Now()
}

// ground is what one owner sees at one moment.
type ground struct {
	tx    Tx
	owner graph.Owner
	at    int64
}

func (g ground) Links(ctx context.Context, slugs []string, each int) ([]graph.Relation, bool, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, false, err
	}
	return g.tx.Links(g.owner, slugs, each, g.at)
}

func (g ground) Entities(_ context.Context, slugs []string) (map[string]graph.Entity, error) {
	rows, err := g.tx.Entities(g.owner, slugs)
	seen := graph.Seen(rows)
	for slug, e := range seen {
		if !e.Valid.Holds(g.at) {
			delete(seen, slug)
		}
	}
	return seen, err
}
