package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/api"
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
	perNumber     = 28 // bytes of a number in JSON, with its separators
)

// ofInput reports whether the endpoint may accept other texts.
func ofInput(refused *api.Error) bool {
	switch refused.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// errResponse means an invalid response. A retry does not help.
var errResponse = errors.New("the response of the embeddings endpoint is invalid")

// ask sends one request.
func (c *Client) ask(ctx context.Context, texts []string) ([][]float32, error) {
	answer, err := c.api.Do(ctx, api.Call{
		Path: "embeddings", Body: request{c.o.Model, texts, c.o.Dimensions, "float"}, Redirects: maxRedirects,
		Header: http.Header{"Accept": {"application/json"}}, MaxBytes: int64(64<<10 + len(texts)*maxDimensions*perNumber),
	})
	if err != nil {
		return nil, err
	}
	return c.read(answer.Body, len(texts))
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
