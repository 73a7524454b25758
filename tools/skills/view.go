package skills

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// A viewer is what determines which skills a caller sees.
type viewer struct{ principal, workspace string }

// maxViews is how many views are cached. The least recently used one is evicted; its caller's next call takes longer.
const maxViews = 64

// An item is a skill that a caller sees.
type item struct {
	slug      string
	meta      skill.Meta
	problem   string    // why it cannot be used; "" if it can
	directory directory // nil for a published skill
	version   Version   // of a published skill
	hidden    []item    // of the same name, with lower precedence
}

// source names where the skill comes from.
func (i item) source() string {
	switch {
	case i.directory != nil:
		return i.directory.label()
	case i.version.Owner.User == "":
		return "shared"
	}
	return "published"
}

// path returns the path of the skill's directory for file tools.
func (i item) path() string {
	if i.directory != nil {
		return i.directory.path(i.slug)
	}
	return servedDir(i.slug, i.version.Number)
}

// A parsed is the SKILL.md of a directory as it was when it had a fingerprint.
type parsed struct {
	fingerprint string
	meta        skill.Meta
	problem     string
}

// A view is what one viewer sees. Each call brings it up to date, one call at a time.
type view struct {
	used  int64  // clock of the library at the last use
	scope string // in the index

	mu          sync.Mutex
	evicted     bool
	directories []map[string]parsed // by directory, then by slug
	stamp       string
	published   []Version
	items       map[string]item // by slug; nil before the first use

	indexed    map[string]string // digests of what the index has, by slug
	generation int64             // of the index that has it
	stale      bool              // the index does not have the items
}

// withView calls f with what the caller sees now. f must not keep the view.
func (l *Library) withView(ctx context.Context, f func(v *view, o tool.Owner) error) error {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	caller := tool.CallerFrom(ctx)
	for {
		v, evicted := l.view(viewer{caller.Principal(), caller.Workspace})
		if evicted != nil {
			l.evict(ctx, evicted)
		}
		retry, err := l.useView(ctx, v, o, f)
		if !retry {
			return err
		}
	}
}

// useView brings a view up to date and calls f. It reports whether the view was evicted in between.
func (l *Library) useView(
	ctx context.Context, v *view, o tool.Owner, f func(v *view, o tool.Owner) error,
) (evicted bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.evicted {
		return true, nil
	}
	if err := l.refresh(ctx, v, o); err != nil {
		return false, err
	}
	return false, f(v, o)
}

// view returns the view of a viewer, and one to evict if there are too many.
func (l *Library) view(of viewer) (v, evicted *view) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	v = l.views[of]
	if v == nil {
		l.scopes++
		v = &view{scope: strconv.FormatInt(l.scopes, 10), indexed: map[string]string{}}
		l.views[of] = v
	}
	v.used = l.clock
	if len(l.views) <= maxViews {
		return v, nil
	}
	var oldest viewer
	for of, other := range l.views {
		if evicted == nil || other.used < evicted.used {
			oldest, evicted = of, other
		}
	}
	delete(l.views, oldest)
	return v, evicted
}

// evict removes a view from the index.
func (l *Library) evict(ctx context.Context, v *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.evicted, v.items, v.stale = true, nil, true
	if err := l.updateIndex(context.WithoutCancel(ctx), v); err != nil {
		l.o.Log.Debug("skills of an evicted view remain in the index", "err", err)
	}
}

// refresh reads what has changed in the directories and in the store.
func (l *Library) refresh(ctx context.Context, v *view, o tool.Owner) error {
	directories := l.directories(ctx)
	if len(v.directories) != len(directories) {
		v.directories = make([]map[string]parsed, len(directories))
	}
	changed := v.items == nil
	for i, d := range directories {
		now, differs, err := rescan(ctx, d, v.directories[i])
		if err != nil {
			return err
		}
		v.directories[i], changed = now, changed || differs
	}
	stamp, err := l.rows.stamp(ctx, o)
	if err != nil {
		return unavailable(err)
	}
	if stamp != v.stamp {
		if v.published, v.stamp, err = l.rows.list(ctx, o); err != nil {
			v.stamp = ""
			return unavailable(err)
		}
		changed = true
	}
	if changed {
		v.items, v.stale = mergeItems(directories, v.directories, v.published), true
	}
	return nil
}

// rescan reads the skills of a directory that are new or were changed.
func rescan(ctx context.Context, d directory, known map[string]parsed) (now map[string]parsed, changed bool,
	err error) {
	fingerprints, err := d.scan(ctx)
	if err != nil {
		return known, false, err
	}
	changed = len(fingerprints) != len(known)
	now = make(map[string]parsed, len(fingerprints))
	for slug, fingerprint := range fingerprints {
		if old, ok := known[slug]; ok && old.fingerprint == fingerprint {
			now[slug] = old
			continue
		}
		changed = true
		p := parsed{fingerprint: fingerprint}
		main, err := d.read(ctx, slug, skill.Main, skill.MaxMain)
		if ctx.Err() != nil {
			return known, false, context.Cause(ctx)
		}
		if err == nil {
			p.meta, _, err = skill.Parse(string(main))
		} else {
			p.fingerprint = "" // read it again the next time
		}
		if err != nil {
			p.problem = tool.AsError(unreadable(err)).What
		}
		now[slug] = p
	}
	return now, changed, nil
}

