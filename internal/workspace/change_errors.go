package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

func sameFileError(a, b string) error {
	return tool.Errorf(tool.Invalid, "%q and %q are one file", a, b).Try("name it once, with all that is to be done to it")
}

// changeError says why a file was not changed.
func changeError(err error, shown string) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, history.ErrChanged), errors.Is(err, root.ErrLink):
		return tool.Errorf(tool.Conflict, "%q was changed by something else at the same moment; nothing was changed by this call", shown).
			Try("read it again, then repeat the change").Because(err)
	case errors.Is(err, history.ErrTooLarge):
		return tool.Errorf(tool.TooLarge, "%q is too large to be changed together with others on its file system; nothing was changed", shown).
			Try("change it in a call of its own").Because(err)
	case isDiskFull(err):
		return diskFullError(err)
	case errors.Is(err, syscall.EROFS):
		return tool.Errorf(tool.Refused, "%q is on a file system that can only be read", shown).
			Try("write to another place, or ask the person").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Refused, "the system does not let this server change %q", shown).
			Try("ask the person for the right to write to its directory; nothing was changed").Because(err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return tool.Errorf(tool.Invalid, "%q cannot be written: a directory and a file of one name are in the way", shown).
			Try("call list_files to see what is there").Because(err)
	}
	return fileError(err, shown)
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func diskFullError(err error) error {
	return tool.Errorf(tool.Unavailable, "the disk is full; nothing was changed").
		Try("free some space, or ask the person to").Because(err)
}

// historyError says why changes cannot be written down, without which none is
// made.
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
	return tool.Errorf(tool.Unavailable, "the server cannot keep track of changes, so it makes none").
		Try("do without changing files; the operator finds the cause in the log").Because(err)
}
