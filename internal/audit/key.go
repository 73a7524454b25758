package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A key seals lines. It lies beside the log, because a server must be able to
// start without being asked for anything. So it proves something against
// whoever can write the log but not read the key: a tool that escaped into the
// directory, a careless administrator, a backup that was changed. It proves
// nothing against someone who can run code as the server's user.
type key [sha256.Size]byte

const keyName = "audit.key"

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
	file, err := os.Open(path)
	if err != nil {
		return k, fmt.Errorf("reading the audit key: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !ownersAlone(info) {
		return k, fmt.Errorf("others may use the audit key %s; run chmod 600 on it after a look at who could read it", path)
	}
	text := make([]byte, 2*len(k)+2)
	n, _ := file.Read(text)
	if got, err := hex.Decode(k[:], bytes.TrimSpace(text[:n])); err != nil || got != len(k) {
		return k, fmt.Errorf("the audit key %s is damaged; restore it from a backup, or move it away together with the log", path)
	}
	return k, nil
}

// ensureKey is loadKey, but makes the key if there is none. The caller holds
// the lock of the directory.
func ensureKey(dir string) (key, error) {
	k, err := loadKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if _, err := rand.Read(k[:]); err != nil {
		return k, fmt.Errorf("making the audit key: %w", err)
	}
	text := hex.AppendEncode(nil, k[:])
	if err := writeFile(filepath.Join(dir, keyName), append(text, '\n')); err != nil {
		return k, fmt.Errorf("writing the audit key: %w", err)
	}
	return k, nil
}

// writeFile puts a private file in place, whole or not at all, so that it
// survives a power cut. The caller holds the lock of the directory.
func writeFile(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(filepath.Dir(path))
}
