package wire

import (
	"cmp"
	"context"
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

// maxMessage is the length of a provider's message about an error, in bytes.
const maxMessage = 500

func clip(message string) string { return text.Clip(message, maxMessage) }

// A Reason says why a provider has not done what it was asked for.
type Reason string

// The reasons.
const (
	Gone       Reason = "the model was not found"
	NoKey      Reason = "it does not accept the key"
	Unpaid     Reason = "its account has no credit left"
	Busy       Reason = "it has too many requests"
	Down       Reason = "it has failed"
	Late       Reason = "it did not answer in time"
	Unreached  Reason = "it cannot be reached"
	Invalid    Reason = "it does not accept the request"
	Unreadable Reason = "its response is not usable"
	// Content means that the provider refuses the content. Other providers are not asked.
	Content Reason = "it refuses the content"
	// Unknown means that the request may have been accepted, and may cost something.
	Unknown Reason = "it is not known whether it has accepted the request"
)

// A Failure is a request without a result.
type Failure struct {
	Provider string
	Reason   Reason
	Status   int    // 0: there was no response
	Message  string // the provider's, without credentials
	After    time.Duration
	cause    error
}

// Error returns what a model reads.
func (f *Failure) Error() string {
	words := f.Provider + ": " + string(f.Reason)
	if f.Status != 0 {
		words += fmt.Sprintf(" (status %d)", f.Status)
	}
	if f.Message != "" {
		words += ": " + f.Message
	}
	return words
}

func (f *Failure) Unwrap() error { return f.cause }

// Final reports whether no other provider is asked.
func (f *Failure) Final() bool { return f.Reason == Content || f.Reason == Unknown }

// Charged returns f as the failure of a request that costs something each time that it is accepted: if the response was
// lost, it is not known whether it was.
func (f *Failure) Charged() *Failure {
	if f.Status != 0 || f.Reason != Down && f.Reason != Late {
		return f
	}
	unknown := *f
	unknown.Reason = Unknown
	return &unknown
}

// Shown returns the failure as an error for a model.
func (f *Failure) Shown() error {
	kind, next := tool.Unavailable, "try again later"
	switch f.Reason {
	case Content:
		kind, next = tool.Refused, "ask for something else"
	case Busy:
		kind = tool.Busy
	case Late:
		kind = tool.Timeout
	case Invalid:
		kind, next = tool.Invalid, "change the arguments that it complains about"
	case Gone:
		kind, next = tool.NotFound, "use another model, or ask the operator to choose one in media.chain"
	case NoKey:
		next = fmt.Sprintf("ask the operator to check media.providers.%s.key", f.Provider)
	case Unpaid:
		next = "use another provider, or ask the operator to pay for more"
	case Unknown:
		next = "it is not sent again, because that could cost twice; ask the operator to look at the account of " +
			"the provider before you order it again"
	}
	return tool.Errorf(kind, "%s", f.Error()).Try("%s", next).Because(f)
}

// perhaps reports whether the provider may have accepted the request nevertheless.
func (f *Failure) perhaps() bool {
	switch f.Status {
	case 0:
		return f.Reason != Unreached
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retry reports whether the same request may succeed later.
func (f *Failure) retry(once bool) bool {
	switch f.Status {
	case http.StatusTooEarly, http.StatusServiceUnavailable:
		return true
	case http.StatusTooManyRequests:
		return f.Reason == Busy // and not out of credit
	case http.StatusRequestTimeout:
		return !once
	}
	return !once && f.Status >= 500 && f.Status != http.StatusNotImplemented
}

// unreadable is the failure of a response that cannot be used.
func (c *Client) unreadable(call Call, message string, cause error) *Failure {
	f := &Failure{Provider: c.o.Name, Reason: Unreadable, Message: message, cause: cause}
	if call.Once {
		f.Reason = Unknown // it was accepted
	}
	return f
}

// broken is the failure of a connection.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := &Failure{Provider: c.o.Name, Reason: Down, cause: err}
	var dial *net.OpError
	var name *net.DNSError
	var known *tool.Error
	errors.As(err, &known)
	switch {
	case errors.Is(err, outbound.ErrTooLong):
		f.Reason = Unreadable
		f.Message = fmt.Sprintf("the response is larger than %s", text.Bytes(c.o.MaxBytes))
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &name), known != nil && known.Kind == tool.Refused:
		f.Reason = Unreached
		if known != nil {
			f.Message = c.clean(known.What)
		}
	case known != nil && known.Kind == tool.Timeout:
		f.Reason = Late
	case known != nil:
		f.Message = c.clean(known.What)
	}
	return f
}

// refused is the failure that a response with an error status describes.
func (c *Client) refused(status int, body []byte) *Failure {
	code, message := messageIn(body)
	return c.Fail(status, code, message)
}

// Fail returns the failure for an error that a response describes. The status is 0 if the
// response has none; code and message are the provider's.
func (c *Client) Fail(status int, code, message string) *Failure {
	words := strings.ToLower(code + " " + message)
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return strings.Contains(words, one) })
	}
	f := &Failure{Provider: c.o.Name, Status: status, Message: c.clean(message), Reason: Invalid}
	if f.Message == "" {
		f.Message = c.clean(code)
	}
	switch {
	case has("content_policy", "content policy", "moderation", "datainspection", "safety", "sensitive",
		"prohibited_content", "usage policies", "content_filter"):
		f.Reason = Content
	case status == http.StatusPaymentRequired, has("insufficient", "quota_exceeded", "exceeded your current quota",
		"arrearage", "credits"):
		f.Reason = Unpaid
	case has("api key", "api_key", "apikey", "invalid key"), status == http.StatusUnauthorized,
		status == http.StatusForbidden:
		f.Reason = NoKey
	case status == http.StatusNotFound, has("model_not_found", "model not found", "modelnotfound", "unknown model",
		"model does not exist", "model_deprecated"), has("model") && has("does not exist", "not found", "not exist",
		"deprecated", "shut down", "not a valid model"):
		f.Reason = Gone
	case status == http.StatusTooManyRequests, has("rate limit", "throttling", "rate_limit"):
		f.Reason = Busy
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		f.Reason = Late
	case status >= 500, status >= 300 && status < 400:
		f.Reason = Down
	}
	if status >= 300 && status < 400 {
		f.Message = "it redirects to another address"
	}
	return f
}

