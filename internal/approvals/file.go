package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// maxFile bounds every file that is read.
const maxFile = 4 << 20

// readJSON reads a file that is private. It is strict: a word in it that nobody
// knows may be one that narrows what is allowed.
func readJSON(path string, into any) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a link would lead to where others may write
		return fmt.Errorf("%s is not a file of approvals; remove it", path)
	}
	text, err := private.Read(path, maxFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s cannot be understood: %w", path, err)
	}
	return nil
}

// newEnding marks a version that is not in its place yet.
const newEnding = ".new"

// writeJSON replaces a file in one step, so that whoever reads sees the old one
// or the new one. The caller holds the store's lock, so one name for the new
// file will do, and what a crash left there can go.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	next := path + newEnding
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := writeSynced(next, append(text, '\n')); err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("writing %s: %w", path, err)
	}
	for try := 1; ; try++ {
		if err = os.Rename(next, path); err == nil {
			return nil
		}
		if try >= renameTries {
			_ = os.Remove(next)
			return fmt.Errorf("writing %s: %w", path, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
