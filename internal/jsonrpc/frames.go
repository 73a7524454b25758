package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// maxHeader bounds the header of a message, far above the header of real ones.
const maxHeader = 4 << 10

// Frames splits a stream of messages with a Content-Length header each, as language servers write
// them. It holds at most one message, of at most Max bytes.
type Frames struct {
	Max int

	header []byte // so far
	body   []byte // so far
	length int    // of the body; -1 while the header is read
	begun  bool
}

// Take takes the next bytes of the stream and calls each with every message that is complete. The
// message belongs to the callee. After an error the stream cannot be read on.
func (f *Frames) Take(data []byte, each func(message []byte)) error {
	if !f.begun {
		f.begun, f.length = true, -1
	}
	for len(data) > 0 {
		if f.length < 0 {
			rest, err := f.takeHeader(data)
			if err != nil {
				return err
			}
			data = rest
			continue
		}
		n := min(f.length-len(f.body), len(data))
		f.body, data = append(f.body, data[:n]...), data[n:]
		f.deliver(each)
	}
	return nil
}

// deliver passes on the body if it is complete.
func (f *Frames) deliver(each func([]byte)) {
	if len(f.body) < f.length {
		return
	}
	message := f.body
	f.body, f.length = nil, -1
	each(message)
}

// takeHeader takes bytes of a header and returns the rest.
func (f *Frames) takeHeader(data []byte) ([]byte, error) {
	seen := len(f.header)
	f.header = append(f.header, data[:min(len(data), maxHeader+4-seen)]...)
	end := bytes.Index(f.header, []byte("\r\n\r\n"))
	if end < 0 {
		if len(f.header) > maxHeader {
			return nil, fmt.Errorf("a message has a header of more than %d bytes", maxHeader)
		}
		return data[len(f.header)-seen:], nil
	}
	length, err := contentLength(string(f.header[:end]))
	switch {
	case err != nil:
		return nil, err
	case length > f.Max:
		return nil, fmt.Errorf("a message has %d bytes, the maximum is %d", length, f.Max)
	}
	f.header, f.length = f.header[:0], length
	return data[end+4-seen:], nil
}

func contentLength(header string) (int, error) {
	for line := range strings.SplitSeq(header, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil && n > 0 {
			return int(n), nil
		}
		break
	}
	return 0, fmt.Errorf("a message has no length")
}

// Frame returns a message with its header.
func Frame(message []byte) []byte {
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...)
}