// messageIn reads an error from one of its usual places.
func messageIn(body []byte) (code, message string) {
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
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if json.Unmarshal(body, &m) != nil {
		return "", ""
	}
	if m.Base != nil {
		return fmt.Sprint(m.Base.Code), m.Base.Message
	}
	for _, raw := range []json.RawMessage{m.Error, m.Detail} {
		if code, message := inner(raw); code+message != "" {
			return code, message
		}
	}
	if word, ok := m.Code.(string); ok {
		code = word
	}
	return code, m.Message
}

// inner reads the part of a response that describes an error.
func inner(raw json.RawMessage) (code, message string) {
	var words string
	var list []json.RawMessage
	var object struct {
		Message string `json:"message"`
		Msg     string `json:"msg"`
		Type    string `json:"type"`
		Status  any    `json:"status"`
		Code    any    `json:"code"`
	}
	switch {
	case len(raw) == 0:
		return "", ""
	case json.Unmarshal(raw, &words) == nil:
		return "", words
	case json.Unmarshal(raw, &list) == nil && len(list) > 0:
		return inner(list[0])
	case json.Unmarshal(raw, &object) != nil:
		return "", ""
	}
	for _, one := range []any{object.Type, object.Status, object.Code} {
		if word, ok := one.(string); ok && word != "" {
			code = strings.TrimSpace(code + " " + word)
		}
	}
	object.Message = cmp.Or(object.Message, object.Msg)
	return code, object.Message
}
