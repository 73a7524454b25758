package sandbox

import (
	"strings"
	"sync"
)

// tailSize is the number of bytes that a Tail keeps.
const tailSize = 2 << 10

// A Tail keeps the last bytes that were written to it, such as the stderr of an
// agent that did not start.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailSize):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailSize):]
	return len(p), nil
}

// String returns the text without space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
