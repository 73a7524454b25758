package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxRounds = 4        // requests for one query
	maxAnswer = 12 << 10 // bytes
	// answerTimeout limits the time of an engine that searches and writes an answer.
	answerTimeout = 35 * time.Second
)

// maxBody is the maximum size of the response of an engine.
const maxBody = 2 << 20

// An engine is a search engine that can be queried.
type engine struct {
	name     string
	client   outbound.Client
	api      *api.Client
	protocol protocol
	maxQuery int // characters; 0 is unlimited
	hasKey   bool
}

// A protocol builds the requests and reads the responses of an engine.
type protocol interface {
	// address returns the URL of the engine, the header for the key, and its value with {key}.
	address() (page, header, format string)
	// request returns the request for a query, and the filters that the engine ignores.
	request(q Query) (r outbound.Request, ignored []string, err error)
	// read returns the results of the engine, as the engine wrote them.
	read(r rawResponse) (engineReply, *failure)
}

// An engineReply has the results of an engine.
type engineReply struct {
	answer  string
	results []Result
	// next is the body of the request that continues the query; nil if it is complete.
	next        []byte
	message     json.RawMessage // of an engine that has requested a tool
	toolResults []any
}

type rawResponse struct {
	status int
	header http.Header
	body   []byte
	sent   []byte // body of the request
	hasKey bool   // the request had a key
}

func newEngine(one Engine, o Options) (*engine, error) {
	k, err := one.find()
	if err != nil {
		return nil, err
	}
	e := &engine{name: k.name, client: o.Client, protocol: k.protocol, maxQuery: k.maxQuery, hasKey: one.Key != nil}
	if k.open != nil {
		e.client = o.Trusted
	}
	page, header, format := e.protocol.address()
	at, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	options := api.Options{Name: e.name, URL: at.Scheme + "://" + at.Host, HTTP: e.client, MaxBytes: maxBody}
	if e.hasKey {
		options.Key = func(context.Context) (string, error) {
			key, err := one.Key()
			return strings.TrimSpace(key), err
		}
		options.Attach = func(r *http.Request, key string) { r.Header.Set(header, strings.ReplaceAll(format, "{key}", key)) }
	}
	e.api, err = api.New(options)
	return e, err
}

func (e *engine) query(ctx context.Context, q Query) (Response, *failure) {
	if e.maxQuery > 0 && utf8.RuneCountInString(q.Text) > e.maxQuery {
		return Response{}, fail(tool.Invalid, 0, "accepts at most %d characters", e.maxQuery)
	}
	r, ignored, err := e.protocol.request(q)
	if err != nil {
		return Response{}, fail(tool.Invalid, 0, "cannot express this query")
	}
	timeout := engineTimeout
	if _, answers := e.protocol.(answerEngine); answers {
		timeout = answerTimeout
	}
	r.Timeout = timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := engineReply{next: r.Body}
	for round := 0; round == 0 || found.next != nil; round++ {
		if round == maxRounds {
			return Response{}, unreadable("it does not end its search")
		}
		r.Body = found.next
		raw, f := e.send(ctx, r)
		if f != nil {
			return Response{}, f
		}
		if found, f = e.protocol.read(raw); f != nil {
			return Response{}, f
		}
	}
	e.resolve(ctx, found.results)
	response := Response{
		Provider: e.name, Answer: text.Clip(found.answer, maxAnswer), Results: tidy(found.results, q.Count),
	}
	if len(found.results) > 0 && len(response.Results) == 0 && response.Answer == "" {
		return Response{}, unreadable("no result has a valid address")
	}
	if len(ignored) > 0 {
		response.Notes = []string{fmt.Sprintf("%s cannot filter by %s: this filter was ignored", e.name,
			strings.Join(ignored, " or "))}
	}
	return response, nil
}

// send sends a request and reads the response.
func (e *engine) send(ctx context.Context, r outbound.Request) (rawResponse, *failure) {
	answer, err := e.api.Send(ctx, r)
	if failed := (*api.Error)(nil); errors.As(err, &failed) && failed.Status != 0 {
		return rawResponse{failed.Status, failed.Header, failed.Body, r.Body, e.hasKey}, nil
	}
	if err != nil {
		return rawResponse{}, sendFailure(err)
	}
	return rawResponse{answer.Status, answer.Header, answer.Body, r.Body, e.hasKey}, nil
}

// A failure is why an engine did not respond. The text is ours: a message of an
// engine may contain anything, also the key, so it is not repeated.
type failure struct {
	kind  tool.Kind
	what  string        // continues a sentence that begins with the engine's name
	pause time.Duration // how long the engine will not be queried; 0 is not paused
	cause error         // for the log; may be nil
}

