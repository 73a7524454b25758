package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Topics of the change feed; keys are ids of documents.
const (
	Topic        = "memory"
	ContextTopic = "context" // context files
)

const (
	columns = "id, agent, usr, path, content, category, tags, version, created, updated, expires, " +
		"author, session, digest"
	// Live leaves out rows that have expired and are not removed yet.
	Live = "(expires = 0 OR expires > {{now}})"
	// isMemory leaves out context files.
	isMemory = "category <> '" + Context + "'"
)

// Limits bound the documents of one owner; 0 means no limit.
type Limits struct {
	Documents int64
	Bytes     int64 // of present versions
}

// Rows are the documents in the store. Expired documents are not returned.
type Rows struct {
	store  *store.Store
	limits Limits
	// Observe is called in each transaction that changes or removes a memory, or adds one. It may be nil.
	Observe func(t *store.Tx, e Event) error
}

// An Event is a change of a memory.
type Event struct {
	Document      // as it is after the change, or was before its removal
	Added    bool // there was none of this path
	Removed  bool
	Purged   bool // removed with all former versions
}

// observed calls Observe, unless the document is a context file.
func (r *Rows) observed(t *store.Tx, e Event) error {
	if r.Observe == nil || e.Category == Context {
		return nil
	}
	return r.Observe(t, e)
}

// Lock returns the version of the memory of an id, 0 if there is none, in a transaction. Other
// changes of the memory wait for its end.
func (r *Rows) Lock(t *store.Tx, id string) (version int64, err error) {
	err = t.Row("SELECT version FROM memory WHERE id = $1 AND "+isMemory+" AND "+Live+" {{lock}}", []any{id}, &version)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return version, err
}

// NewRows returns the rows of a store.
func NewRows(s *store.Store, limits Limits) *Rows { return &Rows{store: s, limits: limits} }

// A row is a document as the tables have it.
type row struct {
	Document
	tags                      string
	created, updated, expires int64
	live                      bool
}

func (r *row) into() []any {
	return []any{&r.ID, &r.Owner.Agent, &r.Owner.User, &r.Path, &r.Text, &r.Category, &r.tags, &r.Version,
		&r.created, &r.updated, &r.expires, &r.Author.Name, &r.Author.Session, &r.Digest}
}

func (r *row) document() (Document, error) {
	d := r.Document
	d.Created, d.Updated, d.Expires = store.FromMillis(r.created), store.FromMillis(r.updated),
		store.FromMillis(r.expires)
	return d, store.FromJSON(r.tags, &d.Tags)
}

func scanRow(scan store.Scan) (r row, err error) {
	err = scan(r.into()...)
	return r, err
}

func scanDocument(scan store.Scan) (Document, error) {
	r, err := scanRow(scan)
	if err != nil {
		return Document{}, err
	}
	return r.document()
}

func (r *Rows) where(ctx context.Context, where string, args ...any) ([]Document, error) {
	return store.Select(ctx, r.store, "SELECT "+columns+" FROM memory WHERE "+Live+" AND "+where, args, scanDocument)
}

func first(all []Document, err error) (Document, bool, error) {
	if err != nil || len(all) == 0 {
		return Document{}, false, err
	}
	return all[0], true, nil
}

// Get returns the document of a path: the owner's, otherwise the shared one.
func (r *Rows) Get(ctx context.Context, o tool.Owner, path string) (Document, bool, error) {
	return first(r.where(ctx, "agent = $1 AND usr IN ($2, '') AND path = $3 ORDER BY usr DESC LIMIT 1", o.Agent, o.User,
		path))
}

// ByID returns the memory of an id, of any owner. It is for the index.
func (r *Rows) ByID(ctx context.Context, id string) (Document, bool, error) {
	return first(r.where(ctx, isMemory+" AND id = $1", id))
}

// Readable returns the given documents that an owner may read.
func (r *Rows) Readable(ctx context.Context, o tool.Owner, ids []string) ([]Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{o.Agent, o.User}
	// Without coalesce SQLite would use the index of owners and read all documents of this one, not only these.
	return r.where(ctx, isMemory+" AND coalesce(agent, '') = $1 AND coalesce(usr, '') IN ($2, '') AND id IN ("+
		store.In(&args, ids)+")", args...)
}

// List returns the memories that an owner reads, the latest first. A shared one is left out if the owner has
// one of the same path.
func (r *Rows) List(ctx context.Context, o tool.Owner, limit int) ([]Entry, error) {
	if r.store.Unused() {
		return nil, nil
	}
	return r.entries(ctx, `m
		WHERE agent = $1 AND usr IN ($2, '') AND `+isMemory+` AND `+Live+` AND (usr = $2 OR NOT EXISTS (
			SELECT 1 FROM memory own
			WHERE own.agent = $1 AND own.usr = $2 AND own.path = m.path AND (own.expires = 0 OR own.expires > {{now}})))
		ORDER BY updated DESC, path LIMIT $3`, o.Agent, o.User, limit)
}

// entries lists documents without their texts.
func (r *Rows) entries(ctx context.Context, where string, args ...any) ([]Entry, error) {
	text := "SELECT id, agent, usr, path, category, tags, octet_length(content), updated FROM memory " + where
	return store.Select(ctx, r.store, text, args, func(scan store.Scan) (e Entry, err error) {
		var tags string
		var updated int64
		err = scan(&e.ID, &e.Owner.Agent, &e.Owner.User, &e.Path, &e.Category, &tags, &e.Size, &updated)
		if err != nil {
			return e, err
		}
		e.Updated = store.FromMillis(updated)
		return e, store.FromJSON(tags, &e.Tags)
	})
}

