package docker

import (
	"os"
	"runtime"
	"strconv"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// nobody is the user of commands if the server and the workspace belong to root.
const nobody = 65534

// A user is the user of commands in a container.
type user struct {
	uid, gid int
	shift    map[int]bool // binds of root whose owner must be swapped
}

func (u user) String() string { return strconv.Itoa(u.uid) + ":" + strconv.Itoa(u.gid) }

// chooseUser chooses the user. Commands never run as root of the host. They run as the
// user of the server or of the workspace, so that new files have the right owner.
func chooseUser(e *engine, f facts, p plan) (user, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	switch {
	case f.rootless && e.local:
		return user{}, nil // root in the container is the unprivileged user of the engine
	case runtime.GOOS != "linux":
		if uid <= 0 {
			uid, gid = 1000, 1000 // the engine's virtual machine translates owners
		}
		return user{uid: uid, gid: gid}, nil
	case uid != 0:
		return user{uid: uid, gid: notRoot(gid)}, nil
	case p.copies:
		return user{uid: nobody, gid: nobody}, nil // files get their owner when they come back
	}
	return chooseUserForRoot(e, p.Spec)
}

func chooseUserForRoot(e *engine, w sandbox.Spec) (user, error) {
	u := user{uid: nobody, gid: nobody, shift: map[int]bool{}}
	chosen := false
	for i, b := range w.Binds {
		st, err := os.Stat(b.Host)
		if err != nil {
			if !e.local {
				continue
			}
			return user{}, unavailable("the directory of %s is not there", b.Inside).Because(err)
		}
		uid, gid := ownerOf(st)
		switch {
		case uid == 0 && e.local:
			u.shift[i] = true
		case uid == 0 && b.Write:
			return user{}, tool.Errorf(tool.Unavailable,
				"the directory of %s belongs to root, and commands never run as root", b.Inside).
				Try("ask the operator to give it to another user, or to use a docker engine on this machine")
		case uid != 0 && b.Write && !chosen:
			chosen = true
			u.uid, u.gid = uid, notRoot(gid)
		}
	}
	return u, nil
}

func notRoot(gid int) int {
	if gid == 0 {
		return nobody
	}
	return gid
}
