package box_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A stage set for an agent of which the test decides what it says.
type scripted struct {
	io.Reader
	heard io.Writer
	once  sync.Once
	close func()
}

func (s *scripted) Write(p []byte) (int, error)     { return s.heard.Write(p) }
func (s *scripted) Close() error                    { s.once.Do(s.close); return nil }
func (s *scripted) Guarantees() []sandbox.Guarantee { return nil }

// script returns a link, what the far side hears, and where it speaks.
func script() (link *scripted, hears *io.PipeReader, speaks *io.PipeWriter) {
	in, speaks := io.Pipe()
	hears, out := io.Pipe()
	return &scripted{Reader: in, heard: out, close: func() {
		in.Close()
		out.Close()
		hears.Close()
		speaks.Close()
	}}, hears, speaks
}

// A strict sink fails when it is told things in a wrong order.
type strict struct {
	mu           sync.Mutex
	exited, gone bool
	wrong        string
}

func (s *strict) note(wrong bool, what string) {
	if wrong {
		s.wrong += what + " "
	}
}

func (s *strict) Output(_ sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(s.gone || len(data) > wire.MaxData, "output")
}

func (s *strict) Skipped(_ sandbox.Stream, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(s.gone || n < 0, "skipped")
}

func (s *strict) Exited(wire.ExitBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(s.gone || s.exited, "exited")
	s.exited = true
}

func (s *strict) Gone(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(s.gone || !s.exited && err == nil, "gone")
	s.gone = true
}

func frame(k wire.Kind, id uint32, body any) []byte {
	var b bytes.Buffer
	w := wire.NewWriter(&b)
	var err error
	switch body := body.(type) {
	case nil:
		err = w.Send(k, id, nil)
	case []byte:
		err = w.Send(k, id, body)
	default:
		err = w.SendJSON(k, id, body)
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

var hello = frame(wire.Hello, 0, wire.HelloBody{Version: wire.Version})

// speak lets an agent say something after its hello, while three commands are
// being started, and returns how they fared.
func speak(t *testing.T, says []byte) (*box.Box, []*strict) {
	t.Helper()
	link, hears, speaks := script()
	go func() { _, _ = speaks.Write(hello) }()
	b, err := box.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		frames := wire.NewReader(hears, wire.MaxBody)
		for n := 0; ; {
			f, err := frames.Next()
			if err != nil {
				return
			}
			if f.Kind == wire.Start {
				if n++; n == 3 {
					close(asked)
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	sinks := []*strict{{}, {}, {}}
	var all sync.WaitGroup
	for _, s := range sinks {
		all.Go(func() {
			if c, err := b.Start(ctx, sh("true"), s); err == nil {
				_ = c.Input(ctx, []byte("input"))
				_ = c.Kill()
			}
		})
	}
	<-asked
	_, _ = speaks.Write(says)
	speaks.Close()
	all.Wait()
	wait(t, "done", b.Done())
	return b, sinks
}

func judge(t *testing.T, b *box.Box, sinks []*strict) {
	t.Helper()
	if err := b.Err(); !errors.Is(err, box.ErrLost) {
		t.Errorf("lost: %v", err)
	}
	if b.Live() != 0 {
		t.Errorf("%d live in what is lost", b.Live())
	}
	for i, s := range sinks {
		if s.wrong != "" {
			t.Errorf("command %d was told in a wrong order: %s", i+1, s.wrong)
		}
	}
}

func TestAgentsThatCannotBeTrusted(t *testing.T) {
	started := frame(wire.Started, 1, wire.StartedBody{PID: 7})
	exited := frame(wire.Exited, 1, wire.ExitBody{})
	gone := frame(wire.Gone, 1, nil)
	for _, c := range []struct {
		name string
		says [][]byte
	}{
		{"nothing", nil},
		{"an unknown command", [][]byte{frame(wire.Stdout, 99, []byte("x"))}},
		{"output before the start", [][]byte{frame(wire.Stdout, 1, []byte("x"))}},
		{"an end before the start", [][]byte{exited}},
		{"gone before the end", [][]byte{started, gone}},
		{"started twice", [][]byte{started, started}},
		{"refused after the start", [][]byte{started, frame(wire.Refused, 1, wire.RefusedBody{})}},
		{"ended twice", [][]byte{started, exited, exited}},
		{"output of what is gone", [][]byte{started, exited, gone, frame(wire.Stdout, 1, []byte("x"))}},
		{"gone twice", [][]byte{started, exited, gone, gone}},
		{"a second hello", [][]byte{hello}},
		{"what only the server says", [][]byte{started, frame(wire.Kill, 1, nil)}},
		{"an unknown kind", [][]byte{started, frame(200, 1, nil)}},
		{"no JSON", [][]byte{frame(wire.Started, 1, []byte("{"))}},
		{"other JSON", [][]byte{started, frame(wire.Exited, 1, []byte(`{"Code":"x"}`))}},
		{"more taken than was sent", [][]byte{started, frame(wire.Taken, 1, []byte{255, 255, 255, 255})}},
		{"taken without a number", [][]byte{started, frame(wire.Taken, 1, nil)}},
		{"too much output in a frame", [][]byte{started, frame(wire.Stdout, 1, make([]byte, wire.MaxData+1))}},
		{"half a number of skipped bytes", [][]byte{started, frame(wire.OutSkipped, 1, make([]byte, 4))}},
		{"too much was skipped", [][]byte{started, frame(wire.ErrSkipped, 1, bytes.Repeat([]byte{0x0F}, 8)),
			frame(wire.OutSkipped, 1, bytes.Repeat([]byte{0x0F}, 8))}},
		{"a frame without end", [][]byte{started, frame(wire.Stdout, 1, []byte("0123456789"))[:12]}},
		{"a frame of 4 GB", [][]byte{started, {byte(wire.Stdout), 0, 0, 0, 1, 255, 255, 255, 255}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, sinks := speak(t, bytes.Join(c.says, nil))
			judge(t, b, sinks)
		})
	}
}

func TestHellosThatAreNone(t *testing.T) {
	for name, says := range map[string][]byte{
		"nothing":         nil,
		"another frame":   frame(wire.Started, 0, wire.StartedBody{}),
		"another version": frame(wire.Hello, 0, wire.HelloBody{Version: wire.Version + 1}),
		"no JSON":         frame(wire.Hello, 0, []byte("hello")),
	} {
		t.Run(name, func(t *testing.T) {
			link, _, speaks := script()
			go func() {
				_, _ = speaks.Write(says)
				speaks.Close()
			}()
			if _, err := box.Open(t.Context(), link); !errors.Is(err, box.ErrLost) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		link, _, _ := script()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := box.Open(ctx, link); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func FuzzWhatAnAgentSays(f *testing.F) {
	body, err := json.Marshal(wire.ExitBody{Code: 1, Left: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add(bytes.Join([][]byte{frame(wire.Started, 1, wire.StartedBody{PID: 1}), frame(wire.Stdout, 1, []byte("text")),
		frame(wire.Taken, 1, []byte{0, 0, 0, 5}), frame(wire.Exited, 1, body), frame(wire.Stderr, 1, []byte("late")),
		frame(wire.Gone, 1, nil)}, nil))
	f.Add(bytes.Join([][]byte{frame(wire.Refused, 2, wire.RefusedBody{NoDir: true, Error: "no"}),
		frame(wire.Started, 3, wire.StartedBody{}), frame(wire.Exited, 3, body)}, nil))
	f.Add([]byte{66, 0, 0, 0, 1, 0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, says []byte) {
		b, sinks := speak(t, says)
		judge(t, b, sinks)
	})
}
