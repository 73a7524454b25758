package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A stream is the answer to one HTTP request: a single JSON document, unless
// something must be said before it; then it becomes a stream of events.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	gone     <-chan struct{}
	accepted bool // the client takes event streams

	mu     sync.Mutex
	events bool // it has become a stream of events
	over   bool // the request has been dealt with, and w is no longer ours
}

var errStreamOver = errors.New("the stream has ended")

// end must be called before the handler of the request returns, if another
// goroutine may still hold the stream.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	hurry(s.w)
}

const (
	// writeLimit is how long a client may leave a message unread.
	writeLimit = 30 * time.Second
	// keepAlive is how often a quiet stream says that it is alive, so that
	// what stands in between does not cut it.
	keepAlive = 20 * time.Second
)

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	accept := r.Header.Get("Accept")
	control := http.NewResponseController(w)
	if r.ProtoMajor > 1 {
		// What is done before the first message may take long, and HTTP/2 ends
		// a stream when its deadline passes, written to or not. Where there is
		// no deadline to lift, none was set.
		_ = control.SetWriteDeadline(time.Time{})
	}
	return &stream{
		w: w, control: control, gone: r.Context().Done(),
		accepted: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*"),
	}
}

// sender passes on what comes before the answer. It is nil for a client that
// takes no event streams: that one does without, and cannot be asked anything.
func (s *stream) sender() func(msg []byte) error {
	if !s.accepted {
		return nil
	}
	return s.send
}

func (s *stream) send(msg []byte) error { return s.event("", msg) }

func (s *stream) event(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errStreamOver
	}
	s.open()
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(data) // JSON as we write it has no line breaks
	b.WriteString("\n\n")
	return s.write(b.Bytes())
}

// open turns the response into a stream of events.
func (s *stream) open() {
	if s.events {
		return
	}
	s.events = true
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(b []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	// HTTP/2 ends a stream when its deadline passes, written to or not.
	return s.control.SetWriteDeadline(time.Time{})
}

// finish sends the answer. nil means that none is wanted: the request was
// cancelled, or held only notifications.
func (s *stream) finish(reply []byte, modern bool) {
	s.mu.Lock()
	events := s.events
	s.mu.Unlock()
	hurry(s.w)
	switch {
	case reply == nil && events:
	case reply == nil:
		s.w.WriteHeader(http.StatusAccepted)
	case events:
		_ = s.event("", reply) // if this fails, the client has gone
		hurry(s.w)
	default:
		s.w.Header().Set("Content-Type", "application/json")
		if modern {
			s.w.WriteHeader(statusOf(faultCode(reply)))
		}
		_, _ = s.w.Write(reply) // likewise
	}
}

// faultCode is the code of an error reply, 0 for a result.
func faultCode(reply []byte) int {
	if !bytes.Contains(reply[:min(len(reply), 300)], []byte(`,"error":`)) {
		return 0
	}
	var answer struct{ Error struct{ Code int } }
	if json.Unmarshal(reply, &answer) != nil {
		return 0
	}
	return answer.Error.Code
}

// stay opens an event stream and keeps it open until the client goes, one of
// two other ends comes, or the client is no longer let in.
func (s *stream) stay(admitted func() bool, end, other <-chan struct{}) {
	s.mu.Lock()
	s.open()
	err := s.write([]byte(": hello\n\n"))
	s.mu.Unlock()
	if err == nil {
		s.tend(admitted, end, other)
	}
}

// tend looks after an open stream: what stands in between must not take its
// silence for death, and who is no longer let in must not go on listening.
func (s *stream) tend(admitted func() bool, end, other <-chan struct{}) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-end:
			return
		case <-other:
			return
		case <-tick.C:
			if !admitted() || s.beat() != nil {
				return
			}
		}
	}
}

// beat sends a keep-alive on a stream of events, unless another goroutine is
// writing to it.
func (s *stream) beat() error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if !s.events || s.over {
		return nil
	}
	return s.write([]byte(": still here\n\n"))
}
