package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// copyTo writes content to a name in r. It replaces an existing file.
func copyTo(r *root.Root, name string, from io.Reader, mode fs.FileMode) error {
	if err := ignoreNotExist(r.Remove(name)); err != nil {
		return err
	}
	to, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(to, from); err == nil && mode != 0o600 {
		err = to.Chmod(mode)
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		_ = r.Remove(name)
	}
	return err
}

// copyDigest copies a content and computes its digest. It checks ctx regularly. to may
// be nil.
func (s *Store) copyDigest(ctx context.Context, to io.Writer, from io.Reader) (digest string, n int64, err error) {
	buffer := s.buffers.Get().(*[bufferSize]byte)
	defer s.buffers.Put(buffer)
	sum := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", n, err
		}
		got, readErr := io.ReadFull(from, buffer[:])
		_, _ = sum.Write(buffer[:got])
		n += int64(got)
		if to != nil && got > 0 {
			if _, err := to.Write(buffer[:got]); err != nil {
				return "", n, err
			}
		}
		switch readErr {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return hex.EncodeToString(sum.Sum(nil)), n, nil
		default:
			return "", n, readErr
		}
	}
}

// Digest returns the digest of the first n bytes of content.
func (s *Store) Digest(ctx context.Context, content io.ReaderAt, n int64) (string, error) {
	digest, got, err := s.copyDigest(ctx, nil, io.NewSectionReader(content, 0, n))
	if err == nil && got != n {
		err = io.ErrUnexpectedEOF
	}
	return digest, err
}

func digestOf(content io.ReaderAt, n int64) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(content, 0, n)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Kept reports whether the copy of c exists.
func (s *Store) Kept(c *Content) bool {
	if c == nil || !c.Kept || !isDigest(c.Digest) {
		return false
	}
	info, err := os.Lstat(s.path(copiesDir, c.Digest))
	return err == nil && info.Mode().IsRegular() && info.Size() == c.Size
}

func isDigest(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == hex.EncodedLen(sha256.Size)
}

// OpenCopy opens the copy of a content. Reading it to the end fails with ErrDamaged if
// it has changed since it was kept. The error is [fs.ErrNotExist] if the copy was
// removed.
func (s *Store) OpenCopy(c *Content) (io.ReadCloser, error) {
	if !isDigest(c.Digest) {
		return nil, fs.ErrNotExist
	}
	copies, err := s.copies()
	if err != nil {
		return nil, err
	}
	defer copies.Close()
	file, _, err := copies.OpenRegular(c.Digest)
	if err != nil {
		return nil, err
	}
	return newChecked(file, c), nil
}

func newChecked(from io.ReadCloser, c *Content) io.ReadCloser {
	return &checkedCopy{file: from, left: c.Size, sum: sha256.New(), want: c.Digest}
}

// A checkedCopy reads a copy and compares its digest at the end.
type checkedCopy struct {
	file io.ReadCloser
	left int64
	sum  hash.Hash
	want string
}

func (c *checkedCopy) Read(b []byte) (int, error) {
	n, err := c.file.Read(b)
	_, _ = c.sum.Write(b[:n])
	c.left -= int64(n)
	if c.left < 0 || err == io.EOF && hex.EncodeToString(c.sum.Sum(nil)) != c.want {
		return 0, ErrDamaged
	}
	return n, err
}

func (c *checkedCopy) Close() error { return c.file.Close() }
