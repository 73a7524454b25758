package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Sweep kills the processes with the mark of a killed agent: a command without isolation can
// kill its agent. The server calls it, not the agent.
func Sweep(mark string) {
	for range 20 {
		found := marked(mark)
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(found) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// marked returns the processes of this machine that have a mark.
func marked(mark string) []int {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []int
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(markName+"="+mark)) {
			found = append(found, pid)
		}
	}
	return found
}
