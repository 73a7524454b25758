package blob_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
)

// An s3Server speaks as much of S3 as a Place uses. Its answers, and those to errors, were compared with versitygw.
type s3Server struct {
	mu      sync.Mutex
	objects map[string][]byte
	fault   atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // answers in place of the server
}

func newS3(t *testing.T) (*s3Server, *blob.S3) {
	t.Helper()
	fake := &s3Server{objects: map[string][]byte{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, s3At(t, server.URL, 5*time.Second)
}

// s3At returns the place in a fake server.
func s3At(t *testing.T, url string, patience time.Duration) *blob.S3 {
	t.Helper()
	place, err := blob.NewS3(blob.S3Options{
		Endpoint: url, Bucket: "bucket", Prefix: "mcp", PathStyle: true, Timeout: patience,
		Keys: func() (string, string, error) { return "test-key", "test-" + "value", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func (s *s3Server) fail(f func(w http.ResponseWriter, r *http.Request) bool) {
	if f == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&f)
}

// s3Error writes an error as S3 does.
func s3Error(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`,
		code, message)
}

func (s *s3Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.fault.Load(); f != nil && (*f)(w, r) {
		return
	}
	if !strings.Contains(r.Header.Get("Authorization"), "Credential=test-key/") {
		s3Error(w, http.StatusForbidden, "InvalidAccessKeyId", "The key does not exist.")
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
	if !ok {
		s3Error(w, http.StatusNotFound, "NoSuchBucket", "The bucket does not exist.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, found := s.objects[name]
	switch {
	case r.Method == http.MethodGet && name == "":
		s.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") == "*":
		s3Error(w, http.StatusPreconditionFailed, "PreconditionFailed", "A precondition did not hold.")
	case r.Method == http.MethodPut:
		body, err := readS3Body(r)
		if err != nil {
			s3Error(w, http.StatusBadRequest, "IncompleteBody", err.Error())
			return
		}
		s.objects[name] = body
		w.Header().Set("ETag", `"0"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		s3Error(w, http.StatusNotFound, "NoSuchKey", "The key does not exist.")
	default:
		w.Header().Set("ETag", `"0"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(string(data)))
	}
}

func (s *s3Server) list(w http.ResponseWriter, prefix string) {
	type object struct {
		Key          string
		Size         int
		LastModified string
	}
	answer := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}{}
	for name, data := range s.objects {
		if strings.HasPrefix(name, prefix) {
			answer.Contents = append(answer.Contents, object{name, len(data), "2026-01-31T00:00:00Z"})
		}
	}
	slices.SortFunc(answer.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

// readS3Body reads a body, which must not be in signed chunks.
func readS3Body(r *http.Request) ([]byte, error) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return nil, errors.New("some services return an object with the encoding of its chunks")
	}
	return io.ReadAll(r.Body)
}
