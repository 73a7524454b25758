package docker

import (
	"os"
	"strconv"
	"strings"
)

// thisMachine identifies the current boot of the machine and the PID namespace.
func thisMachine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "." + strings.Trim(strings.TrimPrefix(space, "pid:"), "[]")
}

// started returns the start time of a process; "" if it does not run.
func started(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The program name before the last parenthesis may contain any characters.
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest)
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}