// Duplicates lists paths of up to three memories with the same digest that an owner may read, except one.
func (r *Rows) Duplicates(ctx context.Context, o tool.Owner, digest, except string) ([]string, error) {
	const where = ` FROM memory WHERE agent = $1 AND usr IN ($2, '') AND digest = $3 AND path <> $4 AND ` + isMemory +
		` AND ` + Live
	args, some := []any{o.Agent, o.User, digest, except}, false
	if err := r.store.Row(ctx, "SELECT EXISTS (SELECT 1"+where+")", args, &some); err != nil || !some {
		return nil, err // mostly there are none, and this is quicker than a transaction
	}
	return store.Select(ctx, r.store, "SELECT DISTINCT path"+where+" ORDER BY path LIMIT 3", args, store.One[string])
}

// Past lists former versions of an owner's document, the latest first.
func (r *Rows) Past(ctx context.Context, o tool.Owner, path string, limit int) (all []Past, err error) {
	err = r.store.View(ctx, func(t *store.Tx) error {
		all, err = past(t, o, path, limit)
		return err
	})
	return all, err
}

func past(t *store.Tx, o tool.Owner, path string, limit int) ([]Past, error) {
	text := "SELECT " + columns + `, action, ended_by, ended_during, ended FROM memory_past
		WHERE agent = $1 AND usr = $2 AND path = $3 ORDER BY version DESC LIMIT $4`
	return store.List(t, text, []any{o.Agent, o.User, path, limit}, func(scan store.Scan) (p Past, err error) {
		var r row
		var ended int64
		if err := scan(append(r.into(), &p.Action, &p.By.Name, &p.By.Session, &ended)...); err != nil {
			return p, err
		}
		p.Ended = store.FromMillis(ended)
		p.Document, err = r.document()
		return p, err
	})
}

// rowOf reads a document for a change, also one that has expired. Other transactions that change it wait until
// this one ends.
func rowOf(t *store.Tx, o tool.Owner, path string) (r row, found bool, err error) {
	err = t.Row("SELECT "+columns+", "+Live+" FROM memory WHERE agent = $1 AND usr = $2 AND path = $3 {{lock}}",
		[]any{o.Agent, o.User, path}, append(r.into(), &r.live)...)
	if errors.Is(err, store.ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// ContextFiles returns the context files with the given names that the owner or the whole agent
// has. A name can occur twice. The order is not defined.
func (r *Rows) ContextFiles(ctx context.Context, o tool.Owner, names []string) ([]Document, error) {
	if len(names) == 0 || r.store.Unused() {
		return nil, nil
	}
	args := []any{o.Agent, o.User}
	return r.where(ctx, "category = '"+Context+"' AND agent = $1 AND usr IN ($2, '') AND path IN ("+
		store.In(&args, names)+")", args...)
}

// ContextEntries lists the context files of an agent and all its users, or of all agents if agent is "".
func (r *Rows) ContextEntries(ctx context.Context, agent string, limit int) ([]Entry, error) {
	if r.store.Unused() {
		return nil, nil
	}
	return r.entries(ctx, "WHERE category = '"+Context+
		"' AND ($1 = '' OR agent = $1) ORDER BY agent, usr, path LIMIT $2",
		agent, limit)
}

// Locate returns the owner and the path of a memory or context file that exists or is a former version.
func (r *Rows) Locate(ctx context.Context, id string) (o tool.Owner, path string, found bool, err error) {
	err = r.store.View(ctx, func(t *store.Tx) error {
		return t.Row(`SELECT agent, usr, path FROM memory WHERE id = $1
			UNION ALL SELECT agent, usr, path FROM memory_past WHERE id = $1 LIMIT 1`,
			[]any{id}, &o.Agent, &o.User, &path)
	})
	if errors.Is(err, store.ErrNotFound) {
		return o, path, false, nil
	}
	return o, path, err == nil, err
}

// count adds to the total of an owner, and returns an error if it exceeds the limits, so that
// the transaction ends. A change that removes more than it adds is always allowed. Other
// changes of the owner's documents wait until the transaction ends.
func (r *Rows) count(t *store.Tx, o tool.Owner, documents, bytes int64) error {
	if documents == 0 && bytes == 0 {
		return nil
	}
	var now Limits
	err := t.Row(`INSERT INTO memory_owner (agent, usr, documents, bytes) VALUES ($1, $2, $3, $4)
		ON CONFLICT (agent, usr) DO UPDATE SET documents = memory_owner.documents + $3, bytes = memory_owner.bytes + $4
		RETURNING documents, bytes`, []any{o.Agent, o.User, documents, bytes}, &now.Documents, &now.Bytes)
	if err != nil {
		return err
	}
	const next = "remove old memories with memory_forget or store new ones with expires"
	switch l := r.limits; {
	case documents > 0 && l.Documents > 0 && now.Documents > l.Documents:
		return tool.Errorf(tool.TooLarge, "this would be more than %d memories", l.Documents).Try(next)
	case bytes > 0 && l.Bytes > 0 && now.Bytes > l.Bytes:
		return tool.Errorf(tool.TooLarge, "all memories together would have more than %s", size(l.Bytes)).Try(next)
	}
	return nil
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
