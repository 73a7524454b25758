package telemetry

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A slowReader is a client that reads nothing until it is allowed to.
type slowReader struct {
	*httptest.ResponseRecorder
	arrived, resume chan struct{}
	deadline        time.Time
	once            sync.Once
}

func (s *slowReader) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slowReader) Write(text []byte) (int, error) {
	s.once.Do(func() {
		s.arrived <- struct{}{}
		<-s.resume
	})
	return s.ResponseRecorder.Write(text)
}

// TestScrapesAreLimited checks that slow clients cannot make the program hold many pages: only a few
// are served at the same time, each with a deadline.
func TestScrapesAreLimited(t *testing.T) {
	handler := testCalls(t, Config{}).Handler()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	arrived, resume, ended := make(chan struct{}), make(chan struct{}), make(chan *slowReader)
	before := time.Now()
	for range maxScrapes {
		go func() {
			slow := &slowReader{ResponseRecorder: httptest.NewRecorder(), arrived: arrived, resume: resume}
			handler.ServeHTTP(slow, req)
			ended <- slow
		}()
		<-arrived
	}
	status := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("one scrape too many is answered %d", got)
	}
	close(resume)
	for range maxScrapes {
		slow := <-ended
		if slow.Code != http.StatusOK {
			t.Errorf("a slow scrape is answered %d", slow.Code)
		}
		if slow.deadline.Before(before.Add(scrapeTimeout)) || slow.deadline.After(time.Now().Add(scrapeTimeout)) {
			t.Errorf("the deadline is %v after the scrape, want %v", slow.deadline.Sub(before), scrapeTimeout)
		}
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("the next scrape is answered %d", got)
	}
}
