package searchindex

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// A view is the tree as it is now: which files of the segment are still as
// they were, and which others there are.
type view struct {
	o       *Options
	seg     *segment.Segment // nil for none
	watcher *watcher         // nil where stamps are compared instead
	mounts  *mountTable      // nil where w is
	inRepo  bool             // the root is in a repository that begins above it

	dead       []uint64              // a bit for each file of seg that does not count any more
	liveCount  int                   // files of seg that count
	dirs       map[string][]string   // the directories that are seen, with the last steps of those in them
	fresh      map[string]freshFiles // files that seg does not know as they are, by directory
	freshCount int                   // of them
	// linked are files of seg with other names, by which they can change
	// unseen.
	linked []uint32
	// unread are directories that could not be listed.
	unread map[string]bool

	version  uint64          // marks what becomes fresh
	relist   map[string]bool // directories with other entries than we know
	newNames map[string]bool // new names since the last answer, seen or not
	lost     bool            // events were lost

	namesVersion, freshVersion uint64 // grow when names, and fresh names, become others

	cache     sync.Mutex
	allNames  cachedList // of all names
	freshList cachedList // of fresh names
}

// freshFiles are last steps, with the mark of when they became fresh.
type freshFiles map[string]uint64

// cachedList is a list that was made when a counter stood at.
type cachedList struct {
	names []string
	made  bool
	at    uint64
}

func newView(o *Options, seg *segment.Segment) *view {
	v := &view{o: o, seg: seg, dirs: map[string][]string{}, fresh: map[string]freshFiles{}, unread: map[string]bool{}, relist: map[string]bool{}, newNames: map[string]bool{}}
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

// findFile returns the file of the segment with that name, if it counts.
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

// addFresh makes a file one of those that the segment does not know as they are.
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

// markChanged says that a file has another content.
func (v *view) markChanged(dir, base string) {
	if n, ok := v.findFile(dir, base); ok {
		v.kill(n)
		v.addFresh(dir, base)
	} else if _, ok := v.fresh[dir][base]; ok {
		v.addFresh(dir, base)
	}
}

// removeFile says that there is no file of that name.
func (v *view) removeFile(dir, base string) {
	if n, ok := v.findFile(dir, base); ok {
		v.kill(n)
	}
	v.removeFresh(dir, base)
	v.namesVersion++
}

// removeFresh takes a file from those that the segment does not know.
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

// hasDir reports whether a directory is part of the tree.
func (v *view) hasDir(dir string) bool {
	_, ok := v.dirs[dir]
	return ok
}

// relistDir forgets all that is beneath a directory, and looks at it anew before the
// next answer. Of the root, the directory itself stays.
func (v *view) relistDir(dir string) {
	if !v.hasDir(dir) {
		return
	}
	if dir == "." && v.relist["."] && v.liveCount+v.freshCount+len(v.dirs["."]) == 0 {
		return // already
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

// forget forgets all that is beneath a directory.
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

// split takes the last step off a name.
func split(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return ".", name
}

// forgetDirs forgets the directories, and the files that the segment does not know.
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

// size estimates what the view takes in memory.
func (v *view) size() int64 {
	const dir, file, name = 400, 150, 90
	return int64(len(v.dirs))*dir + int64(v.freshCount)*file + int64(v.liveCount)*name
}

// freshNames are the files beneath dir that the segment does not know as they
// are, in order.
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

// freshFiles are all files beneath dir, in order.
func (v *view) names(dir string) []string {
	fresh := v.freshNames(".")
	v.cache.Lock()
	defer v.cache.Unlock()
	if !v.allNames.made || v.allNames.at != v.namesVersion {
		v.allNames = cachedList{mergeSorted(v.namesOf(v.liveFiles(".", nil)), fresh), true, v.namesVersion}
	}
	return beneath(v.allNames.names, dir)
}

// liveFiles appends the files of the segment beneath dir that count.
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

// beneath is the part of a sorted list that is beneath a directory.
func beneath(list []string, dir string) []string {
	if dir == "." {
		return list[:len(list):len(list)]
	}
	lo, _ := slices.BinarySearch(list, dir+"/")
	hi, _ := slices.BinarySearch(list, dir+string('/'+1))
	return list[lo:hi:hi]
}

// mergeSorted joins two sorted lists.
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
