package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Kind names the API of a provider.
type Kind string

// The kinds.
const (
	OpenAI    Kind = "openai"    // chat completions, of OpenAI and most others
	Anthropic Kind = "anthropic" // Messages
)

// URL returns the endpoint that a kind has by default.
func (k Kind) URL() string {
	if k == Anthropic {
		return "https://api.anthropic.com/v1"
	}
	return "https://api.openai.com/v1"
}

// An Endpoint is the API of a provider.
type Endpoint struct {
	Name string // the provider's, for errors
	Kind Kind
	URL  string // such as https://api.openai.com/v1; "": that of the kind
	Key  string // "": none
}

const (
	attempts     = 5
	firstBackoff = 500 * time.Millisecond
	longestWait  = time.Minute     // a provider that asks for more gets no retry
	idleTimeout  = 5 * time.Minute // without a byte; models that think send little
	maxReply     = 16 << 20        // bytes of a response
	maxErrorBody = 64 << 10
	maxMessage   = 500 // bytes of a provider's message about an error
)

// A Client sends requests to one endpoint. Its methods may be called concurrently.
type Client struct {
	e    Endpoint
	wire wire
	http *http.Client
	idle time.Duration
	wait func(context.Context, time.Duration) error
}

// A wire is an API.
type wire interface {
	// body returns the path below the endpoint, and the body of a request.
	body(r Request) (path string, body any)
	// header adds the key, unless it is "", and what else the API wants.
	header(h http.Header, key string)
	// decoder returns a decoder of the response to a request for a model.
	decoder(model string) decoder
}

// A decoder puts a reply together.
type decoder interface {
	// event takes the data of one event, or a whole response that is not a stream.
	event(data []byte) error
	// reply returns what was received. It is an error if that is not all.
	reply() (Reply, error)
}

// NewClient returns a Client. It sends nothing yet.
func NewClient(e Endpoint) (*Client, error) {
	if e.URL == "" {
		e.URL = e.Kind.URL()
	}
	e.URL = strings.TrimSuffix(e.URL, "/")
	base, err := url.Parse(e.URL)
	if err != nil || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("the URL of the model provider %q is invalid", e.Name) // it may contain a key
	}
	c := &Client{
		e: e, idle: idleTimeout, wait: clock.Sleep,
		http: &http.Client{
			Transport: &http.Transport{ // without a proxy: the environment must not decide who reads conversations
				DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
				TLSHandshakeTimeout: 10 * time.Second,
				MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
				MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	switch e.Kind {
	case OpenAI:
		c.wire = openAI{current: hasSuffix(base.Hostname(), "openai.com", "openai.azure.com")}
	case Anthropic:
		c.wire = anthropic{}
	default:
		return nil, fmt.Errorf("the model provider %q has the unknown kind %q", e.Name, e.Kind)
	}
	return c, nil
}

func hasSuffix(host string, domains ...string) bool {
	for _, domain := range domains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Complete sends a request to the model that it names, and retries temporary
// failures. The usage of the reply is that of all attempts, also if there is an
// error. Errors are a *tool.Error, or the cause of ctx.
func (c *Client) Complete(ctx context.Context, r Request) (Reply, error) {
	if r.MaxTokens <= 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	path, body := c.wire.body(r)
	encoded, err := json.Marshal(body)
	if err != nil {
		return Reply{}, tool.Errorf(tool.Invalid, "the request to the model is not valid JSON: %v", err)
	}
	var used Usage
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		reply, err := c.send(ctx, path, encoded, r.Model)
		used = used.Plus(reply.Usage)
		reply.Usage = used
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, context.Cause(ctx)
		}
		var f *failure
		if !errors.As(err, &f) {
			return reply, err
		}
		if !f.temporary || attempt == attempts || f.after > longestWait {
			return reply, f.shown(c.e.Name, r.Model)
		}
		if err := c.wait(ctx, max(f.after, jittered(backoff))); err != nil {
			return reply, err
		}
		backoff *= 2
	}
}

// jittered returns about d, so that clients that were refused together do not retry together.
func jittered(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2+1) }

var errIdle = errors.New("the provider sent nothing for too long")

// send sends a request once. The reply has the usage also if there is an error.
func (c *Client) send(ctx context.Context, path string, body []byte, model string) (Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	defer idle.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.e.URL+path, bytes.NewReader(body))
	if err != nil {
		return Reply{}, &failure{message: "the URL of the provider is invalid"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("User-Agent", "mcp-tools")
	c.wire.header(req.Header, c.e.Key)
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, c.broken(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Reply{}, c.refused(resp)
	}
	in := &bounded{r: resp.Body, left: maxReply, progress: func() { idle.Reset(c.idle) }}
	d := c.wire.decoder(model)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		var data []byte
		if data, err = io.ReadAll(in); err == nil {
			err = d.event(data)
		}
	} else {
		err = events(in, d.event)
	}
	reply, incomplete := d.reply()
	switch f := (*failure)(nil); {
	case errors.As(err, &f):
		f.message = c.clean(f.message)
		return reply, f
	case incomplete == nil: // what is missing after a complete reply does not matter
		return reply, nil
	case err != nil:
		return reply, c.broken(ctx, err)
	}
	return reply, incomplete
}

