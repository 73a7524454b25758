// Package cli runs programs with credentials, such as gh, aws or kubectl.
//
// It knows the programs, their allowed commands and the risk of each. It makes sure that no
// shell is involved, that the started file is the configured one, and that secrets go into its
// environment and nowhere else. It does not start processes, build sandboxes or keep secrets:
// [Options] has a function for each.
//
// [Router.Prepare] shows the steps of a command; presets.txt and rules.go have the refused
// commands and the reasons.
package cli

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Program has credentials. Zero fields have the values of its preset.
type Program struct {
	Name   string // its name for the model
	Path   string // absolute; never looked up when it is called
	Preset string // gh, gcloud, aws, kubectl or terraform; "" for none
	// Env and Files name the secrets by the variables that they go to. Secrets of Files are
	// written to private files; the variable holds the path.
	Env   map[string]string
	Files map[string]string
	Set   map[string]string // variables that are not secrets, such as AWS_REGION
	// Allow are the commands that may run, such as "pr list" or "ec2 describe-*", instead of
	// the preset's commands. Commands that the preset refuses stay refused.
	Allow []string
	Hosts []string // host:port that it may reach beside public ones
}

// Options connect a Router with the rest of the server.
type Options struct {
	// Programs returns the programs of the caller in ctx. nil: there are none.
	Programs func(ctx context.Context) Programs
	// Secret reads a secret from the vault. The caller clears it.
	Secret func(name string) ([]byte, error)
	// Mask hides values from now on, in all common encodings, in place of the
	// earlier values of id. It returns an error for values that it cannot hide. They
	// stay hidden after the run, when results are scrubbed and logs are read.
	Mask func(id string, values ...string) error
	// Run runs a launch, isolated from the caller's other commands, and returns its
	// result.
	Run func(ctx context.Context, l Launch) (tool.Result, error)
	// Site returns where commands of the caller would run, and starts nothing.
	Site func(ctx context.Context, dir string) (Site, error)
	// Repository returns the address of the remote, and the branch, of the git repository
	// of the directory that the model wrote; "" if there is none. nil: there never is.
	Repository func(ctx context.Context, dir string) (address, branch string)
	// Changeable reports whether the caller's tools or commands can change the file at an
	// absolute path of this machine: no program is taken from there.
	Changeable func(ctx context.Context, path string) bool
	// Private are directories of this machine with files that must not leave it, such
	// as the files with credentials that programs get.
	Private []string
}

// A Site is where a command would run.
type Site struct {
	Dir   string // as the command sees it
	Inode string // identity of the directory; a rename keeps it
	Where string // the sandbox, for the approver
}

// A Launch is a command that may run, with everything that it gets.
type Launch struct {
	Argv     []string // the first is the program's name
	Program  string   // absolute and without links; checked
	Identity string   // of that file: another file in its place has another
	Dir      string   // the model's text
	Timeout  time.Duration
	Env      []string          // NAME=value, no secrets
	Secrets  []string          // NAME=value; the values are masked already
	Files    map[string][]byte // by the variable that holds the path; cleared after the run
	Hosts    []string
}

// An Order is one command for one of the programs.
type Order struct {
	Argv    []string
	Dir     string        // the model's text
	Timeout time.Duration // zero: the program's own
}

// A Router runs orders with their programs.
type Router struct{ o Options }

// New returns a Router. It refuses calls of programs with a wrong configuration;
// [Check] finds those before.
func New(o Options) *Router {
	if o.Programs == nil {
		o.Programs = Fixed()
	}
	return &Router{o: o}
}

// Programs are programs in the order of their configuration, ready for use.
type Programs []program

// Compile makes programs ready.
func Compile(list []Program) Programs {
	all := make(Programs, len(list))
	for i, p := range list {
		all[i], _ = compile(p) // its problem stays with it
	}
	return all
}

// Fixed returns a function that gives the Programs of Options to all callers.
func Fixed(list ...Program) func(context.Context) Programs {
	all := Compile(list)
	return func(context.Context) Programs { return all }
}

// Holds reports whether one of the programs has this name or path.
func (all Programs) Holds(name string) bool {
	return slices.ContainsFunc(all, func(p program) bool { return name == p.Name || name == p.Path })
}

func (all Programs) names() []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}

// Tool returns the tool credentialed_exec.
func Tool(o Options) tool.Tool { return tool.Prepared(credentialed{New(o)}) }
