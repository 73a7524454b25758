package judge

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
)

// A location is the kind of file or directory that a path stands for. Worse
// ones are greater.
type location uint8

// The locations.
const (
	unknownPath  location = iota
	harmlessPath          // /dev/null and the like
	insidePath            // below a root
	globPath              // everything in a root
	rootPath              // a root itself
	abovePath             // a directory that holds a root
	tempPath
	homePath    // below the home directory
	topPath     // / and the home directory
	systemPath  // /etc, /usr and so on
	otherPath   // elsewhere
	devicePath  // disks and memory
	kernelPath  // /proc/sys, /sys
	environPath // /proc/*/environ
	netPath     // /dev/tcp
	enginePath  // docker.sock
	secretPath  // files with credentials
	startPath   // files that are run at a login, or at times
	ourPath     // the data of mcp-tools
)

// onPath has the rules for writing, reading and removing at special locations.
// Where there is none, the risk depends on whether it is inside the workspace.
var onPath = map[location]struct{ write, read, remove string }{
	netPath:     {"reverse_shell", "reverse_shell", ""},
	devicePath:  {"write_device", "", "remove_tree"},
	kernelPath:  {"kernel_settings", "", "remove_tree"},
	environPath: {"", "other_process", "remove_tree"},
	enginePath:  {"engine_socket", "engine_socket", "remove_tree"},
	secretPath:  {"", "secret_files", ""},
	startPath:   {"start_up", "", ""},
	ourPath:     {"own_program", "own_program", "own_program"},
	systemPath:  {"system_path", "", "remove_tree"},
	topPath:     {"system_path", "", "remove_tree"},
}

// locate returns the worst location that a word may stand for.
func (j *judge) locate(s *scope, a arg) location {
	switch text := a.text; {
	case strings.HasPrefix(text, "/dev/fd/"):
		return harmlessPath
	case a.static():
	case strings.HasPrefix(text, "/dev/tcp/") || strings.HasPrefix(text, "/dev/udp/"):
		return netPath
	case strings.HasPrefix(text, "/proc/") && strings.HasSuffix(text, "/environ"):
		return environPath
	default:
		return unknownPath
	}
	worst := unknownPath
	for _, p := range s.resolve(a.text) {
		worst = max(worst, j.locateAbsolute(p, a.glob))
	}
	return worst
}

// locateAbsolute returns the location of an absolute clean path.
func (j *judge) locateAbsolute(p string, glob bool) location {
	if fixed := fixedPart(p); glob && fixed != p {
		return j.locateGlob(p, fixed)
	}
	home, inside := j.req.Home, slices.ContainsFunc(j.req.Roots, func(r string) bool { return below(p, path.Clean(r)) })
	if special := j.locateSpecial(p, inside); special != unknownPath {
		return special
	}
	for _, r := range j.req.Roots {
		r = path.Clean(r)
		switch {
		case p == r:
			return rootPath
		case below(r, p) && p != "/" && p != home:
			return abovePath
		case below(p, r):
			return insidePath
		}
	}
	first, _, _ := strings.Cut(p[1:], "/")
	switch {
	case home != "" && (p == home || below(home, p)), j.inList("directories of everything", p):
		return topPath
	case home != "" && below(p, home):
		return homePath
	case j.inPaths("temporary directories", p):
		return tempPath
	case j.inList("system directories", first):
		return systemPath
	}
	return otherPath
}

// locateGlob judges a path with patterns by the part before the first.
func (j *judge) locateGlob(p, fixed string) location {
	first, _, more := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p, fixed), "/"), "/")
	switch {
	case strings.HasPrefix(fixed, "/proc") && strings.HasSuffix(p, "/environ"):
		return environPath
	case strings.HasPrefix(fixed, "/dev") && !below(fixed, "/dev"):
		return devicePath
	case slices.ContainsFunc(j.req.Roots, func(r string) bool { return path.Clean(r) == fixed }):
		if !more && matchesAll(first) {
			return globPath
		}
		return insidePath
	case fixed == "/tmp" || fixed == "/var/tmp":
		return tempPath
	}
	if where := j.locateAbsolute(fixed, false); where != harmlessPath {
		return where
	}
	return systemPath
}

// locateSpecial finds the paths that have a location of their own; unknownPath
// for others. inside reports whether p is below a root.
func (j *judge) locateSpecial(p string, inside bool) location {
	device, inDev := strings.CutPrefix(p, "/dev/")
	first, _, _ := strings.Cut(device, "/")
	switch {
	case inDev && j.inList("harmless devices", first):
		return harmlessPath
	case inDev && (first == "tcp" || first == "udp"):
		return netPath
	case inDev && (first == "shm" || first == "mqueue"):
		return tempPath
	case inDev:
		return devicePath
	case j.inPaths("paths of the kernel", p):
		return kernelPath
	case strings.HasPrefix(p, "/proc/") && (strings.Contains(p, "/root/") ||
		slices.Contains([]string{"environ", "mem", "maps", "auxv"}, path.Base(p))):
		return environPath
	case j.inPaths("paths of container engines", p):
		return enginePath
	case j.isOurs(p):
		return ourPath
	case j.inPaths("paths that start programs", p) && !strings.HasSuffix(p, ".sample"),
		!inside && j.inPaths("paths that start programs at a login", p):
		return startPath
	case !inside && j.inPaths("paths with credentials", p):
		return secretPath
	}
	return unknownPath
}

