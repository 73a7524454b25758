package agent

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	// maxTails is the maximum memory for tails. Commands that would need more send
	// everything.
	maxTails = 16 << 20
	// tailQuiet is how long a stream is quiet until its tail is sent.
	tailQuiet = 50 * time.Millisecond
	// tailRead is the maximum size of one read.
	tailRead = 512 << 10
)

// A tail holds the last bytes of a stream that are not sent. A command may write
// faster than the server reads, and the server drops the middle of long output.
type tail struct {
	c    *command
	s    stream
	ring []byte
	held int64 // bytes since the last flush; the ring has the last of them
}

// tail returns a tail for a stream after sent bytes of it were sent, or nil if the whole stream
// is to be sent.
func (c *command) tail(s stream, sent int64) *tail {
	ends := c.spec.Stdout
	if s.kind == wire.Stderr {
		ends = c.spec.Stderr
	}
	if ends.Tail <= 0 || ends.Tail > maxTails || sent < ends.Head || c.muted.Load() || c.hasExited() {
		return nil
	}
	if s.file.SetReadDeadline(time.Time{}) != nil || !c.agent.reserve(ends.Tail) {
		return nil // reads cannot be interrupted, or there is too little memory
	}
	return &tail{c: c, s: s, ring: make([]byte, ends.Tail)}
}

// reserve takes memory for a tail, if there is enough.
func (a *agent) reserve(n int64) bool {
	if a.tails.Add(n) <= maxTails {
		return true
	}
	a.tails.Add(-n)
	return false
}

// run reads the stream until the command has ended, or the end of the stream: then
// the error is not nil. The tail is sent then, and when the stream is quiet.
func (t *tail) run() error {
	defer t.c.agent.tails.Add(-int64(len(t.ring)))
	var err error
	for err == nil && !t.c.hasExited() {
		deadline := time.Time{}
		if t.held > 0 {
			deadline = time.Now().Add(tailQuiet)
		}
		if err = t.s.file.SetReadDeadline(deadline); err != nil {
			break
		}
		at := t.held % int64(len(t.ring))
		to := t.ring[at:min(at+tailRead, int64(len(t.ring)))]
		var n int
		n, err = t.c.take(t.s, to)
		t.c.held.Add(int64(n))
		t.held += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.flush()
			err = nil
		}
	}
	t.flush()
	if err == nil {
		err = t.s.file.SetReadDeadline(time.Time{})
	}
	return err
}

// flush sends the held bytes, after the number of the bytes that are not.
func (t *tail) flush() {
	held, size := t.held, int64(len(t.ring))
	t.held = 0
	if held == 0 {
		return
	}
	first, second := t.ring[:min(held, size)], []byte(nil)
	if held > size {
		at := held % size
		first, second = t.ring[at:], t.ring[:at]
	}
	if t.c.muted.Load() {
		first, second = nil, nil
	} else if held > size {
		t.c.agent.sent(t.c.agent.out.Send(skips(t.s.kind), t.c.id,
			binary.BigEndian.AppendUint64(nil, uint64(held-size))))
	}
	for _, part := range [][]byte{first, second} {
		for len(part) > 0 {
			n := min(len(part), wire.MaxData)
			t.c.agent.sent(t.c.agent.out.Send(t.s.kind, t.c.id, part[:n]))
			part = part[n:]
		}
	}
	t.c.sent.Add(held)
	t.c.held.Add(-held)
	if t.c.hasExited() {
		t.c.report()
	}
}

func skips(stream wire.Kind) wire.Kind {
	if stream == wire.Stderr {
		return wire.ErrSkipped
	}
	return wire.OutSkipped
}
