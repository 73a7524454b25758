package blob

import (
	"context"
	"errors"
	"log/slog"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A failure is an error of a place. Its text is for operators; as a *tool.Error it says only that large contents
// cannot be stored or read at present.
type failure struct {
	err  error
	full bool // there is no room for more
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// As converts the failure to a *tool.Error.
func (f *failure) As(target any) bool {
	known, ok := target.(**tool.Error)
	if !ok {
		return false
	}
	state := "not available"
	if f.full {
		state = "full"
	}
	*known = tool.Errorf(tool.Unavailable, "the storage of large contents is %s", state).
		Try("try again later; the operator finds the cause in the log").Because(f.err)
	return true
}

// logFailure logs the failure of a place, because models do not see the cause. A full disk is one.
func logFailure(log *slog.Logger, err error) error {
	f := (*failure)(nil)
	switch {
	case errors.As(err, &f):
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f = &failure{err, true}
		err = f
	default:
		return err
	}
	if !errors.Is(err, context.Canceled) {
		log.Warn("large contents cannot be stored or read", "err", f.err)
	}
	return err
}
