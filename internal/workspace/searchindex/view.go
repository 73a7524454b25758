package searchindex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// A view is the current state of the tree: the unchanged files of the segment, and the other
// files that exist.
type view struct {
	o       *Options
	seg     *segment.Segment // may be nil
	watcher *watcher         // nil in a view that is only compared with another
	mounts  *mountTable      // nil if watcher is nil

	dead       []uint64              // a bit for each file of seg that changed or was removed
	liveCount  int                   // files of seg that are unchanged
	dirs       map[string][]string   // the names of the subdirectories of each visited directory
	fresh      map[string]freshFiles // files that are not in seg, or have changed, by directory
	freshCount int                   // number of fresh files
	// linked are files of seg with several hard links. They can change without an event.
	linked []uint32
	// unread are directories that could not be listed.
	unread map[string]bool

	version  uint64          // recorded with files that become fresh
	relist   map[string]bool // directories to list again
	newNames map[string]bool // names created since the last answer, visited or not
	lost     bool            // events were lost

	namesVersion, freshVersion uint64 // incremented when the names, or the fresh names, change

	cache     sync.Mutex
	allNames  cachedList
	chosen    []uint32 // the files of seg that are always candidates, in order; nil if they are not known yet
	freshList cachedList
}

// freshFiles maps last steps to the version that made them fresh.
type freshFiles map[string]uint64

// A cachedList is a list of names for one version.
type cachedList struct {
	names []string
	made  bool
	at    uint64
}

func newView(o *Options, seg *segment.Segment) *view {
	v := &view{
		o: o, seg: seg, dirs: map[string][]string{}, fresh: map[string]freshFiles{}, unread: map[string]bool{},
		relist: map[string]bool{}, newNames: map[string]bool{},
	}
	if seg != nil {
		v.dead = make([]uint64, seg.Len()/64+1)
		for i := range v.dead {
			v.dead[i] = ^uint64(0)
		}
	}
	return v
}

// close stops watching.
func (v *view) close() error {
	if v.watcher == nil {
		return nil
	}
	return errors.Join(v.watcher.close(), v.mounts.close())
}

func join(dir, base string) string {
	if dir == "." {
		return base
	}
	return dir + "/" + base
}

func (v *view) alive(n uint32) bool { return v.dead[n/64]&(1<<(n%64)) == 0 }

func (v *view) kill(n uint32) {
	if v.alive(n) {
		v.dead[n/64] |= 1 << (n % 64)
		v.liveCount--
	}
}

func (v *view) revive(n uint32) {
	if !v.alive(n) {
		v.dead[n/64] &^= 1 << (n % 64)
		v.liveCount++
	}
}

// findFile returns the file of the segment with that name, if it is unchanged.
func (v *view) findFile(dir, base string) (uint32, bool) {
	if v.seg == nil {
		return 0, false
	}
	d, ok := v.seg.Dir(dir)
	if !ok {
		return 0, false
	}
	n, ok := v.seg.Find(d, base)
	return n, ok && v.alive(n)
}

// hasFile reports whether there is a file of that name.
func (v *view) hasFile(dir, base string) bool {
	if _, ok := v.fresh[dir][base]; ok {
		return true
	}
	_, ok := v.findFile(dir, base)
	return ok
}

// addFresh adds a file that is not in the segment, or has changed.
func (v *view) addFresh(dir, base string) {
	in := v.fresh[dir]
	if in == nil {
		in = freshFiles{}
		v.fresh[dir] = in
	}
	if _, ok := in[base]; !ok {
		v.freshCount++
		v.freshVersion++
	}
	in[base] = v.version
}

// markChanged records that a file may have another content.
func (v *view) markChanged(dir, base string) {
	if n, ok := v.findFile(dir, base); ok {
		v.kill(n)
		v.addFresh(dir, base)
	} else if _, ok := v.fresh[dir][base]; ok {
		v.addFresh(dir, base)
	}
}

