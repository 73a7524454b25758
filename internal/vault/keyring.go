package vault

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zalando/go-keyring"
)

// ring is the keyring of the system: the Secret Service of a desktop, the
// Keychain of macOS, the Credential Manager of Windows. Keys are kept by their
// ids, so those of several vaults do not meet.
type ring struct{}

const ringService = "mcp-tools vault"

func (ring) String() string { return "the keyring of the system" }

// failed says what can be done when the keyring does not answer.
func (r ring) failed(doing string, err error) error {
	return fmt.Errorf("%s %s: %w; unlock it, or keep the key in another place (vault.key_from)", doing, r, err)
}

// reachable is an error where asking would start a session bus that nobody
// ends, and on which no keyring is.
func (ring) reachable() error {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return nil
	}
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	session := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(session, name)); err == nil {
			return nil
		}
	}
	return errors.New("there is no session bus, so no desktop session either")
}

func (r ring) find(id string) (*key, error) {
	err := r.reachable()
	var text string
	if err == nil {
		text, err = keyring.Get(ringService, id)
	}
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, r.failed("asking", err)
	}
	k, err := parseKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the key %s of the vault in %s: %w", id, r, err)
	}
	return k, nil
}

func (r ring) fresh(string) (*key, error) {
	k := newKey()
	err := r.reachable()
	if err == nil {
		err = keyring.Set(ringService, k.id(), hex.EncodeToString(k[:]))
	}
	if err != nil {
		return nil, r.failed("writing to", err)
	}
	return k, nil
}

func (r ring) forget(id string) error {
	err := r.reachable()
	if err == nil {
		err = keyring.Delete(ringService, id)
	}
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return r.failed("removing a key from", err)
	}
	return nil
}
