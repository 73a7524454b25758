package host

import (
	"os"
	"syscall"
)

// apart keeps what is typed at the server's terminal from the agent.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func root() string { return "" }

// bare is the environment of the agent: what no program can start without.
func bare() []string { return []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")} }
