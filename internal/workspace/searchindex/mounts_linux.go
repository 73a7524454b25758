package searchindex

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A mountTable lists the file systems below a root. Mounting causes no event of a
// directory, so the table must be checked.
type mountTable struct {
	file *os.File // /proc/self/mountinfo; it can be polled for changes
	root string
	all  []mountPoint
}

// A mountPoint is one mounted file system.
type mountPoint struct {
	dir    string // relative to the root
	id     string // of the device
	events bool   // every change causes an event
}

// readMounts reads the mounts below a root.
func readMounts(r *root.Root) (*mountTable, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, errors.Join(errNoEvents, err)
	}
	m := &mountTable{file: file, root: rootPath(r)}
	text, err := m.read()
	if err == nil {
		m.all = parseMounts(text, m.root)
	}
	if err != nil || len(m.all) == 0 {
		return nil, errors.Join(errNoEvents, err, file.Close())
	}
	return m, nil
}

func (m *mountTable) close() error { return m.file.Close() }

func (m *mountTable) read() ([]byte, error) {
	const most = 16 << 20
	if _, err := m.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(m.file, most))
	if err == nil && len(text) == most {
		err = fmt.Errorf("the list of mounts has more than %d bytes", most)
	}
	return text, err
}

// changed reports whether the mounts have changed since they were read.
func (m *mountTable) changed() bool {
	if m == nil {
		return false
	}
	set := []unix.PollFd{{Fd: int32(m.file.Fd()), Events: unix.POLLPRI}}
	if n, err := unix.Poll(set, 0); err == nil && n == 0 {
		return false
	}
	text, err := m.read()
	return err != nil || !slices.Equal(parseMounts(text, m.root), m.all)
}

// trusted reports whether everything in v causes events.
func (m *mountTable) trusted(v *view) bool {
	for _, on := range m.all {
		// The events of a file under a mount point go to its real directory.
		if v.hasDir(on.dir) && !on.events || v.hasFile(split(on.dir)) {
			return false
		}
	}
	return true
}

// reliable reports whether all file systems below the root cause events.
func (m *mountTable) reliable() bool {
	return !slices.ContainsFunc(m.all, func(on mountPoint) bool { return !on.events })
}

// parseMounts returns the mount that contains top, and the mounts below top.
func parseMounts(text []byte, top string) []mountPoint {
	on, longest := mountPoint{dir: "."}, -1
	var all []mountPoint
	for line := range bytes.Lines(text) {
		// id, parent, device, root, mount point, options, ..., "-", type, ...
		before, after, ok := strings.Cut(string(line), " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 {
			continue
		}
		kind, _, _ := strings.Cut(after, " ")
		at, next := unescape(fields[4]), mountPoint{id: fields[2] + fields[3], events: causesEvents(kind)}
		switch {
		case at != top && strings.HasPrefix(at, strings.TrimSuffix(top, "/")+"/"):
			next.dir = at[len(strings.TrimSuffix(top, "/"))+1:]
			all = append(all, next)
		case (at == "/" || at == top || strings.HasPrefix(top, at+"/")) && len(at) >= longest:
			next.dir = "."
			longest, on = len(at), next
		}
	}
	if longest < 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b mountPoint) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.id, b.id))
	})
	return append([]mountPoint{on}, all...)
}

// unescape reverses the kernel's octal escapes.
func unescape(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+4 > len(s) {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
			b.WriteByte(byte(c))
		}
		s = s[i+4:]
	}
}

// causesEvents reports whether all changes on a type of file system cause events. A network
// file system reports none for changes by other machines.
func causesEvents(kind string) bool {
	switch kind {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "jfs", "nilfs2", "tmpfs", "overlay",
		"squashfs", "erofs", "iso9660":
		return true
	}
	return false
}

// rootPath returns the path of a root without links.
func rootPath(r *root.Root) string {
	if place, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(r.FD())); err == nil {
		return place
	}
	return absolute(r.Path())
}
