package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Mode says which walls a profile gets.
type Mode string

// The modes.
const (
	Auto   Mode = "auto" // the strongest walls that work; never the host
	Docker Mode = "docker"
	Kernel Mode = "kernel"
	Host   Mode = "host" // no walls
	Off    Mode = "off"  // no commands
)

// A Policy is what a profile says about commands.
type Policy struct {
	Mode    Mode // "" is auto
	Network bool // commands may reach others, as far as the proxy lets them
	Require []sandbox.Promise
}

// A Scope says which commands share walls, and so can see each other.
type Scope string

// The scopes.
const (
	Session Scope = "session" // those of one session
	Agent   Scope = "agent"   // those of all sessions of one principal
)

// Background bounds what commands leave.
type Background struct {
	Count  int           // commands that are left to one principal; 16
	Age    time.Duration // of one that has ended; 30 minutes
	Output int64         // bytes that are kept of one command; 64 MiB
	Total  int64         // likewise of all commands, on disk; 1 GiB
}

// Limit says how long a command may take.
type Limit struct {
	Host    time.Duration // without walls, when nobody says; 60 seconds
	Sandbox time.Duration // behind walls; 300 seconds
	Most    time.Duration // 30 minutes
}

// Options say how commands run. Zero takes the default where one is named.
type Options struct {
	Launchers []sandbox.Launcher // the strongest first
	Mode      func(tool.Caller) Policy
	// Directories returns the directories that the commands of a caller work on.
	Directories func(context.Context) (sandbox.Directories, error)
	// Dir finds the directory that the model wrote, and what tells it from
	// another that takes its name; "" is the workspace.
	Dir func(ctx context.Context, path string) (dir, identity string, err error)
	// Proxy opens a way out for commands, to public hosts and those that are
	// named, that is there until stop; ctx bounds the opening only. Without it
	// there is none.
	Proxy func(ctx context.Context, c tool.Caller, hosts []string) (socket string, stop func(), err error)

	Environ    []string // NAME=value that every command gets, beside the usual
	ExtraRead  []string // directories of this machine that every command may read
	ExtraWrite []string // likewise: change
	Limits     sandbox.Limits
	Limit      Limit
	Scope      Scope         // session
	Idle       time.Duration // after which walls without a command go; 10 minutes
	Age        time.Duration // after which walls are replaced; 12 hours
	Boxes      int           // that there are at a time; 64
	Background Background
	Spool      string // a directory for output; nobody else may write to it
	Log        *slog.Logger
}

func (o Options) complete() (Options, error) {
	if len(o.Launchers) == 0 || o.Mode == nil || o.Directories == nil || o.Dir == nil || o.Spool == "" {
		return o, errors.New("commands need launchers, a mode, a ground, a way to find directories, and a spool")
	}
	if o.Limit.Host < 0 || o.Limit.Sandbox < 0 || o.Limit.Most < 0 || o.Idle < 0 || o.Age < 0 || o.Boxes < 0 ||
		o.Background.Count < 0 || o.Background.Age < 0 || o.Background.Output < 0 || o.Background.Total < 0 {
		return o, errors.New("a limit of commands is negative; use 0 for the default")
	}
	if o.Scope == "" {
		o.Scope = Session
	}
	if o.Scope != Session && o.Scope != Agent {
		return o, fmt.Errorf("the scope of sandboxes is %q; use session or agent", o.Scope)
	}
	fill(&o.Limit.Host, 60*time.Second)
	fill(&o.Limit.Sandbox, 300*time.Second)
	fill(&o.Limit.Most, 30*time.Minute)
	fill(&o.Idle, 10*time.Minute)
	fill(&o.Age, 12*time.Hour)
	fill(&o.Boxes, 64)
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

// fill puts a default into the place of nothing.
func fill[T comparable](into *T, usual T) {
	var none T
	if *into == none {
		*into = usual
	}
}
