package webcache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

const (
	partEnd = ".part"
	tagEnd  = ".tag"
	mostTag = 4096
	// ownerLength is how much of a part's name is its caller's: a digest.
	ownerLength = 32
)

// A Spool keeps the beginnings of downloads in files: those that were cut.
type Spool struct {
	dir       string
	each, all quota
}

// NewSpool returns the spool in a directory, which is made when it is needed.
func NewSpool(dir string) Spool { return Spool{dir, eachQuota(), wholeQuota()} }

// Open opens what the caller of ctx has under a key. Only one at a time has it.
func (s Spool) Open(ctx context.Context, key string) (web.Part, error) {
	if _, err := private.MakeSub(filepath.Dir(s.dir), filepath.Base(s.dir)); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, partName(ctx, key))
	file, err := lock(path + partEnd)
	if err != nil {
		return nil, err
	}
	p, err := s.open(path, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, s.sweep()
}

// partName is what a part of a caller is called: their parts begin alike.
func partName(ctx context.Context, key string) string {
	return nameOf(tool.CallerFrom(ctx).Principal())[:ownerLength] + nameOf(key)
}

// lock opens a file that is there still when it has been locked: whoever had it
// before may have removed it in between.
func lock(path string) (*os.File, error) {
	for range 10 {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("keeping a download: %w", err)
		}
		taken, err := private.TryLock(file)
		if err == nil && !taken {
			err = tool.Errorf(tool.Busy, "the same file is being downloaded right now").Try("wait for that, or choose another download_path")
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
	return nil, errors.New("keeping a download: its file is a link, or does not stay")
}

// isAt reports whether a file is what a path leads to, and not by a link.
func isAt(file *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(there, info)
}

func (s Spool) open(path string, file *os.File) (*part, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, file: file, size: size}
	tag, err := private.Read(path+tagEnd, mostTag)
	if err == nil && len(tag) > 0 {
		p.tag = string(tag)
		return p, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return p, p.Begin("")
}

// A part is the beginning of a download. It is locked as long as it is open.
type part struct {
	path string
	file *os.File
	size int64
	tag  string
}

func (p *part) Tag() string { return p.tag }
func (p *part) Size() int64 { return p.size }

// Begin drops the old content before it gives it another name: whatever is cut
// in between is of no version, and so is not gone on with.
func (p *part) Begin(tag string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.size, p.tag = 0, ""
	if tag == "" || len(tag) > mostTag {
		if err := os.Remove(p.path + tagEnd); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := private.Replace(p.path+tagEnd, []byte(tag)); err != nil {
		return err
	}
	p.tag = tag
	return nil
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.size += int64(n)
	return n, err
}

func (p *part) Content() (io.Reader, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(p.file, 128<<10), nil
}

// Close keeps what there is, if there is anything worth it.
func (p *part) Close() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	if p.size == 0 || p.tag == "" {
		return errors.Join(remove(p.path), file.Close())
	}
	return file.Close()
}

// Done removes the part.
func (p *part) Done() error {
	p.size = 0
	return p.Close()
}
