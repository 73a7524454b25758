package telemetry

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestScrapeIsCompressedWhenAsked(t *testing.T) {
	tests := []struct {
		accept []string
		zipped bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"identity"}, false},
		{[]string{"gzip"}, true},
		{[]string{"zstd, GZIP;q=0.5"}, true},
		{[]string{"br", "deflate , gzip ; q=1.0"}, true},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip; q=0.000, *"}, false},
		{[]string{"gzip;q=much"}, false},
		{[]string{"gzipped, x"}, false},
	}
	server := httptest.NewServer(testCalls(t, Config{}).Handler())
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	for _, tt := range tests {
		t.Run(strings.Join(tt.accept, "+"), func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Accept-Encoding"] = tt.accept
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if zipped := resp.Header.Get("Content-Encoding") == "gzip"; zipped != tt.zipped {
				t.Errorf("compressed: %t, want %t", zipped, tt.zipped)
			}
			got, vary := resp.Header.Get("Content-Type"), resp.Header.Get("Vary")
			if got != "text/plain; version=0.0.4; charset=utf-8" || vary != "Accept-Encoding" {
				t.Errorf("the headers are %v", resp.Header)
			}
			body := io.Reader(resp.Body)
			if tt.zipped {
				if body, err = gzip.NewReader(resp.Body); err != nil {
					t.Fatal(err)
				}
			}
			text, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parsePage(string(text)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A slowReader is a client that reads nothing until it is allowed to.
type slowReader struct {
	*httptest.ResponseRecorder
	arrived, resume chan struct{}
	deadline        time.Time
}

func (s *slowReader) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slowReader) Write(text []byte) (int, error) {
	s.arrived <- struct{}{}
	<-s.resume
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
