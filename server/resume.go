package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An eventLog keeps the last events of the POST streams of a session, so that a client that
// lost its connection gets the missed events with a GET and Last-Event-ID. The zero eventLog is
// empty.
type eventLog struct {
	mu      sync.Mutex
	last    int // number of the last stream
	streams []*loggedStream
	size    int // bytes of all events
}

// A loggedStream has the events of the response to one POST. Event n has the id
// STREAM-n, counting from 1.
type loggedStream struct {
	number  int
	count   int
	events  [][]byte // the last of them
	ended   bool
	changed chan struct{} // closed when there is more
}

const (
	// maxLogged bounds the events that are kept for a session, in bytes, and
	// maxStreams their streams. The oldest are dropped first.
	maxLogged  = 1 << 20
	maxStreams = 100
	// resumeAfter is how long a call runs before its client gets an id to resume
	// with, if there was no other event.
	resumeAfter = time.Second
)

// open begins a stream.
func (l *eventLog) open() *loggedStream {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	s := &loggedStream{number: l.last, changed: make(chan struct{})}
	l.streams = append(l.streams, s)
	l.drop()
	return s
}

// drop drops the oldest streams until the others are within the bounds.
func (l *eventLog) drop() {
	for ; l.size > maxLogged || len(l.streams) > maxStreams; l.streams = l.streams[1:] {
		for _, event := range l.streams[0].events {
			l.size -= len(event)
		}
		l.streams[0].events = nil
	}
}

// add adds an event to a stream and returns its id.
func (l *eventLog) add(s *loggedStream, data []byte) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.count++
	s.events = append(s.events, data)
	s.notify()
	if slices.Contains(l.streams, s) { // otherwise it was dropped
		l.size += len(data)
	}
	l.drop()
	return s.id(s.count)
}

// end marks a stream that gets no further events.
func (l *eventLog) end(s *loggedStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ended = true
	s.notify()
}

func (s *loggedStream) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *loggedStream) id(n int) string { return strconv.Itoa(s.number) + "-" + strconv.Itoa(n) }

// find returns the stream and the number of the event with an id, or nil if the
// stream is not kept.
func (l *eventLog) find(id string) (s *loggedStream, n int) {
	stream, event, _ := strings.Cut(id, "-")
	number, err := strconv.Atoi(stream)
	if n, errEvent := strconv.Atoi(event); err == nil && errEvent == nil && n >= 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, s := range l.streams {
			if s.number == number && n <= s.count {
				return s, n
			}
		}
	}
	return nil, 0
}

// after returns the events of a stream after the first n, whether it has ended,
// and a channel that is closed when there is more.
func (l *eventLog) after(s *loggedStream, n int) (events [][]byte, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.events[max(0, len(s.events)-(s.count-n)):], s.ended, s.changed
}

// resume continues the stream of a POST after the event with an id.
func (h *HTTP) resume(w http.ResponseWriter, out *stream, s *session, id string) {
	logged, n := s.events.find(id)
	if logged == nil {
		writeText(w, http.StatusBadRequest, "the events after this Last-Event-ID are not kept; send the request again")
		return
	}
	if out.comment("resumed") != nil {
		return
	}
	for {
		events, ended, changed := s.events.after(logged, n)
		for _, data := range events {
			n++
			if out.write(encodeEvent("", logged.id(n), data)) != nil {
				return
			}
		}
		if ended {
			return
		}
		select {
		case <-changed:
		case <-out.gone:
			return
		case <-s.ended:
			return
		case <-h.Server.closing.Done():
			return
		}
	}
}
