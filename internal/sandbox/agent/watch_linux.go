package agent

import (
	"bytes"
	"sync"
	"time"
)

const (
	// soon is the interval between two measurements of growing processes.
	soon = 25 * time.Millisecond
	// late is the interval for other processes.
	late = 100 * time.Millisecond
	// share limits the time spent on measuring to one part in this many.
	share = 20
)

// A watch measures the resource use of commands, as long as some have limits.
type watch struct {
	processTable *processTable

	mu       sync.Mutex
	timer    *time.Timer // nil until the first command
	armed    bool
	pause    time.Duration
	watched  map[*command]bool
	previous usage
}

// usage is the resource use of processes.
type usage struct {
	memory    int64
	processes int
}

// follow starts to watch a command that has limits.
func (t *processTable) follow(c *command) {
	if c.spec.Limits.Memory <= 0 && c.spec.Limits.Processes <= 0 {
		return
	}
	w := t.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched[c] = true
	if w.armed && w.pause <= soon {
		return
	}
	w.arm(soon)
}

func (w *watch) arm(d time.Duration) {
	w.armed, w.pause = true, d
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.tick)
		return
	}
	w.timer.Reset(d)
}

// tick measures once, and schedules the next measurement.
func (w *watch) tick() {
	begun := time.Now()
	w.mu.Lock()
	list := make([]*command, 0, len(w.watched))
	for c := range w.watched {
		if !w.processTable.has(c) {
			delete(w.watched, c)
			continue
		}
		list = append(list, c)
	}
	w.armed = len(list) > 0
	w.mu.Unlock()
	var sum usage
	for _, c := range list {
		t := w.processTable.measure(c)
		c.observe(t.memory, t.processes)
		sum.memory += t.memory
		sum.processes += t.processes
	}
	cost := time.Since(begun)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.watched) == 0 {
		w.armed = false
		return
	}
	next := min(2*w.pause, late)
	if sum.memory > w.previous.memory+w.previous.memory/8 || sum.processes > w.previous.processes {
		next = soon
	}
	w.previous = sum
	w.arm(max(next, min(share*cost, 5*late)))
}

// has reports whether a command still has processes.
func (t *processTable) has(c *command) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marks[c.mark] == c
}

// measure returns the resource use of the processes of a command. It first counts
// shared pages for each process; only if that exceeds the limit it measures exactly.
func (t *processTable) measure(c *command) usage {
	if t.alone() {
		return usage{}
	}
	var sum usage
	roots, unmarked, _ := t.roots(c)
	t.mu.Lock()
	for _, pid := range unmarked {
		if t.adopted[pid] == c {
			roots = append(roots, pid)
		}
	}
	t.mu.Unlock()
	all := members(roots, c.spec.Limits.Processes, func(_ int, p process) { sum.memory += p.resident })
	sum.processes = len(all)
	if c.spec.Limits.Memory > 0 && sum.memory > c.spec.Limits.Memory {
		sum.memory = 0
		for _, pid := range all {
			sum.memory += own(pid)
		}
	}
	return sum
}

// own returns the proportional memory use of a process, without pages that can be
// read again from a file.
func own(pid int) int64 {
	var buf [4096]byte
	text, err := read(procPath(pid, "/smaps_rollup"), buf[:])
	if err == nil && len(text) > 0 {
		return 1024 * (field(text, "Pss_Anon:") + field(text, "Pss_Shmem:"))
	}
	text, err = read(procPath(pid, "/status"), buf[:])
	if err != nil {
		return 0
	}
	return 1024 * (field(text, "RssAnon:") + field(text, "RssShmem:"))
}

// field returns the value of a field in kB.
func field(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if parts := bytes.Fields(rest); len(parts) > 0 {
				return int64(number(parts[0]))
			}
		}
	}
	return 0
}
