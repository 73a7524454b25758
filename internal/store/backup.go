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
	"runtime"
	"strings"
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

func entryName(table string) string { return table + ".jsonl" }

// Backup writes a snapshot of the store to a private file. Other processes may
// write to the store at the same time. An existing backup is replaced when the
// new one is complete; any other existing file is an error.
func (s *Store) Backup(ctx context.Context, path string) (m Manifest, err error) {
	if err := checkReplaceable(path); err != nil {
		return m, err
	}
	out, err := newTempFile(path)
	if err != nil {
		return m, err
	}
	defer out.discard()
	if m, err = s.writeBackup(ctx, out.file); err != nil {
		return m, err
	}
	return m, out.commit()
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
		text, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		if err := writeEntry(z, manifestName, text); err != nil {
			return err
		}
		return z.Close()
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

func writeEntry(z *zip.Writer, name string, text []byte) error {
	w, err := z.Create(name)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
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
	return fmt.Errorf("%s exists and is not a backup; choose another name, or move it away", path)
}

// A tempFile is renamed to its path when it is complete. It is locked while it is
// written, which distinguishes it from a file that a crash left.
type tempFile struct {
	file      *os.File
	path      string
	committed bool
}

const (
	partSuffix = ".part"
	// staleAfter is the minimum age of a file that is removed.
	staleAfter = time.Minute
)

func newTempFile(path string) (*tempFile, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	removeStale(dir, "."+base+".")
	file, err := os.CreateTemp(dir, "."+base+".*"+partSuffix) // with mode 0600
	if err != nil {
		return nil, err
	}
	p := &tempFile{file: file, path: path}
	if taken, err := private.TryLock(file); err != nil || !taken {
		p.discard()
		return nil, fmt.Errorf("%s cannot be locked: %w", file.Name(), err)
	}
	return p, nil
}

// removeStale removes the files that killed backups have left. It ignores errors.
func removeStale(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAfter ||
			!strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		taken, err := private.TryLock(file)
		if runtime.GOOS == "windows" { // open files cannot be removed there
			_ = file.Close()
		}
		if taken && err == nil {
			_ = os.Remove(file.Name())
		}
		_ = file.Close()
	}
}

// commit renames the file to its path and syncs it to the disk.
func (p *tempFile) commit() error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return err
	}
	p.committed = true
	if runtime.GOOS == "windows" { // renames are journalled there
		return nil
	}
	dir, err := os.Open(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard removes the file unless it was committed.
func (p *tempFile) discard() {
	if p.committed {
		return
	}
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}
