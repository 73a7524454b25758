package store

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// A backup is a ZIP file with manifest.json and, for every table, NAME.jsonl
// with a row in each line. It is the same for both engines, and can be restored
// into either.
const (
	format       = 1
	manifestName = "manifest.json"
	maxManifest  = 4 << 20
)

func entryName(table string) string { return table + ".jsonl" }

// Backup writes everything that the store holds at one moment to a file, while
// others go on writing to the store. The file is private. An earlier backup of
// that name is replaced when the new one is complete; another file is left alone.
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
