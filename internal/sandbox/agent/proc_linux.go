package agent

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A process holds the fields of /proc/PID/stat that the agent needs.
type process struct {
	parent   int
	session  int
	resident int64 // bytes
	alive    bool  // not a zombie
	asleep   bool  // neither running nor waiting for a disk
}

// read reads a file in /proc, up to the length of into.
func read(path string, into []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(into) {
		m, err := unix.Read(fd, into[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || m <= 0 {
			return into[:n], err
		}
		n += m
	}
	return into, nil
}

func procPath(pid int, rest string) string { return "/proc/" + strconv.Itoa(pid) + rest }

// look reads /proc/PID/stat.
func look(pid int) (process, bool) {
	var buf [1024]byte
	text, err := read(procPath(pid, "/stat"), buf[:])
	if err != nil {
		return process{}, false
	}
	return parseStat(text)
}

// parseStat parses the text of stat. The name of the program, in parentheses, may
// contain any characters.
func parseStat(text []byte) (process, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return process{}, false
	}
	fields := bytes.Fields(text[i+1:])
	const state, parent, session, threads, resident = 0, 1, 3, 17, 21
	if len(fields) <= resident {
		return process{}, false
	}
	p := process{
		parent:   number(fields[parent]),
		session:  number(fields[session]),
		resident: int64(number(fields[resident])) * int64(os.Getpagesize()),
	}
	dead := fields[state][0] == 'Z' || fields[state][0] == 'X'
	p.alive = !dead || number(fields[threads]) > 1 // a zombie with more threads: only its main thread has ended
	p.asleep = fields[state][0] == 'S' || fields[state][0] == 'T'
	return p, true
}

func number(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}

// starting reports whether a child has not executed its program yet.
func starting(pid int) bool {
	theirs, err := os.Readlink(procPath(pid, "/exe"))
	if err != nil {
		return true
	}
	ours, err := os.Readlink("/proc/self/exe")
	return err == nil && ours == theirs
}

// children returns the children of a process. It may miss children that start or end at the
// same time: call it again to be sure.
func children(pid int) []int {
	threads, err := os.ReadDir(procPath(pid, "/task"))
	if err != nil {
		return nil
	}
	var all []int
	buf := make([]byte, 4096)
	for _, thread := range threads {
		path := procPath(pid, "/task/"+thread.Name()+"/children")
		text, err := read(path, buf)
		for err == nil && len(text) == len(buf) { // there may be more
			buf = make([]byte, 4*len(buf))
			text, err = read(path, buf)
		}
		if err == unix.ENOENT && pid == unix.Getpid() && thread.Name() == strconv.Itoa(pid) {
			return childrenByParent(pid)
		}
		for _, f := range bytes.Fields(text) {
			all = append(all, number(f))
		}
	}
	return all
}

// childrenByParent returns the children on kernels without /proc/PID/task/TID/children.
func childrenByParent(parent int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok && p.parent == parent {
			all = append(all, pid)
		}
	}
	return all
}

// livingTree returns the living processes among roots and all their descendants. It
// stops when there are more than most; 0 means no limit.
func livingTree(roots []int, most int) []int {
	return members(roots, most, nil)
}

// members works like livingTree, and calls tell for each process.
func members(roots []int, most int, tell func(pid int, p process)) []int {
	seen := map[int]bool{}
	var living []int
	queue := append([]int(nil), roots...)
	for len(queue) > 0 && (most == 0 || len(living) <= most) {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		p, ok := look(pid)
		if !ok || !p.alive {
			continue // and so has no children
		}
		living = append(living, pid)
		if tell != nil {
			tell(pid, p)
		}
		queue = append(queue, children(pid)...)
	}
	return living
}

// take reads from a stream. A byte is in the stream or in the count at every moment, also
// while the system runs something else.
func (c *command) take(s stream, to []byte) (n int, err error) {
	conn, err := s.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	waited := conn.Read(func(fd uintptr) bool {
		c.taking.Lock()
		defer c.taking.Unlock()
		for n, err = unix.Read(int(fd), to); errors.Is(err, unix.EINTR); {
			n, err = unix.Read(int(fd), to)
		}
		n = max(n, 0)
		c.read.Add(int64(n))
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case waited != nil: // the end of a deadline, or of the file
		return 0, waited
	case n == 0 && err == nil:
		return 0, io.EOF
	}
	return n, err
}

// buffered returns how many bytes can be read from a pipe or terminal at once; 0 if
// that is not known.
func buffered(f *os.File) (n int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) { // of a closed file
		n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	})
	return max(n, 0)
}
