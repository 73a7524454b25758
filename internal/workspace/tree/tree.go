// Package tree walks the directories beneath a root, many at a time.
//
// It knows which names a search sees: those that no ignore file takes out, by
// the rules that ripgrep has, and that are not hidden. It never follows a link
// and opens nothing but directories and ignore files. It does not know what is
// in files, who may see them (Options.Skip says it) or what is wanted of them.
//
// Begin with [Walk] for directories one by one and [Files] for the names of all
// files in order.
package tree

import (
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Options say what to walk. The zero Options walk all of a root, and leave out
// what is hidden or ignored.
type Options struct {
	// Dir is where to begin; "" and "." are the root. That it is hidden or
	// ignored itself does not matter.
	Dir   string
	Depth int // directories deep, 1 for the entries of Dir only; 0 for no bound
	// Hidden takes names that begin with a dot, too. Without it such a name is
	// taken only where an ignore file asks for it with "!".
	Hidden  bool
	Ignored bool // takes what .gitignore, .ignore and .git/info/exclude take out
	// Skip takes names out whatever else holds. It is called concurrently.
	Skip func(name string, dir bool) bool
	// Enter tells whether a directory can hold what is wanted; nil enters all.
	// It is called concurrently.
	Enter   func(dir string) bool
	Workers int          // 0 for as many as there are processors
	Global  *ignore.List // rules that any other rule overrules; relative to the root
}

// A Dir is one directory: its name beneath the root, and its entries by name.
type Dir struct {
	Name    string
	Entries []root.Entry
}

// Walk visits directories, each once, in no order, several at a time. What it
// gives to visit may be kept. It returns the directories that could not be read,
// and the first error of visit, which ends it. That Dir cannot be read is an
// error. A directory that is removed meanwhile is left out.
func Walk(ctx context.Context, r *root.Root, o Options, visit func(Dir) error) (unread []string, err error) {
	return walk(ctx, r, o, nil, func(j *job, found []candidate) error {
		dir := Dir{Name: j.dir, Entries: make([]root.Entry, len(found))}
		for i, f := range found {
			dir.Entries[i] = root.Entry{Name: f.base(), Mode: f.mode}
		}
		slices.SortFunc(dir.Entries, func(a, b root.Entry) int { return strings.Compare(a.Name, b.Name) })
		return visit(dir)
	})
}

// Files returns the names of the regular files that keep, if it is not nil,
// takes; keep is called concurrently. Links are left out. Names are from the
// root and in the order of their bytes, and so are the directories that could
// not be read.
func Files(ctx context.Context, r *root.Root, o Options, keep func(name string) bool) (names, unread []string, err error) {
	top := &node{}
	unread, err = walk(ctx, r, o, top, func(j *job, all []candidate) error {
		for i := range all {
			f := &all[i]
			switch {
			case f.enter:
				f.node = &node{}
				j.node.add(*f)
			case f.mode.IsRegular() && (keep == nil || keep(f.name)):
				j.node.add(*f)
			}
		}
		j.node.sort()
		return nil
	})
	if err != nil {
		return nil, unread, err
	}
	return top.names(nil), unread, nil
}

// A candidate is an entry of a directory that passed.
type candidate struct {
	name  string // from the root
	at    int    // where its last step begins
	mode  fs.FileMode
	enter bool  // it is a directory, and will be walked
	node  *node // what to put its files into
}

func (f *candidate) base() string { return f.name[f.at:] }

// A node is what is wanted of one directory.
type node struct{ items []item }

// An item is a file or, if it has a node, a directory.
type item struct {
	name string
	at   int
	node *node
}

func (n *node) add(f candidate) { n.items = append(n.items, item{f.name, f.at, f.node}) }

// sort orders items by the bytes of the names of all files in them: those of a
// directory go on with a slash.
func (n *node) sort() {
	slices.SortFunc(n.items, func(a, b item) int {
		first, second := a.name[a.at:], b.name[b.at:]
		switch {
		case a.node != nil && len(first) < len(second) && strings.HasPrefix(second, first):
			return int('/') - int(second[len(first)])
		case b.node != nil && len(second) < len(first) && strings.HasPrefix(first, second):
			return int(first[len(second)]) - int('/')
		}
		return strings.Compare(first, second)
	})
}

// names appends the names of all files. A path has fewer steps than bytes, so
// the depth is bounded.
func (n *node) names(to []string) []string {
	for _, it := range n.items {
		if it.node == nil {
			to = append(to, it.name)
		} else {
			to = it.node.names(to)
		}
	}
	return to
}

func (o *Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}
