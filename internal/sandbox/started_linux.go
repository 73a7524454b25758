package sandbox

import (
	"os"
	"strconv"
	"strings"
)

// StartTime returns the start time of a process of this machine; "" if the process does not
// run. It distinguishes the process from a later one with the same ID.
func StartTime(pid int) string {
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
