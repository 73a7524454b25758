package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// failed returns the error of a request that got no response that can be used.
func (c *Client) failed(ctx context.Context, call Call, err error) *chat.Error {
	var e *api.Error
	if !errors.As(c.api.Failure(ctx, err), &e) { // ctx has ended
		return &chat.Error{Kind: call.doubt(), Text: "the request to " + c.o.Name + " was interrupted",
			Cause: context.Cause(ctx)}
	}
	if e.Status != 0 {
		return c.refused(ctx, call, e)
	}
	out := &chat.Error{Kind: call.doubt(), Text: e.Error(), Cause: e.Unwrap()}
	switch {
	case e.NoKey:
		out.Kind = chat.Denied
	case e.Unreached && e.Temporary:
		out.Kind = chat.Down
	case e.Unreached, e.TooLarge && call.Safe: // the rules of egress do not allow it, or it is too large each time
		out.Kind = chat.Refused
	}
	return out
}

// doubt returns the kind of errors that leave the effect of the call unknown.
func (call Call) doubt() chat.Kind {
	if call.Safe {
		return chat.Down
	}
	return chat.Unknown
}

// refused returns the error that a response describes.
func (c *Client) refused(ctx context.Context, call Call, from *api.Error) *chat.Error {
	c.heed(call, from.Header)
	e := c.o.Refused(from.Status, from.Header, from.Body)
	if e.Kind = cmp.Or(e.Kind, kindOf(from.Status)); e.Kind == chat.Unknown {
		e.Kind = call.doubt()
	}
	if from.Status >= 300 && from.Status < 400 {
		e.Text = from.Message
	}
	said := cmp.Or(c.api.Clean(ctx, e.Text), fmt.Sprintf("status %d", from.Status))
	return &chat.Error{Kind: e.Kind, After: cmp.Or(e.After, from.After), Text: c.api.Clean(ctx, c.o.Name+": "+said)}
}

// kindOf returns the kind of error of a status if the service says nothing else.
func kindOf(status int) chat.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return chat.Busy
	case status == http.StatusUnauthorized:
		return chat.Denied
	case status == http.StatusRequestTimeout, status == http.StatusInternalServerError,
		status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return chat.Unknown // the failed server may be behind the one that sent the message
	case status >= 500, status >= 300 && status < 400:
		return chat.Down
	}
	return chat.Refused
}
