// Package embed asks an embeddings endpoint what texts mean, in numbers. It
// speaks the wire format that OpenAI, Gemini, Ollama and vLLM have in common,
// and knows batches, limits of rates, and endpoints that are down or wrong. It
// does not know what the texts are, nor what becomes of the numbers.
//
// The endpoint is the operator's choice, and may be on this machine. What it
// answers is not trusted: it is bounded while it is read, and checked before it
// is used. The key stands in no error, and no text but what an endpoint quotes of
// one that it does not take.
//
// Begin with [New]; [Client.Texts] is for work in the background, which is
// patient, and [Client.Query] for searches, which are not. wire.go is the format.
package embed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say whom to ask. Only URL and Model have to be there.
type Options struct {
	URL        string // of the API, such as https://api.openai.com/v1
	Model      string
	Key        string // "": none
	Dimensions int    // how many numbers to ask for; 0: as many as the model has
	Batch      int    // texts of one request; 0: [DefaultBatch]
}

// DefaultBatch is what every known endpoint takes.
const DefaultBatch = 64

const (
	atOnce       = 4        // requests for texts
	mostText     = 8 << 10  // bytes of one text; what follows says little more
	leastText    = 256      // bytes, below which a text is not shortened further
	mostRequest  = 96 << 10 // bytes of all texts of a request
	requestTime  = 60 * time.Second
	attempts     = 5
	firstBackoff = 500 * time.Millisecond
	longestWait  = time.Minute
)

// A Client asks one endpoint. Its methods may be called from many goroutines.
type Client struct {
	o       Options
	http    *http.Client
	running chan struct{}
	down    breaker
	wait    func(context.Context, time.Duration) error
}

// New makes a Client and asks nothing.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" {
		return nil, errors.New("the URL of the embeddings endpoint cannot be read") // and it is not shown: it may have a key
	}
	if o.Model == "" {
		return nil, errors.New("the embeddings endpoint needs the name of a model")
	}
	if o.Batch <= 0 {
		o.Batch = DefaultBatch
	}
	o.URL = strings.TrimSuffix(o.URL, "/")
	return &Client{
		o: o, running: make(chan struct{}, atOnce), wait: pause,
		http: &http.Client{
			Transport: &http.Transport{ // no proxy: the environment does not decide who reads memories
				DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
				TLSHandshakeTimeout: 5 * time.Second,
				MaxIdleConnsPerHost: atOnce + 1, MaxConnsPerHost: 4 * atOnce, IdleConnTimeout: time.Minute,
				MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
			},
			CheckRedirect: sameOrigin,
		},
	}, nil
}

// Close lets go of connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Space names what can be compared: vectors of one model with one number of
// dimensions, wherever the model runs.
func (c *Client) Space() string {
	if c.o.Dimensions == 0 {
		return c.o.Model
	}
	return fmt.Sprintf("%s/%d", c.o.Model, c.o.Dimensions)
}

func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || len(via) > 3 {
		return errors.New("the embeddings endpoint sends requests elsewhere")
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Query returns what a query means, and is quick: it asks once, and after
// failures not again for a while, so that nobody waits for an endpoint that is
// down. ctx says how long it may take.
func (c *Client) Query(ctx context.Context, text string) ([]float32, error) {
	if !c.down.try(time.Now()) {
		return nil, ErrDown
	}
	list, err := c.ask(ctx, []string{shorten(text, mostText)})
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) { // or else nobody wanted to know any more
			c.down.failed(time.Now(), err)
		}
		return nil, err
	}
	c.down.worked()
	return list[0], nil
}

// Texts returns what texts mean, each in its place. A text that the endpoint
// does not take, however much it is shortened, is nil. It asks in batches, some
// at the same time, and again where that may help; an error means that it does
// not help at present.
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
			results <- c.patiently(ctx, texts, into)
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

// batch is the end of the batch that begins at from.
func (c *Client) batch(texts []string, from int) int {
	to, size := from, 0
	for to < len(texts) && to-from < c.o.Batch {
		size += min(len(texts[to]), mostText)
		if size > mostRequest && to > from {
			break
		}
		to++
	}
	return to
}

// patiently asks for one batch, and again after failures that may pass.
func (c *Client) patiently(ctx context.Context, texts []string, into [][]float32) error {
	select {
	case c.running <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.running }()
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = shorten(text, mostText)
	}
	return c.divide(ctx, short, into)
}

// divide asks for texts together, and where the endpoint does not take them, in
// halves, down to the one that is to blame, which is shortened. That it is the
// text and not the endpoint is tried with one that nobody can object to.
func (c *Client) divide(ctx context.Context, texts []string, into [][]float32) error {
	list, err := c.again(ctx, texts)
	switch refused := (*refusal)(nil); {
	case err == nil:
		copy(into, list)
		return nil
	case !errors.As(err, &refused) || !refused.ofInput():
		return err
	case len(texts) > 1:
		half := len(texts) / 2
		return errors.Join(c.divide(ctx, texts[:half], into[:half]), c.divide(ctx, texts[half:], into[half:]))
	case len(texts[0]) > leastText:
		return c.divide(ctx, []string{shorten(texts[0], len(texts[0])/2)}, into)
	}
	if _, probe := c.again(ctx, []string{"text"}); probe != nil {
		return probe
	}
	return nil
}

// again asks several times, with growing pauses.
func (c *Client) again(ctx context.Context, texts []string) ([][]float32, error) {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, requestTime)
		list, err := c.ask(one, texts)
		cancel()
		if err == nil || ctx.Err() != nil || attempt == attempts || !mayPass(err) {
			return list, err
		}
		d := jittered(backoff)
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			d = max(d, refused.after)
		}
		if err := c.wait(ctx, d); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, longestWait)
	}
}

// shorten cuts a text at the border of a character.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
