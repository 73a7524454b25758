package browser

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// prefix is the beginning of the names of browser directories.
const prefix = "mcp-browser-"

// maxHome is the maximum length of the path of their parent: Chromium creates a socket
// among its temporary files, and paths of sockets have at most 103 bytes.
const maxHome = 103 - len("/"+prefix+"12345678/own/t/org.chromium.Chromium.123456/SingletonSocket")

// directories are the directories of one browser. The server holds a lock on them; unlocked ones are left
// over from a crash.
type directories struct {
	home         string // belongs to the browser's user
	profile      string
	temp         string
	downloads    string
	downloadRoot *os.Root // the directory downloads, even if the browser replaces it
	root         string   // contains home and the lock; the browser cannot write to it
	lock         *os.File
}

// newDirectories creates and locks the directories of a browser.
func newDirectories(home string) (_ *directories, err error) {
	if home, err = filepath.EvalSymlinks(home); err != nil { // a sandbox shows the real path
		return nil, err
	}
	if len(home) > maxHome {
		return nil, fmt.Errorf("%s is too long a path; choose a shorter one", home)
	}
	outer := filepath.Join(home, prefix+strings.ToLower(rand.Text()[:8]))
	if err := os.Mkdir(outer, 0o711); err != nil {
		return nil, err
	}
	dir := filepath.Join(outer, "own")
	p := &directories{
		root: outer, home: dir,
		profile: filepath.Join(dir, "profile"), temp: filepath.Join(dir, "t"),
		downloads: filepath.Join(dir, "downloads"),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	if p.lock, err = os.OpenFile(filepath.Join(outer, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if taken, err := private.TryLock(p.lock); err != nil || !taken {
		return nil, errors.Join(err, fmt.Errorf("%s is locked by another process", outer))
	}
	for _, d := range []string{p.home, p.profile, p.temp, p.downloads} {
		if err = os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	if p.downloadRoot, err = os.OpenRoot(p.downloads); err != nil {
		return nil, err
	}
	return p, p.writePreferences()
}

// If the server runs as root, the files of browsers belong to another user. No distribution assigns such high numbers.
const (
	firstUser  = 1 << 30
	users      = 1 << 28
	nobodyUser = 65534
)

// assignUser gives the home, and the socket of the proxy, to a user for the browser if the server is root. It returns the
// user: nobody (65534) in a container without such high user IDs, and otherwise 0. Without a sandbox it is one of this browser
// alone. In a sandbox no browser sees the files of another one, and the sandbox keeps a namespace for each user.
func (p *directories) assignUser(socket string) (int, error) {
	if os.Geteuid() != 0 {
		return 0, nil
	}
	user := firstUser
	if !filepath.IsAbs(socket) {
		user += mathrand.IntN(users)
	}
	if os.Chown(p.home, user, user) != nil {
		user = nobodyUser
	}
	if os.Chown(p.home, user, user) != nil {
		return 0, nil // root of a user namespace without other users
	}
	var err error
	if filepath.IsAbs(socket) {
		err = os.Chown(socket, user, user)
	}
	return user, errors.Join(err, filepath.WalkDir(p.home, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, user, user))
	}))
}

// remove deletes the directories. No process may use them any longer.
func (p *directories) remove() error {
	err := os.RemoveAll(p.root)
	if p.downloadRoot != nil {
		err = errors.Join(err, p.downloadRoot.Close())
	}
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	return err
}

// sweep deletes the directories of servers that were killed.
func sweep(home string) error {
	left, err := filepath.Glob(filepath.Join(home, prefix+"*"))
	for _, outer := range left {
		err = errors.Join(err, sweepOne(outer))
	}
	return err
}

func sweepOne(outer string) error {
	info, err := os.Lstat(outer)
	if err != nil || !info.IsDir() || private.CheckDir(outer) != nil {
		return nil // deleted meanwhile, or not created by this program
	}
	lock, err := os.OpenFile(filepath.Join(outer, "lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > time.Minute {
		return os.Remove(outer)
	} else if errors.Is(err, os.ErrNotExist) {
		return nil // it is just being created
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if free, err := private.TryLock(lock); err != nil || !free {
		return err
	}
	return os.RemoveAll(outer)
}
