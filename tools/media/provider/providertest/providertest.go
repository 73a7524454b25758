// Package providertest has a server that answers as the providers of media do, and keeps the
// requests. Begin with [New].
package providertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// A Server answers requests. Requests that nothing was said about fail the test.
type Server struct {
	URL string

	t       testing.TB
	mu      sync.Mutex
	replies map[string][]Reply
	got     []Request
}

// A Request is a request to the server.
type Request struct {
	Method, Path string // with the query
	Header       http.Header
	Body         []byte
}

// A Reply is a response.
type Reply struct {
	Status int // 0 is 200
	Header map[string]string
	Body   any           // a string or []byte, or a value for JSON; "{{url}}" in it is the URL of the server
	Length int64         // of the body as the header says; 0 is its length
	Wait   chan struct{} // the response is sent when it is closed; nil: at once
	Hook   func()        // is called before
	Break  bool          // the connection is closed without a response
}

// New starts a server until the end of the test.
func New(t testing.TB) *Server {
	s := &Server{t: t, replies: map[string][]Reply{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// On sets the replies to requests with a method and a path, such as "POST /v1/videos".
// They are sent one after the other; the last one stays.
func (s *Server) On(what string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[what] = replies
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has ended
	}
	reply, ok := s.next(Request{r.Method, r.URL.RequestURI(), r.Header.Clone(), body})
	if !ok {
		s.t.Errorf("unexpected request %s %s", r.Method, r.URL.RequestURI())
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if reply.Hook != nil {
		reply.Hook()
	}
	if reply.Wait != nil {
		select {
		case <-reply.Wait:
		case <-r.Context().Done():
			return
		}
	}
	if reply.Break {
		panic(http.ErrAbortHandler)
	}
	var content []byte
	switch b := reply.Body.(type) {
	case nil:
	case []byte:
		content = b
	case string:
		content = []byte(b)
	default:
		if content, err = json.Marshal(b); err != nil {
			s.t.Error(err)
		}
		content = []byte(strings.ReplaceAll(string(content), "{{url}}", s.URL))
		w.Header().Set("Content-Type", "application/json")
	}
	for name, value := range reply.Header {
		w.Header().Set(name, strings.ReplaceAll(value, "{{url}}", s.URL))
	}
	if reply.Length != 0 {
		w.Header().Set("Content-Length", fmt.Sprint(reply.Length))
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	_, _ = w.Write(content) // the client may have ended
}

func (s *Server) next(r Request) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r)
	path, _, _ := strings.Cut(r.Path, "?")
	key := r.Method + " " + path
	list := s.replies[key]
	if len(list) == 0 {
		return Reply{}, false
	}
	if len(list) > 1 {
		s.replies[key] = list[1:]
	}
	return list[0], true
}

// Got returns the requests until now.
func (s *Server) Got() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Count returns how many requests with a method and a path there were.
func (s *Server) Count(what string) (n int) {
	for _, r := range s.Got() {
		path, _, _ := strings.Cut(r.Path, "?")
		if r.Method+" "+path == what {
			n++
		}
	}
	return n
}

// Client returns a client that reaches the servers, and public hosts.
func Client(t testing.TB, servers ...*Server) outbound.Client {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	return egresstest.Local(t, urls...)
}

// PNG returns the beginning of a picture, as far as its type depends on it.
func PNG() []byte { return []byte("\x89PNG\r\n\x1a\n-picture") }

// MP3 is PNG for sound.
func MP3() []byte { return []byte("ID3\x04-sound") }

// MP4 is PNG for video.
func MP4() []byte { return []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom-video") }
