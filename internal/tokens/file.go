package tokens

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	fileName = "tokens.json"
	lockName = "tokens.lock"
	version  = 1
)

// A snapshot is the table as one version of the file has it. The zero
// snapshot is a table that does not exist.
type snapshot struct {
	rows []Row
	info fs.FileInfo
}

// fresh says whether path still holds what the snapshot has read. Inode
// numbers come back and sizes repeat, but store sees to it that no two
// versions have the same time.
func (s snapshot) fresh(path string) bool {
	if s.info == nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, s.info) && now.Size() == s.info.Size() && now.ModTime().Equal(s.info.ModTime())
}

// load reads the table. A missing file is the zero snapshot; a file that is
// there and cannot be understood is an error, never an empty table.
func load(path string) (snapshot, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot{}, nil
	}
	if err != nil {
		return snapshot{}, fmt.Errorf("opening the table of tokens: %w", err)
	}
	defer file.Close()
	s, err := read(file)
	if err != nil {
		return snapshot{}, fmt.Errorf("the table of tokens in %s: %w", path, err)
	}
	return s, nil
}

func read(file *os.File) (snapshot, error) {
	info, err := file.Stat()
	if err != nil {
		return snapshot{}, err
	}
	if err := checkFile(info); err != nil {
		return snapshot{}, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return snapshot{}, err
	}
	rows, err := decode(text)
	if err != nil {
		return snapshot{}, fmt.Errorf("%w; restore it from a backup, or remove it and create the tokens anew", err)
	}
	return snapshot{rows, info}, nil
}

// store replaces the version of the table that old was read from, in one
// step. The caller holds the lock, so one name for the new file will do, and
// what a crash left there can go.
func store(path string, old snapshot, rows []Row) error {
	text, err := encode(rows)
	if err != nil {
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	err = writeSynced(next, text)
	if err == nil {
		err = os.Chtimes(next, time.Time{}, timeAfter(old.info))
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// timeAfter returns the time to give to the version that follows old: now,
// but later than old even when the clock is coarse or was set back.
func timeAfter(old fs.FileInfo) time.Time {
	now := time.Now()
	if old == nil {
		return now
	}
	if least := old.ModTime().Add(time.Microsecond); now.Before(least) {
		return least
	}
	return now
}

// writeSynced makes a private file whose content survives a power cut.
func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// document is the file.
type document struct {
	Version int      `json:"version"`
	Tokens  []record `json:"tokens"`
}

type record struct {
	Row
	Hash string `json:"sha256"`
}

func encode(rows []Row) ([]byte, error) {
	doc := document{Version: version, Tokens: make([]record, len(rows))}
	for i, r := range rows {
		doc.Tokens[i] = record{r, hex.EncodeToString(r.hash[:])}
	}
	text, err := json.Marshal(doc, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// decode is strict: an unknown, repeated or missing word in this file may be
// a revocation that somebody misspelt.
func decode(text []byte) ([]Row, error) {
	var doc document
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty")
	}
	if err := json.Unmarshal(text, &doc, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if doc.Version != version {
		return nil, fmt.Errorf("it has version %d, this program knows version %d", doc.Version, version)
	}
	rows := make([]Row, 0, len(doc.Tokens))
	for i, rec := range doc.Tokens {
		row, err := rec.row()
		if err != nil {
			return nil, fmt.Errorf("token %d of %d: %w", i+1, len(doc.Tokens), err)
		}
		if _, twice := find(rows, row.ID); twice {
			return nil, fmt.Errorf("two tokens have the id %q", row.ID)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (rec record) row() (Row, error) {
	if len(rec.ID) != idLen {
		return Row{}, fmt.Errorf("the id %q does not have %d characters", rec.ID, idLen)
	}
	if rec.Approve == (len(rec.Profiles) > 0) {
		return Row{}, fmt.Errorf("%q has no profile, or decides about calls and has one", rec.ID)
	}
	if rec.Created.IsZero() {
		return Row{}, fmt.Errorf("%q does not say when it was created", rec.ID)
	}
	sum, err := hex.DecodeString(rec.Hash)
	if err != nil || len(sum) != sha256.Size {
		return Row{}, fmt.Errorf("the sha256 of %q is not 64 hexadecimal digits", rec.ID)
	}
	row := rec.Row
	row.hash = [sha256.Size]byte(sum)
	return row, nil
}
