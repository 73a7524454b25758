package managed

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxPart is the maximum size of a part of a file, unless a test has another one.
const maxPart = 32 << 20

var (
	errLost  = errors.New("another server has the workspace")
	errMoved = errors.New("the directory of the workspace was removed or replaced")
)

// store stores the changes made here. If it fails the changes are still pending, unless the lease was lost.
func (w *workspace) store(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	w.mu.Lock()
	names, scan, held := w.dirty, w.scan, w.held
	if held {
		w.dirty, w.scan = nil, false
	}
	behind := w.behind
	w.mu.Unlock()
	switch {
	case len(names) == 0 && !scan && !behind:
		return nil
	case !held || w.files == nil:
		w.lost()
		return w.failure(ctx, errLost)
	}
	err := w.commit(ctx, names, scan)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLost):
		w.mu.Lock()
		w.scan = true // lost notes that it is behind
		w.mu.Unlock()
		w.lost()
	case errors.Is(err, errMoved):
		w.mu.Lock()
		w.ready = false // the next call fetches the files again
		w.mu.Unlock()
	default:
		w.mu.Lock()
		w.scan = w.scan || scan
		if w.dirty == nil {
			w.dirty = names
		} else {
			maps.Copy(w.dirty, names)
		}
		w.mu.Unlock()
	}
	return w.failure(ctx, err)
}

// failure returns the error for the caller whose changes were not stored. The error of a service, such as the one that
// has the contents, does not say that the change was made, so it is only the reason.
func (w *workspace) failure(ctx context.Context, err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known) && known.Kind == tool.TooLarge:
		return err
	case errors.Is(err, mirror.ErrTooMany):
		return tool.Errorf(tool.TooLarge, "%w, so what this call has changed is on the server %q only", err, w.t.o.Name).
			Try("delete what is not needed, such as caches of builds, or put many small files into an archive")
	case errors.Is(err, errLost):
		return tool.Errorf(tool.Conflict, "another server has taken over the workspace while the call ran, so what it has changed "+
			"is on the server %q only", w.t.o.Name).Because(err).
			Try("look at the files before you repeat it; those changes will appear in a directory conflict-...")
	case errors.Is(err, errMoved):
		return tool.Errorf(tool.Unavailable, "the directory of the workspace was removed while the call ran, and the call's changes "+
			"with it").Because(err).Try("look at the files, which are those from before the call, and repeat it")
	}
	return tool.Errorf(tool.Unavailable, "the last changes of the workspace are on the server %q only: they could not be stored for "+
		"the others%s", w.t.o.Name, reason(err)).Because(err).
		Try("do not repeat the call: the server stores them as soon as it can; if this persists, tell the user")
}

// reason returns the part of an error that callers may know, in parentheses, or "".
func reason(err error) string {
	if known := (*tool.Error)(nil); errors.As(err, &known) {
		return " (" + known.What + ")"
	}
	return ""
}

// commit stores the names that have changed, or all that are found to have.
func (w *workspace) commit(ctx context.Context, names map[string]bool, scan bool) error {
	if !w.files.InPlace() {
		return errMoved
	}
	list, err := w.changes(ctx, names, scan)
	if err != nil || len(list) == 0 {
		return err
	}
	if !w.files.InPlace() { // the changes are those that a removal of the directory left
		return errMoved
	}
	c := &commit{w: w, list: list, parts: make([][]part, len(list)), marks: make([]mirror.Mark, len(list))}
	defer c.close()
	if err := c.check(ctx); err != nil {
		return err
	}
	if len(list) > 1 {
		c.known = w.byDigest()
	}
	tree := rand.Text()
	if err := w.t.o.Blobs.PutAll(ctx, w.blobOwner(), c.next, c.put, func(t *store.Tx) error { return c.record(t, tree) }); err != nil {
		return err
	}
	var notes note
	for i, e := range c.list {
		if c.gone(i) {
			e = mirror.Entry{Path: e.Path}
		}
		w.remember(e, c.marks[i], c.parts[i])
		notes.entry(e, c.marks[i], c.parts[i])
	}
	w.save(&notes, tree)
	return nil
}

