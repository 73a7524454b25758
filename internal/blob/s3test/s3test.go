// Package s3test has an S3 server for tests: one in memory, or a proxy in front of another one. Tests make it fail.
// It knows as much of S3 as [blob.S3] uses. Begin with [Server].
package s3test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The bucket of a Server, and the key that may use it.
const (
	Bucket = "bucket"
	Key    = "test-key"
	Secret = "test-" + "value"
)

// A Server speaks as much of S3 as a Place uses. Its answers, and those to errors, were compared with versitygw. It is a
// handler, for httptest.NewServer.
type Server struct {
	Behind http.Handler // the server that has the objects; nil: this one has them

	mu      sync.Mutex
	objects map[string][]byte
	fault   atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // answers in place of the server
}

// Fail sets the function that may answer in place of the server; nil: none does. It reports whether it has answered.
func (s *Server) Fail(f func(w http.ResponseWriter, r *http.Request) bool) {
	if f == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&f)
}

// s3Error writes an error as S3 does.
func Error(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`,
		code, message)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.fault.Load(); f != nil && (*f)(w, r) {
		return
	}
	if s.Behind != nil {
		s.Behind.ServeHTTP(w, r)
		return
	}
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+Key+"/") {
		Error(w, http.StatusForbidden, "InvalidAccessKeyId", "The key does not exist.")
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/"+Bucket+"/")
	if !ok {
		Error(w, http.StatusNotFound, "NoSuchBucket", "The bucket does not exist.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string][]byte{}
	}
	data, found := s.objects[name]
	switch {
	case r.Method == http.MethodGet && name == "":
		s.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") == "*":
		Error(w, http.StatusPreconditionFailed, "PreconditionFailed", "A precondition did not hold.")
	case r.Method == http.MethodPut:
		body, err := readBody(r)
		if err != nil {
			Error(w, http.StatusBadRequest, "IncompleteBody", err.Error())
			return
		}
		s.objects[name] = body
		w.Header().Set("ETag", `"0"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		Error(w, http.StatusNotFound, "NoSuchKey", "The key does not exist.")
	default:
		w.Header().Set("ETag", `"0"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(string(data)))
	}
}

func (s *Server) list(w http.ResponseWriter, prefix string) {
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

// readBody reads a body, which must not be in signed chunks.
func readBody(r *http.Request) ([]byte, error) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return nil, errors.New("some services return an object with the encoding of its chunks")
	}
	return io.ReadAll(r.Body)
}
