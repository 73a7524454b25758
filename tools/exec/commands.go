// Package exec holds the tools that run commands.
//
// It knows how a model asks for a command, how risky that command is, and how
// to tell what came of it. It does not know walls, containers or processes:
// [Commands] does, and decides where a caller's commands run and what they see
// there. The parts that have nothing to do with tools are in packages below
// this one: judge (what a command does), cli (programs that hold credentials)
// and terminal (what control characters mean).
//
// To see how a command is run read exectool.go and foreground.go; the list is
// [Tools].
package exec

import (
	"context"
	"io"
	"time"
)

// Commands runs commands for whoever the running call is made for: the caller
// is in the context. Errors are fit for the model as they are.
type Commands interface {
	// Site says where a command would run, and starts nothing. dir is what the
	// model wrote, "" for the workspace.
	Site(ctx context.Context, dir string) (Site, error)
	// Start starts a command. It outlives ctx: whoever starts it waits for its
	// end, kills it, or leaves it to the caller with Keep.
	Start(ctx context.Context, c Command) (Process, error)
	// Process finds a command that was left to the caller.
	Process(ctx context.Context, id string) (Process, error)
	// Processes are all of them, the oldest first.
	Processes(ctx context.Context) ([]Process, error)
}

// A Site is where a command would run. What a person has agreed to is good for
// this site only.
type Site struct {
	Tier    string        // docker, kernel or host
	Sealed  bool          // there are walls: nothing but the workspace can be changed
	Network bool          // the command can reach others
	Dir     string        // the working directory as the command sees it
	Inode   string        // the directory itself, whatever its name
	Roots   []string      // the directories that the command may change, as it sees them
	Home    string        // as it sees it; "" when it has none
	Limit   time.Duration // how long a command may take when nobody says
	Most    time.Duration // how long at most
	Note    string        // why it is not the site that was wanted; "" when it is
	// Find returns where a program is that is called by this name, and what
	// tells that file from another that takes its place: "" when it is not there.
	Find func(program string) (path, identity string)
	// File returns what tells the file at an absolute path from another, such as
	// a script that an interpreter is to read: "" when that cannot be told. nil:
	// it never can.
	File func(path string) (identity string)
}

// A Command is what to run.
type Command struct {
	Argv    []string
	Text    string   // what the model asked for, to be listed
	Dir     string   // what the model wrote
	At      Site     // where it is to run: it is not started where that is another by now
	Env     []string // NAME=value, beside what every command gets
	Stdin   []byte
	Open    bool          // stdin stays open for Write
	TTY     bool          // it gets a terminal
	Merge   bool          // stderr goes where stdout goes, in the order of writing
	Timeout time.Duration // 0: none
	// Apart gives the command walls of its own that end with it, an empty home
	// and the network that its Hosts need: nothing else of the caller's can
	// look at it.
	Apart *Apart
	// Watch is given output as it comes, from one goroutine.
	Watch func(Stream, []byte)
}

// Apart is for commands that hold credentials.
type Apart struct {
	Secrets []string          // NAME=value: known to the scrubber already
	Files   map[string][]byte // by the name of the variable that holds the path
	Hosts   []string          // host:port that it may reach beside public ones
	Program string            // absolute path on this machine, checked
	// Identity is that of the file of the program, as cli has it: "" for any.
	Identity string
}

// A Stream is what a command writes to.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// A Process is a command that was started.
type Process interface {
	// Status is how it is now.
	Status() Status
	// Wait waits until it has ended, or until something else happens, or for
	// the end of ctx, which is no error.
	Wait(ctx context.Context, u Until) Status
	// Log is what it has written to a stream.
	Log(s Stream) Log
	// Write puts data into its stdin, and closes that when end is true.
	Write(ctx context.Context, data []byte, end bool) error
	// Kill ends it and everything that it has started.
	Kill(ctx context.Context) error
	// Keep leaves it to the caller, to be found under its id until it is
	// removed, too old, or the session ends; beyond says that the end of the
	// session does not matter.
	Keep(ctx context.Context, beyond bool) error
	// Remove kills it, if it runs, and forgets it and what it wrote.
	Remove(ctx context.Context) error
}

// Until says what a Wait waits for beside the end.
type Until struct {
	Pattern string        // a line that matches this RE2, among what comes after From
	From    int64         // an offset of the log of stdout
	Idle    time.Duration // it has written nothing for so long
}

// A State is what a process is doing.
type State string

// The states.
const (
	Running  State = "running"
	Exited   State = "exited"   // by itself
	TimedOut State = "timeout"  // it was killed when its time was up
	Killed   State = "killed"   // somebody wanted it
	Starved  State = "starved"  // it was killed for taking too much: see Why
	Vanished State = "vanished" // with its sandbox
)

// A Status is how a process is, or how it ended.
type Status struct {
	ID       string // p_...
	Text     string
	Dir      string
	Tier     string
	State    State
	Code     int    // exit code
	Signal   string // that ended it, such as SIGKILL
	Why      string // more about the end, for the model
	Left     int    // processes that it started and that still run
	Started  time.Time
	Took     time.Duration
	CPU      time.Duration
	Memory   int64 // the most it used, as far as is known
	TTY      bool
	Matched  string // the line that Wait waited for
	WasIdle  bool   // Wait ended because nothing was written
	Beyond   bool   // the end of the session does not matter
	Note     string // from the site
	Waiting  bool   // it seems to wait for input that nobody gives
	ExitedAt time.Time
}

// A Log is what was written to a stream. The head and the tail are kept; what
// lies between may be gone. Its methods may be called while it grows.
type Log interface {
	// Size is how many bytes were written.
	Size() int64
	// Gap is what is gone: from the first to before the second offset.
	Gap() (from, to int64)
	// ReadAt reads what is kept; within the gap it returns io.ErrNoProgress.
	io.ReaderAt
}

// A Keeper keeps output that is too long for the model.
type Keeper interface {
	// Keep keeps what r has to say, scrubbed, under a handle that read_result
	// takes from the running call's caller.
	Keep(ctx context.Context, r io.Reader) (handle string, err error)
}
