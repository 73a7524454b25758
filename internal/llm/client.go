package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/egress"
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
	URL  string // such as https://api.openai.com/v1; "": the default of the kind
	Key  string // "": none
}

const (
	attempts     = 5
	firstPause   = 500 * time.Millisecond
	longestReply = time.Hour
	maxReply     = 16 << 20 // bytes of a response
	maxMessage   = 500      // bytes of a refusal
)

// Limits are the limits of the client that reaches providers: models that think send little.
func Limits() egress.Limits { return egress.Limits{Head: 5 * time.Minute, Stall: 5 * time.Minute} }

// A Client sends requests to one endpoint. Its methods may be called concurrently.
type Client struct {
	e        Endpoint
	wire     wire
	api      *api.Client
	attempts api.Attempts
}

// A wire is an API.
type wire interface {
	// body returns the path below the endpoint, and the body of a request.
	body(r Request) (path string, body any)
	// decoder returns a decoder of the response to a request for a model.
	decoder(model string) decoder
}

// A decoder puts a reply together.
type decoder interface {
	// event takes the data of one event, or a whole response that is not a stream.
	event(data []byte) error
	// reply returns the received reply. An incomplete reply is an error.
	reply() (Reply, error)
}

// NewClient returns a Client that reaches the endpoint by http, within [Limits]. It sends nothing yet.
func NewClient(e Endpoint, http outbound.Client) (*Client, error) {
	e.URL = cmp.Or(e.URL, e.Kind.URL())
	o := api.Options{
		Name: fmt.Sprintf("the model provider %q", e.Name), URL: e.URL, HTTP: http, Key: api.Key(e.Key),
		MaxBytes: maxReply, Timeout: longestReply,
	}
	c := &Client{e: e, attempts: api.Attempts{Max: attempts, First: firstPause}}
	switch e.Kind {
	case OpenAI:
		base, _ := url.Parse(e.URL) // New returns the error
		c.wire = openAI{current: base != nil && hasSuffix(base.Hostname(), "openai.com", "openai.azure.com")}
	case Anthropic:
		c.wire, o.Attach = anthropic{}, api.Header("X-Api-Key", "")
	default:
		return nil, fmt.Errorf("the model provider %q has the unknown kind %q", e.Name, e.Kind)
	}
	var err error
	c.api, err = api.New(o)
	return c, err
}

func hasSuffix(host string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool { return strings.HasSuffix("."+host, "."+domain) })
}

// Complete sends a request to the model that it names, and retries temporary failures. The
// usage of the reply covers all attempts, also if there is an error. Errors are a *tool.Error,
// or the cause of ctx.
func (c *Client) Complete(ctx context.Context, r Request) (reply Reply, err error) {
	if r.MaxTokens <= 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	path, body := c.wire.body(r)
	encoded, err := json.Marshal(body)
	if err != nil {
		return Reply{}, tool.Errorf(tool.Invalid, "the request to the model is not valid JSON: %v", err)
	}
	var used Usage
	var failed *api.Error
	err = c.attempts.Do(ctx, func() (error, bool) {
		var err error
		reply, err = c.send(ctx, path, encoded, r.Model)
		used = used.Plus(reply.Usage)
		return err, errors.As(err, &failed) && failed.Temporary
	})
	reply.Usage = used
	if errors.As(err, &failed) {
		err = shown(failed, c.e.Name, r.Model)
	}
	return reply, err
}

// send sends a request once. The reply has the usage also if there is an error.
func (c *Client) send(ctx context.Context, path string, body []byte, model string) (Reply, error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream, application/json"}}
	if c.e.Kind == Anthropic {
		header.Set("Anthropic-Version", anthropicVersion)
	}
	res, err := c.api.Open(ctx, api.Call{Path: path, Body: body, Header: header})
	if err != nil {
		return Reply{}, err
	}
	defer res.Body.Close()
	d := c.wire.decoder(model)
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		var data []byte
		if data, err = io.ReadAll(res.Body); err == nil {
			err = d.event(data)
		}
	} else {
		err = events(res.Body, d.event)
	}
	reply, incomplete := d.reply()
	switch f := (*api.Error)(nil); {
	case errors.As(err, &f):
		f.Message = c.api.Clean(ctx, f.Message)
		return reply, f
	case incomplete == nil: // an error after a complete reply does not matter
		return reply, nil
	case err != nil:
		return reply, c.api.Failure(ctx, err)
	}
	return reply, incomplete
}

// unreadable is the failure of an event that is not the expected JSON.
func unreadable(err error) *api.Error {
	return (&api.Error{Message: "the response of the provider is not the expected JSON"}).Because(err)
}

// failureIn reads an error from an event.
func failureIn(data []byte) *api.Error {
	e := new(api.Error)
	e.Status, e.Code, e.Message = api.Describe(data)
	return e
}

// tooLong reports whether the conversation is longer than the model's context.
func tooLong(f *api.Error) bool {
	if f.Has("context_length_exceeded") || f.Status == http.StatusRequestEntityTooLarge {
		return true
	}
	m := strings.ToLower(f.Message)
	return strings.Contains(m, "prompt is too long") || strings.Contains(m, "maximum context length")
}

// shown returns a failure as an error for a model.
func shown(f *api.Error, provider, model string) error {
	what := fmt.Sprintf("the model %q of %q did not answer", model, provider)
	if f.Status != 0 {
		what += fmt.Sprintf(" (status %d)", f.Status)
	}
	if f.Message != "" {
		what += ": " + f.Message
	}
	kind, next := tool.Unavailable, "try again later, or use another model"
	switch {
	case tooLong(f):
		kind, next = tool.TooLarge, "send a shorter conversation"
	case f.Has("insufficient_quota") || f.Status == http.StatusPaymentRequired:
		next = "use another provider, or ask the operator to pay for more"
	case f.Status == http.StatusTooManyRequests:
		kind = tool.Busy
		if f.After > 0 {
			next = fmt.Sprintf("try again in %s, or use another model", f.After.Round(time.Second))
		}
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		next = fmt.Sprintf("ask the operator to check models.providers.%s.key", provider)
	case f.Status == http.StatusNotFound:
		kind, next = tool.NotFound, "use another model"
	case f.Has(codeRefusal):
		kind, next = tool.Refused, "ask for something else, or use another model"
	case f.Status >= 300 && f.Status < 500 && !f.Temporary:
		kind, next = tool.Invalid, "change the request"
	}
	return tool.Errorf(kind, "%s", what).Try("%s", next).Because(errors.Unwrap(f))
}

const codeRefusal = "refusal"

// refusal is the failure of a reply that the model or its provider refuses.
func refusal(words string) *api.Error {
	message := "the model refused to answer"
	if words != "" {
		message += ": " + words
	}
	return &api.Error{Code: codeRefusal, Message: text.Clip(message, maxMessage)}
}

// checked returns a complete reply with the error that it amounts to.
func checked(r Reply) (Reply, error) {
	m := &r.Message
	m.Role = Assistant
	switch {
	case r.Stop == TooLong:
		m.Calls = nil // the last one is cut
		if m.Text == "" {
			return r, &api.Error{Message: "the reply is longer than its maximum of tokens, and has no text yet; " +
				"allow more tokens"}
		}
	case len(m.Calls) > 0:
		r.Stop = WantsTool
	case m.Text == "":
		return r, &api.Error{Message: "the reply is empty", Temporary: true}
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
