package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// spoolMemory is the maximum size of a content in memory before it is stored, in bytes.
const spoolMemory = 1 << 20

// A Content is a content to be stored. It can be read several times.
type Content struct {
	io.ReaderAt
	Size int64
	file *spoolFile // nil: it is in memory
}

// Reader returns a reader of the whole content.
func (c Content) Reader() *io.SectionReader { return io.NewSectionReader(c, 0, c.Size) }

// A spoolFile is a temporary file. A place may take it away.
type spoolFile struct {
	*os.File
	taken bool
}

// A spool is a content and its digest.
type spool struct {
	Content
	digest   string
	overhead int // of sealed contents: bytes that each chunk is longer
}

func (s *spool) discard() {
	if s.file != nil && !s.file.taken {
		private.Discard(s.file.File)
	}
}

// spool reads r, at most max bytes.
func (b *Blobs) spool(r io.Reader, max int64) (*spool, error) {
	sum := sha256.New()
	in := io.TeeReader(io.LimitReader(r, max+1), sum)
	s, err := b.collect(func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Size > max {
		s.discard()
		return nil, fmt.Errorf("%w: the maximum is %d bytes", ErrTooLarge, max)
	}
	s.digest = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// collect returns the bytes that write writes.
func (b *Blobs) collect(write func(io.Writer) error) (*spool, error) {
	w := &collector{scratch: b.o.Scratch}
	err := write(w)
	s := &spool{Content: Content{Size: w.size}}
	if w.file != nil {
		s.file = &spoolFile{File: w.file}
		s.ReaderAt = w.file
	} else {
		s.ReaderAt = bytes.NewReader(w.memory.Bytes())
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// A collector keeps written bytes in memory, and more than spoolMemory in a file.
type collector struct {
	scratch string
	memory  bytes.Buffer
	file    *os.File
	size    int64
}

func (c *collector) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	if c.file == nil && c.size <= spoolMemory {
		return c.memory.Write(p)
	}
	if c.file == nil {
		file, err := private.TempFile(c.scratch)
		if err != nil {
			return 0, err
		}
		c.file = file
		if _, err := file.Write(c.memory.Bytes()); err != nil {
			return 0, err
		}
		c.memory = bytes.Buffer{}
	}
	return c.file.Write(p)
}

// seal returns a content encrypted, nil if there is no key.
func (b *Blobs) seal(ctx context.Context, name string, c Content) (*spool, error) {
	if b.o.Sealer == nil {
		return nil, nil
	}
	probe, err := b.o.Sealer.Seal(ctx, bound(name, 0), nil)
	if errors.Is(err, vault.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, withoutKey(err)
	}
	overhead := len(probe)
	if overhead >= chunkSize/2 {
		return nil, errors.New("the key makes a content much longer")
	}
	out, err := b.collect(func(w io.Writer) error {
		in, chunk := c.Reader(), make([]byte, chunkSize-overhead)
		for number := int64(0); ; number++ {
			n, err := io.ReadFull(in, chunk)
			if n > 0 {
				sealed, sealErr := b.o.Sealer.Seal(ctx, bound(name, number), chunk[:n])
				if sealErr == nil {
					_, sealErr = w.Write(sealed)
				}
				if sealErr != nil {
					return sealErr
				}
			}
			switch {
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
				return nil
			case err != nil:
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	out.overhead = overhead
	return out, nil
}
