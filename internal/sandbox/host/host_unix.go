//go:build unix

package host

import "syscall"

// apart gives the agent a process group of its own: what is typed at the
// server's terminal is not for it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func root() string { return "/" }

// bare is the environment of the agent. Commands get nothing of it.
func bare() []string { return []string{} }
