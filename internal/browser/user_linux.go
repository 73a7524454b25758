package browser

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// User IDs that most distributions leave unassigned. If the server runs as root, each
// browser runs as one of them.
const (
	firstUser  = 60578
	users      = 606
	nobodyUser = 65534
)

// An identity is the user that a browser runs as.
type identity struct {
	uid, gid uint32
	switched bool // not the user of this process
}

func currentUser() identity { return identity{uint32(os.Geteuid()), uint32(os.Getegid()), false} }

// assignUser returns the user for a browser and makes it the owner of its home.
func (p *directories) assignUser() (identity, error) {
	if os.Geteuid() != 0 {
		return currentUser(), nil
	}
	if err := checkReachable(p.root); err != nil {
		return identity{}, err
	}
	user, err := unusedUser()
	if err != nil {
		return identity{}, err
	}
	return identity{user, user, true}, filepath.WalkDir(p.home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(user), int(user))
	})
}

// checkReachable returns an error if other users cannot enter a directory.
func checkReachable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("the browser, which does not run as root, cannot enter %s; choose another directory",
				at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// unusedUser returns a user without processes.
func unusedUser() (uint32, error) {
	taken, err := usersInUse()
	if err != nil {
		return 0, err
	}
	from := rand.IntN(users)
	for i := range users {
		user := uint32(firstUser + (from+i)%users)
		if !taken[user] && userMapped(user) {
			return user, nil
		}
	}
	if userMapped(nobodyUser) {
		return nobodyUser, nil
	}
	return 0, tool.Errorf(tool.Unavailable, "the server runs as root, and there is no unused user for the browser").
		Try("use web_fetch; the operator can run the server as another user")
}

// usersInUse returns the users with processes.
func usersInUse() (map[uint32]bool, error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	taken := make(map[uint32]bool)
	for _, entry := range all {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &stat) == nil {
			taken[stat.Uid] = true
		}
	}
	return taken, nil
}

// userMapped reports whether a user exists in the user namespace of this process.
func userMapped(user uint32) bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		var inside, outside, count uint64
		if _, err := fmt.Fscan(f, &inside, &outside, &count); err != nil {
			return false
		}
		if uint64(user) >= inside && uint64(user) < inside+count {
			return true
		}
	}
}
