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

// systemKeyring is the system keyring: the Secret Service of a desktop, the Keychain of
// macOS, the Credential Manager of Windows. Keys are stored under their ids, so
// that several vaults can share it.
type systemKeyring struct{}

const ringService = "mcp-tools vault"

func (systemKeyring) String() string { return "the system keyring" }

// failed returns the error of a keyring that does not answer.
func (r systemKeyring) failed(doing string, err error) error {
	return fmt.Errorf("%s %s: %w; unlock it, or store the key elsewhere (vault.key_from)", doing, r, err)
}

// reachable returns an error if there is no session bus. A query would then
// start one that never ends and has no keyring.
func (systemKeyring) reachable() error {
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
	return errors.New("there is no session bus, so there is no desktop session")
}

func (r systemKeyring) find(id string) (*key, error) {
	err := r.reachable()
	var text string
	if err == nil {
		text, err = keyring.Get(ringService, id)
	}
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, r.failed("reading", err)
	}
	k, err := parseKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the key %s of the vault in %s: %w", id, r, err)
	}
	return k, nil
}

func (r systemKeyring) fresh(_ string, plan func(string) error) (*key, error) {
	k := newKey()
	err := r.reachable()
	if err == nil {
		if err := plan(k.id()); err != nil {
			return nil, err
		}
		err = keyring.Set(ringService, k.id(), hex.EncodeToString(k[:]))
	}
	if err != nil {
		return nil, r.failed("writing to", err)
	}
	return k, nil
}

func (r systemKeyring) remove(id string) error {
	err := r.reachable()
	if err == nil {
		err = keyring.Delete(ringService, id)
	}
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return r.failed("removing a key from", err)
	}
	return nil
}
