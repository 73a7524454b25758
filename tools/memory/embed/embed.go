// Package embed is a client for embeddings endpoints: they turn texts into vectors. It uses the
// API that OpenAI, Gemini, Ollama and vLLM have in common, and handles batches, rate limits,
// and endpoints that fail. It knows neither the meaning of the texts nor the use of the
// vectors.
//
// The operator chooses the endpoint. It may be on this machine. Its responses are not trusted:
// they are bounded while they are read, and checked before they are used. Errors never contain
// the key, and no text except for quotations in the endpoint's message.
//
// Begin with [New]. [Client.Texts] is for work in the background and retries,
// [Client.Query] is for searches and does not. wire.go is the API.
package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Options describe an endpoint. URL, HTTP and Model are required.
type Options struct {
	URL        string          // of the API, such as https://api.openai.com/v1
	HTTP       outbound.Client // reaches it, within [Limits]
	Model      string
	Key        string // "": none
	Dimensions int    // of the vectors; 0: the model's own
	Batch      int    // texts in one request; 0: [DefaultBatch]
}

// DefaultBatch is a number of texts that every known endpoint accepts.
const DefaultBatch = 64

const (
	maxRequests  = 4                // that [Client.Texts] sends at the same time
	maxText      = 8 << 10          // bytes of one text; the rest adds little
	minText      = 256              // bytes; a rejected text is not shortened further
	maxRequest   = 96 << 10         // bytes of all texts of a request
	timeout      = 60 * time.Second // of a request for texts
	maxAttempts  = 5
	firstPause   = 500 * time.Millisecond
	maxRedirects = 3
)

// Limits are the limits of the client that reaches the endpoint.
func Limits() egress.Limits {
	return egress.Limits{Connect: 5 * time.Second, Head: timeout, Stall: timeout}
}

// A Client sends requests to one endpoint. Its methods may be called concurrently.
type Client struct {
	o        Options
	api      *api.Client
	running  chan struct{}
	down     breaker
	attempts api.Attempts
}

// New returns a Client. It sends nothing yet.
func New(o Options) (*Client, error) {
	if o.Model == "" {
		return nil, errors.New("the name of the embedding model is missing")
	}
	if o.Batch <= 0 {
		o.Batch = DefaultBatch
	}
	c, err := api.New(api.Options{
		Name: "the embeddings endpoint", URL: o.URL, HTTP: o.HTTP, Key: api.Key(o.Key), Timeout: timeout,
	})
	if err != nil {
		return nil, err
	}
	return &Client{
		o: o, api: c, running: make(chan struct{}, maxRequests),
		attempts: api.Attempts{Max: maxAttempts, First: firstPause},
	}, nil
}

// Space returns a name for vectors that can be compared: vectors of one model with the same
// number of dimensions, on any endpoint.
func (c *Client) Space() string {
	if c.o.Dimensions == 0 {
		return c.o.Model
	}
	return fmt.Sprintf("%s/%d", c.o.Model, c.o.Dimensions)
}

// Query returns the vector of a query. It does not retry, and after a failure it
// fails at once for a while, so that searches do not wait for an endpoint that is
// down. The deadline of ctx bounds it.
func (c *Client) Query(ctx context.Context, text string) ([]float32, error) {
	if !c.down.try(time.Now()) {
		return nil, ErrDown
	}
	list, err := c.ask(ctx, []string{shorten(text, maxText)})
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) { // a caller that gave up is not a failure
			c.down.failed(time.Now(), err)
		}
		return nil, err
	}
	c.down.worked()
	return list[0], nil
}

// Texts returns the vectors of texts, in their order. A text that the endpoint
// rejects even when it is shortened has a nil vector. It sends batches, some at
// the same time, and retries temporary failures; an error means that the retries
// have failed too.
func (c *Client) Texts(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	all := make([][]float32, len(texts))
	results := make(chan error)
	batches := 0
	for from := 0; from < len(texts); {
		to := c.batch(texts, from)
		batches++
		go func(texts []string, into [][]float32) {
			results <- c.encode(ctx, texts, into)
		}(texts[from:to], all[from:to])
		from = to
	}
	var first error
	for range batches {
		if err := <-results; err != nil && first == nil {
			first = err
			stop(err)
		}
	}
	return all, first
}

// batch returns the end of the batch that begins at from.
func (c *Client) batch(texts []string, from int) int {
	to, size := from, 0
	for to < len(texts) && to-from < c.o.Batch {
		size += min(len(texts[to]), maxText)
		if size > maxRequest && to > from {
			break
		}
		to++
	}
	return to
}

// encode sends one batch, and retries temporary failures.
func (c *Client) encode(ctx context.Context, texts []string, into [][]float32) error {
	select {
	case c.running <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.running }()
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = shorten(text, maxText)
	}
	return c.divide(ctx, short, into)
}

// divide sends texts together. If the endpoint rejects them it sends halves, down to the one
// rejected text, and shortens that. When the endpoint rejects the shortened text too, a
// harmless text shows whether it rejects everything.
func (c *Client) divide(ctx context.Context, texts []string, into [][]float32) error {
	list, err := c.retry(ctx, texts)
	switch refused := (*api.Error)(nil); {
	case err == nil:
		copy(into, list)
		return nil
	case !errors.As(err, &refused) || !ofInput(refused):
		return err
	case len(texts) > 1:
		half := len(texts) / 2
		return errors.Join(c.divide(ctx, texts[:half], into[:half]), c.divide(ctx, texts[half:], into[half:]))
	case len(texts[0]) > minText:
		return c.divide(ctx, []string{shorten(texts[0], len(texts[0])/2)}, into)
	}
	if _, probe := c.retry(ctx, []string{"text"}); probe != nil {
		return probe
	}
	return nil
}

// retry sends a request up to maxAttempts times, with growing pauses.
func (c *Client) retry(ctx context.Context, texts []string) (list [][]float32, err error) {
	err = c.attempts.Do(ctx, func() (error, bool) {
		var err error
		list, err = c.ask(ctx, texts)
		var failed *api.Error
		return err, errors.As(err, &failed) && failed.Temporary
	})
	return list, err
}

// shorten returns the beginning of a text of at most so many bytes, without cutting a character.
func shorten(s string, most int) string { return text.Cut(strings.ToValidUTF8(s, "\uFFFD"), most) }
