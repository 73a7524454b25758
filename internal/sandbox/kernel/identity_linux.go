package kernel

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the user of commands if the server runs as root.
const nobody = 65534

// An identity is the user of commands: as seen by the server, and as seen by the
// commands themselves.
type identity struct {
	outsideUID, outsideGID int
	uid, gid               int
	// realRoot reports that the files of root belong to commands, and only their
	// root directory keeps them away.
	realRoot bool
}

// identities caches users and their groups.
type identities struct {
	mu    sync.Mutex
	swaps map[[4]int]*os.File // user namespaces that map one owner to another
}

// commandIdentity returns the default identity of commands.
func commandIdentity() (identity, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		return identity{outsideUID: uid, outsideGID: gid, uid: uid, gid: gid}, nil
	}
	outside, count, err := rootOutside()
	if err != nil {
		return identity{}, err
	}
	if count > nobody {
		return identity{outsideUID: nobody, outsideGID: nobody, uid: nobody, gid: nobody}, nil
	}
	// Root in a user namespace, as in a container without rights: commands are the
	// same user as the server, as they are for a server that is not root.
	return identity{outsideUID: 0, outsideGID: 0, uid: nobody, gid: nobody, realRoot: outside == 0}, nil
}

// rootOutside returns the ID of user 0 outside the namespace of this process, and the
// number of mapped users.
func rootOutside() (outside, count int64, err error) {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for {
		var inside int64
		if _, err := fmt.Fscan(f, &inside, &outside, &count); err != nil {
			return 0, 0, fmt.Errorf("/proc/self/uid_map: %w", err)
		}
		if inside == 0 {
			return outside, count, nil
		}
	}
}

// namespaced returns attributes of a process in a new user namespace with only this identity.
func (id identity) namespaced(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags:  flags | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id.uid, HostID: id.outsideUID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id.gid, HostID: id.outsideGID, Size: 1}},
		AmbientCaps: []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP,
			unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER,
		},
	}
	if id.outsideUID != os.Geteuid() {
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
	}
	return attr
}

// plain returns attributes of a process with this identity and no namespace.
func (id identity) plain() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	if id.outsideUID != os.Geteuid() {
		attr.Credential = &syscall.Credential{Uid: uint32(id.outsideUID), Gid: uint32(id.outsideGID)}
		attr.AmbientCaps = []uintptr{unix.CAP_SETPCAP}
	}
	return attr
}

// swap returns a user namespace that swaps two users and two groups, so that the files
// of one appear to belong to the other.
func (l *Launcher) swap(ownerUID, ownerGID int, id identity) (*os.File, error) {
	key := [4]int{ownerUID, ownerGID, id.outsideUID, id.outsideGID}
	l.ids.mu.Lock()
	defer l.ids.mu.Unlock()
	if f := l.ids.swaps[key]; f != nil {
		return f, nil
	}
	cmd := exec.Command(self(), StageArg, holdArg)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: swapped(ownerUID, id.outsideUID),
		GidMappings: swapped(ownerGID, id.outsideGID),
		Setsid:      true,
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a user namespace: %w", err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	closeAll(stdin)
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		return nil, err
	}
	if l.ids.swaps == nil {
		l.ids.swaps = map[[4]int]*os.File{}
	}
	l.ids.swaps[key] = f
	return f, nil
}

// swapped returns a mapping that swaps two IDs and keeps all others.
func swapped(a, b int) []syscall.SysProcIDMap {
	const end = 1<<32 - 1
	if a == b {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: end}}
	}
	low, high := min(a, b), max(a, b)
	all := []syscall.SysProcIDMap{
		{ContainerID: low, HostID: high, Size: 1}, {ContainerID: high, HostID: low, Size: 1},
	}
	for _, r := range [][2]int{{0, low}, {low + 1, high}, {high + 1, end}} {
		if r[0] < r[1] {
			all = append(all, syscall.SysProcIDMap{ContainerID: r[0], HostID: r[0], Size: r[1] - r[0]})
		}
	}
	return all
}

func closeAll(files ...io.Closer) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
