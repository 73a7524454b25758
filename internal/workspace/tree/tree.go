// Package tree walks the directories below a root, several at a time.
//
// A search visits names that are not hidden and that no ignore file excludes, by the rules of
// ripgrep. It never follows a link, and opens only directories and ignore files. It knows
// neither the contents of files nor the rights of callers; Options.Skip decides about those.
//
// Begin with [Walk] for directories, and [Files] for the names of all files in order.
package tree

import (
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Options configure a walk. The zero Options visit the whole root without hidden
// and ignored files.
type Options struct {
	// Dir is the directory to begin with; "" and "." are the root. It is walked even
	// if it is hidden or ignored itself.
	Dir   string
	Depth int // levels of directories, 1 for the entries of Dir only; 0 for no limit
	// Hidden includes names that begin with a dot. Without it such a name is
	// visited only if an ignore file includes it with "!".
	Hidden  bool
	Ignored bool // includes the names that .gitignore, .ignore and .git/info/exclude exclude
	// Skip excludes names regardless of other rules, and is called for all of them. It
	// is called concurrently.
	Skip func(name string, dir bool) bool
	// Enter reports whether to walk a directory; nil enters all. It is called
	// concurrently.
	Enter   func(dir string) bool
	Workers int // 0 for one for each processor
}

// A Dir is one directory: its name relative to the root, and its sorted entries.
type Dir struct {
	Name    string
	Entries []root.Entry
}

// Walk visits each directory once, in any order, several at a time. visit may keep
// its argument. Walk returns the directories that could not be read. It stops at
// the first error of visit and returns it. It also returns an error if Dir itself
// cannot be read. A directory that is removed during the walk is left out.
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

// Files returns the names of the regular files that keep accepts; a nil keep
// accepts all. It is called concurrently. Links are left out. Names are relative
// to the root and in byte order, and so are the directories that could not be
// read.
func Files(
	ctx context.Context, r *root.Root, o Options, keep func(name string) bool,
) (names, unread []string, err error) {
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

// A candidate is an entry of a directory that passed the rules.
type candidate struct {
	name  string // relative to the root
	at    int    // where its last step begins
	mode  fs.FileMode
	enter bool  // it is a directory that will be walked
	node  *node // the node for its files
}

func (f *candidate) base() string { return f.name[f.at:] }

// A node collects the wanted entries of one directory.
type node struct{ items []item }

// An item is a file, or a directory if it has a node.
type item struct {
	name string
	at   int
	node *node
}

func (n *node) add(f candidate) { n.items = append(n.items, item{f.name, f.at, f.node}) }

// sort orders items by the full names of the files in them: a directory sorts as
// its name with a slash.
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

// names appends the names of all files. The recursion is bounded, because a path
// has fewer steps than bytes.
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

// Stats returns the state of files, in the order of names. It reads several at a
// time. A file that does not exist or cannot be read has the zero Info, and so
// have the remaining files when ctx ends. 0 workers means one for each processor.
func Stats(ctx context.Context, r *root.Root, names []string, workers int) []root.Info {
	const batch = 64
	infos := make([]root.Info, len(names))
	var taken atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			to := int(taken.Add(batch))
			from := to - batch
			if from >= len(names) {
				return
			}
			for i := from; i < min(to, len(names)); i++ {
				if info, err := r.Lstat(names[i]); err == nil {
					infos[i] = info
				}
			}
		}
	}
	o := Options{Workers: workers}
	var all sync.WaitGroup
	for range min(o.workers(), len(names)/batch+1) - 1 {
		all.Go(work)
	}
	work()
	all.Wait()
	return infos
}