// removeFile records that a name no longer exists.
func (v *view) removeFile(dir, base string) {
	if n, ok := v.findFile(dir, base); ok {
		v.kill(n)
	}
	v.removeFresh(dir, base)
	v.namesVersion++
}

// removeFresh removes a file from the fresh files.
func (v *view) removeFresh(dir, base string) {
	in := v.fresh[dir]
	if _, ok := in[base]; !ok {
		return
	}
	delete(in, base)
	if len(in) == 0 {
		delete(v.fresh, dir)
	}
	v.freshCount--
	v.freshVersion++
}

// hasDir reports whether a directory is part of the view.
func (v *view) hasDir(dir string) bool {
	_, ok := v.dirs[dir]
	return ok
}

// relistDir forgets everything below a directory, and has it listed again before the next
// answer. The root directory itself is kept.
func (v *view) relistDir(dir string) {
	if !v.hasDir(dir) {
		return
	}
	if dir == "." && v.relist["."] && v.liveCount+v.freshCount+len(v.dirs["."]) == 0 {
		return // already done
	}
	v.forget(dir)
	if dir == "." {
		v.dirs["."] = nil
		v.relist["."] = true
		return
	}
	above, base := split(dir)
	if i, ok := slices.BinarySearch(v.dirs[above], base); ok {
		v.dirs[above] = slices.Delete(v.dirs[above], i, i+1)
	}
	v.relist[above] = true
}

// forget forgets everything below a directory.
func (v *view) forget(dir string) {
	v.namesVersion++
	v.freshVersion++
	if v.seg != nil {
		lo, hi := v.seg.Range(dir)
		for n := lo; n < hi; n++ {
			v.kill(n)
		}
	}
	v.forgetDirs(dir)
}

// split splits a name into its directory and its last step.
func split(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return ".", name
}

// forgetDirs forgets the directories and the fresh files.
func (v *view) forgetDirs(dir string) {
	for _, kid := range v.dirs[dir] {
		v.forgetDirs(join(dir, kid))
	}
	v.freshCount -= len(v.fresh[dir])
	delete(v.fresh, dir)
	delete(v.relist, dir)
	if dir != "." {
		delete(v.dirs, dir)
		v.watcher.remove(dir)
	}
}

// size estimates the memory of the view in bytes.
func (v *view) size() int64 {
	const dir, file, name = 400, 150, 90
	return int64(len(v.dirs))*dir + int64(v.freshCount)*file + int64(v.liveCount)*name
}

// freshNames returns the fresh files below dir, in order.
func (v *view) freshNames(dir string) []string {
	v.cache.Lock()
	defer v.cache.Unlock()
	if !v.freshList.made || v.freshList.at != v.freshVersion {
		out := make([]string, 0, v.freshCount)
		for in, bases := range v.fresh {
			for base := range bases {
				out = append(out, join(in, base))
			}
		}
		slices.Sort(out)
		v.freshList = cachedList{out, true, v.freshVersion}
	}
	return beneath(v.freshList.names, dir)
}

// names returns all files below dir, in order.
func (v *view) names(dir string) []string {
	fresh := v.freshNames(".")
	v.cache.Lock()
	defer v.cache.Unlock()
	if !v.allNames.made || v.allNames.at != v.namesVersion {
		v.allNames = cachedList{mergeSorted(v.namesOf(v.liveFiles(".", nil)), fresh), true, v.namesVersion}
	}
	return beneath(v.allNames.names, dir)
}

// liveFiles appends the unchanged files of the segment below dir.
func (v *view) liveFiles(dir string, to []uint32) []uint32 {
	if v.seg == nil {
		return to
	}
	lo, hi := v.seg.Range(dir)
	for n := lo; n < hi; n++ {
		if v.alive(n) {
			to = append(to, n)
		}
	}
	return to
}

