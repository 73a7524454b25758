package sandbox

import (
	"strings"
	"sync"
)

// The numbers of bytes that a Tail keeps of the end and of the beginning.
const (
	tailSize = 2 << 10
	headSize = 512
)

// A Tail keeps the last bytes that were written to it and some of the first, such as the
// stderr of an agent that did not start. A Go program that dies writes the reason first.
type Tail struct {
	mu   sync.Mutex
	head []byte
	buf  []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	first := min(headSize-len(t.head), n)
	t.head, p = append(t.head, p[:first]...), p[first:]
	t.buf = append(t.buf, p[max(0, len(p)-tailSize):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailSize):]
	return n, nil
}

// String returns the text without space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.head) + string(t.buf))
}
