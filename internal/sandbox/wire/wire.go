// Package wire is what the server and an agent in a sandbox say to each other:
// frames with a kind, the number of a command, and a body that is JSON or the
// bytes of a stream. It knows no processes and no walls. The far side is not to
// be trusted: a frame that is too long or of an unknown kind ends the talk.
//
// Begin with the kinds below; [Reader] and [Writer] carry them.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Version must be the same on both sides.
const Version = 1

// A Kind says what a frame is about.
type Kind uint8

// What the server sends.
const (
	Start    Kind = 1 + iota // a StartBody: run a command under this number
	Input                    // bytes for its stdin
	InputEnd                 // there is no more
	Kill                     // end it and all that it has started
	Resize                   // a Size: of its terminal
	Drop                     // forget it: nobody wants to hear of it any more
)

// What the agent sends.
const (
	Hello   Kind = 64 + iota // a HelloBody, first of all
	Started                  // a StartedBody
	Refused                  // a RefusedBody: it could not be started
	Stdout                   // bytes
	Stderr                   // bytes
	Exited                   // an ExitBody: the command itself has ended
	Gone                     // and now all that it has started, and its streams are closed
	Taken                    // how many bytes of Input it has taken since: four of them, big-endian
)

const (
	// MaxData bounds the bytes of a stream in one frame.
	MaxData = 32 << 10
	// Window bounds the bytes of Input that are sent and not yet Taken.
	Window = 1 << 20
	// MaxBody bounds any frame.
	MaxBody = 4 << 20
	header  = 9
)

// A StartBody is a command.
type StartBody struct {
	Argv    []string
	Dir     string
	Env     []string
	Input   bool // stdin is what comes as Input; else it is empty
	Merge   bool // stderr goes where stdout goes
	TTY     *Size
	Timeout time.Duration // 0: none
	Limits  Limits
}

// Limits of a command. Zero means none.
type Limits struct {
	Memory    int64 // bytes that the command and all that it starts have in memory
	Processes int   // that it may have at a time
	FileSize  int64
	CPUTime   time.Duration // of each process
	OpenFiles int
}

// A Size is that of a terminal.
type Size struct{ Rows, Cols uint16 }

// A HelloBody says who is there.
type HelloBody struct {
	Version int
	PID     int
	UID     int
}

// A StartedBody says that a command runs.
type StartedBody struct{ PID int }

// A RefusedBody says why a command does not run.
type RefusedBody struct {
	NoProgram bool // there is no such program
	NoDir     bool
	Error     string
}

// An ExitBody says how a command ended.
type ExitBody struct {
	Code     int    // 128 and its number for a signal
	Signal   string // such as SIGKILL; "" when it ended by itself
	TimedOut bool
	Killed   bool   // because of a Kill
	Starved  string // what it took too much of: memory, processes
	Left     int    // processes that it started and that still run
	Took     time.Duration
	CPU      time.Duration
	Memory   int64 // the most at a time
}

// A Frame is one message. Body is good until the next one is read.
type Frame struct {
	Kind Kind
	ID   uint32
	Body []byte
}

// Decode reads a body that is JSON.
func (f Frame) Decode(into any) error {
	if err := json.Unmarshal(f.Body, into); err != nil {
		return fmt.Errorf("a frame of kind %d: %w", f.Kind, err)
	}
	return nil
}

// ErrTooLong ends a talk with somebody who sends frames beyond what is agreed.
var ErrTooLong = errors.New("a frame is too long")

// A Reader reads frames, for one goroutine.
type Reader struct {
	from *bufio.Reader
	body []byte
	most uint32
}

// NewReader reads frames from r whose bodies have at most so many bytes, and
// never more than MaxBody.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 64<<10), most: uint32(min(most, MaxBody))}
}

// Next returns the next frame, or io.EOF at the end of the talk.
func (r *Reader) Next() (Frame, error) {
	var head [header]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(head[5:])
	if size > r.most {
		return Frame{}, ErrTooLong
	}
	if int(size) > cap(r.body) {
		r.body = make([]byte, size)
	}
	r.body = r.body[:size]
	if _, err := io.ReadFull(r.from, r.body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Kind: Kind(head[0]), ID: binary.BigEndian.Uint32(head[1:]), Body: r.body}, nil
}

// A Writer writes frames, each whole, for any number of goroutines.
type Writer struct {
	mu  sync.Mutex
	to  io.Writer
	buf []byte
}

// NewWriter writes frames to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Send writes a frame with a body of bytes.
func (w *Writer) Send(k Kind, id uint32, body []byte) error {
	return w.SendAll(Frame{k, id, body})
}

// SendAll writes frames with nothing between them.
func (w *Writer) SendAll(frames ...Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = w.buf[:0]
	for _, f := range frames {
		if len(f.Body) > MaxBody {
			return ErrTooLong
		}
		w.buf = append(w.buf, byte(f.Kind))
		w.buf = binary.BigEndian.AppendUint32(w.buf, f.ID)
		w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(f.Body)))
		w.buf = append(w.buf, f.Body...)
	}
	_, err := w.to.Write(w.buf)
	if cap(w.buf) > 4*MaxData {
		w.buf = nil // a rare large one must not stay
	}
	return err
}

// SendJSON writes a frame whose body is v.
func (w *Writer) SendJSON(k Kind, id uint32, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Send(k, id, body)
}
