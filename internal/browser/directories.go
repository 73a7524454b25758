package browser

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// prefix is how the directories of browsers begin.
const prefix = "mcp-browser-"

// maxHome is how long the path around them may be: Chromium has a socket among
// its temporary files, whose path no system lets be longer than 103 bytes.
const maxHome = 103 - len("/"+prefix+"12345678/own/t/org.chromium.Chromium.123456/SingletonSocket")

// A dirs is the directory of one browser. It is locked as long as its server
// lives: what is not locked was left by a crash.
type directories struct {
	home         string // the browser's own
	profile      string
	temp         string
	downloads    string
	downloadRoot *os.Root // is downloads, whatever the browser puts into its place
	root         string   // with the lock, out of the browser's reach
	lock         *os.File
}

// newDirectories makes a place.
func newDirectories(home string) (_ *directories, err error) {
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
		return nil, errors.Join(err, fmt.Errorf("%s is locked by somebody else", outer))
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

// remove removes it. Who could still write to it has ended before.
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

// sweep removes what servers that ended without a chance to clean up have left.
func sweep(home string) error {
	left, err := filepath.Glob(filepath.Join(home, prefix+"*"))
	for _, outer := range left {
		err = errors.Join(err, sweepOne(outer))
	}
	return err
}

func sweepOne(outer string) error {
	info, err := os.Lstat(outer)
	if err != nil || !info.IsDir() || !ownedByUser(info) {
		return nil // it is gone, or it is not what we make
	}
	lock, err := os.OpenFile(filepath.Join(outer, "lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > time.Minute {
		return os.Remove(outer)
	} else if errors.Is(err, os.ErrNotExist) {
		return nil // it is being made
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if free, err := private.TryLock(lock); err != nil || !free {
		return err
	}
	return errors.Join(removeCgroup(filepath.Base(outer)), os.RemoveAll(outer))
}
