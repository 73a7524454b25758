//go:build unix

package seatbelt

import "syscall"

// ownGroup puts the agent into its own process group, so that signals of the server's terminal do not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
