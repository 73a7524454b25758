package cache

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	partExtension    = ".part"
	versionExtension = ".tag"
	maxVersion       = 4096
	ownerLength      = 32             // of a file name is the digest of the caller
	maxPartAge       = 24 * time.Hour // without being continued
)

// A Spool keeps the beginnings of interrupted downloads in files, so that they can
// be continued. Callers cannot displace the downloads of others.
type Spool struct {
	dir      string
	maxParts int   // of one caller
	maxBytes int64 // of one caller, except the latest part
}

// NewSpool returns the spool in a directory, which is created when it is needed.
func NewSpool(dir string) Spool { return Spool{dir, 16, 2 << 30} }

// Open opens the part that the caller in ctx has under a key; an empty one if there
// is none. The part is locked until it is closed.
func (s Spool) Open(ctx context.Context, key string) (*Part, error) {
	if _, err := private.MakeSub(filepath.Dir(s.dir), filepath.Base(s.dir)); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, partName(ctx, key))
	file, err := lockFile(path + partExtension)
	if err != nil {
		return nil, err
	}
	p, err := openPart(path, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, s.sweep()
}

// partName returns the file name of a part, without extension. The names of all
// parts of a caller have the same beginning.
func partName(ctx context.Context, key string) string {
	return digest(tool.CallerFrom(ctx).Principal())[:ownerLength] + digest(key)
}

// digest returns the hexadecimal digest of a key, for file names.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// lockFile opens and locks a file. It tries again if another process removed the
// file in between.
func lockFile(path string) (*os.File, error) {
	for range 10 {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("keeping a download: %w", err)
		}
		locked, err := private.TryLock(file)
		if err == nil && !locked {
			err = tool.Errorf(tool.Busy, "the same file is being downloaded by another call").
				Try("wait until it is done, or use another download_path")
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if isAt(file, path) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("keeping a download: its file is a link, or is removed repeatedly")
}

// isAt reports whether a path leads to a file, and not through a link.
func isAt(file *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(there, info)
}

// A Part is the beginning of a download.
type Part struct {
	path    string
	file    *os.File
	size    int64
	version string
}

func openPart(path string, file *os.File) (*Part, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	p := &Part{path: path, file: file, size: size}
	version, err := private.Read(path+versionExtension, maxVersion)
	if err == nil && len(version) > 0 {
		p.version = string(version)
		return p, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return p, p.Begin("")
}

// Version returns the version given to Begin; "" if the part cannot be continued.
func (p *Part) Version() string { return p.version }

// Size returns the size of the part in bytes.
func (p *Part) Size() int64 { return p.size }

// Begin drops the content, and sets the version of what will be written. The content
// goes first: if the process ends in between, the part has no version and will not
// be continued.
func (p *Part) Begin(version string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.size, p.version = 0, ""
	if version == "" || len(version) > maxVersion {
		if err := os.Remove(p.path + versionExtension); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := private.Replace(p.path+versionExtension, []byte(version)); err != nil {
		return err
	}
	p.version = version
	return nil
}

// Write appends to the part.
func (p *Part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.size += int64(n)
	return n, err
}

// Content returns a reader for the whole part.
func (p *Part) Content() (io.Reader, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(p.file, 128<<10), nil
}

// Close closes the part and keeps it, if it can be continued.
func (p *Part) Close() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	if p.size == 0 || p.version == "" {
		return errors.Join(removePart(p.path), file.Close())
	}
	return file.Close()
}

// Done closes the part and removes it.
func (p *Part) Done() error {
	p.size = 0
	return p.Close()
}

// sweep removes expired parts, and the oldest parts of callers that have too many. Parts
// that are open stay.
func (s Spool) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var parts []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), partExtension) && len(e.Name()) >= ownerLength {
			parts = append(parts, info)
		}
	}
	slices.SortFunc(parts, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	count, bytes := map[string]int{}, map[string]int64{} // by caller
	for _, part := range parts {
		owner := part.Name()[:ownerLength]
		count[owner]++
		bytes[owner] += part.Size()
		isOver := count[owner] > s.maxParts || count[owner] > 1 && bytes[owner] > s.maxBytes
		if !isOver && time.Since(part.ModTime()) < maxPartAge {
			continue
		}
		if err := s.remove(part); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a part, unless it is open.
func (s Spool) remove(part fs.FileInfo) error {
	path := filepath.Join(s.dir, strings.TrimSuffix(part.Name(), partExtension))
	file, err := os.Open(path + partExtension)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if locked, err := private.TryLock(file); err != nil || !locked {
		return err
	}
	return removePart(path)
}

func removePart(path string) error {
	for _, extension := range []string{versionExtension, partExtension} {
		if err := os.Remove(path + extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
