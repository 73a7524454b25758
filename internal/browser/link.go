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

// maxMessage is the most that is read of what a browser sends in one piece.
const maxMessage = 32 << 20

// What an answer is replaced by that was longer, and one that does not come.
const (
	tooLong = "too long"
	crashed = "crashed"
)

// A link is the connection to one browser: commands and their answers, and what
// the browser tells by itself, of the browser and of the pages in it.
type link struct {
	pipe *chromedp.PipeConn
	from *bounded // what the pipe reads
	// hear is told, in order, of what the browser tells by itself. It must not
	// wait for an answer of the browser.
	hear func(from target.SessionID, method string, params jsonv2.Value)

	mu      sync.Mutex
	next    int64
	waiting map[int64]question
	lost    chan struct{} // closed when nothing comes any more
}

// A question is a command that is not answered yet.
type question struct {
	to     target.SessionID
	answer chan *cdproto.Message
}

func newLink(from io.ReadCloser, to io.WriteCloser, hear func(target.SessionID, string, jsonv2.Value)) *link {
	b := &bounded{ReadCloser: from}
	return &link{
		pipe: chromedp.NewPipeConn(b, to), from: b, hear: hear,
		waiting: make(map[int64]question), lost: make(chan struct{}),
	}
}

// listen reads until the browser ends.
func (l *link) listen() {
	defer close(l.lost)
	for {
		m := new(cdproto.Message)
		if err := l.pipe.Read(context.Background(), m); err != nil {
			if l.from.ended {
				return
			}
			if m.ID == 0 {
				continue // it was no message
			}
			m.Error = &cdproto.Error{Message: tooLong}
		}
		if m.ID == 0 {
			l.hear(m.SessionID, string(m.Method), m.Params)
			continue
		}
		l.mu.Lock()
		asked, waits := l.waiting[m.ID]
		delete(l.waiting, m.ID)
		l.mu.Unlock()
		if waits {
			asked.answer <- m // there is room for it
		}
	}
}

// giveUp ends the wait for all that a page was asked, which will not answer.
func (l *link) giveUp(from target.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, asked := range l.waiting {
		if asked.to == from {
			delete(l.waiting, id)
			asked.answer <- &cdproto.Message{Error: &cdproto.Error{Message: crashed}}
		}
	}
}

// send asks the browser, or a page in it, and waits for the answer.
func (l *link) send(ctx context.Context, to target.SessionID, method string, params any) (jsonv2.Value, error) {
	answer, err := l.post(ctx, to, method, params)
	if err != nil {
		return nil, err
	}
	return answer()
}

// post asks, and returns what waits for the answer, which has to be called.
func (l *link) post(ctx context.Context, to target.SessionID, method string, params any) (answer func() (jsonv2.Value, error), err error) {
	text, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
	if err != nil {
		return nil, err
	}
	come := make(chan *cdproto.Message, 1)
	l.mu.Lock()
	l.next++
	id := l.next
	l.waiting[id] = question{to, come}
	l.mu.Unlock()
	if err := l.pipe.Write(ctx, &cdproto.Message{ID: id, SessionID: to, Method: cdproto.MethodType(method), Params: text}); err != nil {
		l.forget(id)
		return nil, errors.Join(errLost, err)
	}
	return func() (jsonv2.Value, error) {
		defer l.forget(id)
		return l.await(ctx, come)
	}, nil
}

func (l *link) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}

// await waits for one answer.
func (l *link) await(ctx context.Context, come <-chan *cdproto.Message) (jsonv2.Value, error) {
	select {
	case m := <-come:
		if m.Error != nil && m.Error.Message == crashed {
			return nil, errCrashed
		}
		if m.Error != nil && m.Error.Message == tooLong {
			return nil, tool.Errorf(tool.TooLarge, "the page has more to say than is read").Try("ask for less of it")
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.lost:
		return nil, errLost
	}
}

// A line is the link to one page, or to the browser itself.
type line struct {
	*link
	id target.SessionID
}

// ask sends a command and reads its answer.
func ask[P, R any](ctx context.Context, l line, c cdp.Command[P, R], params P) (R, error) {
	var result R
	raw, err := l.send(ctx, l.id, c.Method, params)
	if err != nil {
		return result, err
	}
	return result, jsonv2.Unmarshal(raw, &result, chromedp.DefaultUnmarshalOptions)
}

// tell sends a command whose answer says nothing.
func tell[P, R any](ctx context.Context, l line, c cdp.Command[P, R], params P) error {
	_, err := l.send(ctx, l.id, c.Method, params)
	return err
}

// on reads what the browser tells by itself.
func on[E any](_ cdp.Event[E], params jsonv2.Value) (event E, ok bool) {
	err := jsonv2.Unmarshal(params, &event, chromedp.DefaultUnmarshalOptions)
	return event, err == nil
}

// bounded takes what is too much out of the middle of long messages, so that
// nobody has to hold them. What is left of one is not JSON.
type bounded struct {
	io.ReadCloser
	since int  // bytes since a message ended
	ended bool // there is nothing more
}

func (b *bounded) Read(to []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(to)
		b.ended = b.ended || err != nil
		if kept := b.keep(to[:n]); kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// keep moves what is kept to the beginning, and says how much it is.
func (b *bounded) keep(all []byte) (kept int) {
	for at := 0; at < len(all); {
		size := bytes.IndexByte(all[at:], 0)
		ends := size >= 0
		if !ends {
			size = len(all) - at
		}
		fits := max(0, min(size, maxMessage-b.since))
		kept += copy(all[kept:], all[at:at+fits])
		b.since += size
		at += size
		if ends {
			all[kept] = 0
			kept, at, b.since = kept+1, at+1, 0
		}
	}
	return kept
}
