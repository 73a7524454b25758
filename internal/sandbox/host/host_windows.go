package host

import (
	"os"
	"syscall"
)

// ownGroup puts the agent into its own group, so that Ctrl-C does not reach it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func root() string { return "" }

// bare returns the environment of the agent: the variables that every program needs.
func bare() []string { return []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")} }
