package commands

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Mode selects the sandbox of a profile.
type Mode string

// The modes.
const (
	Auto   Mode = sandbox.Auto // the strongest sandbox that works; never the host
	Docker Mode = sandbox.Docker
	Kernel Mode = sandbox.Kernel
	Host   Mode = sandbox.Host // no isolation
	Off    Mode = "off"        // commands are disabled
)

// A Policy holds the settings of a profile for commands.
type Policy struct {
	Mode    Mode // "" is auto
	Network bool // commands may reach other hosts, as far as the proxy allows it
	Asks    bool // the proxy asks about hosts
	Require []sandbox.Guarantee
}

// Background holds the limits of background commands.
type Background struct {
	Count  int           // commands per principal; default 16
	Age    time.Duration // how long an ended command is kept; default 30 minutes
	Output int64         // bytes of output kept per command; default 64 MiB
	Total  int64         // bytes of output kept on disk for all commands; default 1 GiB
}

// Limit holds the timeouts of commands.
type Limit struct {
	Host    time.Duration // default on the host; 60 seconds if zero
	Sandbox time.Duration // default in a sandbox; 300 seconds if zero
	Max     time.Duration // maximum; 30 minutes if zero
}

// Options configures Commands. A zero value selects the default where one is given.
type Options struct {
	Tiers sandbox.Tiers
	Mode  func(tool.Caller) Policy
	// Directories returns the directories that the commands of a caller work on.
	Directories func(context.Context) (sandbox.Directories, error)
	// Dir resolves the directory that the model wrote; "" is the workspace. The
	// identity changes if another directory takes its place.
	Dir func(ctx context.Context, path string) (dir, identity string, err error)
	// Disposable reports whether the files at a path of the host can be made again after a
	// removal. nil: it is not known.
	Disposable func(path string) bool
	// Proxy starts a proxy to public hosts and the given ones. It runs until stop; ctx bounds
	// the start only. If asks is set a person is asked about other hosts, as the policy says;
	// it is not set for programs of the operator. A nil Proxy means no network.
	Proxy func(ctx context.Context, c tool.Caller, hosts []string, asks bool) (socket string, stop func(), err error)

	Environ    []string // NAME=value for every command
	ExtraRead  []string // directories of this machine that every command may read
	ExtraWrite []string // directories of this machine that every command may change
	Limits     sandbox.Limits
	Limit      Limit
	Idle       time.Duration // how long an unused sandbox is kept; default 10 minutes
	Age        time.Duration // maximum age of a sandbox; default 12 hours
	Boxes      int           // maximum number of sandboxes, of one user at most half; default 128
	Background Background
	// Leaving reports whether sandboxes on another machine should end as soon as no command runs in them. Nil: none should.
	Leaving func(ctx context.Context, host string) bool
	// Kept is called when a process was left to a caller, and Dropped when it was removed, with the principal and the id.
	// Dropped must not block. nil: nobody has to know.
	Kept, Dropped func(principal, id string)
	// Ended is called when a process that was left to a caller, or its last descendant, has ended, before others see that.
	// It must not block. Looked is called when a running call looks at processes that were left. nil: nobody has to know.
	Ended  func(tool.Caller)
	Looked func(context.Context)
	// Starting is called before each command of a call; if it fails, so does the command. nil: nothing is to be done.
	Starting func(context.Context) error
	Elevated bool   // callers may ask for commands on the host
	Spool    string // a directory for output that only the server may write to
	Caches   string // a directory for the caches of each caller's commands; "" for none
	// GitConfig returns a file with settings of git for commands, such as the user's
	// name; "" or nil for none.
	GitConfig func(tool.Caller) string
	Log       *slog.Logger
}

func (o Options) complete() (Options, error) {
	if len(o.Tiers) == 0 || o.Mode == nil || o.Directories == nil || o.Dir == nil || o.Spool == "" {
		return o,
			errors.New("commands need sandboxes, a mode, directories, a function to resolve a directory, and a spool")
	}
	if o.Limit.Host < 0 || o.Limit.Sandbox < 0 || o.Limit.Max < 0 || o.Idle < 0 || o.Age < 0 || o.Boxes < 0 ||
		o.Background.Count < 0 || o.Background.Age < 0 || o.Background.Output < 0 || o.Background.Total < 0 {
		return o, errors.New("a limit of commands is negative; use 0 for the default")
	}
	fill(&o.Limit.Host, 60*time.Second)
	fill(&o.Limit.Sandbox, 300*time.Second)
	fill(&o.Limit.Max, 30*time.Minute)
	fill(&o.Idle, 10*time.Minute)
	fill(&o.Age, 12*time.Hour)
	fill(&o.Boxes, 128)
	fill(&o.Background.Count, 16)
	fill(&o.Background.Age, 30*time.Minute)
	fill(&o.Background.Output, 64<<20)
	fill(&o.Background.Total, 1<<30)
	fill(&o.Limits.Memory, 512<<20)
	fill(&o.Limits.Processes, 256)
	fill(&o.Limits.FileSize, 2<<30)
	fill(&o.Limits.Temp, 256<<20)
	fill(&o.Limits.CPUTime, time.Hour)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// fill sets a zero value to its default.
func fill[T comparable](into *T, usual T) {
	var none T
	if *into == none {
		*into = usual
	}
}
