// Package profiles keeps the logins of browsers: for each agent and user, under the names that the agent gives them.
//
// A profile is one file in the data directory, encrypted with the key of the vault. Its first line names the owner,
// for operators; the bytes behind it open for that agent, user and name only. A file is replaced as a whole, so that
// a server that is killed leaves the former one or the next one. While a browser has a profile it holds a lock. The
// system releases the lock when the process dies; its file names the holder.
//
// The package does not know the content of a profile: package browser takes it from Chromium and gives it
// back.
//
// Begin with [Profiles.Take]. operator.go has the verbs of operators.
package profiles

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Dir is the directory of profiles within the data directory.
const Dir = "profiles"

// MaxSize is the maximum size of a profile in bytes.
const MaxSize = 64 << 20

const (
	maxHead    = 4 << 10
	maxProfile = 50 // of one agent and user
	lockEnding = ".lock"
	aMoment    = 100 * time.Millisecond
	briefly    = 2 * time.Second
)

// A Key names a profile.
type Key struct {
	Agent string `json:"agent"`
	User  string `json:"user"`
	Name  string `json:"name"`
}

// id returns the name of the files of a profile.
func (k Key) id() string {
	sum := sha256.Sum256([]byte(k.bound()))
	return hex.EncodeToString(sum[:16])
}

// bound names the place of the sealed bytes, see [vault.Vault.Seal].
func (k Key) bound() string {
	return strings.Join([]string{"browser profile", k.Agent, k.User, k.Name}, "\x00")
}

// A Holder is a conversation that has a profile open.
type Holder struct {
	Session string    `json:"session"`
	Since   time.Time `json:"since"`
	PID     int       `json:"pid"`
}

func (h *Holder) String() string {
	if h == nil || h.Session == "" {
		return "another conversation"
	}
	return fmt.Sprintf("the conversation %s since %s", text.Clip(h.Session, 100), h.Since.Local().Format(time.DateTime))
}

// InUse is the cause of the error for a profile that is open.
type InUse struct{ By *Holder }

func (e *InUse) Error() string { return "the lock is held by " + e.By.String() }

// A Profile describes a profile for operators.
type Profile struct {
	Key
	Saved  time.Time `json:"saved"`
	Size   int64     `json:"bytes"`
	Holder *Holder   `json:"open_in,omitempty"` // nil: it is not open
}

// Profiles are the profiles of a data directory.
type Profiles struct {
	// Dir returns the directory of the files. It may not exist.
	Dir func() (string, error)
	// Seal and Open encrypt as [vault.Vault] does. Operators do without.
	Seal func(ctx context.Context, bound string, plain []byte) ([]byte, error)
	Open func(ctx context.Context, bound string, sealed []byte) ([]byte, error)
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// CheckName returns an error for the model if a name is not a valid name of a profile.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return tool.Errorf(tool.Invalid, "%.60q is not a name of a profile", name).
			Try("use at most 40 lower-case letters, digits, dots, dashes and underscores")
	}
	return nil
}

// A Held profile is open for one browser, and for no other one in any process. It is not safe for concurrent use, but
// for Release.
type Held struct {
	Key
	all    *Profiles
	path   string
	lock   *os.File
	digest [sha256.Size]byte // of the content that was loaded or saved last
	once   sync.Once
}

// Take opens a profile for a conversation. The error names the holder. A profile that does not exist is an empty
// one.
func (p *Profiles) Take(k Key, session string) (*Held, error) {
	if err := CheckName(k.Name); err != nil {
		return nil, err
	}
	dir, err := p.Dir()
	if err == nil {
		err = private.MakeDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the directory of profiles: %w", err)
	}
	h := &Held{Key: k, all: p, path: filepath.Join(dir, k.id())}
	if _, err := os.Lstat(h.path); errors.Is(err, fs.ErrNotExist) {
		if err := p.checkNumber(k); err != nil {
			return nil, err
		}
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		var taken bool
		if h.lock, taken, err = lockFile(h.path + lockEnding); err != nil {
			return nil, fmt.Errorf("locking a profile: %w", err)
		}
		if taken {
			break
		}
		who := readHolder(h.lock)
		_ = h.lock.Close() // it was only read
		if waited := time.Since(start); waited < aMoment || who == nil && waited < briefly {
			continue // List looks whether the lock is free, or the holder is just writing who it is
		}
		return nil, tool.Errorf(tool.Conflict, "the profile %q is open in %s", k.Name, who).
			Try("close the browser there, wait until it is closed, or use another profile").Because(&InUse{who})
	}
	note, err := json.Marshal(Holder{Session: session, Since: time.Now().UTC().Truncate(time.Second), PID: os.Getpid()})
	if err == nil {
		err = errors.Join(h.lock.Truncate(0), writeAt(h.lock, note))
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

func writeAt(file *os.File, content []byte) error {
	_, err := file.WriteAt(content, 0)
	return err
}

// lockFile opens and locks the file at path, unless it is locked. It is not the lock if another process has removed it
// meanwhile.
func lockFile(path string) (*os.File, bool, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, false, err
		}
		taken, err := private.TryLock(file)
		if err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
		mine, err := file.Stat()
		now, gone := os.Stat(path)
		if err == nil && gone == nil && os.SameFile(mine, now) {
			return file, taken, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, false, err
		}
	}
}

