package egress

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// maxOverhead is how much larger a compressed body may be than the limit of the
	// decompressed one.
	maxOverhead = 64 << 10
	// A body larger than ratioThreshold must not have been compressed by more than maxRatio. No
	// real page reaches this ratio.
	ratioThreshold = 4 << 20
	maxRatio       = 300
)

// A body is the decompressed body of a response, up to the limit of the request. If it
// is incomplete, Read returns an error at its end.
type body struct {
	ctx        context.Context
	at         link
	raw        io.ReadCloser
	decoded    io.Reader       // decompresses raw
	compressed *countingReader // nil if the body is not compressed
	left       int64           // bytes that may still be read
	read       int64
	stall      time.Duration
	timer      *time.Timer // cancels a read that takes too long
	cancel     func(cause error)
	err        error // the error of all further reads
}

// open sets up decompression.
func (b *body) open(h http.Header, asIs bool) (decoded bool, err error) {
	b.decoded = b.raw
	how := contentEncodings(h)
	if asIs || len(how) == 0 {
		return false, nil
	}
	if len(how) > 1 {
		return false, tool.Errorf(tool.Unavailable, "%q compresses its response %d times", b.at.site(),
			len(how)).Try("use another URL")
	}
	b.compressed = &countingReader{from: b.raw, left: b.left + maxOverhead}
	in := bufio.NewReader(b.compressed)
	switch how[0] {
	case "gzip", "x-gzip":
		b.decoded = &lazyReader{open: func() (io.Reader, error) { return gzip.NewReader(in) }}
	case "deflate":
		b.decoded = &lazyReader{open: func() (io.Reader, error) { return inflate(in) }}
	default:
		return false, tool.Errorf(tool.Unavailable, "%q sends the encoding %q, which was not requested", b.at.site(),
			short(how[0])).Try("use another URL")
	}
	return true, nil
}

// contentEncodings returns the encodings of a body, without identity.
func contentEncodings(h http.Header) []string {
	var all []string
	for _, line := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
				all = append(all, name)
			}
		}
	}
	return all
}

// inflate decompresses deflate. Some servers send it without the zlib header.
func inflate(in *bufio.Reader) (io.Reader, error) {
	head, err := in.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(in)
	}
	if len(head) == 0 {
		return nil, err
	}
	return flate.NewReader(in), nil
}

func (b *body) Read(to []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(to) == 0 {
		return 0, nil
	}
	b.timer.Reset(b.stall)
	n, err := b.decoded.Read(to[:min(int64(len(to)), b.left+1)]) // one more byte shows that the body is too large
	b.timer.Stop()
	if int64(n) > b.left {
		n, err = int(b.left), outbound.ErrTooLong
	}
	b.left -= int64(n)
	b.read += int64(n)
	if err == nil && b.compressed != nil && b.read > ratioThreshold && b.read > maxRatio*b.compressed.n {
		err = tool.Errorf(tool.TooLarge, "the response of %q decompresses to more than %d times its size", b.at.site(),
			maxRatio).Try("use another URL")
	}
	if err != nil {
		b.err = b.readError(err)
	}
	return n, b.err
}

// readError returns the error for a body that ended with err.
func (b *body) readError(err error) error {
	var known *tool.Error
	switch {
	case err == io.EOF || errors.Is(err, outbound.ErrTooLong):
		return err
	case errors.As(err, &known) || context.Cause(b.ctx) != nil:
		return failure(b.ctx, b.at, err)
	}
	e := tool.Errorf(tool.Unavailable, "the response of %q ended after %d bytes", b.at.site(),
		b.read).Try("try again")
	if b.compressed != nil && !b.compressed.failed {
		e = tool.Errorf(tool.Unavailable, "the compressed body of %q is invalid", b.at.site()).
			Try("try again, or use another URL")
	}
	return e.Because(err)
}

func (b *body) Close() error {
	err := b.raw.Close()
	b.cancel(context.Canceled)
	return err
}

// countingReader counts and limits the compressed bytes.
type countingReader struct {
	from   io.Reader
	n      int64
	left   int64
	failed bool // it ended with an error
}

func (c *countingReader) Read(to []byte) (int, error) {
	if c.left <= 0 {
		return 0, outbound.ErrTooLong
	}
	n, err := c.from.Read(to[:min(int64(len(to)), c.left)])
	c.n, c.left = c.n+int64(n), c.left-int64(n)
	c.failed = err != nil && err != io.EOF
	return n, err
}

// lazyReader opens the decompressor at the first Read, because its header may arrive
// late.
type lazyReader struct {
	open func() (io.Reader, error)
	from io.Reader
}

func (l *lazyReader) Read(to []byte) (int, error) {
	if l.from == nil {
		from, err := l.open()
		if err != nil {
			return 0, err
		}
		l.from = from
	}
	return l.from.Read(to)
}
