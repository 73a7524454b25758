// Package sandbox describes the places for commands: isolated, or on the host.
//
// There is one way to run a command. The server starts a small agent, this program again, in
// the sandbox. The agent starts commands, forwards their output, kills them with all their
// descendants, and ends everything when the server has ended. A [Launcher] starts the agent:
// kernel (namespaces, Landlock, seccomp), docker (a container) or host (no isolation). Package
// wire is the protocol, box is the server's side, agent the other side, and commands chooses
// the sandbox of each caller.
//
// This package holds their common types. It does not know the meaning of commands.
package sandbox

import (
	"context"
	"io"
	"net/netip"
	"time"
)

// A Launcher starts agents in one kind of sandbox: containers, the kernel's isolation, or the host without any. A new
// kind is a package with a Launcher, and one line where the launchers of the settings are listed; [Tiers.Choose] does
// the rest. All commands of one sandbox run through its one agent.
type Launcher interface {
	// Name returns kubernetes, docker, kernel, seatbelt or host.
	Name() string
	// Probe tests whether it works here. It may take a second.
	Probe(ctx context.Context) ProbeResult
	// Layout returns where commands see the directories.
	Layout(d Directories) Layout
	// Launch starts an agent. The result lives until it is closed; this ends all commands in
	// the sandbox; ctx bounds the start only.
	Launch(ctx context.Context, w Spec) (Link, error)
}

// A ProbeResult is the result of a Probe.
type ProbeResult struct {
	Works      bool
	Guarantees []Guarantee // the guarantees of the sandbox on this machine
	Proxy      bool        // commands can reach hosts through a proxy
	Text       string      // one line for the operator: the working and the missing parts
	Advice     string      // advice to the operator; "" for nothing
}

// A Guarantee is something that a sandbox can guarantee.
type Guarantee string

// The guarantees.
const (
	Files     Guarantee = "files"     // only the permitted paths are read or changed
	Network   Guarantee = "network"   // no other host is reached
	Processes Guarantee = "processes" // other processes are not visible, and none outlives the sandbox
	Memory    Guarantee = "memory"    // all commands together stay within the limit
	Calls     Guarantee = "calls"     // system calls that ordinary programs never need are refused
)

// Directories are the directories of this machine that a caller's commands work
// on. All paths are absolute and have no symbolic links.
type Directories struct {
	Dir    string // the workspace
	Roots  []Root
	Hidden []string // files and directories that commands must not see
	Locked []string // files and directories that commands must not change; those within Hidden are left out
	// Covered identifies the files in Hidden and Locked. It changes when one of them is
	// replaced by another file of the same name: no open sandbox covers the new file.
	Covered string
}

// A Root is a directory beside the workspace. Its name is unique.
type Root struct {
	Name  string
	Path  string
	Write bool
}

// A Layout maps paths of this machine to paths in the sandbox.
type Layout struct {
	Binds []Bind
	Home  string // an empty directory that commands may write to; "" for none
	// HomeIsTemp means that Home is their only directory for temporary files too.
	HomeIsTemp bool
	Shown      []string // directories of this machine that commands see in any case
	Image      bool     // programs come from an image, not from this machine
}

// A Bind makes a file or directory visible in the sandbox.
type Bind struct {
	Host   string
	Inside string
	Write  bool
	// NoLinks disables symbolic links in it: other commands may have created links
	// to mislead a program with credentials. A container supports this only if the
	// server has the right to mount.
	NoLinks bool
}

// A HostState is the state of a machine that sandboxes are started on.
type HostState struct {
	Name      string `json:"host"`
	Tier      string `json:"tier"`
	Sandboxes int    `json:"sandboxes"`         // of all servers
	Free      int64  `json:"free_memory"`       // bytes that no sandbox may use; 0 if it is not known
	Problem   string `json:"problem,omitempty"` // why it cannot be used
}

// A Fleet is a Launcher with machines to choose from.
type Fleet interface {
	Launcher
	Hosts(ctx context.Context) []HostState
}

// Spec is the specification of a sandbox: the files, the network and the limits of an agent and its commands.
type Spec struct {
	ID      string // random; used in the names of containers, cgroups and directories
	Owner   string // the principal, for labels
	Session string // of the caller, for operators; "" for programs of the server
	Binds   []Bind
	Hidden  []string // paths of this machine within binds that commands must not see
	Locked  []string // paths of this machine within binds that commands must not change
	Home    string   // Layout.Home; created for this sandbox, and removed with it
	Proxy   string   // socket of a proxy on this machine, the only access to the network; "" for none
	// Forward are addresses within the sandbox that lead to hosts through the proxy, for programs that do not speak to a
	// proxy (kernel only). An address that cannot be used is left out.
	Forward []Forward
	Open    bool // use the network of this machine (host only)
	// Nested lets programs create namespaces of users, processes and networks, for a sandbox of their own such as
	// Chromium's. The launch fails where they cannot (kernel only).
	Nested  bool
	Limits  Limits
	Require []Guarantee // the launch fails if one of them is not guaranteed
	// Child are the arguments of this program to start it with in place of an agent. The Link
	// is its stdin and stdout. Only kernel and host start it.
	Child []string
}

// A Forward is an address within a sandbox that leads to a host.
type Forward struct {
	Listen netip.AddrPort
	To     string // host:port
	Name   string // the name of the host, with the address Listen in the sandbox; "" if To has an address
}

// Limits apply to all commands of a sandbox together, or to each where that is not
// possible. Zero means no limit.
type Limits struct {
	Memory    int64 // bytes
	Processes int
	FileSize  int64         // bytes
	Temp      int64         // bytes in the temporary directory
	CPUTime   time.Duration // of each process
}

// Scratch returns the size limit of directories in memory if Memory is enforced.
// Killing processes does not free their contents, so some memory must remain for
// processes. Zero means no limit.
func (l Limits) Scratch() int64 {
	if l.Memory <= 0 {
		return l.Temp
	}
	const agent = 64 << 20 // upper bound of the memory of the agent
	most := max(min(l.Memory/4*3, l.Memory-agent), l.Memory/4)
	if l.Temp <= 0 {
		return most
	}
	return min(l.Temp, most)
}

// A Link is the connection to an agent: it writes to stdin and reads stdout of the
// agent. Close ends the agent and all its descendants, and returns when they have
// ended.
type Link interface {
	io.ReadWriteCloser
	Guarantees() []Guarantee
}

// A Proxied is a Link to a sandbox whose commands reach the proxy at an address of its own, in place of [ProxyURL].
type Proxied interface {
	Link
	ProxyURL() string
}

// A Carrier is a Link to a machine that has neither the files nor the sockets of this one. Package box copies files over the link, and
// connects commands to the proxy.
type Carrier interface {
	Link
	Carries() Carried
}

// Carried lists the directories that a link carries to another machine.
type Carried struct {
	Host   string // the other machine, for messages
	Binds  []Bind // to be copied before each command, and back after it
	Hidden []string
	Locked []string
	Proxy  string // socket of the proxy here; "" for none
}
