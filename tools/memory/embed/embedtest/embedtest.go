// Package embedtest is for tests that need an embeddings endpoint: a server on this machine
// with the API. It counts requests and fails when a test wants it. Its encoder counts the words
// of a text. Some words mean the same; it knows nothing of grammar. Begin with [New].
package embedtest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// Dimensions is the default length of vectors.
const Dimensions = 768

// A Server is an endpoint.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	same     map[string]string // the meaning of a word
	texts    map[string]int    // how often each was encoded
	requests int
	handlers []http.HandlerFunc
	gate     func(texts []string)
}

// New starts an endpoint until the end of the test. Words of one group mean the
// same.
func New(t testing.TB, groups ...string) *Server {
	t.Helper()
	s := &Server{same: map[string]string{}, texts: map[string]int{}}
	for _, group := range groups {
		words := strings.Fields(group)
		for _, word := range words {
			s.same[word] = words[0]
		}
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Next has the next requests answered by handlers, one each.
func (s *Server) Next(handlers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, handlers...)
}

// Gate has a function called with the texts of each request before it is
// answered; nil ends that.
func (s *Server) Gate(gate func(texts []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
}

// Texts are the texts that were encoded, and how often each.
func (s *Server) Texts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := map[string]int{}
	for text, n := range s.texts {
		texts[text] = n
	}
	return texts
}

// Requests returns the number of requests.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Status is a handler that refuses with a message.
func Status(code int, message string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "test",
			"code": code}})
	}
}

// Body is a handler that answers something else.
func Body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

type embedding struct {
	Object    string    `json:"object"`
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model      string
		Input      []string
		Dimensions int
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Model == "" || len(asked.Input) == 0 {
		Status(http.StatusBadRequest, "the request makes no sense")(w, r)
		return
	}
	s.mu.Lock()
	s.requests++
	gate := s.gate
	var handler http.HandlerFunc
	if len(s.handlers) > 0 {
		handler, s.handlers = s.handlers[0], s.handlers[1:]
	}
	s.mu.Unlock()
	if gate != nil {
		gate(asked.Input)
	}
	if handler != nil {
		handler(w, r)
		return
	}
	if r.URL.Path != "/v1/embeddings" {
		Status(http.StatusNotFound, "there is nothing here")(w, r)
		return
	}
	if asked.Dimensions == 0 {
		asked.Dimensions = Dimensions
	}
	var list []embedding
	s.mu.Lock()
	for i, text := range asked.Input {
		s.texts[text]++
		list = append(list, embedding{"embedding", i, s.encode(text, asked.Dimensions)})
	}
	s.mu.Unlock()
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 { // the order is for the index to say
		list[i], list[j] = list[j], list[i]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list, "model": asked.Model})
}

// encode adds up a direction for each word, and weaker ones for its parts of
// three letters.
func (s *Server) encode(text string, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for _, word := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) < 3 {
			continue
		}
		if other, ok := s.same[word]; ok {
			word = other
		}
		spread(v, word, 1)
		for i := 0; i+3 <= len(word); i++ {
			spread(v, "\x00"+word[i:i+3], 0.2)
		}
	}
	v[0] += 0.1 // also of nothing
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// spread adds the direction of a word: a few numbers.
func spread(v []float32, word string, weight float32) {
	h := fnv.New64a()
	for i := range 6 {
		_, _ = h.Write([]byte{byte(i)})
		_, _ = h.Write([]byte(word))
		sum := h.Sum64()
		sign := float32(1)
		if sum>>63 == 1 {
			sign = -1
		}
		v[sum%uint64(len(v))] += sign * weight
	}
}
