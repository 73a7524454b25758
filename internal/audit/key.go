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

// A key seals lines. It lies in the data directory, because a server must be
// able to start without being asked for anything. So it proves something
// against whoever can write to the store but not read the key: an administrator
// of the database, a tool that escaped into it, a backup that was changed. It
// proves nothing against someone who can run code as the server's user.
type key [sha256.Size]byte

const (
	keyName     = "audit.key"
	keyLock     = "audit.key.lock"
	keyPatience = 5 * time.Second
)

// id tells keys apart without giving them away.
func (k key) id() string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("key id"))
	return hex.EncodeToString(m.Sum(nil)[:6])
}

// loadKey reads the key of the data directory. A damaged key is an error and
// never replaced: a new one would make every line so far look forged.
func loadKey(dir string) (k key, err error) {
	path := filepath.Join(dir, keyName)
	text, err := private.Read(path, 2*len(k)+2)
	if err != nil {
		return k, fmt.Errorf("reading the audit key: %w", err)
	}
	if got, err := hex.Decode(k[:], bytes.TrimSpace(text)); err != nil || got != len(k) {
		return k, fmt.Errorf("the audit key %s is damaged; restore it from a backup, or move it away: what it sealed can be checked without it only in part", path)
	}
	return k, nil
}

// ensureKey is loadKey, but makes the key if there is none.
func ensureKey(ctx context.Context, dir string) (k key, err error) {
	if k, err = loadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := private.MakeDir(dir); err != nil {
		return k, fmt.Errorf("the directory of the audit key: %w", err)
	}
	unlock, err := private.Lock(ctx, filepath.Join(dir, keyLock), keyPatience)
	if err != nil {
		return k, fmt.Errorf("making the audit key: %w", err)
	}
	defer unlock()
	if k, err = loadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if _, err := rand.Read(k[:]); err != nil {
		return k, fmt.Errorf("making the audit key: %w", err)
	}
	if err := private.Replace(filepath.Join(dir, keyName), append(hex.AppendEncode(nil, k[:]), '\n')); err != nil {
		return k, fmt.Errorf("writing the audit key: %w", err)
	}
	return k, nil
}
