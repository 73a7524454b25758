package telemetry

import (
	"bytes"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of times in /proc, on every Linux that Go supports.
const ticksPerSecond = 100

// goRuntime writes metrics of the Go runtime. Package runtime/metrics would not stop the world,
// but makes every start of the program longer, and scrapes are rare.
func (p *page) goRuntime() {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	p.single("go_goroutines", gaugeType, "Number of goroutines.", float64(runtime.NumGoroutine()))
	p.single("go_memstats_heap_alloc_bytes", gaugeType, "Bytes of heap memory in use.", float64(memory.HeapAlloc))
}

// process writes metrics of this process. It leaves out what the system does not provide, for
// example without /proc.
func (p *page) process(proc fs.FS) {
	stat, known := readStat(proc)
	if known {
		p.single("process_cpu_seconds_total", counterType, "User and system CPU time in seconds.", stat.cpu)
	}
	if files, err := fs.ReadDir(proc, "self/fd"); err == nil {
		// One of them is the directory itself, which is closed again.
		p.single("process_open_fds", gaugeType, "Number of open file descriptors.", float64(len(files)-1))
	}
	if !known {
		return
	}
	p.single("process_resident_memory_bytes", gaugeType, "Resident memory in bytes.", stat.resident)
	if booted, ok := readBoot(proc); ok {
		p.single("process_start_time_seconds", gaugeType, "Start time of the process in seconds since 1970.",
			booted+stat.started)
	}
}

// stat is a part of /proc/self/stat.
type stat struct {
	cpu      float64 // seconds
	started  float64 // seconds after the start of the system
	resident float64 // bytes
}

func readStat(proc fs.FS) (stat, bool) {
	text, err := fs.ReadFile(proc, "self/stat")
	if err != nil {
		return stat{}, false
	}
	// The second field is the name of the program in parentheses, which may have any characters.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return stat{}, false
	}
	var n [4]float64
	for i, field := range [...]int{11, 12, 19, 21} { // counted from the field after the name
		if n[i], err = strconv.ParseFloat(fields[field], 64); err != nil {
			return stat{}, false
		}
	}
	return stat{
		cpu:      (n[0] + n[1]) / ticksPerSecond,
		started:  n[2] / ticksPerSecond,
		resident: n[3] * float64(os.Getpagesize()),
	}, true
}

// readBoot returns the start time of the system in seconds since 1970.
func readBoot(proc fs.FS) (seconds float64, ok bool) {
	text, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "btime "); found {
			seconds, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
			return seconds, err == nil
		}
	}
	return 0, false
}
