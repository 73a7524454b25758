package cli

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools"
)

// checkPaths refuses arguments that name files of the system: in /proc a
// program finds its own environment, and many of them send files where they are
// told to. dir is where the command runs, as it sees it. What an argument means
// is not known, so whatever could be a path in it is taken for one.
func (p program) checkPaths(args []string, dir string) error {
	l := p.preset.read(args)
	for _, w := range l.words {
		if err := checkPath(w.text, dir); err != nil {
			return err
		}
	}
	for _, f := range l.flags {
		for _, v := range f.values {
			if f.text {
				continue
			}
			if err := checkPath(v, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPath looks at the parts of an argument between the characters that set
// paths off, such as those of name=@path and file://path.
func checkPath(arg, dir string) error {
	if !strings.ContainsAny(arg, "/~") && !strings.Contains(arg, "..") {
		return nil
	}
	for _, text := range append(strings.FieldsFunc(arg, bounds), arg) {
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
			text = path.Clean("/" + dir + "/" + text)
		}
		text = "/" + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '/' }), "/")
		if strings.HasPrefix(text, "/proc/") || text == "/proc" || strings.HasPrefix(text, "/dev/fd") || strings.HasPrefix(text, "/run/secrets") {
			return noPath("it names a file of the system where its credentials can be")
		}
	}
	return nil
}

// environment reports whether a path looks like one of a process in /proc,
// whatever links lead there.
func environment(parts []string) bool {
	for i, part := range parts {
		if part == "environ" && len(parts) > 1 {
			return true
		}
		if part == "proc" && i+1 < len(parts) && (has("self thread-self", parts[i+1]) || strings.Trim(parts[i+1], "0123456789") == "") {
			return true
		}
	}
	return false
}

func bounds(r rune) bool { return strings.ContainsRune("=@,:;'\"()<>[]{}|& \t\n", r) }

func noPath(why string) error {
	return tools.Errorf(tools.Refused, "a program with credentials does not run like this: %s", why).
		Try("name files in the workspace only")
}
