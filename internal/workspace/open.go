package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Open implements [Files].
func (w *Workspace) Open(ctx context.Context, path string) (*File, error) {
	for range maxAttempts {
		p, err := w.resolve(ctx, path, toRead)
		if err != nil {
			return nil, err
		}
		if p.source != nil {
			return openServed(ctx, p)
		}
		file, info, err := w.open(ctx, p)
		if err == nil {
			return &File{
				Name: p.shown, Exists: true, Size: info.Size, Modified: info.Modified, Mode: info.Mode.Perm(),
				Stamp: stamp(info), ReaderAt: file, Closer: file,
			}, nil
		}
		if !errors.Is(err, root.ErrLink) {
			return nil, err
		}
	}
	return nil, unstableError(path)
}

// open opens the file at a location on disk. If a step of the path has changed
// since it was resolved, the error wraps root.ErrLink and the caller resolves the
// path again.
func (w *Workspace) open(ctx context.Context, p location) (*os.File, root.Info, error) {
	file, info, err := p.mount.root.OpenRegular(p.name)
	if notDir(err) {
		err = root.ErrLink
	}
	if err != nil {
		if info.Dir() {
			err = directoryError(p.shown)
		}
		return nil, info, fileError(err, p.shown)
	}
	if err := w.checkLinks(ctx, p, info); err != nil {
		_ = file.Close()
		return nil, info, err
	}
	return file, info, nil
}

// openServed reads a file of a Source.
func openServed(ctx context.Context, p location) (*File, error) {
	content, modified, err := p.source.Read(ctx, p.name)
	if err != nil {
		return nil, fileError(err, p.shown)
	}
	return newServedFile(p.shown, content, modified), nil
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// stamp returns a value that changes when a file is written to or replaced.
func stamp(info root.Info) string {
	var b []byte
	for _, n := range []uint64{
		info.Dev, info.Ino, uint64(info.Size), uint64(info.Modified.UnixNano()), uint64(info.Changed.UnixNano()),
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return contentStamp(b)
}

// contentStamp returns the stamp of a file with a known content and no other facts.
func contentStamp(content []byte) string {
	sum := sha256.Sum256(content)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10])
}