// broken returns the failure of a connection. Its cause is logged, and not shown.
func (c *Client) broken(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(err, errTooMuch):
		return &failure{message: errTooMuch.Error()}
	case errors.Is(context.Cause(ctx), errIdle):
		return &failure{message: errIdle.Error(), temporary: true}
	}
	return &failure{message: "the connection to the provider broke", temporary: true, cause: err}
}

// refused reads the message of a response with an error status.
func (c *Client) refused(resp *http.Response) *failure {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status is enough
	f := failureIn(body)
	f.status = resp.StatusCode
	f.message = c.clean(f.message)
	f.after, _ = outbound.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	switch f.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		f.temporary = f.code != "insufficient_quota" // which lasts
	default:
		f.temporary = f.status >= 500 && f.status != http.StatusNotImplemented
	}
	return f
}

// clean returns a message without the key, which some providers quote, on one line.
func (c *Client) clean(message string) string {
	if c.e.Key != "" {
		message = strings.ReplaceAll(message, c.e.Key, "...")
	}
	return text.Clip(strings.Join(strings.Fields(message), " "), maxMessage)
}

// A failure is a request without a reply.
type failure struct {
	status    int    // 0: there was no response, or one with status 200
	code      string // the provider's
	message   string // the provider's or ours
	temporary bool
	after     time.Duration // when the provider wants the next request
	cause     error
}

func (f *failure) Error() string { return f.message }

// unreadable is the failure of an event that is not the expected JSON.
func unreadable(err error) *failure {
	return &failure{message: "the response of the provider is not the expected JSON", cause: err}
}

// failureIn reads an error from one of its usual places.
func failureIn(body []byte) *failure {
	type message struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	var m message
	var list []message // Gemini's
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		m = list[0]
	} else if json.Unmarshal(body, &m) != nil {
		return &failure{}
	}
	f := &failure{message: m.Message}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	var words string
	switch {
	case json.Unmarshal(m.Error, &inner) == nil:
		f.code = inner.Type
		if code, ok := inner.Code.(string); ok && code != "" {
			f.code = code
		}
		if code, ok := inner.Code.(float64); ok {
			f.status = int(code)
		}
		if inner.Message != "" {
			f.message = inner.Message
		}
	case json.Unmarshal(m.Error, &words) == nil:
		f.message = words
	}
	return f
}

// tooLong reports whether the conversation is longer than the model's context.
func (f *failure) tooLong() bool {
	if f.code == "context_length_exceeded" || f.status == http.StatusRequestEntityTooLarge {
		return true
	}
	m := strings.ToLower(f.message)
	return strings.Contains(m, "prompt is too long") || strings.Contains(m, "maximum context length")
}

// shown returns the failure as an error for a model.
func (f *failure) shown(provider, model string) error {
	what := fmt.Sprintf("the model %q of %q did not answer", model, provider)
	if f.status != 0 {
		what += fmt.Sprintf(" (status %d)", f.status)
	}
	if f.message != "" {
		what += ": " + f.message
	}
	kind, next := tool.Unavailable, "try again later, or use another model"
	switch {
	case f.tooLong():
		kind, next = tool.TooLarge, "send a shorter conversation"
	case f.code == "insufficient_quota" || f.status == http.StatusPaymentRequired:
		next = "use another provider, or ask the operator to pay for more"
	case f.status == http.StatusTooManyRequests:
		kind = tool.Busy
		if f.after > 0 {
			next = fmt.Sprintf("try again in %s, or use another model", f.after.Round(time.Second))
		}
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		next = fmt.Sprintf("ask the operator to check models.providers.%s.key", provider)
	case f.status == http.StatusNotFound:
		kind, next = tool.NotFound, "use another model"
	case f.refusal():
		kind, next = tool.Refused, "ask for something else, or use another model"
	case f.status >= 300 && f.status < 500 && !f.temporary:
		kind, next = tool.Invalid, "change the request"
	}
	e := tool.Errorf(kind, "%s", what).Try("%s", next)
	if f.cause != nil {
		e = e.Because(f.cause)
	}
	return e
}

const codeRefusal = "refusal"

func (f *failure) refusal() bool { return f.code == codeRefusal }

// refusal is the failure of a reply that the model or its provider refuses.
func refusal(words string) *failure {
	message := "the model refused to answer"
	if words != "" {
		message += ": " + words
	}
	return &failure{code: codeRefusal, message: text.Clip(message, maxMessage)}
}

// checked returns a complete reply with the error that it amounts to.
func checked(r Reply) (Reply, error) {
	m := &r.Message
	m.Role = Assistant
	switch {
	case r.Stop == TooLong:
		m.Calls = nil // the last one is cut
		if m.Text == "" {
			return r, &failure{message: "the reply is longer than its maximum of tokens, and has no text yet; " +
				"allow more tokens"}
		}
	case len(m.Calls) > 0:
		r.Stop = WantsTool
	case m.Text == "":
		return r, &failure{message: "the reply is empty", temporary: true}
	default:
		r.Stop = Ended
	}
	return r, nil
}

// callIDs has the ids of the calls in a reply. Some servers give two calls the same id, or none, and providers refuse
// a request that says so back.
type callIDs map[string]bool

// unique returns id, or another one if a call before it has the same or it is empty.
func (used callIDs) unique(id string) string {
	base := cmp.Or(id, "call")
	for n := 2; id == "" || used[id]; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	used[id] = true
	return id
}
