package child

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitData bounds the memory that the process can write to, beyond what it has already: a build with the
// race detector has much. Addresses without memory do not count: the runtime reserves many.
func limitData(bytes int64) error {
	limit := uint64(bytes + dataSize())
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}

// dataSize returns the size of the memory that this process can write to, or 0 if it is not known.
func dataSize() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nVmData:")
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	return kilobytes << 10
}

func lowerPriority() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 10) }
