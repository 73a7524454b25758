package kernel

import (
	"errors"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
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
	fileRead  = ll.AccessFSReadFile | ll.AccessFSExecute
	fileWrite = ll.AccessFSWriteFile | ll.AccessFSTruncate
	anyFile   = fileRead | fileWrite | ll.AccessFSIoctlDev

	treeRead  = fileRead | ll.AccessFSReadDir
	treeWrite = treeRead | fileWrite | ll.AccessFSRefer | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym

	device = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSReadDir | ll.AccessFSIoctlDev
	// processes are the rights in /proc, including the few settings of themselves
	// that processes write there.
	processes = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile

	handled = treeWrite | ll.AccessFSIoctlDev | ll.AccessFSMakeChar | ll.AccessFSMakeBlock
)

// A grant gives rights to a path and everything below it.
type grant struct {
	Path   string
	Access landlock.AccessFSSet
}

// landlockVersion returns the supported version, 0 for none.
func landlockVersion() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return min(v, landlockKnown)
}

// confine restricts this process and the programs it executes to the grants. A
// path that does not exist is skipped.
func confine(version int, cut bool, grants []grant) error {
	c := landlock.Config{HandledAccessFS: handled}
	if version < landlockDevices {
		c.HandledAccessFS &^= ll.AccessFSIoctlDev
	}
	if cut && version > landlockTruncates {
		c.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if version >= landlockScopes {
		c.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	var rules []landlock.Rule
	for _, g := range grants {
		info, err := os.Stat(g.Path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		access := g.Access & c.HandledAccessFS
		if !info.IsDir() {
			access &= anyFile
		}
		rules = append(rules, landlock.PathAccess(access, g.Path))
	}
	return c.Restrict(rules...)
}
