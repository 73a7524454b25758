package telemetry

import (
	"bytes"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of times in /proc, the same on every Linux that
// Go runs on.
const ticksPerSecond = 100

// goRuntime writes what the runtime knows of itself. The package
// runtime/metrics would not stop the world for an instant as ReadMemStats does,
// but makes every start of the program longer, and scrapes are few.
func (p *page) goRuntime() {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	p.single("go_goroutines", gaugeType, "Goroutines that exist now.", float64(runtime.NumGoroutine()))
	p.single("go_memstats_heap_alloc_bytes", gaugeType, "Bytes of the heap that are in use.", float64(memory.HeapAlloc))
}

// process writes what the system knows of this process. Where there is no
// /proc as Linux has it, what cannot be known is left out.
func (p *page) process(proc fs.FS) {
	stat, known := readStat(proc)
	if known {
		p.single("process_cpu_seconds_total", counterType, "Processor time used, by the user and the system.", stat.cpu)
	}
	if files, err := fs.ReadDir(proc, "self/fd"); err == nil {
		// One of them is the directory itself, which is closed again.
		p.single("process_open_fds", gaugeType, "File descriptors that are open.", float64(len(files)-1))
	}
	if !known {
		return
	}
	p.single("process_resident_memory_bytes", gaugeType, "Bytes of memory that the process occupies.", stat.resident)
	if booted, ok := readBoot(proc); ok {
		p.single("process_start_time_seconds", gaugeType, "When the process began, in seconds since 1970.", booted+stat.started)
	}
}

// stat is a part of what /proc/self/stat says.
type stat struct {
	cpu      float64 // seconds
	started  float64 // seconds after the system
	resident float64 // bytes
}

func readStat(proc fs.FS) (stat, bool) {
	text, err := fs.ReadFile(proc, "self/stat")
	if err != nil {
		return stat{}, false
	}
	// The name of the program comes second, in parentheses, and may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return stat{}, false
	}
	var n [4]float64
	for i, field := range [...]int{11, 12, 19, 21} { // numbered from the state of the process on
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

// readBoot returns when the system began, in seconds since 1970.
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
