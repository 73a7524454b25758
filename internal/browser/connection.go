package browser

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxMessage is the maximum length of a message of the browser in bytes.
const maxMessage = 32 << 20

// Error messages that replace a response that was too long or will not arrive.
const (
	replyTooLong = "too long"
	replyCrashed = "crashed"
)

// A connection is the DevTools connection to one browser. It sends commands and receives
// responses and events, of the browser and of its targets.
type connection struct {
	pipe *chromedp.PipeConn
	from *limitedReader // read by pipe
	// onEvent is called with each event, in order. It must not wait for a response.
	onEvent func(from target.SessionID, method string, params jsonv2.Value)

	mu      sync.Mutex
	next    int64
	pending map[int64]pendingCall
	lost    chan struct{} // closed when the connection has ended
}

// A pendingCall is a command without a response.
type pendingCall struct {
	to     target.SessionID
	answer chan *cdproto.Message
}

func newConnection(from io.ReadCloser, to io.WriteCloser,
	onEvent func(target.SessionID, string, jsonv2.Value)) *connection {
	b := &limitedReader{ReadCloser: from}
	return &connection{
		pipe: chromedp.NewPipeConn(b, to), from: b, onEvent: onEvent,
		pending: make(map[int64]pendingCall), lost: make(chan struct{}),
	}
}

// listen reads messages until the browser ends.
func (l *connection) listen() {
	defer close(l.lost)
	for {
		m := new(cdproto.Message)
		if err := l.pipe.Read(context.Background(), m); err != nil {
			if l.from.ended {
				return
			}
			if m.ID == 0 {
				continue // the message cannot be parsed
			}
			m.Error = &cdproto.Error{Message: replyTooLong}
		}
		if m.ID == 0 {
			l.onEvent(m.SessionID, string(m.Method), m.Params)
			continue
		}
		l.mu.Lock()
		asked, waits := l.pending[m.ID]
		delete(l.pending, m.ID)
		l.mu.Unlock()
		if waits {
			asked.answer <- m // never blocks: the channel has a buffer
		}
	}
}

// failPending ends all calls to a crashed target: it will not respond.
func (l *connection) failPending(from target.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, asked := range l.pending {
		if asked.to == from {
			delete(l.pending, id)
			asked.answer <- &cdproto.Message{Error: &cdproto.Error{Message: replyCrashed}}
		}
	}
}

// send sends a command to the browser or a target and waits for the response.
func (l *connection) send(ctx context.Context, to target.SessionID, method string, params any) (jsonv2.Value, error) {
	answer, err := l.sendAsync(ctx, to, method, params)
	if err != nil {
		return nil, err
	}
	return answer()
}

// sendAsync sends a command and returns a function that waits for the response. The function
// must be called.
func (l *connection) sendAsync(ctx context.Context, to target.SessionID, method string,
	params any) (answer func() (jsonv2.Value, error), err error) {
	text, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
	if err != nil {
		return nil, err
	}
	come := make(chan *cdproto.Message, 1)
	l.mu.Lock()
	l.next++
	id := l.next
	l.pending[id] = pendingCall{to, come}
	l.mu.Unlock()
	if err := l.pipe.Write(ctx, &cdproto.Message{ID: id, SessionID: to, Method: cdproto.MethodType(method),
		Params: text}); err != nil {
		l.forget(id)
		return nil, errors.Join(errBrowserEnded, err)
	}
	return func() (jsonv2.Value, error) {
		defer l.forget(id)
		return l.await(ctx, come)
	}, nil
}

func (l *connection) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

// await waits for a response.
func (l *connection) await(ctx context.Context, come <-chan *cdproto.Message) (jsonv2.Value, error) {
	select {
	case m := <-come:
		if m.Error != nil && m.Error.Message == replyCrashed {
			return nil, errCrashed
		}
		if m.Error != nil && m.Error.Message == replyTooLong {
			return nil, tool.Errorf(tool.TooLarge,
				"the response of the page is too long").Try("request a part of the page")
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.lost:
		return nil, errBrowserEnded
	}
}

// An endpoint is the browser or one target on a connection.
type endpoint struct {
	*connection
	id target.SessionID
}

// call sends a command and returns its result.
func call[P, R any](ctx context.Context, l endpoint, c cdp.Command[P, R], params P) (R, error) {
	var result R
	raw, err := l.send(ctx, l.id, c.Method, params)
	if err != nil {
		return result, err
	}
	return result, jsonv2.Unmarshal(raw, &result, chromedp.DefaultUnmarshalOptions)
}

// run sends a command without a result.
func run[P, R any](ctx context.Context, l endpoint, c cdp.Command[P, R], params P) error {
	_, err := l.send(ctx, l.id, c.Method, params)
	return err
}

// decodeEvent decodes the parameters of an event.
func decodeEvent[E any](_ cdp.Event[E], params jsonv2.Value) (event E, ok bool) {
	err := jsonv2.Unmarshal(params, &event, chromedp.DefaultUnmarshalOptions)
	return event, err == nil
}

// A limitedReader removes the part of each message beyond maxMessage, to limit memory.
// The rest of such a message is not valid JSON.
type limitedReader struct {
	io.ReadCloser
	size  int  // bytes of the current message
	ended bool // Read has returned an error
}

func (b *limitedReader) Read(to []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(to)
		b.ended = b.ended || err != nil
		if kept := b.keep(to[:n]); kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// keep moves the bytes to keep to the beginning of all and returns their number.
func (b *limitedReader) keep(all []byte) (kept int) {
	for at := 0; at < len(all); {
		size := bytes.IndexByte(all[at:], 0)
		ends := size >= 0
		if !ends {
			size = len(all) - at
		}
		fits := max(0, min(size, maxMessage-b.size))
		kept += copy(all[kept:], all[at:at+fits])
		b.size += size
		at += size
		if ends {
			all[kept] = 0
			kept, at, b.size = kept+1, at+1, 0
		}
	}
	return kept
}
