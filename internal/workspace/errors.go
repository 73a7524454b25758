package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxNeighbours bounds the names that are looked at to suggest one.
const maxNeighbours = 5000

// outsideError is the one answer for everything out of reach: that it exists, does
// not, or that a link leads there.
func (s *callerView) outsideError(given string) error {
	reach := []string{"the workspace (" + display(s.caller.Workspace) + ")"}
	if s.home.root == nil || s.w.o.PerCaller != "" && s.w.o.PerCaller != None {
		reach[0] = "the workspace"
	}
	for _, r := range s.w.o.Roots {
		if r.Name != "" {
			reach = append(reach, r.Name+"/")
		}
	}
	reach = append(reach, cacheAlias+"/", stateAlias+"/")
	return tool.Errorf(tool.Refused, "%q is outside the workspace", given).
		Try("use a path relative to the workspace; what can be reached is %s", strings.Join(reach, ", "))
}

func deniedError(given string) error {
	return tool.Errorf(tool.Refused, "%q is kept from tools by the operator", given).
		Try("do without it, or ask the person for what you need of it")
}

func protectedError(given string) error {
	return tool.Errorf(tool.Refused, "the operator keeps %q from being changed by tools", given).
		Try("leave it as it is, and tell the person what you would change in it")
}

func directoryError(shown string) error {
	return tool.Errorf(tool.Invalid, "%q is a directory", shown).Try("call list_files to see what is in it, then name a file")
}

func specialError(shown string) error {
	return tool.Errorf(tool.Refused, "%q is not a regular file, but a pipe, a socket, a device or made up by the system", shown).
		Try("use a file")
}

func linkedError(shown string) error {
	return tool.Errorf(tool.Refused, "%q has further names (hard links) outside the workspace, or out of reach", shown).
		Try("copy it to a new file by other means and use that; the operator can set workspace.hard_links to allow")
}

func unstableError(given string) error {
	return tool.Errorf(tool.Conflict, "%q keeps changing while it is looked up", given).Try("call again when nothing else moves it").Because(root.ErrLink)
}

// fileError puts what the system answered about a file into words for the caller.
func fileError(err error, shown string) error {
	var known *tool.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "no file %q", shown).Try("call list_files to see what there is").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Refused, "the system does not let this server reach %q", shown).
			Try("ask the person to change the file's permissions").Because(err)
	case errors.Is(err, root.ErrLink):
		return unstableError(shown)
	case errors.Is(err, root.ErrSpecial):
		return specialError(shown)
	case errors.Is(err, root.ErrName):
		return tool.Errorf(tool.Invalid, "%q is not a name for a file", shown).Try("use letters, digits, dots and dashes").Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return tool.Errorf(tool.Invalid, "a name in the path is too long").Try("a step has at most 255 bytes, a path 4096").Because(err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return tool.Errorf(tool.Busy, "too many files are open").Try("call again in a moment").Because(err)
	}
	return err
}

// missingError says that there is no such file, how far the path leads, and what
// was probably meant.
func (s *callerView) missingError(given string, k *walk) error {
	what := "file"
	if k.intent == toList {
		what = "file or directory"
	}
	if k.blockedBy != "" {
		return tool.Errorf(tool.NotFound, "no %s %q: %q is a file and not a directory", what, given, s.shownPath(k.mount, k.blockedBy)).
			Try("mend the path")
	}
	dir := path.Dir(k.firstMissing)
	shown := s.shownPath(k.mount, dir)
	err := tool.Errorf(tool.NotFound, "no %s %q", what, given)
	if k.firstMissing != k.name {
		err = tool.Errorf(tool.NotFound, "no %s %q: there is no directory %q", what, given, s.shownPath(k.mount, k.firstMissing))
	}
	if near := tool.Nearest(path.Base(k.firstMissing), s.siblings(k.mount, dir)); near != "" {
		return err.Try("did you mean %q? or call list_files on %q", s.shownPath(k.mount, path.Join(dir, near)), shown)
	}
	if name := path.Base(k.name); k.intent == toRead && !strings.ContainsAny(name, `*?[{\`) {
		return err.Try("call glob with %q to look for it everywhere, or list_files on %q", "**/"+name, shown)
	}
	return err.Try("call list_files on %q to see what is there", shown)
}

// siblings are the names in a directory that may be suggested.
func (s *callerView) siblings(m *mount, dir string) []string {
	if m.root == nil || s.w.denied(m, dir) {
		return nil
	}
	f, err := m.root.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxNeighbours)
	around := s.overlaps(m)
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if s.w.deniedInDir(m, name) || m.anyOverlap(around, name, s.w.denied) {
			continue
		}
		if e.IsDir() {
			if info, err := m.root.Lstat(name); err != nil || s.isDataDir(info) {
				continue
			}
		}
		names = append(names, e.Name())
	}
	return names
}
