// Package cli runs programs that hold credentials, such as gh, aws or kubectl.
//
// It knows which programs those are, which of their commands are allowed and
// how much harm each can do, that no shell is near them, that the file which is
// started is the one that was configured, and which secrets go into its
// environment and nowhere else. It does not know how a process is started, what
// walls it gets or where secrets are kept: [Options] has a function for each.
//
// To see what happens to a command read [Router.Prepare] and what it checks; to see
// what is refused and why, read a preset, such as presetgh.go, then rules.go.
package cli

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Program holds credentials. Zero means: as its preset says.
type Program struct {
	Name   string // what the model calls it
	Path   string // absolute; never looked up when it is called
	SHA256 string // of the file, in hex; "" for any
	Preset string // gh, gcloud, aws, kubectl or terraform; "" for none
	// Env and Files name the secrets by the variables that they go to. Those of
	// Files are written to private files; the variable holds the path.
	Env   map[string]string
	Files map[string]string
	Set   map[string]string // variables that are no secrets, such as AWS_REGION
	// Allow are the commands that may run, such as "pr list" or "ec2 describe-*",
	// instead of those of the preset. What the preset refuses is refused anyway,
	// and so is what Deny names: commands, flags, or both ("get secret --output").
	Allow   []string
	Reads   []string // likewise; these change nothing
	Deny    []string
	Timeout time.Duration
	Hosts   []string // host:port that it may reach beside public ones
}

// Options say how a Router gets at what it needs.
type Options struct {
	Programs []Program
	// Secret reads one from the vault. The caller clears it.
	Secret func(name string) ([]byte, error)
	// Mask hides values from now on, in every encoding that is met every day, in
	// place of what id stood for before. What it cannot hide is an error. It
	// stays hidden: results are scrubbed, and logs read, after the run.
	Mask func(id string, values ...string) error
	// Run starts what is launched, apart from everything else of the caller's,
	// and tells what came of it.
	Run func(ctx context.Context, l Launch) (tool.Result, error)
	// Site says where commands of the caller would run, and starts nothing.
	Site func(ctx context.Context, dir string) (Site, error)
	// Changeable reports whether the caller's tools or commands can change what
	// is at an absolute path of this machine: no program is taken from there.
	Changeable func(ctx context.Context, path string) bool
	// Private are directories of this machine whose files nobody may have sent
	// anywhere: what holds the files that programs get, first of all.
	Private []string
}

// A Site is where a command would run.
type Site struct {
	Dir   string // as the command sees it
	Inode string // the directory itself, whatever its name
	Where string // the sandbox, for the person who approves
}

// A Launch is a command that was found good, with everything that it gets.
type Launch struct {
	Argv     []string // the first is the program's name
	Program  string   // absolute and without links; checked
	Identity string   // of that file: whatever takes its place has another
	Dir      string   // what the model wrote
	Timeout  time.Duration
	Env      []string          // NAME=value that may be known
	Secrets  []string          // NAME=value; the values are masked already
	Files    map[string][]byte // by the variable that holds the path; cleared after the run
	Hosts    []string
}

// An Order is one command for one of the programs.
type Order struct {
	Argv    []string
	Dir     string        // what the model wrote
	Timeout time.Duration // zero: the program's own
}

// A Router brings commands to the programs they are for. All that it remembers
// is what files it has hashed.
type Router struct {
	o        Options
	programs []program // in the order of their configuration

	mu     sync.Mutex
	hashes map[string]string // by identity
}

// New makes a Router. A program that is configured wrongly is refused when it
// is called; [Check] says so before.
func New(o Options) *Router {
	r := &Router{o: o, hashes: map[string]string{}}
	for _, p := range o.Programs {
		made, _ := compile(p) // its problem stays with it
		r.programs = append(r.programs, made)
	}
	return r
}

// Names returns the programs.
func (r *Router) Names() []string {
	names := make([]string, len(r.programs))
	for i, p := range r.programs {
		names[i] = p.Name
	}
	return names
}

// Tool returns the tool credentialed_exec. Without programs it says how to add some.
func Tool(o Options) tool.Tool { return tool.Prepared(credentialed{New(o)}) }
