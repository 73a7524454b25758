package browser

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
)

const (
	maxExchanges   = 200 // of a tab
	shownExchanges = 50
	maxShownURL    = 200 // bytes
)

// An exchange is a request of a tab and its response. Headers and bodies are not kept: they have credentials.
type exchange struct {
	id          network.RequestID
	method, url string
	kind        network.ResourceType
	status      int64  // 0 without a response
	mime        string // of the response
	size        int64  // bytes received, with headers; -1 until the end
	failed      string // the error of the network; "" for none
}

// logNetwork keeps what an event says about a request. The caller holds the lock of the session.
func (t *tab) logNetwork(method string, params jsonv2.Value) {
	switch method {
	case network.RequestWillBeSent.Method:
		e, ok := decodeEvent(network.RequestWillBeSent, params)
		if !ok || e.Request == nil {
			return
		}
		if x := t.exchange(e.RequestID); x != nil && e.RedirectResponse != nil {
			x.answer(e.RedirectResponse)
			x.id, x.size = "", int64(e.RedirectResponse.EncodedDataLength)
		}
		if len(t.network) == maxExchanges {
			t.network, t.dropped = t.network[1:], t.dropped+1
		}
		t.network = append(t.network, &exchange{id: e.RequestID, method: e.Request.Method, url: e.Request.URL, kind: e.Type, size: -1})
	case network.ResponseReceived.Method:
		if e, ok := decodeEvent(network.ResponseReceived, params); ok && e.Response != nil {
			if x := t.exchange(e.RequestID); x != nil {
				x.answer(e.Response)
			}
		}
	case network.LoadingFinished.Method:
		if e, ok := decodeEvent(network.LoadingFinished, params); ok {
			if x := t.exchange(e.RequestID); x != nil {
				x.size = int64(e.EncodedDataLength)
			}
		}
	case network.LoadingFailed.Method:
		if e, ok := decodeEvent(network.LoadingFailed, params); ok {
			if x := t.exchange(e.RequestID); x != nil {
				x.failed = cmp.Or(e.ErrorText, "failed")
			}
		}
	}
}

// exchange returns the last exchange with an id, nil if it is not kept.
func (t *tab) exchange(id network.RequestID) *exchange {
	for i := len(t.network) - 1; i >= 0; i-- {
		if t.network[i].id == id {
			return t.network[i]
		}
	}
	return nil
}

func (x *exchange) answer(r *network.Response) { x.status, x.mime = r.Status, r.MimeType }

func (x *exchange) String() string {
	address := x.url
	if strings.HasPrefix(address, "data:") {
		address, _, _ = strings.Cut(address, ",")
	}
	line := fmt.Sprintf("%s %s", short(x.method, 20), short(address, maxShownURL))
	switch {
	case x.failed != "":
		return line + " " + short(x.failed, 100)
	case x.status == 0:
		return line + " no response yet"
	}
	line += fmt.Sprintf(" %d %s %s", x.status, strings.ToLower(string(x.kind)), short(x.mime, 60))
	if x.size >= 0 {
		line += fmt.Sprintf(" %d bytes", x.size)
	}
	return line
}

// requestsOf returns the last requests of a tab with a text in their URLs, the newest last.
func (s *session) requestsOf(t *tab, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, x := range t.network {
		if strings.Contains(x.url, text) {
			found = append(found, x.String())
		}
	}
	before := t.dropped
	if more := len(found) - shownExchanges; more > 0 {
		found, before = found[more:], before+more
	}
	if before > 0 {
		found = append([]string{fmt.Sprintf("%d older ones are not shown", before)}, found...)
	}
	return strings.Join(found, "\n")
}
