package sandbox

import (
	"context"
	"io"
	"time"
)

// A Site is the place where a command would run. The approval of a command is
// valid for this site only.
type Site struct {
	Tier     string // docker, kernel or host
	Isolated bool   // the command is isolated: it can change nothing but the workspace
	// Elevated means that the command runs on the host although other commands of
	// the caller run in a sandbox.
	Elevated       bool
	Network        bool          // the command can reach other hosts
	Asks           bool          // only registries, and hosts that a person allows
	Dir            string        // the working directory as the command sees it
	Inode          string        // the identity of the working directory, whatever its name
	Roots          []string      // the directories that the command may change, as it sees them
	Home           string        // the home directory as the command sees it; "" for no home
	DefaultTimeout time.Duration // the default timeout of a command
	MaxTimeout     time.Duration // the maximum timeout of a command
	Note           string        // why the site is not the configured one; "" if it is
	// Find looks up a program by its name. It returns the path, and an identity
	// that changes if another file takes its place: "" if it is not found.
	Find func(program string) (path, identity string)
	// File returns the identity of the file at an absolute path, such as a script
	// that an interpreter reads: "" if it cannot be determined. A nil File means
	// that it never can.
	File func(path string) (identity string)
	// Locked reports whether commands cannot change the file at an absolute path, although
	// it is in a directory that they may change. A nil Locked means that it is not known.
	Locked func(path string) bool
	// Disposable reports whether git ignores the file or directory at an absolute path, or all
	// matches of a pattern, and tracks nothing in it. Nil if this cannot be found out.
	Disposable func(path string) bool
}

// Where describes the sandbox in one line, for the approver.
func (s Site) Where() string {
	limits, network := "not isolated", "no network"
	if s.Isolated {
		limits = "changes the workspace only"
	}
	if s.Network {
		network = "with network"
	}
	if s.Network && s.Asks {
		network = "asks about hosts"
	}
	if s.Elevated {
		limits = "outside the sandbox, " + limits
	}
	return s.Tier + ", " + limits + ", " + network
}

// A Command describes a command to start. Argv is executed as it is: a command that needs a shell has the shell
// as its first word. A command also sees the directories and variables of its sandbox.
type Command struct {
	Argv    []string
	Text    string   // the command as the model wrote it, for lists
	Dir     string   // the working directory as the model wrote it
	At      Site     // the expected site: the command does not start at any other
	Env     []string // NAME=value, in addition to the variables of every command
	Stdin   []byte
	Open    bool          // stdin stays open for Process.Write
	TTY     bool          // the command gets a terminal
	Merge   bool          // stderr is written to stdout, in the order of writing
	Timeout time.Duration // 0: no timeout
	// Private gives the command a sandbox that ends with it, an empty home and
	// access to Hosts. No other command of the caller can inspect it.
	Private *Private
	// Watch is called with output as it arrives, from one goroutine.
	Watch func(Stream, []byte)
}

// Private describes a command that gets credentials.
type Private struct {
	Secrets []string          // NAME=value: the scrubber knows the values already
	Files   map[string][]byte // by the name of the variable that holds the path
	Hosts   []string          // host:port that the command may reach in addition to public ones
	Asks    bool              // public hosts other than Hosts are asked about, as for other commands
	Program string            // absolute path on this machine, already checked
	// Verify returns an error if the file of the program has changed since it was
	// checked. It is called immediately before the start. nil: no check.
	Verify func() error
}

// A Stream is an output of a command.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// A Process is a command that was started, in whatever sandbox. It goes on when the call that started it ends, and its
// output is kept, until it is killed or its sandbox is closed. The methods may be called concurrently.
type Process interface {
	// Status returns the current status.
	Status() Status
	// Wait returns when the process has ended, a condition of u is met, or ctx ends. The end of
	// ctx is not an error.
	Wait(ctx context.Context, u WaitCondition) Status
	// Log returns the output of the process on a stream.
	Log(s Stream) Log
	// Write writes data to stdin, and closes stdin if end is true.
	Write(ctx context.Context, data []byte, end bool) error
	// Kill kills the process and all its descendants.
	Kill(ctx context.Context) error
	// Keep leaves the process to the caller. It can be found by its ID until it is removed,
	// expires, or the session ends. If beyond is true it outlives the session.
	Keep(ctx context.Context, beyond bool) error
	// Remove kills the process if it runs, and deletes it and its output.
	Remove(ctx context.Context) error
}

// WaitCondition holds the conditions that end Wait before the process ends.
type WaitCondition struct {
	Pattern string        // an RE2 pattern: a line of stdout after From matches it
	From    int64         // an offset in the log of stdout
	Idle    time.Duration // the process has written nothing for this long
	// All waits beyond the end of the process, until the processes that it left behind have
	// ended too.
	All bool
}

// A State is the state of a process.
type State string

// The states.
const (
	Running       State = "running"
	Exited        State = "exited"         // by itself
	TimedOut      State = "timeout"        // killed when its timeout ended
	Killed        State = "killed"         // killed on request
	LimitExceeded State = "limit_exceeded" // killed because it exceeded a limit: see Why
	Lost          State = "lost"           // lost with its sandbox
)

// A Status describes a process, or how it ended.
type Status struct {
	ID       string // p_...
	Text     string
	Dir      string
	Tier     string
	State    State
	Code     int    // exit code
	Signal   string // the signal that ended it, such as SIGKILL
	Why      string // details about the end, for the model
	Left     int    // number of descendants that still run
	Started  time.Time
	Took     time.Duration
	CPU      time.Duration
	Memory   int64 // peak memory use in bytes, if known
	TTY      bool
	Matched  string // the line that matched WaitCondition.Pattern
	WasIdle  bool   // Wait returned because nothing was written
	Beyond   bool   // the process outlives the session
	Note     string // Site.Note
	Waiting  bool   // the process appears to wait for input
	ExitedAt time.Time
}

// A Log is the output of a stream. It keeps the head and the tail; the bytes in
// between may be dropped. Its methods may be called while it grows.
type Log interface {
	// Size returns the number of bytes that were written.
	Size() int64
	// Gap returns the range of the bytes that were dropped, as two offsets. The
	// second is not part of the gap.
	Gap() (from, to int64)
	// ReadAt reads the bytes that are kept; within the gap it returns
	// io.ErrNoProgress.
	io.ReaderAt
}
