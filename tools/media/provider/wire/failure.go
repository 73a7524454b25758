package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Reason is the reason why a provider has not done the work.
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

// Error returns the text for a model.
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

// again reports whether the same request may succeed later. A response that was lost may cost something each time.
func (c *Client) again(call api.Call, e *api.Error) bool {
	switch f := c.failure(e); f.Status {
	case http.StatusTooEarly, http.StatusServiceUnavailable:
		return true
	case http.StatusTooManyRequests:
		return f.Reason == Busy // and not out of credit
	case http.StatusRequestTimeout:
		return call.Safe
	default:
		return call.Safe && f.Status >= 500 && f.Status != http.StatusNotImplemented
	}
}

// unreadable is the failure of a response that cannot be used.
func (c *Client) unreadable(call Call, message string, cause error) *Failure {
	f := &Failure{Provider: c.o.Name, Reason: Unreadable, Message: message, cause: cause}
	if call.Once {
		f.Reason = Unknown // it was accepted
	}
	return f
}

// failed returns the error of a call: a *Failure, or the cause of its context.
func (c *Client) failed(call Call, err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	f := c.failure(e)
	if call.Once && (e.Status == 0 && !e.Unaccepted || e.Status == http.StatusRequestTimeout ||
		e.Status == http.StatusGatewayTimeout) {
		f.Reason = Unknown
	}
	return f
}

// failure returns the meaning of an error.
func (c *Client) failure(e *api.Error) *Failure {
	f := &Failure{Provider: c.o.Name, Reason: Down, Message: e.Message}
	switch {
	case e.Status != 0:
		f = c.Fail(e.Status, e.Code, e.Message)
	case e.NoKey:
		f.Reason = NoKey
	case e.Unreached:
		f.Reason = Unreached
	case e.Late:
		f.Reason = Late
	case e.TooLarge:
		f.Reason = Unreadable
		f.Message = fmt.Sprintf("the response is larger than %s", text.Bytes(c.o.MaxBytes))
	case e.Unusable:
		f.Reason = Unreadable
	}
	f.After, f.cause = e.After, e
	return f
}

// Refused returns the error for a response that has a status of its own, with the code and message of the provider.
func (c *Client) Refused(status int, code, message string) *api.Error {
	return c.api.Fail(context.Background(), status, code, message)
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
