package exec

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/terminal"
)

const (
	// often and seldom are the min and max time between progress messages.
	often  = 250 * time.Millisecond
	seldom = 10 * time.Second
	// calm is how long a command is silent until lines are sent that the scrubber
	// holds back because a secret could continue in the next one.
	calm = 500 * time.Millisecond
	// newsMost is the max size of one message; of more output it has the last lines.
	newsMost = 2 << 10
	// waitMost is the max output that waits for the next message.
	waitMost = 64 << 10
)

// A follower sends a command's output to the client as progress: whole lines,
// scrubbed as one stream, so that secrets written in pieces are hidden too.
type follower struct {
	report tool.Reporter
	begun  time.Time
	limit  time.Duration

	mu      sync.Mutex
	parts   [sandbox.Stderr + 1][]byte // the last line of each stream, not ended
	waiting []byte

	scrub    func(io.Writer) io.WriteCloser
	scrubbed io.WriteCloser // into out, except text that may become a secret; nil if nothing is held
	inKey    bool           // a private key has begun and not ended
	out      bytes.Buffer
	sent     time.Time
	wrote    time.Time // of the last output

	end  chan struct{}
	done chan struct{}
}

// follow starts to send progress, if the client asked for it.
func (r *runner) follow(ctx context.Context, limit time.Duration) *follower {
	f := &follower{report: tool.ReporterFrom(ctx), begun: time.Now(), limit: limit, end: make(chan struct{}),
		done: make(chan struct{})}
	if f.report == nil {
		close(f.done)
		return f
	}
	f.sent = f.begun
	if r.Scrub != nil {
		f.scrub = func(w io.Writer) io.WriteCloser { return r.Scrub(ctx, w) }
	}
	go f.tell(ctx)
	return f
}

// stop ends it and waits until its last message is sent.
func (f *follower) stop() {
	close(f.end)
	<-f.done
}

// watch takes output as it comes, without waiting.
func (f *follower) watch(s sandbox.Stream, data []byte) {
	if s > sandbox.Stderr {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := bytes.LastIndexAny(data, "\r\n") + 1
	if at == 0 {
		f.parts[s] = last(append(f.parts[s], data...), waitMost)
		return
	}
	f.waiting = append(append(f.waiting, f.parts[s]...), data[:at]...)
	f.waiting = last(f.waiting, waitMost)
	f.parts[s] = last(append(f.parts[s][:0], data[at:]...), waitMost)
}

// last returns at most so many bytes of the end of b.
func last(b []byte, most int) []byte {
	if len(b) <= most {
		return b
	}
	return append(b[:0], b[len(b)-most:]...)
}

func (f *follower) tell(ctx context.Context) {
	defer close(f.done)
	ticks := time.NewTicker(often)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.end:
			return
		case now := <-ticks.C:
			message := f.news(now)
			if message == "" && now.Sub(f.sent) < seldom {
				continue
			}
			f.sent = now
			f.report.Progress(now.Sub(f.begun).Seconds(), f.limit.Seconds(), message)
		}
	}
}

// write cleans and scrubs output.
func (f *follower) write(fresh []byte) {
	var clean bytes.Buffer
	c := terminal.NewCleaner(&clean)
	_, _ = c.Write(fresh) // into memory
	_ = c.Close()
	if f.scrub == nil {
		f.out.Write(clean.Bytes())
		return
	}
	if f.scrubbed == nil {
		f.scrubbed = f.scrub(&f.out)
	}
	begin := max(bytes.LastIndex(clean.Bytes(), []byte("--BEGIN ")),
		bytes.LastIndex(clean.Bytes(), []byte("-- BEGIN ")))
	end := max(bytes.LastIndex(clean.Bytes(), []byte("--END ")), bytes.LastIndex(clean.Bytes(), []byte("-- END ")))
	if begin != end { // neither is there
		f.inKey = begin > end
	}
	_, _ = f.scrubbed.Write(clean.Bytes())
}

// news returns the last whole lines that were not sent yet.
func (f *follower) news(now time.Time) string {
	f.mu.Lock()
	fresh := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	switch {
	case len(fresh) > 0:
		fresh[len(fresh)-1] = '\n' // also after a line that is going to be written over
		f.wrote = now
		f.write(fresh)
	case f.scrubbed == nil || f.inKey || now.Sub(f.wrote) < calm:
		return ""
	default:
		_ = f.scrubbed.Close() // into memory
		f.scrubbed = nil
	}
	text := f.out.Bytes()
	at := bytes.LastIndexByte(text, '\n') + 1
	lines := string(text[:at])
	f.out.Next(at)
	if from := len(lines) - newsMost; from > 0 {
		lines = lines[from+strings.IndexByte(lines[from-1:], '\n'):]
	}
	return strings.TrimRight(lines, "\n")
}
