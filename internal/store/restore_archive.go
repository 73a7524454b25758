package store

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// An archive is a backup that is open for reading.
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
		return nil, fmt.Errorf("%s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a = &archive{file: file, path: path, entries: map[string]*zip.File{}}
	if err := a.open(info.Size()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is no backup of a store, or is damaged: %w", path, err), file.Close())
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
		return fmt.Errorf("its format is %d, this mcp-tools knows %d", a.manifest.Format, format)
	}
	latest, err := latestStep()
	if err != nil {
		return err
	}
	if step := a.manifest.Step; step < 1 || step > latest {
		return fmt.Errorf("it has tables of step %d, this mcp-tools knows %d: use the one that made it, or a newer one", step, latest)
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

// lines calls each with every line of a table, which is good until it returns.
func (a *archive) lines(ctx context.Context, table Table, each func(line []byte) error) error {
	file, err := a.entry(entryName(table.Name))
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 64<<10)
	var line []byte
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		line, err = readLine(r, line[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(line)
		}
		if err != nil {
			return err
		}
	}
}

// readLine appends the next line to one.
func readLine(r *bufio.Reader, line []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxRow:
			return nil, fmt.Errorf("a row has more than %d bytes", maxRow)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return line, err
		}
	}
}

// rows gives the rows of a table.
func (a *archive) rows(ctx context.Context, table Table, add func(line []byte, values []any) error) error {
	return a.lines(ctx, table, func(line []byte) error {
		values, err := parseRow(line, table.Columns)
		if err != nil {
			return err
		}
		return add(line, values)
	})
}

// verify reads everything once and compares it with the manifest.
func (a *archive) verify(ctx context.Context) error {
	for _, table := range a.manifest.Tables {
		sum := newRowDigest()
		err := a.lines(ctx, table, func(line []byte) error { sum.add(line); return nil })
		if err == nil && (sum.rows != table.Rows || sum.sum() != table.SHA256) {
			err = errDamaged
		}
		if err != nil {
			return fmt.Errorf("%s: the table %.80s: %w", a.path, table.Name, err)
		}
	}
	return nil
}
