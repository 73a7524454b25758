// Package sandbox is where commands run: behind walls, or on the host.
//
// There is one way to run a command. A small agent, which is this program
// started again, is put where commands are to run; it starts them, passes on
// what they write, kills their whole trees and takes everything with it when
// the server is gone. A [Launcher] puts it there: kernel (namespaces, Landlock,
// seccomp), docker (a container) or host (no walls). The packages below are one
// for each, wire for what the two sides say to each other, agent for the far
// side, and commands for who gets which walls and what is left running.
//
// This package holds the words they share. It starts nothing itself.
package sandbox

import (
	"context"
	"io"
	"time"
)

// A Launcher puts agents behind one kind of walls.
type Launcher interface {
	// Name is docker, kernel or host.
	Name() string
	// Probe finds out whether it works here. It may take a second.
	Probe(ctx context.Context) Finding
	// Layout says where commands will see the ground.
	Layout(d Directories) Layout
	// Launch starts an agent. What it returns lives until it is closed, which
	// ends everything behind the walls; ctx bounds the start only.
	Launch(ctx context.Context, w Walls) (Link, error)
}

// A Finding is what a Probe found.
type Finding struct {
	Works  bool
	Holds  []Promise // what the walls keep here
	Text   string    // one line for a person: what works and what is lacking
	Advice string    // what to do about it; "" for nothing
}

// A Promise is something that walls can keep.
type Promise string

// The promises.
const (
	Files     Promise = "files"     // nothing is read or changed but what is let in
	Network   Promise = "network"   // nobody is reached
	Processes Promise = "processes" // others are not seen, and none survives
	Memory    Promise = "memory"    // all commands together stay within the limit
	Calls     Promise = "calls"     // system calls that ordinary programs never need are refused
)

// Directories are the directories of this machine that a caller's commands work
// on. All paths are absolute and have no symbolic links.
type Directories struct {
	Dir    string // the workspace
	Roots  []Root
	Hidden []string // files and directories that commands must not see
	Locked []string // files and directories that commands must not change; those within Hidden are left out
}

// A Root is a directory beside the workspace. Its name is unique.
type Root struct {
	Name  string
	Path  string
	Write bool
}

// A Layout is where commands see what is where on this machine.
type Layout struct {
	Binds []Bind
	Home  string // an empty directory that commands may write to; "" for none
}

// A Bind lets a file or directory in.
type Bind struct {
	Host   string
	Inside string
	Write  bool
	// NoLinks has nobody led elsewhere by a symbolic link in it: for a program
	// with credentials, which others have put links in the way of. A container
	// has this only where the server may mount.
	NoLinks bool
}

// Walls say what an agent and its commands get.
type Walls struct {
	ID      string // random; names what is made outside
	Owner   string // whose they are, for labels
	Binds   []Bind
	Hidden  []string // of this machine: within binds, not to be seen
	Locked  []string // of this machine: within binds, not to be changed
	Home    string   // the home that the layout named: made for these walls, and gone with them
	Proxy   string   // socket of a proxy on this machine: the only way out; "" for none
	Open    bool     // the network of this machine, for those who want it (host only)
	Limits  Limits
	Require []Promise // it is refused to start when one of them cannot be kept
}

// Limits are for all commands behind the walls, or for each where that cannot
// be had. Zero means none.
type Limits struct {
	Memory    int64 // bytes
	Processes int
	FileSize  int64 // bytes
	Temp      int64 // bytes in the temporary directory
	CPUs      float64
	CPUTime   time.Duration // of each process
}

// Scratch is how much may lie in directories in memory where Memory is kept: no
// killing gives that back, so what runs has to have the rest. Zero means any.
func (l Limits) Scratch() int64 {
	if l.Memory <= 0 {
		return l.Temp
	}
	const agent = 64 << 20 // and a little more than that
	most := max(min(l.Memory/4*3, l.Memory-agent), l.Memory/4)
	if l.Temp <= 0 {
		return most
	}
	return min(l.Temp, most)
}

// A Link is the way to an agent: what is written goes to its stdin, what is
// read is its stdout. Closing it ends the agent and all that it has started,
// and returns when they are gone.
type Link interface {
	io.ReadWriteCloser
	Holds() []Promise
	// Describe is one line for a person.
	Describe() string
}