// readHolder returns the holder of a lock; nil if it is not known.
func readHolder(lock *os.File) *Holder {
	content := make([]byte, maxHead)
	n, _ := lock.ReadAt(content, 0) // at the end of the file it has an error
	h := &Holder{}
	if json.Unmarshal(content[:n], h) != nil {
		return nil
	}
	return h
}

// checkNumber returns an error if an agent and user have too many profiles for one more.
func (p *Profiles) checkNumber(k Key) error {
	all, err := p.List()
	if err != nil {
		return err
	}
	n := 0
	for _, one := range all {
		if one.Agent == k.Agent && one.User == k.User {
			n++
		}
	}
	if n >= maxProfile {
		return tool.Errorf(tool.TooLarge, "there are %d profiles, the maximum", n).
			Try("use one of them; the operator removes one with mcp-tools browser remove")
	}
	return nil
}

// Load returns the content of the profile, nil for a new one.
func (h *Held) Load(ctx context.Context) ([]byte, error) {
	file, err := private.Read(h.path, maxHead+MaxSize*2)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	_, sealed, _ := bytes.Cut(file, []byte("\n"))
	plain, err := h.all.Open(ctx, h.bound(), sealed)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the profile %q cannot be decrypted on this server", h.Name).
			Try("use another name; mcp-tools doctor shows the operator whether the key of the vault is there, and " +
				"mcp-tools browser remove removes the profile").Because(err)
	}
	h.digest = sha256.Sum256(plain)
	return plain, nil
}

// Save replaces the content of the profile, unless it is the same.
func (h *Held) Save(ctx context.Context, content []byte) error {
	digest := sha256.Sum256(content)
	if digest == h.digest {
		return nil
	}
	sealed, err := h.all.Seal(ctx, h.bound(), content)
	if err != nil {
		return fmt.Errorf("encrypting a profile: %w", err)
	}
	head, err := json.Marshal(Profile{Key: h.Key, Saved: time.Now().UTC().Truncate(time.Second), Size: int64(len(content))})
	if err != nil {
		return err
	}
	if err := private.Replace(h.path, slices.Concat(head, []byte("\n"), sealed)); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	h.digest = digest
	return nil
}

// Release lets others open the profile. It may be called again.
func (h *Held) Release() {
	h.once.Do(func() {
		if _, err := os.Lstat(h.path); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(h.lock.Name()) // else an empty file stays
		}
		// None of this can fail in a way that matters: the system releases the lock when the process ends.
		_ = errors.Join(h.lock.Truncate(0), private.Unlock(h.lock), h.lock.Close())
	})
}

// List returns all profiles, by owner and name. It needs no key.
func (p *Profiles) List() ([]Profile, error) {
	dir, err := p.Dir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Profile{}
	for _, e := range entries {
		if len(e.Name()) != 32 || !e.Type().IsRegular() {
			continue
		}
		if one, err := readHead(filepath.Join(dir, e.Name())); err == nil && one.id() == e.Name() {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func readHead(path string) (one Profile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return one, err
	}
	defer file.Close()
	head := make([]byte, maxHead)
	n, _ := file.Read(head) // an error shows as a head that is not JSON
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if err := json.Unmarshal(line, &one); err != nil {
		return one, err
	}
	lock, err := os.OpenFile(path+lockEnding, os.O_RDWR, 0)
	if err != nil {
		return one, nil // it was never open on this machine
	}
	defer lock.Close()
	free, err := private.TryLock(lock)
	if err == nil && free {
		_ = private.Unlock(lock) // closing the file does it too, but later
	} else if err == nil {
		if one.Holder = readHolder(lock); one.Holder == nil {
			one.Holder = &Holder{}
		}
	}
	return one, nil
}

// Remove deletes a profile. The error names the holder of an open profile.
func (p *Profiles) Remove(k Key) error {
	dir, err := p.Dir()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, k.id())); errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf(tool.NotFound, "there is no profile %q of the agent %q and the user %q", k.Name, k.Agent, k.User).
			Try("mcp-tools browser profiles lists them")
	}
	h, err := p.Take(k, "of an operator")
	if err != nil {
		return err
	}
	defer h.Release()
	return private.Remove(h.path)
}
