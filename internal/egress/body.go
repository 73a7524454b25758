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
	// Compressed bytes may be more than those they expand to, by this much.
	maxOverhead = 64 << 10
	// What expands to more than this has to be a compression that pages have.
	ratioThreshold = 4 << 20
	maxRatio       = 300
)

// A body is what a host answers, decompressed, up to what was asked for. It ends
// with an error where it is not whole.
type body struct {
	ctx        context.Context
	at         link
	raw        io.ReadCloser
	decoded    io.Reader       // what raw expands to
	compressed *countingReader // nil: it is not compressed
	left       int64           // bytes that may be read
	read       int64
	stall      time.Duration
	timer      *time.Timer // ends a read that takes too long
	cancel     func(cause error)
	release    func() // gives back what the request has taken
	err        error  // what reads return from now on
}

// open finds out how a body is compressed.
func (b *body) open(h http.Header, asIs bool) (decoded bool, err error) {
	b.decoded = b.raw
	how := contentEncodings(h)
	if asIs || len(how) == 0 {
		return false, nil
	}
	if len(how) > 1 {
		return false, tool.Errorf(tool.Unavailable, "%q compresses its answer %d times", b.at.site(),
			len(how)).Try("ask for another page")
	}
	b.compressed = &countingReader{from: b.raw, left: b.left + maxOverhead}
	in := bufio.NewReader(b.compressed)
	switch how[0] {
	case "gzip", "x-gzip":
		b.decoded = &lazyReader{open: func() (io.Reader, error) { return gzip.NewReader(in) }}
	case "deflate":
		b.decoded = &lazyReader{open: func() (io.Reader, error) { return inflate(in) }}
	default:
		return false, tool.Errorf(tool.Unavailable, "%q sends its answer as %q, which was not asked for", b.at.site(),
			short(how[0])).Try("ask for another page")
	}
	return true, nil
}

// contentEncodings returns those of a body, without the one that is none.
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

// inflate reads deflate, which some servers send without what should be around it.
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

// watch ends what was taken for the request when its time is over, even where
// nobody closes the body.
func (b *body) watch() {
	b.timer = time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	b.timer.Stop()
	context.AfterFunc(b.ctx, func() {
		b.timer.Stop()
		b.release()
	})
}

func (b *body) Read(to []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(to) == 0 {
		return 0, nil
	}
	b.timer.Reset(b.stall)
	n, err := b.decoded.Read(to[:min(int64(len(to)), b.left+1)]) // one more tells a body that is too long
	b.timer.Stop()
	if int64(n) > b.left {
		n, err = int(b.left), outbound.ErrTooLong
	}
	b.left -= int64(n)
	b.read += int64(n)
	if err == nil && b.compressed != nil && b.read > ratioThreshold && b.read > maxRatio*b.compressed.n {
		err = tool.Errorf(tool.TooLarge, "the answer of %q expands to more than %d times what was sent", b.at.site(),
			maxRatio).Try("ask for another page")
	}
	if err != nil {
		b.err = b.readError(err)
	}
	return n, b.err
}

// readError puts into words why a body has ended.
func (b *body) readError(err error) error {
	var known *tool.Error
	switch {
	case err == io.EOF || errors.Is(err, outbound.ErrTooLong):
		return err
	case errors.As(err, &known) || context.Cause(b.ctx) != nil:
		return failure(b.ctx, b.at, err)
	}
	e := tool.Errorf(tool.Unavailable, "the answer of %q broke off after %d bytes", b.at.site(),
		b.read).Try("ask again")
	if b.compressed != nil && !b.compressed.failed {
		e = tool.Errorf(tool.Unavailable, "the answer of %q is not compressed as it says",
			b.at.site()).Try("ask again, or for another page")
	}
	return e.Because(err)
}

func (b *body) Close() error {
	err := b.raw.Close()
	b.cancel(context.Canceled)
	b.release()
	return err
}

// countingReader bounds what is read before it expands.
type countingReader struct {
	from   io.Reader
	n      int64
	left   int64
	failed bool // it ended before it should
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

// lazyReader reads the head of a compressed body when somebody reads: it may be late.
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
