package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxNeighbours is the maximum number of names to compare for a suggestion.
const maxNeighbours = 5000

// outsideError is the error for every path that the caller cannot reach. It is
// the same whether the path exists, does not exist or goes through a link.
func (s *callerView) outsideError(given string) error {
	reach := []string{"the workspace (" + display(s.caller.Workspace) + ")"}
	if s.w.o.PerCaller != "" && s.w.o.PerCaller != None {
		reach[0] = "the workspace"
	}
	for _, r := range s.w.o.Roots {
		if r.Name != "" {
			reach = append(reach, r.Name+"/")
		}
	}
	reach = append(reach, cacheAlias+"/", stateAlias+"/")
	return tool.Errorf(tool.Refused, "%q is outside the workspace", given).
		Try("use a path relative to the workspace; you can reach %s", strings.Join(reach, ", "))
}

func deniedError(given string) error {
	return tool.Errorf(tool.Refused, "%q is denied to tools", given).
		Try("continue without it, or ask the user for what you need from it; the operator can allow it with " +
			"\"!\" and its name in workspace.deny")
}

func protectedError(given string) error {
	return tool.Errorf(tool.Refused, "%q is protected", given).
		Try("leave it unchanged, and tell the user what you would change in it; the operator can allow it with " +
			"\"!\" and its name in workspace.protect")
}

func directoryError(shown string) error {
	return tool.Errorf(tool.Invalid, "%q is a directory", shown).Try("call list_files to see its files, then name one")
}

func specialError(shown string) error {
	return tool.Errorf(tool.Refused, "%q is not a regular file but a pipe, a socket, a device or a kernel file", shown).
		Try("use a regular file")
}

func linkedError(shown string) error {
	return tool.Errorf(tool.Refused, "%q has other hard links that are outside the workspace or denied", shown).
		Try("copy it to a new file by other means and use that; the operator can set workspace.hard_links to allow")
}

func unstableError(given string) error {
	return tool.Errorf(tool.Conflict, "%q changes while its path is resolved", given).
		Try("call again when no other program moves it").Because(root.ErrLink)
}

// fileError turns an error of the operating system into an error for the caller.
func fileError(err error, shown string) error {
	var known *tool.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "no file %q", shown).Try("call list_files to see what exists").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Refused, "no permission to read %q", shown).
			Try("ask the user to change the permissions of the file").Because(err)
	case errors.Is(err, root.ErrLink):
		return unstableError(shown)
	case errors.Is(err, root.ErrSpecial):
		return specialError(shown)
	case errors.Is(err, root.ErrName):
		return tool.Errorf(tool.Invalid, "%q is not a valid file name", shown).
			Try("use letters, digits, dots and dashes").Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return tool.Errorf(tool.Invalid, "the path or one of its names is too long").
			Try("a name has at most 255 bytes, a path 4096").Because(err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return tool.Errorf(tool.Busy, "too many files are open").Try("call again in a few seconds").Because(err)
	}
	return err
}

// missingError is the error for a path that does not exist. It reports the
// first missing name and suggests a similar one.
func (s *callerView) missingError(given string, k *walk) error {
	what := "file"
	if k.intent == toList {
		what = "file or directory"
	}
	if k.blockedBy != "" {
		return tool.Errorf(tool.NotFound, "no %s %q: %q is a file, not a directory",
			what, given, s.shownPath(k.mount, k.blockedBy)).
			Try("correct the path")
	}
	dir := path.Dir(k.firstMissing)
	shown := s.shownPath(k.mount, dir)
	err := tool.Errorf(tool.NotFound, "no %s %q", what, given)
	if k.firstMissing != k.name {
		first := s.shownPath(k.mount, k.firstMissing)
		err = tool.Errorf(tool.NotFound, "no %s %q: there is no directory %q", what, given, first)
	}
	if near := tool.Nearest(path.Base(k.firstMissing), s.siblings(k.mount, dir)); near != "" {
		return err.Try("did you mean %q? or call list_files on %q", s.shownPath(k.mount, path.Join(dir, near)), shown)
	}
	if name := path.Base(k.name); k.intent == toRead && !strings.ContainsAny(name, `*?[{\`) {
		return err.Try("call glob with %q to look for it everywhere, or list_files on %q", "**/"+name, shown)
	}
	return err.Try("call list_files on %q to see what is there", shown)
}

// siblings returns the names in a directory that may be suggested.
func (s *callerView) siblings(m *mount, dir string) []string {
	if s.w.denied(m, dir) {
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

func sameFileError(a, b string) error {
	return tool.Errorf(tool.Invalid, "%q and %q are the same file", a, b).Try("name it once, with all of its changes")
}

// changeError returns the error to report for a file that was not changed.
func changeError(err error, shown string) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, history.ErrChanged), errors.Is(err, root.ErrLink):
		return tool.Errorf(tool.Conflict, "%q was changed by another program; this call changed nothing", shown).
			Try("read it again, then repeat the change").Because(err)
	case errors.Is(err, history.ErrTooLarge):
		return tool.Errorf(tool.TooLarge, "%q is too large to change together with other files on its file system; "+
			"nothing was changed", shown).
			Try("change it in a separate call").Because(err)
	case isDiskFull(err):
		return diskFullError(err)
	case errors.Is(err, syscall.EROFS):
		return tool.Errorf(tool.Refused, "%q is on a read-only file system", shown).
			Try("write to another directory, or ask the user").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Refused, "no permission to change %q; nothing was changed", shown).
			Try("ask the user for permission to write to its directory").Because(err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return tool.Errorf(tool.Invalid, "%q cannot be written: its path has a file where a directory is needed, "+
			"or the reverse", shown).
			Try("call list_files to see what exists").Because(err)
	}
	return fileError(err, shown)
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func diskFullError(err error) error {
	return tool.Errorf(tool.Unavailable, "the disk is full; nothing was changed").
		Try("free some space, or ask the user to").Because(err)
}

// historyError returns the error to report when the history cannot be written.
// Changes are made only if they can be recorded.
func historyError(err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isDiskFull(err):
		return diskFullError(err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fileError(err, "")
	}
	return tool.Errorf(tool.Unavailable, "the history of changes cannot be written, so no file is changed").
		Try("do not change files; the cause is in the server's log, for the operator").Because(err)
}
