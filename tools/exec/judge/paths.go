package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
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

// locate returns the worst location that a word may stand for.
func (j *judge) locate(s *scope, a arg) location {
	text := a.text
	switch {
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
	for _, p := range s.resolve(text) {
		worst = max(worst, j.locateAbsolute(p, a.glob))
	}
	return worst
}

// locateAbsolute returns the location of an absolute clean path.
func (j *judge) locateAbsolute(p string, glob bool) location {
	if glob {
		if fixed := fixedPart(p); fixed != p {
			return j.locateGlob(p, fixed)
		}
	}
	if special, ok := j.locateSpecial(p); ok {
		return special
	}
	home := j.req.Home
	for _, r := range j.req.Roots {
		r = path.Clean(r)
		if p == r {
			return rootPath
		}
		if below(r, p) && p != "/" && p != home {
			return abovePath
		}
		if below(p, r) {
			return insidePath
		}
	}
	first, _, _ := strings.Cut(p[1:], "/")
	switch {
	case p == "/" || home != "" && (p == home || below(home, p)) || p == "/home" || p == "/root" || p == "/Users":
		return topPath
	case home != "" && below(p, home):
		return homePath
	case below(p, "/tmp") || below(p, "/var/tmp") || below(p, "/dev/shm") || below(p, "/private/tmp"):
		return tempPath
	case j.inList("system directories", first):
		return systemPath
	}
	return otherPath
}

// locateGlob judges a path with patterns by the part before the first.
func (j *judge) locateGlob(p, fixed string) location {
	rest := strings.TrimPrefix(strings.TrimPrefix(p, fixed), "/")
	first, _, more := strings.Cut(rest, "/")
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

// locateSpecial finds the paths that have a location of their own.
func (j *judge) locateSpecial(p string) (location, bool) {
	base := path.Base(p)
	inside := slices.ContainsFunc(j.req.Roots, func(r string) bool { return below(p, path.Clean(r)) })
	switch {
	case below(p, "/dev"):
		return j.locateDevice(p), true
	case below(p, "/proc/sys") || below(p, "/sys") || p == "/proc/sysrq-trigger":
		return kernelPath, true
	case strings.HasPrefix(p, "/proc/") && (strings.Contains(p, "/root/") || base == "environ" || base == "mem" ||
		base == "maps" || base == "auxv"):
		return environPath, true
	case j.inPaths("paths of container engines", p):
		return enginePath, true
	case j.isOurs(p):
		return ourPath, true
	case j.inPaths("paths that start programs", p),
		strings.Contains(p, "/.git/hooks/") && !strings.HasSuffix(p, ".sample"),
		!inside && j.inPaths("paths that start programs at a login", p):
		return startPath, true
	case !inside && j.inPaths("paths with credentials", p):
		return secretPath, true
	}
	return 0, false
}

func (j *judge) locateDevice(p string) location {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/dev/"), "/")
	switch {
	case j.inList("harmless devices", first):
		return harmlessPath
	case first == "tcp" || first == "udp":
		return netPath
	case first == "shm" || first == "mqueue":
		return tempPath
	}
	return devicePath
}

// isOurs reports whether p belongs to the data or settings of mcp-tools, of any user.
func (j *judge) isOurs(p string) bool {
	return j.inPaths("paths of our data", p) || strings.Contains(p+"/", "/Library/Application Support/mcp-tools/")
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
	inBrackets := false
	for _, c := range rest {
		switch {
		case c == '[':
			inBrackets = true
		case c == ']':
			inBrackets = false
		case !inBrackets && c != '*' && c != '?':
			return false
		}
	}
	return rest == "" || strings.ContainsAny(rest, "*[")
}

// input returns what reading a file gives, and judges the reading.
func (j *judge) input(s *scope, from arg) stream {
	if from.input != nil {
		return *from.input
	}
	j.read(s, from)
	for _, p := range s.resolve(from.text) {
		switch content := j.files[p]; len(content) {
		case 0:
		case 1:
			return content[0]
		default:
			return stream{from: anyText, taint: content[0].taint | content[1].taint}
		}
	}
	if from.text == "/dev/null" {
		return silent()
	}
	return stream{from: aFile, text: from.text, taint: from.taint}
}

const maxContents = 8 // contents that a file may have at different times

// wrote remembers what was written to a file, in case the text runs it later.
func (j *judge) wrote(s *scope, file arg, content stream) {
	if !file.static() || content.from == nothing {
		content.from = anyText
	}
	for _, p := range s.resolve(file.text) {
		if j.files == nil {
			j.files = map[string][]stream{}
		}
		before := j.files[p]
		if len(before) >= maxContents {
			content = stream{from: anyText, taint: content.taint}
			before = before[:maxContents-1]
		}
		j.files[p] = append(before, content)
		if n := len(before); n > 0 && n+1 < maxContents { // it may have been appended
			j.files[p] = append(j.files[p], before[n-1].and(content))
		}
	}
}

// onlyWroteKnown reports whether the text itself wrote a file, with contents
// that were judged.
func (j *judge) onlyWroteKnown(s *scope, t arg) bool {
	for _, p := range s.resolve(t.text) {
		for _, content := range j.files[p] {
			if content.from != exactly || content.taint != 0 {
				return false
			}
		}
		if len(j.files[p]) > 0 {
			return true
		}
	}
	return false
}

// write judges writing to a file.
func (j *judge) write(s *scope, to arg, doing string) {
	if to.input != nil {
		return
	}
	shown := to.shown()
	switch j.locate(s, to) {
	case harmlessPath:
	case netPath:
		j.hit("reverse_shell", shown)
	case devicePath:
		j.hit("write_device", shown)
	case kernelPath:
		j.hit("kernel_settings", shown)
	case enginePath:
		j.hit("engine_socket", shown)
	case startPath:
		j.hit("start_up", shown)
	case ourPath:
		j.hit("own_program", shown)
	case insidePath, globPath, tempPath:
		risk := tool.Writes
		if j.current == nil && j.rules.Mode == Unknown { // a redirection, which no pattern can allow
			risk = tool.Runs
		}
		j.raise(risk, doing+" "+shown)
	case systemPath, topPath:
		j.hit("system_path", shown)
	case unknownPath:
		j.always = false
		j.raise(tool.Destroys, "cannot be known before it runs: where it "+doing+" ("+shown+")")
	default:
		j.raise(tool.Destroys, doing+" "+shown+", outside the workspace")
	}
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
	if from.input != nil {
		return
	}
	shown := from.shown()
	switch j.locate(s, from) {
	case netPath:
		j.hit("reverse_shell", shown)
	case environPath:
		j.hit("other_process", shown)
	case secretPath:
		j.hit("secret_files", shown)
	case enginePath:
		j.hit("engine_socket", shown)
	case ourPath:
		j.hit("own_program", shown)
	case devicePath:
		j.raise(tool.Runs, "reads the device "+shown)
	case homePath, otherPath, abovePath:
		if !j.req.Sealed {
			j.raise(tool.Runs, "reads outside the workspace: "+shown)
		}
	}
}

// removes judges removing a file, or with tree everything below it too.
func (j *judge) removes(s *scope, t arg, tree bool) {
	shown := t.shown()
	risk, why := tool.Destroys, "permanently removes "+shown
	switch j.locate(s, t) {
	case insidePath:
		if base := path.Base(strings.TrimSuffix(shown, "/")); j.req.Sealed && (j.inList("generated files", base) ||
			strings.HasSuffix(base, ".egg-info") || strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, ".o")) {
			risk = tool.Writes
		}
	case tempPath:
		if j.req.Sealed {
			risk = tool.Writes
		}
	case harmlessPath:
	case topPath, systemPath, devicePath, kernelPath, environPath, enginePath:
		j.hit("remove_tree", shown)
	case ourPath:
		j.hit("own_program", shown)
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
	j.raise(risk, why)
}
