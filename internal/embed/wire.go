package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// request and response are the bodies of the API.
type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Format     string   `json:"encoding_format"`
}

type response struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

const (
	maxDimensions = 16 << 10
	perNumber     = 28 // bytes of a number in JSON, with what surrounds it
	maxErrorBody  = 64 << 10
	maxMessage    = 300 // bytes of an endpoint's message about an error
)

// A refusal is a response with an error status.
type refusal struct {
	status  int
	message string
	after   time.Duration // when the endpoint asks to be called again
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("the embeddings endpoint returned status %d", r.status)
	if r.message != "" {
		text += ": " + r.message
	}
	return text
}

// ofInput reports whether the endpoint may accept other texts.
func (r *refusal) ofInput() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// errResponse means an invalid response, for which a retry does not help.
var errResponse = errors.New("the response of the embeddings endpoint is invalid")

// temporary reports whether a retry may help.
func temporary(err error) bool {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return refused.status == http.StatusTooManyRequests || refused.status == http.StatusRequestTimeout ||
			refused.status >= 500
	}
	return !errors.Is(err, errResponse)
}

// ask sends one request.
func (c *Client) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(request{c.o.Model, texts, c.o.Dimensions, "float"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.URL+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the embeddings endpoint is invalid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "mcp-tools")
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the embeddings endpoint: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp, c.o.Key)
	}
	most := int64(64<<10 + len(texts)*maxDimensions*perNumber)
	text, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the response of the embeddings endpoint: %w", err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("%w: it has more than %d bytes", errResponse, most)
	}
	return c.read(text, len(texts))
}

// read returns the vectors of a response, in the order of the texts.
func (c *Client) read(text []byte, count int) ([][]float32, error) {
	wrong := func(format string, args ...any) ([][]float32, error) {
		return nil, fmt.Errorf("%w: %s", errResponse, fmt.Sprintf(format, args...))
	}
	var a response
	if err := json.Unmarshal(text, &a); err != nil {
		return wrong("it is not the expected JSON")
	}
	if len(a.Data) != count {
		return wrong("it has %d vectors for %d texts", len(a.Data), count)
	}
	list := make([][]float32, count)
	dimensions := c.o.Dimensions
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= count || list[at] != nil {
			return wrong("text %d has two vectors, or does not exist", at)
		}
		if dimensions == 0 {
			dimensions = len(d.Embedding)
		}
		if len(d.Embedding) != dimensions || dimensions == 0 || dimensions > maxDimensions {
			return wrong("a vector has %d dimensions", len(d.Embedding))
		}
		if !usable(d.Embedding) {
			return wrong("a vector is zero or not finite")
		}
		list[at] = d.Embedding
	}
	return list, nil
}

// usable reports whether a vector is finite and not zero.
func usable(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum > 0 && !math.IsInf(sum, 0) && !math.IsNaN(sum)
}

// refused reads the message of a response with an error status.
func refused(resp *http.Response, key string) error {
	after, _ := outbound.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	r := &refusal{status: resp.StatusCode, after: min(after, longestWait)}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err == nil {
		r.message = messageOf(text, key)
	}
	return r
}

// messageOf returns the message of an error from one of its usual places, without
// the key: some endpoints quote a key that they reject.
func messageOf(text []byte, key string) string {
	type message struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	var m message
	var list []message
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		m = list[0]
	} else if json.Unmarshal(text, &m) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var words string
	switch {
	case json.Unmarshal(m.Error, &inner) == nil && inner.Message != "":
		m.Message = inner.Message
	case json.Unmarshal(m.Error, &words) == nil:
		m.Message = words
	}
	words = strings.Join(strings.Fields(m.Message), " ")
	if key != "" {
		words = strings.ReplaceAll(words, key, "...")
	}
	return shorten(words, maxMessage)
}
