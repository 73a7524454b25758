package store

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Restore replaces the content of the store by the content of a backup, in one transaction. If
// the store has rows it fails, unless force is set. A backup of an earlier version is restored
// to the tables of its time; then they are migrated.
//
// Other processes cannot write during a restore. All positions in the change feed
// become invalid, so that indexes are built again.
func (s *Store) Restore(ctx context.Context, path string, force bool) (m Manifest, err error) {
	a, err := openArchive(path)
	if err != nil {
		return m, err
	}
	defer a.file.Close()
	err = s.Update(ctx, func(t *Tx) error {
		m = a.manifest
		return t.fillFrom(&m, force, func(table Table, add func([]byte, []any) error) error {
			return a.rows(ctx, table, add)
		})
	})
	if err != nil {
		return m, fmt.Errorf("restoring %s: %w", path, err)
	}
	s.id.Store(nil) // resetFeed has changed it
	s.notifier.wake()
	return m, nil
}

// An archive is an open backup.
type archive struct {
	file     *os.File
	path     string
	entries  map[string]*zip.File
	manifest Manifest
}

// openArchive opens a backup and reads its manifest.
func openArchive(path string) (a *archive, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a = &archive{file: file, path: path, entries: map[string]*zip.File{}}
	if err := a.open(info.Size()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not a backup of a store, or is damaged: %w", path, err), file.Close())
	}
	return a, nil
}

func (a *archive) open(size int64) error {
	z, err := zip.NewReader(a.file, size)
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if a.entries[f.Name] != nil {
			return fmt.Errorf("%.80q is in it twice", f.Name)
		}
		a.entries[f.Name] = f
	}
	if err := a.readManifest(); err != nil {
		return err
	}
	if a.manifest.Format != format {
		return fmt.Errorf("its format is %d, this mcp-tools supports %d", a.manifest.Format, format)
	}
	for _, table := range a.manifest.Tables {
		if table.SHA256 == "" {
			return fmt.Errorf("the table %.80q has no digest", table.Name)
		}
	}
	latest, err := latestStep()
	if err != nil {
		return err
	}
	if step := a.manifest.Step; step < 1 || step > latest {
		return fmt.Errorf("its migration is %d, this mcp-tools has %d: use the version that made it, or a newer one",
			step, latest)
	}
	return nil
}

func (a *archive) readManifest() error {
	r, err := a.entry(manifestName)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return fmt.Errorf("%s is too long", manifestName)
	}
	return json.Unmarshal(text, &a.manifest)
}

func (a *archive) entry(name string) (io.ReadCloser, error) {
	f := a.entries[name]
	if f == nil {
		return nil, fmt.Errorf("%.80q is missing", name)
	}
	return f.Open()
}

// rows calls add with the rows of a table. A line is valid until add returns.
func (a *archive) rows(ctx context.Context, table Table, add func(line []byte, values []any) error) error {
	file, err := a.entry(entryName(table.Name))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxRow)
	lines.Split(wholeLines)
	for lines.Scan() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		values, err := parseRow(lines.Bytes(), table.Columns)
		if err != nil {
			return err
		}
		if err := add(lines.Bytes(), values); err != nil {
			return err
		}
	}
	return lines.Err()
}

// wholeLines is a bufio.SplitFunc for lines with their line break. The last line must have one
// too.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}
