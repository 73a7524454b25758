package document

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watch calls over when this process, the programs that it has started and their files in
// memory take more than most bytes together. The limit of each process acts faster, but knows
// only the one.
func watch(ctx context.Context, temp string, most int64, over func()) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if resident()+inMemory(temp) > most {
				over()
				return
			}
		}
	}
}

// resident returns the memory of this process and its descendants, without memory shared with
// files.
func resident() (sum int64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	parents := make(map[int]int)
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parents[pid] = parentOf(e.Name())
		}
	}
	for pid := range parents {
		for at := pid; at > 0; at = parents[at] {
			if at == os.Getpid() {
				sum += ownMemory(strconv.Itoa(pid))
				break
			}
		}
	}
	return sum
}

// parentOf returns the parent of a process; 0 if it has ended.
func parentOf(pid string) int {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	end := bytes.LastIndex(text, []byte(") ")) // of the name; the name may contain anything
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

// ownMemory returns the bytes of a process that it does not share.
func ownMemory(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0
	}
	all, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (all - shared) * int64(os.Getpagesize())
}

// inMemory returns the bytes of the files in a directory that is in memory.
func inMemory(dir string) int64 {
	var fs unix.Statfs_t
	if os.Getpid() != 1 || unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC {
		return 0 // outside of a sandbox others have files there too
	}
	return int64(fs.Blocks-fs.Bfree) * int64(fs.Bsize)
}
