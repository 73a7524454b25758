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
	written changeKind = iota // or its permissions are others
	gone                      // the name is free
	come                      // the name has another file
	rules                     // what is seen beneath dir may be something else
	lost                      // unknown what
)

// ruleFiles change what is seen. A repository that begins or ends does, too.
func ruleFile(base string) bool { return base == ".gitignore" || base == ".ignore" }

// apply takes note of a change. It looks at nothing.
func (v *view) apply(c change) {
	switch {
	case c.kind == lost:
		v.lost = true
	case !v.sees(c.dir):
		// not any more: what is there now was listed later
	case c.base == "":
		if c.dir == "." {
			v.drop(".")
		}
	case c.kind == rules || ruleFile(c.base) || c.base == ".git" && c.kind != written:
		v.drop(c.dir)
	case c.sub:
		v.drop(join(c.dir, c.base))
		v.relist[c.dir] = true
	case c.kind == written:
		v.touch(c.dir, c.base)
	default:
		if v.sees(join(c.dir, c.base)) { // a directory made place for a file
			v.drop(join(c.dir, c.base))
		}
		v.remove(c.dir, c.base)
		if c.kind == come {
			v.relist[c.dir] = true
			v.arrive(c.dir, c.base)
		}
	}
}

// arrive remembers a new name, seen or not: it may be another one of a file
// that we know.
func (v *view) arrive(dir, base string) {
	const most = 20_000
	if len(v.arrived) == most {
		v.lost = true
		return
	}
	v.arrived[join(dir, base)] = true
}

// meet finds out which files the new names are of.
func (v *view) meet(inodes map[uint64]bool) {
	in := map[string][]string{}
	for name := range v.arrived {
		dir, base := split(name)
		in[dir] = append(in[dir], base)
	}
	clear(v.arrived)
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
	if v.w == nil {
		return nil
	}
	var failed error
	if err := segment.Guard(func() { failed = v.w.drain(v.apply) }); err != nil {
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
	if v.m.changed() || beneathRepo(v.o.Root.Path()) != v.own {
		v.lost = true
		return errLost
	}
	var failed error
	if err := segment.Guard(func() { failed = v.look(ctx) }); err != nil {
		return err
	}
	if failed == nil && v.size() > v.o.Memory {
		return errTooBig
	}
	return failed
}

// mostRounds is how often a directory is listed again because it changed while
// it was listed.
const mostRounds = 16

// look reads what has to be read again.
func (v *view) look(ctx context.Context) error {
	for name := range v.unread {
		delete(v.unread, name)
		if v.sees(name) {
			v.drop(name)
		} else if dir, _ := split(name); v.sees(dir) {
			v.relist[dir] = true
		}
	}
	inodes := map[uint64]bool{}
	for rounds := 0; len(v.relist) > 0; rounds++ {
		if rounds == mostRounds {
			return errLost
		}
		for _, dir := range slices.SortedFunc(maps.Keys(v.relist), func(a, b string) int { return len(a) - len(b) }) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if v.sees(dir) {
				if err := v.list(ctx, dir, inodes); err != nil {
					return err
				}
			}
			delete(v.relist, dir)
		}
	}
	v.meet(inodes)
	v.suspect(inodes)
	return v.relink(ctx)
}

// relink looks at the files that can change unseen.
func (v *view) relink(ctx context.Context) error {
	v.linked = slices.DeleteFunc(v.linked, func(n uint32) bool { return !v.lives(n) })
	return v.compare(ctx, v.linked, v.touchFile)
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

func (v *view) stat(dir string, bases []string) []stated {
	if len(bases) == 0 {
		return nil
	}
	return statDir(v.o.Root, dir, bases, v.w == nil)
}
