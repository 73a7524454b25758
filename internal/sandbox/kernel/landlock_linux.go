package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock versions, by the feature they added.
const (
	landlockTruncates = 3 // the first version that controls truncation
	landlockDevices   = 5
	landlockScopes    = 6 // signals and abstract sockets
	landlockKnown     = 7
)

// The rights for a file, and for a directory and everything below it.
const (
	fileRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fileWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	anyFile   = fileRead | fileWrite | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	treeRead  = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	treeWrite = treeRead | fileWrite | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM

	device = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// processes are the rights in /proc, including the few settings of themselves
	// that processes write there.
	processes = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE

	handled = treeWrite | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// A grant gives rights to a path and everything below it.
type grant struct {
	Path   string
	Access uint64
}

// landlockVersion returns the supported version, 0 for none.
func landlockVersion() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return min(int(v), landlockKnown)
}

// confine restricts the calling thread and the programs it executes to the grants. A
// path that does not exist is skipped.
func confine(version int, cut bool, grants []grant) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	if version < landlockDevices {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if cut && version > landlockTruncates {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= landlockScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	rules, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), attrSize(version), 0)
	if e != 0 {
		return fmt.Errorf("ruleset: %w", e)
	}
	defer unix.Close(int(rules))
	for _, g := range grants {
		if err := grantOne(int(rules), g, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("%s: %w", g.Path, err)
		}
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); e != 0 {
		return fmt.Errorf("restrict: %w", e)
	}
	return nil
}

// attrSize returns the size of the ruleset attributes that a version supports.
func attrSize(version int) uintptr {
	switch {
	case version >= landlockScopes:
		return unsafe.Offsetof(unix.LandlockRulesetAttr{}.Quiet_access_fs)
	case version > landlockTruncates:
		return unsafe.Offsetof(unix.LandlockRulesetAttr{}.Scoped)
	}
	return unsafe.Offsetof(unix.LandlockRulesetAttr{}.Handled_access_net)
}

func grantOne(rules int, g grant, known uint64) error {
	fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access := g.Access & known
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= anyFile
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
