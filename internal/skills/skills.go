// Package skills joins the skills that lie in directories with those that were
// published: it knows which of them a caller sees, which of several with the
// same name comes first, and how they are found by their words.
//
// Skills in directories are looked at each time that somebody asks; [Watch] is
// for clients that want to hear of new ones. Those of the workspace are reached through the caller's own
// files and never otherwise: what is denied there is not seen here. Published
// ones are rows, whose versions never change. It does not know SQL, how a path
// is led to a file, nor how answers are worded, and it runs nothing.
//
// Begin with [New] and [Library.Use], then view.go for what a caller sees.
package skills

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Rows are where published skills are kept. What there is none of is
// [skill.ErrNone].
type Rows interface {
	Publish(ctx context.Context, d skill.Draft) (row skill.Row, isNew bool, err error)
	Remove(ctx context.Context, o skill.Owner, slug string) error
	Stamp(ctx context.Context, o skill.Owner) (string, error)
	List(ctx context.Context, o skill.Owner) ([]skill.Row, string, error)
	Find(ctx context.Context, o skill.Owner, slug string, number int64) (skill.Row, error)
	Blob(ctx context.Context, o skill.Owner, digest string) ([]byte, error)
	Used(ctx context.Context, u skill.Use) error
	Uses(ctx context.Context, o skill.Owner) ([]skill.Uses, error)
}

// A Dir is a directory of skills that the operator has chosen.
type Dir struct {
	Path string
	// Name is what the callers' file tools call it; "" for its path.
	Name string
}

// Options are what a library is made of.
type Options struct {
	Rows  Rows
	Files workspace.Files // of the callers; nil: they have none
	// Dirs are looked through after the workspace, in their order.
	Dirs []Dir
	// Index is the directory for the index, which is made when it is needed.
	Index string
	Log   *slog.Logger // nil: silent
}

// A Library is all skills that there are. Its methods may be called from many
// goroutines.
type Library struct {
	o     Options
	guard func() *skill.Guard // made when something is looked at first

	mu    sync.Mutex
	views map[viewer]*view
	clock int64
	made  int64

	opening sync.Mutex // of the index
	index   *index.Index
	filled  int64 // counts the indexes that were begun
	closed  bool
}

// New opens nothing yet.
func New(o Options) *Library {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Library{o: o, guard: sync.OnceValue(skill.NewGuard), views: map[viewer]*view{}}
}

// Close lets go of the index. No call may be running.
func (l *Library) Close() error {
	l.opening.Lock()
	defer l.opening.Unlock()
	l.closed = true
	if l.index == nil {
		return nil
	}
	err := l.index.Close()
	l.index = nil
	return err
}

// opened is the index. What another process has left in it says nothing of
// today's directories, so it begins empty.
func (l *Library) opened() (*index.Index, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.index != nil {
		return l.index, nil
	}
	if l.closed || l.o.Index == "" {
		return nil, index.ErrClosed
	}
	x, err := index.Open(l.o.Index)
	if err != nil {
		return nil, err
	}
	if err := x.Reset(); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	l.index = x
	l.filled++
	return x, nil
}

// begun is which index is in use, counted from 1.
func (l *Library) begun() int64 {
	l.opening.Lock()
	defer l.opening.Unlock()
	return l.filled
}

// giveUp lets go of an index that has failed. The next use begins another.
func (l *Library) giveUp(which int64) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.index == nil || l.filled != which {
		return
	}
	if err := l.index.Close(); err != nil {
		l.o.Log.Debug("an index of skills that failed was not closed well", "err", err)
	}
	l.index = nil
}

// owner is who is calling. Outside a call there is nobody, who owns nothing.
func owner(ctx context.Context) (skill.Owner, error) {
	c := tool.CallerFrom(ctx)
	name := c.Agent + c.User + c.Session
	if c == (tool.Caller{}) || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return skill.Owner{}, tool.Errorf(tool.Refused, "nobody is known to be calling").Try("ask the operator to give callers a name")
	}
	return skill.Owner{Agent: c.Agent, User: c.User}, nil
}

// gone words an error of the rows.
func gone(err error) error {
	var known *tool.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return tool.Errorf(tool.Unavailable, "published skills cannot be read now").Try("try again later").Because(err)
}
