package agent

import (
	"encoding/binary"
	"os"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// An input queues the bytes for stdin of a command. Queueing does not wait until the
// command reads them.
type input struct {
	mu    sync.Mutex
	more  sync.Cond
	queue [][]byte
	size  int
	ended bool
	shut  bool
	to    *os.File
	tty   bool
}

func newInput() *input {
	in := &input{}
	in.more.L = &in.mu
	return in
}

// write queues bytes. The server sends at most a window of them before it receives a
// Taken; bytes beyond that are lost, and end the input.
func (in *input) write(data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.size+len(data) > wire.Window {
		in.ended = true
	}
	if !in.ended && !in.shut && len(data) > 0 {
		in.queue = append(in.queue, append([]byte(nil), data...))
		in.size += len(data)
	}
	in.more.Signal()
}

func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.more.Signal()
}

// close discards the queue and closes stdin.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.shut = true
	in.queue = nil
	in.more.Signal()
	if in.to != nil {
		in.to.Close()
	}
}

// next waits for queued bytes and returns them; ok is false at the end.
func (in *input) next() (data []byte, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.ended && !in.shut {
		in.more.Wait()
	}
	if in.shut || len(in.queue) == 0 {
		return nil, false
	}
	data = in.queue[0]
	in.queue = in.queue[1:]
	return data, true
}

// run writes the queued bytes to the command until the queue ends. If the command has closed
// its input, run discards the bytes, so that writers do not block.
func (in *input) run(c *command) {
	for {
		data, ok := in.next()
		if !ok {
			break
		}
		_, err := in.to.Write(data)
		if err != nil && !in.tty {
			in.to.Close()
		}
		in.mu.Lock()
		in.size -= len(data)
		in.mu.Unlock()
		c.agent.sent(c.agent.out.Send(wire.Taken, c.id, binary.BigEndian.AppendUint32(nil, uint32(len(data)))))
	}
	if in.tty { // the command writes to the same file
		_, _ = in.to.Write([]byte{4})
		return
	}
	in.to.Close()
}
