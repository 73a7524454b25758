// Package wire is the protocol between the server and an agent in a sandbox: frames
// with a kind, the number of a command, and a body of JSON or bytes of a stream. It
// does not know processes or isolation. The server does not trust the agent: a frame
// that is too long or of an unknown kind ends the connection.
//
// Begin with the kinds below; [Reader] and [Writer] read and write them.
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
const Version = 5

// A Kind is the type of a frame.
type Kind uint8

// The kinds that the server sends.
const (
	Start    Kind = 1 + iota // a StartBody: run a command with this number
	Input                    // bytes for stdin
	InputEnd                 // end of stdin
	Kill                     // kill the command and all its descendants
	Drop                     // send no more frames about the command
	// Dial connects to a port of the sandbox: its body is a DialBody. The connection has a
	// number as a command has one: Input and InputEnd write to it, Kill closes it. The agent
	// answers with Started or Refused, sends the bytes from the port as Stdout, and Exited and
	// Gone at the end.
	Dial
	Read // number of bytes of a connection's Stdout that were taken since the last Read: uint32, big-endian
	Ping // the agent answers with Pong
)

// The kinds that the agent sends.
const (
	Hello      Kind = 64 + iota // a HelloBody: the first frame
	Started                     // a StartedBody
	Refused                     // a RefusedBody: the command could not be started
	Stdout                      // bytes
	Stderr                      // bytes
	Exited                      // an ExitBody: the command itself has ended
	Gone                        // all descendants have ended too, and the streams are closed
	Taken                       // number of bytes of Input that were taken since the last Taken: uint32, big-endian
	OutSkipped                  // number of bytes of stdout that are not sent: uint64, big-endian
	ErrSkipped                  // the same of stderr
	// Connect begins a connection to the proxy of the server, for a command. Its number has FromAgent set. It goes on
	// like one that Dial has made: Stdout carries the bytes from the command, Exited the end of them, and Input the
	// answer of the proxy.
	Connect
	Pong
)

// FromAgent is set in the numbers that the agent gives, and in no number of the server.
const FromAgent uint32 = 1 << 31

const (
	// MaxData is the maximum number of bytes of a stream in one frame.
	MaxData = 32 << 10
	// Window is the maximum number of bytes of Input that are sent but not Taken, and of
	// Stdout of a connection that are sent but not Read.
	Window = 1 << 20
	// MaxBody is the maximum length of any body.
	MaxBody = 4 << 20
	header  = 9
)

// A StartBody describes a command.
type StartBody struct {
	Argv  []string
	Dir   string
	Env   []string
	Input bool // stdin is sent as Input; otherwise it is empty
	Merge bool // stderr is written to stdout
	// The agent sends the first bytes of stdout and stderr as they come. Of the bytes after
	// them it may send only the last, after a Skipped.
	Stdout, Stderr Ends
	TTY            *Size
	Timeout        time.Duration // 0: no timeout
	Grace          time.Duration // from SIGTERM to SIGKILL; 0: the agent's default
	Limits         Limits
	User           int // a user and group for the command, if the agent is root; 0: the agent's
}

// A DialBody describes a connection: to a port, or to the copies of files that the agent keeps (package mirror).
type DialBody struct {
	Port  uint16
	Files bool
}

// Ends are the head and the tail of a stream, in bytes. Zero means the whole stream.
type Ends struct{ Head, Tail int64 }

// Limits are the limits of a command. Zero means no limit.
type Limits struct {
	Memory    int64 // bytes of memory of the command and its descendants
	Processes int   // maximum number of concurrent processes
	FileSize  int64
	CPUTime   time.Duration // for each process
}

// A Size is the size of a terminal.
type Size struct{ Rows, Cols uint16 }

// A HelloBody describes the agent.
type HelloBody struct {
	Version int
	PID     int
	UID     int
}

// A StartedBody reports that a command runs.
type StartedBody struct{ PID int }

// A RefusedBody reports why a command was not started.
type RefusedBody struct {
	NoProgram bool // the program was not found
	NoDir     bool
	NoServer  bool // nothing listens on the port
	Error     string
}

// An ExitBody reports how a command ended.
type ExitBody struct {
	Code          int    // 128 plus the signal number after a signal
	Signal        string // such as SIGKILL; "" after a normal exit
	TimedOut      bool
	Killed        bool   // after a Kill
	LimitExceeded string // the limit that it exceeded: memory or processes
	Left          int    // descendants that still run
	Took          time.Duration
	CPU           time.Duration
	Memory        int64 // peak use in bytes
}

// A Frame is one message. Body is valid until the next one is read.
type Frame struct {
	Kind Kind
	ID   uint32
	Body []byte
}

// Decode decodes a JSON body.
func (f Frame) Decode(into any) error {
	if err := json.Unmarshal(f.Body, into); err != nil {
		return fmt.Errorf("a frame of kind %d: %w", f.Kind, err)
	}
	return nil
}

// ErrTooLong means that the other side sent a frame that exceeds the limit.
var ErrTooLong = errors.New("a frame is too long")

// A Reader reads frames. It is for one goroutine.
type Reader struct {
	from *bufio.Reader
	body []byte
	most uint32
}

// NewReader returns a reader of frames whose bodies have at most most bytes, and never
// more than MaxBody.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 64<<10), most: uint32(min(most, MaxBody))}
}

// Next returns the next frame, or io.EOF at the end.
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

// A Writer writes whole frames. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	to  io.Writer
	buf []byte
}

// NewWriter returns a writer of frames to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Send writes a frame with a body of bytes.
func (w *Writer) Send(k Kind, id uint32, body []byte) error {
	return w.SendAll(Frame{k, id, body})
}

// SendAll writes frames without frames of other goroutines in between.
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
		w.buf = nil // do not keep a large buffer
	}
	return err
}

// SendJSON writes a frame whose body is the JSON of v.
func (w *Writer) SendJSON(k Kind, id uint32, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Send(k, id, body)
}
