package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxErrorBody = 64 << 10
	maxMessage   = 500 // bytes of a message of a service
)

func oneLine(s string) string {
	return text.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "), maxMessage)
}

// An Error is a request without a usable response. Its text has no credential.
type Error struct {
	Service string
	Status  int         // 0: there was no response, or it cannot be used
	Header  http.Header // nil: there was no response
	Body    []byte      // of a response with an error status, at most 64 KiB
	Code    string      // the words of the service for the error, separated by spaces
	Message string      // in words of the service, or ours
	After   time.Duration
	// Temporary says that the same request may succeed later.
	Temporary bool
	// Unaccepted says that the request certainly had no effect at the service.
	Unaccepted bool

	Unreached bool // no connection was made, or none may be made
	Late      bool // it took too long
	TooLarge  bool // the response is larger than the limit
	Unusable  bool // the response is complete, and cannot be read
	NoKey     bool // the credential cannot be used; nothing was sent

	cause error
}

// Error returns the text that a model may read.
func (e *Error) Error() string {
	words := e.Service
	if e.Status != 0 {
		words += fmt.Sprintf(": status %d", e.Status)
	}
	if e.Message != "" {
		words += ": " + e.Message
	}
	return words
}

// Because sets the cause.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Unwrap returns the cause. It is logged and not shown.
func (e *Error) Unwrap() error { return e.cause }

// Has reports whether the service has used one of some words for the error.
func (e *Error) Has(words ...string) bool {
	return slices.ContainsFunc(strings.Fields(e.Code), func(one string) bool { return slices.Contains(words, one) })
}

// status returns the error of a response with another status than 2xx, or nil.
func (t *Transport) status(res *http.Response) *Error {
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	e := &Error{Service: t.o.Name, Status: res.StatusCode, Header: res.Header}
	e.After, _ = outbound.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	switch e.Status {
	case http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Temporary, e.Unaccepted = true, true
	case http.StatusRequestTimeout, http.StatusConflict:
		e.Temporary = true
	case http.StatusNotImplemented:
	default:
		e.Temporary = e.Status >= 500
		e.Unaccepted = e.Status < 500
	}
	if e.Status < 400 {
		e.Message = "it redirects to another address"
	}
	return e
}

// describe adds the description of the error in the body of a response.
func (t *Transport) describe(ctx context.Context, e *Error, body []byte) {
	e.Body = body
	_, code, message := Describe(body)
	e.Code = t.Clean(ctx, code)
	if message = t.Clean(ctx, message); message != "" && e.Status >= 400 {
		e.Message = message
	}
	if e.Has("insufficient_quota") { // a lasting condition
		e.Temporary = false
	}
}

// Fail returns the error that a response describes. The status is 0 if the response has none; code and message are the
// service's.
func (t *Transport) Fail(ctx context.Context, status int, code, message string) *Error {
	e := &Error{Service: t.o.Name, Status: status, Code: t.Clean(ctx, code), Message: t.Clean(ctx, message)}
	e.Temporary = status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
	e.Unaccepted = status == http.StatusTooManyRequests
	return e
}

// Invalid returns the error for a response that cannot be used.
func (t *Transport) Invalid(ctx context.Context, message string, cause error) *Error {
	return &Error{Service: t.o.Name, Message: t.Clean(ctx, message), Unusable: true, cause: cause}
}

// Failure returns the error of a request that got no complete response, or of the library that sent it, as a [*Error],
// or the cause of ctx if that has ended before a response.
func (t *Transport) Failure(ctx context.Context, err error) error {
	var known *Error
	var refused *tool.Error
	var dial *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	errors.As(err, &refused)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !answered(err):
		return context.Cause(ctx)
	case errors.As(err, &known):
		return known
	}
	e := &Error{Service: t.o.Name, Message: "the connection ended before the response", Temporary: true, cause: err}
	switch {
	case errors.Is(err, outbound.ErrTooLong):
		e.Message, e.TooLarge, e.Temporary = "the response is larger than the limit", true, false
	case refused != nil && refused.Kind == tool.Refused:
		e.Message, e.Unreached, e.Unaccepted, e.Temporary = "it may not be reached: "+refused.What, true, true, false
	case errors.As(err, &name), errors.As(err, &certificate), errors.As(err, &dial) &&
		slices.ContainsFunc([]string{"dial", "connect"}, func(op string) bool { return strings.Contains(dial.Op, op) }):
		e.Message, e.Unreached, e.Unaccepted = "it cannot be reached", true, true
	case refused != nil && refused.Kind == tool.Timeout, errors.Is(err, context.DeadlineExceeded):
		e.Message, e.Late = "it did not answer in time", true
	}
	e.Message = t.Clean(ctx, e.Message)
	if cause := err.Error(); t.Clean(ctx, cause) != strings.Join(strings.Fields(cause), " ") {
		e.cause = errors.New(t.Clean(ctx, cause)) // it has the credential, or is too long
	}
	return e
}

// Describe returns the error that a body describes, from the places where services write it. The status is 0 if the
// body has none.
func Describe(body []byte) (status int, code, message string) {
	var list []json.RawMessage // Gemini
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var m struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"` // ElevenLabs, fal
		Code    any             `json:"code"`   // DashScope
		Message string          `json:"message"`
		Base    *struct {
			Code    int    `json:"status_code"`
			Message string `json:"status_msg"`
		} `json:"base_resp"` // MiniMax
	}
	if json.Unmarshal(body, &m) != nil {
		return 0, "", ""
	}
	if m.Base != nil {
		return 0, fmt.Sprint(m.Base.Code), m.Base.Message
	}
	for _, raw := range []json.RawMessage{m.Error, m.Detail} {
		if status, code, message = within(raw); code+message != "" || status != 0 {
			return status, code, message
		}
	}
	code, _ = m.Code.(string)
	return 0, code, m.Message
}

// within reads the part of a body that describes an error.
func within(raw json.RawMessage) (status int, code, message string) {
	var words string
	var list []json.RawMessage
	var object struct {
		Message string `json:"message"`
		Msg     string `json:"msg"`
		Type    any    `json:"type"`
		Status  any    `json:"status"`
		Code    any    `json:"code"`
	}
	switch {
	case len(raw) == 0:
		return 0, "", ""
	case json.Unmarshal(raw, &words) == nil:
		return 0, "", words
	case json.Unmarshal(raw, &list) == nil && len(list) > 0:
		if list[0][0] == '[' { // each level would be read again from its start
			return 0, "", ""
		}
		return within(list[0])
	case json.Unmarshal(raw, &object) != nil:
		return 0, "", ""
	}
	for _, one := range []any{object.Type, object.Status, object.Code} {
		switch word := one.(type) {
		case string:
			code = strings.TrimSpace(code + " " + word)
		case float64:
			status = int(word)
		}
	}
	if object.Message == "" {
		object.Message = object.Msg
	}
	return status, code, object.Message
}
