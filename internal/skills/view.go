package skills

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// A viewer is what decides which skills somebody sees.
type viewer struct{ principal, workspace string }

// mostViews bounds what is remembered of callers. The one that asked least
// lately is forgotten, which costs it some time at its next question.
const mostViews = 64

// An item is a skill that somebody sees.
type item struct {
	slug    string
	meta    skill.Meta
	problem string    // why it cannot be used
	place   place     // nil: it was published
	row     skill.Row // when it was
	others  []item    // of the same name, that come after it
}

// source says where a skill comes from.
func (i item) source() string {
	switch {
	case i.place != nil:
		return i.place.label()
	case i.row.Owner.User == "":
		return "shared"
	}
	return "published"
}

// A read is a SKILL.md in a place as it was when it had a sign.
type read struct {
	sign    string
	meta    skill.Meta
	problem string
}

// A view is what one viewer sees. It is brought up to date whenever it is used,
// by one call at a time.
type view struct {
	used  int64
	scope string // in the index

	mu        sync.Mutex
	gone      bool
	known     []map[string]read // by place, then by name
	stamp     string
	published []skill.Row
	items     map[string]item
	stale     bool              // items are not what the index has
	indexed   map[string]string // digests of what the index has, by name
	in        int64             // which index that is
}

// look calls f with what the caller sees now. f must not keep the view.
func (l *Library) look(ctx context.Context, f func(v *view, o skill.Owner) error) error {
	o, err := owner(ctx)
	if err != nil {
		return err
	}
	c := tool.CallerFrom(ctx)
	for {
		v, old := l.view(viewer{c.Principal(), c.Workspace})
		l.forget(ctx, old)
		again, err := func() (bool, error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.gone {
				return true, nil
			}
			if err := l.refresh(ctx, v, o); err != nil {
				return false, err
			}
			return false, f(v, o)
		}()
		if !again {
			return err
		}
	}
}

// view finds the view of somebody, or makes one, and says which to forget.
func (l *Library) view(who viewer) (v, old *view) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	v = l.views[who]
	if v == nil {
		l.made++
		v = &view{scope: strconv.FormatInt(l.made, 10), indexed: map[string]string{}}
		l.views[who] = v
	}
	v.used = l.clock
	if len(l.views) <= mostViews {
		return v, nil
	}
	var least viewer
	for who, other := range l.views {
		if old == nil || other.used < old.used {
			least, old = who, other
		}
	}
	delete(l.views, least)
	return v, old
}

// forget takes a view out of the index.
func (l *Library) forget(ctx context.Context, v *view) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone, v.items, v.stale = true, nil, true
	if err := l.feed(context.WithoutCancel(ctx), v); err != nil {
		l.o.Log.Debug("skills stay in the index that nobody asks for", "err", err)
	}
}

// refresh looks what there is now.
func (l *Library) refresh(ctx context.Context, v *view, o skill.Owner) error {
	places := l.places(ctx)
	if len(v.known) != len(places) {
		v.known = make([]map[string]read, len(places))
	}
	changed := v.items == nil
	for i, p := range places {
		now, differs, err := rescan(ctx, p, v.known[i])
		if err != nil {
			return err
		}
		v.known[i], changed = now, changed || differs
	}
	stamp, err := l.o.Rows.Stamp(ctx, o)
	if err != nil {
		return gone(err)
	}
	if stamp != v.stamp {
		if v.published, v.stamp, err = l.o.Rows.List(ctx, o); err != nil {
			v.stamp = ""
			return gone(err)
		}
		changed = true
	}
	if changed {
		v.items, v.stale = merge(places, v.known, v.published), true
	}
	return nil
}

// rescan reads what is new or was changed in a place.
func rescan(ctx context.Context, p place, known map[string]read) (now map[string]read, changed bool, err error) {
	signs, err := p.scan(ctx)
	if err != nil {
		return known, false, err
	}
	changed = len(signs) != len(known)
	now = make(map[string]read, len(signs))
	for slug, sign := range signs {
		if old, ok := known[slug]; ok && old.sign == sign {
			now[slug] = old
			continue
		}
		changed = true
		r := read{sign: sign}
		text, err := p.read(ctx, slug, skill.Main, skill.MostMain)
		if ctx.Err() != nil {
			return known, false, context.Cause(ctx)
		}
		if err == nil {
			r.meta, _, err = skill.Parse(string(text))
		} else {
			r.sign = "" // look again the next time
		}
		if err != nil {
			r.problem = tool.AsError(unreadable(err)).What
		}
		now[slug] = r
	}
	return now, changed, nil
}

// merge puts those first that come first.
func merge(places []place, known []map[string]read, rows []skill.Row) map[string]item {
	items := map[string]item{}
	add := func(i item) {
		first, taken := items[i.slug]
		if taken {
			first.others = append(first.others, i)
			i = first
		}
		items[i.slug] = i
	}
	for i, p := range places {
		for slug, r := range known[i] {
			add(item{slug: slug, meta: r.meta, problem: r.problem, place: p})
		}
	}
	for _, row := range rows {
		add(item{slug: row.Slug, meta: row.Meta, row: row})
	}
	return items
}

// feed makes the index have what the view has.
func (l *Library) feed(ctx context.Context, v *view) error {
	if len(v.items)+len(v.indexed) == 0 {
		v.stale = false
		return nil
	}
	x, err := l.opened()
	if err != nil {
		return err
	}
	if in := l.begun(); in != v.in {
		v.in, v.stale = in, true
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

// sorted are the items in the order of their names.
func (v *view) sorted() []item {
	list := make([]item, 0, len(v.items))
	for _, i := range v.items {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b item) int { return cmp.Compare(a.slug, b.slug) })
	return list
}
