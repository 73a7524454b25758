package searchindex

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// A change is what an event says of a directory.
type change struct {
	dir  string
	base string // "" for the directory itself
	kind changeKind
	sub  bool // base is a directory
}

type changeKind byte

const (
	contentChanged changeKind = iota // or its permissions are others
	nameRemoved                      // the name is free
	nameCreated                      // the name has another file
	rulesChanged                     // what is seen beneath dir may be something else
	eventsLost                       // unknown what
)

// ruleFiles change what is seen. A repository that begins or ends does, too.
func ruleFile(base string) bool { return base == ".gitignore" || base == ".ignore" }

// apply takes note of a change. It looks at nothing.
func (v *view) apply(c change) {
	switch {
	case c.kind == eventsLost:
		v.lost = true
	case !v.hasDir(c.dir):
		// not any more: what is there now was listed later
	case c.base == "":
		if c.dir == "." {
			v.relistDir(".")
		}
	case c.kind == rulesChanged || ruleFile(c.base) || c.base == ".git" && c.kind != contentChanged:
		v.relistDir(c.dir)
	case c.sub:
		v.relistDir(join(c.dir, c.base))
		v.relist[c.dir] = true
	case c.kind == contentChanged:
		v.markChanged(c.dir, c.base)
	default:
		if v.hasDir(join(c.dir, c.base)) { // a directory made place for a file
			v.relistDir(join(c.dir, c.base))
		}
		v.removeFile(c.dir, c.base)
		if c.kind == nameCreated {
			v.relist[c.dir] = true
			v.noteNew(c.dir, c.base)
		}
	}
}

// noteNew remembers a new name, seen or not: it may be another one of a file
// that we know.
func (v *view) noteNew(dir, base string) {
	const most = 20_000
	if len(v.newNames) == most {
		v.lost = true
		return
	}
	v.newNames[join(dir, base)] = true
}

// checkNewLinks finds out which files the new names are of.
func (v *view) checkNewLinks(inodes map[uint64]bool) {
	in := map[string][]string{}
	for name := range v.newNames {
		dir, base := split(name)
		in[dir] = append(in[dir], base)
	}
	clear(v.newNames)
	for dir, bases := range in {
		for _, st := range v.stat(dir, bases) {
			if st.links > 1 {
				inodes[st.Ino] = true
			}
		}
	}
}

// drain applies all events that wait, and looks at nothing.
func (v *view) drain() error {
	if v.watcher == nil {
		return nil
	}
	var failed error
	if err := segment.Guard(func() { failed = v.watcher.drain(v.apply) }); err != nil {
		return err
	}
	return failed
}

// refresh brings the view up to the moment of the call. After an error, and
// when it lost track, it is of no use.
func (v *view) refresh(ctx context.Context) error {
	if err := v.drain(); err != nil || v.lost {
		return cmp.Or(err, errLost)
	}
	if v.mounts.changed() || beneathRepo(v.o.Root.Path()) != v.inRepo {
		v.lost = true
		return errLost
	}
	var failed error
	if err := segment.Guard(func() { failed = v.update(ctx) }); err != nil {
		return err
	}
	if failed == nil && v.size() > v.o.Memory {
		return errTooBig
	}
	return failed
}

// maxRounds is how often a directory is listed again because it changed while
// it was listed.
const maxRounds = 16

// compareDir reads what has to be read again.
func (v *view) update(ctx context.Context) error {
	for name := range v.unread {
		delete(v.unread, name)
		if v.hasDir(name) {
			v.relistDir(name)
		} else if dir, _ := split(name); v.hasDir(dir) {
			v.relist[dir] = true
		}
	}
	inodes := map[uint64]bool{}
	for rounds := 0; len(v.relist) > 0; rounds++ {
		if rounds == maxRounds {
			return errLost
		}
		for _, dir := range slices.SortedFunc(maps.Keys(v.relist), func(a, b string) int { return len(a) - len(b) }) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if v.hasDir(dir) {
				if err := v.listDir(ctx, dir, inodes); err != nil {
					return err
				}
			}
			delete(v.relist, dir)
		}
	}
	v.checkNewLinks(inodes)
	v.markInodes(inodes)
	return v.checkLinked(ctx)
}

// checkLinked looks at the files that can change unseen.
func (v *view) checkLinked(ctx context.Context) error {
	v.linked = slices.DeleteFunc(v.linked, func(n uint32) bool { return !v.alive(n) })
	return v.compare(ctx, v.linked, v.markFileChanged)
}

// compare calls changed for the files of the segment that are not as it knows
// them.
func (v *view) compare(ctx context.Context, files []uint32, changed func(n uint32)) error {
	var bases []string
	for from := 0; from < len(files); {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir, base := split(string(v.seg.AppendName(nil, files[from])))
		to := from + 1
		for bases = append(bases[:0], base); to < len(files) && len(bases) < 1000; to++ {
			name := string(v.seg.AppendName(nil, files[to]))
			in, base := split(name)
			if in != dir {
				break
			}
			bases = append(bases, base)
		}
		for i, st := range v.stat(dir, bases) {
			if n := files[from+i]; !st.ok || st.Stamp != v.seg.Stamp(n) {
				changed(n)
			}
		}
		from = to
	}
	return nil
}

func (v *view) stat(dir string, bases []string) []fileStat {
	if len(bases) == 0 {
		return nil
	}
	return statDir(v.o.Root, dir, bases, v.watcher == nil)
}