// changes returns the entries that differ from the store.
func (w *workspace) changes(ctx context.Context, names map[string]bool, scan bool) ([]mirror.Entry, error) {
	if scan {
		begun := time.Now()
		list, left, err := w.files.Changes(ctx)
		w.mu.Lock()
		w.scanned, w.took = time.Now(), time.Since(begun)
		w.mu.Unlock()
		if len(left) > w.warned {
			tool.Note(ctx, fmt.Sprintf("Note: %d pipes, sockets, devices or unreadable files, such as %q, stay on the server %q.",
				len(left), left[0], w.t.o.Name))
		}
		w.warned = len(left)
		return list, err
	}
	var list []mirror.Entry
	for name := range names {
		for at := name; at != "."; at = path.Dir(at) { // with the directories that it is in
			if at != name && (names[at] || w.files.Known(at).Kind == mirror.Dir) {
				break
			}
			if w.files.Skips(at) {
				continue
			}
			e, err := w.files.Look(at)
			if errors.Is(err, fs.ErrNotExist) {
				e = mirror.Entry{Path: at}
			} else if err != nil {
				return nil, err
			}
			if !mirror.Same(e, w.files.Known(at)) && !slices.ContainsFunc(list, func(o mirror.Entry) bool { return o.Path == at }) {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b mirror.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// byDigest returns the parts of the files that the store has.
func (w *workspace) byDigest() map[string][]part {
	all := make(map[string][]part, len(w.parts))
	for e := range w.files.All {
		if e.Kind == mirror.File {
			all[e.Digest] = w.parts[e.Path]
		}
	}
	return all
}

// A commit stores entries.
type commit struct {
	w     *workspace
	list  []mirror.Entry
	parts [][]part
	marks []mirror.Mark
	lost  map[int]bool // files that are no more
	known map[string][]part

	at   int // the file that is being read
	file *os.File
	sum  hash.Hash
	size int64
}

func (c *commit) close() {
	if c.file != nil {
		_ = c.file.Close() // it was only read
	}
}

func (c *commit) gone(i int) bool { return c.list[i].Kind == mirror.Gone || c.lost[i] }

// next returns the next part of a file to be stored.
func (c *commit) next() (io.ReadCloser, error) {
	for c.file == nil {
		if c.at == len(c.list) {
			return nil, io.EOF
		}
		e := &c.list[c.at]
		if e.Kind != mirror.File {
			c.at++
			continue
		}
		file, mark, err := c.w.files.Open(e.Path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) { // it has changed again, and is found then
			if c.lost == nil {
				c.lost = make(map[int]bool)
			}
			c.lost[c.at] = true
			c.at++
			continue
		}
		if err != nil {
			return nil, err
		}
		if parts, ok := c.known[e.Digest]; ok && mark.Size == e.Size {
			if err := file.Close(); err != nil {
				return nil, err
			}
			c.parts[c.at], c.marks[c.at] = parts, mark
			c.at++
			continue
		}
		c.file, c.marks[c.at], c.sum, c.size = file, mark, sha256.New(), 0
	}
	return io.NopCloser(io.TeeReader(io.LimitReader(c.file, c.w.t.part), c.sum)), nil
}

// put gets the blob of the part.
func (c *commit) put(ref blob.Ref) error {
	c.size += ref.Size
	c.parts[c.at] = append(c.parts[c.at], part{ref.Name, ref.Size})
	if ref.Size == c.w.t.part {
		return nil // there may be more
	}
	e := &c.list[c.at]
	e.Digest, e.Size = hex.EncodeToString(c.sum.Sum(nil)), c.size // of the bytes read: a command may be writing to the file
	if parts := c.parts[c.at]; len(parts) > 1 && ref.Size == 0 {
		c.parts[c.at] = parts[:len(parts)-1]
	}
	if c.known != nil {
		c.known[e.Digest] = c.parts[c.at]
	}
	err := c.file.Close()
	c.file = nil
	c.at++
	return err
}

// record makes the tree in the store the tree of this machine, if this replica still has the
// lease.
func (c *commit) record(t *store.Tx, tree string) error {
	w := c.w
	w.mu.Lock()
	fence := w.fence
	w.mu.Unlock()
	bytes, files := w.bytes, int64(len(w.parts))
	names := make(map[string]int, len(c.list))
	var rows [][]any
	now, err := t.Now()
	if err != nil {
		return err
	}
	for i, e := range c.list {
		was := w.files.Known(e.Path)
		if was.Kind != mirror.Gone {
			names[e.Path] = len(w.parts[e.Path])
		}
		if was.Kind == mirror.File {
			bytes, files = bytes-was.Size, files-1
		}
		if c.gone(i) {
			continue
		}
		if e.Kind == mirror.File {
			bytes, files = bytes+e.Size, files+1
		}
		more, err := w.rows(stored{e, c.parts[i]}, now)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	n, err := t.Exec(`UPDATE workspace SET tree = $1, files = $2, bytes = $3, changed = {{now}},
		until = {{max}}(until, {{now}} + $4) WHERE name = $5 AND holder = $6 AND fence = $7`,
		tree, files, bytes, lease.Milliseconds(), w.name, w.t.o.ID, fence)
	if err != nil {
		return err
	}
	if n == 0 {
		return errLost
	}
	if bytes > w.bytes {
		if err := c.room(t, bytes); err != nil {
			return err
		}
	}
	if err := w.remove(t, names); err != nil {
		return err
	}
	return t.Insert("kept (noun, owner, name, blob, digest, size, about, at)", rows)
}

// check refuses large changes before they are stored if there is no room for them.
func (c *commit) check(ctx context.Context) error {
	grows := int64(0)
	for _, e := range c.list {
		if e.Kind == mirror.File {
			grows += e.Size
		}
		if was := c.w.files.Known(e.Path); was.Kind == mirror.File {
			grows -= was.Size
		}
	}
	if grows < 1<<20 {
		return nil // the transaction checks it
	}
	return c.w.t.o.Store.View(ctx, func(t *store.Tx) error { return c.room(t, c.w.bytes+grows) })
}

// room returns an error if the workspace may not have so many bytes.
func (c *commit) room(t *store.Tx, bytes int64) error {
	limits := c.w.t.o.Limits
	var mine, all int64
	var owner string
	if limits.User == 0 && limits.Team == 0 {
		return nil
	}
	if err := t.Row(`SELECT owner FROM workspace WHERE name = $1`, []any{c.w.name}, &owner); err != nil {
		return err
	}
	if err := t.Row(`SELECT coalesce(sum(CASE WHEN owner = $1 THEN bytes ELSE 0 END), 0), coalesce(sum(bytes), 0)
		FROM workspace WHERE name <> $2`, []any{owner, c.w.name}, &mine, &all); err != nil {
		return err
	}
	switch {
	case limits.User > 0 && mine+bytes > limits.User:
		return c.full(fmt.Sprintf("the workspaces of %s would have", owner), mine+bytes, limits.User)
	case limits.Team > 0 && all+bytes > limits.Team:
		return c.full("all workspaces together would have", all+bytes, limits.Team)
	}
	return nil
}

// full is the error about a limit, with the largest names of the workspace.
func (c *commit) full(what string, bytes, limit int64) error {
	sizes := make(map[string]int64)
	add := func(e mirror.Entry, sign int64) {
		if e.Kind == mirror.File {
			first, _, _ := strings.Cut(e.Path, "/")
			sizes[first] += sign * e.Size
		}
	}
	for e := range c.w.files.All {
		add(e, 1)
	}
	for i, e := range c.list {
		add(c.w.files.Known(e.Path), -1)
		if !c.gone(i) {
			add(e, 1)
		}
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	})
	var largest []string
	for _, name := range names[:min(3, len(names))] {
		largest = append(largest, fmt.Sprintf("%q (%s)", name, size(sizes[name])))
	}
	return tool.Errorf(tool.TooLarge, "%s %s of files, and the maximum is %s: what this call has changed is on the server %q only, "+
		"and not stored", what, size(bytes), size(limit), c.w.t.o.Name).
		Try("delete what is not needed; the largest here are %s", strings.Join(largest, ", "))
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
