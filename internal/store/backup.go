package store

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A backup is a ZIP file with manifest.json and, for each table, NAME.jsonl with
// one row in each line. It can be restored to both engines.
const (
	format       = 1
	manifestName = "manifest.json"
	maxManifest  = 4 << 20
)

// WholeMember is the name of the backup of the store in a backup of everything.
const WholeMember = "store.zip"

func entryName(table string) string { return table + ".jsonl" }

// Backup writes a snapshot of the store to a private file. Other processes may
// write to the store at the same time. An existing backup is replaced when the
// new one is complete; any other existing file is an error.
func (s *Store) Backup(ctx context.Context, path string) (m Manifest, err error) {
	if err := checkReplaceable(path); err != nil {
		return m, err
	}
	file, err := createPart(path)
	if err != nil {
		return m, err
	}
	if m, err = s.writeBackup(ctx, file); err == nil {
		err = commit(file, path)
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}
	return m, err
}

func (s *Store) writeBackup(ctx context.Context, w io.Writer) (m Manifest, err error) {
	err = s.View(ctx, func(t *Tx) (err error) {
		if m, err = t.manifest(); err != nil {
			return err
		}
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
			return flate.NewWriter(w, flate.BestSpeed)
		})
		for i := range m.Tables {
			if err := t.writeTable(z, &m.Tables[i]); err != nil {
				return err
			}
		}
		w, err := z.Create(manifestName)
		if err != nil {
			return err
		}
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return errors.Join(out.Encode(m), z.Close())
	})
	return m, err
}

func (t *Tx) writeTable(z *zip.Writer, table *Table) error {
	w, err := z.Create(entryName(table.Name))
	if err != nil {
		return err
	}
	sum := newRowDigest()
	err = t.rows(*table, func(line []byte, _ []any) error {
		sum.add(line)
		_, err := w.Write(line)
		return err
	})
	table.Rows, table.SHA256 = sum.rows, sum.sum()
	return err
}

// checkReplaceable returns an error if path exists and is not a backup.
func checkReplaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		if a, err := openArchive(path); err == nil {
			return a.file.Close()
		}
	}
	if z, err := zip.OpenReader(path); err == nil {
		defer z.Close()
		for _, f := range z.File {
			if f.Name == WholeMember {
				return fmt.Errorf("%s is a backup of everything (made with --all); choose another name, or use --all", path)
			}
		}
	}
	return fmt.Errorf("%s exists and is not a backup; choose another name, or move it away", path)
}

// staleAfter is the age of a temporary file that counts as left by a killed backup.
const staleAfter = time.Hour

// createPart creates the temporary file of a backup, with mode 0600, and removes the temporary
// files of killed backups.
func createPart(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	pattern := "." + base + ".*.part"
	entries, _ := os.ReadDir(dir) // CreateTemp reports the error
	for _, e := range entries {
		matches, err := filepath.Match(pattern, e.Name())
		info, gone := e.Info()
		if err == nil && gone == nil && matches && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return os.CreateTemp(dir, pattern)
}

// commit syncs a temporary file to the disk and renames it to path.
func commit(file *os.File, path string) error {
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return private.SyncDir(filepath.Dir(path))
}
