package console

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
)

const (
	// eventGap is the least time between two events: a page is not loaded again more often.
	eventGap = time.Second
	// stillHere is how often a stream says that it lives, so that proxies keep it, and that
	// it is checked whether the session does.
	stillHere = 20 * time.Second
	// maxStreams is how many streams a session has at once.
	maxStreams = 30
)

// events sends an event when the data of a page may have changed, until the client goes.
func (c *Console) events(w http.ResponseWriter, r *Request) {
	topics := []string{ask.Topic, pauses.Topic, bridgeTopic} // of the head of every page
	for _, p := range pages() {
		if p.Template == r.URL.Query().Get("of") && r.sees(p) {
			topics = append(topics, p.Topics...)
		}
	}
	if r.session.streams.Add(1) > maxStreams {
		r.session.streams.Add(-1)
		http.Error(w, "too many open pages", http.StatusTooManyRequests)
		return
	}
	defer r.session.streams.Add(-1)
	changed, end := r.Store().Watch(topics...)
	defer end()
	_ = r.attend() // a store that fails is shown by the pages
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) error {
		_, err := fmt.Fprint(w, text)
		return errors.Join(control.SetWriteDeadline(time.Now().Add(writeLimit)), err, control.Flush())
	}
	_ = control.SetReadDeadline(time.Time{}) // else it would end the stream
	if send("retry: 3000\n\n") != nil {
		return
	}
	tick := time.NewTicker(stillHere)
	defer tick.Stop()
	for {
		text := ""
		select {
		case <-r.Context().Done():
			return
		case <-c.ended.Done():
			_ = send("event: ended\ndata: -\n\n") // else the client has gone first
			return
		case <-changed:
			c.held.forget()
			text = "event: changed\ndata: -\n\n"
		case <-tick.C:
			if r.session.valid != nil && !r.session.valid(r.Context()) {
				return
			}
			_ = r.attend()
			text = ": still here\n\n"
		}
		if send(text) != nil {
			return
		}
		select { // several changes are one event
		case <-time.After(eventGap):
		case <-r.Context().Done():
			return
		case <-c.ended.Done():
		}
	}
}

// attend records that a person is present to see new questions.
func (r *Request) attend() error {
	if r.Store().Missing() {
		return nil
	}
	return approvals.New(approvals.Options{DB: r.Store()}).MarkAttended(r.Context())
}
