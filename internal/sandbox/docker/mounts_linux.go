package docker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// mounts are temporary mounts for the start of a container if the workspace belongs to root.
// They show the same files, but with root and the container's user exchanged as owners. They
// are removed as soon as the container runs, since it has its own copies of the mounts.
type mounts struct {
	dir  string
	self owner
}

// shifted mounts a file or directory with the IDs of root and the user swapped,
// optionally without following links in it.
func (m mounts) shifted(source string, u user, noLinks bool, id, name string) (at string, err error) {
	ns, err := exchange(u)
	if err != nil {
		return "", fmt.Errorf("making the mapping: %w", err)
	}
	defer ns.Close()
	attr := unix.MountAttr{
		Attr_set:  unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Userns_fd: uint64(ns.Fd()),
	}
	if noLinks {
		attr.Attr_set |= unix.MOUNT_ATTR_NOSYMFOLLOW
	}
	return m.mount(source, &attr, id, name)
}

// straight mounts a file or directory without following links in it.
func (m mounts) straight(source, id, name string) (at string, err error) {
	return m.mount(source, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSYMFOLLOW}, id, name)
}

func (m mounts) mount(source string, attr *unix.MountAttr, id, name string) (at string, err error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, source,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return "", fmt.Errorf("taking the directory: %w", err)
	}
	defer unix.Close(tree)
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return "", fmt.Errorf("setting its attributes: %w", err)
	}
	at, err = m.place(tree, id, name)
	if err != nil {
		return "", err
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		m.clear(id)
		return "", fmt.Errorf("mounting: %w", err)
	}
	return at, nil
}

// place creates the mount point. A process that sees it instead of the mount cannot
// enter it.
func (m mounts) place(tree int, id, name string) (string, error) {
	dir := filepath.Join(m.dir, m.self.file(), id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return "", err
	}
	at := filepath.Join(dir, name)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return at, os.Mkdir(at, 0)
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	return at, f.Close()
}

// clear removes the mounts of one container.
func (m mounts) clear(id string) {
	clearDir(filepath.Join(m.dir, m.self.file(), id))
}

// close removes the directory after the last mount.
func (m mounts) close() { _ = syscall.Rmdir(filepath.Join(m.dir, m.self.file())) }

// clearDir removes mount points. It never removes files within a mount: only empty ones.
func clearDir(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		for unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
		}
		_ = syscall.Unlink(at) // a file, unless it is still mounted
		_ = syscall.Rmdir(at)
	}
	_ = syscall.Rmdir(dir)
}

// sweep removes the mounts of servers that were killed.
func (m mounts) sweep() {
	owners, err := os.ReadDir(m.dir)
	if err != nil {
		return
	}
	for _, o := range owners {
		who, ok := ownerOfFile(o.Name())
		if !ok || who.state() != dead {
			continue
		}
		top := filepath.Join(m.dir, o.Name())
		ids, _ := os.ReadDir(top)
		for _, id := range ids {
			clearDir(filepath.Join(top, id.Name()))
		}
		_ = syscall.Rmdir(top)
	}
}

// exchange returns a user namespace that swaps the IDs of root and the user. Only a process can
// create one, so exchange starts a process that is stopped before its first instruction.
func exchange(u user) (*os.File, error) {
	runtime.LockOSThread() // ptrace requires the same thread
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess("/proc/self/exe", []string{"sandbox-never"}, &os.ProcAttr{
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: swap(u.uid),
			GidMappings: swap(u.gid),
			Ptrace:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	})
	if err != nil {
		return nil, err
	}
	ns, err := os.Open("/proc/" + strconv.Itoa(p.Pid) + "/ns/user")
	return ns, errors.Join(err, p.Kill(), waited(p))
}

func waited(p *os.Process) error {
	_, err := p.Wait()
	return err
}

// swap returns a mapping that swaps 0 and id, and keeps all other IDs.
func swap(id int) []syscall.SysProcIDMap {
	m := []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}, {ContainerID: id, HostID: 0, Size: 1}}
	if id > 1 {
		m = append(m, syscall.SysProcIDMap{ContainerID: 1, HostID: 1, Size: id - 1})
	}
	return append(m, syscall.SysProcIDMap{ContainerID: id + 1, HostID: id + 1, Size: math.MaxInt32 - id - 1})
}