// isOurs reports whether p belongs to the data or settings of mcp-tools, and is not in
// a directory there that is the caller's own.
func (j *judge) isOurs(p string) bool {
	ours := func(p string) bool {
		return j.inPaths("paths of our data", p) ||
			slices.ContainsFunc(j.rules.Ours, func(own string) bool { return p == own || below(p, own) })
	}
	return ours(p) && !slices.ContainsFunc(j.req.Roots, func(r string) bool {
		r = path.Clean(r)
		return ours(r) && (p == r || below(p, r))
	})
}

// below reports whether p is strictly inside dir.
func below(p, dir string) bool {
	if dir == "/" {
		return p != "/"
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

// fixedPart returns the path before the first component with a pattern.
func fixedPart(p string) string {
	i := strings.IndexAny(p, "*?[")
	if i < 0 {
		return p
	}
	return path.Clean(p[:strings.LastIndexByte(p[:i], '/')+1])
}

// matchesAll reports whether a pattern matches nearly every name: it has no
// fixed character except perhaps a dot at the beginning.
func matchesAll(pattern string) bool {
	rest := strings.TrimPrefix(pattern, ".")
	if from, to := strings.IndexByte(rest, '['), strings.LastIndexByte(rest, ']'); from >= 0 && to > from {
		rest = rest[:from] + "*" + rest[to+1:]
	}
	return rest == "" || strings.Trim(rest, "*?") == "" && strings.Contains(rest, "*")
}

// input judges the read of a file and returns the stream that the command receives.
func (j *judge) input(s *scope, from arg) stream {
	j.read(s, from)
	for _, p := range s.resolve(from.text) {
		switch content := j.files[p]; len(content) {
		case 0:
		case 1:
			return content[0]
		default:
			return unknownStream(content[0].taint() | content[1].taint())
		}
	}
	if from.is("/dev/null") {
		return silent()
	}
	return stream{given: true, text: unknownFrom(from.taint()), file: from.text}
}

const maxContents = 8 // contents that a file may have at different times

// wrote remembers the text written to a file, in case the command runs it later.
func (j *judge) wrote(s *scope, file arg, content stream) {
	if !file.static() || !content.given {
		content = unknownStream(content.taint())
	}
	for _, p := range s.resolve(file.text) {
		if j.files == nil {
			j.files = map[string][]stream{}
		}
		before := j.files[p]
		if len(before) >= maxContents {
			content = unknownStream(content.taint())
			before = before[:maxContents-1]
		}
		j.files[p] = append(before, content)
		if n := len(before); n > 0 && n+1 < maxContents { // it may have been appended
			j.files[p] = append(j.files[p], before[n-1].and(content))
		}
	}
}

// keepContents remembers that files now have the contents of another.
func (j *judge) keepContents(s *scope, from arg, to []arg) {
	for _, f := range s.resolve(from.text) {
		for _, content := range j.files[f] {
			for _, t := range to {
				j.wrote(s, t, content)
			}
		}
	}
}

// onlyWroteKnown reports whether the text itself wrote a file, with contents
// that were judged.
func (j *judge) onlyWroteKnown(s *scope, t arg) bool {
	for _, p := range s.resolve(t.text) {
		if contents := j.files[p]; len(contents) > 0 {
			return !slices.ContainsFunc(contents, func(c stream) bool { return !c.known() })
		}
	}
	return false
}

// newTemp is the path that mktemp is taken to make.
const newTemp = "/tmp/tmp.XXXXXXXXXX"

// write judges writing to a file.
func (j *judge) write(s *scope, to arg, doing string) {
	shown, where := to.shown(), j.locate(s, to)
	guarded := j.writesGuarded(s.resolve(to.text))
	if rule := onPath[where].write; rule != "" {
		j.hit(rule, shown)
		return
	}
	if where == tempPath && !j.req.Isolated && !strings.HasPrefix(to.text, newTemp) { // others use it too
		where = otherPath
	}
	switch where {
	case harmlessPath:
	case insidePath, globPath, tempPath:
		if where == tempPath && j.outside == "" && strings.HasPrefix(to.text, "..") {
			j.outside = shown // meant to be beside the workspace
		}
		if guarded {
			j.hit("guarded_file", shown)
		}
		risk := tool.Writes
		if j.current == nil && j.rules.Mode == Unknown { // a redirection; no pattern can allow it
			risk = tool.Runs
		}
		j.raise(risk, doing+" "+shown)
	case unknownPath:
		j.always = false
		j.raise(tool.Destroys, "cannot be known before it runs: where it "+doing+" ("+shown+")")
	default:
		if j.outside == "" && where != homePath {
			j.outside = shown
		}
		j.raise(tool.Destroys, doing+" "+shown+", outside the workspace")
	}
}

// guardedNames returns the names of files that make other programs run code or hold
// secrets, and that file tools do not change either.
var guardedNames = sync.OnceValue(func() []*ignore.Names {
	return []*ignore.Names{workspace.StartUpNames(), workspace.SecretNames()}
})

// writesGuarded notes the absolute paths below a root that have such a name, and
// reports whether there is one.
func (j *judge) writesGuarded(paths []string) (found bool) {
	for _, p := range paths {
		for _, r := range j.req.Roots {
			rel, inside := strings.CutPrefix(p, strings.TrimSuffix(path.Clean(r), "/")+"/")
			if inside && (path.Base(rel) == ".git" ||
				slices.ContainsFunc(guardedNames(), func(n *ignore.Names) bool { return n.Covers(rel) })) {
				found = true
				j.guarded = append(j.guarded, rel)
			}
		}
	}
	return found
}

// writeInto judges putting files into a directory, or at a name.
func (j *judge) writeInto(s *scope, to arg) {
	if where := j.locate(s, to); where == rootPath || where == globPath {
		j.raise(tool.Writes, "puts files into "+to.shown())
		return
	}
	j.write(s, to, "puts files at")
}

// read judges reading a file.
func (j *judge) read(s *scope, from arg) {
	shown, where := from.shown(), j.locate(s, from)
	if rule := onPath[where].read; rule != "" {
		j.hit(rule, shown)
		return
	}
	switch where {
	case devicePath:
		j.raise(tool.Runs, "reads the device "+shown)
	case homePath, otherPath, abovePath:
		if !j.req.Isolated {
			j.raise(tool.Runs, "reads outside the workspace: "+shown)
		}
	}
}

// disposable reports whether removing a file or directory loses only things that can be made
// again.
func (j *judge) disposable(s *scope, t arg) bool {
	all := s.resolve(t.text)
	return j.req.Disposable != nil && len(all) > 0 && !slices.ContainsFunc(all, func(p string) bool {
		return !j.req.Disposable(p) || slices.ContainsFunc(j.filled, func(f string) bool {
			return f == p || below(f, p) || below(p, f) || strings.ContainsAny(p, "*?[")
		})
	})
}

// isRecorded reports whether undo restores a file of the workspace: the first root is recorded,
// without the data of git and ignored files.
func (j *judge) isRecorded(s *scope, t arg) bool {
	all := s.resolve(t.text)
	return len(all) > 0 && !slices.ContainsFunc(all, func(p string) bool {
		return !j.inWorkspace(p) || slices.Contains(strings.Split(p, "/"), ".git") ||
			j.req.Disposable != nil && j.req.Disposable(p)
	})
}

// inWorkspace reports whether an absolute path is the workspace or below it.
func (j *judge) inWorkspace(p string) bool {
	return len(j.req.Roots) > 0 && (p == path.Clean(j.req.Roots[0]) || below(p, path.Clean(j.req.Roots[0])))
}

// removes judges removing a file, or with tree everything below it too.
func (j *judge) removes(s *scope, t arg, tree bool) {
	shown, where := t.shown(), j.locate(s, t)
	risk, why := tool.Destroys, removal+shown
	if rule := onPath[where].remove; rule != "" {
		j.hit(rule, shown)
		j.raise(risk, why)
		return
	}
	if tree && (where == insidePath || where == tempPath) {
		j.hit("remove_directory", shown)
	}
	switch where {
	case insidePath:
		if j.req.Isolated && j.disposable(s, t) {
			risk = tool.Writes
		} else if j.isRecorded(s, t) {
			if !j.alsoRemoves(risk, keptRemoval, shown) {
				j.raiseKept(risk, keptRemoval+shown)
			}
			return
		}
	case tempPath:
		if j.req.Isolated {
			risk = tool.Writes
		}
	case harmlessPath:
	case unknownPath:
		why = "cannot be known before it runs: what it removes (" + shown + ")"
		if tree {
			j.hit("remove_unknown", shown)
		}
	default:
		if tree {
			j.hit("remove_tree", shown+" is not below the workspace")
		}
	}
	if why != removal+shown || !j.alsoRemoves(risk, removal, shown) {
		j.raise(risk, why)
	}
}

// The reasons of a command that removes something begin so, and have at most so many names.
const (
	removal     = "permanently removes "
	keptRemoval = "removes "
	maxRemoved  = 5
)

// alsoRemoves adds a name to the reason that the command has already, if that has the same risk and beginning.
func (j *judge) alsoRemoves(risk tool.Risk, begin, name string) bool {
	had, why := j.risk, &j.why
	if j.current != nil {
		had, why = j.current.risk, &j.current.why
	}
	if had != risk || !strings.HasPrefix(*why, begin) {
		return false
	}
	switch names := strings.Count(*why, ", ") + 1; {
	case names < maxRemoved:
		*why += ", " + name
	case names == maxRemoved:
		*why += ", and more"
	}
	return true
}