// mergeItems returns all skills by slug. Those of earlier directories take precedence, and published ones come last.
func mergeItems(directories []directory, found []map[string]parsed, published []Version) map[string]item {
	items := map[string]item{}
	add := func(i item) {
		first, taken := items[i.slug]
		if taken {
			first.hidden = append(first.hidden, i)
			i = first
		}
		items[i.slug] = i
	}
	for i, d := range directories {
		for slug, p := range found[i] {
			add(item{slug: slug, meta: p.meta, problem: p.problem, directory: d})
		}
	}
	for _, v := range published {
		add(item{slug: v.Slug, meta: v.Meta, version: v})
	}
	return items
}

// sorted returns the items by slug.
func (v *view) sorted() []item {
	list := make([]item, 0, len(v.items))
	for _, i := range v.items {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.slug, b.slug) })
	return list
}

// A searchIndex is the index of all views. It begins empty, since directories may have changed while no process ran. A
// failed index is closed, and the next use begins another generation.
type searchIndex struct {
	dir string
	log *slog.Logger

	mu         sync.Mutex
	index      *index.Index
	generation int64 // counts the indexes that were begun
	closed     bool
}

// open returns the index and its generation.
func (s *searchIndex) open() (*index.Index, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		return s.index, s.generation, nil
	}
	if s.closed || s.dir == "" {
		return nil, 0, index.ErrClosed
	}
	x, err := index.Open(s.dir)
	if err != nil {
		return nil, 0, err
	}
	if err := x.Reset(); err != nil {
		return nil, 0, errors.Join(err, x.Close())
	}
	s.index = x
	s.generation++
	return x, s.generation, nil
}

// discard closes an index that has failed.
func (s *searchIndex) discard(generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil || s.generation != generation {
		return
	}
	if err := s.index.Close(); err != nil {
		s.log.Debug("closing a failed index of skills", "err", err)
	}
	s.index = nil
}

func (s *searchIndex) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.index == nil {
		return nil
	}
	err := s.index.Close()
	s.index = nil
	return err
}

// updateIndex writes the items of a view to the index, as far as they have changed.
func (l *Library) updateIndex(ctx context.Context, v *view) error {
	if len(v.items)+len(v.indexed) == 0 {
		v.stale = false
		return nil
	}
	x, generation, err := l.index.open()
	if err != nil {
		return err
	}
	if generation != v.generation {
		v.generation, v.stale = generation, true
		clear(v.indexed)
	}
	if !v.stale {
		return nil
	}
	var b index.Batch
	now := make(map[string]string, len(v.items))
	for slug, i := range v.items {
		if i.problem != "" {
			continue
		}
		d := i.document(v.scope)
		sum := sha256.Sum256([]byte(strings.Join(append([]string{d.Title, d.Headings, d.Body}, d.Tags...), "\x00")))
		now[slug] = hex.EncodeToString(sum[:])
		if v.indexed[slug] != now[slug] {
			b.Put = append(b.Put, d)
		}
	}
	for slug := range v.indexed {
		if now[slug] == "" {
			b.Delete = append(b.Delete, v.scope+"/"+slug)
		}
	}
	if len(b.Put)+len(b.Delete) > 0 {
		if err := x.Apply(ctx, b); err != nil {
			return err
		}
	}
	v.indexed, v.stale = now, false
	return nil
}

func (i item) document(scope string) index.Document {
	title := strings.ReplaceAll(i.slug, "-", " ")
	if skill.Slug(i.meta.Name) != i.slug {
		title += " " + i.meta.Name
	}
	return index.Document{
		ID: scope + "/" + i.slug, Scope: scope, Title: title, Body: i.meta.Description,
		Headings: strings.Join(i.meta.Headings, "\n"), Tags: i.meta.Tags,
	}
}

// searchIndex searches the items of a view. If the index fails it tries once more with another one.
func (l *Library) searchIndex(ctx context.Context, v *view, query string, limit int) (found index.Result, err error) {
	if len(v.items) == 0 {
		return index.Result{}, nil
	}
	for range 2 {
		if err = l.updateIndex(ctx, v); err == nil {
			var x *index.Index
			if x, _, err = l.index.open(); err == nil {
				found, err = x.Search(ctx, index.Query{Text: query, Scopes: []string{v.scope}, Limit: limit})
			}
		}
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		l.index.discard(v.generation)
	}
	return index.Result{}, tool.Errorf(tool.Unavailable, "the search index of skills is not available").
		Try("list all skills with query *, or search again later").Because(err)
}
