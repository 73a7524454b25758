package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// headName is the name of a file beside the key. It has the last head that a
// process on this machine wrote, so that Verify detects when the store was emptied
// or set back to an earlier state.
const headName = "audit.head"

// A lastHead is the content of that file. The zero lastHead belongs to a machine that has
// written no head.
type lastHead struct {
	Key    string `json:"key"`
	Number int64  `json:"head"`
	Mark   string `json:"mark"` // the link of its line
}

// loadLastHead reads the last head in the data directory.
func loadLastHead(dir string) (last lastHead, err error) {
	path := filepath.Join(dir, headName)
	text, err := private.Read(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return lastHead{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &last)
	}
	if err != nil {
		return lastHead{}, fmt.Errorf("reading the last head of the audit log, %s: %w", path, err)
	}
	return last, nil
}

// ForgetLastHead must be called after the store in use was replaced on purpose, for
// example by a backup.
func ForgetLastHead(dir string) error { return private.Remove(filepath.Join(dir, headName)) }

// A headWriter adds heads of a key, and writes down the last one in the data
// directory.
type headWriter struct {
	rows rowStore
	key  key
	dir  string
}

// add adds heads in a transaction, and writes down the last one if the store has
// the head that was written down before.
func (w headWriter) add(ctx context.Context, transaction func(headsFunc) error, heads ...head) error {
	var next headRow
	err := transaction(func(last headRow, chains bool) ([]headRow, error) {
		lines, err := sealHeads(w.key, heads...)(last, chains)
		if len(lines) > 0 {
			next = lines[len(lines)-1]
		}
		return lines, err
	})
	if err != nil {
		return err
	}
	if known, err := loadLastHead(w.dir); err == nil && w.continues(ctx, known) {
		_ = w.save(ctx, next) // after a failure the next head is another chance
	}
	return nil
}

// continues reports whether the store has the known head, or a rewrite removed it.
// Otherwise the file is evidence and must stay.
func (w headWriter) continues(ctx context.Context, known lastHead) bool {
	if known.Key != w.key.id() {
		return true
	}
	list, err := w.rows.Heads(ctx, known.Key, known.Number-1, 1)
	return err == nil && len(list) > 0 &&
		(list[0].Number > known.Number || linkOf([]byte(list[0].Line)).String() == known.Mark)
}

// save writes a head to the file, unless a later one is there.
func (w headWriter) save(ctx context.Context, row headRow) error {
	unlock, err := private.Lock(ctx, filepath.Join(w.dir, keyLock), keyTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := loadLastHead(w.dir)
	if err != nil || known.Key == row.Key && known.Number >= row.Number {
		return err
	}
	text, err := json.Marshal(lastHead{row.Key, row.Number, linkOf([]byte(row.Line)).String()})
	if err != nil {
		return err
	}
	return private.Replace(filepath.Join(w.dir, headName), append(text, '\n'))
}

// setBack describes a store whose heads do not reach the last head.
func (known lastHead) setBack(number int64) string {
	return fmt.Sprintf("the heads end with %d, but this machine has written %d: the store was emptied or set back. "+
		"If you replaced the store on purpose, remove %s from the data directory", number, known.Number, headName)
}
