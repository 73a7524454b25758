package skills

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// A viewer has the facts that determine the skills of a caller.
type viewer struct{ principal, workspace string }

// Visible are the patterns of the skills that agents see, by agent: names with * for any
// characters. An agent without patterns sees all skills. A pattern with ! before it hides
// skills.
type Visible map[string][]string

// to reports whether an agent sees the skills of a name.
func (v Visible) to(agent, slug string) bool {
	listed, limited := false, false
	for _, pattern := range v[agent] {
		pattern, hide := strings.CutPrefix(pattern, "!")
		matches, _ := path.Match(pattern, slug)
		if hide && matches {
			return false
		}
		limited = limited || !hide
		listed = listed || matches && !hide
	}
	return listed || !limited
}

// maxViews is how many views are cached. The least recently used one is evicted; its caller's next call takes longer.
const maxViews = 32

// An item is a skill that a caller sees.
type item struct {
	slug      string
	meta      skill.Meta
	problem   string    // why it cannot be used; "" if it can
	directory directory // nil for a published skill
	version   Version   // of a published skill
	granted   bool      // of another user
	hidden    []item    // of the same name, with lower precedence
}

// source names where the skill comes from.
func (i item) source() string {
	switch {
	case i.directory != nil:
		return i.directory.label()
	case i.version.Owner.User == "":
		return "shared"
	case i.granted:
		return "granted"
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

// A view is the set of skills that one viewer sees. Each call brings it up to date, one call at
// a time.
type view struct {
	mu          sync.Mutex
	labels      []string            // of the directories
	directories []map[string]parsed // by directory, then by slug
	stamp       string
	published   []Version
	items       map[string]item   // by slug; nil before the first use
	words       *index.Collection // of the items; nil if it was not made since they changed
}

// withView calls f with the caller's present view. f must not keep the view.
func (l *Library) withView(ctx context.Context, f func(v *view, o tool.Owner) error) error {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	caller := tool.CallerFrom(ctx)
	key := viewer{caller.Principal(), caller.Workspace}
	v, ok := l.views.Get(key)
	if !ok {
		v = &view{}
		l.views.Put(key, v)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := l.refresh(ctx, v, o); err != nil {
		return err
	}
	return f(v, o)
}

// refresh reads the changes in the directories and in the store.
func (l *Library) refresh(ctx context.Context, v *view, o tool.Owner) error {
	directories := l.directories(ctx)
	labels := make([]string, len(directories))
	for i, d := range directories {
		labels[i] = d.label()
	}
	changed := v.items == nil || !slices.Equal(labels, v.labels)
	if changed {
		v.directories, v.labels = make([]map[string]parsed, len(directories)), labels
	}
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
		v.items, v.words = mergeItems(directories, v.directories, v.published, o), nil
		maps.DeleteFunc(v.items, func(slug string, _ item) bool { return !l.o.Visible.to(o.Agent, slug) })
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

// mergeItems returns all skills by slug. Skills of earlier directories take precedence, and
// published ones come last.
func mergeItems(
	directories []directory, found []map[string]parsed, published []Version, o tool.Owner,
) map[string]item {
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
		add(item{slug: v.Slug, meta: v.Meta, version: v, granted: v.Owner != o && v.Owner != o.Shared()})
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

// search ranks the items by the words of a query.
func (v *view) search(query string, limit int) index.Result {
	if v.words == nil {
		var documents []index.Document
		for _, i := range v.sorted() {
			if i.problem == "" {
				documents = append(documents, i.document())
			}
		}
		v.words = index.NewCollection(documents)
	}
	return v.words.Search(query, limit)
}

func (i item) document() index.Document {
	title := strings.ReplaceAll(i.slug, "-", " ")
	if skill.Slug(i.meta.Name) != i.slug {
		title += " " + i.meta.Name
	}
	return index.Document{
		ID: i.slug, Title: title, Body: i.meta.Description,
		Headings: strings.Join(i.meta.Headings, "\n"), Tags: i.meta.Tags,
	}
}
