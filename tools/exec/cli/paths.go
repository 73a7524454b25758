package cli

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A reach is where a command runs, as far as paths mean something there.
type reach struct {
	dir     string   // as the command sees it
	private []string // directories of this machine with files that must not leave it
}

// checkPaths refuses arguments that name files of the system: in /proc a program
// finds its own environment, and many programs can send files, or directories with
// everything below them. The meaning of an argument is not known, so every part
// that could be a path counts as one.
func (p program) checkPaths(args []string, from reach) error {
	l := p.preset.read(args)
	parts := 0 // of names; they follow flags for names, and are not paths
	for _, f := range l.flags {
		part := strings.Contains(f.name, "delimiter") || strings.Contains(f.name, "prefix") ||
			strings.Contains(f.name, "path")
		for _, v := range f.values {
			if f.text {
				continue
			}
			if part && isRoot(v) {
				parts++
			} else if err := from.check(v); err != nil {
				return err
			}
		}
	}
	for _, w := range l.words {
		if !w.sure && parts > 0 && isRoot(w.text) {
			parts--
		} else if err := from.check(w.text); err != nil {
			return err
		}
	}
	return nil
}

// isRoot reports whether an argument is the root directory, and nothing else.
func isRoot(arg string) bool {
	for _, scheme := range []string{"file://", "fileb://", "@"} {
		arg = strings.TrimPrefix(arg, scheme)
	}
	return strings.HasPrefix(arg, "/") && strings.Trim(arg, "/.") == ""
}

// check looks at the parts of an argument between the characters that set paths off, such as
// name=@path and file://path.
func (from reach) check(arg string) error {
	if !strings.ContainsAny(arg, "/~") && !strings.Contains(arg, "..") {
		return nil
	}
	if isRoot(arg) {
		return noPath("it names the root directory, with all that is below it")
	}
	for _, text := range append(strings.FieldsFunc(arg, bounds), arg) {
		if err := from.checkOne(text); err != nil {
			return err
		}
	}
	return nil
}

func (from reach) checkOne(text string) error {
	if text == "~" || strings.HasPrefix(text, "~/") {
		return noPath("it names a file in a home directory")
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "." })
	up := slices.Contains(parts, "..")
	switch absolute := strings.HasPrefix(text, "/"); {
	case absolute && up: // links on the way decide where that leads
		return noPath("it goes up from an absolute path")
	case environment(parts):
		return noPath("it names a file of the system where its credentials can be")
	case up:
		text = path.Clean("/" + from.dir + "/" + text)
		if text == "/" {
			return noPath("it names the root directory, with all that is below it")
		}
	}
	absolute := up || strings.HasPrefix(text, "/")
	text = "/" + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '/' }), "/")
	if strings.HasPrefix(text, "/proc/") || text == "/proc" || strings.HasPrefix(text, "/dev/fd") ||
		strings.HasPrefix(text, "/run/secrets") {
		return noPath("it names a file of the system where its credentials can be")
	}
	if absolute && text != "/" && (text == "/roots" ||
		slices.ContainsFunc(from.private, func(dir string) bool { return related(text, dir) })) {
		return noPath("it names a directory where its credentials can be")
	}
	return nil
}

// related reports whether one path is, or is below, the other.
func related(a, b string) bool {
	a, b = strings.TrimSuffix(a, "/")+"/", strings.TrimSuffix(b, "/")+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// environment reports whether a path looks like one of a process in /proc,
// also through links.
func environment(parts []string) bool {
	for i, part := range parts {
		if part == "environ" && len(parts) > 1 {
			return true
		}
		if part == "proc" && i+1 < len(parts) && (has("self thread-self", parts[i+1]) ||
			strings.Trim(parts[i+1], "0123456789") == "") {
			return true
		}
	}
	return false
}

func bounds(r rune) bool { return strings.ContainsRune("=@,:;'\"()<>[]{}|& \t\n", r) }

func noPath(why string) error {
	return tool.Errorf(tool.Refused, "a program with credentials does not run like this: %s", why).
		Try("name files in the workspace only")
}
