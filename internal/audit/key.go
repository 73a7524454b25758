package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A key seals lines. It is stored in the data directory, because a server must start without a
// prompt, and sealed by the vault in the store, for the machines that share the store
// (share.go). So it protects against an attacker with access to the store but not to the key:
// an administrator of the database, a tool with access to it, a changed backup. It does not
// protect against code that runs as the server's user.
type key [sha256.Size]byte

const (
	keyName    = "audit.key"
	keyLock    = "audit.key.lock"
	keyTimeout = 5 * time.Second
)

// id returns a name for the key that reveals nothing about it.
func (k key) id() string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("key id"))
	return hex.EncodeToString(m.Sum(nil)[:6])
}

// loadKey reads the key in the data directory. A damaged key is an error and is
// never replaced: with a new key all lines would look forged.
func loadKey(dir string) (k key, err error) {
	path := filepath.Join(dir, keyName)
	text, err := private.Read(path, 2*len(k)+2)
	if err != nil {
		return k, fmt.Errorf("reading the audit key: %w", err)
	}
	if got, err := hex.Decode(k[:], bytes.TrimSpace(text)); err != nil || got != len(k) {
		return k, fmt.Errorf("the audit key %s is damaged; restore it from a backup, or move it away: without it, "+
			"older records can be checked only in part", path)
	}
	return k, nil
}

// ensureKey reads the key. If there is none it takes the one that shared returns, and creates one if that fails.
func ensureKey(ctx context.Context, dir string, shared func(context.Context) (key, error)) (k key, err error) {
	if k, err = loadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := private.MakeDir(dir); err != nil {
		return k, fmt.Errorf("the directory of the audit key: %w", err)
	}
	unlock, err := private.Lock(ctx, filepath.Join(dir, keyLock), keyTimeout)
	if err != nil {
		return k, fmt.Errorf("creating the audit key: %w", err)
	}
	defer unlock()
	if k, err = loadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = shared(ctx); err != nil {
		_, _ = rand.Read(k[:]) // never fails
	}
	if err := private.Replace(filepath.Join(dir, keyName), append(hex.AppendEncode(nil, k[:]), '\n')); err != nil {
		return k, fmt.Errorf("writing the audit key: %w", err)
	}
	return k, nil
}
