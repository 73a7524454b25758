//go:build unix

package host

import "syscall"

// ownGroup puts the agent into its own process group, so that signals of the server's
// terminal do not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func root() string { return "/" }

// bare returns the environment of the agent. Commands do not inherit it.
func bare() []string { return []string{} }