// How long engines are paused after a failure.
const (
	shortPause = 30 * time.Second // it may be temporary
	keyPause   = time.Minute      // the operator has to act
	blockPause = 10 * time.Minute // further requests make it worse
	quotaPause = 15 * time.Minute
	maxPause   = time.Hour
)

// String returns the failure for a model.
func (f *failure) String() string {
	if f.pause > 0 {
		return fmt.Sprintf("%s; it is paused for %s", f.what, formatPause(f.pause))
	}
	return f.what
}

// formatPause returns a duration in seconds or minutes, rounded up.
func formatPause(d time.Duration) string {
	if d > 2*time.Minute {
		return fmt.Sprintf("%d minutes", (d+time.Minute-1)/time.Minute)
	}
	return fmt.Sprintf("%d s", max(1, (d+time.Second-1)/time.Second))
}

func fail(kind tool.Kind, pause time.Duration, format string, args ...any) *failure {
	return &failure{kind: kind, pause: pause, what: fmt.Sprintf(format, args...)}
}

func unreadable(format string, args ...any) *failure {
	return fail(tool.Unavailable, shortPause, "sent a response that cannot be read: "+format, args...)
}

func blocked(status int) *failure {
	return fail(tool.Unavailable, blockPause, "blocks automated searches (%d)", status)
}

// sendFailure returns the failure for a request without a complete response. The
// error may name hosts of the operator, so it goes to the log only.
func sendFailure(err error) *failure {
	f := fail(tool.Unavailable, shortPause, "cannot be reached")
	failed := new(api.Error)
	errors.As(err, &failed)
	switch known := tool.AsError(err); {
	case failed.NoKey:
		f = fail(tool.Unavailable, keyPause, "has no usable key; the operator has to check it")
	case errors.Is(err, outbound.ErrTooLong) || known.Kind == tool.TooLarge:
		f = unreadable("it has more than %d MiB", maxBody>>20)
	case known.Kind == tool.Timeout || errors.Is(err, context.DeadlineExceeded):
		f = fail(tool.Timeout, shortPause, "did not respond in time")
	case known.Kind == tool.Refused: // for this caller; others may reach it
		f = fail(tool.Refused, 0, "may not be reached by this profile")
	case known.Kind == tool.Busy:
		f = fail(tool.Busy, shortPause, "received too many requests")
	}
	f.cause = err
	return f
}

// statusFailure returns the failure for a status other than 200.
func statusFailure(status int, header http.Header, hasKey bool) *failure {
	switch {
	case status == http.StatusTooManyRequests:
		pause := pauseAfter(header)
		if pause >= maxPause {
			return fail(tool.Busy, maxPause, "has no searches left for now (429)")
		}
		return fail(tool.Busy, pause, "received too many requests (429)")
	case status == http.StatusPaymentRequired, status == 432, status == 433: // the last two are Tavily's
		return fail(tool.Unavailable, quotaPause, "has no searches left (%d)", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden && hasKey:
		return fail(tool.Unavailable, keyPause, "does not accept its key (%d); the operator has to check it", status)
	case status == http.StatusForbidden:
		return fail(tool.Unavailable, keyPause, "refused to respond (403)")
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return fail(tool.Invalid, 0, "does not accept this query (%d)", status)
	case status >= 300 && status < 400:
		return fail(tool.Unavailable, keyPause, "has moved (%d); the operator has to check its URL", status)
	case status >= 500 && header.Get("Retry-After") != "":
		return fail(tool.Unavailable, pauseAfter(header), "has an internal error (%d)", status)
	case status >= 500:
		return fail(tool.Unavailable, shortPause, "has an internal error (%d)", status)
	}
	return fail(tool.Unavailable, shortPause, "responded with status %d", status)
}

// pauseAfter returns how long an engine asks to be left alone, at most maxPause: as
// Retry-After says, or until the last exhausted rate limit is reset.
func pauseAfter(header http.Header) time.Duration {
	pause := time.Minute
	if wait, ok := outbound.RetryAfter(header.Get("Retry-After"), time.Now()); ok {
		pause = wait
	} else {
		remaining := strings.Split(header.Get("X-RateLimit-Remaining"), ",")
		for i, reset := range strings.Split(header.Get("X-RateLimit-Reset"), ",") {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(reset), 64)
			if err != nil || i >= len(remaining) || strings.TrimSpace(remaining[i]) != "0" {
				continue
			}
			wait := maxPause
			if seconds < maxPause.Seconds() { // false for NaN
				wait = time.Duration(max(seconds, 0) * float64(time.Second))
			}
			if i == 0 || wait > pause {
				pause = wait
			}
		}
	}
	return min(max(pause, time.Second), maxPause)
}