// chosenIn returns the files of the segment from lo on and before hi that a function of their names chooses.
func (v *view) chosenIn(lo, hi uint32, choose func(name string) bool) []uint32 {
	if choose == nil {
		return nil
	}
	v.cache.Lock()
	defer v.cache.Unlock()
	if v.chosen == nil {
		v.chosen = []uint32{}
		for n := range uint32(v.seg.Len()) {
			if choose(string(v.seg.Base(n))) {
				v.chosen = append(v.chosen, n)
			}
		}
	}
	from, _ := slices.BinarySearch(v.chosen, lo)
	to, _ := slices.BinarySearch(v.chosen, hi)
	return slices.Clone(v.chosen[from:to])
}

// namesOf returns the names of files of the segment.
func (v *view) namesOf(files []uint32) []string {
	ends, text := make([]int, len(files)), make([]byte, 0, 64*len(files))
	for i, n := range files {
		text = v.seg.AppendName(text, n)
		ends[i] = len(text)
	}
	all, from := string(text), 0
	out := make([]string, len(files))
	for i, end := range ends {
		out[i], from = all[from:end], end
	}
	return out
}

// beneath returns the part of a sorted list that is below a directory.
func beneath(list []string, dir string) []string {
	if dir == "." {
		return list[:len(list):len(list)]
	}
	lo, _ := slices.BinarySearch(list, dir+"/")
	hi, _ := slices.BinarySearch(list, dir+string('/'+1))
	return list[lo:hi:hi]
}

// mergeSorted merges two sorted lists.
func mergeSorted(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// A change is a change of a directory that an event reports.
type change struct {
	dir  string
	base string // "" for the directory itself
	kind changeKind
	sub  bool // base is a directory
}

type changeKind byte

const (
	contentChanged changeKind = iota // or the permissions
	nameRemoved
	nameCreated  // or replaced
	rulesChanged // files below dir may now be ignored, or no longer be ignored
	eventsLost   // anything may have changed
)

// ruleFile reports whether a file is an ignore file. .git has such an effect as well.
func ruleFile(base string) bool { return base == ".gitignore" || base == ".ignore" }

// apply records a change. It reads nothing from disk.
func (v *view) apply(c change) {
	switch {
	case c.kind == eventsLost:
		v.lost = true
	case !v.hasDir(c.dir):
		// a removed directory; its present entries were listed later
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
		if v.hasDir(join(c.dir, c.base)) { // a file replaced a directory
			v.relistDir(join(c.dir, c.base))
		}
		v.removeFile(c.dir, c.base)
		if c.kind == nameCreated {
			v.relist[c.dir] = true
			v.noteNew(c.dir, c.base)
		}
	}
}

// noteNew remembers a new name, also of a file that is not visited: it may be a new hard
// link of a known file.
func (v *view) noteNew(dir, base string) {
	const most = 20_000
	if len(v.newNames) == most {
		v.lost = true
		return
	}
	v.newNames[join(dir, base)] = true
}

// checkNewLinks collects the inodes of the new names that are hard links.
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

// drain applies all waiting events. It reads nothing else from disk.
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

// refresh updates the view to the time of the call. After an error the view must not be
// used.
func (v *view) refresh(ctx context.Context) error {
	if err := v.drain(); err != nil || v.lost {
		return cmp.Or(err, errLost)
	}
	if v.mounts.changed() {
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

// maxRounds is the max number of times that a directory is listed again because
// it changed during the listing.
const maxRounds = 16

// update reads the directories that have changed.
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

// checkLinked checks the files with several hard links: they can change without an event.
func (v *view) checkLinked(ctx context.Context) error {
	v.linked = slices.DeleteFunc(v.linked, func(n uint32) bool { return !v.alive(n) })
	return v.compare(ctx, v.linked, v.markFileChanged)
}

// compare calls changed for the files of the segment with a changed stamp.
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
	return statDir(v.o.Root, dir, bases)
}
